//! Agents, workspaces and runs through the façade: who may have one, how it moves, what it
//! counts, and what ends with it.

use std::sync::Arc;

use bindery::ledger::event::Event;
use bindery::ledger::words::{AgentStatus, RunStatus, Trigger};
use bindery::ledger::{Journal, Memory};
use bindery::policy::SessionSpec;
use bindery::{CallOptions, ErrorType, Host, Outcome, Refusal, Resources, RunId, RunWish, Session};
use serde_json::json;

use crate::governed_scene::{Stand, bind, call, echo, echo_as, refusal, spec, value};

const ECHO: &str = "acme:echo/echo#say";
const PEOPLE: &str = r#"
[workspaces.named]
main = "default"
far = "strange"
[agents.stub]
implementation_status = "stub"
[agents.homely]
implementation_status = "active"
archetypes = ["default"]
providers = ["acme"]
[agents.elsewhere]
implementation_status = "active"
providers = ["other"]
[[policy.rule]]
decision = "allow"
why = "the scenario"
namespaces = ["acme"]
"#;

async fn stand() -> Stand {
    let mut stand = Stand::new(PEOPLE, Resources::default(), |builder| builder).await;
    stand.admit("echo.wasm", echo()).await;
    stand
}

fn with_run(number: u8, agent: &str) -> SessionSpec {
    let mut spec = spec(number, agent);
    spec.who.run = Some(RunId::from_random([number; 16]));
    spec
}

fn workspace(name: &str) -> RunWish {
    RunWish {
        workspace: Some(name.parse().unwrap()),
        provider: None,
    }
}

async fn opened(host: &Host, number: u8) -> Session {
    host.session(spec(number, "tester")).await.unwrap()
}

async fn says(host: &Host, session: &Session) {
    let bound = bind(host, session, ECHO, None).await.unwrap();
    value(&call(session, &bound, &json!({ "text": "x" })).await);
}

/// The moves of a run, in order.
fn moves(stand: &Stand, run: RunId) -> Vec<RunStatus> {
    let records = stand.records();
    let moved = records
        .iter()
        .filter_map(|record| match &record.entry.event {
            Event::RunMoved(moved) if moved.run == run => Some(moved.to),
            _ => None,
        });
    moved.collect()
}

fn created(stand: &Stand, run: RunId) -> bool {
    let records = stand.records();
    records
        .iter()
        .any(|record| matches!(&record.entry.event, Event::RunCreated(made) if made.run == run))
}

/// R-268, R-577.
#[tokio::test(flavor = "multi_thread")]
async fn an_active_agent_creates_a_run_and_a_published_stub_none() {
    let stand = stand().await;
    let there = stand.host.session(with_run(2, "homely")).await.unwrap();
    assert_eq!(there.run_id().unwrap(), RunId::from_random([2; 16]));
    assert!(created(&stand, there.run_id().unwrap()));
    for (number, agent) in [(3, "stub"), (4, "nobody")] {
        let refused = stand.host.session(with_run(number, agent)).await;
        let refusal = refused.unwrap_err();
        assert_eq!(refusal.kind(), ErrorType::RunTransitionInvalid, "{agent}");
        assert!(!created(&stand, RunId::from_random([number; 16])), "I42");
    }
    // Without a run of its own, a stub has a session that binds nothing.
    let shown = stand.host.session(spec(5, "stub")).await.unwrap();
    assert!(!created(&stand, shown.run_id().unwrap()));
    let refusal = bind(&stand.host, &shown, ECHO, None).await.unwrap_err();
    assert_eq!(refusal.kind(), ErrorType::BindingDenied);
}

/// C-37.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_in_a_workspace_of_its_sessions_kind_and_in_no_other() {
    let stand = stand().await;
    let place = |number, wish| stand.host.session_in(spec(number, "homely"), wish);
    place(2, workspace("main")).await.unwrap();
    place(3, workspace("default")).await.unwrap();
    for (number, name) in [(4, "far"), (5, "nowhere")] {
        let refusal = place(number, workspace(name)).await.unwrap_err();
        assert_eq!(refusal.kind(), ErrorType::RunTransitionInvalid, "{name}");
    }
    let mut strange = spec(6, "homely");
    strange.who.archetype = "strange".parse().unwrap();
    let refused = stand.host.session_in(strange, workspace("far")).await;
    assert_eq!(
        refused.unwrap_err().kind(),
        ErrorType::RunTransitionInvalid,
        "the agent may not work there"
    );
}

