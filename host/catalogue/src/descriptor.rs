//! The descriptor of a capability: what is said and what is known of it, as one canonical
//! JSON value with a digest.
//!
//! Rule: it is a candidate contract. It carries no risk, trust or permission of
//! the host's, only what was declared and reflected, so that text in it moves nothing
//! (I28); any change of any byte is another digest.

use bindery_json::{error_schema, input_schema, output_schema};
use bindery_types::{
    CapabilityId, Digest, Function, IdError, Namespace, Provider, ProviderFamily, Satisfier, Shape,
    SourceKind, canonical, canonical_digest,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::contract::Contract;
use crate::text::{clean, first_sentence};

const SUMMARY_CHARS_MAX: usize = 200;
const DESCRIPTION_CHARS_MAX: usize = 2_000;

/// Where an entry comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// How it came to be known.
    pub kind: SourceKind,
    /// What kind of provider it has.
    pub family: ProviderFamily,
    /// The provider: stable over reloads, one per publisher.
    pub provider: Provider,
    /// Where the descriptor was taken from: a file name, a folder, a server.
    pub descriptor_ref: String,
    /// Where the implementation was taken from.
    pub implementation_ref: String,
}

/// Why no descriptor can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DescriptorError {
    /// The function's name makes no id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// JSON cannot call the function.
    #[error("{function} cannot be called with JSON: {why}")]
    Uncallable {
        /// its full name
        function: String,
        /// the reason
        why: String,
    },
}

/// One capability as it is described.
#[derive(Clone, Debug)]
pub struct Descriptor {
    id: CapabilityId,
    function: String,
    summary: String,
    implementation_digest: Digest,
    implementation_version: Option<String>,
    input_schema: Value,
    output_schema: Value,
    contract: Contract,
    origin: Origin,
    json: Value,
    digest: Digest,
}

impl Descriptor {
    /// Describes `function` of the component `shape` that `namespace` ships as `package`.
    ///
    /// # Errors
    ///
    /// When its name makes no id, or JSON cannot call it.
    pub fn of(
        (namespace, package): (&Namespace, &str),
        shape: &Shape,
        function: &Function,
        contract: Contract,
        origin: Origin,
    ) -> Result<Self, DescriptorError> {
        if let Some(why) = &function.uncallable {
            return Err(DescriptorError::Uncallable {
                function: function.name.to_string(),
                why: why.to_string(),
            });
        }
        let id = CapabilityId::of(namespace, package, &function.name)?;
        let docs = function.docs.as_deref().unwrap_or_default();
        let input_schema = input_schema(function, &shape.types);
        let output_schema = output_schema(function, &shape.types);
        let implementation_version = version_of(shape, function);
        let summary = first_sentence(docs, SUMMARY_CHARS_MAX);
        let json = json!({
            "capability_id": id,
            "function": function.name.to_string(),
            "implementation_digest": shape.digest,
            "implementation_version": implementation_version,
            "summary": summary,
            "description": clean(docs, DESCRIPTION_CHARS_MAX),
            "input_schema": input_schema,
            "output_schema": output_schema,
            "error_schema": error_schema(function, &shape.types),
            "contract": contract,
            "imports": imports(shape),
            // An exact schema stands behind every summary made by reflection.
            "grounded": true,
            "origin": origin,
        });
        Ok(Self {
            id,
            function: function.name.to_string(),
            summary,
            implementation_digest: shape.digest,
            implementation_version,
            digest: canonical_digest(&json),
            input_schema,
            output_schema,
            contract,
            origin,
            json,
        })
    }

    /// The capability.
    pub fn id(&self) -> &CapabilityId {
        &self.id
    }

    /// The exported function's full WIT name.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// One sentence.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// SHA-256 of the component's bytes.
    pub fn implementation_digest(&self) -> Digest {
        self.implementation_digest
    }

    /// The version of the interface, else of the package, where there is one.
    pub fn implementation_version(&self) -> Option<&str> {
        self.implementation_version.as_deref()
    }

    /// SHA-256 of the canonical descriptor (RFC 8785).
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// JSON Schema of the arguments.
    pub fn input_schema(&self) -> &Value {
        &self.input_schema
    }

    /// JSON Schema of the value.
    pub fn output_schema(&self) -> &Value {
        &self.output_schema
    }

    /// Digests of both schemas: what `input_schema_ref` and `output_schema_ref` name.
    pub fn schema_refs(&self) -> (Digest, Digest) {
        (
            canonical_digest(&self.input_schema),
            canonical_digest(&self.output_schema),
        )
    }

    /// What was declared.
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Where it comes from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The whole descriptor.
    pub fn to_json(&self) -> &Value {
        &self.json
    }

    /// The text that the digest is of.
    pub fn canonical_text(&self) -> String {
        canonical(&self.json)
    }
}

fn version_of(shape: &Shape, function: &Function) -> Option<String> {
    let interface = function
        .name
        .interface()
        .and_then(|interface| interface.version());
    let package = || {
        let own = shape
            .producers
            .iter()
            .find(|producer| producer.field == "version");
        own.map(|producer| producer.version.as_str())
    };
    interface.or_else(package).map(str::to_owned)
}

fn imports(shape: &Shape) -> Vec<Value> {
    let wanted = shape.imports.iter().map(|import| {
        let grant = match &import.satisfier {
            Satisfier::Linked { grant } => *grant,
            Satisfier::Grant { grant } => Some(*grant),
            Satisfier::Version { .. } | Satisfier::Functions { .. } | Satisfier::Unknown { .. } => {
                None
            }
        };
        json!({ "interface": import.name, "functions": import.functions, "grant": grant })
    });
    wanted.collect()
}
