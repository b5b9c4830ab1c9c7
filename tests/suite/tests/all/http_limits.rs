//! Servers that stall, flood and lie about length, and requests at their limits (B1, U5,
//! X36): each ends at exactly its limit, with its own error, and leaves no socket.

use std::time::{Duration, Instant};

use bindery_sandbox::Cancel;
use bindery_types::{ErrorType, LimitName, Outcome, Run};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::http_servers::{
    Server, answer, budget, call, decode, error, get, grants, hits, ok, order, send, until_closed,
    with_body, with_field,
};

async fn ask(server: &Server, limits: &[(LimitName, u64)]) -> Run {
    let granted = format!("http://{}", server.authority());
    send(
        &get(&server.authority(), "/"),
        grants(&[&granted]),
        &budget(limits),
    )
    .await
}

fn refusal(run: &Run) -> ErrorType {
    match &run.outcome {
        Outcome::Refused(refusal) => refusal.kind(),
        other => panic!("not refused: {other:?}"),
    }
}

async fn silent() -> Server {
    Server::start(|mut stream, _| async move { until_closed(&mut stream).await }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_never_answers_holds_a_call_no_longer_than_its_deadline() {
    let server = silent().await;
    let began = Instant::now();
    let run = ask(&server, &[(LimitName::Deadline, 500)]).await;
    assert_eq!(refusal(&run), ErrorType::Timeout, "B1");
    assert!(
        began.elapsed() < Duration::from_secs(6),
        "B1: 600 ms, ten times as much here"
    );
    server.all_closed().await;
    let effects = run.receipt.unwrap().effects;
    assert_eq!(
        effects.len(),
        1,
        "effects of a call that was stopped are kept"
    );
    assert!(effects[0].bytes > 0);
    let next = Server::answering(ok("{}")).await;
    assert_eq!(
        answer(&ask(&next, &[]).await)["status"],
        200,
        "B1: the next call works"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_in_flight_ends_with_the_guest_that_spins_beside_it() {
    let server = silent().await;
    let granted = format!("http://{}", server.authority());
    let arguments = json!({ "order": get(&server.authority(), "/") });
    let limits = budget(&[(LimitName::Deadline, 500)]);
    let granted = grants(&[&granted]);
    let run = call(
        "http-driver",
        "#abandon",
        &arguments,
        granted,
        &limits,
        &Cancel::new(),
    )
    .await;
    assert_eq!(refusal(&run), ErrorType::Timeout);
    server.all_closed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_a_call_closes_its_connection() {
    let server = silent().await;
    let granted = format!("http://{}", server.authority());
    let arguments = json!({ "order": get(&server.authority(), "/") });
    let (cancel, limits) = (Cancel::new(), budget(&[]));
    let run = call(
        "http-driver",
        "#send",
        &arguments,
        grants(&[&granted]),
        &limits,
        &cancel,
    );
    let stop = async {
        while server.heads().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    let (run, ()) = tokio::join!(run, stop);
    assert_eq!(refusal(&run), ErrorType::Cancelled);
    server.all_closed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_time_of_a_request_covers_its_body() {
    let quiet = silent().await;
    let run = ask(&quiet, &[(LimitName::HttpTime, 200)]).await;
    assert!(
        error(&run).contains("HttpResponseTimeout"),
        "U5: {}",
        error(&run)
    );
    quiet.all_closed().await;
    let drips = Server::start(|mut stream, _| async move {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
            .await?;
        loop {
            stream.write_all(b"x").await?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let answer = answer(&ask(&drips, &[(LimitName::HttpTime, 300)]).await);
    let broken = answer["broken"].as_str().unwrap();
    assert!(broken.contains("HttpResponseTimeout"), "X36 {broken}");
    drips.all_closed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guests_own_patience_is_kept_below_the_limit() {
    let server = silent().await;
    let granted = format!("http://{}", server.authority());
    let mut order = get(&server.authority(), "/");
    order["first-byte-timeout-ms"] = Value::from(100);
    let run = send(&order, grants(&[&granted]), &budget(&[])).await;
    assert!(
        error(&run).contains("ConnectionReadTimeout"),
        "{}",
        error(&run)
    );
    let pauses = Server::start(|mut stream, _| async move {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc")
            .await?;
        until_closed(&mut stream).await
    })
    .await;
    let mut order = get(&pauses.authority(), "/");
    order["between-bytes-timeout-ms"] = Value::from(100);
    let granted = format!("http://{}", pauses.authority());
    let answer = answer(&send(&order, grants(&[&granted]), &budget(&[])).await);
    assert_eq!(decode(&answer["body"]), b"abc");
    assert!(
        answer["broken"]
            .as_str()
            .unwrap()
            .contains("ConnectionReadTimeout")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_body_ends_at_exactly_its_limit() {
    let server = Server::answering(ok(&"x".repeat(5_000))).await;
    let whole = answer(&ask(&server, &[(LimitName::HttpResponseBody, 5_000)]).await);
    assert_eq!(
        (decode(&whole["body"]).len(), &whole["broken"]),
        (5_000, &Value::Null),
        "U5"
    );
    let cut = ask(&server, &[(LimitName::HttpResponseBody, 4_999)]).await;
    assert_eq!(hits(&cut), ["http_response_body"], "U5");
    let cut = answer(&cut);
    assert_eq!(decode(&cut["body"]).len(), 4_999, "U5");
    assert!(
        cut["broken"]
            .as_str()
            .unwrap()
            .contains("HttpResponseBodySize(Some(4999))")
    );
    let none = answer(&ask(&server, &[(LimitName::HttpResponseBody, 0)]).await);
    assert!(decode(&none["body"]).is_empty(), "0 means none");
    let endless = Server::start(|mut stream, _| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
        loop {
            stream.write_all(&[b'x'; 65_536]).await?;
        }
    })
    .await;
    let flood = answer(&ask(&endless, &[(LimitName::HttpResponseBody, 100_000)]).await);
    assert_eq!(decode(&flood["body"]).len(), 100_000, "X36");
    endless.all_closed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heads_are_bounded_in_fields_and_in_bytes() {
    let many = Server::start(|mut stream, _| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\n").await?;
        for _ in 0..1_000 {
            stream.write_all(&b"x: y\r\n".repeat(1_000)).await?;
        }
        stream.write_all(b"\r\n").await
    })
    .await;
    let large = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(1 << 20));
    let large = Server::answering(large).await;
    let informs = Server::start(|mut stream, _| async move {
        loop {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
    })
    .await;
    for server in [&many, &large] {
        let run = ask(server, &[]).await;
        assert!(
            error(&run).contains("HttpResponseHeaderSectionSize"),
            "X36 {}",
            error(&run)
        );
        server.all_closed().await;
    }
    let run = ask(&informs, &[(LimitName::EgressBytes, 100_000)]).await;
    assert!(error(&run).contains("egress_bytes"), "X36 {}", error(&run));
    informs.all_closed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_lies_about_length_is_caught_or_cut() {
    let head = |fields: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n{body}");
    let short = Server::answering(head("content-length: 10", "12345")).await;
    let run = answer(&ask(&short, &[]).await);
    assert!(
        run["broken"]
            .as_str()
            .unwrap()
            .contains("HttpResponseIncomplete"),
        "X35 {run}"
    );
    let long = Server::answering(head("content-length: 5", "123456789")).await;
    let run = answer(&ask(&long, &[]).await);
    assert_eq!(
        (decode(&run["body"]), &run["broken"]),
        (b"12345".to_vec(), &Value::Null),
        "X35"
    );
    let chunked = "5\r\nabcde\r\n0\r\n\r\n";
    for fields in [
        "content-length: 5\r\ntransfer-encoding: chunked",
        "transfer-encoding: chunked\r\ncontent-length: 15",
        "content-length: 5\r\ncontent-length: 6",
        "content-length: x",
    ] {
        let server = Server::answering(head(fields, chunked)).await;
        let run = ask(&server, &[]).await;
        assert!(
            error(&run).contains("HttpProtocolError"),
            "X35 {fields}: {:?}",
            run.outcome
        );
    }
    let proper = Server::answering(head("transfer-encoding: chunked", chunked)).await;
    assert_eq!(decode(&answer(&ask(&proper, &[]).await)["body"]), b"abcde");
    let broken = Server::answering(head("transfer-encoding: chunked", "5\r\nabc")).await;
    let run = answer(&ask(&broken, &[]).await);
    assert!(run["broken"].is_string(), "X35 {run}");
    let upgrade = Server::answering("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n").await;
    assert!(error(&ask(&upgrade, &[]).await).contains("HttpUpgradeFailed"));
    let noise = Server::answering("SSH-2.0-OpenSSH_9.9\r\n\r\n").await;
    assert!(error(&ask(&noise, &[]).await).contains("HttpProtocolError"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compressed_body_reaches_the_guest_as_it_came() {
    // 10 MiB of zeroes, compressed: nothing here unpacks it.
    let bomb: Vec<u8> = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3]
        .into_iter()
        .chain([0; 10_200])
        .collect();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        bomb.len()
    );
    let server = Server::answering([head.as_bytes(), &bomb].concat()).await;
    let run = answer(&ask(&server, &[(LimitName::HttpResponseBody, 20_000)]).await);
    assert_eq!(decode(&run["body"]), bomb, "X36");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_body_stops_at_exactly_its_limit_declared_or_not() {
    let server = Server::start(|mut stream, head| async move {
        let mut body = vec![0; 3_000];
        match head.contains("content-length: 3000") {
            true => drop(stream.read_exact(&mut body).await?),
            false => {
                let mut got = Vec::new();
                while !got.ends_with(b"0\r\n\r\n") {
                    got.push(stream.read_u8().await?);
                }
            }
        }
        stream.write_all(ok("{}").as_bytes()).await
    })
    .await;
    let granted = format!("POST http://{}", server.authority());
    let body = vec![b'x'; 3_000];
    let post = order("POST", "http", &server.authority(), "/");
    let chunked = with_body(post.clone(), &[&body[..1_500], &body[1_500..]]);
    let declared = with_body(with_field(post, "content-length", b"3000"), &[&body]);
    for order in [chunked, declared] {
        let passes = budget(&[(LimitName::HttpRequestBody, 3_000)]);
        let run = send(&order, grants(&[&granted]), &passes).await;
        assert_eq!(answer(&run)["status"], 200, "U5");
        let stops = budget(&[(LimitName::HttpRequestBody, 2_999)]);
        let run = send(&order, grants(&[&granted]), &stops).await;
        assert_eq!(hits(&run), ["http_request_body"], "U5");
        assert!(
            error(&run).contains("HttpRequestBodySize(Some(2999))"),
            "U5 {}",
            error(&run)
        );
    }
    server.all_closed().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_request_more_than_may_be_in_flight_is_refused() {
    let server = Server::answering(ok("{}")).await;
    let granted = format!("http://{}", server.authority());
    let orders = json!({ "orders": vec![get(&server.authority(), "/"); 3] });
    for (limit, refused) in [(3, 0), (2, 1), (0, 3)] {
        let limits = budget(&[(LimitName::HttpInFlight, limit)]);
        let (granted, cancel) = (grants(&[&granted]), Cancel::new());
        let run = call(
            "http-driver",
            "#send-all",
            &orders,
            granted,
            &limits,
            &cancel,
        )
        .await;
        let text = answer(&run).to_string();
        assert_eq!(
            text.matches("ConnectionLimitReached").count(),
            refused,
            "U5 {text}"
        );
        assert_eq!(text.matches("200").count(), 3 - refused, "U5 {text}");
        assert_eq!(hits(&run).contains(&"http_in_flight"), refused > 0, "U5");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bytes_of_an_effect_are_the_bytes_on_the_wire_and_their_limit_is_exact() {
    let response = ok(&"x".repeat(20_000));
    let server = Server::answering(response.clone()).await;
    let run = ask(&server, &[]).await;
    let bytes = run.receipt.unwrap().effects[0].bytes;
    let seen = server.heads()[0].len() + response.len();
    assert_eq!(bytes, u64::try_from(seen).unwrap(), "I37");
    let exact = answer(&ask(&server, &[(LimitName::EgressBytes, bytes)]).await);
    assert_eq!(
        (decode(&exact["body"]).len(), &exact["broken"]),
        (20_000, &Value::Null),
        "U5"
    );
    let less = ask(&server, &[(LimitName::EgressBytes, bytes - 1)]).await;
    assert_eq!(hits(&less), ["egress_bytes"], "U5");
    let less = answer(&less);
    let broken = less["broken"].as_str().unwrap();
    assert!(
        broken.contains("limit `egress_bytes` reached"),
        "U5 {broken}"
    );
    assert!(decode(&less["body"]).len() < 20_000);
    server.all_closed().await;
}