/// R-266, R-285.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_uses_the_providers_that_it_is_given_and_no_other() {
    let stand = stand().await;
    let own = stand.host.session(spec(2, "homely")).await.unwrap();
    says(&stand.host, &own).await;
    let other = stand.host.session(spec(3, "elsewhere")).await.unwrap();
    let refusal = bind(&stand.host, &other, ECHO, None).await.unwrap_err();
    assert_eq!(refusal.kind(), ErrorType::BindingDenied);
    let of = |provider: &str| RunWish {
        workspace: None,
        provider: Some(provider.parse().unwrap()),
    };
    let place = |number, wish| stand.host.session_in(spec(number, "homely"), wish);
    let fitting = place(4, of("acme")).await.unwrap();
    says(&stand.host, &fitting).await;
    let refusal = place(5, of("other")).await.unwrap_err();
    assert_eq!(refusal.kind(), ErrorType::RunTransitionInvalid);

    // An agent of any provider, in a run of one.
    let narrow = stand.host.session_in(spec(6, "tester"), of("other")).await;
    let narrow = narrow.unwrap();
    let bound = bind(&stand.host, &narrow, ECHO, None).await.unwrap();
    let reply = call(&narrow, &bound, &json!({ "text": "x" })).await;
    assert_eq!(refusal_kind(&reply), ErrorType::PermissionDenied);
    assert!(reply.run.receipt.is_none(), "nothing started");
}

fn refusal_kind(reply: &bindery::Reply) -> ErrorType {
    refusal(reply).kind()
}

/// R-566.
#[tokio::test(flavor = "multi_thread")]
async fn the_actions_of_a_run_are_counted_without_gaps_however_many_start_at_once() {
    let stand = stand().await;
    let other = opened(&stand.host, 2).await;
    let bound = stand.bind(ECHO, None).await.unwrap();
    let calls = (0..24).map(|_| {
        let (session, handle) = (stand.session.clone(), bound.handle.to_string());
        tokio::spawn(async move {
            let options = CallOptions::default();
            session.call(&handle, r#"{"text": "x"}"#, &options).await
        })
    });
    for running in calls.collect::<Vec<_>>() {
        let reply = running.await.unwrap();
        assert!(matches!(reply.run.outcome, Outcome::Value(_)), "{reply:?}");
    }
    says(&stand.host, &other).await;
    let steps = |run: RunId| {
        let records = stand.records();
        let of = records
            .iter()
            .filter_map(|record| match &record.entry.event {
                Event::CallIntent(intent) if intent.run == Some(run) => Some(intent.step),
                _ => None,
            });
        of.collect::<Vec<u64>>()
    };
    let expected: Vec<u64> = (1..=24).collect();
    assert_eq!(steps(stand.session.run_id().unwrap()), expected);
    assert_eq!(
        steps(other.run_id().unwrap()),
        [1],
        "each run counts its own"
    );
}

/// R-288.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_completed_by_a_completed_action_and_by_no_definition() {
    let stand = stand().await;
    let idle = opened(&stand.host, 2).await;
    let run = idle.run_id().unwrap();
    bind(&stand.host, &idle, ECHO, None).await.unwrap();
    idle.end().await.unwrap();
    assert_eq!(
        moves(&stand, run),
        [RunStatus::Cancelled],
        "bound, described, done: no"
    );
    let busy = opened(&stand.host, 3).await;
    let run = busy.run_id().unwrap();
    says(&stand.host, &busy).await;
    busy.end().await.unwrap();
    assert_eq!(
        moves(&stand, run),
        [RunStatus::Running, RunStatus::Completed]
    );
    let stopped = opened(&stand.host, 4).await;
    let run = stopped.run_id().unwrap();
    says(&stand.host, &stopped).await;
    stopped.cancel().await.unwrap();
    assert_eq!(
        moves(&stand, run),
        [RunStatus::Running, RunStatus::Cancelled]
    );
}

/// R-578.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_waits_while_its_question_does_and_goes_on_after_either_answer() {
    let asks = "[[policy.rule]]\ndecision = \"ask\"\nwhy = \"somebody looks\"\n\
                capabilities = [\"acme:echo/echo#say\"]\napproval = \"confirm_every_time\"\n";
    let document = format!("{PEOPLE}{asks}");
    let mut stand = Stand::new(&document, Resources::default(), |builder| builder).await;
    stand.admit("echo.wasm", echo()).await;
    let free = echo_as("test:free/free@1.0.0", "text");
    stand.admit("free.wasm", free).await;
    let run = stand.session.run_id().unwrap();
    let (arguments, other) = (json!({ "text": "x" }), json!({ "text": "y" }));
    let bound = stand.bind(ECHO, None).await.unwrap();
    let asked = call(&stand.session, &bound, &arguments).await;
    let waits = [RunStatus::Running, RunStatus::AwaitingApproval];
    assert_eq!(moves(&stand, run), waits);
    // One that waits does not hold up another that has not to be asked about.
    value(&stand.call("acme:free/free#say", &arguments).await);
    assert_eq!(moves(&stand, run), waits, "the question is still there");
    stand
        .host
        .approve(asked.proposal.unwrap(), "yes")
        .await
        .unwrap();
    assert_eq!(moves(&stand, run)[2..], [RunStatus::Running]);
    value(&call(&stand.session, &bound, &arguments).await);
    let asked = call(&stand.session, &bound, &other).await;
    stand
        .host
        .deny(asked.proposal.unwrap(), "no")
        .await
        .unwrap();
    assert_eq!(
        moves(&stand, run)[3..],
        [RunStatus::AwaitingApproval, RunStatus::Running],
        "a no rejects the action, and the run only when somebody says so (R-555)"
    );
}

