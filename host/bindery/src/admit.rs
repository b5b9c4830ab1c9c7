//! `admit`: bytes become entries: inspected, described, validated, recorded. Callable by
//! nobody yet.
//!
//! Rule (R-039, R-070, R-375): an operator's verb. All entries of a component come in
//! together or none does; what changed ends the bindings of the old one and moves nothing
//! to the new (R-514).

mod record;

use std::sync::Arc;

use bindery_catalogue::{
    Catalogue, Classification, Contract, Descriptor, Entry as Row, EntryKind, Origin, Surroundings,
    Verdict, validate,
};
use bindery_ledger::words::{Operation, Trigger};
use bindery_policy::{Policy, Registration, class_of, classify, graver};
use bindery_sandbox::LoadedComponent;
use bindery_types::{
    CapabilityId, Digest, ErrorType, ExecutionState, Moment, Namespace, Provider, ProviderFamily,
    Refusal, Shape, SideEffectClass, SourceKind, TrustStatus, ValidationStatus,
};
use serde::Serialize;

use crate::Host;
use crate::facts::{declared, key_of};
use crate::governor::{Current, Governor, compiled, known_names, names_of, version_of};
use crate::held::Powers;

/// How long an observation of a component counts before it is looked at again.
pub(crate) const OBSERVED_FOR_MS: u64 = 30 * 24 * 3_600_000;

/// What an operator says of a component that is admitted.
#[derive(Clone, Debug)]
pub struct Admission {
    /// Who publishes it.
    pub namespace: Namespace,
    /// The package in its ids; none for the component's own WIT package.
    pub package: Option<String>,
    /// Where it was taken from: a file name, never a path of the host.
    pub origin: String,
    /// Who vouches for it (C-58).
    pub trust: TrustStatus,
    /// What is declared of all of its functions.
    pub contract: Contract,
    /// Whether sessions find it and ask, or have it from their beginning (C-51).
    pub registration: Registration,
}

impl Admission {
    /// A component that the operator admits: digest and contract are checked by the host,
    /// nothing is declared, and sessions have to ask for it.
    pub fn by_operator(namespace: Namespace, origin: impl Into<String>) -> Self {
        Self {
            namespace,
            package: None,
            origin: origin.into(),
            trust: TrustStatus::HostVerified,
            contract: Contract::default(),
            registration: Registration::LateBound,
        }
    }
}

/// One entry that was taken in.
#[derive(Clone, Debug, Serialize)]
pub struct Admitted {
    /// Its id.
    pub id: CapabilityId,
    /// Its public name among all entries of the host.
    pub name: String,
    /// SHA-256 of the component.
    pub implementation_digest: Digest,
    /// SHA-256 of the descriptor.
    pub descriptor_digest: Digest,
    /// What validation found.
    pub verdict: Verdict,
}

impl Host {
    /// Takes a component into the catalogue, one entry a callable function.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// let (host, _, _) = stand().await?;
    /// let admission = bindery::Admission::by_operator("other".parse().expect("a name"), "deep.wasm");
    /// let admitted = host.admit(component(), admission).await?;
    /// assert_eq!(admitted[0].id.namespace(), "other");
    /// assert_eq!(host.catalogue().len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `component_invalid` for bytes that are none; `capability_ambiguous` when an id or an
    /// alias is another provider's; `policy_malformed` when a name in the document became
    /// ambiguous; `store_unavailable` when it cannot be recorded. Nothing is then taken in.
    pub async fn admit(
        &self,
        bytes: impl Into<Arc<[u8]>>,
        admission: Admission,
    ) -> Result<Vec<Admitted>, Refusal> {
        let loaded = self.governor.sandbox.load(bytes).await?;
        let powers = Powers::of(loaded.shape(), admission.registration);
        self.governor.admit(loaded, powers, &admission).await
    }
}

