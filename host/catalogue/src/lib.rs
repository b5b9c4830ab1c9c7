//! What exists: entries, their descriptors and digests, their public names, one version
//! over all of it, and how far each descriptor holds.
//!
//! Rule: an entry describes, it never grants. Everything a third party wrote is
//! data here: cleaned, bounded, compared, and never read as policy (R-074 … R-079).

mod contract;
mod descriptor;
mod entry;
mod names;
mod registry;
mod schema;
mod text;
mod validate;

pub use contract::{Contract, Disagreement, Example};
pub use descriptor::{Descriptor, DescriptorError, Origin};
pub use entry::{Entry, EntryKind};
pub use names::{NAME_CHARS_DEFAULT, NAME_CHARS_MAX, NAME_CHARS_MIN, RESERVED, public_names};
pub use registry::{AdmitError, Catalogue, Change, Seen};
pub use validate::{
    Classification, Layer, LayerName, LayerResult, Surroundings, Verdict, validate,
};
