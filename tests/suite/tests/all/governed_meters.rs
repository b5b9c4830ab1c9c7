//! What is counted over many calls: bindings and questions one by one, bytes that were sent
//! and written, for a session, a principal and everybody; of many at once as many as are
//! allowed (case G4).

use bindery::policy::SessionSpec;
use bindery::{Access, DirectoryGrant, ErrorType, Host, Outcome, Refusal, Resources, Session};
use bindery_artefacts::rust_guest;
use cap_std::fs::Dir;
use serde_json::{Value, json};

use crate::governed_scene::{Stand, bind, call, echo, refusal, spec, value};
use crate::http_servers::{Server, ok};

const ECHO: &str = "acme:echo/echo#say";
const ALLOW: &str = r#"
[[policy.rule]]
decision = "allow"
why = "the scenario"
namespaces = ["acme"]
"#;
const ASK: &str = r#"
[[policy.rule]]
decision = "ask"
why = "somebody looks"
namespaces = ["acme"]
approval = "confirm_every_time"
"#;

async fn stand(rules: &str, limits: &str) -> Stand {
    let document = format!("{rules}{limits}");
    let mut stand = Stand::new(&document, Resources::default(), |builder| builder).await;
    stand.admit("echo.wasm", echo()).await;
    stand
}

/// A session of another principal than the scene's.
fn foreign(number: u8) -> SessionSpec {
    let mut spec = spec(number, "tester");
    spec.who.principal = "token:other".parse().unwrap();
    spec
}

/// How many of so many binds at once get a binding; the others are refused for the budget.
async fn binds_at_once(host: &Host, sessions: &[Session], each: usize) -> usize {
    let asked = sessions.iter().flat_map(|session| {
        (0..each).map(|_| {
            let (host, session) = (host.clone(), session.clone());
            tokio::spawn(async move { bind(&host, &session, ECHO, None).await })
        })
    });
    let mut granted = 0;
    for answer in asked.collect::<Vec<_>>() {
        match answer.await.unwrap() {
            Ok(_) => granted += 1,
            Err(refusal) => {
                assert_eq!(refusal.kind(), ErrorType::BudgetExhausted, "{refusal:?}");
            }
        }
    }
    granted
}

/// R-062, R-316, R-505.
#[tokio::test(flavor = "multi_thread")]
async fn of_many_bindings_at_once_as_many_are_opened_as_each_subject_may_have() {
    for (subject, granted) in [("session", 6), ("principal", 6), ("environment", 3)] {
        let stand = stand(ALLOW, &format!("[aggregates.{subject}]\nbinds = 3\n")).await;
        let second = match subject {
            // Two sessions have three each; two principals have three each.
            "session" => spec(2, "tester"),
            _ => foreign(2),
        };
        let second = stand.host.session(second).await.unwrap();
        let sessions = [stand.session.clone(), second];
        let got = binds_at_once(&stand.host, &sessions, 16).await;
        assert_eq!(got, granted, "{subject}: case G4");
        assert_eq!(stand.count("binding_opened"), granted, "{subject}: I42");
    }
    // The sessions of one principal share what is the principal's.
    let stand = stand(ALLOW, "[aggregates.principal]\nbinds = 3\n").await;
    let second = stand.host.session(spec(2, "tester")).await.unwrap();
    let sessions = [stand.session.clone(), second];
    assert_eq!(binds_at_once(&stand.host, &sessions, 16).await, 3);
}

