//! What a refusal offers: R-750 … R-755. Each action is offered where it works, and not
//! where the session may not do it.

use bindery::ledger::words::Finding;
use bindery::policy::{Registration, Stage, Stages};
use bindery::{
    Admission, ApprovalRequirement, BindRequest, CallOptions, ErrorType, NextAction,
    PermissionMode, Refusal, Resources, Rights, Risk, Session,
};
use serde_json::json;

use crate::governed_scene::{Stand, bind, call, echo, echo_as, endless, refusal, spec, value};

const ECHO: &str = "acme:echo/echo#say";
const LATE: &str = "acme:late/late#say";
const BOTH: &str = r#"
[[policy.rule]]
decision = "allow"
why = "the scenario"
namespaces = ["acme"]
"#;
const ONE: &str = r#"
[[policy.rule]]
decision = "allow"
why = "one of the two"
capabilities = ["acme:echo/echo#say"]
"#;

async fn stand(document: &str) -> Stand {
    let mut stand = Stand::new(document, Resources::default(), |builder| builder).await;
    stand.admit("echo.wasm", echo()).await;
    let late = echo_as("test:late/late@1.0.0", "text");
    stand.admit("late.wasm", late).await;
    stand
}

/// A session with exactly these stages.
async fn with_stages(stand: &Stand, number: u8, stages: &[Stage]) -> Session {
    let mut spec = spec(number, "tester");
    spec.stages = Some(Stages::of(stages.iter().copied()));
    stand.host.session(spec).await.unwrap()
}

fn offers(refusal: &Refusal, action: NextAction) -> bool {
    let said = refusal.to_json();
    let next = said["next"].as_array().unwrap();
    assert!(!next.is_empty(), "R-757: {said}");
    next.contains(&json!(action))
}

/// R-750.
#[tokio::test(flavor = "multi_thread")]
async fn the_manifest_is_offered_where_it_is_read_and_not_where_its_stage_is_off() {
    let stand = stand(BOTH).await;
    let old = BindRequest {
        generation: Some(99),
        ..BindRequest::default()
    };
    let echo = ECHO.parse().unwrap();
    let changed = stand.session.bind(&echo, &old).await.unwrap_err();
    assert_eq!(changed.kind(), ErrorType::EnvironmentGenerationChanged);
    assert!(offers(&changed, NextAction::RefreshTheManifest));
    let now = stand.session.environment().unwrap().environment_generation;
    assert_ne!(now, 99, "and it says what is current");

    let stages = [Stage::Registry, Stage::Descriptors, Stage::Bindings];
    let blind = with_stages(&stand, 2, &stages).await;
    let changed = blind.bind(&echo, &old).await.unwrap_err();
    assert_eq!(changed.kind(), ErrorType::EnvironmentGenerationChanged);
    assert_eq!(changed.next_actions(), [NextAction::Stop]);
    let off = blind.environment().unwrap_err();
    assert_eq!(off.kind(), ErrorType::StageDisabled);
}

/// R-751.
#[tokio::test(flavor = "multi_thread")]
async fn discovery_is_offered_where_it_answers_and_not_where_descriptors_are_off() {
    let stand = stand(BOTH).await;
    let absent = "acme:echo/echo#none".parse().unwrap();
    let request = BindRequest::default();
    let again = NextAction::RepeatDiscoveryInTheSameScope;
    let gone = stand.session.bind(&absent, &request).await.unwrap_err();
    assert!(offers(&gone, again));
    assert!(stand.session.describe(&ECHO.parse().unwrap()).is_ok());
    let forged = "bindh_00000000000000000000000000000000";
    let lost = stand.session.release(forged, "done").await.unwrap_err();
    assert!(offers(&lost, again));

    let blind = with_stages(&stand, 2, &[Stage::Registry, Stage::Bindings]).await;
    let gone = blind.bind(&absent, &request).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorType::CapabilityUnavailable);
    assert!(!offers(&gone, again));
    let lost = blind.release(forged, "done").await.unwrap_err();
    assert_eq!(lost.next_actions(), [NextAction::Stop]);
    let off = blind.describe(&ECHO.parse().unwrap()).unwrap_err();
    assert_eq!(off.kind(), ErrorType::StageDisabled);
}

