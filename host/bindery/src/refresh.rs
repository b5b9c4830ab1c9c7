//! `refresh`: after a change every live binding is decided again.
//!
//! Rule (C-10, C-53, R-546): same or wider grant: pinned anew by a recorded refresh, never
//! widened; otherwise stale, with the trigger. Nothing is re-pointed to anything else.

use std::sync::Arc;

use bindery_ledger::event::{
    BindingMoved, BindingRefreshed, CatalogueChanged, Pins, SessionClosed,
};
use bindery_ledger::words::{CatalogueInput, Lifecycle, Operation, SessionEnd, Trigger};
use bindery_ledger::{Binding, Entry};
use bindery_policy::{Ask, Ruling, Verb};
use bindery_types::{BindingHandle, Refusal, SessionId};

use crate::decision::decision_event;
use crate::facts::{About, Through, decided, key_of};
use crate::governor::{Current, Governor, Told, known_names, names_of, version_of};
use crate::held::Opened;

impl Governor {
    /// Looks at every session and binding again, because of `trigger`.
    ///
    /// # Errors
    ///
    /// When the ledger cannot be written.
    pub(crate) async fn look_again(&self, trigger: Trigger) -> Result<(), Refusal> {
        self.reopen_sessions();
        let batch = self.session_versions();
        if !batch.is_empty() {
            self.record(batch).await.map_err(|error| error.refusal())?;
        }
        // One record a binding: one that cannot be refreshed does not hold up the others.
        for (handle, session) in self.live_bindings() {
            for entry in self.again(handle, session, trigger) {
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
                rates: opened.rates.clone(),
            });
        }
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
    fn again(&self, handle: BindingHandle, session: SessionId, trigger: Trigger) -> Vec<Entry> {
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
            Some((binding.clone(), after, decided(state, &about, &ask)))
        });
        let Some((binding, after, decision)) = found.flatten() else {
            return Vec::new();
        };
        if binding.pins == after {
            return Vec::new();
        }
        let told = self.own(Operation::Refresh, "what the binding rests on changed");
        let told = Told {
            session: Some(session),
            ..told
        };
        let stale = self.entry(
            &told,
            BindingMoved {
                binding: handle,
                to: Lifecycle::Stale,
                trigger: cause(&binding, &current, trigger),
            },
        );
        match &decision.ruling {
            Ruling::Allow(_) => {
                let refreshed = BindingRefreshed {
                    binding: handle,
                    trigger,
                    before: binding.pins,
                    after,
                    decision: decision_event(&decision),
                };
                vec![self.entry(&told, refreshed), stale]
            }
            Ruling::Ask(_) | Ruling::Deny(_) => vec![stale],
        }
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
        let told = self.own(Operation::Session, end.as_str());
        let entry = self.entry(&told, SessionClosed { session, end });
        self.record(vec![entry])
            .await
            .map_err(|error| error.refusal())?;
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

/// The most telling cause: what is gone or different about the entry itself, else what
/// made the host look.
fn cause(binding: &Binding, current: &Current, trigger: Trigger) -> Trigger {
    let pins = &binding.pins;
    match current.catalogue.get(&pins.capability.id) {
        None => Trigger::CatalogueUnverifiable,
        Some(row) if key_of(row) != pins.capability => Trigger::ImplementationDigestChanged,
        Some(row) if row.descriptor.digest() != pins.descriptor_digest => {
            Trigger::DescriptorDigestChanged
        }
        Some(_) => trigger,
    }
}
