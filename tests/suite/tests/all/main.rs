//! Every integration test of the product, one module a theme.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper of tests fails as a test does; only the functions marked as tests are exempt by themselves"
)]

mod ambient;
mod cases;
mod compile;
mod concurrency;
mod faults;
mod files;
mod governed;
mod governed_answers;
mod governed_composition;
mod governed_credentials;
mod governed_double;
mod governed_faults;
mod governed_faults_child;
mod governed_faults_clock;
mod governed_faults_disk;
mod governed_faults_running;
mod governed_faults_steps;
mod governed_hooks;
mod governed_machine;
mod governed_meters;
mod governed_model;
mod governed_narrow;
mod governed_rebuild;
mod governed_refusals;
mod governed_reload;
mod governed_runs;
mod governed_scene;
mod governed_session;
mod governed_static;
mod governed_store;
mod governed_times;
mod governed_triggers;
mod governed_verbs;
mod grep;
mod grep_tools;
mod guests;
mod hostile;
mod hostile_files;
mod hostile_loads;
mod hostile_results;
mod hostile_values;
mod hostile_waits;
mod http_json;
mod http_limits;
mod http_oracle;
mod http_policy;
mod http_secrets;
mod http_servers;
mod http_tls;
mod inspect_bounds;
mod inspect_golden;
mod inspect_imports;
mod inspect_kinds;
mod inspect_mutated;
mod limits;
mod rig;
mod shelf;
mod spans;
mod stores;
mod tidy;
mod tidy_crates;
mod wasm;
