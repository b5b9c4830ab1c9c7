//! The static registry at stage 1: C-51. No session asks for a binding, every call has one.

use bindery::ledger::Target;
use bindery::ledger::event::Event;
use bindery::ledger::words::Route;
use bindery::policy::{Registration, Stages};
use bindery::{CallOptions, ErrorType, Outcome, Reply, Resources, Session};

use crate::governed_scene::{Stand, echo, echo_as, refusal, spec, value};

const ECHO: &str = "acme:echo/echo#say";
const LATE: &str = "acme:late/late#say";
const RULES: &str = r#"
[[policy.rule]]
decision = "allow"
why = "the scenario"
namespaces = ["acme"]
agents = ["tester"]
"#;

async fn stand() -> Stand {
    let mut stand = Stand::new(RULES, Resources::default(), |builder| builder).await;
    stand
        .admit_as(Registration::Static, "echo.wasm", echo())
        .await;
    let late = echo_as("test:late/late@1.0.0", "text");
    stand.admit("late.wasm", late).await;
    stand
}

/// A session of stage 1 and no other.
async fn session(stand: &Stand, number: u8, agent: &str) -> Session {
    let mut spec = spec(number, agent);
    spec.stages = Some(Stages::default());
    stand.host.session(spec).await.unwrap()
}

async fn say(session: &Session, capability: &str) -> Reply {
    let capability = capability.parse().unwrap();
    let options = CallOptions::default();
    session
        .call_registered(&capability, r#"{"text": "hello"}"#, &options)
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registered_capability_is_called_at_stage_one_through_a_binding_nobody_sees() {
    let stand = stand().await;
    let session = session(&stand, 2, "tester").await;
    let reply = say(&session, ECHO).await;
    assert_eq!(value(&reply), "hello", "C-51");
    assert!(!format!("{reply:?}").contains("bindh_"), "C-51");
    let opened: Vec<Route> = stand
        .records()
        .into_iter()
        .filter_map(|record| match record.entry.event {
            Event::BindingOpened(opened) => Some(opened.route),
            _ => None,
        })
        .collect();
    assert_eq!(
        opened,
        [Route::Static],
        "of this session; the first was older"
    );
    assert_eq!(stand.count("call_intent"), 1, "the whole pipeline");
    assert_eq!(stand.count("call_outcome"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_registered_or_not_permitted_answers_alike_at_stage_one() {
    let stand = stand().await;
    let permitted = session(&stand, 2, "tester").await;
    let other = session(&stand, 3, "other").await;
    let answers = [
        say(&permitted, LATE).await,
        say(&permitted, "acme:echo/echo#none").await,
        say(&other, ECHO).await,
        // Its session began before the capability was registered.
        say(&stand.session, ECHO).await,
    ];
    // What is offered next is what the session may do, so it is compared within one.
    let text = |reply: &Reply| {
        let mut said = refusal(reply).to_json();
        said.as_object_mut().unwrap().remove("next");
        said
    };
    for answer in &answers {
        assert_eq!(refusal(answer).kind(), ErrorType::CapabilityUnavailable);
        assert_eq!(text(answer), text(&answers[0]), "C-48");
    }
    let within = |reply: &Reply| refusal(reply).to_json();
    assert_eq!(within(&answers[0]), within(&answers[1]), "C-48");
    let bound = permitted
        .bind(&ECHO.parse().unwrap(), &Default::default())
        .await;
    assert_eq!(bound.unwrap_err().kind(), ErrorType::StageDisabled, "R-800");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registered_capability_that_is_revoked_or_whose_session_ended_is_not_called() {
    let stand = stand().await;
    let (one, two) = (
        session(&stand, 2, "tester").await,
        session(&stand, 3, "tester").await,
    );
    two.end().await.unwrap();
    let ended = say(&two, ECHO).await;
    assert!(
        matches!(ended.run.outcome, Outcome::Refused(_)),
        "{ended:?}"
    );
    let target = Target::Capability(ECHO.parse().unwrap());
    stand.host.revoke(target, "incident 3").await.unwrap();
    let reply = say(&one, ECHO).await;
    assert_eq!(refusal(&reply).kind(), ErrorType::CapabilityRevoked, "I6");
}
