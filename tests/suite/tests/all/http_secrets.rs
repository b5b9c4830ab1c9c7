//! Credentials with a real guest and real servers: case C9, G2, R-581 … R-596. A canary is
//! searched, in every form, in everything that a call leaves.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bindery_grants::{
    Credential, EndpointGrant, Grants, Secret, SecretFile, SecretHelper, SecretProvider,
    SecretUnavailable,
};
use bindery_sandbox::Cancel;
use bindery_types::{Category, ErrorType, LimitName, Run};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::http_servers::{
    Server, answer, budget, call, decode, error, get, grants, ok, order, send, until_closed,
    with_body, with_field,
};
use crate::rig::{receipt, refusal};

pub(crate) const CANARY: &str = "CANARY-1/x+y&z\"k~";

/// A provider that knows one value.
struct Known(&'static str);

#[async_trait]
impl SecretProvider for Known {
    async fn secret(&self) -> Result<Secret, SecretUnavailable> {
        Ok(Secret::new(self.0.to_owned()).unwrap())
    }
}

fn canary() -> Credential {
    from(Arc::new(Known(CANARY)))
}

fn from(provider: Arc<dyn SecretProvider>) -> Credential {
    Credential::new("echo".parse().unwrap(), provider)
}

fn credentialed(endpoint: &str, credential: Credential) -> Grants {
    let grant = EndpointGrant::parse(endpoint).unwrap();
    Grants {
        endpoints: vec![grant.with_credential(credential).unwrap()],
        ..Grants::default()
    }
}

fn base64(bytes: &[u8], url: bool) -> String {
    match url {
        true => base64_simd::URL_SAFE_NO_PAD.encode_to_string(bytes),
        false => base64_simd::STANDARD_NO_PAD.encode_to_string(bytes),
    }
}

/// What base64 makes of the canary whatever stands around it: the characters that two
/// different surroundings have in common.
fn base64_cores(canary: &str) -> Vec<String> {
    let mut cores = Vec::new();
    for before in 0..3 {
        for url in [false, true] {
            let around = |byte: u8| {
                let inner = [&vec![byte; before][..], canary.as_bytes(), &[byte, byte]].concat();
                base64(&inner, url)
            };
            let (low, high) = (around(0x00), around(0xff));
            let pairs = low.chars().zip(high.chars());
            let same = pairs
                .skip_while(|(a, b)| a != b)
                .take_while(|(a, b)| a == b);
            cores.push(same.map(|(a, _)| a).collect());
        }
    }
    cores
}

/// The canary in every form that is promised to be masked, made here and not by the code
/// under test.
pub(crate) fn forms(canary: &str) -> Vec<String> {
    let each = |form: &dyn Fn(u8) -> String| canary.bytes().map(form).collect::<String>();
    let keeps = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let json = serde_json::to_string(canary).unwrap();
    let mut forms = vec![
        canary.to_owned(),
        canary.to_ascii_uppercase(),
        canary.to_ascii_lowercase(),
        canary.chars().rev().collect(),
        json.trim_matches('"').to_owned(),
        each(&|byte| format!("{byte:02x}")),
        each(&|byte| format!("{byte:02X}")),
        each(&|byte| format!("%{byte:02X}")),
        each(&|byte| {
            if keeps(byte) {
                char::from(byte).into()
            } else {
                format!("%{byte:02X}")
            }
        }),
        each(&|byte| {
            if keeps(byte) {
                char::from(byte).into()
            } else {
                format!("%{byte:02x}")
            }
        }),
    ];
    forms.extend(base64_cores(canary));
    forms
}

/// C9, R-585 … R-591: nothing that is left says the canary.
pub(crate) fn assert_unseen(left: &str) {
    for form in forms(CANARY) {
        assert!(!left.contains(&form), "C9: {form} in {left}");
    }
}

/// Everything a call leaves, as text.
fn left(run: &Run) -> String {
    let receipt = run
        .receipt
        .as_ref()
        .map(|receipt| serde_json::to_string(receipt).unwrap());
    format!("{:?} {receipt:?} {:?}", run.outcome, run.denials)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn authorization(head: &str) -> &str {
    let line = head
        .lines()
        .find_map(|line| line.strip_prefix("authorization: "));
    line.unwrap_or("none")
}

/// Says what it was told in every form, in the status, fields and body, `chunk` bytes at a
/// time.
async fn echo(stream: &mut TcpStream, head: &str, chunk: usize) -> std::io::Result<()> {
    let told = authorization(head);
    let token = told.strip_prefix("Bearer ").unwrap_or(told);
    let mut body = forms(token).join(" | ");
    for before in ["", "a", "ab"] {
        for url in [false, true] {
            body.push_str(" | ");
            body.push_str(&base64(format!("{before}{told}").as_bytes(), url));
        }
    }
    let head = format!(
        "HTTP/1.1 200 {told}\r\nx-echo: {told}\r\nx-echo: {}\r\nlocation: http://h/?key={}\r\n\
         transfer-encoding: chunked\r\n\r\n",
        base64(told.as_bytes(), false),
        forms(token)[9],
    );
    stream.write_all(head.as_bytes()).await?;
    for part in format!("first {body} last").as_bytes().chunks(chunk) {
        let size = format!("{:x}\r\n", part.len());
        stream
            .write_all(&[size.as_bytes(), part, b"\r\n"].concat())
            .await?;
    }
    stream.write_all(b"0\r\n\r\n").await
}

async fn echo_server(chunk: usize) -> Server {
    Server::start(move |mut stream, head| async move { echo(&mut stream, &head, chunk).await })
        .await
}

#[tokio::test]
async fn a_guest_never_sees_the_credential_that_its_server_got() {
    for chunk in [1, 2, 7, 64, 1 << 16] {
        let server = echo_server(chunk).await;
        let authority = server.authority();
        let grants = credentialed(&format!("http://{authority}"), canary());
        let run = send(&get(&authority, "/"), grants, &budget(&[])).await;
        assert_eq!(
            authorization(&server.heads()[0]),
            format!("Bearer {CANARY}"),
            "R-581: the server got it"
        );
        let answer = answer(&run);
        let body = text(&decode(&answer["body"]));
        assert!(
            body.starts_with("first *****") && body.ends_with(" last"),
            "{body}"
        );
        let fields = answer["fields"].as_array().unwrap().iter();
        let fields: Vec<String> = fields.map(|field| text(&decode(&field["value"]))).collect();
        assert!(
            fields.iter().any(|field| field.starts_with("Bearer ***")),
            "{fields:?}"
        );
        assert_unseen(&body);
        assert_unseen(&fields.join("\n"));
        assert_unseen(&left(&run));
    }
}

#[tokio::test]
async fn without_a_credential_the_same_server_says_none_and_nothing_is_masked() {
    let server = echo_server(7).await;
    let authority = server.authority();
    let grants = grants(&[&format!("http://{authority}")]);
    let run = send(&get(&authority, "/"), grants, &budget(&[])).await;
    let body = text(&decode(&answer(&run)["body"]));
    assert!(
        body.starts_with("first none | NONE | none | enon"),
        "{body}"
    );
}

#[tokio::test]
async fn the_field_of_a_credential_is_the_hosts_alone() {
    let server = Server::answering(ok("done")).await;
    let authority = server.authority();
    let endpoint = format!("http://{authority}");
    let api_key = || canary().in_field("X-Api-Key", "key {}").unwrap();
    for (field, credential) in [("Authorization", canary()), ("x-API-key", api_key())] {
        let order = with_field(get(&authority, "/"), field, b"mine");
        let run = send(&order, credentialed(&endpoint, credential), &budget(&[])).await;
        assert!(error(&run).contains("Forbidden"), "H27: {}", error(&run));
    }
    assert_eq!(server.heads(), Vec::<String>::new(), "and nothing was sent");
    let run = send(
        &get(&authority, "/"),
        credentialed(&endpoint, api_key()),
        &budget(&[]),
    )
    .await;
    answer(&run);
    assert!(
        server.heads()[0].contains(&format!("x-api-key: key {CANARY}\r\n")),
        "R-594"
    );
}

/// I26.
#[tokio::test]
async fn a_redirect_takes_no_credential_to_another_origin() {
    let other = Server::start(|mut stream, head| async move {
        let told = authorization(&head).to_owned();
        stream.write_all(ok(&told).as_bytes()).await
    })
    .await;
    let target = format!("http://{}/take?key={CANARY}", other.authority());
    let redirect = format!("HTTP/1.1 307 Moved\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n");
    let server = Server::answering(redirect).await;
    let authority = server.authority();
    let mut both = credentialed(&format!("http://{authority}"), canary());
    both.endpoints
        .extend(grants(&[&format!("http://{}", other.authority())]).endpoints);

    let moved = send(&get(&authority, "/"), both.clone(), &budget(&[])).await;
    assert_eq!(answer(&moved)["status"], 307, "C1: nothing is followed");
    assert_eq!(other.heads(), Vec::<String>::new(), "C1");
    assert_unseen(&left(&moved));
    let followed = send(&get(&other.authority(), "/take"), both, &budget(&[])).await;
    assert_eq!(decode(&answer(&followed)["body"]), b"none", "C1 X34");
}

#[tokio::test]
async fn what_another_server_says_is_searched_too() {
    let server = Server::answering(ok(&format!("it is {CANARY}!"))).await;
    let authority = server.authority();
    let mut both = credentialed("https://api.test", canary());
    both.endpoints
        .extend(grants(&[&format!("http://{authority}")]).endpoints);
    let run = send(&get(&authority, "/"), both, &budget(&[])).await;
    let masked = format!("it is {}!", "*".repeat(CANARY.len()));
    assert_eq!(text(&decode(&answer(&run)["body"])), masked, "H50");
    assert_eq!(
        authorization(&server.heads()[0]),
        "none",
        "H50: and it got nothing"
    );
}

/// I26.
#[tokio::test]
async fn a_credential_is_for_the_origin_as_it_was_written() {
    let server = Server::answering(ok("done")).await;
    let grants = credentialed(&format!("http://localhost:{}", server.port), canary());
    let run = send(&get(&server.authority(), "/"), grants.clone(), &budget(&[])).await;
    assert!(error(&run).contains("HttpRequestDenied"), "H50");
    assert!(
        run.denials[0].contains("is for the origin as"),
        "U1 {:?}",
        run.denials
    );
    assert_eq!(server.heads(), Vec::<String>::new());
    let localhost = format!("localhost:{}", server.port);
    answer(&send(&get(&localhost, "/"), grants, &budget(&[])).await);
    assert_eq!(
        authorization(&server.heads()[0]),
        format!("Bearer {CANARY}")
    );
}

#[tokio::test]
async fn answers_that_cannot_be_searched_are_not_asked_for_and_refused() {
    let gzip = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\n\x1f\x0b";
    let server = Server::answering(gzip).await;
    let authority = server.authority();
    let order = with_field(get(&authority, "/"), "accept-encoding", b"gzip, br");
    let order = with_field(order, "range", b"bytes=0-3");
    let endpoint = format!("http://{authority}");
    let run = send(&order, credentialed(&endpoint, canary()), &budget(&[])).await;
    assert!(
        error(&run).contains("HttpResponseContentCoding"),
        "H50: {}",
        error(&run)
    );
    let head = &server.heads()[0];
    assert!(head.contains("accept-encoding: identity\r\n"), "H50 {head}");
    assert!(
        !head.contains("range:") && !head.contains("gzip"),
        "H50 {head}"
    );
    let free = send(&order, grants(&[&endpoint]), &budget(&[])).await;
    assert_eq!(
        decode(&answer(&free)["body"]),
        b"\x1f\x0b",
        "without one it is the guest's affair"
    );
    assert!(server.heads()[1].contains("gzip, br"));
}

#[tokio::test]
async fn a_limit_cannot_be_moved_through_the_credential_to_spell_it() {
    let server = Server::answering(ok(&format!("0123456789{CANARY}"))).await;
    let authority = server.authority();
    for limit in 10..10 + u64::try_from(CANARY.len()).unwrap() {
        let grants = credentialed(&format!("http://{authority}"), canary());
        let limits = budget(&[(LimitName::HttpResponseBody, limit)]);
        let run = send(&get(&authority, "/"), grants, &limits).await;
        let body = text(&decode(&answer(&run)["body"]));
        let stars = body.trim_start_matches(|c: char| c.is_ascii_digit());
        assert!(
            body.starts_with("012345678") && stars.chars().all(|c| c == '*'),
            "C9: {body}"
        );
        assert!(
            answer(&run)["broken"]
                .as_str()
                .unwrap()
                .contains("HttpResponseBodySize")
        );
    }
}

#[tokio::test]
async fn what_a_guest_writes_or_fails_with_is_masked() {
    let grants = || credentialed("https://api.test", canary());
    let print = json!({ "text": crate::http_servers::encode(format!("a {CANARY} b").as_bytes()),
                        "error": crate::http_servers::encode(forms(CANARY)[5].as_bytes()),
                        "times": 2 });
    let sandbox = crate::rig::sandbox();
    let bytes = std::fs::read(bindery_artefacts::rust_guest("ambient-driver").unwrap()).unwrap();
    let guest = sandbox.load(bytes).await.unwrap();
    let (arguments, cancel) = (print.to_string(), Cancel::new());
    let run = sandbox
        .run(&guest, "print", &arguments, grants(), &budget(&[]), &cancel)
        .await;
    let receipt = receipt(&run);
    assert_eq!(receipt.stdout.text, "a [masked] ba [masked] b", "C9");
    assert_eq!(
        receipt.stderr.text, "[masked]",
        "C9: both are one piece of secret"
    );
    assert_unseen(&left(&run));

    let told = with_field(get("api.test", "/"), &format!("no field {CANARY}"), b"x");
    let failed = send(&told, grants(), &budget(&[])).await;
    assert!(
        error(&failed).starts_with("field no field [masked]: "),
        "C9 {}",
        error(&failed)
    );
    let other = get("other.test", &format!("/{}", forms(CANARY)[5]));
    let asked = send(&other, grants(), &budget(&[])).await;
    assert!(
        asked.denials[0].contains("/[masked]"),
        "C9 {:?}",
        asked.denials
    );
    assert_unseen(&left(&asked));
}

#[tokio::test]
async fn a_call_without_its_credential_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let server = Server::answering(ok("done")).await;
    let authority = server.authority();
    let ask = async || {
        let credential = from(Arc::new(SecretFile::new(&path)));
        let grants = credentialed(&format!("http://{authority}"), credential);
        send(&get(&authority, "/"), grants, &budget(&[])).await
    };
    let write = |value: &str| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(&path, value).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    };
    let missing = |run: &Run| {
        let refusal = refusal(run);
        assert_eq!(refusal.kind(), ErrorType::CredentialMissing, "R-592");
        assert_eq!(
            refusal.kind().category(),
            Category::MissingCredential,
            "R-592"
        );
        assert_eq!(
            refusal.message(),
            "the credential `echo` is not available",
            "R-593"
        );
        assert!(
            refusal.operator().unwrap().contains("token"),
            "R-593: and where it should be"
        );
        assert!(!refusal.to_json().to_string().contains("/token"), "R-593");
        assert!(run.receipt.is_none(), "R-593: nothing of the component ran");
    };
    missing(&ask().await);
    write("CANARY-old");
    answer(&ask().await);
    write("CANARY-new\n");
    answer(&ask().await);
    std::fs::remove_file(&path).unwrap();
    missing(&ask().await);
    let told: Vec<String> = server
        .heads()
        .iter()
        .map(|h| authorization(h).to_owned())
        .collect();
    assert_eq!(
        told,
        ["Bearer CANARY-old", "Bearer CANARY-new"],
        "R-596: read at each call"
    );
}

