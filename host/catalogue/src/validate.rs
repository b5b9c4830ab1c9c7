//! Validation of a descriptor in seven layers (R-376 … R-391).
//!
//! Rule: layers run in order, each leaves evidence, a failed one decides. A valid schema
//! alone makes nothing bindable: only what the host vouches for becomes so without
//! a probe, and everything declared is compared with what was reflected.

use bindery_json::read_arguments;
use bindery_types::{
    Budget, CapabilityId, Digest, ErrorType, Risk, Shape, SideEffectClass, TrustStatus,
    ValidationStatus,
};
use serde::Serialize;

use crate::entry::{Entry, EntryKind};
use crate::schema;

/// The host's own classification of an entry, made by policy (R-387 … R-390).
#[derive(Clone, Debug, Serialize)]
pub struct Classification {
    /// What the imports could do at worst, were all of them granted.
    pub risk_possible: Risk,
    /// What it can do with what is granted (C-57).
    pub risk: Risk,
    /// The kind of effect.
    pub side_effects: SideEffectClass,
    /// Resources it is given, by grant name.
    pub resources: Vec<String>,
    /// Credentials it needs, by name.
    pub authentication: Vec<String>,
    /// What approval it needs, in the words of the contract and the policy.
    pub approval: String,
}

/// What the validation is held against.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Whether the entry's namespace is visible to whoever asks.
    pub visible: bool,
    /// The catalogue's version now.
    pub catalog_version: Digest,
    /// The component as it was reflected from the bytes that would run, if there are any.
    pub shape: Option<&'a Shape>,
    /// The host's classification.
    pub classification: &'a Classification,
}

/// The seven layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerName {
    /// A stable id in a visible namespace.
    Identity,
    /// Recorded origins.
    Provenance,
    /// Schemas that can be enforced.
    Structure,
    /// Tied to a catalogue version and the bytes.
    Version,
    /// No contradiction between what is said and what is seen.
    Semantics,
    /// The host's classification.
    Risk,
    /// What follows.
    Result,
}

/// How a layer came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerResult {
    /// It holds.
    Passed,
    /// It holds so far; something is missing that would settle it.
    Open,
    /// It does not hold, and this is the error.
    Failed(ErrorType),
    /// An earlier layer failed.
    Skipped,
}

/// One layer with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// Which one.
    pub name: LayerName,
    /// How it came out.
    pub result: LayerResult,
    /// What was seen, a sentence each; never empty unless skipped.
    pub evidence: Vec<String>,
}

/// The verdict over a descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The capability.
    pub capability_id: CapabilityId,
    /// The descriptor that was examined.
    pub descriptor_digest: Digest,
    /// All seven layers.
    pub layers: Vec<Layer>,
    /// Where it stands now.
    pub status: ValidationStatus,
}

impl Verdict {
    /// The error of the layer that failed, if one did.
    pub fn failure(&self) -> Option<(&Layer, ErrorType)> {
        self.layers.iter().find_map(|layer| match layer.result {
            LayerResult::Failed(error) => Some((layer, error)),
            LayerResult::Passed | LayerResult::Open | LayerResult::Skipped => None,
        })
    }
}

