//! `invalidate`: something that bindings rest on does not hold any more, and they end.
//!
//! Rule (G16, I6): in one record, before anything else starts; calls that run under them are
//! marked and ended. What is not hit stays callable.

use bindery_ledger::event::{BindingMoved, CapabilityObserved, EvidenceRecorded};
use bindery_ledger::words::{EvidenceKind, Lifecycle, Operation, Trigger};
use bindery_ledger::{Binding, CapabilityKey, Entry, Summary};
use bindery_policy::Stage;
use bindery_types::{
    BindingHandle, CapabilityId, ErrorType, EvidenceId, ExecutionState, Refusal, canonical_digest,
};
use serde_json::{Value, json};

use crate::Host;
use crate::clock::random;
use crate::governor::{Governor, Told};

/// What somebody outside the host found that ends bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Two observations contradict each other.
    EvidenceContradictory,
    /// A call behaved otherwise than the evidence says.
    SemanticDrift,
    /// A call had an effect that nobody expected.
    UnexpectedSideEffect,
    /// Something that a helper depends on ended.
    DependencyInvalidated,
    /// Its provider is gone.
    ProviderGone,
}

impl Finding {
    /// Every finding.
    pub const ALL: &'static [Finding] = &[
        Self::EvidenceContradictory,
        Self::SemanticDrift,
        Self::UnexpectedSideEffect,
        Self::DependencyInvalidated,
        Self::ProviderGone,
    ];

    /// The trigger that it is, and what bindings become.
    pub fn ends(self) -> (Lifecycle, Trigger) {
        match self {
            Self::EvidenceContradictory => (Lifecycle::Stale, Trigger::EvidenceContradictory),
            Self::SemanticDrift => (Lifecycle::Stale, Trigger::SemanticDrift),
            Self::UnexpectedSideEffect => (Lifecycle::Stale, Trigger::UnexpectedSideEffect),
            Self::DependencyInvalidated => (Lifecycle::Stale, Trigger::DependencyInvalidated),
            Self::ProviderGone => (Lifecycle::Unavailable, Trigger::ProviderGone),
        }
    }
}

impl std::str::FromStr for Finding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut all = Self::ALL.iter().copied();
        all.find(|finding| finding.ends().1.as_str() == text)
            .ok_or_else(|| {
                let names = Self::ALL.iter().map(|finding| finding.ends().1.as_str());
                let names: Vec<&str> = names.collect();
                format!("`{text}` is none of {}", names.join(", "))
            })
    }
}

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Every binding of a capability.
    Capability(CapabilityId),
    /// One binding, and what was narrowed from it.
    Binding(BindingHandle),
}

impl Host {
    /// Records a finding with what it rests on, and ends every binding that it hits; gives
    /// how many were hit.
    ///
    /// # Errors
    ///
    /// `stage_disabled` while stage 7 is off, `handle_invalid` for a subject that the ledger
    /// does not know, `usage` for evidence that says nothing, `store_unavailable` when it cannot be recorded.
    pub async fn invalidate(
        &self,
        finding: Finding,
        subject: &Subject,
        evidence: &str,
    ) -> Result<usize, Refusal> {
        if evidence.trim().is_empty() {
            let text = "say what the finding rests on";
            return Err(Refusal::new(ErrorType::Usage, text));
        }
        // what a stage that is off would do is refused; changes of the catalogue and of
        // policy end bindings all the same, because less would be more authority.
        self.stages().require(Stage::Invalidation)?;
        let governor = &self.governor;
        let key = governor.subject(subject)?;
        let told = governor.own(Operation::Invalidate, evidence);
        let seen = json!({ "finding": finding.ends().1, "evidence": evidence });
        let observed = governor.observed(&key, EvidenceKind::Observed, &seen)?;
        let mut batch = vec![governor.entry(&told, observed)];
        let hit = |handle: &BindingHandle, binding: &Binding| match subject {
            Subject::Capability(id) => binding.pins.capability.id == *id,
            Subject::Binding(one) => handle == one,
        };
        let ends = governor.ends(hit, finding.ends(), &told);
        let count = ends.len();
        batch.extend(ends);
        if finding == Finding::ProviderGone {
            batch.extend(governor.gone(&key, &told));
        }
        governor
            .record(batch)
            .await
            .map_err(|error| error.refusal())?;
        governor.stop_overtaken().await;
        Ok(count)
    }
}

