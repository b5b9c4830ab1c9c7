//! Store grants: keys and values that outlive a call, by `wasi:keyvalue@0.2.0-draft`.
//!
//! Rule (C-46, case G5): a name that a guest opens is the name of a grant and never a
//! path; a key is a text and never a path. Which data a name means is the grant's backend,
//! so two bindings that use one name share nothing unless the host gave both the same
//! backend. `set` is last-wins: between a guest's `get` and its `set` another call may
//! write, and that write is lost. `increment` is not: it reads and writes in one step.
//!
//! Written by us, function by function: a draft has one exact shape, and this is that of
//! the engine's own package. Reading order: backend, memory, grant; then stores, access,
//! link.

mod access;
mod backend;
mod grant;
mod link;
mod memory;
mod stores;

pub use backend::{Change, KeyValueStore, Keys, Room, StoreFault, Swap};
pub use grant::{StoreGrant, StoreGrantError};
pub(crate) use link::link;
pub use memory::MemoryStore;
pub(crate) use stores::Stores;
