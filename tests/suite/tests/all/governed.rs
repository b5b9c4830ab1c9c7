//! The governed call on real components: admitted, bound, decided, run, recorded.

use bindery::ledger::words::Finding;
use bindery::ledger::{Journal, Query, Target};
use bindery::policy::{Document, SessionSpec, Who};
use bindery::{
    Access, Admission, BindRequest, CallOptions, CapabilityId, DirectoryGrant, ErrorType, Host,
    Outcome, PermissionMode, Reply, Resources, Rights, Session, SessionId,
};
use bindery_artefacts::rust_guest;
use bindery_types::ApprovalRequirement;
use cap_std::fs::Dir;
use serde_json::Value;

const FRAME: &str = r#"
[environment]
id = "scenario"
[mode]
default = "full_access"
ceiling = "full_access"
[stages]
preset = "late_bound"
[agents.tester]
implementation_status = "active"
[grants.source]
kind = "directory"
host = "source"
guest = "/src"
"#;

const READING: &str = r#"
[[policy.rule]]
decision = "allow"
why = "the scenario reads its own folder"
namespaces = ["acme"]
grants = ["source"]
"#;

struct Scene {
    journal: std::sync::Arc<dyn Journal>,
    host: Host,
    session: Session,
    folder: tempfile::TempDir,
}

impl Scene {
    async fn new(rules: &str, approval: ApprovalRequirement) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "one\ntwo\n").unwrap();
        let dir = Dir::from_std_file(std::fs::File::open(folder.path()).unwrap());
        let grant = DirectoryGrant::new(dir, "/src", Access::ReadWrite).unwrap();
        let document = Document::parse("bindery.toml", &format!("{FRAME}{rules}")).unwrap();
        let journal: std::sync::Arc<dyn Journal> =
            std::sync::Arc::new(bindery::ledger::Memory::default());
        let host = Host::builder()
            .policy(document)
            .journal(std::sync::Arc::clone(&journal))
            .resources(Resources::default().directory("source".parse().unwrap(), grant))
            .build()
            .unwrap();
        let bytes = std::fs::read(rust_guest("file-tools").unwrap()).unwrap();
        let mut admission = Admission::by_operator("acme".parse().unwrap(), "file-tools.wasm");
        admission.contract.approval = Some(approval);
        let admitted = host.admit(bytes, admission).await.unwrap();
        assert!(
            admitted
                .iter()
                .all(|entry| entry.verdict.failure().is_none())
        );
        let session = host.session(spec(1)).await.unwrap();
        Self {
            journal,
            host,
            session,
            folder,
        }
    }

    async fn bound(&self) -> String {
        let bound = self
            .session
            .bind(&read_file(), &request(&self.host))
            .await
            .unwrap();
        bound.handle.to_string()
    }
}

fn spec(number: u8) -> SessionSpec {
    SessionSpec {
        who: Who {
            session: SessionId::from_random([number; 16]),
            run: None,
            principal: "token:model".parse().unwrap(),
            rights: Rights::Model,
            tenant: "local".parse().unwrap(),
            agent: "tester".parse().unwrap(),
            archetype: "default".parse().unwrap(),
        },
        mode: Some(PermissionMode::FullAccess),
        allow: None,
        deny: Vec::new(),
        project: None,
        stages: None,
    }
}

fn read_file() -> CapabilityId {
    "acme:file-tools/files#read-file".parse().unwrap()
}

fn request(host: &Host) -> BindRequest {
    let row = host
        .catalogue()
        .into_iter()
        .find(|row| *row.descriptor.id() == read_file())
        .unwrap();
    BindRequest {
        implementation: Some(row.descriptor.implementation_digest()),
        descriptor: Some(row.descriptor.digest()),
        ..BindRequest::default()
    }
}