#[tokio::test]
async fn a_helper_that_is_too_slow_ends_the_call_on_its_deadline() {
    let helper = SecretHelper::new("/bin/sh").unwrap();
    let helper = helper.argument("-c").argument("sleep 1000");
    let helper = helper.within(Duration::from_secs(100));
    let grants = credentialed("https://api.test", from(Arc::new(helper)));
    let limits = budget(&[(LimitName::Deadline, 300)]);
    let run = send(&get("api.test", "/"), grants, &limits).await;
    assert_eq!(refusal(&run).kind(), ErrorType::Timeout, "H44");
}

/// Where a subscriber writes.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// R-792.
#[tokio::test]
async fn tracing_at_its_finest_shows_no_credential() {
    let server = echo_server(7).await;
    let authority = server.authority();
    let page = Page::default();
    let writer = page.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::FULL)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let grants = credentialed(&format!("http://{authority}"), canary());
    answer(&send(&get(&authority, "/"), grants, &budget(&[])).await);
    let missing = SecretFile::new("/no/such/file/CANARY");
    let grants = credentialed("https://api.test", from(Arc::new(missing)));
    refusal(&send(&get("api.test", "/"), grants, &budget(&[])).await);
    let seen = text(&page.0.lock().unwrap());
    assert!(seen.contains("run{"), "X65: something was traced: {seen}");
    assert_unseen(&seen);
}

