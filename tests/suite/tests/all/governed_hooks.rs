//! Hooks and screening around governed calls: R-170, R-174, R-516, R-517.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bindery::{
    CallOptions, ErrorType, Hook, HookAnswer, HookCall, HookRoute, HostBuilder, Outcome, Resources,
    Screening, ScreeningFailed, Veto,
};

use serde_json::json;

use crate::governed_scene::{Stand, call, echo, refusal, value};

/// What a hook does when it is asked.
#[derive(Clone, Copy)]
enum Does {
    Nothing,
    Veto,
    Panic,
    PanicLater,
    Wait,
}

impl Does {
    fn answer<'a>(self) -> HookAnswer<'a> {
        match self {
            Does::Nothing => Box::pin(async { Ok(()) }),
            Does::Veto => Box::pin(async { Err(Veto("not on a Sunday".to_owned())) }),
            Does::Panic => panic!("at once"),
            Does::PanicLater => Box::pin(async { panic!("later") }),
            Does::Wait => Box::pin(std::future::pending()),
        }
    }
}

struct Watcher {
    name: &'static str,
    before: Does,
    after: Does,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Watcher {
    fn note(&self, phase: &str, about: &HookCall<'_>) {
        let outcome = about.outcome.map(|outcome| format!("{outcome:?}"));
        self.seen.lock().unwrap().push(format!(
            "{} {phase} {:?} {} {}",
            self.name,
            about.route,
            about.capability,
            outcome.unwrap_or_default()
        ));
    }
}

impl Hook for Watcher {
    fn name(&self) -> &str {
        self.name
    }

    fn before<'a>(&'a self, about: HookCall<'a>) -> HookAnswer<'a> {
        self.note("before", &about);
        match about.route {
            HookRoute::Bind => Does::Nothing.answer(),
            HookRoute::Call | HookRoute::Nested => self.before.answer(),
        }
    }

