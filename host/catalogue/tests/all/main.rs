//! The catalogue over hand-made shapes: what changes its version, what it refuses, and how
//! each layer of validation fails.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a helper of tests fails as a test does; only the functions marked as tests are exempt by themselves"
)]

mod fixture;
mod registry;
mod validate;
