//! Bytes into a [`Shape`]: what a component exports, imports and says of itself.
//!
//! Rule: nothing is run and nothing is compiled. A component is read in one pass, under
//! bounds, by the validator that the engine itself uses; what the engine would refuse is
//! refused here in one sentence, and what a person asks about a component is answered
//! from its bytes, never from what it claims.

mod bounds;
mod claims;
mod code;
mod document;
mod exports;
mod features;
mod flags;
mod imports;
mod invalid;
mod kind;
mod missing;
mod nesting;
mod notation;
mod plain;
mod read;
mod tally;
mod text;
mod types;
mod walk;
mod weight;

use std::sync::Arc;

use bindery_types::{Budget, Digest, LimitName, Refusal, Shape};

use walk::Depth;

pub use bounds::{MEMORY_MAX_BYTES, TABLE_MAX_ELEMENTS};
pub use document::shape_document;
pub use missing::missing_imports;
pub use plain::read_arguments;
pub use read::read_component;
pub use text::shape_text;

/// The shape of the component `bytes`, when it is one and valid to its last instruction.
///
/// # Errors
///
/// `component_invalid` says what the bytes are and what to do about it (`details.kind`),
/// `budget_exhausted` that they are more than limit `component` allows.
pub fn inspect(bytes: &[u8], budget: &Budget) -> Result<Shape, Refusal> {
    shape(bytes, Digest::of(bytes), budget, Depth::Code)
}

/// The same without looking into function bodies: for bytes that were inspected before
/// (they are told by their digest), or that are inspected whole before they are compiled.
///
/// # Errors
///
/// As [`inspect`].
pub fn outline(bytes: &[u8], budget: &Budget) -> Result<Shape, Refusal> {
    outline_of(bytes, Digest::of(bytes), budget)
}

/// The same for bytes whose digest is known.
///
/// # Errors
///
/// As [`inspect`].
pub fn outline_of(bytes: &[u8], digest: Digest, budget: &Budget) -> Result<Shape, Refusal> {
    shape(bytes, digest, budget, Depth::Outline)
}

/// What [`inspect`] checks and [`outline`] leaves out: before code is compiled, it is valid
/// and within its bounds to the last instruction.
///
/// # Errors
///
/// `component_invalid`, as [`inspect`].
pub fn check_code(bytes: &[u8]) -> Result<(), Refusal> {
    walk::walk(bytes, Depth::Code).map(drop)
}

fn shape(bytes: &[u8], digest: Digest, budget: &Budget, depth: Depth) -> Result<Shape, Refusal> {
    let size_bytes = read::size_of(bytes);
    read::fits(size_bytes, budget.get(LimitName::Component))?;
    kind::check(bytes).map_err(kind::Kind::refusal)?;
    let walked = walk::walk(bytes, depth)?;
    let claims = &walked.claims;
    let mut types = types::TypeReader::new(&walked.types, claims);
    let imports = imports::imports(&walked, &mut types)?;
    let functions = exports::functions(&walked, &mut types)?;
    let table = types.finish()?;
    weight::check(&functions, &table)?;
    Ok(Shape {
        digest,
        size_bytes,
        docs: claims.component(&walked.exports),
        producers: claims.producers(),
        functions: exports::judged(functions, &table),
        imports,
        types: Arc::new(table),
    })
}