/// R-291, R-515.
#[tokio::test]
async fn a_request_is_sent_once_whatever_comes_of_it() {
    async fn dropped(_: TcpStream, _: String) -> std::io::Result<()> {
        // Committed, and then the connection is gone.
        Ok(())
    }
    async fn silent(mut stream: TcpStream, _: String) -> std::io::Result<()> {
        until_closed(&mut stream).await
    }
    let failed = "HTTP/1.1 503 Later\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n";
    let limited = "HTTP/1.1 429 Later\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n";
    let servers = [
        Server::start(dropped).await,
        Server::start(silent).await,
        Server::answering(failed).await,
        Server::answering(limited).await,
    ];
    for server in &servers {
        for (sent, method) in ["GET", "PUT", "POST"].into_iter().enumerate() {
            let authority = server.authority();
            let endpoint = format!("GET,PUT,POST http://{authority}");
            let order = with_body(order(method, "http", &authority, "/"), &[b"x"]);
            let limits = budget(&[(LimitName::HttpTime, 500)]);
            let grants = credentialed(&endpoint, canary());
            let run = call(
                "http-driver",
                "#send",
                &json!({ "order": order }),
                grants,
                &limits,
                &Cancel::new(),
            )
            .await;
            assert_eq!(
                server.heads().len(),
                sent + 1,
                "G2: {method} once: {:?}",
                run.outcome
            );
            let effects = &receipt(&run).effects;
            assert_eq!(effects.len(), 1, "G2: each attempt is in the record");
        }
    }
}

#[test]
fn the_forms_of_this_test_are_real() {
    let all = forms(CANARY);
    assert!(all.iter().all(|form| form.len() >= 16), "{all:?}");
    let encoded = base64(format!("xx{CANARY}yy").as_bytes(), false);
    assert!(
        all.iter().any(|form| encoded.contains(form.as_str())),
        "{encoded}"
    );
    let _: Value = serde_json::from_str(&format!("\"{}\"", all[4])).unwrap();
}
