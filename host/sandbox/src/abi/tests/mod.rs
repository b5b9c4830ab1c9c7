//! The typed path against the engine's dynamic `Val`, which is used here and nowhere else.
//!
//! Rule: what a guest finds in its slots and in every byte of its memory, and what is
//! made of any memory it returns, is the same by both paths; where both refuse, ours
//! refuses by type.

mod differential;
mod guest;
mod hostile;
mod kind;
mod oracle;
mod pieces;
mod strategy;