/// Brings a new run to `status`, as far as the table leads there.
async fn brought_to(host: &Host, number: u8, status: RunStatus) -> (Session, RunId) {
    let session = opened(host, number).await;
    let run = session.run_id().unwrap();
    if status != RunStatus::Created {
        says(host, &session).await;
    }
    if !matches!(status, RunStatus::Created | RunStatus::Running) {
        host.move_run(run, status, "the scenario").await.unwrap();
    }
    (session, run)
}

/// R-578, R-747.
#[tokio::test(flavor = "multi_thread")]
async fn every_move_that_the_table_has_is_made_and_every_other_is_refused() {
    let stand = stand().await;
    let mut number = 10;
    for from in RunStatus::ALL {
        for to in RunStatus::ALL {
            number += 1;
            let (_, run) = brought_to(&stand.host, number, *from).await;
            let before = moves(&stand, run);
            let moved = stand.host.move_run(run, *to, "the scenario").await;
            match from.may_become(*to) {
                true => moved.unwrap(),
                false => {
                    let refusal = moved.unwrap_err();
                    assert_eq!(
                        refusal.kind(),
                        ErrorType::RunTransitionInvalid,
                        "{from} → {to}"
                    );
                    let category = refusal.to_json()["category"].clone();
                    assert_eq!(category, "invalid_run_transition");
                    assert_eq!(moves(&stand, run), before, "I42");
                }
            }
        }
    }
}

/// R-534, R-555.
#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_run_takes_its_bindings_with_it_and_another_session_keeps_its_own() {
    let stand = stand().await;
    let other = opened(&stand.host, 2).await;
    let kept = bind(&stand.host, &other, ECHO, None).await.unwrap();
    let bound = stand.bind(ECHO, None).await.unwrap();
    let arguments = json!({ "text": "x" });
    value(&call(&stand.session, &bound, &arguments).await);
    let run = stand.session.run_id().unwrap();
    let waits = stand
        .host
        .move_run(run, RunStatus::AwaitingApproval, "a move that is no end");
    waits.await.unwrap();
    value(&call(&stand.session, &bound, &arguments).await);
    let rejected = stand
        .host
        .move_run(run, RunStatus::Rejected, "an operator said no");
    rejected.await.unwrap();
    let after = call(&stand.session, &bound, &arguments).await;
    assert_eq!(refusal_kind(&after), ErrorType::BindingStale);
    let ended = stand.records().into_iter().find_map(|record| {
        let Event::BindingMoved(moved) = record.entry.event else {
            return None;
        };
        (moved.binding == bound.handle).then_some(moved.trigger)
    });
    assert_eq!(ended, Some(Trigger::TaskChanged), "on record");
    let again: Refusal = stand.bind(ECHO, None).await.unwrap_err();
    assert_eq!(again.kind(), ErrorType::RunTransitionInvalid);
    value(&call(&other, &kept, &arguments).await);
}

/// C-37.
#[tokio::test(flavor = "multi_thread")]
async fn agents_are_registered_as_the_document_has_them_and_one_that_is_gone_is_a_stub() {
    let stand = stand().await;
    let status = |agent: &str| {
        let records = stand.records();
        let mut of = records.iter().rev();
        of.find_map(|record| match &record.entry.event {
            Event::AgentRegistered(known) if known.agent.as_str() == agent => Some(known.status),
            _ => None,
        })
    };
    assert_eq!(status("homely"), Some(AgentStatus::Active));
    assert_eq!(status("stub"), Some(AgentStatus::Stub));
    assert_eq!(status("nobody"), None);
    let before = stand.count("agent_registered");
    let mut document = stand.host.document();
    stand
        .host
        .reload(document.clone(), Resources::default())
        .await
        .unwrap();
    assert_eq!(stand.count("agent_registered"), before, "nothing changed");
    document.people.agents.remove(&"homely".parse().unwrap());
    stand
        .host
        .reload(document, Resources::default())
        .await
        .unwrap();
    assert_eq!(status("homely"), Some(AgentStatus::Stub));
    let refused = stand.host.session(with_run(9, "homely")).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorType::RunTransitionInvalid);
}

/// R-708.
#[tokio::test(flavor = "multi_thread")]
async fn the_runs_of_a_host_that_is_gone_end_in_the_record_of_the_next() {
    let journal: Arc<dyn Journal> = Arc::new(Memory::default());
    let mut first = Stand::new(PEOPLE, Resources::default(), |builder| {
        builder.journal(Arc::clone(&journal))
    })
    .await;
    first.admit("echo.wasm", echo()).await;
    says(&first.host, &first.session).await;
    let run = first.session.run_id().unwrap();
    let idle = opened(&first.host, 2).await.run_id().unwrap();
    let second = Host::builder()
        .policy(first.host.document())
        .journal(journal);
    second.build().unwrap();
    assert_eq!(moves(&first, run), [RunStatus::Running, RunStatus::Failed]);
    assert_eq!(moves(&first, idle), [RunStatus::Cancelled]);
}
