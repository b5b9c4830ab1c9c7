//! What ends a binding: each trigger is raised between two calls through the public API; the
//! second is refused with the matching type, the record names the trigger, and what was not
//! hit stays callable (G16).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bindery::ledger::event::Event;
use bindery::ledger::words::{ProposalStatus, Trigger};
use bindery::policy::{Document, Stage};
use bindery::{
    Admission, Bound, Credential, ErrorType, Finding, Reply, Resources, Secret, SecretProvider,
    SecretUnavailable, Subject, TrustStatus,
};
use bindery_artefacts::rust_guest;
use bindery_types::ApprovalRequirement;
use serde_json::{Value, json};

use crate::governed_scene::{Stand, call, echo, echo_as, refusal, value};
use crate::http_servers::{Server, ok};

pub(crate) const ECHO: &str = "acme:echo/echo#say";
pub(crate) const OTHER: &str = "acme:other/other#say";
const GET_JSON: &str = "acme:http-json/http#get-json";
pub(crate) const ALLOW: &str = r#"
[[policy.rule]]
decision = "allow"
why = "the scenario"
namespaces = ["acme"]
"#;

async fn two(document: &str) -> Stand {
    let mut stand = Stand::new(document, Resources::default(), |builder| builder).await;
    stand.admit("echo.wasm", echo()).await;
    let other = echo_as("test:other/other@1.0.0", "text");
    stand.admit("other.wasm", other).await;
    stand
}

pub(crate) fn hello() -> Value {
    json!({ "text": "hello" })
}

/// What ended a binding, by the record.
pub(crate) fn ended(stand: &Stand, bound: &Bound) -> Option<Trigger> {
    let records = stand.records();
    let mut moved = records
        .iter()
        .filter_map(|record| match &record.entry.event {
            Event::BindingMoved(moved) if moved.binding == bound.handle => Some(moved.trigger),
            _ => None,
        });
    moved.next()
}

/// The second of two calls is refused as `kind`, and the record says why.
pub(crate) async fn assert_ended(stand: &Stand, bound: &Bound, kind: ErrorType, trigger: Trigger) {
    let reply = call(&stand.session, bound, &hello()).await;
    assert_eq!(refusal(&reply).kind(), kind, "{trigger}");
    assert!(reply.run.receipt.is_none(), "{trigger}: nothing started");
    assert_eq!(ended(stand, bound), Some(trigger));
}

pub(crate) async fn assert_callable(stand: &Stand, bound: &Bound) {
    value(&call(&stand.session, bound, &hello()).await);
    assert_eq!(ended(stand, bound), None);
}