    fn after<'a>(&'a self, about: HookCall<'a>) -> HookAnswer<'a> {
        self.note("after", &about);
        self.after.answer()
    }
}

const RULE: &str = r#"
[[policy.rule]]
decision = "allow"
why = "the scenario"
namespaces = ["acme"]
"#;
const ECHO: &str = "acme:echo/echo#say";

async fn stand(document: &str, build: impl FnOnce(HostBuilder) -> HostBuilder) -> Stand {
    let document = format!("{document}{RULE}");
    let mut stand = Stand::new(&document, Resources::default(), build).await;
    stand.admit("echo.wasm", echo()).await;
    stand
}

type Seen = Arc<Mutex<Vec<String>>>;

fn watcher(name: &'static str, before: Does, after: Does, seen: &Seen) -> Arc<dyn Hook> {
    Arc::new(Watcher {
        name,
        before,
        after,
        seen: Arc::clone(seen),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_see_a_binding_and_both_sides_of_a_call_in_order() {
    let seen = Seen::default();
    let stand = stand("", |builder| {
        builder
            .hook(watcher("one", Does::Nothing, Does::Nothing, &seen))
            .hook(watcher("two", Does::Nothing, Does::Nothing, &seen))
    })
    .await;
    let reply = stand.call(ECHO, &json!({ "text": "hello" })).await;
    assert_eq!(value(&reply), "hello");
    let outcome = format!("{:?}", Outcome::Value("\"hello\"".to_owned()));
    assert_eq!(
        *seen.lock().unwrap(),
        [
            format!("one before Bind {ECHO} "),
            format!("two before Bind {ECHO} "),
            format!("one before Call {ECHO} "),
            format!("two before Call {ECHO} "),
            format!("two after Call {ECHO} {outcome}"),
            format!("one after Call {ECHO} {outcome}"),
        ],
        "R-516"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_vetoes_panics_or_is_silent_before_a_call_starts_nothing() {
    for does in [Does::Veto, Does::Panic, Does::PanicLater, Does::Wait] {
        let seen = Seen::default();
        let stand = stand("", |builder| {
            builder
                .hook(watcher("guard", does, Does::Nothing, &seen))
                .hook_time(Duration::from_millis(50))
        })
        .await;
        let reply = stand.call(ECHO, &json!({ "text": "hello" })).await;
        assert_eq!(refusal(&reply).kind(), ErrorType::PermissionDenied, "R-516");
        assert!(reply.run.receipt.is_none());
        assert_eq!(stand.count("call_intent"), 0, "R-170: nothing was claimed");
        assert_eq!(stand.count("call_refused"), 1, "R-510");
        let reasons = stand.reasons("hook_vetoed");
        assert!(reasons[0].contains("`guard`"), "R-516: {reasons:?}");
        assert!(
            !refusal(&reply).to_json().to_string().contains("guard"),
            "whose it was is the operator's to know"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_says_no_after_a_call_withholds_its_result_and_the_end_is_on_record() {
    for does in [Does::Veto, Does::Panic, Does::PanicLater, Does::Wait] {
        let seen = Seen::default();
        let stand = stand("", |builder| {
            builder
                .hook(watcher("guard", Does::Nothing, does, &seen))
                .hook_time(Duration::from_millis(50))
        })
        .await;
        let bound = stand.bind(ECHO, None).await.unwrap();
        let options = CallOptions {
            idempotency_key: Some("once".parse().unwrap()),
            ..CallOptions::default()
        };
        let arguments = r#"{"text": "hello"}"#;
        let handle = bound.handle.to_string();
        let reply = stand.session.call(&handle, arguments, &options).await;
        assert_eq!(refusal(&reply).kind(), ErrorType::PermissionDenied);
        assert!(reply.run.receipt.is_some(), "what was used is said");
        assert_eq!(stand.count("hook_vetoed"), 1, "R-516");
        let records = serde_json::to_string(&stand.records()).unwrap();
        assert!(records.contains("\"succeeded\""), "it is settled as it was");
        let again = stand.session.call(&handle, arguments, &options).await;
        assert!(
            matches!(again.run.outcome, Outcome::Refused(_)),
            "a repeated key does not get what was withheld: {again:?}"
        );
    }
}

/// R-252.
#[tokio::test(flavor = "multi_thread")]
async fn text_that_looks_like_a_secret_is_masked_in_the_result() {
    let stand = stand("", |builder| builder).await;
    let text = "it is --token=abcdefgh12345678, Bearer abcdefgh1";
    let reply = stand.call(ECHO, &json!({ "text": text })).await;
    let shown = value(&reply).to_string();
    assert!(!shown.contains("abcdefgh1"), "R-517: {shown}");
    assert!(shown.contains("[masked]"));
    let records = serde_json::to_string(&stand.records()).unwrap();
    assert!(!records.contains("abcdefgh1"), "R-586");
    let reasons = stand.reasons("call_outcome");
    assert!(reasons[0].contains("2 masked"), "R-174: {reasons:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_can_withhold_instead_and_what_is_clean_still_passes() {
    let stand = stand("[screening]\nsecrets = \"withhold\"\n", |builder| builder).await;
    let reply = stand
        .call(ECHO, &json!({ "text": "Bearer abcdefgh1" }))
        .await;
    assert_eq!(refusal(&reply).kind(), ErrorType::PermissionDenied, "R-517");
    assert_eq!(refusal(&reply).details()["withheld_by"], "screening");
    assert_eq!(stand.count("screening_withheld"), 1);
    let clean = stand.call(ECHO, &json!({ "text": "hello" })).await;
    assert_eq!(value(&clean), "hello");
}

/// A screening that does as it is told by the result.
struct Own;

impl Screening for Own {
    fn screen(&self, json: &str) -> Result<String, ScreeningFailed> {
        match json {
            "\"fail\"" => Err(ScreeningFailed("the service is away".to_owned())),
            "\"panic\"" => panic!("as told"),
            "\"break\"" => Ok("no json".to_owned()),
            other => Ok(other.replace("Oslo", "(a town)")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_screening_that_fails_withholds_the_result_and_the_call_is_settled() {
    let stand = stand("", |builder| builder.screening(Arc::new(Own))).await;
    let bound = stand.bind(ECHO, None).await.unwrap();
    for text in ["fail", "panic", "break"] {
        let reply = call(&stand.session, &bound, &json!({ "text": text })).await;
        assert_eq!(refusal(&reply).kind(), ErrorType::PermissionDenied, "R-517");
        assert_eq!(refusal(&reply).details()["ended_as"], "value");
    }
    let fine = call(&stand.session, &bound, &json!({ "text": "Oslo" })).await;
    assert_eq!(value(&fine), "(a town)");
    assert_eq!(stand.count("screening_withheld"), 3, "R-174");
    assert_eq!(stand.count("call_outcome"), 4, "R-510");
}
