//! Capabilities: discovered, described, moved, observed, revalidated, reviewed.

use bindery_types::{Digest, EvidenceId, ExecutionState, Moment, SideEffectClass, TrustStatus};

use super::At;
use crate::event::{
    CapabilityDescribed, CapabilityDiscovered, CapabilityMoved, CapabilityObserved,
    CapabilityRevalidated, CapabilityReviewed, EvidenceRecorded,
};
use crate::key::CapabilityKey;
use crate::rejection::Rejection;
use crate::state::{Capability, Description, Evidence, State};
use crate::words::{EvidenceKind, Lifecycle, Trigger};

impl State {
    pub(super) fn capability_discovered(
        &mut self,
        at: &At<'_>,
        event: &CapabilityDiscovered,
    ) -> Result<(), Rejection> {
        let environment = self.live_environment(at.now)?;
        if environment.id != event.environment {
            return Err(Rejection::Unknown {
                what: "environment",
            });
        }
        self.check_current(event.environment_generation, event.catalog_version)?;
        check_times(at.now, event.last_observed_at, event.expires_at)?;
        // What was rejected stays so: whoever looks at the same bytes again, under other
        // rules, begins another record in its place.
        let known = self.capabilities.get(&event.capability);
        if known.is_some_and(|known| known.lifecycle != Lifecycle::Rejected) {
            return Err(Rejection::Duplicate { what: "capability" });
        }
        let capability = Capability {
            environment: event.environment.clone(),
            environment_generation: event.environment_generation,
            catalog_version: event.catalog_version,
            source: event.source,
            origin_ref: event.origin_ref.clone(),
            provider: event.provider.clone(),
            family: event.family,
            trust_status: TrustStatus::Untrusted,
            reviewed: false,
            lifecycle: Lifecycle::Discovered,
            description: None,
            evidence_refs: Vec::new(),
            last_observed_at: event.last_observed_at,
            expires_at: event.expires_at,
            changed_by: at.sequence,
        };
        self.capabilities
            .insert(event.capability.clone(), capability);
        Ok(())
    }

    pub(super) fn capability_described(
        &mut self,
        at: &At<'_>,
        event: &CapabilityDescribed,
    ) -> Result<(), Rejection> {
        let capability = self.known(&event.capability)?;
        capability.lifecycle.check(Lifecycle::Described)?;
        let capability = self.known_mut(&event.capability)?;
        capability.lifecycle = Lifecycle::Described;
        describe(capability, event);
        capability.changed_by = at.sequence;
        Ok(())
    }

    pub(super) fn capability_moved(
        &mut self,
        at: &At<'_>,
        event: &CapabilityMoved,
    ) -> Result<(), Rejection> {
        let capability = self.known(&event.capability)?;
        if capability.lifecycle != event.from {
            return Err(Rejection::Transition {
                from: capability.lifecycle,
                to: event.to,
            });
        }
        event.from.check(event.to)?;
        if self.policy_version() != Some(event.policy_version) {
            return Err(Rejection::PinDiffers {
                pin: "policy version",
                trigger: Trigger::PolicyVersionChanged,
            });
        }
        self.check_current(capability.environment_generation, event.catalog_version)?;
        self.check_grounds(&event.capability, capability, event)?;
        self.check_evidence(&event.capability, &event.evidence)?;
        let capability = self.known_mut(&event.capability)?;
        capability.lifecycle = event.to;
        capability.catalog_version = event.catalog_version;
        refer(capability, &event.evidence);
        capability.changed_by = at.sequence;
        Ok(())
    }

    /// What each move needs beside evidence.
    fn check_grounds(
        &self,
        key: &CapabilityKey,
        capability: &Capability,
        event: &CapabilityMoved,
    ) -> Result<(), Rejection> {
        let unknown = capability
            .description
            .as_ref()
            .is_none_or(|d| d.side_effect_class == SideEffectClass::Unknown);
        match event.to {
            Lifecycle::StructurallyValid | Lifecycle::Rejected => Ok(()),
            Lifecycle::Probed if unknown => Err(Rejection::Missing {
                what: "a known side-effect class (nothing else can be probed)",
            }),
            Lifecycle::Probed if !self.has_fixture(&event.evidence) => Err(Rejection::Missing {
                what: "evidence of a probe",
            }),
            Lifecycle::Probed => Ok(()),
            Lifecycle::Bindable if capability.reviewed => Ok(()),
            Lifecycle::Bindable if unknown || key.implementation.is_none() => {
                Err(Rejection::Missing {
                    what: "a review by a person",
                })
            }
            Lifecycle::Bindable
                if event.from == Lifecycle::StructurallyValid
                    && capability.trust_status != TrustStatus::HostVerified =>
            {
                Err(Rejection::Missing {
                    what: "a probe, or trust in digest and contract",
                })
            }
            Lifecycle::Bindable => Ok(()),
            // A record is described by a descriptor, and bound by a binding.
            Lifecycle::Discovered
            | Lifecycle::Described
            | Lifecycle::Bound
            | Lifecycle::Stale
            | Lifecycle::Revoked
            | Lifecycle::Unavailable
            | Lifecycle::Released => Err(Rejection::Transition {
                from: event.from,
                to: event.to,
            }),
        }
    }

