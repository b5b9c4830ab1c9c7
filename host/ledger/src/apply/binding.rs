//! Bindings: opened from a decision, renewed, refreshed, ended; never revived.

use std::collections::BTreeSet;

use bindery_types::{BindingHandle, Moment, Rights, Risk, SessionId};

use super::At;
use crate::approval::Wanted;
use crate::event::{BindingMoved, BindingOpened, BindingRefreshed, BindingRenewed, Decision, Pins};
use crate::rejection::Rejection;
use crate::state::{Binding, Ended, Session, State};
use crate::words::{Lifecycle, Meter, ProposalStatus, Route, Trigger, Verdict};

impl State {
    pub(super) fn binding_opened(
        &mut self,
        at: &At<'_>,
        event: &BindingOpened,
    ) -> Result<(), Rejection> {
        let session = self.live_session(at, event.session)?;
        let pins = &event.pins;
        if self.bindings.contains_key(&event.binding) {
            return Err(Rejection::Duplicate { what: "binding" });
        }
        self.check_allowed(&event.decision)?;
        self.check_owner(session, pins)?;
        self.check_pins(session, pins, at.now)?;
        self.check_capability(pins, at.now)?;
        if let Some(target) = self.switch_for(&pins.capability, &pins.principal) {
            let target = target.clone();
            return Err(Rejection::SwitchedOff { target });
        }
        // C-54: the gate is for what was found late and can write.
        let writes = pins.risk != Risk::ReadOnly && event.route == Route::LateBound;
        if writes && self.write_gate.is_none() {
            return Err(Rejection::WriteGate);
        }
        self.check_lease(
            session,
            event.parent,
            event.session,
            pins.lease_until,
            at.now,
        )?;
        self.check_parent_pins(event.parent, pins)?;
        // What the host opens for its static registry nobody asked for (C-51).
        let counted = event.route == Route::LateBound;
        if counted {
            self.check_count(event.session, session, Meter::Binds, at.now)?;
        }
        let used = match pins.approval {
            Some(proposal) => {
                self.check_approval(proposal, &self.wanted_for_binding(event, session, at.now))?;
                Some(proposal)
            }
            None => None,
        };
        if let Some(proposal) = used.and_then(|id| self.proposals.get_mut(&id)) {
            proposal.status = ProposalStatus::Consumed;
            proposal.changed_by = at.sequence;
        }
        let binding = Binding {
            session: event.session,
            parent: event.parent,
            route: event.route,
            pins: pins.clone(),
            ended: None,
            opened_by: at.sequence,
            pinned_by: at.sequence,
        };
        self.bindings.insert(event.binding, binding);
        if counted {
            self.take_count(event.session, Meter::Binds, at.now);
        }
        Ok(())
    }

