//! JSON ⇄ component types: one mapping, lossless both ways, from one type table.
//!
//! Rule: a text that satisfies the input schema never fails later, a text that fails it
//! never reaches a component, and every fault of a call is reported together with its
//! place. Nothing is repaired in silence.

pub mod tape;
