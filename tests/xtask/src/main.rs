//! Tasks of the project: `cargo xtask --help`.
fn main() {}