/// R-541, R-542, R-543, R-545, R-357.
#[tokio::test(flavor = "multi_thread")]
async fn each_finding_of_somebody_outside_ends_what_it_is_about_and_nothing_else() {
    for finding in Finding::ALL {
        let stand = two(ALLOW).await;
        let hit = stand.bind(ECHO, None).await.unwrap();
        let spared = stand.bind(OTHER, None).await.unwrap();
        assert_callable(&stand, &hit).await;
        let subject = Subject::Capability(ECHO.parse().unwrap());
        let count = stand
            .host
            .invalidate(*finding, &subject, "run 17 of the bench");
        assert_eq!(count.await.unwrap(), 1);
        let (_, trigger) = finding.ends();
        let kind = match finding {
            Finding::ProviderGone => ErrorType::CapabilityUnavailable,
            _ => ErrorType::BindingStale,
        };
        assert_ended(&stand, &hit, kind, trigger).await;
        assert_callable(&stand, &spared).await;
        let evidence = stand.records().into_iter().any(|record| {
            matches!(&record.entry.event, Event::EvidenceRecorded(seen)
                if format!("{:?}", seen.verdict).contains("run 17 of the bench"))
        });
        assert!(evidence, "what the finding rests on is on record");
        let again = stand.bind(ECHO, None).await;
        match finding {
            // R-474: until it is looked at again, there is nothing to bind.
            Finding::ProviderGone => {
                let kind = again.unwrap_err().kind();
                assert_eq!(kind, ErrorType::CapabilityUnavailable);
            }
            _ => assert_callable(&stand, &again.unwrap()).await,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_back_is_bound_again_when_it_is_admitted_again() {
    let mut stand = two(ALLOW).await;
    let subject = Subject::Capability(ECHO.parse().unwrap());
    let gone = stand
        .host
        .invalidate(Finding::ProviderGone, &subject, "it is down");
    assert_eq!(gone.await.unwrap(), 0, "nothing was bound");
    let refused = stand.bind(ECHO, None).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorType::CapabilityUnavailable, "R-474");
    stand.admit("echo.wasm", echo()).await;
    let bound = stand.bind(ECHO, None).await.unwrap();
    assert_callable(&stand, &bound).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finding_about_one_binding_ends_that_one_and_needs_evidence_and_a_subject() {
    let stand = two(ALLOW).await;
    let hit = stand.bind(ECHO, None).await.unwrap();
    let spared = stand.bind(ECHO, None).await.unwrap();
    let subject = Subject::Binding(hit.handle);
    let drift = Finding::SemanticDrift;
    let silent = stand.host.invalidate(drift, &subject, "  ").await;
    assert_eq!(silent.unwrap_err().kind(), ErrorType::Usage);
    let nobody = Subject::Capability("acme:echo/echo#none".parse().unwrap());
    let unknown = stand.host.invalidate(drift, &nobody, "seen").await;
    assert_eq!(unknown.unwrap_err().kind(), ErrorType::HandleInvalid);
    assert_callable(&stand, &hit).await;
    stand
        .host
        .invalidate(drift, &subject, "seen")
        .await
        .unwrap();
    let trigger = Trigger::SemanticDrift;
    assert_ended(&stand, &hit, ErrorType::BindingStale, trigger).await;
    assert_callable(&stand, &spared).await;
}

/// R-802.
#[tokio::test(flavor = "multi_thread")]
async fn findings_are_refused_while_their_stage_is_off_and_lower_stages_work_on() {
    let stand = two(ALLOW).await;
    let bound = stand.bind(ECHO, None).await.unwrap();
    let subject = Subject::Capability(ECHO.parse().unwrap());
    for stage in [Stage::Composition, Stage::Invalidation] {
        stand.host.switch_stage(stage, false, "").await.unwrap();
    }
    let drift = Finding::SemanticDrift;
    let off = stand.host.invalidate(drift, &subject, "seen").await;
    assert_eq!(off.unwrap_err().kind(), ErrorType::StageDisabled);
    assert_callable(&stand, &bound).await;
    let fresh = stand.bind(OTHER, None).await.unwrap();
    assert_callable(&stand, &fresh).await;
    let on = stand.host.switch_stage(Stage::Invalidation, true, "");
    on.await.unwrap();
    let hit = stand.host.invalidate(drift, &subject, "seen").await;
    assert_eq!(hit.unwrap(), 1);
    let trigger = Trigger::SemanticDrift;
    assert_ended(&stand, &bound, ErrorType::BindingStale, trigger).await;
}

/// R-068, R-539, C-09.
#[tokio::test(flavor = "multi_thread")]
async fn another_set_of_publishers_is_another_generation_and_ends_what_was_bound_in_the_last() {
    let mut stand = two(ALLOW).await;
    let generation = |stand: &Stand| stand.session.environment().unwrap().environment_generation;
    let first = generation(&stand);
    let bound = stand.bind(ECHO, None).await.unwrap();
    let late = echo_as("test:late/late@1.0.0", "text");
    stand.admit("late.wasm", late).await;
    assert_eq!(generation(&stand), first, "the same publishers");
    assert_callable(&stand, &bound).await;
    let admission = Admission::by_operator("beta".parse().unwrap(), "beta.wasm");
    let beta = echo_as("test:beta/beta@1.0.0", "text");
    let admitted = stand.host.admit(beta, admission).await.unwrap();
    assert_eq!(generation(&stand), first + 1);
    let trigger = Trigger::EnvironmentGenerationExpired;
    assert_ended(&stand, &bound, ErrorType::BindingStale, trigger).await;
    let again = stand.bind(ECHO, None).await.unwrap();
    assert_callable(&stand, &again).await;
    let digest = admitted[0].implementation_digest;
    stand.host.withdraw(digest, "not used").await.unwrap();
    assert_eq!(generation(&stand), first + 2, "a generation never sinks");
    assert_ended(&stand, &again, ErrorType::BindingStale, trigger).await;
    let raised = stand.count("generation_raised");
    assert_eq!(raised, 3, "acme came, beta came, beta went");
}

/// R-525.
#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_leaves_the_catalogue_ends_its_bindings_and_no_others() {
    let stand = two(ALLOW).await;
    let hit = stand.bind(ECHO, None).await.unwrap();
    let spared = stand.bind(OTHER, None).await.unwrap();
    let gone = stand
        .host
        .withdraw(hit.implementation_digest, "it is not used any more");
    let gone: Vec<String> = gone
        .await
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(gone, [ECHO]);
    let trigger = Trigger::CatalogueUnverifiable;
    assert_ended(&stand, &hit, ErrorType::BindingStale, trigger).await;
    assert_callable(&stand, &spared).await;
    let fresh = stand.bind(OTHER, None).await.unwrap();
    assert_callable(&stand, &fresh).await;
    assert!(stand.host.catalogue().len() == 1);
    let twice = stand
        .host
        .withdraw(hit.implementation_digest, "again")
        .await;
    assert_eq!(twice.unwrap_err().kind(), ErrorType::CapabilityUnavailable);
}

/// A provider whose value can be taken away.
struct Withdrawable(Arc<AtomicBool>);

#[async_trait]
impl SecretProvider for Withdrawable {
    async fn secret(&self) -> Result<Secret, SecretUnavailable> {
        match self.0.load(Ordering::SeqCst) {
            true => Ok(Secret::new("a-value-of-some-length".to_owned()).unwrap()),
            false => Err(SecretUnavailable::Absent("it was withdrawn".to_owned())),
        }
    }
}

fn credential(name: &str, there: &Arc<AtomicBool>) -> Credential {
    Credential::new(
        name.parse().unwrap(),
        Arc::new(Withdrawable(Arc::clone(there))),
    )
}

fn with_credentials(server: &Server) -> String {
    format!(
        r#"
[credentials.token]
env = "UNUSED"
[credentials.unrelated]
env = "UNUSED"
[grants.api]
kind = "endpoint"
url = "http://{}/"
credential = "token"
[[policy.rule]]
decision = "allow"
why = "the scenario"
namespaces = ["acme"]
grants = ["api"]
"#,
        server.authority()
    )
}

async fn http() -> Server {
    Server::start(|mut stream, _| async move {
        use tokio::io::AsyncWriteExt;
        stream.write_all(ok("\"here\"").as_bytes()).await
    })
    .await
}

async fn get(stand: &Stand, bound: &Bound, server: &Server) -> Reply {
    let arguments = json!({ "url": format!("http://{}/x", server.authority()) });
    call(&stand.session, bound, &arguments).await
}

/// R-530, R-596.
#[tokio::test(flavor = "multi_thread")]
async fn a_credential_that_is_taken_away_ends_its_bindings_and_another_does_not() {
    let server = http().await;
    let there = Arc::new(AtomicBool::new(true));
    let token = || credential("token", &there);
    let both = Resources::default()
        .credential(token())
        .credential(credential("unrelated", &there));
    let document = with_credentials(&server);
    let mut stand = Stand::new(&document, both, |builder| builder).await;
    let bytes = std::fs::read(rust_guest("http-json").unwrap()).unwrap();
    stand.admit("http-json.wasm", bytes).await;
    let bound = stand.bind(GET_JSON, None).await.unwrap();
    value(&get(&stand, &bound, &server).await);
    let reload = |resources| stand.host.reload(stand.host.document(), resources);
    reload(Resources::default().credential(token()))
        .await
        .unwrap();
    value(&get(&stand, &bound, &server).await);
    assert_eq!(ended(&stand, &bound), None, "the unrelated one went");
    let unrelated = credential("unrelated", &there);
    reload(Resources::default().credential(unrelated))
        .await
        .unwrap();
    let reply = get(&stand, &bound, &server).await;
    assert_eq!(refusal(&reply).kind(), ErrorType::BindingStale);
    assert_eq!(ended(&stand, &bound), Some(Trigger::AuthenticationRevoked));

    // The same when whoever keeps the value takes it away, and nothing is reloaded.
    reload(Resources::default().credential(token()))
        .await
        .unwrap();
    let bound = stand.bind(GET_JSON, None).await.unwrap();
    value(&get(&stand, &bound, &server).await);
    there.store(false, Ordering::SeqCst);
    let reply = get(&stand, &bound, &server).await;
    assert_eq!(refusal(&reply).kind(), ErrorType::CredentialMissing);
    assert_eq!(ended(&stand, &bound), Some(Trigger::AuthenticationRevoked));
    let reply = get(&stand, &bound, &server).await;
    assert_eq!(refusal(&reply).kind(), ErrorType::BindingStale);
    assert_eq!(server.heads().len(), 3, "nothing was sent since");
}

/// R-333, R-592.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_capability_needs_to_prove_who_it_is_is_recorded_by_name_and_has_to_be_there() {
    let server = http().await;
    let there = Arc::new(AtomicBool::new(true));
    let token = Resources::default().credential(credential("token", &there));
    let document = with_credentials(&server);
    let mut stand = Stand::new(&document, token, |builder| builder).await;
    let bytes = std::fs::read(rust_guest("http-json").unwrap()).unwrap();
    stand.admit("http-json.wasm", bytes).await;
    let mut admission = Admission::by_operator("acme".parse().unwrap(), "echo.wasm");
    admission.contract.approval = Some(ApprovalRequirement::NoApproval);
    admission.contract.credentials = vec!["unrelated".parse().unwrap()];
    stand.host.admit(echo(), admission).await.unwrap();
    let needs = |id: &str| {
        let records = stand.records();
        records.iter().find_map(|record| match &record.entry.event {
            Event::CapabilityDescribed(seen) if seen.capability.id.as_str() == id => {
                let names = seen.authentication_requirements.iter();
                Some(names.map(ToString::to_string).collect::<Vec<_>>())
            }
            _ => None,
        })
    };
    assert_eq!(needs(GET_JSON).unwrap(), ["token"], "of its grant");
    assert_eq!(
        needs(ECHO).unwrap(),
        ["token", "unrelated"],
        "of its contract, too"
    );
    let refused = stand.bind(ECHO, None).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorType::CredentialMissing);
    let both = Resources::default()
        .credential(credential("token", &there))
        .credential(credential("unrelated", &there));
    let document = stand.host.document();
    stand.host.reload(document, both).await.unwrap();
    let bound = stand.bind(ECHO, None).await.unwrap();
    assert_callable(&stand, &bound).await;
}

