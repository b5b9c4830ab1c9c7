//! Environment, policy, stages, budgets and switches.

use bindery_types::Digest;

use super::At;
use super::capability::check_times;
use crate::event::{
    BudgetSet, CatalogueChanged, EnvironmentAdmitted, GenerationRaised, PolicyReplaced,
    RevocationLifted, Revoked, StageSwitched, Standing,
};
use crate::key::{CapabilityKey, Target};
use crate::rejection::Rejection;
use crate::state::{Binding, Environment, State};
use crate::words::{Lifecycle, Trigger};

const STAGES: std::ops::RangeInclusive<u8> = 1..=10;

impl State {
    pub(super) fn environment_admitted(
        &mut self,
        at: &At<'_>,
        event: &EnvironmentAdmitted,
    ) -> Result<(), Rejection> {
        if event.expires_at <= at.now {
            return Err(Rejection::NoEnvironment);
        }
        if let Some(old) = &self.environment {
            check_generation(old, event)?;
        }
        self.environment = Some(Environment {
            id: event.environment.clone(),
            tenant: event.tenant.clone(),
            generation: event.generation,
            catalog_version: event.catalog_version,
            policy_version: event.policy_version,
            providers: event.providers.clone(),
            expires_at: event.expires_at,
        });
        Ok(())
    }

    pub(super) fn generation_raised(
        &mut self,
        at: &At<'_>,
        event: &GenerationRaised,
    ) -> Result<(), Rejection> {
        let Some(environment) = &mut self.environment else {
            return Err(Rejection::NoEnvironment);
        };
        if environment.generation != event.from {
            return Err(generation_differs());
        }
        if event.to <= event.from || event.expires_at <= at.now {
            return Err(Rejection::Malformed {
                what: "a generation rises and ends in the future",
            });
        }
        environment.generation = event.to;
        environment.tenant = event.tenant.clone();
        environment.providers = event.providers.clone();
        environment.expires_at = event.expires_at;
        Ok(())
    }

    pub(super) fn catalogue_changed(
        &mut self,
        at: &At<'_>,
        event: &CatalogueChanged,
    ) -> Result<(), Rejection> {
        if event.inputs.is_empty() || event.from == event.to {
            return Err(Rejection::Malformed {
                what: "a version changes because an input did",
            });
        }
        // Everything is looked at before anything is changed.
        if let Some(standing) = &event.standing {
            check_times(at.now, standing.last_observed_at, standing.expires_at)?;
            if event.session.is_some() {
                return Err(Rejection::Malformed {
                    what: "what stands is said of the registry, not of a session",
                });
            }
        }
        let current = match event.session {
            Some(session) => self
                .sessions
                .get_mut(&session)
                .map(|open| &mut open.catalog_version)
                .ok_or(Rejection::Unknown { what: "session" })?,
            None => self
                .environment
                .as_mut()
                .map(|environment| &mut environment.catalog_version)
                .ok_or(Rejection::NoEnvironment)?,
        };
        replace(current, event.from, event.to, "catalogue version")?;
        match &event.standing {
            Some(standing) => self.still_stands(at, (event.from, event.to), standing),
            None => Ok(()),
        }
    }

    /// what was current at the version that was left is current at the new one.
    fn still_stands(
        &mut self,
        at: &At<'_>,
        (from, to): (Digest, Digest),
        standing: &Standing,
    ) -> Result<(), Rejection> {
        let generation = self.environment.as_ref().map(|known| known.generation);
        let generation = generation.ok_or(Rejection::NoEnvironment)?;
        for (key, capability) in self.capabilities.iter_mut() {
            if capability.catalog_version != from || standing.except.contains(key) {
                continue;
            }
            capability.environment_generation = generation;
            capability.catalog_version = to;
            capability.last_observed_at = standing.last_observed_at;
            capability.expires_at = standing.expires_at;
            capability.changed_by = at.sequence;
        }
        Ok(())
    }

    pub(super) fn policy_replaced(&mut self, event: &PolicyReplaced) -> Result<(), Rejection> {
        let environment = self.environment.as_mut().ok_or(Rejection::NoEnvironment)?;
        if event.from == event.to {
            return Err(Rejection::Malformed {
                what: "equal rules are not a new policy (R-544)",
            });
        }
        let current = &mut environment.policy_version;
        replace(current, event.from, event.to, "policy version")
    }