/// R-506.
#[tokio::test(flavor = "multi_thread")]
async fn a_rate_of_bindings_admits_its_number_and_says_when_to_come_again() {
    for subject in ["session", "principal", "environment"] {
        let rate = format!("[rates.{subject}]\nbinds = \"2/1h\"\n");
        let stand = stand(ALLOW, &rate).await;
        let sessions = [stand.session.clone()];
        let granted = binds_at_once(&stand.host, &sessions, 8).await;
        assert_eq!(granted, 2, "{subject}");
        let refusal = stand.bind(ECHO, None).await.unwrap_err();
        let wait = refusal.details()["retry_after_ms"].as_u64().unwrap();
        assert!((1..=3_600_000).contains(&wait), "{subject}: {wait}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_of_bindings_that_is_over_counts_from_nothing() {
    let stand = stand(ALLOW, "[rates.session]\nbinds = \"1/200ms\"\n").await;
    stand.bind(ECHO, None).await.unwrap();
    let refusal = stand.bind(ECHO, None).await.unwrap_err();
    assert_eq!(refusal.kind(), ErrorType::BudgetExhausted);
    let wait = refusal.details()["retry_after_ms"].as_u64().unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(wait + 1)).await;
    stand.bind(ECHO, None).await.unwrap();
}

/// What asking `count` different questions at once came to: proposals, and refusals for
/// the budget.
async fn questions(host: &Host, session: &Session, count: usize) -> (usize, Vec<Refusal>) {
    let bound = bind(host, session, ECHO, None).await.unwrap();
    let asked = (0..count).map(|number| {
        let (session, bound) = (session.clone(), bound.clone());
        let arguments = json!({ "text": format!("question {number}") });
        tokio::spawn(async move { call(&session, &bound, &arguments).await })
    });
    let (mut made, mut refused) = (0, Vec::new());
    for reply in asked.collect::<Vec<_>>() {
        let reply = reply.await.unwrap();
        let refusal = refusal(&reply);
        match refusal.kind() {
            ErrorType::ApprovalRequired => made += 1,
            kind => {
                assert_eq!(kind, ErrorType::BudgetExhausted, "H54: {refusal:?}");
                refused.push(refusal.clone());
            }
        }
    }
    (made, refused)
}

/// R-316.
#[tokio::test(flavor = "multi_thread")]
async fn of_many_questions_at_once_as_many_are_asked_as_each_subject_may_ask() {
    for subject in ["session", "principal", "environment"] {
        for limit in [
            format!("[aggregates.{subject}]\nproposals = 2\n"),
            format!("[rates.{subject}]\nproposals = \"2/1h\"\n"),
        ] {
            let stand = stand(ASK, &limit).await;
            let (made, refused) = questions(&stand.host, &stand.session, 8).await;
            assert_eq!((made, refused.len()), (2, 6), "{limit}");
            assert_eq!(stand.count("proposal_made"), 2, "{limit}: I42");
            let on_record = stand.count("call_decided") + stand.count("call_refused");
            assert_eq!(on_record, 8, "{limit}: each call is on record");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_question_asked_again_counts_once() {
    let stand = stand(ASK, "[aggregates.session]\nproposals = 1\n").await;
    let bound = stand.bind(ECHO, None).await.unwrap();
    let arguments = json!({ "text": "x" });
    let first = call(&stand.session, &bound, &arguments).await;
    stand
        .host
        .approve(first.proposal.unwrap(), "yes")
        .await
        .unwrap();
    value(&call(&stand.session, &bound, &arguments).await);
    let next = call(&stand.session, &bound, &arguments).await;
    assert_eq!(
        refusal(&next).kind(),
        ErrorType::BudgetExhausted,
        "an answered one is spent"
    );
}

fn left(session: &Session, key: &str) -> u64 {
    let manifest = serde_json::to_value(session.environment().unwrap()).unwrap();
    let text = manifest.to_string();
    let budgets = find(&manifest, key);
    let row = budgets.unwrap_or_else(|| panic!("{key} is not in {text}"));
    row["remaining"].as_u64().unwrap()
}

fn find<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let Value::Object(members) = value else {
        return None;
    };
    members
        .get(key)
        .or_else(|| members.values().find_map(|member| find(member, key)))
}

/// R-505: bytes that a component writes are charged when they are written, and what would
/// not fit into what is left does not start.
#[tokio::test(flavor = "multi_thread")]
async fn written_bytes_are_charged_to_the_total_and_stop_the_next_call() {
    let folder = tempfile::tempdir().unwrap();
    let dir = Dir::from_std_file(std::fs::File::open(folder.path()).unwrap());
    let grant = DirectoryGrant::new(dir, "/w", Access::ReadWrite).unwrap();
    let resources = Resources::default().directory("work".parse().unwrap(), grant);
    let document = r#"
[grants.work]
kind = "directory"
host = "work"
guest = "/w"
access = "read_write"
[budgets]
written_bytes = "1000B"
[aggregates.session]
written_bytes = "1500B"
[[policy.rule]]
decision = "allow"
why = "the scenario"
namespaces = ["acme"]
grants = ["work"]
"#;
    let mut stand = Stand::new(document, resources, |builder| builder).await;
    stand.host.accept_writes("the scenario").await.unwrap();
    let bytes = std::fs::read(rust_guest("fs-driver").unwrap()).unwrap();
    stand.admit("fs-driver.wasm", bytes).await;
    let scope = json!({ "grants": { "work": { "access": "read_write" } } });
    let drive = "acme:fs-driver/driver#drive";
    let bound = stand.bind(drive, Some(scope)).await.unwrap();
    let write = |name: &str, bytes: usize| {
        json!({ "operations": [
            "preopens",
            { "open-at": { "slot": 0, "path-flags": [], "path": name,
                "open-flags": ["create"], "flags": ["write"] } },
            { "write": { "slot": 1, "offset": 0, "data": "AAAA".repeat(bytes / 3) } },
        ] })
    };
    assert_eq!(left(&stand.session, "session.written_bytes"), 1_500);
    value(&call(&stand.session, &bound, &write("first", 699)).await);
    assert_eq!(folder.path().join("first").metadata().unwrap().len(), 699);
    assert_eq!(
        left(&stand.session, "session.written_bytes"),
        801,
        "case G4: remaining = limit - spent"
    );
    let reply = call(&stand.session, &bound, &write("second", 9)).await;
    let refused = refusal(&reply);
    assert_eq!(refused.kind(), ErrorType::BudgetExhausted, "1000 may come");
    assert_eq!(refused.details()["limit"], "written_bytes");
    assert!(!folder.path().join("second").exists(), "nothing started");
    // A binding that may write nothing is not concerned.
    let reading = stand.bind(drive, None).await.unwrap();
    let look = json!({ "operations": ["preopens"] });
    value(&call(&stand.session, &reading, &look).await);
}

/// R-505.
#[tokio::test(flavor = "multi_thread")]
async fn bytes_on_the_network_are_charged_to_the_total_and_stop_the_next_call() {
    let server = Server::start(|mut stream, _| async move {
        use tokio::io::AsyncWriteExt;
        let body = format!("\"{}\"", "x".repeat(3_000));
        stream.write_all(ok(&body).as_bytes()).await
    })
    .await;
    let document = format!(
        r#"
[grants.api]
kind = "endpoint"
url = "http://{}/"
[budgets]
egress_bytes = "5000B"
[aggregates.principal]
egress_bytes = "8000B"
[[policy.rule]]
decision = "allow"
why = "the scenario"
namespaces = ["acme"]
grants = ["api"]
"#,
        server.authority()
    );
    let mut stand = Stand::new(&document, Resources::default(), |builder| builder).await;
    let bytes = std::fs::read(rust_guest("http-json").unwrap()).unwrap();
    stand.admit("http-json.wasm", bytes).await;
    let get = json!({ "url": format!("http://{}/data", server.authority()) });
    let bound = stand
        .bind("acme:http-json/http#get-json", None)
        .await
        .unwrap();
    let reply = call(&stand.session, &bound, &get).await;
    assert_eq!(value(&reply)["status"], 200);
    let receipt = reply.run.receipt.unwrap();
    let moved: u64 = receipt.effects.iter().map(|effect| effect.bytes).sum();
    assert!(moved > 3_000, "what was seen on the wire: {moved}");
    assert_eq!(
        left(&stand.session, "principal.egress_bytes"),
        8_000 - moved
    );
    let reply = call(&stand.session, &bound, &get).await;
    assert_eq!(refusal(&reply).kind(), ErrorType::BudgetExhausted);
    assert_eq!(server.heads().len(), 1, "nothing was sent");
    // Another principal has a total of its own.
    let other = stand.host.session(foreign(2)).await.unwrap();
    let own = bind(&stand.host, &other, "acme:http-json/http#get-json", None).await;
    let reply = call(&other, &own.unwrap(), &get).await;
    assert!(matches!(reply.run.outcome, Outcome::Value(_)), "{reply:?}");
}
