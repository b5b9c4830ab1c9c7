//! The crate an embedder depends on: run any component's function from JSON, under limits.
