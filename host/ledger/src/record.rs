//! A record: one event with who, when, why and on what grounds.
//!
//! Rule (R-775, R-776, R-788 … R-791): no record without the identity of the provider it
//! concerns, a reason and a basis; the types leave no way to write one.

use bindery_types::{Moment, Principal, Provider, Rights, SessionId};
use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::text::Line;
use crate::words::{Basis, Operation};

/// In whose name a record is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Actor {
    /// Who.
    pub principal: Principal,
    /// With which rights.
    pub rights: Rights,
}

/// What somebody wants recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// In whose name.
    pub actor: Actor,
    /// What it rests on.
    pub basis: Basis,
    /// What happened.
    pub event: Event,
    /// The record that led to it, if one did; an earlier one.
    pub follows: Option<u64>,
    /// When, by the host's clock.
    pub moment: Moment,
    /// What the host was doing.
    pub operation: Operation,
    /// The stable identity of the provider that it concerns; the host's own for the host.
    pub provider: Provider,
    /// Why, in the host's words.
    pub reason: Line,
    /// In which session, where there is one.
    pub session: Option<SessionId>,
}

/// An entry with its place in the order of all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// From 1, without gaps.
    pub sequence: u64,
    /// What was recorded.
    pub entry: Entry,
}
