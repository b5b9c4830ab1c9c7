//! Three ways to read one log (C-31): activity without content, action records for a
//! reviewer, the host's trace for proof.

mod action;
mod activity;
mod trace;

pub use action::{Action, Times, actions};
pub use activity::Activity;
pub use trace::{
    BindingEnd, BindingTrace, CallTrace, Link, MissingLink, explain_binding, explain_call,
};