    fn has_fixture(&self, evidence: &[EvidenceId]) -> bool {
        let kind = |id| self.evidence.get(id).map(|evidence| evidence.kind);
        evidence
            .iter()
            .any(|id| kind(id) == Some(EvidenceKind::Fixture))
    }

    pub(super) fn capability_observed(
        &mut self,
        at: &At<'_>,
        event: &CapabilityObserved,
    ) -> Result<(), Rejection> {
        let capability = self.known(&event.capability)?;
        self.check_current(event.environment_generation, event.catalog_version)?;
        check_times(at.now, event.last_observed_at, event.expires_at)?;
        let digest = capability.description.as_ref().map(|d| d.descriptor_digest);
        if digest != Some(event.descriptor_digest) {
            return Err(Rejection::PinDiffers {
                pin: "descriptor digest",
                trigger: Trigger::DescriptorDigestChanged,
            });
        }
        let capability = self.known_mut(&event.capability)?;
        if let Some(description) = &mut capability.description {
            description.execution_state = event.execution_state;
        }
        capability.environment_generation = event.environment_generation;
        capability.catalog_version = event.catalog_version;
        capability.last_observed_at = event.last_observed_at;
        capability.expires_at = event.expires_at;
        capability.changed_by = at.sequence;
        Ok(())
    }

    pub(super) fn capability_revalidated(
        &mut self,
        at: &At<'_>,
        event: &CapabilityRevalidated,
    ) -> Result<(), Rejection> {
        event.from.check(Lifecycle::StructurallyValid)?;
        let capability = self.known(&event.capability)?;
        let described = event.described.as_ref();
        let whole = capability.description.is_some() && capability.lifecycle != Lifecycle::Rejected;
        if !whole || described.is_some_and(|d| d.capability != event.capability) {
            return Err(Rejection::Transition {
                from: capability.lifecycle,
                to: Lifecycle::StructurallyValid,
            });
        }
        if !self.is_in(&event.capability, capability, event.from, at.now) {
            return Err(Rejection::Missing {
                what: "a stale or unavailable binding or record of it",
            });
        }
        self.check_current(event.environment_generation, event.catalog_version)?;
        check_times(at.now, event.last_observed_at, event.expires_at)?;
        self.check_evidence(&event.capability, &event.evidence)?;
        let capability = self.known_mut(&event.capability)?;
        if let Some(described) = described {
            describe(capability, described);
        }
        capability.lifecycle = Lifecycle::StructurallyValid;
        capability.environment_generation = event.environment_generation;
        capability.catalog_version = event.catalog_version;
        capability.last_observed_at = event.last_observed_at;
        capability.expires_at = event.expires_at;
        refer(capability, &event.evidence);
        capability.changed_by = at.sequence;
        Ok(())
    }

    /// Whether the capability itself, or a binding of it, is where revalidation starts.
    fn is_in(
        &self,
        key: &CapabilityKey,
        capability: &Capability,
        from: Lifecycle,
        now: Moment,
    ) -> bool {
        let of_record = match from {
            Lifecycle::Stale => !self.is_current(capability, now),
            Lifecycle::Unavailable => capability
                .description
                .as_ref()
                .is_some_and(|d| d.execution_state != ExecutionState::Available),
            Lifecycle::Discovered
            | Lifecycle::Described
            | Lifecycle::StructurallyValid
            | Lifecycle::Probed
            | Lifecycle::Bindable
            | Lifecycle::Rejected
            | Lifecycle::Bound
            | Lifecycle::Revoked
            | Lifecycle::Released => false,
        };
        let mut bindings = self.bindings.values();
        of_record || bindings.any(|b| b.pins.capability == *key && b.lifecycle() == from)
    }