impl Governor {
    /// The build that a finding is about: the one that is bound, or the one that is in the
    /// catalogue.
    fn subject(&self, subject: &Subject) -> Result<CapabilityKey, Refusal> {
        let current = self.read();
        let found = self.look(|state| match subject {
            Subject::Binding(handle) => state
                .binding(*handle)
                .map(|binding| binding.pins.capability.clone()),
            Subject::Capability(id) => {
                let row = current.catalogue.get(id)?;
                let key = crate::facts::key_of(row);
                state.capability(&key).map(|_| key)
            }
        });
        let what = match subject {
            Subject::Binding(_) => "no such binding",
            Subject::Capability(_) => "no such capability",
        };
        found
            .flatten()
            .ok_or_else(|| Refusal::new(ErrorType::HandleInvalid, what))
    }

    pub(crate) fn observed(
        &self,
        key: &CapabilityKey,
        kind: EvidenceKind,
        seen: &Value,
    ) -> Result<EvidenceRecorded, Refusal> {
        let verdict = Summary::new(seen.clone()).map_err(|error| {
            let text = "the evidence is too large to be recorded";
            Refusal::new(ErrorType::Usage, text).for_operator(error.to_string())
        })?;
        Ok(EvidenceRecorded {
            evidence: EvidenceId::from_random(random()?),
            capability: key.clone(),
            kind,
            digest: canonical_digest(seen),
            verdict,
            confidence_permille: None,
            fresh_until: self.clock.now().after_ms(crate::admit::OBSERVED_FOR_MS),
        })
    }

    /// What was looked at and is not there: until it is admitted again nothing of it is
    /// bound.
    fn gone(&self, key: &CapabilityKey, told: &Told<'_>) -> Option<Entry> {
        let now = self.clock.now();
        let seen = self.look(|state| {
            let environment = state.environment()?;
            let known = state.capability(key)?.description.as_ref()?;
            Some(CapabilityObserved {
                capability: key.clone(),
                descriptor_digest: known.descriptor_digest,
                execution_state: ExecutionState::ContractOnly,
                environment_generation: environment.generation,
                catalog_version: environment.catalog_version,
                last_observed_at: now,
                expires_at: now.after_ms(crate::admit::OBSERVED_FOR_MS),
            })
        });
        seen.flatten().map(|seen| self.entry(told, seen))
    }

    /// The records that end every live binding that is hit; what was narrowed from one ends
    /// with it.
    pub(crate) fn ends(
        &self,
        hit: impl Fn(&BindingHandle, &Binding) -> bool,
        (to, trigger): (Lifecycle, Trigger),
        told: &Told<'_>,
    ) -> Vec<Entry> {
        let found = self.look(|state| {
            let live = |handle: &BindingHandle, binding: &Binding| {
                binding.ended.is_none() && hit(handle, binding)
            };
            let under = |binding: &Binding| {
                let mut above = binding.parent;
                while let Some((handle, parent)) =
                    above.and_then(|handle| Some((handle, state.binding(handle)?)))
                {
                    if live(&handle, parent) {
                        return true;
                    }
                    above = parent.parent;
                }
                false
            };
            let all = state.bindings();
            all.filter(|(handle, binding)| live(handle, binding) && !under(binding))
                .map(|(handle, binding)| (*handle, binding.session))
                .collect::<Vec<_>>()
        });
        let moved = |(binding, session)| {
            let told = Told {
                session: Some(session),
                ..*told
            };
            let event = BindingMoved {
                binding,
                to,
                trigger,
            };
            self.entry(&told, event)
        };
        found.unwrap_or_default().into_iter().map(moved).collect()
    }
}