pub(crate) fn asking(approval: &str) -> String {
    format!(
        "[[policy.rule]]\ndecision = \"ask\"\nwhy = \"somebody looks\"\n\
         capabilities = [\"{ECHO}\"]\napproval = \"{approval}\"\n"
    )
}

/// The scene's document with `more`, as a reload gets it.
pub(crate) fn document(stand: &Stand, more: &str) -> Document {
    let mut parsed = stand.host.document();
    let text = format!("[environment]\nid = \"scenario\"\n{more}");
    parsed.policy = Document::parse("bindery.toml", &text).unwrap().policy;
    parsed
}

/// R-536.
#[tokio::test(flavor = "multi_thread")]
async fn a_yes_of_another_reach_ends_the_binding_that_it_stood_for() {
    for (after, ends) in [("confirm_every_time", true), ("confirm_once", false)] {
        let stand = two(&format!("{ALLOW}{}", asking("confirm_once"))).await;
        let bound = stand.bind(ECHO, None).await.unwrap();
        let asked = call(&stand.session, &bound, &hello()).await;
        stand
            .host
            .approve(asked.proposal.unwrap(), "yes")
            .await
            .unwrap();
        value(&call(&stand.session, &bound, &hello()).await);
        let unrelated = ALLOW
            .replace("\"allow\"", "\"deny\"")
            .replace("acme", "nobody");
        let more = format!("{ALLOW}{}{unrelated}", asking(after));
        let changed = document(&stand, &more);
        stand
            .host
            .reload(changed, Resources::default())
            .await
            .unwrap();
        if ends {
            let trigger = Trigger::ApprovalScopeChanged;
            assert_ended(&stand, &bound, ErrorType::BindingStale, trigger).await;
        } else {
            let reply = call(&stand.session, &bound, &hello()).await;
            let kind = refusal(&reply).kind();
            assert_eq!(kind, ErrorType::ApprovalRequired, "I14: asked anew");
            let proposal = reply.proposal.unwrap();
            stand.host.approve(proposal, "yes").await.unwrap();
            assert_callable(&stand, &bound).await;
        }
    }
}

