//! What the ledger promises, fact by fact.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends where a fact does not hold"
)]

mod approvals;
mod bindings;
mod budgets;
mod calls;
mod capabilities;
mod chain;
mod keys;
mod machine;
mod model;
mod names;
mod views;
mod world;
