//! Sessions.

use super::At;
use crate::event::{SessionClosed, SessionOpened};
use crate::key::BudgetScope;
use crate::rejection::Rejection;
use crate::state::{Session, State};
use crate::words::Trigger;

impl State {
    pub(super) fn session_opened(
        &mut self,
        at: &At<'_>,
        event: &SessionOpened,
    ) -> Result<(), Rejection> {
        let environment = self.live_environment(at.now)?;
        if environment.id != event.environment {
            return Err(Rejection::Unknown {
                what: "environment",
            });
        }
        if environment.generation != event.generation {
            return Err(Rejection::PinDiffers {
                pin: "environment generation",
                trigger: Trigger::EnvironmentGenerationExpired,
            });
        }
        if environment.policy_version != event.policy_version {
            return Err(Rejection::PinDiffers {
                pin: "policy version",
                trigger: Trigger::PolicyVersionChanged,
            });
        }
        if at.entry.session != Some(event.session) {
            return Err(Rejection::ForeignSession);
        }
        if self.sessions.contains_key(&event.session) {
            return Err(Rejection::Duplicate { what: "session" });
        }
        if event.expires_at <= at.now {
            return Err(Rejection::LeaseOver {
                until: event.expires_at,
            });
        }
        let session = Session {
            environment: event.environment.clone(),
            principal: event.principal.clone(),
            rights: event.rights,
            tenant: event.tenant.clone(),
            agent: event.agent.clone(),
            archetype: event.archetype.clone(),
            mode: event.mode,
            configuration: event.configuration,
            catalog_version: event.catalog_version,
            stages: event.stages.clone(),
            expires_at: event.expires_at,
            opened_by: at.sequence,
        };
        self.sessions.insert(event.session, session);
        Ok(())
    }

    /// Everything that was the session's goes with it; calls that run stay until their
    /// outcome is known, marked as overtaken.
    pub(super) fn session_closed(&mut self, event: &SessionClosed) -> Result<(), Rejection> {
        let session = event.session;
        if self.sessions.remove(&session).is_none() {
            return Err(Rejection::Unknown { what: "session" });
        }
        self.bindings
            .retain(|_, binding| binding.session != session);
        self.proposals
            .retain(|_, proposal| proposal.asked.session != session);
        self.runs.retain(|_, run| run.session != session);
        self.buckets
            .retain(|key, _| key.scope != BudgetScope::Session(session));
        for call in self.calls.values_mut().filter(|c| c.session == session) {
            call.overtaken.get_or_insert(event.end.trigger());
        }
        Ok(())
    }
}