/// R-752.
#[tokio::test(flavor = "multi_thread")]
async fn a_descriptor_is_offered_where_it_is_shown_and_not_at_stage_one() {
    let mut stand = Stand::new(BOTH, Resources::default(), |builder| builder).await;
    stand
        .admit_as(Registration::Static, "echo.wasm", echo())
        .await;
    let load = NextAction::LoadACurrentDescriptor;
    let echo = ECHO.parse().unwrap();
    let bound = stand.bind(ECHO, None).await.unwrap();
    let wrong = call(&stand.session, &bound, &json!({ "text": 7 })).await;
    assert_eq!(refusal(&wrong).kind(), ErrorType::ArgumentsInvalid);
    assert!(offers(refusal(&wrong), load));
    let shown = stand.session.describe(&echo).unwrap();
    assert!(shown.descriptor.to_string().contains("string"));

    let first = with_stages(&stand, 2, &[Stage::Registry]).await;
    let options = CallOptions::default();
    let wrong = first.call_registered(&echo, r#"{"text": 7}"#, &options);
    let wrong = wrong.await;
    assert_eq!(refusal(&wrong).kind(), ErrorType::ArgumentsInvalid);
    assert!(!offers(refusal(&wrong), load));
    let off = first.describe(&echo).unwrap_err();
    assert_eq!(off.kind(), ErrorType::StageDisabled);
}

/// R-753.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_offered_where_one_can_be_given_and_not_against_a_denial() {
    let rules = r#"
[[policy.rule]]
decision = "ask"
why = "somebody looks"
capabilities = ["acme:echo/echo#say"]
approval = "confirm_every_time"
[[policy.rule]]
decision = "deny"
why = "never"
capabilities = ["acme:late/late#say"]
"#;
    let stand = stand(rules).await;
    let ask = NextAction::RequestClarificationOrApproval;
    let bound = stand.bind(ECHO, None).await.unwrap();
    let arguments = json!({ "text": "hello" });
    let asked = call(&stand.session, &bound, &arguments).await;
    assert_eq!(refusal(&asked).kind(), ErrorType::ApprovalRequired);
    assert!(offers(refusal(&asked), ask));
    let proposal = asked.proposal.unwrap();
    stand.host.approve(proposal, "looked at").await.unwrap();
    let approved = call(&stand.session, &bound, &arguments).await;
    assert_eq!(value(&approved), "hello");

    let denied = stand.bind(LATE, None).await.unwrap_err();
    assert_eq!(denied.kind(), ErrorType::BindingDenied);
    assert!(!offers(&denied, ask), "nobody's yes lifts it");
}

/// R-753: the mode is fixed; no approval raises it (R-299).
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_is_not_offered_above_the_mode_of_the_session() {
    let stand = stand(BOTH).await;
    let mut plans = spec(2, "tester");
    plans.mode = Some(PermissionMode::PlanOnly);
    let plans = stand.host.session(plans).await.unwrap();
    let denied = bind(&stand.host, &plans, ECHO, None).await.unwrap_err();
    assert_eq!(denied.details()["reason"], "mode_too_low");
    assert!(!offers(&denied, NextAction::RequestClarificationOrApproval));
}

