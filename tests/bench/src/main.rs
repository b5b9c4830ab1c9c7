//! Measures speed as ratios in one run.
fn main() {}
