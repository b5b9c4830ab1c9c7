//! The operator's verbs: answers, withdrawals, findings, switches, the host itself.

use bindery::ledger::Target;
use bindery::ledger::words::{Finding, RunStatus};
use bindery::policy::Stage;
use bindery::{CallId, ErrorType, ProposalId, Refusal, RunId, TrustStatus};
use serde_json::{Value, json};

use super::record::capability_id;
use super::{Desk, Recording};
use crate::request::RevokeTarget;

impl Desk {
    pub(super) async fn approve(&self, id: ProposalId, reason: &str) -> Result<Value, Refusal> {
        self.host.approve(id, reason).await?;
        let next = "the caller repeats the same call";
        Ok(json!({ "proposal": id, "status": "approved", "next": next }))
    }

    pub(super) async fn deny(&self, id: ProposalId, reason: &str) -> Result<Value, Refusal> {
        self.host.deny(id, reason).await?;
        Ok(json!({ "proposal": id, "status": "denied" }))
    }

    pub(super) async fn revoke(
        &self,
        named: &RevokeTarget,
        reason: &str,
        lift: bool,
    ) -> Result<Value, Refusal> {
        let target = match named {
            RevokeTarget::All => Target::All,
            RevokeTarget::Named(text) => self.target(text)?,
        };
        let known = lift || self.is_known(&target);
        if let (RevokeTarget::Named(text), false) = (named, known) {
            let why = "nothing of this name was ever seen here, so nothing would be withdrawn";
            return Err(Refusal::new(ErrorType::Usage, why)
                .with("target", text.as_str())
                .with("read_as", json!(target))
                .for_operator(
                    "`bindery env`, `bindery session list` and `bindery ledger` show what there is; a digest can be withdrawn before it is admitted",
                ));
        }
        let (shown, done) = (json!(target), if lift { "lifted" } else { "revoked" });
        let thrown = self.look(|state| state.switches().any(|(known, _)| *known == target));
        if thrown == Some(!lift) {
            // It is so already: nothing is left to do, or to record twice.
            return Ok(json!({ "target": shown, "status": done, "already": true }));
        }
        if lift {
            self.host.lift(target, reason).await?;
        } else {
            self.host.revoke(target, reason).await?;
        }
        Ok(json!({ "target": shown, "status": done, "reason": reason }))
    }

    /// What a text stands for, by its form: a handle, a digest, an id, a principal with a
    /// colon, else a namespace; a public name last.
    fn target(&self, text: &str) -> Result<Target, Refusal> {
        if let Ok(handle) = text.parse() {
            return Ok(Target::Binding(handle));
        }
        if let Ok(digest) = text.parse() {
            return Ok(Target::Digest(digest));
        }
        if let Some(id) = capability_id(text) {
            return Ok(Target::Capability(id));
        }
        if let Ok(id) = self.capability(text) {
            return Ok(Target::Capability(id));
        }
        let principal = text.contains(':').then(|| text.parse().ok()).flatten();
        if let Some(principal) = principal {
            return Ok(Target::Principal(principal));
        }
        text.parse().map(Target::Namespace).map_err(|_| {
            let why = "this is no handle, capability, digest, namespace or principal";
            Refusal::new(ErrorType::Usage, why).with("target", text)
        })
    }

    /// Whether there is, or was, what a withdrawal would hit. A misspelt name must not look
    /// like a withdrawal; bytes may be withdrawn before anybody brings them.
    fn is_known(&self, target: &Target) -> bool {
        let of_state = |see: &dyn Fn(&bindery::ledger::State) -> bool| {
            self.look(|state| see(state)).unwrap_or_default()
        };
        match target {
            Target::All | Target::Digest(_) => true,
            Target::Binding(handle) => of_state(&|state| state.binding(*handle).is_some()),
            Target::Capability(id) => {
                self.host
                    .catalogue()
                    .iter()
                    .any(|row| row.descriptor.id() == id)
                    || of_state(&|state| state.capabilities().any(|(key, _)| key.id == *id))
            }
            Target::Namespace(namespace) => {
                let own = |id: &bindery::CapabilityId| id.namespace() == namespace.as_str();
                self.host
                    .catalogue()
                    .iter()
                    .any(|row| own(row.descriptor.id()))
                    || of_state(&|state| state.capabilities().any(|(key, _)| own(&key.id)))
            }
            Target::Principal(principal) => {
                self.host
                    .document()
                    .people
                    .principals
                    .contains_key(principal)
                    || principal.as_str().starts_with("local:")
                    || of_state(&|state| {
                        state
                            .sessions()
                            .any(|(_, open)| open.principal == *principal)
                    })
            }
        }
    }

    pub(super) async fn reconcile(
        &self,
        call: &str,
        done: bool,
        evidence: &str,
    ) -> Result<Value, Refusal> {
        let id: CallId = call.parse().map_err(|_| {
            Refusal::new(ErrorType::HandleInvalid, "there is no such call").with("call", call)
        })?;
        let finding = if done { Finding::Done } else { Finding::Failed };
        self.host.reconcile(id, finding, evidence).await?;
        Ok(json!({ "call": id, "finding": finding, "evidence": evidence }))
    }