impl Governor {
    /// Takes in a component that is loaded already.
    pub(crate) async fn admit(
        &self,
        loaded: LoadedComponent,
        powers: Powers,
        admission: &Admission,
    ) -> Result<Vec<Admitted>, Refusal> {
        let package = package(admission, loaded.shape())?;
        // One admission at a time: ids, names and versions are of the whole.
        let _turn = self.turn().await;
        let plan = Plan::of(self, admission, &package, (&loaded, powers))?;
        let batch = plan.entries(self)?;
        self.record(batch).await.map_err(|error| error.refusal())?;
        let admitted = plan.admitted(loaded.digest());
        plan.take_effect(self, Some(loaded));
        self.look_again(Trigger::CapabilityEntryChanged).await?;
        Ok(admitted)
    }
}

impl Host {
    /// Every entry, as an operator sees it.
    pub fn catalogue(&self) -> Vec<Row> {
        self.governor.read().catalogue.entries().cloned().collect()
    }

    /// The public name of every entry (C-49).
    pub fn names(&self) -> std::collections::BTreeMap<CapabilityId, String> {
        self.governor.read().names()
    }
}

/// The package of the ids: what was said, else the one WIT package that the exports are of.
fn package(admission: &Admission, shape: &Shape) -> Result<String, Refusal> {
    if let Some(package) = &admission.package {
        return Ok(package.clone());
    }
    let interfaces = shape
        .functions
        .iter()
        .filter_map(|function| function.name.interface());
    let own = interfaces
        .map(|interface| interface.package())
        .filter(|package| !package.is_empty());
    let mut packages: Vec<&str> = own
        .filter_map(|package| package.split(':').nth(1))
        .collect();
    packages.sort_unstable();
    packages.dedup();
    if let [one] = packages.as_slice() {
        return Ok((*one).to_owned());
    }
    let stem = admission
        .origin
        .rsplit('/')
        .next()
        .and_then(|file| file.split('.').next());
    stem.filter(|stem| !stem.is_empty())
        .map(str::to_owned)
        .ok_or_else(|| {
            Refusal::new(
                ErrorType::Usage,
                "the component names no package of its own; say which",
            )
        })
}

/// Why entries are examined.
#[derive(Clone, Copy)]
pub(crate) struct Cause {
    operation: Operation,
    reason: &'static str,
    trigger: Trigger,
}

/// A component was brought.
const ADMITTED: Cause = Cause {
    operation: Operation::Admit,
    reason: "a component was admitted",
    trigger: Trigger::DescriptorDigestChanged,
};
/// Whatever was seen of an entry counts for a time.
pub(crate) const LOOKED_AT: Cause = Cause {
    operation: Operation::Expire,
    reason: "what was seen of the catalogue was about to expire",
    trigger: Trigger::EvidenceStale,
};
/// What rules grant decides what an entry may be, so other rules examine it again.
pub(crate) const RULED: Cause = Cause {
    operation: Operation::Configure,
    reason: "the operator replaced the policy",
    trigger: Trigger::PolicyVersionChanged,
};

/// One change of catalogue or policy, worked out whole before anything is changed.
pub(crate) struct Plan {
    cause: Cause,
    catalogue: Catalogue,
    policy: Arc<Policy>,
    rows: Vec<(Row, Verdict, Arc<Powers>)>,
    names: std::collections::BTreeMap<CapabilityId, String>,
    before: Digest,
    after: Digest,
    policy_before: Digest,
}