pub(crate) fn status(stand: &Stand, proposal: bindery::ProposalId) -> ProposalStatus {
    let all = stand.host.proposals();
    let found = all.iter().find(|found| found.asked.proposal == proposal);
    found.unwrap().status
}

/// R-580.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_what_has_changed_is_void_and_its_yes_starts_nothing() {
    let stand = two(&format!("{ALLOW}{}", asking("confirm_every_time"))).await;
    let bound = stand.bind(ECHO, None).await.unwrap();
    let asked = call(&stand.session, &bound, &hello()).await;
    let proposal = asked.proposal.unwrap();
    let same = document(&stand, &format!("{ALLOW}{}", asking("confirm_every_time")));
    stand.host.reload(same, Resources::default()).await.unwrap();
    assert_eq!(
        status(&stand, proposal),
        ProposalStatus::Pending,
        "nothing changed"
    );
    let unrelated = ALLOW
        .replace("\"allow\"", "\"deny\"")
        .replace("acme", "nobody");
    let more = format!("{ALLOW}{}{unrelated}", asking("confirm_every_time"));
    let changed = document(&stand, &more);
    stand
        .host
        .reload(changed, Resources::default())
        .await
        .unwrap();
    assert_eq!(status(&stand, proposal), ProposalStatus::Voided);
    let trigger = stand.records().into_iter().find_map(|record| {
        let Event::ProposalVoided(event) = record.entry.event else {
            return None;
        };
        (event.proposal == proposal).then_some(event.trigger)
    });
    assert_eq!(trigger, Some(Trigger::PolicyVersionChanged));
    let late = stand.host.approve(proposal, "too late").await.unwrap_err();
    assert_eq!(late.kind(), ErrorType::ApprovalRequired);
    assert_eq!(stand.count("call_intent"), 0, "nothing started");

    // A released binding takes its question with it.
    let asked = call(&stand.session, &bound, &hello()).await;
    let handle = bound.handle.to_string();
    stand.session.release(&handle, "not needed").await.unwrap();
    let proposal = asked.proposal.unwrap();
    assert_eq!(status(&stand, proposal), ProposalStatus::Voided);
}

