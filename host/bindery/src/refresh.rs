//! `refresh`: after a change every live binding is decided again.
//!
//! Rule (C-10, C-53, R-546): same or wider grant: pinned anew by a recorded refresh, never
//! widened; otherwise stale, with the trigger. Nothing is re-pointed to anything else.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bindery_ledger::event::{
    BindingMoved, BindingRefreshed, CatalogueChanged, Pins, RunMoved, SessionClosed,
};
use bindery_ledger::words::{
    CatalogueInput, Lifecycle, Operation, ProposalStatus, SessionEnd, Trigger,
};
use bindery_ledger::{Binding, Entry, JournalError, Rejection, State};
use bindery_policy::{Ask, Axis, Decision, Policy, Ruling, Verb};
use bindery_types::{ApprovalRequirement, BindingHandle, Refusal, SessionId};

use crate::decision::decision_event;
use crate::drawn::AllDrawn;
use crate::facts::{About, Through, decided, key_of};
use crate::governor::{Current, Governor, Told, known_names, names_of, version_of};
use crate::held::{Held, Opened};
use crate::session::budgets;

/// How often a run can move between two looks at it: more moves than its table has in a row.
const MOVES_MAX: u8 = 8;

impl Governor {
    /// Looks at every session and binding again, because of `trigger`.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be written.
    pub(crate) async fn look_again(&self, trigger: Trigger) -> Result<(), Refusal> {
        self.reopen_sessions();
        let mut batch = self.session_versions();
        let policy = Arc::clone(&self.read().policy);
        batch.extend(self.registrations(&policy));
        batch.extend(self.budgets_again(&policy));
        if !batch.is_empty() {
            self.record(batch).await.map_err(|error| error.refusal())?;
        }
        // Questions about what changed go first, so that what a binding rested on is known.
        let approved = self.standing();
        self.questions_over(self.clock.now()).await?;
        // One record a binding: one that cannot be refreshed does not hold up the others.
        for (handle, session) in self.live_bindings() {
            let approved = approved.get(&handle).copied();
            for entry in self.again((handle, session), approved, trigger) {
                if self.record(vec![entry]).await.is_ok() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Names in the lists of sessions are resolved against the new catalogue; a session
    /// whose lists became ambiguous keeps what it had, which names fewer things.
    fn reopen_sessions(&self) {
        let mut current = self.write();
        let Current {
            policy,
            catalogue,
            sessions,
            ..
        } = &mut *current;
        let names = known_names(&names_of(catalogue, policy));
        for opened in sessions.values_mut() {
            let Ok(session) = policy.open(opened.spec.clone(), &names) else {
                continue;
            };
            *opened = Arc::new(Opened {
                spec: opened.spec.clone(),
                session,
                actor: opened.actor.clone(),
                expires_at: opened.expires_at,
                drawn: Arc::new(AllDrawn::of(policy, &opened.spec.who)),
                run: opened.run.clone(),
            });
        }
    }

    /// Budgets and rates of open sessions, where the rules have them otherwise now.
    fn budgets_again(&self, policy: &Policy) -> Vec<Entry> {
        let told = self.own(Operation::Refresh, "the rules set other budgets");
        let current = self.read();
        let of = |opened: &Arc<Opened>| budgets(self, policy, opened.session.who(), &told);
        // Several sessions of one principal draw from the same.
        let all: BTreeMap<_, _> = current.sessions.values().flat_map(of).collect();
        all.into_values().collect()
    }

    fn session_versions(&self) -> Vec<Entry> {
        let current = self.read();
        let version = version_of(&current.catalogue, &current.policy);
        let told = self.own(Operation::Refresh, "the catalogue changed");
        let changed = |session: SessionId| {
            let from = self.look(|state| state.session(session).map(|open| open.catalog_version));
            let from = from.flatten().filter(|from| *from != version)?;
            let told = Told {
                session: Some(session),
                ..told
            };
            Some(self.entry(
                &told,
                CatalogueChanged {
                    session: Some(session),
                    from,
                    to: version,
                    inputs: vec![CatalogueInput::Descriptors],
                    standing: None,
                },
            ))
        };
        current
            .sessions
            .keys()
            .copied()
            .filter_map(changed)
            .collect()
    }

    fn live_bindings(&self) -> Vec<(BindingHandle, SessionId)> {
        let live = self.look(|state| {
            let live = state
                .bindings()
                .filter(|(_, binding)| binding.ended.is_none());
            live.map(|(handle, binding)| (*handle, binding.session))
                .collect::<Vec<_>>()
        });
        live.unwrap_or_default()
    }

    /// The record to write about one binding, and the one to write if that is refused.
    fn again(
        &self,
        (handle, session): (BindingHandle, SessionId),
        approved: Option<ApprovalRequirement>,
        trigger: Trigger,
    ) -> Vec<Entry> {
        let current = self.read();
        let (Some(opened), Some(held)) = (
            current.sessions.get(&session),
            current.bindings.get(&handle),
        ) else {
            return Vec::new();
        };
        let found = self.look(|state| {
            let binding = state
                .binding(handle)
                .filter(|binding| binding.ended.is_none())?;
            let (environment, open) = (state.environment()?, state.session(session)?);
            let after = Pins {
                environment_generation: environment.generation,
                catalog_version: open.catalog_version,
                policy_version: environment.policy_version,
                ..binding.pins.clone()
            };
            let decision = self.refreshed(state, (&current, opened), (handle, held, binding));
            Some((binding.clone(), after, decision))
        });
        let Some((binding, after, decision)) = found.flatten() else {
            return Vec::new();
        };
        let allowed = matches!(decision.ruling, Ruling::Allow(_));
        if binding.pins == after && allowed {
            return Vec::new();
        }
        // it was used on a yes of another reach than what is asked for by now.
        let narrowed = approved.is_some_and(|approved| approved != decision.requirement);
        let (to, why) = match narrowed {
            true => (Lifecycle::Stale, Trigger::ApprovalScopeChanged),
            false => cause(&binding, &current, &decision, trigger),
        };
        let told = self.own(Operation::Refresh, "what the binding rests on changed");
        let told = Told {
            session: Some(session),
            ..told
        };
        let stale = self.entry(
            &told,
            BindingMoved {
                binding: handle,
                to,
                trigger: why,
            },
        );
        match &decision.ruling {
            Ruling::Allow(_) if !narrowed => {
                let refreshed = BindingRefreshed {
                    binding: handle,
                    trigger,
                    before: binding.pins,
                    after,
                    decision: decision_event(&decision),
                };
                vec![self.entry(&told, refreshed), stale]
            }
            Ruling::Allow(_) | Ruling::Ask(_) | Ruling::Deny(_) => vec![stale],
        }
    }

    /// The bindings that a yes stands for (C-19), with what was asked for then.
    fn standing(&self) -> HashMap<BindingHandle, ApprovalRequirement> {
        let standing = self.look(|state| {
            let all = state
                .proposals()
                .filter(|(_, proposal)| proposal.status == ProposalStatus::Approved);
            all.filter_map(|(_, proposal)| Some((proposal.stands_for?, proposal.asked.requirement)))
                .collect()
        });
        standing.unwrap_or_default()
    }

    /// Why policy would not grant a live binding any more; nothing when it would.
    pub(crate) fn would_refuse(&self, handle: BindingHandle, opened: &Opened) -> Option<Refusal> {
        let current = self.read();
        let held = current.bindings.get(&handle)?;
        let decision = self.look(|state| {
            let binding = state.binding(handle)?;
            Some(self.refreshed(state, (&current, opened), (handle, held, binding)))
        });
        let decision = decision.flatten()?;
        match decision.ruling {
            Ruling::Allow(_) => None,
            Ruling::Ask(_) | Ruling::Deny(_) => decision.refusal(),
        }
    }

    /// What policy says of a live binding by now.
    fn refreshed(
        &self,
        state: &State,
        (current, opened): (&Current, &Opened),
        (handle, held, binding): (BindingHandle, &Held, &Binding),
    ) -> Decision {
        let row = current.catalogue.get(&binding.pins.capability.id);
        let row = row.filter(|row| key_of(row) == binding.pins.capability);
        let row = row.and_then(|row| Some((row, &**current.powers.get(row.descriptor.id())?)));
        let about = About {
            policy: &current.policy,
            opened,
            row,
            binding: Some(Through::Live(handle, held)),
            credentials: current.resources.credentials(),
        };
        let ask = Ask {
            verb: Verb::Refresh,
            session: &opened.session,
            capability: &binding.pins.capability.id,
            generation: None,
            implementation: None,
            descriptor: None,
            scope: None,
            arguments: None,
            arguments_digest: None,
            now: self.clock.now(),
        };
        decided(state, &about, &ask)
    }

    /// Ends a session: its bindings, proposals and handles go with it.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be written.
    pub(crate) async fn close_session(
        &self,
        session: SessionId,
        end: SessionEnd,
    ) -> Result<(), Refusal> {
        let told = Told {
            session: Some(session),
            ..self.own(Operation::Session, end.as_str())
        };
        let closing = || {
            let run = self.look(|state| {
                let mut runs = state.runs().filter(|(_, run)| run.session == session);
                runs.find_map(|(id, run)| Some((*id, run.status.at_end(end, run.done)?)))
            });
            let moved = run
                .flatten()
                .map(|(run, to)| self.entry(&told, RunMoved { run, to }));
            let closed = self.entry(&told, SessionClosed { session, end });
            moved.into_iter().chain([closed]).collect::<Vec<_>>()
        };
        let mut closed = self.record(closing()).await;
        // A run that moved meanwhile ends from where it stands now.
        for _ in 0..MOVES_MAX {
            match closed {
                Err(JournalError::Rejected(
                    Rejection::RunTransition { .. } | Rejection::NothingDone,
                )) => closed = self.record(closing()).await,
                Ok(_) | Err(_) => break,
            }
        }
        closed.map_err(|error| error.refusal())?;
        self.forget_session(session);
        self.stop_overtaken().await;
        Ok(())
    }

    fn forget_session(&self, session: SessionId) {
        let mut current = self.write();
        current.sessions.remove(&session);
        current.registered.retain(|(of, _), _| *of != session);
        let live = self.look(|state| {
            state
                .bindings()
                .map(|(handle, _)| *handle)
                .collect::<Vec<_>>()
        });
        let live = live.unwrap_or_default();
        current.bindings.retain(|handle, _| live.contains(handle));
    }
}

/// The most telling cause: what is gone or different about the entry itself, else which
/// axis says no, else what made the host look.
fn cause(
    binding: &Binding,
    current: &Current,
    decision: &Decision,
    trigger: Trigger,
) -> (Lifecycle, Trigger) {
    let pins = &binding.pins;
    let of_entry = match current.catalogue.get(&pins.capability.id) {
        None => Some(Trigger::CatalogueUnverifiable),
        Some(row) if key_of(row) != pins.capability => Some(Trigger::ImplementationDigestChanged),
        Some(row) if row.descriptor.digest() != pins.descriptor_digest => {
            Some(Trigger::DescriptorDigestChanged)
        }
        Some(_) => None,
    };
    if let Some(trigger) = of_entry {
        return (Lifecycle::Stale, trigger);
    }
    match decision.trace.first_block().map(|(axis, _)| axis) {
        // what was agreed in another environment is agreed again, or not at all.
        Some(Axis::Environment) => (Lifecycle::Stale, Trigger::EnvironmentGenerationExpired),
        //
        Some(Axis::Credential) => (Lifecycle::Stale, Trigger::AuthenticationRevoked),
        //
        Some(Axis::Provider) => (Lifecycle::Unavailable, Trigger::ProviderGone),
        Some(_) | None => (Lifecycle::Stale, trigger),
    }
}
