//! `expire`: what time and change made of sessions, questions and the environment is said.
//!
//! Rule (R-537 … ): nothing that is over answers, whether or not this was asked
//! for; here it is put on record, at the next verb that could meet it.

use bindery_ledger::event::{BindingMoved, EnvironmentAdmitted, ProposalExpired, ProposalVoided};
use bindery_ledger::words::{EvidenceKind, Lifecycle, Operation, SessionEnd, Trigger};
use bindery_ledger::{Entry, JournalError, State};
use bindery_types::{BindingHandle, Moment, Refusal, SessionId};

use crate::Host;
use crate::governor::{Governor, Told};
use crate::session::SESSION_MS;
use crate::start::ENVIRONMENT_MS;

impl Host {
    /// Records what is over by now: sessions and questions whose time has ended, questions
    /// about something that changed. Whoever lists them asks this first.
    ///
    /// # Errors
    ///
    /// `store_unavailable` when it cannot be recorded.
    pub async fn expire(&self) -> Result<(), Refusal> {
        self.governor.expire().await
    }
}

impl Governor {
    pub(crate) async fn expire(&self) -> Result<(), Refusal> {
        let now = self.clock.now();
        let over = self.look(|state| {
            let over = state.sessions().filter(|(_, open)| open.expires_at <= now);
            over.map(|(id, _)| *id).collect::<Vec<_>>()
        });
        for session in over.unwrap_or_default() {
            self.stop_session(session);
            self.close_session(session, SessionEnd::Expired).await?;
        }
        self.questions_over(now).await?;
        self.admit_again(now).await
    }

    /// Questions that nobody can answer any more.
    pub(crate) async fn questions_over(&self, now: Moment) -> Result<(), Refusal> {
        let over = self.look(|state| state.overtaken_proposals(now));
        for (proposal, session, trigger) in over.unwrap_or_default() {
            let reason = match trigger {
                None => "the time of the question is over",
                Some(_) => "what the question is about has changed",
            };
            let told = Told {
                session: Some(session),
                ..self.own(Operation::Expire, reason)
            };
            let entry = match trigger {
                None => self.entry(&told, ProposalExpired { proposal }),
                Some(trigger) => self.entry(&told, ProposalVoided { proposal, trigger }),
            };
            self.unless_so_already(entry).await?;
            self.run_of_session_follows(session)?;
        }
        Ok(())
    }

    /// An environment is admitted for a time; a host that lives on admits it again before a
    /// session could outlive it.
    async fn admit_again(&self, now: Moment) -> Result<(), Refusal> {
        if self.ends_soon(now).is_none() {
            return Ok(());
        }
        // Versions do not move while this is said, and are looked at when they cannot.
        let _turn = self.turn().await;
        match self.ends_soon(now) {
            Some(admitted) => {
                let told = self.own(Operation::Expire, "the environment is admitted again");
                let entry = self.entry(&told, admitted);
                self.unless_so_already(entry).await
            }
            None => Ok(()),
        }
    }

    /// The same environment for another while, when a session could outlive this one.
    fn ends_soon(&self, now: Moment) -> Option<EnvironmentAdmitted> {
        let due = self.look(|state| {
            let environment = state.environment()?;
            let least = now.after_ms(SESSION_MS);
            (environment.expires_at <= least).then(|| EnvironmentAdmitted {
                environment: environment.id.clone(),
                tenant: environment.tenant.clone(),
                generation: environment.generation,
                catalog_version: environment.catalog_version,
                policy_version: environment.policy_version,
                providers: environment.providers.clone(),
                expires_at: now.after_ms(ENVIRONMENT_MS),
            })
        });
        due.flatten()
    }

    /// Ends a binding of `session` whose time is over, or that rests on evidence that is too
    /// old, when it is about to be used.
    pub(crate) async fn due(
        &self,
        handle: BindingHandle,
        session: SessionId,
    ) -> Result<(), Refusal> {
        let now = self.clock.now();
        let due = self.look(|state| {
            let binding = state.binding(handle)?;
            let live = binding.ended.is_none() && binding.session == session;
            live.then(|| over(state, handle, now)).flatten()
        });
        let Some(trigger) = due.flatten() else {
            return Ok(());
        };
        let told = Told {
            session: Some(session),
            ..self.own(Operation::Expire, "a time passed")
        };
        let moved = BindingMoved {
            binding: handle,
            to: Lifecycle::Stale,
            trigger,
        };
        let entry = self.entry(&told, moved);
        self.unless_so_already(entry).await
    }

    /// a binding whose credential is not there any more ends; whoever has it again
    /// binds again. What could not be recorded is refused at the next call all the same.
    pub(crate) async fn credential_gone(&self, handle: BindingHandle) {
        let told = self.own(Operation::Invalidate, "a credential is not there any more");
        let hit = |own: &BindingHandle, _: &bindery_ledger::Binding| *own == handle;
        let ends = (Lifecycle::Stale, Trigger::AuthenticationRevoked);
        for entry in self.ends(hit, ends, &told) {
            if let Err(refusal) = self.unless_so_already(entry).await {
                tracing::warn!(%refusal, "a binding without its credential is not ended");
            }
        }
    }

    /// What somebody else recorded meanwhile needs no second record.
    async fn unless_so_already(&self, entry: Entry) -> Result<(), Refusal> {
        match self.record(vec![entry]).await {
            Ok(_) | Err(JournalError::Rejected(_)) => Ok(()),
            Err(error) => Err(error.refusal()),
        }
    }
}

/// What is over about a binding by now.
fn over(state: &State, handle: BindingHandle, now: Moment) -> Option<Trigger> {
    let pins = &state.binding(handle)?.pins;
    if pins.lease_until <= now {
        return Some(Trigger::LeaseExpired);
    }
    let known = state.capability(&pins.capability)?;
    let fresh = |evidence: &bindery_ledger::Evidence| {
        // What calls showed is kept, and vouches for nothing.
        let vouches = matches!(
            evidence.kind,
            EvidenceKind::Reflected | EvidenceKind::Fixture | EvidenceKind::Review
        );
        vouches && now < evidence.fresh_until
    };
    let mut own = known.evidence_refs.iter();
    if own.any(|id| state.evidence(*id).is_some_and(fresh)) {
        return None;
    }
    let mut all = state.evidence_about(&pins.capability);
    match all.any(fresh) {
        true => None,
        false => Some(Trigger::EvidenceStale),
    }
}
