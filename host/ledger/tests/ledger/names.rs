//! The ids of the small world: a number for each session, binding, call; a word for each
//! capability.
#![allow(dead_code, reason = "each test binary uses its part of the words")]

use bindery_ledger::{CapabilityKey, Line, Summary};
use bindery_types::*;

pub(crate) const MINUTE: u64 = 60_000;
pub(crate) const START: u64 = 1_800_000_000_000;

pub(crate) fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn bits(kind: u8, n: u64) -> [u8; 16] {
    let mut bits = [kind; 16];
    bits[8..].copy_from_slice(&n.to_be_bytes());
    bits
}

pub(crate) fn session(n: u64) -> SessionId {
    SessionId::from_random(bits(1, n))
}

pub(crate) fn binding(n: u64) -> BindingHandle {
    BindingHandle::from_random(bits(2, n))
}

pub(crate) fn call(n: u64) -> CallId {
    CallId::from_random(bits(3, n))
}

pub(crate) fn proposal(n: u64) -> ProposalId {
    ProposalId::from_random(bits(4, n))
}

pub(crate) fn run(n: u64) -> RunId {
    RunId::from_random(bits(5, n))
}

pub(crate) fn evidence(n: u64) -> EvidenceId {
    EvidenceId::from_random(bits(6, n))
}

pub(crate) fn line(text: &str) -> Line {
    Line::new(text).unwrap()
}

pub(crate) fn summary(value: serde_json::Value) -> Summary {
    Summary::new(value).unwrap()
}

/// A build of a capability: `writer` and `reader` are the two that the world knows.
pub(crate) fn capability(name: &str) -> CapabilityKey {
    CapabilityKey {
        id: format!("acme:{name}#go").parse().unwrap(),
        implementation: Some(digest(name)),
    }
}

/// Who holds a session: even ones are alice's, odd ones bob's.
pub(crate) fn principal_of(session: u64) -> Principal {
    let name = if session.is_multiple_of(2) {
        "alice"
    } else {
        "bob"
    };
    name.parse().unwrap()
}
