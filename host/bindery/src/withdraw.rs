//! `withdraw`: a component leaves the catalogue.
//!
//! Rule: the operator's verb. Whatever it implemented is no entry any more; what
//! was bound to it cannot be verified, and ends. Nothing else is put in its place.

use std::collections::BTreeSet;

use bindery_ledger::event::{CatalogueChanged, PolicyReplaced};
use bindery_ledger::words::{CatalogueInput, Operation, Trigger};
use bindery_types::{CapabilityId, Digest, ErrorType, Refusal};

use crate::Host;
use crate::governor::{compiled, known_names, names_of, version_of};

impl Host {
    /// Takes every entry of the component `implementation` out of the catalogue; gives
    /// their ids.
    ///
    /// # Errors
    ///
    /// `capability_unavailable` when there is no such component, `store_unavailable` when it
    /// cannot be recorded. Nothing is then taken out.
    pub async fn withdraw(
        &self,
        implementation: Digest,
        reason: &str,
    ) -> Result<Vec<CapabilityId>, Refusal> {
        let governor = &self.governor;
        let ids = {
            let _turn = governor.turn().await;
            let (catalogue, policy, ids, batch) = {
                let current = governor.read();
                let rows = current.catalogue.entries();
                let own = rows
                    .filter(|row| row.descriptor.implementation_digest() == implementation)
                    .map(|row| row.descriptor.id().clone());
                let ids: Vec<CapabilityId> = own.collect();
                if ids.is_empty() {
                    let text = "no such component is in the catalogue";
                    return Err(Refusal::new(ErrorType::CapabilityUnavailable, text));
                }
                let mut catalogue = current.catalogue.clone();
                for id in &ids {
                    catalogue.remove(id);
                }
                let names = known_names(&names_of(&catalogue, &current.policy));
                let policy = compiled(&current.document, &names)?;
                let told = governor.own(Operation::Admit, reason);
                let (from, to) = (current.policy.version(), policy.version());
                let replaced = (from != to).then_some(PolicyReplaced { from, to });
                let changed = CatalogueChanged {
                    session: None,
                    from: current.version(),
                    to: version_of(&catalogue, &policy),
                    inputs: vec![CatalogueInput::Descriptors, CatalogueInput::SchemaHashes],
                    standing: governor.still_there(&catalogue, current.version(), |_| false),
                };
                let rows = catalogue.entries();
                let left = rows.map(|row| row.descriptor.origin().provider.clone());
                let left: BTreeSet<_> = left.chain([governor.own.clone()]).collect();
                let raised = governor.raised(|providers| {
                    let of = current
                        .catalogue
                        .entries()
                        .filter(|row| ids.contains(row.descriptor.id()));
                    for provider in of.map(|row| &row.descriptor.origin().provider) {
                        if !left.contains(provider) {
                            providers.remove(provider);
                        }
                    }
                });
                let raised = raised.map(|raised| governor.entry(&told, raised));
                let mut batch: Vec<_> = raised.into_iter().collect();
                let replaced = replaced
                    .into_iter()
                    .map(|event| governor.entry(&told, event));
                batch.extend(replaced);
                batch.push(governor.entry(&told, changed));
                (catalogue, policy, ids, batch)
            };
            governor
                .record(batch)
                .await
                .map_err(|error| error.refusal())?;
            let mut current = governor.write();
            current.catalogue = catalogue;
            current.policy = std::sync::Arc::new(policy);
            current.loaded.remove(&implementation);
            current.powers.retain(|id, _| !ids.contains(id));
            ids
        };
        governor.look_again(Trigger::CapabilityEntryChanged).await?;
        governor.stop_overtaken().await;
        Ok(ids)
    }
}
