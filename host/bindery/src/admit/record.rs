//! What an admission records, in an order in which each record may follow the last.
//!
//! Rule (R-360 … ): an entry is discovered, described, examined and moved
//! as far as the examination says; one that is known is observed; one that is described
//! anew is examined anew.

use std::collections::{BTreeMap, BTreeSet};

use bindery_catalogue::{Catalogue, Entry as Row, Verdict};
use bindery_ledger::event::{
    CapabilityDescribed, CapabilityDiscovered, CapabilityMoved, CapabilityObserved,
    CapabilityRevalidated, CatalogueChanged, EvidenceRecorded, GenerationRaised, PolicyReplaced,
    Standing,
};
use bindery_ledger::words::{CatalogueInput, EvidenceKind, Lifecycle, RaisedBy};
use bindery_ledger::{CapabilityKey, Entry, Line, State, Summary};
use bindery_policy::{Policy, classify};
use bindery_types::{
    CapabilityId, Digest, ErrorType, EvidenceId, Provider, Refusal, ValidationStatus,
    canonical_digest,
};
use serde_json::json;

use super::{OBSERVED_FOR_MS, Plan, authentication, granted};
use crate::clock::random;
use crate::facts::{declared, key_of};
use crate::governor::{Governor, Told};
use crate::held::Powers;

/// What the ledger has of an entry.
struct Known {
    descriptor: Option<Digest>,
    lifecycle: Lifecycle,
    /// Whether it stands there for what an examination found, and not for what a probe, a
    /// call or a person did.
    examined: bool,
    /// Whether it is of the version that is left now.
    current: bool,
    generation: u64,
}

impl Known {
    /// Whether what is recorded does not stand any more: another descriptor, or rules under
    /// which an examination rejects it. What a review made of it stays.
    fn differs(&self, row: &Row, verdict: &Verdict) -> bool {
        self.descriptor != Some(row.descriptor.digest())
            || verdict.status == ValidationStatus::Rejected
    }
}

impl Plan {
    /// The records of this admission, in an order in which each may follow the last.
    pub(crate) fn entries(&self, governor: &Governor) -> Result<Vec<Entry>, Refusal> {
        let told = governor.own(self.cause.operation, self.cause.reason);
        let mut batch = Vec::new();
        let raised = governor.raised(|providers| {
            let rows = self.rows.iter();
            let new = rows.map(|(row, ..)| row.descriptor.origin().provider.clone());
            providers.extend(new);
        });
        let raised_to = raised.as_ref().map(|raised| raised.to);
        batch.extend(raised.map(|raised| governor.entry(&told, raised)));
        if self.policy.version() != self.policy_before {
            let replaced = PolicyReplaced {
                from: self.policy_before,
                to: self.policy.version(),
            };
            batch.push(governor.entry(&told, replaced));
        }
        if self.after != self.before {
            let changed = CatalogueChanged {
                session: None,
                from: self.before,
                to: self.after,
                inputs: vec![CatalogueInput::Descriptors, CatalogueInput::SchemaHashes],
                standing: self.standing(governor),
            };
            batch.push(governor.entry(&told, changed));
        }
        let known = governor.look(|state| self.known(state, raised_to));
        let known = known.unwrap_or_default();
        let own = self.rows.iter().map(|part| (part.0.descriptor.id(), part));
        let own: BTreeMap<&CapabilityId, _> = own.collect();
        for row in self.catalogue.entries() {
            let mine = own.get(row.descriptor.id()).copied();
            let key = key_of(row);
            match (mine, known.get(&key)) {
                (Some((row, verdict, powers)), None) => {
                    let parts = (row, verdict, &**powers);
                    self.introduce(governor, parts, raised_to, &mut batch)?;
                }
                (Some((row, verdict, powers)), Some(known))
                    if known.lifecycle == Lifecycle::Rejected
                        && known.examined
                        && verdict.status != ValidationStatus::Rejected =>
                {
                    let parts = (row, verdict, &**powers);
                    self.introduce(governor, parts, raised_to, &mut batch)?;
                }
                (Some((row, verdict, powers)), Some(known))
                    if known.lifecycle != Lifecycle::Rejected && known.differs(row, verdict) =>
                {
                    let parts = (row, verdict, &**powers);
                    self.revalidate(governor, parts, known.generation, &mut batch)?;
                }
                (Some((_, verdict, _)), Some(known)) => {
                    // who examines it again has looked at it again.
                    let evidence = EvidenceId::from_random(random()?);
                    let seen = examined(governor, &key, verdict, evidence);
                    batch.push(governor.entry(&told, seen));
                    let seen = observed(governor, row, known.generation, self.after);
                    batch.push(governor.entry(&told, seen));
                }
                // What stands was said of all of them at once, but for records that an
                // earlier host left.
                (None, Some(known)) if !known.current => {
                    let seen = observed(governor, row, known.generation, self.after);
                    batch.push(governor.entry(&told, seen));
                }
                (None, Some(_)) => {}
                (None, None) => {}
            }
        }
        Ok(batch)
    }

