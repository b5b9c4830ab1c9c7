//! One row of the catalogue: a descriptor with what the host holds of it.

use std::sync::Arc;

use bindery_types::{Digest, ExecutionState, Moment, TrustStatus, ValidationStatus};
use serde::Serialize;

use crate::descriptor::Descriptor;

/// What an entry is (C-24).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// Can be described, validated, bound and called.
    Capability,
    /// Can only be shown: skills and slash commands.
    CatalogOnly,
}

/// One row.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What is said of it.
    pub descriptor: Arc<Descriptor>,
    /// What it is.
    pub kind: EntryKind,
    /// Whether an implementation is loaded, derived by the host.
    pub execution_state: ExecutionState,
    /// Who vouches for it, set by the host (C-58).
    pub trust: TrustStatus,
    /// How far it was examined.
    pub validation: ValidationStatus,
    /// When it was last looked at.
    pub last_observed_at: Moment,
    /// When it has to be looked at again, if ever.
    pub expires_at: Option<Moment>,
}

impl Entry {
    /// Digest over everything of this row that belongs to the catalogue's version (C-09).
    pub(crate) fn version_parts(&self) -> [String; 5] {
        let descriptor = &self.descriptor;
        let (input, output) = descriptor.schema_refs();
        [
            descriptor.digest().to_string(),
            Digest::of(format!("{input}{output}").as_bytes()).to_string(),
            descriptor.origin().provider.to_string(),
            self.execution_state.to_string(),
            descriptor.contract().aliases.join(","),
        ]
    }
}