impl Plan {
    fn of(
        governor: &Governor,
        admission: &Admission,
        package: &str,
        (loaded, powers): (&LoadedComponent, Powers),
    ) -> Result<Self, Refusal> {
        let current = governor.read();
        let shape = loaded.shape();
        let now = governor.clock.now();
        let powers = Arc::new(powers);
        let mut catalogue = current.catalogue.clone();
        let mut ids = Vec::new();
        for function in shape
            .functions
            .iter()
            .filter(|function| function.uncallable.is_none())
        {
            let descriptor = Descriptor::of(
                (&admission.namespace, package),
                shape,
                function,
                admission.contract.clone(),
                origin(admission)?,
            )
            .map_err(|error| Refusal::new(ErrorType::ComponentInvalid, error.to_string()))?;
            ids.push(descriptor.id().clone());
            catalogue.admit(row(descriptor, admission.trust, now))?;
        }
        if ids.is_empty() {
            let message = "the component exports no function that JSON can call";
            return Err(Refusal::new(ErrorType::ComponentInvalid, message));
        }
        let names = names_of(&catalogue, &current.policy);
        let policy = compiled(&current.document, &known_names(&names))?;
        let after = version_of(&catalogue, &policy);
        let rows = ids.iter().filter_map(|id| catalogue.get(id)).cloned();
        let rows = rows.map(|row| {
            let verdict = verdict(&policy, &names, &row, &powers, shape, after);
            (row, verdict, Arc::clone(&powers))
        });
        let mut rows: Vec<_> = rows.collect();
        if policy.version() != current.policy.version() {
            // A name that stands for something now may grant something to others.
            let others = catalogue.entries();
            let others = others.filter(|row| !ids.contains(row.descriptor.id()));
            rows.extend(again(&current, others, (&policy, &names), after));
        }
        Ok(Self {
            cause: ADMITTED,
            rows,
            before: current.version(),
            policy_before: current.policy.version(),
            catalogue,
            policy: Arc::new(policy),
            names,
            after,
        })
    }

    /// The same catalogue under these rules: every entry is examined again.
    pub(crate) fn under(governor: &Governor, policy: Arc<Policy>, cause: Cause) -> Self {
        let current = governor.read();
        let mut catalogue = current.catalogue.clone();
        let now = governor.clock.now();
        for row in current.catalogue.entries() {
            catalogue.observe(row.descriptor.id(), now, now.after_ms(OBSERVED_FOR_MS));
        }
        let names = names_of(&catalogue, &policy);
        let after = version_of(&catalogue, &policy);
        let rows = again(&current, catalogue.entries(), (&policy, &names), after);
        Self {
            cause,
            rows,
            before: current.version(),
            policy_before: current.policy.version(),
            catalogue,
            policy,
            names,
            after,
        }
    }

    /// What was admitted, of `digest`.
    fn admitted(&self, digest: Digest) -> Vec<Admitted> {
        let mine = self.rows.iter();
        let mine = mine.filter(|(row, ..)| row.descriptor.implementation_digest() == digest);
        let admitted = mine.map(|(row, verdict, _)| Admitted {
            id: row.descriptor.id().clone(),
            name: self
                .names
                .get(row.descriptor.id())
                .cloned()
                .unwrap_or_default(),
            implementation_digest: row.descriptor.implementation_digest(),
            descriptor_digest: row.descriptor.digest(),
            verdict: verdict.clone(),
        });
        admitted.collect()
    }

    /// `loaded` is the component that was brought, if one was.
    pub(crate) fn take_effect(self, governor: &Governor, loaded: Option<LoadedComponent>) {
        let mut current = governor.write();
        if let Some(loaded) = loaded {
            current.loaded.insert(loaded.digest(), loaded);
        }
        current.catalogue = self.catalogue;
        current.policy = self.policy;
        let Current {
            catalogue, loaded, ..
        } = &mut *current;
        // Code that no entry names any more is let go; calls that run hold it themselves.
        loaded.retain(|digest, _| {
            catalogue
                .entries()
                .any(|row| row.descriptor.implementation_digest() == *digest)
        });
        for (row, verdict, powers) in self.rows {
            let id = row.descriptor.id();
            // As it was recorded: what a review made of an entry stands.
            let recorded = governor.look(|state| {
                let known = state.capability(&key_of(&row));
                known.map(bindery_ledger::Capability::validation_status)
            });
            let status = recorded.flatten().unwrap_or(verdict.status);
            current.catalogue.set_validation(id, status);
            current.powers.insert(id.clone(), powers);
        }
    }
}

