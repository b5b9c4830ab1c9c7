//! `environment`, `describe`, `validate`: what a session may know before it binds.
//!
//! Rule (R-097, R-116, R-117, C-48): the manifest says where the boundary is, never what is
//! behind it; what is hidden answers like what is absent. Each request leaves a record
//! refused ones too.

use bindery_catalogue::{Entry as Row, Verdict};
use bindery_ledger::event::OperationServed;
use bindery_ledger::words::Operation;
use bindery_policy::{Counter, Stage, Subject};
use bindery_types::{
    CapabilityId, Digest, EnvironmentId, ErrorType, ExecutionState, Moment, Refusal, TrustStatus,
    ValidationStatus,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::admit::verdict;
use crate::facts::{bucket, hidden, key_of};
use crate::held::Opened;
use crate::session::Session;

/// The version of the bootstrap operations and their schemas.
const BOOTSTRAP_VERSION: &str = "0.1";

/// The environment as a session may see it (R-103 … R-115).
#[derive(Clone, Debug, Serialize)]
pub struct Manifest {
    /// Which environment.
    pub environment_id: EnvironmentId,
    /// How often what it stands for has changed.
    pub environment_generation: u64,
    /// The version of the operations.
    pub bootstrap_schema_version: &'static str,
    /// The version of what this session sees.
    pub catalog_version: Digest,
    /// Publishers that may be seen; none for any.
    pub namespaces: Option<Vec<String>>,
    /// How capabilities may be found.
    pub discovery_modes: Vec<&'static str>,
    /// How they may be tried out.
    pub probe_modes: Vec<&'static str>,
    /// The policy it stands under: a reference that says no rule.
    pub policy_snapshot: Digest,
    /// What is left of the aggregate budgets, where the document sets any.
    pub budgets: Value,
    /// When it has to be asked for again.
    pub expires_at: Moment,
    /// How it is refreshed.
    pub refresh: &'static str,
}

/// A candidate descriptor with where it stands.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    /// The capability.
    pub capability_id: CapabilityId,
    /// SHA-256 of the canonical descriptor.
    pub descriptor_digest: Digest,
    /// Who vouches for it.
    pub trust_status: TrustStatus,
    /// How far it was examined.
    pub validation_status: ValidationStatus,
    /// Whether it runs.
    pub execution_state: ExecutionState,
    /// The version it was described under.
    pub catalog_version: Digest,
    /// When it was last looked at.
    pub last_observed_at: Moment,
    /// When it has to be looked at again.
    pub expires_at: Option<Moment>,
    /// The descriptor itself.
    pub descriptor: Value,
}

impl Session {
    /// The manifest of the environment, as it is now.
    ///
    /// # Errors
    ///
    /// `stage_disabled` while stage 3 is off, `environment_unavailable` without an admitted
    /// environment.
    pub fn environment(&self) -> Result<Manifest, Refusal> {
        let opened = self.opened()?;
        let found = opened
            .session
            .stages()
            .require(Stage::Manifest)
            .and_then(|()| self.manifest(&opened));
        self.served(&opened, Operation::Bootstrap, None, found)
    }

    fn manifest(&self, opened: &Opened) -> Result<Manifest, Refusal> {
        let current = self.governor.read();
        let policy = &current.policy;
        let place = self.governor.look(|state| {
            let (environment, session) = (state.environment()?, state.session(self.id)?);
            Some((environment.clone(), session.catalog_version))
        });
        let (environment, catalog_version) = place.flatten().ok_or_else(|| {
            let text = "no environment is admitted";
            Refusal::new(ErrorType::EnvironmentUnavailable, text)
        })?;
        let visibility = &policy.document().people.visibility;
        let namespaces = visibility.namespaces.as_ref();
        let stages = opened.session.stages();
        let mode = |stage: Stage, word: &'static str| stages.is_on(stage).then_some(word);
        let budgets = self.governor.look(|state| budgets(state, opened));
        Ok(Manifest {
            environment_id: environment.id,
            environment_generation: environment.generation,
            bootstrap_schema_version: BOOTSTRAP_VERSION,
            catalog_version,
            namespaces: namespaces.map(|list| list.iter().map(ToString::to_string).collect()),
            discovery_modes: [
                mode(Stage::Registry, "static"),
                mode(Stage::Search, "search"),
                mode(Stage::Descriptors, "describe"),
            ]
            .into_iter()
            .flatten()
            .collect(),
            // No probe runs before its own part of the host does.
            probe_modes: Vec::new(),
            policy_snapshot: policy.version(),
            budgets: budgets.unwrap_or(Value::Null),
            expires_at: environment.expires_at.min(opened.expires_at),
            refresh: "ask for it again: before it expires, and after `catalog_changed` or \
                      `environment_generation_changed`",
        })
    }

