//! The ledger: what happened, in order, and what may happen next because of it.
//!
//! Rule (architecture § 8): events are a closed set; the state is the fold of one pure
//! `apply`; a record is one line that holds the digest of the line before it. No clock, no
//! file, no policy in here: time and decisions enter as values. Reading order: words,
//! events, records, state, apply, then what is asked of a state (leases, budgets, keys,
//! approvals), then the chain, the journal and the views.

pub mod event;
pub mod view;
pub mod words;

mod apply;
mod approval;
mod budget;
mod chain;
mod idempotency;
mod journal;
mod key;
mod lease;
mod lifecycle;
mod record;
mod recover;
mod rejection;
mod shared;
mod state;
mod text;

pub use chain::{ChainError, Head, ends_with, genesis, read_checked};
pub use journal::{Journal, JournalError, Kept, Memory, Query};
pub use key::{BucketKey, BudgetScope, CapabilityKey, EffectKey, Target};
pub use lease::{HighWater, Lease, Lost};
pub use record::{Actor, Entry, Record};
pub use recover::recovery;
pub use rejection::Rejection;
pub use state::{
    AgentEntry, Binding, Bucket, Call, CallStanding, Capability, Description, EffectEntry,
    EffectStanding, Ended, Environment, Evidence, Proposal, Run, Session, State,
};
pub use text::{Line, Summary, TextError};