    fn wanted_for_binding<'a>(
        &self,
        event: &'a BindingOpened,
        session: &'a Session,
        now: Moment,
    ) -> Wanted<'a> {
        Wanted {
            session: event.session,
            archetype: &session.archetype,
            run: None,
            binding: None,
            arguments: None,
            pins: &event.pins,
            requirement: event.decision.requirement,
            now,
        }
    }

    /// a binding is its session's principal's, in its session's tenant.
    fn check_owner(&self, session: &Session, pins: &Pins) -> Result<(), Rejection> {
        if pins.principal != session.principal {
            return Err(differs("principal", Trigger::UserChanged));
        }
        if pins.tenant != session.tenant {
            return Err(differs("tenant", Trigger::TenantChanged));
        }
        Ok(())
    }

    /// I8: the pins that move with the environment are the current ones.
    pub(crate) fn check_pins(
        &self,
        session: &Session,
        pins: &Pins,
        now: Moment,
    ) -> Result<(), Rejection> {
        let environment = self.live_environment(now)?;
        if pins.environment != environment.id
            || pins.environment_generation != environment.generation
        {
            let trigger = Trigger::EnvironmentGenerationExpired;
            return Err(differs("environment generation", trigger));
        }
        if pins.catalog_version != session.catalog_version {
            return Err(differs(
                "catalogue version",
                Trigger::CapabilityEntryChanged,
            ));
        }
        if pins.policy_version != environment.policy_version {
            return Err(differs("policy version", Trigger::PolicyVersionChanged));
        }
        Ok(())
    }

    /// R-348 … R-352: bound from `bindable` only, to exactly what was validated (I9).
    fn check_capability(&self, pins: &Pins, now: Moment) -> Result<(), Rejection> {
        let capability = self.known(&pins.capability)?;
        capability.lifecycle.check(Lifecycle::Bound)?;
        if pins.capability.implementation.is_none() {
            return Err(Rejection::Missing {
                what: "the implementation's digest",
            });
        }
        if !self.is_current(capability, now) {
            return Err(Rejection::Missing {
                what: "a current observation of the capability",
            });
        }
        self.check_description(pins)
    }

    /// … R-529: the pinned digests are the recorded ones.
    pub(crate) fn check_description(&self, pins: &Pins) -> Result<(), Rejection> {
        let capability = self.known(&pins.capability)?;
        let Some(description) = &capability.description else {
            return Err(Rejection::Missing {
                what: "a descriptor",
            });
        };
        if capability.lifecycle == Lifecycle::Rejected {
            return Err(Rejection::Transition {
                from: Lifecycle::Rejected,
                to: Lifecycle::Bound,
            });
        }
        if pins.descriptor_digest != description.descriptor_digest {
            let trigger = Trigger::DescriptorDigestChanged;
            return Err(differs("descriptor digest", trigger));
        }
        if pins.input_schema_ref != description.input_schema_ref
            || pins.output_schema_ref != description.output_schema_ref
        {
            return Err(differs("schema digest", Trigger::SchemaDigestChanged));
        }
        if pins.dependencies != description.dependencies {
            let trigger = Trigger::DependencyDigestChanged;
            return Err(differs("dependency digest", trigger));
        }
        Ok(())
    }

    /// I10: a lease has a rest, and ends no later than its session and its parent.
    fn check_lease(
        &self,
        session: &Session,
        parent: Option<BindingHandle>,
        of: SessionId,
        asked: Moment,
        now: Moment,
    ) -> Result<(), Rejection> {
        if asked <= now {
            return Err(Rejection::LeaseOver { until: asked });
        }
        outlives(asked, "session", session.expires_at)?;
        if let Some(parent) = parent {
            let parent = self.bound(parent, of, now)?;
            outlives(asked, "parent", parent.pins.lease_until)?;
        }
        Ok(())
    }

    /// I4, as far as it is the ledger's: what is narrowed is of the same build, and no more
    /// than its parent in risk. That the scope is narrower is the policy's to prove.
    fn check_parent_pins(
        &self,
        parent: Option<BindingHandle>,
        pins: &Pins,
    ) -> Result<(), Rejection> {
        let Some(parent) = parent.and_then(|handle| self.bindings.get(&handle)) else {
            return Ok(());
        };
        if pins.capability != parent.pins.capability || pins.risk > parent.pins.risk {
            return Err(Rejection::Malformed {
                what: "a narrowed binding is of its parent's capability and risk",
            });
        }
        Ok(())
    }

    pub(super) fn binding_renewed(
        &mut self,
        at: &At<'_>,
        event: &BindingRenewed,
    ) -> Result<(), Rejection> {
        let (of, parent) = self.owner(event.binding)?;
        let session = self.live_session(at, of)?;
        self.bound(event.binding, of, at.now)?;
        self.check_lease(session, parent, of, event.lease_until, at.now)?;
        if let Some(binding) = self.bindings.get_mut(&event.binding) {
            binding.pins.lease_until = event.lease_until;
            binding.pinned_by = at.sequence;
        }
        Ok(())
    }

    /// only the three versions may differ, whatever policy would allow by now.
    pub(super) fn binding_refreshed(
        &mut self,
        at: &At<'_>,
        event: &BindingRefreshed,
    ) -> Result<(), Rejection> {
        let (of, _) = self.owner(event.binding)?;
        let session = self.live_session(at, of)?;
        let binding = self.bound(event.binding, of, at.now)?;
        if binding.pins != event.before {
            return Err(Rejection::Malformed {
                what: "the old pins are the recorded ones",
            });
        }
        let expected = Pins {
            environment_generation: event.after.environment_generation,
            catalog_version: event.after.catalog_version,
            policy_version: event.after.policy_version,
            ..event.before.clone()
        };
        if expected != event.after {
            return Err(Rejection::Malformed {
                what: "a refresh changes generation, catalogue version and policy version only",
            });
        }
        self.check_allowed(&event.decision)?;
        self.check_pins(session, &event.after, at.now)?;
        self.check_description(&event.after)?;
        if let Some(target) = self.switched_off(binding) {
            let target = target.clone();
            return Err(Rejection::SwitchedOff { target });
        }
        if let Some(binding) = self.bindings.get_mut(&event.binding) {
            binding.pins = event.after.clone();
            binding.pinned_by = at.sequence;
        }
        Ok(())
    }

    pub(super) fn binding_moved(
        &mut self,
        at: &At<'_>,
        event: &BindingMoved,
    ) -> Result<(), Rejection> {
        let (of, _) = self.owner(event.binding)?;
        if at.entry.session != Some(of) {
            return Err(Rejection::Unknown { what: "binding" });
        }
        let release = event.to == Lifecycle::Released;
        if release != (event.trigger == Trigger::ReleaseRequested) {
            return Err(Rejection::Malformed {
                what: "a release is requested, and a request is a release",
            });
        }
        // Whoever holds a binding may give it back, and no more.
        if !release && at.entry.actor.rights != Rights::Operator {
            let kind = at.entry.event.kind();
            return Err(Rejection::RightsMissing { kind });
        }
        let Some(binding) = self.bindings.get(&event.binding) else {
            return Err(Rejection::Unknown { what: "binding" });
        };
        binding.lifecycle().check(event.to)?;
        let hit = BTreeSet::from([event.binding]);
        self.end_bindings(at, hit, event.to, event.trigger);
        Ok(())
    }

    /// Ends bindings and everything narrowed from them (I6), and marks the calls that run
    /// under any of them.
    pub(super) fn end_bindings(
        &mut self,
        at: &At<'_>,
        mut hit: BTreeSet<BindingHandle>,
        to: Lifecycle,
        trigger: Trigger,
    ) {
        let mut cause = trigger;
        while !hit.is_empty() {
            for handle in &hit {
                if let Some(binding) = self.bindings.get_mut(handle) {
                    binding.ended = Some(Ended {
                        to,
                        trigger: cause,
                        by: at.sequence,
                    });
                }
            }
            for call in self.calls.values_mut() {
                if hit.contains(&call.binding) {
                    call.overtaken.get_or_insert(cause);
                }
            }
            let below = |binding: &Binding| {
                binding.ended.is_none() && binding.parent.is_some_and(|p| hit.contains(&p))
            };
            let next = self.bindings.iter().filter(|(_, b)| below(b));
            hit = next.map(|(handle, _)| *handle).collect();
            cause = Trigger::ParentEnded;
        }
    }

    fn owner(
        &self,
        binding: BindingHandle,
    ) -> Result<(SessionId, Option<BindingHandle>), Rejection> {
        let found = self.bindings.get(&binding);
        found
            .map(|binding| (binding.session, binding.parent))
            .ok_or(Rejection::Unknown { what: "binding" })
    }

    /// I11: the decision is an allow under the rules that are current.
    pub(crate) fn check_allowed(&self, decision: &Decision) -> Result<(), Rejection> {
        match decision.verdict {
            Verdict::Allow => {}
            Verdict::Ask | Verdict::Deny => return Err(Rejection::Verdict { needed: "allow" }),
        }
        if self.policy_version() != Some(decision.policy_version) {
            return Err(differs("policy version", Trigger::PolicyVersionChanged));
        }
        Ok(())
    }
}

pub(crate) fn differs(pin: &'static str, trigger: Trigger) -> Rejection {
    Rejection::PinDiffers { pin, trigger }
}

fn outlives(asked: Moment, limit_of: &'static str, until: Moment) -> Result<(), Rejection> {
    if asked <= until {
        return Ok(());
    }
    Err(Rejection::LeaseTooLong {
        asked,
        limit_of,
        until,
    })
}
