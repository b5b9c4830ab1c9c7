//! The adapter `http-json` against a server that redirects, stalls, floods and lies about
//! length, and against no grant at all: each has a case of its own.

use bindery_sandbox::Cancel;
use bindery_types::{LimitName, Run};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::http_servers::{Server, answer, budget, call, error, grants, ok, until_closed};

async fn get(server: &Server, limits: &[(LimitName, u64)]) -> Run {
    let url = format!("http://{}/data", server.authority());
    let granted = grants(&[&format!("GET,POST http://{}/", server.authority())]);
    let arguments = json!({ "url": url });
    call(
        "http-json",
        "#get-json",
        &arguments,
        granted,
        &budget(limits),
        &Cancel::new(),
    )
    .await
}

fn case(run: &Run) -> Value {
    let text = error(run);
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_comes_back_as_the_server_wrote_it() {
    let server = Server::answering(ok(r#"{ "a": [1, 2.50] }"#)).await;
    let answer = answer(&get(&server, &[]).await);
    assert_eq!(answer["status"], 200);
    assert_eq!(answer["body-json"], r#"{ "a": [1, 2.50] }"#);
    assert!(server.heads()[0].contains("accept: application/json\r\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_is_posted_with_its_length_and_type() {
    let server = Server::start(|mut stream, head| async move {
        assert!(head.starts_with("POST /data HTTP/1.1\r\n"));
        assert!(head.contains("content-type: application/json\r\n"));
        let mut body = [0; 7];
        stream.read_exact(&mut body).await?;
        stream
            .write_all(ok(std::str::from_utf8(&body).unwrap()).as_bytes())
            .await
    })
    .await;
    let arguments = json!({
        "url": format!("http://{}/data", server.authority()),
        "body-json": r#"{"a":1}"#,
        "headers": [{ "name": "x-request-id", "value": "7" }],
    });
    let granted = || grants(&[&format!("GET,POST http://{}/", server.authority())]);
    let run = call(
        "http-json",
        "#post-json",
        &arguments,
        granted(),
        &budget(&[]),
        &Cancel::new(),
    )
    .await;
    assert_eq!(answer(&run)["body-json"], r#"{"a":1}"#);
    assert!(server.heads()[0].contains("content-length: 7\r\n"));
    let mut unsent = arguments;
    unsent["body-json"] = Value::from("{'a':1}");
    let run = call(
        "http-json",
        "#post-json",
        &unsent,
        granted(),
        &budget(&[]),
        &Cancel::new(),
    )
    .await;
    assert!(case(&run)["bad-body"].is_string());
    assert_eq!(server.heads().len(), 1, "what is no JSON is not sent");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_is_shown_and_not_followed() {
    let head =
        "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 2\r\n\r\nno";
    let server = Server::answering(head).await;
    let answer = answer(&get(&server, &[]).await);
    assert_eq!(
        (&answer["status"], &answer["body-json"]),
        (&json!(302), &Value::Null),
        "C1"
    );
    let location = json!({ "name": "location", "value": "http://169.254.169.254/" });
    assert!(answer["headers"].as_array().unwrap().contains(&location));
    assert_eq!(server.heads().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stalls_floods_or_lies_has_a_case_of_its_own() {
    let stalls =
        Server::start(|mut stream, _| async move { until_closed(&mut stream).await }).await;
    assert_eq!(
        case(&get(&stalls, &[(LimitName::HttpTime, 200)]).await),
        "timeout",
        "B1"
    );
    stalls.all_closed().await;
    let floods = Server::start(|mut stream, _| async move {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n[").await?;
        loop {
            stream.write_all(&b"0,".repeat(4_096)).await?;
        }
    })
    .await;
    let flooded = case(&get(&floods, &[(LimitName::HttpResponseBody, 50_000)]).await);
    assert_eq!(flooded, json!({ "too-large": 50_000 }), "X36 U5");
    floods.all_closed().await;
    let short = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}").await;
    assert!(
        case(&get(&short, &[]).await)["connection"].is_string(),
        "X35"
    );
    let both = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}";
    assert!(
        case(&get(&Server::answering(both).await, &[]).await)["protocol"].is_string(),
        "X35"
    );
    let heads = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(100_000));
    assert!(
        case(&get(&Server::answering(heads).await, &[]).await)["too-large"].is_u64(),
        "X36"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_no_json_is_shown_with_its_fault() {
    let page = "HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: 13\r\n\r\n<html></html>";
    let fault = case(&get(&Server::answering(page).await, &[]).await);
    let fault = &fault["bad-json"];
    assert_eq!(
        (&fault["status"], &fault["content-type"]),
        (&json!(502), &json!("text/html"))
    );
    assert_eq!(fault["beginning"], "<html></html>");
    assert!(fault["fault"].as_str().unwrap().contains("line 1"));
    let empty = answer(
        &get(
            &Server::answering("HTTP/1.1 204 No Content\r\n\r\n").await,
            &[],
        )
        .await,
    );
    assert_eq!(
        (&empty["status"], &empty["body-json"]),
        (&json!(204), &Value::Null)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_granted_or_not_well_formed_is_told_apart() {
    let granted = "http://127.0.0.1:9/";
    let table = [
        (json!({ "url": "http://other.test/" }), json!("denied")),
        (json!({ "url": "https://127.0.0.1:9/" }), json!("denied")),
        (json!({ "url": "ftp://127.0.0.1/" }), json!("bad-url")),
        (json!({ "url": "127.0.0.1" }), json!("bad-url")),
        (
            json!({ "url": "http://127.0.0.1:9/a/../b" }),
            json!("bad-url"),
        ),
        (json!({ "url": "http://127.0.0.1:9/#x" }), json!("bad-url")),
        (
            json!({ "url": granted, "headers": [{ "name": "authorization", "value": "x" }] }),
            json!("bad-header"),
        ),
        (json!({ "url": granted }), json!("connection")),
    ];
    for (arguments, expected) in table {
        let grants = grants(&[granted]);
        let run = call(
            "http-json",
            "#get-json",
            &arguments,
            grants,
            &budget(&[]),
            &Cancel::new(),
        )
        .await;
        let got = case(&run);
        let name = got.as_object().and_then(|case| case.keys().next().cloned());
        assert_eq!(name.map_or(got, Value::from), expected, "U1 {arguments}");
    }
}
