//! The one way a state changes: a record is applied, or refused and nothing changes.
//!
//! Rule (architecture § 8, I42): pure and exhaustive. Every handler first asks everything
//! and then changes everything; between the two nothing can fail.

mod binding;
mod call;
mod capability;
mod environment;
mod outcome;
mod proposal;
mod run;
mod session;

use bindery_types::{Moment, Rights, SessionId};

use crate::event::Event;
use crate::record::{Entry, Record};
use crate::rejection::Rejection;
use crate::state::{Environment, Session, State};

/// Where and when a record stands.
pub(crate) struct At<'a> {
    /// Its place.
    pub(crate) sequence: u64,
    /// The latest moment seen, this record's included: a clock that jumps back does not
    /// take a lease with it (I10).
    pub(crate) now: Moment,
    /// The record itself.
    pub(crate) entry: &'a Entry,
}

impl At<'_> {
    pub(crate) fn is_operator(&self) -> bool {
        self.entry.actor.rights == Rights::Operator
    }
}

impl State {
    /// Applies one record.
    ///
    /// # Errors
    ///
    /// The reason for which the record cannot be; the state is then what it was (I42).
    pub fn apply(&mut self, record: &Record) -> Result<(), Rejection> {
        self.check_order(record)?;
        self.check_actor(&record.entry)?;
        let at = At {
            sequence: record.sequence,
            now: self.now.max(record.entry.moment),
            entry: &record.entry,
        };
        self.apply_event(&at)?;
        self.sequence = at.sequence;
        self.now = at.now;
        Ok(())
    }

    fn check_order(&self, record: &Record) -> Result<(), Rejection> {
        let (last, got) = (self.sequence, record.sequence);
        if last.checked_add(1) != Some(got) {
            return Err(Rejection::OutOfOrder { last, got });
        }
        match record.entry.follows {
            Some(follows) if follows >= got => Err(Rejection::CauseNotEarlier { got, follows }),
            Some(_) | None => Ok(()),
        }
    }

    /// R-579, I38: what only an operator may do, and that nobody writes in another's name.
    fn check_actor(&self, entry: &Entry) -> Result<(), Rejection> {
        if entry.actor.rights == Rights::Operator {
            return Ok(());
        }
        if entry.event.rights() == Rights::Operator {
            let kind = entry.event.kind();
            return Err(Rejection::RightsMissing { kind });
        }
        let Some(session) = entry.session else {
            return Err(Rejection::ForeignSession);
        };
        match self.sessions.get(&session) {
            Some(open) if open.principal != entry.actor.principal => Err(Rejection::ForeignSession),
            // A call may outlive its session; its outcome is not lost.
            Some(_) | None => Ok(()),
        }
    }

    fn apply_event(&mut self, at: &At<'_>) -> Result<(), Rejection> {
        match &at.entry.event {
            Event::HostStarted(_) => Ok(()),
            Event::EnvironmentAdmitted(e) => self.environment_admitted(at, e),
            Event::GenerationRaised(e) => self.generation_raised(at, e),
            Event::CatalogueChanged(e) => self.catalogue_changed(at, e),
            Event::PolicyReplaced(e) => self.policy_replaced(e),
            Event::StageSwitched(e) => self.stage_switched(e),
            Event::WriteGateAccepted(_) => {
                self.write_gate = Some(at.sequence);
                Ok(())
            }
            Event::BudgetSet(e) => self.budget_set(at, e),
            Event::Revoked(e) => self.revoked(at, e),
            Event::RevocationLifted(e) => self.revocation_lifted(e),
            Event::SessionOpened(e) => self.session_opened(at, e),
            Event::SessionClosed(e) => self.session_closed(e),
            Event::CapabilityDiscovered(e) => self.capability_discovered(at, e),
            Event::CapabilityDescribed(e) => self.capability_described(at, e),
            Event::CapabilityMoved(e) => self.capability_moved(at, e),
            Event::CapabilityObserved(e) => self.capability_observed(at, e),
            Event::CapabilityRevalidated(e) => self.capability_revalidated(at, e),
            Event::CapabilityReviewed(e) => self.capability_reviewed(at, e),
            Event::EvidenceRecorded(e) => self.evidence_recorded(at, e),
            // I2: discovery and refusals leave no trace in what decides.
            Event::OperationServed(_) | Event::BindRefused(_) => Ok(()),
            Event::BindingOpened(e) => self.binding_opened(at, e),
            Event::BindingRenewed(e) => self.binding_renewed(at, e),
            Event::BindingRefreshed(e) => self.binding_refreshed(at, e),
            Event::BindingMoved(e) => self.binding_moved(at, e),
            Event::CallRefused(_) => Ok(()),
            Event::CallDecided(e) => self.call_decided(e),
            Event::CallIntent(e) => self.call_intent(at, e),
            Event::CallOutcome(e) => self.call_outcome(at, e),
            Event::CallUncertain(e) => self.call_uncertain(at, e),
            Event::CallReconciled(e) => self.call_reconciled(at, e),
            Event::HookVetoed(_) | Event::ScreeningWithheld(_) => Ok(()),
            Event::ProposalMade(e) => self.proposal_made(at, e),
            Event::ProposalApproved(e) => self.proposal_approved(at, e),
            Event::ProposalDenied(e) => self.proposal_denied(at, e),
            Event::ProposalExpired(e) => self.proposal_expired(at, e),
            Event::ProposalVoided(e) => self.proposal_voided(at, e),
            Event::AgentRegistered(e) => self.agent_registered(e),
            Event::WorkspaceRegistered(e) => self.workspace_registered(e),
            Event::RunCreated(e) => self.run_created(at, e),
            Event::RunMoved(e) => self.run_moved(at, e),
        }
    }

    /// The environment, if its time is not over (I12).
    pub(crate) fn live_environment(&self, now: Moment) -> Result<&Environment, Rejection> {
        match &self.environment {
            Some(environment) if now < environment.expires_at => Ok(environment),
            Some(_) | None => Err(Rejection::NoEnvironment),
        }
    }

    /// The session, if its time is not over and the record is written inside it.
    pub(crate) fn live_session(
        &self,
        at: &At<'_>,
        session: SessionId,
    ) -> Result<&Session, Rejection> {
        if at.entry.session != Some(session) {
            return Err(Rejection::ForeignSession);
        }
        match self.sessions.get(&session) {
            Some(open) if at.now < open.expires_at => Ok(open),
            Some(open) => Err(Rejection::LeaseOver {
                until: open.expires_at,
            }),
            None => Err(Rejection::Unknown { what: "session" }),
        }
    }
}
