//! The command as a process: what it prints, where, and with which exit code.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper of tests fails as a test does; only the functions marked as tests are exempt by themselves"
)]

mod cases;
mod closed_set;
mod ends;
mod governed;
mod governed_desk;
mod governed_kill;
mod governed_kill_store;
mod governed_lifecycle;
mod governed_operate;
mod governed_runs;
mod governed_waiting;
mod grants;
mod help;
mod process;
mod seen;
mod usage;
