//! One file a command: flags in, answer out.

pub(crate) mod cache;
pub(crate) mod inspect;
pub(crate) mod limits;
pub(crate) mod run;