async fn read(session: &Session, handle: &str) -> Reply {
    session
        .call(handle, r#"{"path": "/src/a.txt"}"#, &CallOptions::default())
        .await
}

fn refused(reply: &Reply) -> ErrorType {
    match &reply.run.outcome {
        Outcome::Refused(refusal) => refusal.kind(),
        other => panic!("not refused: {other:?}"),
    }
}

fn kinds(host: &Host) -> Vec<&'static str> {
    let all = host
        .records(&Query::From {
            sequence: 1,
            count: 10_000,
        })
        .unwrap();
    all.iter().map(|record| record.entry.event.kind()).collect()
}

/// R-084, R-087.
#[tokio::test(flavor = "multi_thread")]
async fn a_bound_capability_runs_and_every_step_is_on_record() {
    let scene = Scene::new(READING, ApprovalRequirement::NoApproval).await;
    let handle = scene.bound().await;
    let reply = read(&scene.session, &handle).await;
    let Outcome::Value(text) = &reply.run.outcome else {
        panic!("{reply:?}")
    };
    let value: Value = serde_json::from_str(text).unwrap();
    assert!(value.to_string().contains("one"), "{value}");
    assert!(reply.run.receipt.unwrap().fuel_used > 0);
    let kinds = kinds(&scene.host);
    for step in [
        "host_started",
        "environment_admitted",
        "capability_discovered",
        "capability_described",
        "evidence_recorded",
        "capability_moved",
        "session_opened",
        "binding_opened",
        "call_intent",
        "call_outcome",
    ] {
        assert!(kinds.contains(&step), "{step} is not among {kinds:?}");
    }
    let intent = kinds
        .iter()
        .position(|kind| *kind == "call_intent")
        .unwrap();
    let outcome = kinds
        .iter()
        .position(|kind| *kind == "call_outcome")
        .unwrap();
    assert!(intent < outcome, "I18");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_rule_nothing_is_bound() {
    let scene = Scene::new("", ApprovalRequirement::NoApproval).await;
    let refusal = scene
        .session
        .bind(&read_file(), &request(&scene.host))
        .await
        .unwrap_err();
    assert_eq!(
        refusal.kind(),
        ErrorType::BindingDenied,
        "R-292: {refusal:?}"
    );
    assert!(!refusal.message().contains("rule"), "R-050");
    assert!(kinds(&scene.host).contains(&"bind_refused"));
    assert!(!kinds(&scene.host).contains(&"binding_opened"), "I42");
}

/// R-048.
#[tokio::test(flavor = "multi_thread")]
async fn an_absent_capability_and_a_hidden_one_answer_alike() {
    let hidden =
        format!("{READING}\n[visibility]\nhidden = [\"acme:file-tools/files#read-file\"]\n");
    let scene = Scene::new(&hidden, ApprovalRequirement::NoApproval).await;
    let there = scene
        .session
        .bind(&read_file(), &request(&scene.host))
        .await
        .unwrap_err();
    let absent = "acme:file-tools/files#no-such".parse().unwrap();
    let gone = scene
        .session
        .bind(&absent, &request(&scene.host))
        .await
        .unwrap_err();
    assert_eq!(there.to_json(), gone.to_json(), "I27, C-48");
    assert_eq!(there.kind(), ErrorType::CapabilityUnavailable);
}

/// R-471.
#[tokio::test(flavor = "multi_thread")]
async fn a_handle_is_nothing_in_another_session_and_a_forged_one_answers_the_same() {
    let scene = Scene::new(READING, ApprovalRequirement::NoApproval).await;
    let handle = scene.bound().await;
    let other = scene.host.session(spec(2)).await.unwrap();
    let foreign = read(&other, &handle).await;
    let forged = read(&other, "bindh_00000000000000000000000000000000").await;
    let malformed = read(&other, "read_file").await;
    let text = |reply: &Reply| match &reply.run.outcome {
        Outcome::Refused(refusal) => refusal.to_json(),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&foreign), ErrorType::HandleInvalid, "R-497");
    assert_eq!(text(&foreign), text(&forged), "C-48, H55");
    assert_eq!(text(&foreign), text(&malformed), "C-48");
    let own = read(&scene.session, &handle).await;
    assert!(
        matches!(own.run.outcome, Outcome::Value(_)),
        "its owner still uses it"
    );
}

