//! Activity: that something happened, to what, whose and why.
//!
//! Rule (R-775 … R-780): names, words and the host's own reason. No argument, output,
//! prompt, query, scope or summary is reachable from here, for any kind of record.

use bindery_types::{ErrorType, Moment, Principal, Provider, SessionId};
use serde::Serialize;

use crate::event::Event;
use crate::record::Record;
use crate::text::Line;
use crate::words::{Operation, Verdict};

/// One line of activity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// Its place.
    pub sequence: u64,
    /// When.
    pub moment: Moment,
    /// What the host was doing.
    pub operation: Operation,
    /// What happened.
    pub kind: &'static str,
    /// To what.
    pub subject: String,
    /// In which session.
    pub session: Option<SessionId>,
    /// In whose name.
    pub principal: Principal,
    /// Whose implementation it concerned.
    pub provider: Provider,
    /// Why.
    pub reason: Line,
    /// What policy said, where it was asked.
    pub verdict: Option<Verdict>,
    /// How it was refused or failed.
    pub error: Option<ErrorType>,
}

impl From<&Record> for Activity {
    fn from(record: &Record) -> Self {
        let entry = &record.entry;
        let (verdict, error) = result(&entry.event);
        Self {
            sequence: record.sequence,
            moment: entry.moment,
            operation: entry.operation,
            kind: entry.event.kind(),
            subject: entry.event.subject(),
            session: entry.session,
            principal: entry.actor.principal.clone(),
            provider: entry.provider.clone(),
            reason: entry.reason.clone(),
            verdict,
            error,
        }
    }
}

fn result(event: &Event) -> (Option<Verdict>, Option<ErrorType>) {
    match event {
        Event::OperationServed(e) => (None, e.refused),
        Event::BindingOpened(e) => (Some(e.decision.verdict), None),
        Event::BindingRefreshed(e) => (Some(e.decision.verdict), None),
        Event::BindRefused(e) => (e.decision.as_ref().map(|d| d.verdict), Some(e.error)),
        Event::CallRefused(e) => (None, Some(e.error)),
        Event::CallDecided(e) => (Some(e.decision.verdict), Some(e.error)),
        Event::CallIntent(e) => (Some(e.decision.verdict), None),
        Event::CallOutcome(e) => (None, e.error),
        Event::CallUncertain(_) => (None, Some(ErrorType::UncertainSideEffect)),
        Event::HookVetoed(_) => (Some(Verdict::Deny), Some(ErrorType::PermissionDenied)),
        Event::HostStarted(_)
        | Event::EnvironmentAdmitted(_)
        | Event::GenerationRaised(_)
        | Event::CatalogueChanged(_)
        | Event::PolicyReplaced(_)
        | Event::StageSwitched(_)
        | Event::WriteGateAccepted(_)
        | Event::BudgetSet(_)
        | Event::Revoked(_)
        | Event::RevocationLifted(_)
        | Event::SessionOpened(_)
        | Event::SessionClosed(_)
        | Event::CapabilityDiscovered(_)
        | Event::CapabilityDescribed(_)
        | Event::CapabilityMoved(_)
        | Event::CapabilityObserved(_)
        | Event::CapabilityRevalidated(_)
        | Event::CapabilityReviewed(_)
        | Event::EvidenceRecorded(_)
        | Event::BindingRenewed(_)
        | Event::BindingMoved(_)
        | Event::CallReconciled(_)
        | Event::ScreeningWithheld(_)
        | Event::ProposalMade(_)
        | Event::ProposalApproved(_)
        | Event::ProposalDenied(_)
        | Event::ProposalExpired(_)
        | Event::ProposalVoided(_)
        | Event::AgentRegistered(_)
        | Event::WorkspaceRegistered(_)
        | Event::RunCreated(_)
        | Event::RunMoved(_) => (None, None),
    }
}
