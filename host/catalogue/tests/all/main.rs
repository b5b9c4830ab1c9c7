//! The catalogue over hand-made shapes: what changes its version, what it refuses, and how
//! each layer of validation fails.

mod fixture;
mod registry;
mod validate;
