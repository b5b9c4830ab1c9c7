//! What leaves the host under endpoint grants and what does not (C1–C3, C7, X33–X35),
//! driven by a guest that asks for anything.
//!
//! Rule: a refused request is never seen by a resolver or a server; each table has a row
//! that passes, so that a host which refuses everything fails too.

use bindery_types::Budget;

use crate::http_servers::{
    FakeNetwork, Server, answer, effects, error, get, grants, grants_through, ok, order, send,
    with_body, with_field,
};

const PUBLIC: &str = "93.184.215.14";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_spelling_of_an_address_passes_a_grant_for_a_name() {
    let server = Server::answering(ok("{}")).await;
    let network = FakeNetwork::new(server.port, &[("*", &[PUBLIC])]);
    let granted = || grants_through(&network, &["GET http://allowed.test"]);
    let table = [
        "127.0.0.1",
        "[::1]",
        "0.0.0.0",
        "[::ffff:127.0.0.1]",
        "2130706433",
        "0x7f.1",
        "127.1",
        "localhost",
        "localhost.",
        "127。0。0。1",
        "127%2e0.0.1",
        "allowed@evil",
        "allowed.test@evil.test",
        "allowed.test.",
        "evil.test",
        "allowed.test:8080",
        "allowed.test:",
        "",
        "[fe80::1%25eth0]",
    ];
    for authority in table {
        let run = send(&get(authority, "/"), granted(), &Budget::default()).await;
        let error = error(&run);
        let refused = [
            "HttpRequestDenied",
            "HttpRequestUriInvalid",
            "authority refused",
        ];
        assert!(
            refused.iter().any(|code| error.contains(code)),
            "X33 {authority}: {error}"
        );
        assert!(
            effects(&run)
                .iter()
                .all(|effect| effect.ends_with(" (refused)")),
            "{authority}"
        );
    }
    assert!(
        network.asked().is_empty(),
        "C7: what is not granted is not resolved"
    );
    assert!(
        server.heads().is_empty(),
        "C3: denied requests never leave the host"
    );
    let run = send(&get("Allowed.TEST:80", "/"), granted(), &Budget::default()).await;
    assert_eq!(answer(&run)["status"], 200);
    assert_eq!(effects(&run), ["GET http://allowed.test"]);
    assert!(
        server.heads()[0].contains("host: allowed.test\r\n"),
        "sent as it was checked"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_methods_and_paths_outside_the_grant_never_leave() {
    let server = Server::answering(ok("{}")).await;
    let network = FakeNetwork::new(server.port, &[("*", &[PUBLIC])]);
    let endpoints = ["GET http://api.test/v1/", "GET http://*.example.com"];
    let table = [
        ("GET", "api.test", "/v1/../admin", false),
        ("GET", "api.test", "/v1/%2e%2e/admin", false),
        ("GET", "api.test", "/v1/%2E./admin", false),
        ("GET", "api.test", "/v1//../../admin", false),
        ("GET", "api.test", "/v1\\..\\admin", false),
        ("GET", "api.test", "/v10/x", false),
        ("GET", "api.test", "/V1/x", false),
        ("GET", "api.test", "/v1", false),
        ("GET", "api.test", "/v1/%2f..%2fadmin", false),
        ("GET", "api.test", "/v1/..;/admin", false),
        ("get", "api.test", "/v1/x", false),
        ("POST", "api.test", "/v1/x", false),
        ("CONNECT", "api.test", "/v1/x", false),
        ("GET", "api.test", "/v1/x?next=/../admin", true),
        ("GET", "evilexample.com", "/", false),
        ("GET", "example.com.evil.net", "/", false),
        ("GET", "example.com", "/", false),
        ("GET", "a.example.com.", "/", false),
        ("GET", "a.example.com:8443", "/", false),
        ("GET", "evil.net", "/?a.example.com", false),
        ("GET", "xn--exmple-cua.com", "/", false),
        ("GET", "A.EXAMPLE.COM", "/", true),
    ];
    for (method, authority, path, passes) in table {
        let before = server.heads().len();
        let order = order(method, "http", authority, path);
        let run = send(
            &order,
            grants_through(&network, &endpoints),
            &Budget::default(),
        )
        .await;
        let left = server.heads().len() - before;
        assert_eq!(
            left,
            usize::from(passes),
            "C2 C3 {method} {authority} {path}: {:?}",
            run.outcome
        );
    }
    let https = order("GET", "https", "api.test", "/v1/x");
    let run = send(
        &https,
        grants_through(&network, &endpoints),
        &Budget::default(),
    )
    .await;
    assert!(
        error(&run).contains("HttpRequestDenied"),
        "C2: the scheme is part of the rule"
    );
    let ftp = order("GET", "ftp", "api.test", "/v1/x");
    let run = send(
        &ftp,
        grants_through(&network, &endpoints),
        &Budget::default(),
    )
    .await;
    assert!(error(&run).contains("HttpProtocolError"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_is_an_answer_and_its_target_is_judged_from_the_start() {
    let targets = [
        "http://169.254.169.254/",
        "http://[::1]/",
        "http://[fd00:ec2::254]/",
        "http://0.0.0.1/",
        "http://2130706433/",
        "http://localhost./",
        "//10.0.0.5/",
        "https://other.test/",
    ];
    for status in [301, 302, 303, 307, 308] {
        for target in targets {
            let head = format!(
                "HTTP/1.1 {status} Moved\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n"
            );
            let server = Server::answering(head).await;
            let granted = format!("http://{}", server.authority());
            let first = send(
                &get(&server.authority(), "/"),
                grants(&[&granted]),
                &Budget::default(),
            )
            .await;
            assert_eq!(answer(&first)["status"], status, "C1 {target}");
            assert_eq!(server.heads().len(), 1, "C1: the host follows nothing");
            assert_eq!(effects(&first).len(), 1);
            let (scheme, rest) = target.split_once("//").unwrap();
            let scheme = if scheme == "https:" { "https" } else { "http" };
            let next = order("GET", scheme, rest.trim_end_matches('/'), "/");
            let second = send(&next, grants(&[&granted]), &Budget::default()).await;
            let error = error(&second);
            let refused = ["HttpRequestDenied", "HttpRequestUriInvalid"];
            assert!(
                refused.iter().any(|code| error.contains(code)),
                "C1 {status} {target}: {error}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_of_thirty_allowed_hops_ends_where_the_grant_ends() {
    let server = Server::start(|mut stream, head| async move {
        use tokio::io::AsyncWriteExt;
        let hop: u32 = head
            .split(['/', ' '])
            .nth(2)
            .and_then(|hop| hop.parse().ok())
            .unwrap_or(0);
        let next = match hop {
            30.. => "http://169.254.169.254/31".to_owned(),
            _ => format!("/{}", hop + 1),
        };
        let head = format!("HTTP/1.1 302 Found\r\nlocation: {next}\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(head.as_bytes()).await
    })
    .await;
    let granted = format!("http://{}", server.authority());
    let (mut authority, mut path) = (server.authority(), "/0".to_owned());
    for hop in 0..=30 {
        let run = send(
            &get(&authority, &path),
            grants(&[&granted]),
            &Budget::default(),
        )
        .await;
        let answer = answer(&run);
        let fields = answer["fields"].as_array().unwrap();
        let location = fields
            .iter()
            .find(|field| field["name"] == "location")
            .unwrap();
        let location = String::from_utf8(crate::http_servers::decode(&location["value"])).unwrap();
        if let Some(rest) = location.strip_prefix("http://") {
            assert_eq!(hop, 30);
            authority = rest.trim_end_matches("/31").to_owned();
        }
        path = location
            .rsplit('/')
            .next()
            .map(|last| format!("/{last}"))
            .unwrap();
    }
    let run = send(
        &get(&authority, &path),
        grants(&[&granted]),
        &Budget::default(),
    )
    .await;
    assert!(error(&run).contains("HttpRequestDenied"), "C1 X34");
    assert_eq!(effects(&run), ["GET http://169.254.169.254 (refused)"]);
    assert_eq!(server.heads().len(), 31);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_moves_to_a_private_address_is_refused_when_it_does() {
    let server = Server::answering(ok("{}")).await;
    let network = FakeNetwork::new(server.port, &[("moves.test", &[PUBLIC, "10.0.0.5"])]);
    let granted = || grants_through(&network, &["http://moves.test"]);
    let first = send(&get("moves.test", "/"), granted(), &Budget::default()).await;
    assert_eq!(answer(&first)["status"], 200);
    assert_eq!(network.asked().len(), 1, "H27: resolved once");
    assert_eq!(
        network.connected(),
        [format!("{PUBLIC}:80").parse().unwrap()],
        "C1: pinned"
    );
    let second = send(&get("moves.test", "/"), granted(), &Budget::default()).await;
    assert!(error(&second).contains("DestinationIpProhibited"), "C1");
    assert_eq!(effects(&second), ["GET http://moves.test (refused)"]);
    assert_eq!(network.connected().len(), 1, "C1: no connection to it");
    assert!(
        second.denials[0].contains("10.0.0.5 (private)"),
        "U1 {:?}",
        second.denials
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_name_leads_to_a_special_address_whatever_its_spelling() {
    let table = [
        "127.0.0.1",
        "10.0.0.5",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "198.18.0.1",
        "192.0.2.1",
        "::1",
        "fe80::1",
        "fd00:ec2::254",
        "::ffff:10.0.0.5",
        "::10.0.0.5",
        "64:ff9b::a00:5",
        "64:ff9b:1::a00:5",
        "2002:a00:5::",
        "2001::1",
        "ff02::1",
        "2001:db8::1",
        // One bad address among good ones.
        "93.184.215.14,10.0.0.5",
    ];
    for address in table {
        let network = FakeNetwork::new(0, &[("inside.test", &[address])]);
        let granted = grants_through(&network, &["http://inside.test"]);
        let run = send(&get("inside.test", "/"), granted, &Budget::default()).await;
        assert!(
            error(&run).contains("DestinationIpProhibited"),
            "C1 {address}"
        );
        assert!(network.connected().is_empty(), "C1 {address}");
    }
    let network = FakeNetwork::new(0, &[("outside.test", &["2606:4700::1111"])]);
    let granted = grants_through(&network, &["http://outside.test"]);
    let run = send(&get("outside.test", "/"), granted, &Budget::default()).await;
    assert!(
        error(&run).contains("ConnectionRefused"),
        "a public one is tried"
    );
    assert_eq!(network.connected().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fields_that_smuggle_or_impersonate_are_refused_before_anything_is_sent() {
    let server = Server::answering(ok("{}")).await;
    let granted = format!("GET,POST http://{}", server.authority());
    let table: [(&str, &[u8]); 17] = [
        ("host", b"evil.test"),
        ("Host", b"evil.test"),
        ("transfer-encoding", b"chunked"),
        ("connection", b"upgrade"),
        ("upgrade", b"h2c"),
        ("te", b"trailers"),
        ("authorization", b"Bearer x"),
        ("cookie", b"a=b"),
        ("proxy-authorization", b"Basic x"),
        ("forwarded", b"for=127.0.0.1"),
        ("x-forwarded-for", b"127.0.0.1"),
        ("x-forwarded-anything", b"1"),
        ("x-http-method-override", b"DELETE"),
        (":authority", b"evil.test"),
        ("x", b"a\r\nhost: evil.test"),
        ("x\r\nhost", b"evil.test"),
        ("content-length", b"+5"),
    ];
    for (name, value) in table {
        let order = with_field(get(&server.authority(), "/"), name, value);
        let run = send(&order, grants(&[&granted]), &Budget::default()).await;
        let error = error(&run);
        let at = ["field ", "handle: "];
        assert!(
            at.iter().any(|step| error.starts_with(step)),
            "X35 {name}: {error}"
        );
    }
    assert!(server.heads().is_empty(), "X35");
    let fine = with_field(get(&server.authority(), "/"), "x-request-id", b"7");
    assert_eq!(
        answer(&send(&fine, grants(&[&granted]), &Budget::default()).await)["status"],
        200
    );
    assert!(server.heads()[0].contains("x-request-id: 7\r\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_differs_from_its_stated_length_is_never_a_whole_request() {
    use std::sync::{Arc, Mutex};
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&bodies);
    let server = Server::start(move |mut stream, _| {
        let noted = Arc::clone(&noted);
        async move {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            let mut body = [0; 5];
            stream.read_exact(&mut body).await?;
            noted.lock().unwrap().push(body);
            stream.write_all(ok("{}").as_bytes()).await
        }
    })
    .await;
    let granted = format!("POST http://{}", server.authority());
    let post = with_field(
        order("POST", "http", &server.authority(), "/"),
        "content-length",
        b"5",
    );
    let short = send(
        &with_body(post.clone(), &[b"123"]),
        grants(&[&granted]),
        &Budget::default(),
    )
    .await;
    let said = error(&short);
    assert!(
        said.contains("HttpProtocolError") || said.contains("Connection"),
        "X35 {said}"
    );
    server.all_closed().await;
    assert!(
        bodies.lock().unwrap().is_empty(),
        "X35: no whole body of a short one"
    );
    let exact = send(
        &with_body(post, &[b"12345"]),
        grants(&[&granted]),
        &Budget::default(),
    )
    .await;
    assert_eq!(answer(&exact)["status"], 200);
    assert_eq!(*bodies.lock().unwrap(), [*b"12345"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_grant_every_request_is_refused_and_is_an_effect() {
    let server = Server::answering(ok("{}")).await;
    let run = send(
        &get(&server.authority(), "/"),
        grants(&[]),
        &Budget::default(),
    )
    .await;
    assert!(error(&run).contains("HttpRequestDenied"));
    assert_eq!(
        effects(&run),
        [format!("GET http://{} (refused)", server.authority())]
    );
    assert!(server.heads().is_empty());
    let origin = format!("GET http://{}/", server.authority());
    let line = format!("{origin}: no endpoint is granted; `--endpoint '{origin}'` would allow it");
    assert_eq!(run.denials, [line], "U1: for the operator");
    let granted = send(
        &get(&server.authority(), "/"),
        grants(&[&origin]),
        &Budget::default(),
    )
    .await;
    assert_eq!(answer(&granted)["status"], 200, "U1: and it does");
    assert!(granted.denials.is_empty());
    assert_eq!(run.receipt.unwrap().effects[0].bytes, 0);
}
