//! What the store promises, fact by fact, with real files and real kills.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test ends where a fact does not hold"
)]

mod child;
#[path = "../../../ledger/tests/ledger/drive.rs"]
mod drive;
mod faults;
mod full;
mod kills;
#[path = "../../../ledger/tests/ledger/names.rs"]
mod names;
mod opening;
mod parallel;
mod rebuild;
mod reopening;
mod rig;
mod tampering;
#[path = "../../../ledger/tests/ledger/world.rs"]
mod world;
