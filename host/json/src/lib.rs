//! JSON ⇄ component types: one mapping, lossless both ways, from one type table.
//!
//! Rule: a text that satisfies the input schema never fails later, a text that fails it
//! never reaches a component, and every fault of a call is reported together with its
//! place. Nothing is repaired in silence.

mod base64;
mod depth;
mod fault;
mod number;
mod place;
mod read;
mod render;
mod scan;
mod schema;
mod string;
pub mod tape;
pub mod text;
mod words;

pub use depth::check_value_depth;
pub use read::read_arguments;
pub use render::render;
pub use schema::{error_schema, input_schema, output_schema};