type Check = fn(&Entry, &Surroundings<'_>) -> Finding;
type Finding = (LayerResult, Vec<String>);

const LAYERS: [(LayerName, Check); 6] = [
    (LayerName::Identity, identity),
    (LayerName::Provenance, provenance),
    (LayerName::Structure, structure),
    (LayerName::Version, version),
    (LayerName::Semantics, semantics),
    (LayerName::Risk, risk),
];

/// Examines `entry`.
pub fn validate(entry: &Entry, surroundings: &Surroundings<'_>) -> Verdict {
    let mut layers = Vec::with_capacity(LAYERS.len() + 1);
    let (mut failed, mut open) = (false, false);
    for (name, check) in LAYERS {
        let (result, evidence) = if failed {
            (LayerResult::Skipped, Vec::new())
        } else {
            check(entry, surroundings)
        };
        failed |= matches!(result, LayerResult::Failed(_));
        open |= result == LayerResult::Open;
        layers.push(Layer {
            name,
            result,
            evidence,
        });
    }
    let (status, why) = outcome(entry, failed, open);
    layers.push(Layer {
        name: LayerName::Result,
        result: if failed {
            LayerResult::Skipped
        } else {
            LayerResult::Passed
        },
        evidence: vec![why],
    });
    Verdict {
        capability_id: entry.descriptor.id().clone(),
        descriptor_digest: entry.descriptor.digest(),
        layers,
        status,
    }
}

fn outcome(entry: &Entry, failed: bool, open: bool) -> (ValidationStatus, String) {
    if failed {
        return (
            ValidationStatus::Rejected,
            "rejected: a layer above failed".to_owned(),
        );
    }
    match (entry.trust, open) {
        (TrustStatus::HostVerified, false) => {
            let why = "bindable: the host verified digest and contract (R-372)";
            (ValidationStatus::Bindable, why.to_owned())
        }
        (trust, _) => {
            let why = format!("provisional: trust is {trust}; a probe or a review has to follow");
            (ValidationStatus::StructurallyValid, why)
        }
    }
}

fn passed(evidence: impl Into<String>) -> Finding {
    (LayerResult::Passed, vec![evidence.into()])
}

fn failed(error: ErrorType, evidence: impl Into<String>) -> Finding {
    (LayerResult::Failed(error), vec![evidence.into()])
}

fn identity(entry: &Entry, surroundings: &Surroundings<'_>) -> Finding {
    let id = entry.descriptor.id();
    match (surroundings.visible, entry.kind) {
        (false, _) => failed(
            ErrorType::CapabilityUnavailable,
            "no such capability is visible",
        ),
        (true, EntryKind::CatalogOnly) => failed(
            ErrorType::NotExecutable,
            format!("{id} is listed only (C-24)"),
        ),
        (true, EntryKind::Capability) => passed(format!("{id} resolves in {}", id.namespace())),
    }
}

fn provenance(entry: &Entry, _: &Surroundings<'_>) -> Finding {
    let origin = entry.descriptor.origin();
    let examples = &entry.descriptor.contract().examples;
    let unknown = examples
        .iter()
        .position(|example| example.origin.is_empty());
    if origin.descriptor_ref.is_empty() {
        return failed(
            ErrorType::DescriptorUntrusted,
            "no origin of the descriptor is recorded",
        );
    }
    if origin.implementation_ref.is_empty() {
        let missing = "no origin of the implementation is recorded";
        return failed(ErrorType::DescriptorUntrusted, missing);
    }
    if let Some(index) = unknown {
        let missing = format!("no origin of example {index} is recorded");
        return failed(ErrorType::DescriptorUntrusted, missing);
    }
    let mut evidence = vec![
        format!(
            "descriptor from {} ({})",
            origin.descriptor_ref, origin.kind
        ),
        format!(
            "implementation from {} by {}",
            origin.implementation_ref, origin.provider
        ),
    ];
    evidence.extend(
        examples
            .iter()
            .map(|example| format!("example from {}", example.origin)),
    );
    (LayerResult::Passed, evidence)
}

fn structure(entry: &Entry, _: &Surroundings<'_>) -> Finding {
    let descriptor = &entry.descriptor;
    let (input, output) = descriptor.schema_refs();
    for (what, schema) in [
        ("input schema", descriptor.input_schema()),
        ("output schema", descriptor.output_schema()),
    ] {
        if let Err(why) = schema::check(schema) {
            return failed(ErrorType::SchemaInvalid, format!("{what}: {why}"));
        }
    }
    let evidence = vec![
        format!("input schema {input} holds"),
        format!("output schema {output} holds"),
    ];
    (LayerResult::Passed, evidence)
}

fn version(entry: &Entry, surroundings: &Surroundings<'_>) -> Finding {
    let described = entry.descriptor.implementation_digest();
    let tied = format!("described under catalogue {}", surroundings.catalog_version);
    match surroundings.shape {
        None => (
            LayerResult::Open,
            vec![tied, "no implementation is loaded".to_owned()],
        ),
        Some(shape) if shape.digest != described => failed(
            ErrorType::DescriptorMismatch,
            format!(
                "the bytes are {}, the descriptor says {described}",
                shape.digest
            ),
        ),
        Some(_) => (
            LayerResult::Passed,
            vec![tied, format!("implementation {described}")],
        ),
    }
}

/// First words of a name that promise to change nothing.
const READING: &[&str] = &[
    "check", "count", "describe", "find", "get", "glob", "grep", "head", "inspect", "list", "look",
    "peek", "query", "read", "search", "show", "stat", "view",
];

fn semantics(entry: &Entry, surroundings: &Surroundings<'_>) -> Finding {
    let descriptor = &entry.descriptor;
    let contradiction = |why: String| failed(ErrorType::DescriptorMismatch, why);
    if let Some(disagreement) = descriptor.contract().disagreement() {
        return contradiction(disagreement.to_string());
    }
    let Some(shape) = surroundings.shape else {
        return (
            LayerResult::Open,
            vec!["no implementation to compare with".to_owned()],
        );
    };
    let Ok(function) = shape.resolve(descriptor.function()) else {
        let missing = format!("the component exports no {}", descriptor.function());
        return contradiction(missing);
    };
    let name = descriptor.id().function();
    let verb = name
        .split(['-', '_'])
        .next()
        .unwrap_or(name)
        .to_ascii_lowercase();
    let risk = surroundings.classification.risk;
    // Who admitted it may have said that it does more than its name.
    let said = descriptor.contract().declared_risk();
    let said = said.is_some_and(|said| said >= risk);
    if READING.contains(&verb.as_str()) && risk > Risk::ReadOnly && !said {
        return contradiction(format!(
            "`{name}` promises to read, its grants make it {risk}"
        ));
    }
    if descriptor.contract().read_only == Some(true) && risk > Risk::ReadOnly {
        return contradiction(format!("read_only is declared, its grants make it {risk}"));
    }
    for (index, example) in descriptor.contract().examples.iter().enumerate() {
        let text = example.arguments.to_string();
        if let Err(refusal) = read_arguments(&text, function, &shape.types, &Budget::default()) {
            return contradiction(format!("example {index} breaks the schema: {refusal}"));
        }
    }
    passed(format!(
        "`{name}` exists with these types; nothing declared contradicts it"
    ))
}

fn risk(entry: &Entry, surroundings: &Surroundings<'_>) -> Finding {
    let found = surroundings.classification;
    let declared = entry.descriptor.contract().declared_risk();
    let declared = declared.map_or("nothing".to_owned(), |risk| risk.to_string());
    let evidence = vec![
        format!(
            "side effects: {} (declared risk: {declared})",
            found.side_effects
        ),
        format!(
            "risk {}, at most {} were all imports granted",
            found.risk, found.risk_possible
        ),
        format!("resources: {}", listed(&found.resources)),
        format!("authentication: {}", listed(&found.authentication)),
        format!("approval: {}", found.approval),
    ];
    (LayerResult::Passed, evidence)
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