    /// The candidate descriptor of `capability`: schemas, provenance, digest.
    ///
    /// # Errors
    ///
    /// `stage_disabled` while stage 4 is off, `capability_unavailable` for what is absent
    /// or hidden, alike.
    pub fn describe(&self, capability: &CapabilityId) -> Result<Candidate, Refusal> {
        let opened = self.opened()?;
        let found = opened
            .session
            .stages()
            .require(Stage::Descriptors)
            .and_then(|()| self.candidate(&opened, capability));
        self.served(&opened, Operation::Describe, Some(capability), found)
    }

    fn candidate(&self, opened: &Opened, capability: &CapabilityId) -> Result<Candidate, Refusal> {
        let row = self.visible(opened, capability)?;
        let version = self
            .governor
            .look(|state| state.session(self.id).map(|open| open.catalog_version));
        Ok(Candidate {
            capability_id: capability.clone(),
            descriptor_digest: row.descriptor.digest(),
            trust_status: row.trust,
            validation_status: row.validation,
            execution_state: row.execution_state,
            catalog_version: version.flatten().ok_or_else(absent)?,
            last_observed_at: row.last_observed_at,
            expires_at: row.expires_at,
            descriptor: row.descriptor.to_json().clone(),
        })
    }

    /// Examines `capability` in seven layers, each with what was seen.
    ///
    /// # Errors
    ///
    /// As [`Session::describe`].
    pub fn validate(&self, capability: &CapabilityId) -> Result<Verdict, Refusal> {
        let opened = self.opened()?;
        let found = opened
            .session
            .stages()
            .require(Stage::Descriptors)
            .and_then(|()| self.examined(&opened, capability));
        self.served(&opened, Operation::Validate, Some(capability), found)
    }

    fn examined(&self, opened: &Opened, capability: &CapabilityId) -> Result<Verdict, Refusal> {
        let row = self.visible(opened, capability)?;
        let current = self.governor.read();
        let digest = row.descriptor.implementation_digest();
        let loaded = current.loaded.get(&digest).ok_or_else(absent)?;
        let powers = current.powers.get(capability).ok_or_else(absent)?;
        let (policy, names) = (&current.policy, current.names());
        let version = current.version();
        Ok(verdict(
            policy,
            &names,
            &row,
            powers,
            loaded.shape(),
            version,
        ))
    }

    /// The entry, when this session may know of it.
    fn visible(&self, opened: &Opened, capability: &CapabilityId) -> Result<Row, Refusal> {
        let current = self.governor.read();
        let row = current.catalogue.get(capability).ok_or_else(absent)?;
        let powers = current.powers.get(capability).ok_or_else(absent)?;
        let hidden = self
            .governor
            .look(|state| hidden(state, &current.policy, opened, (row, powers)));
        match hidden.flatten() {
            None => Ok(row.clone()),
            Some(why) => Err(absent().for_operator(why)),
        }
    }

    /// Records that something was asked and how it came out.
    fn served<T>(
        &self,
        opened: &Opened,
        operation: Operation,
        capability: Option<&CapabilityId>,
        found: Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let key = capability.and_then(|id| {
            let current = self.governor.read();
            // What is not shown is not named: the record speaks of entries that were.
            current
                .catalogue
                .get(id)
                .filter(|_| found.is_ok())
                .map(key_of)
        });
        let event = OperationServed {
            operation,
            capability: key,
            shown: u64::from(found.is_ok()),
            refused: found.as_ref().err().map(Refusal::kind),
        };
        let told = self.told(opened, operation, "a discovery request was answered");
        let entry = self.governor.entry(&told, event);
        self.governor
            .journal
            .append_lazy(vec![entry])
            .map_err(|error| error.refusal())?;
        found
    }
}

fn absent() -> Refusal {
    let text = "no such capability can be called here";
    Refusal::new(ErrorType::CapabilityUnavailable, text)
}

/// Limit and rest of each aggregate budget, by purpose.
fn budgets(state: &bindery_ledger::State, opened: &Opened) -> Value {
    let purpose = |counters: &[Counter]| {
        let mut rows = Map::new();
        for subject in Subject::ALL {
            for counter in counters {
                if let Some(bucket) = bucket(state, opened, *subject, *counter, None) {
                    let row = json!({ "limit": bucket.limit, "remaining": bucket.remaining() });
                    rows.insert(format!("{subject}.{counter}"), row);
                }
            }
        }
        Value::Object(rows)
    };
    json!({
        "discovery": purpose(&[Counter::Searches, Counter::Binds]),
        "probe": purpose(&[Counter::Probes]),
        "execution": purpose(&[
            Counter::Calls,
            Counter::Fuel,
            Counter::Time,
            Counter::EgressBytes,
            Counter::WrittenBytes,
        ]),
    })
}
