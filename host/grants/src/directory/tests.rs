//! Files as a guest reaches them, by the very traits its imports are bound to.
//!
//! The oracle is a snapshot of the whole surrounding tree by the standard library: it
//! knows nothing of grants, handles or quotas.

mod property;
mod quotas;
mod scope;
mod tree;