/// `entries` with what their examination says under `policy`.
fn again<'a>(
    current: &Current,
    entries: impl Iterator<Item = &'a Row>,
    (policy, names): (&Policy, &std::collections::BTreeMap<CapabilityId, String>),
    version: Digest,
) -> Vec<(Row, Verdict, Arc<Powers>)> {
    let examined = entries.filter_map(|row| {
        let powers = Arc::clone(current.powers.get(row.descriptor.id())?);
        let loaded = current
            .loaded
            .get(&row.descriptor.implementation_digest())?;
        let found = verdict(policy, names, row, &powers, loaded.shape(), version);
        Some((row.clone(), found, powers))
    });
    examined.collect()
}

fn origin(admission: &Admission) -> Result<Origin, Refusal> {
    let provider = admission.namespace.as_str().parse::<Provider>();
    Ok(Origin {
        kind: SourceKind::HostRegistry,
        family: ProviderFamily::Extension,
        provider: provider.map_err(|error| Refusal::new(ErrorType::Usage, error.to_string()))?,
        descriptor_ref: admission.origin.clone(),
        implementation_ref: admission.origin.clone(),
    })
}

fn row(descriptor: Descriptor, trust: TrustStatus, now: Moment) -> Row {
    Row {
        descriptor: Arc::new(descriptor),
        kind: EntryKind::Capability,
        execution_state: ExecutionState::Available,
        trust,
        validation: ValidationStatus::Candidate,
        last_observed_at: now,
        expires_at: Some(now.after_ms(OBSERVED_FOR_MS)),
    }
}

/// What the grants that rules name for this entry make possible; none when no rule does.
fn granted(
    policy: &Policy,
    name: Option<&String>,
    id: &CapabilityId,
) -> (SideEffectClass, Vec<String>) {
    let document = policy.document();
    let mut class = SideEffectClass::None;
    let mut resources = Vec::new();
    for rule in &document.policy.rules {
        let named = rule.capabilities.contains(id)
            || rule
                .namespaces
                .iter()
                .any(|namespace| namespace.as_str() == id.namespace())
            || name.is_some_and(|name| rule.names.contains(name));
        for grant in rule.grants.iter().filter(|_| named) {
            let Some(entry) = document.grants.get(grant) else {
                continue;
            };
            class = graver(class, class_of(&entry.slice(), entry.raised));
            resources.push(grant.to_string());
        }
    }
    resources.sort_unstable();
    resources.dedup();
    (class, resources)
}

/// What proves who it is, by name: the credentials that its contract says it needs, and
/// those of the grants that rules name for it (R-333). Never a value.
fn authentication(policy: &Policy, row: &Row, resources: &[String]) -> Vec<String> {
    let grants = &policy.document().grants;
    let of_grants = grants.iter().filter_map(|(name, entry)| {
        let named = resources.iter().any(|resource| resource == name.as_str());
        entry.credential().filter(|_| named)
    });
    let own = row.descriptor.contract().credentials.iter();
    let mut names: Vec<String> = own.chain(of_grants).map(ToString::to_string).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Examines `row` under what policy grants it.
pub(crate) fn verdict(
    policy: &Policy,
    names: &std::collections::BTreeMap<CapabilityId, String>,
    row: &Row,
    powers: &Powers,
    shape: &Shape,
    version: Digest,
) -> Verdict {
    let id = row.descriptor.id();
    let (class, resources) = granted(policy, names.get(id), id);
    let risk = classify(declared(row.descriptor.contract()), class, None).risk;
    let classification = Classification {
        risk_possible: powers.possible.least_risk().max(risk),
        risk,
        side_effects: class,
        authentication: authentication(policy, row, &resources),
        resources,
        approval: row
            .descriptor
            .contract()
            .approval
            .map_or("not declared: blocked until it is".to_owned(), |word| {
                word.to_string()
            }),
    };
    let surroundings = Surroundings {
        visible: true,
        catalog_version: version,
        shape: Some(shape),
        classification: &classification,
    };
    validate(row, &surroundings)
}