/// R-476.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_are_refused_with_their_place_and_start_nothing() {
    let scene = Scene::new(READING, ApprovalRequirement::NoApproval).await;
    let handle = scene.bound().await;
    let reply = scene
        .session
        .call(&handle, r#"{"path": 3}"#, &CallOptions::default())
        .await;
    assert_eq!(refused(&reply), ErrorType::ArgumentsInvalid, "R-502");
    assert!(reply.run.receipt.is_none());
    assert!(!kinds(&scene.host).contains(&"call_intent"), "R-512");
}

/// R-059, R-503.
#[tokio::test(flavor = "multi_thread")]
async fn an_argument_rule_denies_a_path_and_lets_another_through() {
    let rules = r#"
[[policy.rule]]
decision = "allow"
why = "one file only"
namespaces = ["acme"]
grants = ["source"]
arguments = [{ at = "/path", eq = "/src/a.txt" }]
"#;
    let scene = Scene::new(rules, ApprovalRequirement::NoApproval).await;
    std::fs::write(scene.folder.path().join("b.txt"), "other").unwrap();
    let handle = scene.bound().await;
    assert!(matches!(
        read(&scene.session, &handle).await.run.outcome,
        Outcome::Value(_)
    ));
    let other = r#"{"path": "/src/b.txt"}"#;
    let reply = scene
        .session
        .call(&handle, other, &CallOptions::default())
        .await;
    assert_eq!(refused(&reply), ErrorType::PermissionDenied);
    assert!(kinds(&scene.host).contains(&"call_decided"), "R-550");
}

