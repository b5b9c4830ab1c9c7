//! What a change of rules does to what is there: to the catalogue, to what an examination
//! found, to budgets that are running.

use bindery::policy::{Document, Registration};
use bindery::{
    Access, Admission, BindRequest, CapabilityId, DirectoryGrant, ErrorType, Resources,
    ValidationStatus,
};
use bindery_artefacts::rust_guest;
use bindery_types::ApprovalRequirement;
use cap_std::fs::Dir;
use serde_json::json;

use crate::governed_scene::{FRAME, Stand, echo, refusal, spec, value};

const READ: &str = "acme:file-tools/files#read-file";

fn rules(access: &str, more: &str) -> String {
    format!(
        r#"
[grants.work]
kind = "directory"
host = "work"
guest = "/w"
access = "{access}"
[[policy.rule]]
decision = "allow"
why = "the scenario"
namespaces = ["acme"]
grants = ["work"]
{more}"#
    )
}

fn document(text: &str) -> Document {
    let text = format!("{FRAME}{text}");
    Document::parse("bindery.toml", &text).unwrap_or_else(|faults| panic!("{faults}"))
}

fn folder(folder: &tempfile::TempDir, access: Access) -> Resources {
    let dir = Dir::from_std_file(std::fs::File::open(folder.path()).unwrap());
    let grant = DirectoryGrant::new(dir, "/w", access).unwrap();
    Resources::default().directory("work".parse().unwrap(), grant)
}

/// A component that says of itself that it only reads.
async fn admit_reader(stand: &Stand) -> ValidationStatus {
    let mut admission = Admission::by_operator("acme".parse().unwrap(), "file-tools.wasm");
    admission.contract.approval = Some(ApprovalRequirement::NoApproval);
    admission.contract.read_only = Some(true);
    admission.registration = Registration::LateBound;
    let bytes = std::fs::read(rust_guest("file-tools").unwrap()).unwrap();
    let admitted = stand.host.admit(bytes, admission).await.unwrap();
    let read = admitted.iter().find(|entry| entry.id.to_string() == READ);
    read.unwrap().verdict.status
}

fn standing(stand: &Stand) -> ValidationStatus {
    let rows = stand.host.catalogue();
    let read = rows
        .iter()
        .find(|row| row.descriptor.id().to_string() == READ);
    read.unwrap().validation
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_is_admitted_after_the_rules_were_replaced_c_09() {
    let temporary = tempfile::tempdir().unwrap();
    let open = || folder(&temporary, Access::ReadOnly);
    let mut stand = Stand::new(&rules("read_only", ""), open(), |builder| builder).await;
    let other = document(&rules("read_only", "[leases]\nttl = \"5m\"\n"));
    let before = stand.host.policy_version();
    assert_ne!(stand.host.reload(other, open()).await.unwrap(), before);
    stand.admit("echo.wasm", echo()).await;
    let reply = stand
        .call("acme:echo/echo#say", &json!({ "text": "x" }))
        .await;
    value(&reply);
}

/// R-391, C-22: rejected with evidence, and examined again when its grants are others.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_rules_made_contradictory_is_rejected_until_they_do_not_any_more() {
    let temporary = tempfile::tempdir().unwrap();
    let open = |access| folder(&temporary, access);
    let writing = rules("read_write", "");
    let reading = rules("read_only", "");
    let stand = Stand::new(&writing, open(Access::ReadWrite), |builder| builder).await;
    assert_eq!(admit_reader(&stand).await, ValidationStatus::Rejected);
    assert_eq!(standing(&stand), ValidationStatus::Rejected);
    let reload = async |text: &str, access| {
        stand
            .host
            .reload(document(text), open(access))
            .await
            .unwrap();
    };
    reload(&reading, Access::ReadOnly).await;
    assert_eq!(standing(&stand), ValidationStatus::Bindable);
    let session = stand.host.session(spec(2, "tester")).await.unwrap();
    let id: CapabilityId = READ.parse().unwrap();
    let rows = stand.host.catalogue();
    let row = rows.iter().find(|row| *row.descriptor.id() == id).unwrap();
    let request = BindRequest {
        implementation: Some(row.descriptor.implementation_digest()),
        ..BindRequest::default()
    };
    let bound = session.bind(&id, &request).await.unwrap();
    // The other way round it bites at once, what is bound included.
    reload(&writing, Access::ReadWrite).await;
    assert_eq!(standing(&stand), ValidationStatus::Rejected);
    assert!(session.bind(&id, &request).await.is_err(), "R-352");
    let path = json!({ "path": "/w/x" });
    let reply = crate::governed_scene::call(&session, &bound, &path).await;
    assert_eq!(refusal(&reply).kind(), ErrorType::BindingStale);
    // And a component that is brought again under rules that fit is looked at again.
    reload(&reading, Access::ReadOnly).await;
    assert_eq!(admit_reader(&stand).await, ValidationStatus::Bindable);
}

/// Case G4, C-53: budgets of the rules in force, whichever way they moved.
#[tokio::test(flavor = "multi_thread")]
async fn a_budget_that_is_raised_lowered_or_lifted_counts_at_once() {
    let temporary = tempfile::tempdir().unwrap();
    let open = || folder(&temporary, Access::ReadOnly);
    let limited = |calls: &str| {
        rules(
            "read_only",
            &format!("[aggregates.principal]\ncalls = {calls}\n"),
        )
    };
    let mut stand = Stand::new(&limited("1"), open(), |builder| builder).await;
    stand.admit("echo.wasm", echo()).await;
    let text = json!({ "text": "x" });
    let bound = stand.bind("acme:echo/echo#say", None).await.unwrap();
    let call = async || crate::governed_scene::call(&stand.session, &bound, &text).await;
    let reload = async |calls: &str| {
        let text = limited(calls);
        stand.host.reload(document(&text), open()).await.unwrap();
    };
    value(&call().await);
    assert_eq!(refusal(&call().await).kind(), ErrorType::BudgetExhausted);
    reload("2").await;
    value(&call().await);
    assert_eq!(refusal(&call().await).kind(), ErrorType::BudgetExhausted);
    reload("\"unlimited\"").await;
    value(&call().await);
    value(&call().await);
    // One that was lifted is gone, so the next counts from nothing.
    reload("1").await;
    value(&call().await);
    assert_eq!(refusal(&call().await).kind(), ErrorType::BudgetExhausted);
}
