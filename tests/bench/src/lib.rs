//! The bench: what Bindery costs, as ratios against what one would use instead.
//!
//! Rule: both sides of a ratio are measured in turns in one run on one machine, and what is
//! reported is the median of the ratios with its spread; a goal is a number that the table
//! compares with, never an assertion, and a peer that is missing says why.
//!
//! The floor is the engine itself under the sandbox's own configuration. That configuration
//! and the typed value path are taken in as the files they are, so that the product needs no
//! door for its bench and the bench no copy that could drift.

#[allow(
    dead_code,
    unused_imports,
    reason = "the bench calls it, its errors are the sandbox's"
)]
#[path = "../../../host/sandbox/src/abi/mod.rs"]
mod abi;
#[allow(
    dead_code,
    unreachable_pub,
    reason = "nobody cancels a call of the bench; public in the sandbox"
)]
#[path = "../../../host/sandbox/src/cancel.rs"]
mod cancel;
#[allow(dead_code, reason = "the bench runs only")]
#[path = "../../../host/sandbox/src/engine.rs"]
mod engine;
#[allow(dead_code, reason = "the bench runs on a leash and asks nothing of it")]
#[path = "../../../host/sandbox/src/fuel.rs"]
mod fuel;
#[allow(dead_code, reason = "the bench runs on a leash and asks nothing of it")]
#[path = "../../../host/sandbox/src/leash.rs"]
mod leash;
#[allow(
    dead_code,
    reason = "the bench builds the pool and asks nothing else of it"
)]
#[path = "../../../host/sandbox/src/pool.rs"]
mod pool;
#[allow(
    dead_code,
    unreachable_pub,
    reason = "its items are public in the sandbox"
)]
#[path = "../../../host/sandbox/src/start.rs"]
mod start;

pub mod goal;
pub mod measure;
pub mod pace;
pub mod raw;
pub mod rig;
pub mod row;
pub mod rows;
pub mod stand;
pub mod stats;
pub mod table;
pub mod tools;