/// R-061, R-473, R-504.
#[tokio::test(flavor = "multi_thread")]
async fn what_needs_an_approval_asks_runs_once_after_a_yes_and_asks_again() {
    let scene = Scene::new(READING, ApprovalRequirement::ConfirmEveryTime).await;
    let handle = scene.bound().await;
    let asked = read(&scene.session, &handle).await;
    assert_eq!(refused(&asked), ErrorType::ApprovalRequired, "R-549");
    let again = read(&scene.session, &handle).await;
    assert_eq!(
        asked.proposal, again.proposal,
        "one question is one proposal"
    );
    scene
        .host
        .approve(asked.proposal.unwrap(), "looked at it")
        .await
        .unwrap();
    let other = r#"{"path": "/src/b.txt"}"#;
    let changed = scene
        .session
        .call(&handle, other, &CallOptions::default())
        .await;
    assert_eq!(
        refused(&changed),
        ErrorType::ApprovalRequired,
        "R-562: other arguments"
    );
    let run = read(&scene.session, &handle).await;
    assert!(matches!(run.run.outcome, Outcome::Value(_)), "{run:?}");
    let third = read(&scene.session, &handle).await;
    assert_eq!(
        refused(&third),
        ErrorType::ApprovalRequired,
        "I15: a yes is used once"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_starts_nothing() {
    let scene = Scene::new(READING, ApprovalRequirement::ConfirmEveryTime).await;
    let handle = scene.bound().await;
    let asked = read(&scene.session, &handle).await;
    scene
        .host
        .deny(asked.proposal.unwrap(), "not today")
        .await
        .unwrap();
    let refused_again = read(&scene.session, &handle).await;
    assert_eq!(refused(&refused_again), ErrorType::ApprovalRequired);
    assert_ne!(refused_again.proposal, asked.proposal, "it is asked anew");
    assert!(!kinds(&scene.host).contains(&"call_intent"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contract_that_declares_no_approval_is_blocked() {
    let scene = Scene::new(READING, ApprovalRequirement::Blocked).await;
    let refusal = scene
        .session
        .bind(&read_file(), &request(&scene.host))
        .await
        .unwrap_err();
    assert_eq!(refusal.kind(), ErrorType::BindingDenied, "R-261");
}

/// R-063, R-089.
#[tokio::test(flavor = "multi_thread")]
async fn released_and_revoked_bindings_say_what_they_are_and_run_nothing() {
    let scene = Scene::new(READING, ApprovalRequirement::NoApproval).await;
    let released = scene.bound().await;
    scene.session.release(&released, "done").await.unwrap();
    assert_eq!(
        refused(&read(&scene.session, &released).await),
        ErrorType::BindingStale,
        "R-496"
    );
    let revoked = scene.bound().await;
    scene
        .host
        .revoke(Target::Capability(read_file()), "incident 7")
        .await
        .unwrap();
    let reply = read(&scene.session, &revoked).await;
    assert_eq!(refused(&reply), ErrorType::CapabilityRevoked, "I6");
    let refusal = scene
        .session
        .bind(&read_file(), &request(&scene.host))
        .await
        .unwrap_err();
    assert_eq!(refusal.kind(), ErrorType::CapabilityRevoked, "R-531");
    scene
        .host
        .lift(Target::Capability(read_file()), "over")
        .await
        .unwrap();
    assert!(
        scene
            .session
            .bind(&read_file(), &request(&scene.host))
            .await
            .is_ok()
    );
    let dead = read(&scene.session, &revoked).await;
    assert_eq!(
        refused(&dead),
        ErrorType::CapabilityRevoked,
        "what was ended stays ended"
    );
}

/// C6.
#[tokio::test(flavor = "multi_thread")]
async fn another_build_of_a_component_leaves_the_old_bindings_stale() {
    let scene = Scene::new(READING, ApprovalRequirement::NoApproval).await;
    let handle = scene.bound().await;
    let mut bytes = std::fs::read(rust_guest("file-tools").unwrap()).unwrap();
    // A custom section named `x`: other bytes, the same component.
    bytes.extend([0, 2, 1, b'x']);
    let mut admission = Admission::by_operator("acme".parse().unwrap(), "file-tools.wasm");
    admission.contract.approval = Some(ApprovalRequirement::NoApproval);
    scene.host.admit(bytes, admission).await.unwrap();
    let reply = read(&scene.session, &handle).await;
    assert_eq!(refused(&reply), ErrorType::BindingStale, "R-528, I9");
    assert!(
        kinds(&scene.host).contains(&"binding_moved"),
        "R-064, R-065, R-089"
    );
    assert!(!kinds(&scene.host).contains(&"call_intent"), "R-500, R-514");
    let fresh = scene.bound().await;
    assert!(
        !kinds(&scene.host).contains(&"call_intent"),
        "R-090: what failed is not called again by itself"
    );
    assert!(matches!(
        read(&scene.session, &fresh).await.run.outcome,
        Outcome::Value(_)
    ));
}

/// R-064, R-065, R-089.
#[tokio::test(flavor = "multi_thread")]
async fn a_binding_that_a_new_entry_does_not_touch_is_pinned_anew_and_goes_on() {
    let scene = Scene::new(READING, ApprovalRequirement::NoApproval).await;
    let handle = scene.bound().await;
    let bytes = std::fs::read(rust_guest("http-json").unwrap()).unwrap();
    let mut admission = Admission::by_operator("acme".parse().unwrap(), "http-json.wasm");
    admission.contract.approval = Some(ApprovalRequirement::NoApproval);
    scene.host.admit(bytes, admission).await.unwrap();
    let reply = read(&scene.session, &handle).await;
    assert!(
        matches!(reply.run.outcome, Outcome::Value(_)),
        "R-524: {reply:?}"
    );
    assert!(
        kinds(&scene.host).contains(&"binding_refreshed"),
        "R-546, C-10"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ended_takes_its_handles_with_it() {
    let scene = Scene::new(READING, ApprovalRequirement::NoApproval).await;
    let handle = scene.bound().await;
    scene.session.end().await.unwrap();
    let reply = read(&scene.session, &handle).await;
    assert_eq!(refused(&reply), ErrorType::HandleInvalid);
    let query = Query::Subject(reply.call.to_string());
    let records = scene.host.records(&query).unwrap();
    assert_eq!(records.len(), 1, "R-510: it is on record all the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_idempotency_key_is_one_call() {
    let scene = Scene::new(READING, ApprovalRequirement::NoApproval).await;
    let handle = scene.bound().await;
    let options = || CallOptions {
        idempotency_key: Some("order-17".parse().unwrap()),
        ..CallOptions::default()
    };
    let first = scene
        .session
        .call(&handle, r#"{"path": "/src/a.txt"}"#, &options())
        .await;
    std::fs::write(scene.folder.path().join("a.txt"), "changed").unwrap();
    let second = scene
        .session
        .call(&handle, r#"{ "path" : "/src/a.txt" }"#, &options())
        .await;
    assert_eq!(
        first.run.outcome, second.run.outcome,
        "I16, case G1: the recorded outcome"
    );
    assert_eq!(first.call, second.call);
    let other = scene
        .session
        .call(&handle, r#"{"path": "/src/b.txt"}"#, &options())
        .await;
    assert_eq!(refused(&other), ErrorType::IdempotencyConflict, "R-507");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_text_of_a_result_is_kept_for_an_idempotency_key_alone() {
    let scene = Scene::new(READING, ApprovalRequirement::NoApproval).await;
    let handle = scene.bound().await;
    let kept = |reply: &Reply| {
        let Outcome::Value(text) = &reply.run.outcome else {
            panic!("{reply:?}")
        };
        let digest = bindery::Digest::of(text.as_bytes());
        scene.journal.kept(digest).unwrap()
    };
    let plain = read(&scene.session, &handle).await;
    assert_eq!(kept(&plain), None, "R-779");
    let options = CallOptions {
        idempotency_key: Some("order-18".parse().unwrap()),
        ..CallOptions::default()
    };
    let arguments = r#"{"path": "/src/a.txt"}"#;
    let keyed = scene.session.call(&handle, arguments, &options).await;
    assert!(kept(&keyed).is_some(), "I16");
}

/// R-062, R-505.
#[tokio::test(flavor = "multi_thread")]
async fn a_budget_for_two_calls_admits_exactly_two() {
    let rules = format!("{READING}\n[aggregates.session]\ncalls = 2\n");
    let scene = Scene::new(&rules, ApprovalRequirement::NoApproval).await;
    let handle = scene.bound().await;
    let calls = (0..8).map(|_| {
        let (session, handle) = (scene.session.clone(), handle.clone());
        tokio::spawn(async move { read(&session, &handle).await })
    });
    let mut values = 0;
    for call in calls.collect::<Vec<_>>() {
        let reply = call.await.unwrap();
        match &reply.run.outcome {
            Outcome::Value(_) => values += 1,
            Outcome::Refused(refusal) => {
                assert_eq!(refusal.kind(), ErrorType::BudgetExhausted, "{refusal:?}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(values, 2, "case G4");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_not_uncertain_cannot_be_reconciled() {
    let scene = Scene::new(READING, ApprovalRequirement::NoApproval).await;
    let handle = scene.bound().await;
    let reply = read(&scene.session, &handle).await;
    let refusal = scene
        .host
        .reconcile(reply.call, Finding::Done, "none")
        .await
        .unwrap_err();
    assert_eq!(refusal.kind(), ErrorType::HandleInvalid, "I17");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_host_restores_no_binding_as_authority() {
    let journal: std::sync::Arc<dyn Journal> =
        std::sync::Arc::new(bindery::ledger::Memory::default());
    let document = || Document::parse("bindery.toml", &format!("{FRAME}{READING}")).unwrap();
    let build = || {
        Host::builder()
            .policy(document())
            .journal(std::sync::Arc::clone(&journal))
            .build()
            .unwrap()
    };
    let host = build();
    let session = host.session(spec(1)).await.unwrap();
    drop(host);
    let after = build();
    assert_eq!(
        kinds(&after)
            .iter()
            .filter(|kind| **kind == "host_started")
            .count(),
        2
    );
    assert!(kinds(&after).contains(&"session_closed"), "R-708");
    let reply = read(&session, "bindh_00000000000000000000000000000000").await;
    assert_eq!(refused(&reply), ErrorType::HandleInvalid);
}