    pub(super) async fn run_move(
        &self,
        run: &str,
        to: &str,
        reason: &str,
    ) -> Result<Value, Refusal> {
        let usage = |error: String| Refusal::new(ErrorType::Usage, error);
        let id: RunId = run.parse().map_err(|_| {
            Refusal::new(ErrorType::HandleInvalid, "there is no such run").with("run", run)
        })?;
        let to: RunStatus = to
            .parse()
            .map_err(|error: bindery::UnknownWord| usage(error.to_string()))?;
        self.host.move_run(id, to, reason).await?;
        Ok(json!({ "run": id, "status": to, "reason": reason }))
    }

    pub(super) async fn invalidate(
        &self,
        subject: &str,
        finding: &str,
        evidence: &str,
    ) -> Result<Value, Refusal> {
        let usage = |error: String| Refusal::new(ErrorType::Usage, error);
        let finding: bindery::Finding = finding.parse().map_err(usage)?;
        let about = match subject.parse() {
            Ok(handle) => bindery::Subject::Binding(handle),
            Err(_) => bindery::Subject::Capability(self.capability(subject)?),
        };
        let ended = self.host.invalidate(finding, &about, evidence).await?;
        let (status, trigger) = finding.ends();
        Ok(json!({
            "subject": subject,
            "trigger": trigger,
            "status": status,
            "bindings_ended": ended,
        }))
    }

    pub(super) async fn review(
        &self,
        id: &str,
        trust: TrustStatus,
        evidence: &str,
    ) -> Result<Value, Refusal> {
        let id = self.capability(id)?;
        self.host.review(&id, trust, evidence).await?;
        Ok(json!({ "capability_id": id, "trust_status": trust, "evidence": evidence }))
    }

    /// The ten stages: as the configuration has them, as they were switched since.
    pub(super) fn stages(&self) -> Result<Value, Refusal> {
        let (document, next) = (self.host.document().stages.on, self.next_stages());
        let rows = Stage::ALL.iter().map(|stage| {
            json!({
                "number": stage.number(),
                "stage": stage,
                "on": next.is_on(*stage),
                "configured": document.is_on(*stage),
                "needs": stage.prerequisites().iter().map(|s| s.number()).collect::<Vec<_>>(),
            })
        });
        Ok(json!({ "stages": rows.collect::<Vec<_>>(), "for": "sessions that begin from now on" }))
    }

    /// Where the store is only read, the host beside it has seen no switch.
    fn next_stages(&self) -> bindery::policy::Stages {
        let mut stages = self.host.stages();
        if self.recording != Recording::Read {
            return stages;
        }
        for stage in Stage::ALL {
            let switched = self.look(|state| state.stage(stage.number())).flatten();
            stages = switched
                .and_then(|on| stages.with(*stage, on).ok())
                .unwrap_or(stages);
        }
        stages
    }

    pub(super) async fn stage_set(
        &self,
        stage: Stage,
        on: bool,
        evidence: &str,
    ) -> Result<Value, Refusal> {
        self.host.switch_stage(stage, on, evidence).await?;
        self.stages()
    }

    /// Reads the configuration again; on any fault everything stays as it was.
    ///
    /// # Errors
    ///
    /// `policy_malformed` with every fault.
    pub async fn reload(&self) -> Result<Value, Refusal> {
        let document = self.place.document()?;
        let resources = self.opener.open(&document, &self.place)?;
        let before = self.host.policy_version();
        let after = self.host.reload(document, resources).await?;
        Ok(json!({ "before": before, "after": after, "changed": before != after }))
    }

    pub(super) async fn accept_writes(&self, evidence: &str) -> Result<Value, Refusal> {
        self.host.accept_writes(evidence).await?;
        Ok(json!({ "late_bound_writes": "accepted", "evidence": evidence }))
    }

    pub(super) fn status(&self) -> Result<Value, Refusal> {
        let figures = self.look(|state| {
            json!({
                "records": state.sequence(),
                "sessions": state.sessions().count(),
                "bindings": state.bindings().filter(|(_, b)| b.ended.is_none()).count(),
                "calls_running_or_uncertain": state.calls().count(),
                "proposals": state.proposals().count(),
            })
        });
        let mut problems = self.problems.clone();
        if let Err(error) = self.journal.standing() {
            problems.push(format!(
                "{error}: nothing is recorded and nothing with effects is run any more; see to the disk, then stop this host and start it again"
            ));
        }
        let (catalogue, policy) = (self.host.catalogue().len(), self.host.policy_version());
        Ok(json!({
            "pid": std::process::id(),
            "config": self.place.config(),
            "data": self.place.data(),
            "started_at": self.started_at,
            "capabilities": catalogue,
            "policy_version": policy,
            "ledger": figures,
            "problems": problems,
        }))
    }

    pub(super) fn ask_to_stop(&self) -> Result<Value, Refusal> {
        self.stop.notify_one();
        Ok(json!({ "pid": std::process::id(), "status": "stopping" }))
    }
}