    /// What stands beside the entries that have records of their own; nothing to say when
    /// all of them have.
    fn standing(&self, governor: &Governor) -> Option<Standing> {
        let own: BTreeSet<CapabilityKey> = self.rows.iter().map(|(row, ..)| key_of(row)).collect();
        let others = self.catalogue.entries().count() > own.len();
        let told = || governor.still_there(&self.catalogue, self.before, |key| own.contains(key));
        others.then(told).flatten()
    }

    /// Which entries the ledger has a record of.
    fn known(&self, state: &State, raised_to: Option<u64>) -> BTreeMap<CapabilityKey, Known> {
        let now = state
            .environment()
            .map_or(0, |environment| environment.generation);
        let generation = raised_to.unwrap_or(now);
        let rows = self.catalogue.entries().map(key_of);
        rows.filter_map(|key| {
            let capability = state.capability(&key)?;
            let description = capability.description.as_ref();
            let last = capability.evidence_refs.last();
            let last = last.and_then(|last| state.evidence(*last));
            let known = Known {
                examined: last.is_some_and(|last| last.kind == EvidenceKind::Reflected),
                descriptor: description.map(|description| description.descriptor_digest),
                lifecycle: capability.lifecycle,
                current: capability.catalog_version == self.before,
                generation,
            };
            Some((key, known))
        })
        .collect()
    }

    /// The same bytes under another contract, or under rules that make something else of
    /// them: described and examined anew; what was bound under the old descriptor
    /// is stale.
    fn revalidate(
        &self,
        governor: &Governor,
        (row, verdict, powers): (&Row, &Verdict, &Powers),
        generation: u64,
        batch: &mut Vec<Entry>,
    ) -> Result<(), Refusal> {
        let key = key_of(row);
        let told = Told {
            provider: &row.descriptor.origin().provider,
            ..governor.own(self.cause.operation, self.cause.reason)
        };
        let evidence = EvidenceId::from_random(random()?);
        batch.push(governor.entry(&told, examined(governor, &key, verdict, evidence)));
        let now = governor.clock.now();
        batch.push(governor.entry(
            &told,
            CapabilityRevalidated {
                capability: key.clone(),
                from: Lifecycle::Stale,
                trigger: self.cause.trigger,
                evidence: vec![evidence],
                described: Some(described(&self.policy, &self.names, row, powers)),
                environment_generation: generation,
                catalog_version: self.after,
                last_observed_at: now,
                expires_at: now.after_ms(OBSERVED_FOR_MS),
            },
        ));
        // Revalidation itself is the first step of the path.
        self.walk(
            governor,
            &told,
            (&key, evidence),
            path(verdict.status).get(1..),
            batch,
        );
        Ok(())
    }

    fn walk(
        &self,
        governor: &Governor,
        told: &Told<'_>,
        (key, evidence): (&CapabilityKey, EvidenceId),
        steps: Option<&[(Lifecycle, Lifecycle)]>,
        batch: &mut Vec<Entry>,
    ) {
        for (from, to) in steps.unwrap_or_default() {
            batch.push(governor.entry(
                told,
                CapabilityMoved {
                    capability: key.clone(),
                    from: *from,
                    to: *to,
                    evidence: vec![evidence],
                    catalog_version: self.after,
                    policy_version: self.policy.version(),
                },
            ));
        }
    }

    /// Discovered, described, examined, and moved as far as the examination says.
    fn introduce(
        &self,
        governor: &Governor,
        (row, verdict, powers): (&Row, &Verdict, &Powers),
        raised_to: Option<u64>,
        batch: &mut Vec<Entry>,
    ) -> Result<(), Refusal> {
        let descriptor = &row.descriptor;
        let (key, origin) = (key_of(row), descriptor.origin());
        let told = Told {
            provider: &origin.provider,
            ..governor.own(self.cause.operation, self.cause.reason)
        };
        let place = governor.look(|state| {
            let environment = state.environment()?;
            Some((environment.id.clone(), environment.generation))
        });
        let (environment, generation) = place.flatten().ok_or_else(|| {
            Refusal::new(
                ErrorType::EnvironmentUnavailable,
                "no environment is admitted",
            )
        })?;
        let now = governor.clock.now();
        batch.push(governor.entry(
            &told,
            CapabilityDiscovered {
                capability: key.clone(),
                environment,
                environment_generation: raised_to.unwrap_or(generation),
                catalog_version: self.after,
                source: origin.kind,
                origin_ref: Line::cut(&origin.descriptor_ref),
                provider: origin.provider.clone(),
                family: origin.family,
                last_observed_at: now,
                expires_at: now.after_ms(OBSERVED_FOR_MS),
            },
        ));
        batch.push(governor.entry(&told, described(&self.policy, &self.names, row, powers)));
        let evidence = EvidenceId::from_random(random()?);
        batch.push(governor.entry(&told, examined(governor, &key, verdict, evidence)));
        let steps = Some(path(verdict.status));
        self.walk(governor, &told, (&key, evidence), steps, batch);
        Ok(())
    }
}