/// R-754.
#[tokio::test(flavor = "multi_thread")]
async fn an_alternative_is_offered_where_one_would_be_bound_and_not_where_none_is() {
    let other = NextAction::ChooseAVerifiedAlternative;
    let absent = "acme:echo/echo#none".parse().unwrap();
    let request = BindRequest::default();
    let one = stand(ONE).await;
    let denied = one.bind(LATE, None).await.unwrap_err();
    assert_eq!(denied.kind(), ErrorType::BindingDenied);
    assert!(offers(&denied, other));
    assert!(one.bind(ECHO, None).await.is_ok(), "and this is one");
    let gone = one.session.bind(&absent, &request).await.unwrap_err();
    assert!(offers(&gone, other));

    let none = stand("").await;
    let denied = none.bind(LATE, None).await.unwrap_err();
    assert_eq!(denied.kind(), ErrorType::BindingDenied);
    assert!(!offers(&denied, other));
    let gone = none.session.bind(&absent, &request).await.unwrap_err();
    assert!(!offers(&gone, other));
}

/// R-754: what has just failed is not its own alternative.
#[tokio::test(flavor = "multi_thread")]
async fn a_capability_that_failed_is_not_offered_in_its_own_place() {
    let other = NextAction::ChooseAVerifiedAlternative;
    let failing = async |stand: &Stand| {
        let late = stand.bind(LATE, None).await.unwrap();
        let failed = call(&stand.session, &late, &json!({ "text": "go" })).await;
        let failed = refusal(&failed).clone();
        assert_eq!(failed.kind(), ErrorType::GuestFault, "{failed:?}");
        failed
    };
    let mut stand = Stand::new(BOTH, Resources::default(), |builder| builder).await;
    stand.admit("late.wasm", trapping()).await;
    assert!(!offers(&failing(&stand).await, other));
    stand.admit("echo.wasm", echo()).await;
    assert!(offers(&failing(&stand).await, other));
}

/// R-755.
#[tokio::test(flavor = "multi_thread")]
async fn reconciling_is_offered_to_whom_it_is_open_and_not_to_a_model() {
    let document = format!("{BOTH}[budgets]\ndeadline = \"100ms\"\n");
    let stand = Stand::new(&document, Resources::default(), |builder| builder).await;
    let mut admission = Admission::by_operator("acme".parse().unwrap(), "late.wasm");
    admission.contract.approval = Some(ApprovalRequirement::NoApproval);
    admission.contract.risk = Some(Risk::Write);
    admission.registration = Registration::Static;
    let bytes = endless("test:late/late@1.0.0");
    stand.host.admit(bytes, admission).await.unwrap();
    let reconcile = NextAction::ReconcileAnUncertainCall;
    let uncertain = async |number: u8, rights: Rights| {
        let mut spec = spec(number, "tester");
        spec.who.rights = rights;
        let session = stand.host.session(spec).await.unwrap();
        let late = LATE.parse().unwrap();
        let options = CallOptions::default();
        let reply = session.call_registered(&late, r#"{"text": "go"}"#, &options);
        let reply = reply.await;
        let said = refusal(&reply).clone();
        assert_eq!(said.kind(), ErrorType::UncertainSideEffect, "{said:?}");
        (reply.call, said)
    };
    let (call, said) = uncertain(2, Rights::Operator).await;
    assert!(offers(&said, reconcile));
    let found = stand.host.reconcile(call, Finding::Failed, "looked");
    found.await.unwrap();

    let (_, said) = uncertain(3, Rights::Model).await;
    assert!(!offers(&said, reconcile));
    assert_eq!(
        said.next_actions(),
        [NextAction::Stop],
        "R-881: and nothing again"
    );
}

/// R-756: a session that is over is offered nothing.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_to_stop_is_offered_to_a_session_that_is_over() {
    let stand = stand(BOTH).await;
    let bound = stand.bind(ECHO, None).await.unwrap();
    stand.session.end().await.unwrap();
    let over = call(&stand.session, &bound, &json!({ "text": "hello" })).await;
    assert_eq!(refusal(&over).next_actions(), [NextAction::Stop]);
    let over = stand.session.environment().unwrap_err();
    assert_eq!(over.next_actions(), [NextAction::Stop]);
}

/// A component whose `say` traps.
fn trapping() -> Vec<u8> {
    crate::governed_scene::coded("test:late/late@1.0.0", "(unreachable)")
}
