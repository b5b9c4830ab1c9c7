//! The policy from outside: facts about decisions, each with the id of the row behind it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "everything here is a test, and a test fails by panicking"
)]

mod approvals;
mod axes;
mod cells;
mod lattice;
mod lists;
mod refusals;
mod rig;
mod scopes;
mod twins;
mod versions;