    pub(super) fn capability_reviewed(
        &mut self,
        at: &At<'_>,
        event: &CapabilityReviewed,
    ) -> Result<(), Rejection> {
        self.known(&event.capability)?;
        self.check_evidence(&event.capability, &event.evidence)?;
        let capability = self.known_mut(&event.capability)?;
        capability.trust_status = event.trust_status;
        capability.reviewed = true;
        refer(capability, &event.evidence);
        capability.changed_by = at.sequence;
        Ok(())
    }

    /// evidence is kept beside the record and changes no status, whatever its
    /// confidence.
    pub(super) fn evidence_recorded(
        &mut self,
        at: &At<'_>,
        event: &EvidenceRecorded,
    ) -> Result<(), Rejection> {
        self.known(&event.capability)?;
        if self.evidence.contains_key(&event.evidence) {
            return Err(Rejection::Duplicate { what: "evidence" });
        }
        if event.confidence_permille.is_some_and(|c| c > 1_000) {
            return Err(Rejection::Malformed {
                what: "a confidence is at most 1000 thousandths",
            });
        }
        let evidence = Evidence {
            capability: event.capability.clone(),
            kind: event.kind,
            digest: event.digest,
            verdict: event.verdict.clone(),
            confidence_permille: event.confidence_permille,
            fresh_until: event.fresh_until,
            recorded_by: at.sequence,
        };
        self.evidence.insert(event.evidence, evidence);
        Ok(())
    }

    pub(crate) fn known(&self, key: &CapabilityKey) -> Result<&Capability, Rejection> {
        self.capabilities
            .get(key)
            .ok_or(Rejection::Unknown { what: "capability" })
    }

    fn known_mut(&mut self, key: &CapabilityKey) -> Result<&mut Capability, Rejection> {
        self.capabilities
            .get_mut(key)
            .ok_or(Rejection::Unknown { what: "capability" })
    }

    /// evidence exists, and is about this.
    fn check_evidence(
        &self,
        key: &CapabilityKey,
        evidence: &[EvidenceId],
    ) -> Result<(), Rejection> {
        if evidence.is_empty() {
            return Err(Rejection::Missing { what: "evidence" });
        }
        let found = |id| self.evidence.get(id).is_some_and(|e| e.capability == *key);
        if evidence.iter().all(found) {
            return Ok(());
        }
        Err(Rejection::Unknown { what: "evidence" })
    }

    fn check_current(&self, generation: u64, catalog_version: Digest) -> Result<(), Rejection> {
        let environment = self.environment.as_ref().ok_or(Rejection::NoEnvironment)?;
        if environment.generation != generation {
            return Err(Rejection::PinDiffers {
                pin: "environment generation",
                trigger: Trigger::EnvironmentGenerationExpired,
            });
        }
        if environment.catalog_version != catalog_version {
            return Err(Rejection::PinDiffers {
                pin: "catalogue version",
                trigger: Trigger::CapabilityEntryChanged,
            });
        }
        Ok(())
    }

    /// whether a record speaks of what is there now.
    pub fn is_current(&self, capability: &Capability, now: Moment) -> bool {
        let current = self.check_current(
            capability.environment_generation,
            capability.catalog_version,
        );
        current.is_ok() && now < capability.expires_at
    }
}

fn describe(capability: &mut Capability, event: &CapabilityDescribed) {
    capability.trust_status = event.trust_status;
    capability.description = Some(Description {
        descriptor_digest: event.descriptor_digest,
        implementation_version: event.implementation_version.clone(),
        input_schema_ref: event.input_schema_ref,
        output_schema_ref: event.output_schema_ref,
        dependencies: event.dependencies.clone(),
        execution_state: event.execution_state,
        risk_class: event.risk_class,
        risk_possible: event.risk_possible,
        side_effect_class: event.side_effect_class,
        resource_scope: event.resource_scope.clone(),
        authentication_requirements: event.authentication_requirements.clone(),
    });
}

fn refer(capability: &mut Capability, evidence: &[EvidenceId]) {
    for id in evidence {
        if !capability.evidence_refs.contains(id) {
            capability.evidence_refs.push(*id);
        }
    }
}

///
pub(super) fn check_times(now: Moment, observed: Moment, expires: Moment) -> Result<(), Rejection> {
    if observed > now || expires <= observed {
        return Err(Rejection::Malformed {
            what: "an observation is not in the future, and expires after it",
        });
    }
    Ok(())
}
