//! Guests that wait: for ever, for everything at once, over and over (B1, X13, H7). The
//! deadline or a limit ends each, its sockets are closed, and the next call works.

use std::time::{Duration, Instant};

use bindery_grants::{Clock, Grants};
use bindery_sandbox::Cancel;
use bindery_types::{ErrorType, LimitName, Run};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::http_servers::{Server, answer, call as ask, get, grants, ok, until_closed};
use crate::rig::{assert_limit, budget, fault_cause, hostile, receipt, refusal, sandbox, value};

/// B1 allows 600 ms; ten times that is asserted.
const LIVENESS: Duration = Duration::from_secs(6);

async fn poll(server: &Server, what: &[&str], limits: &[(LimitName, u64)]) -> Run {
    let granted = grants(&[&format!("http://{}", server.authority())]);
    let arguments = json!({"order": get(&server.authority(), "/"), "wait": what});
    let (limits, cancel) = (budget(limits), Cancel::new());
    ask(
        "http-driver",
        "#poll",
        &arguments,
        granted,
        &limits,
        &cancel,
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poll_on_an_answer_that_never_comes_ends_at_the_deadline() {
    let silent =
        Server::start(|mut stream, _| async move { until_closed(&mut stream).await }).await;
    let began = Instant::now();
    let run = poll(&silent, &[], &[(LimitName::Deadline, 500)]).await;
    assert_limit(&run, LimitName::Deadline, 500);
    assert!(began.elapsed() < LIVENESS, "B1");
    silent.all_closed().await;
    let server = Server::answering(ok("{}")).await;
    let run = poll(&server, &[], &[]).await;
    assert_eq!(answer(&run), json!([0]), "B1: the next call works");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poll_on_a_body_that_never_comes_ends_at_the_deadline() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n";
    let stalls = Server::start(move |mut stream, _| async move {
        stream.write_all(head.as_bytes()).await?;
        until_closed(&mut stream).await
    })
    .await;
    let began = Instant::now();
    let run = poll(&stalls, &["body"], &[(LimitName::Deadline, 500)]).await;
    assert_limit(&run, LimitName::Deadline, 500);
    assert!(began.elapsed() < LIVENESS, "B1");
    assert_eq!(
        receipt(&run).effects.len(),
        1,
        "what it did stays in the receipt"
    );
    stalls.all_closed().await;
    let server = Server::answering(ok("0123456789")).await;
    let run = poll(&server, &["body"], &[]).await;
    assert_eq!(answer(&run), json!([0]), "B1: a body that comes is ready");
}

/// B1: standard input is at its end from the start, so nobody waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn standard_input_is_ready_at_once_beside_what_is_not() {
    let silent =
        Server::start(|mut stream, _| async move { until_closed(&mut stream).await }).await;
    let run = poll(
        &silent,
        &["standard-input"],
        &[(LimitName::Deadline, 60_000)],
    )
    .await;
    assert_eq!(answer(&run), json!([1]), "B1");
    silent.all_closed().await;
}

/// X13: one timer in a list of a million, a timer beyond all time, a loop over one that is
/// always ready.
#[tokio::test]
async fn lists_and_loops_of_pollables_end_at_limits() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "wait/poll").await;
    let run = async |function: &str, arguments: Value, limits: &[(LimitName, u64)]| {
        let grants = Grants {
            clock: Clock::Real,
            ..Grants::default()
        };
        let (arguments, limits, cancel) = (arguments.to_string(), budget(limits), Cancel::new());
        let run = sandbox.run(&component, function, &arguments, grants, &limits, &cancel);
        run.await
    };
    let few = run("many", json!({"ns": 0, "times": 100}), &[]).await;
    assert_eq!(value(&few), 100);
    let many = run("many", json!({"ns": 0, "times": 1_000_000}), &[]).await;
    assert_eq!(refusal(&many).kind(), ErrorType::BudgetExhausted, "X13");
    let began = Instant::now();
    let far = json!({"ns": "9223372036854775808", "times": 1});
    let never = run("many", far, &[(LimitName::Deadline, 300)]).await;
    assert_limit(&never, LimitName::Deadline, 300);
    assert!(began.elapsed() < LIVENESS, "X13");
    let busy = run("busily", json!({}), &[(LimitName::Deadline, 60_000)]).await;
    assert_limit(&busy, LimitName::HostCalls, 100_000);
    let few = run("many", json!({"ns": 0, "times": 1}), &[]).await;
    assert_eq!(value(&few), 1, "X13: the next call works");
    assert_eq!(sandbox.running(), 0);
}

/// H19: a body whose stream is still held cannot be dropped; it is the guest's fault.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_parent_with_a_child_cannot_be_dropped() {
    let none = json!({});
    let (limits, cancel) = (budget(&[]), Cancel::new());
    let run = ask(
        "http-driver",
        "#drop-parent",
        &none,
        grants(&[]),
        &limits,
        &cancel,
    )
    .await;
    assert_eq!(fault_cause(&run), "bad_handle", "H19");
}

/// B5, U5: a list of fields ends at exactly its limit, by its name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_of_fields_that_grows_for_ever_ends_at_its_limit() {
    let hoard = async |fields: u32, limit: u64| {
        let limits = budget(&[(LimitName::HttpFields, limit)]);
        let (arguments, cancel) = (json!({"fields": fields, "bytes": 100}), Cancel::new());
        ask(
            "http-driver",
            "#hoard-fields",
            &arguments,
            grants(&[]),
            &limits,
            &cancel,
        )
        .await
    };
    assert_eq!(answer(&hoard(10, 32 << 10).await), json!(10));
    let run = hoard(100_000, 32 << 10).await;
    assert_limit(&run, LimitName::HttpFields, 32 << 10);
    assert_limit(&hoard(10, 100).await, LimitName::HttpFields, 100);
    assert_eq!(
        answer(&hoard(10, 32 << 10).await),
        json!(10),
        "B5: the next call works"
    );
}

/// X36, U5: the head of an answer and the address of a request end at limits with names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn heads_and_addresses_stop_at_exactly_their_limits() {
    // Two fields: `content-length: 2` and `x: …`, 23 bytes beside the letters.
    let head = |letters: usize| {
        let x = "y".repeat(letters);
        format!("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx: {x}\r\n\r\n{{}}")
    };
    let server = Server::answering(head(1_000)).await;
    let send = async |path: &str, limits: &[(LimitName, u64)]| {
        let granted = grants(&[&format!("http://{}", server.authority())]);
        let order = get(&server.authority(), path);
        crate::http_servers::send(&order, granted, &crate::http_servers::budget(limits)).await
    };
    let long = format!("/{}", "p".repeat(99));
    let rows = [
        (
            LimitName::HttpHead,
            1_016,
            "/",
            "HttpResponseHeaderSectionSize",
        ),
        (
            LimitName::HttpHeadFields,
            2,
            "/",
            "HttpResponseHeaderSectionSize",
        ),
        (
            LimitName::HttpUrl,
            100,
            long.as_str(),
            "HttpRequestUriTooLong",
        ),
    ];
    for (name, least, path, code) in rows {
        let passes = send(path, &[(name, least)]).await;
        assert_eq!(answer(&passes)["status"], 200, "U5: {}", name.as_str());
        let stopped = send(path, &[(name, least - 1)]).await;
        let error = crate::http_servers::error(&stopped);
        assert!(error.contains(code), "U5: {}: {error}", name.as_str());
        assert_eq!(receipt(&stopped).limits_hit, [name.as_str()], "U5");
    }
}
