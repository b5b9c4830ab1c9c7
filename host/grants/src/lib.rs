//! What a component may reach, as values: one grant a kind, closed unless given.
//!
//! Rule: a grant is opened by whoever holds the authority (a directory handle, an
//! endpoint), moves into the store of one call and dies with it. Every use is counted,
//! bounded and reported as an effect. Interfaces are linked one by one.

mod meter;

pub use meter::Meter;
