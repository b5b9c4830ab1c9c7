//! `review`: a person looked at a capability and says who vouches for it.
//!
//! Rule (R-327, R-373, C-58): the operator's verb, with what was looked at. What was waiting
//! for a review becomes bindable; what loses its trust loses its bindings.

use bindery_ledger::event::{CapabilityMoved, CapabilityReviewed};
use bindery_ledger::words::{EvidenceKind, Lifecycle, Operation, Trigger};
use bindery_types::{CapabilityId, ErrorType, Refusal, TrustStatus, ValidationStatus};
use serde_json::json;

use crate::Host;
use crate::facts::key_of;
use crate::governor::Told;

impl Host {
    /// Records a review of `capability`: from now on `trust` stands behind it.
    ///
    /// # Errors
    ///
    /// `capability_unavailable` when there is no such entry, `usage` without evidence,
    /// `store_unavailable` when it cannot be recorded.
    pub async fn review(
        &self,
        capability: &CapabilityId,
        trust: TrustStatus,
        evidence: &str,
    ) -> Result<(), Refusal> {
        if evidence.trim().is_empty() {
            return Err(Refusal::new(ErrorType::Usage, "say what was looked at"));
        }
        let governor = &self.governor;
        {
            let _turn = governor.turn().await;
            let found = {
                let current = governor.read();
                let row = current.catalogue.get(capability);
                row.map(|row| (key_of(row), row.descriptor.origin().provider.clone()))
            };
            let (key, provider) = found.ok_or_else(|| {
                let text = "no such capability is in the catalogue";
                Refusal::new(ErrorType::CapabilityUnavailable, text)
            })?;
            let told = Told {
                provider: &provider,
                ..governor.own(Operation::Validate, evidence)
            };
            let seen = json!({ "trust": trust, "review": evidence });
            let looked = governor.observed(&key, EvidenceKind::Review, &seen)?;
            let refs = vec![looked.evidence];
            let mut batch = vec![
                governor.entry(&told, looked),
                governor.entry(
                    &told,
                    CapabilityReviewed {
                        capability: key.clone(),
                        trust_status: trust,
                        evidence: refs.clone(),
                    },
                ),
            ];
            let moved = governor.look(|state| {
                let environment = state.environment()?;
                let from = state.capability(&key)?.lifecycle;
                let waits = matches!(from, Lifecycle::StructurallyValid | Lifecycle::Probed);
                waits.then(|| CapabilityMoved {
                    capability: key.clone(),
                    from,
                    to: Lifecycle::Bindable,
                    evidence: refs,
                    catalog_version: environment.catalog_version,
                    policy_version: environment.policy_version,
                })
            });
            let moved = moved.flatten();
            let bindable = moved.is_some();
            batch.extend(moved.map(|moved| governor.entry(&told, moved)));
            governor
                .record(batch)
                .await
                .map_err(|error| error.refusal())?;
            let mut current = governor.write();
            current.catalogue.set_trust(capability, trust);
            if bindable {
                let status = ValidationStatus::Bindable;
                current.catalogue.set_validation(capability, status);
            }
        }
        governor.look_again(Trigger::CapabilityEntryChanged).await?;
        governor.stop_overtaken().await;
        Ok(())
    }
}