/// R-327, R-373, C-58.
#[tokio::test(flavor = "multi_thread")]
async fn a_review_makes_bindable_what_waited_for_it_and_takes_trust_away_again() {
    let stand = two(ALLOW).await;
    let spared = stand.bind(OTHER, None).await.unwrap();
    let late = echo_as("test:late/late@1.0.0", "text");
    let mut admission = Admission::by_operator("acme".parse().unwrap(), "late.wasm");
    admission.contract.approval = Some(ApprovalRequirement::NoApproval);
    admission.trust = TrustStatus::Untrusted;
    stand.host.admit(late, admission).await.unwrap();
    let id = "acme:late/late#say";
    assert!(stand.bind(id, None).await.is_err(), "nobody vouches for it");
    let capability = id.parse().unwrap();
    let trust = TrustStatus::HostVerified;
    let silent = stand.host.review(&capability, trust, "").await;
    assert_eq!(silent.unwrap_err().kind(), ErrorType::Usage);
    stand
        .host
        .review(&capability, trust, "read its source")
        .await
        .unwrap();
    assert_eq!(stand.count("capability_reviewed"), 1);
    let bound = stand.bind(id, None).await.unwrap();
    assert_callable(&stand, &bound).await;
    let away = TrustStatus::Untrusted;
    stand
        .host
        .review(&capability, away, "read it again")
        .await
        .unwrap();
    let trigger = Trigger::CapabilityEntryChanged;
    assert_ended(&stand, &bound, ErrorType::BindingStale, trigger).await;
    assert_callable(&stand, &spared).await;
    let nobody = "acme:late/late#none".parse().unwrap();
    let unknown = stand.host.review(&nobody, trust, "read it").await;
    assert_eq!(
        unknown.unwrap_err().kind(),
        ErrorType::CapabilityUnavailable
    );
}
