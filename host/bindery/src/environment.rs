//! `environment`: the manifest, which says where the boundary is.
//!
//! Rule (R-103 … R-117): of what is behind the boundary it says nothing, and it does not
//! grow with it; what it says of this session is so.

use bindery_ledger::words::Operation;
use bindery_policy::{Counter, Stage, Subject};
use bindery_types::{Digest, EnvironmentId, ErrorType, Moment, Refusal};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::facts::bucket;
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

impl Session {
    /// The manifest of the environment, as it is now.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// let (host, session, _) = stand().await?;
    /// let manifest = session.environment()?;
    /// assert_eq!(manifest.policy_snapshot, host.policy_version());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `stage_disabled` while stage 3 is off, `environment_unavailable` without an admitted
    /// environment.
    pub fn environment(&self) -> Result<Manifest, Refusal> {
        let opened = self.opened_for_asking()?;
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
                mode(Stage::Descriptors, "describe"),
            ]
            .into_iter()
            .flatten()
            .collect(),
            // A mode is an operation that answers; none of this host probes, none searches.
            probe_modes: Vec::new(),
            policy_snapshot: policy.version(),
            budgets: budgets.unwrap_or(Value::Null),
            expires_at: environment.expires_at.min(opened.expires_at),
            refresh: "ask for it again: before it expires, and after `catalog_changed` or \
                      `environment_generation_changed`",
        })
    }
}

/// Limit and rest of each aggregate budget, by purpose.
fn budgets(state: &bindery_ledger::State, opened: &Opened) -> Value {
    let purpose = |counters: &[Counter]| {
        let mut rows = Map::new();
        for subject in Subject::ALL {
            for counter in counters {
                if let Some(bucket) = bucket(state, opened, *subject, *counter) {
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