    pub(super) fn stage_switched(&mut self, event: &StageSwitched) -> Result<(), Rejection> {
        if !STAGES.contains(&event.stage) {
            return Err(Rejection::Unknown { what: "stage" });
        }
        self.stages.insert(event.stage, event.on);
        Ok(())
    }

    pub(super) fn budget_set(&mut self, at: &At<'_>, event: &BudgetSet) -> Result<(), Rejection> {
        if event.bucket.window_ms == Some(0) {
            return Err(Rejection::Malformed {
                what: "the window of a rate has a length",
            });
        }
        match event.limit {
            Some(limit) => self.set_bucket(&event.bucket, limit, at.now),
            None if self.buckets.contains_key(&event.bucket) => {
                self.buckets.remove(&event.bucket);
            }
            None => return Err(Rejection::Unknown { what: "budget" }),
        }
        Ok(())
    }

    /// I6: in this one record the switch is on and every binding that it hits has ended, so
    /// that no intent can come between the two.
    pub(super) fn revoked(&mut self, at: &At<'_>, event: &Revoked) -> Result<(), Rejection> {
        if self.switches.contains_key(&event.target) {
            return Err(Rejection::Duplicate { what: "switch" });
        }
        let target = &event.target;
        let hit = self
            .bindings
            .iter()
            .filter(|(handle, binding)| {
                binding.ended.is_none()
                    && (hits(target, &binding.pins.capability, &binding.pins.principal)
                        || *target == Target::Binding(**handle))
            })
            .map(|(handle, _)| *handle)
            .collect();
        if let Target::Binding(handle) = target
            && !self.bindings.contains_key(handle)
        {
            return Err(Rejection::Unknown { what: "binding" });
        }
        self.end_bindings(at, hit, Lifecycle::Revoked, Trigger::AuthorizationRevoked);
        // A handle is ended once and for all; only the others can be lifted again.
        if !matches!(target, Target::Binding(_)) {
            self.switches.insert(target.clone(), at.sequence);
        }
        Ok(())
    }

    pub(super) fn revocation_lifted(&mut self, event: &RevocationLifted) -> Result<(), Rejection> {
        if !self.switches.contains_key(&event.target) {
            return Err(Rejection::Unknown { what: "switch" });
        }
        self.switches.remove(&event.target);
        Ok(())
    }

    /// The first switch that hits these pins.
    pub(crate) fn switched_off(&self, binding: &Binding) -> Option<&Target> {
        let pins = &binding.pins;
        self.switches
            .keys()
            .find(|target| hits(target, &pins.capability, &pins.principal))
    }

    /// The first switch that hits a capability in the hands of a principal.
    pub fn switch_for(
        &self,
        capability: &CapabilityKey,
        principal: &bindery_types::Principal,
    ) -> Option<&Target> {
        self.switches
            .keys()
            .find(|target| hits(target, capability, principal))
    }
}

/// Whether a switch hits a capability in the hands of a principal.
fn hits(target: &Target, capability: &CapabilityKey, principal: &bindery_types::Principal) -> bool {
    match target {
        Target::Binding(_) => false,
        Target::Capability(id) => *id == capability.id,
        Target::Digest(digest) => capability.implementation == Some(*digest),
        Target::Namespace(namespace) => namespace.as_str() == capability.id.namespace(),
        Target::Principal(who) => who == principal,
        Target::All => true,
    }
}

fn generation_differs() -> Rejection {
    Rejection::PinDiffers {
        pin: "environment generation",
        trigger: Trigger::EnvironmentGenerationExpired,
    }
}

/// C-09: a generation never sinks, and what it stands for does not change under it.
fn check_generation(old: &Environment, new: &EnvironmentAdmitted) -> Result<(), Rejection> {
    if new.generation < old.generation {
        return Err(generation_differs());
    }
    let same =
        old.id == new.environment && old.tenant == new.tenant && old.providers == new.providers;
    if new.generation == old.generation && !same {
        return Err(Rejection::Malformed {
            what: "another identity, tenant or set of providers is another generation",
        });
    }
    Ok(())
}

fn replace(
    current: &mut Digest,
    from: Digest,
    to: Digest,
    pin: &'static str,
) -> Result<(), Rejection> {
    if *current != from {
        let trigger = Trigger::CapabilityEntryChanged;
        return Err(Rejection::PinDiffers { pin, trigger });
    }
    *current = to;
    Ok(())
}