fn observed(
    governor: &Governor,
    row: &Row,
    generation: u64,
    version: Digest,
) -> CapabilityObserved {
    let now = governor.clock.now();
    CapabilityObserved {
        capability: key_of(row),
        descriptor_digest: row.descriptor.digest(),
        execution_state: row.execution_state,
        environment_generation: generation,
        catalog_version: version,
        last_observed_at: now,
        expires_at: now.after_ms(OBSERVED_FOR_MS),
    }
}

impl Governor {
    /// C-09: another set of providers is another generation; nothing when `change` leaves
    /// the set as it is.
    pub(crate) fn raised(
        &self,
        change: impl FnOnce(&mut BTreeSet<Provider>),
    ) -> Option<GenerationRaised> {
        let environment = self.look(|state| state.environment().cloned()).flatten()?;
        let before: BTreeSet<Provider> = environment.providers.iter().cloned().collect();
        let mut after = before.clone();
        change(&mut after);
        (after != before).then(|| GenerationRaised {
            from: environment.generation,
            to: environment.generation.saturating_add(1),
            raised_by: RaisedBy::ProviderSet,
            tenant: environment.tenant,
            providers: after.into_iter().collect(),
            expires_at: environment.expires_at,
        })
    }

    /// What is in `catalogue` as it was at the version `before`, but for what is said
    /// `elsewhere`; nothing to say when the ledger shows nothing.
    pub(crate) fn still_there(
        &self,
        catalogue: &Catalogue,
        before: Digest,
        elsewhere: impl Fn(&CapabilityKey) -> bool,
    ) -> Option<Standing> {
        let there: BTreeSet<CapabilityKey> = catalogue.entries().map(key_of).collect();
        let now = self.clock.now();
        self.look(|state| {
            let gone = state.capabilities().filter(|(key, known)| {
                let stands = there.contains(*key) && !elsewhere(key);
                known.catalog_version == before && !stands
            });
            Standing {
                except: gone.map(|(key, _)| key.clone()).collect(),
                last_observed_at: now,
                expires_at: now.after_ms(OBSERVED_FOR_MS),
            }
        })
    }
}

fn path(status: ValidationStatus) -> &'static [(Lifecycle, Lifecycle)] {
    use Lifecycle::{Bindable, Described, Rejected, StructurallyValid};
    match status {
        ValidationStatus::Candidate => &[],
        ValidationStatus::StructurallyValid | ValidationStatus::Probed => {
            &[(Described, StructurallyValid)]
        }
        ValidationStatus::Bindable => &[
            (Described, StructurallyValid),
            (StructurallyValid, Bindable),
        ],
        ValidationStatus::Rejected => &[
            (Described, StructurallyValid),
            (StructurallyValid, Rejected),
        ],
    }
}

/// What was seen of an entry, as evidence.
fn examined(
    governor: &Governor,
    key: &CapabilityKey,
    verdict: &Verdict,
    evidence: EvidenceId,
) -> EvidenceRecorded {
    let seen = serde_json::to_value(verdict).unwrap_or_default();
    EvidenceRecorded {
        evidence,
        capability: key.clone(),
        kind: EvidenceKind::Reflected,
        digest: canonical_digest(&seen),
        verdict: Summary::new(brief(verdict)).unwrap_or_default(),
        confidence_permille: None,
        fresh_until: governor.clock.now().after_ms(OBSERVED_FOR_MS),
    }
}

fn brief(verdict: &Verdict) -> serde_json::Value {
    let layers = verdict.layers.iter();
    let layers = layers.map(|layer| json!({ "layer": layer.name, "result": layer.result }));
    json!({ "status": verdict.status, "layers": layers.collect::<Vec<_>>() })
}

fn described(
    policy: &Policy,
    names: &std::collections::BTreeMap<CapabilityId, String>,
    row: &Row,
    powers: &Powers,
) -> CapabilityDescribed {
    let descriptor = &row.descriptor;
    let id = descriptor.id();
    let (class, resources) = granted(policy, names.get(id), id);
    let (input_schema_ref, output_schema_ref) = descriptor.schema_refs();
    // C-57: while no grant feeds it, its risk is what its imports make possible.
    let fed = if resources.is_empty() {
        powers.possible
    } else {
        class
    };
    let risk = classify(declared(descriptor.contract()), fed, policy.raised_risk(id)).risk;
    CapabilityDescribed {
        capability: key_of(row),
        descriptor_digest: descriptor.digest(),
        implementation_version: Line::cut(descriptor.implementation_version().unwrap_or("none")),
        input_schema_ref,
        output_schema_ref,
        dependencies: Vec::new(),
        execution_state: row.execution_state,
        risk_class: risk,
        risk_possible: powers.possible.least_risk().max(fed.least_risk()),
        side_effect_class: class,
        authentication_requirements: authentication(policy, row, &resources)
            .iter()
            .map(|name| Line::cut(name))
            .collect(),
        resource_scope: Summary::new(json!({ "grants": resources })).unwrap_or_default(),
        trust_status: row.trust,
    }
}
