//! What is asked, and what the host knows at that moment.
//!
//! Rule: a decision sees nothing else. Whatever a model, a descriptor or a result says is
//! not in here; digests, states, counters and time are given by the host.

use std::sync::Arc;

use bindery_types::{
    Agent, ApprovalRequirement, Archetype, BindingStatus, Budget, CapabilityId, CredentialName,
    Digest, EnvironmentId, ExecutionState, Moment, Principal, ProposalId, Provider, RunId,
    SessionId, Tenant, TrustStatus, ValidationStatus, words,
};
use serde_json::Value;

use crate::risk::Declared;
use crate::scope::{Scope, ScopeRequest};
use crate::session::Session;
use crate::words::{Counter, GrantKind, Subject};

words! {
    /// What a decision is about.
    Verb, "a verb" {
        /// A new binding.
        Bind = "bind",
        /// One call through a live binding.
        Call = "call",
        /// A live binding under a new policy or catalogue (C-53).
        Refresh = "refresh",
    }
}

words! {
    /// How a capability came to be callable (C-43, C-51).
    Registration, "a registration" {
        /// By the host, before the session.
        Static = "static",
        /// By discovery.
        LateBound = "late_bound",
    }
}

words! {
    /// What a revocation was aimed at (H56).
    Switch, "a revocation" {
        /// One binding.
        Handle = "handle",
        /// One capability.
        Capability = "capability",
        /// One implementation.
        Digest = "digest",
        /// One publisher.
        Namespace = "namespace",
        /// One principal.
        Principal = "principal",
        /// Everything.
        All = "all",
    }
}

/// One question.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// What it is about.
    pub verb: Verb,
    /// Whose question it is.
    pub session: &'a Session,
    /// Of which capability.
    pub capability: &'a CapabilityId,
    /// The environment generation that the question speaks of, when it says one.
    pub generation: Option<u64>,
    /// The implementation it wants; a model has to say one to bind.
    pub implementation: Option<Digest>,
    /// The descriptor it wants.
    pub descriptor: Option<Digest>,
    /// The scope it wants; none for the least. Only a bind is asked with one.
    pub scope: Option<&'a ScopeRequest>,
    /// The canonical arguments of a call.
    pub arguments: Option<&'a Value>,
    /// Their digest.
    pub arguments_digest: Option<Digest>,
    /// When it is asked.
    pub now: Moment,
}

/// What the host knows.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The environment, if one is admitted.
    pub environment: Option<EnvironmentFacts<'a>>,
    /// The entry, if there is one.
    pub entry: Option<&'a EntryFacts<'a>>,
    /// The binding of a call or a refresh.
    pub binding: Option<&'a BindingFacts<'a>>,
    /// A revocation that meets this question.
    pub revoked: Option<Switch>,
    /// Credentials that are configured and not revoked.
    pub credentials: &'a [CredentialName],
    /// Whether late-bound writes were accepted (C-54).
    pub write_gate: bool,
    /// Approvals of this capability that are on record.
    pub approvals: &'a [ApprovalFacts<'a>],
    /// What was used so far.
    pub used: &'a Used,
    /// Windows of rates that are open.
    pub windows: &'a [Window],
}

/// The environment as it is.
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentFacts<'a> {
    /// Its id.
    pub id: &'a EnvironmentId,
    /// Its generation.
    pub generation: u64,
    /// The catalogue's version.
    pub catalog_version: Digest,
}

/// A catalogue entry as the host holds it.
#[derive(Clone, Copy, Debug)]
pub struct EntryFacts<'a> {
    /// SHA-256 of what would run.
    pub implementation: Digest,
    /// SHA-256 of the descriptor.
    pub descriptor: Digest,
    /// Who provides it.
    pub provider: Option<&'a Provider>,
    /// Whether the provider answers.
    pub provider_live: bool,
    /// Whether its source lets it be seen.
    pub shown: bool,
    /// How it came to be callable.
    pub registration: Registration,
    /// Whether it runs; unknown counts as no.
    pub execution: Option<ExecutionState>,
    /// Who vouches for it.
    pub trust: TrustStatus,
    /// How far it was examined.
    pub validation: ValidationStatus,
    /// What it declares of its effects.
    pub declared: Declared,
    /// What it declares of approval; nothing counts as the strictest.
    pub approval: Option<ApprovalRequirement>,
    /// Agents it is for: none = any, empty = none (C-65).
    pub allowed_agents: Option<&'a [Agent]>,
    /// Archetypes it is for.
    pub allowed_archetypes: Option<&'a [Archetype]>,
    /// Credentials it needs.
    pub credentials: &'a [CredentialName],
    /// What it needs to be granted.
    pub needs: &'a [Need],
}

/// A kind of grant that an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Which.
    pub kind: GrantKind,
    /// Whether it does not start without one (C-46).
    pub required: bool,
    /// Whether it needs to change what it is given.
    pub write: bool,
}

/// A live binding: everything it pins (R-478 … R-492).
#[derive(Clone, Copy, Debug)]
pub struct BindingFacts<'a> {
    /// The session it was given to.
    pub session: SessionId,
    /// The principal.
    pub principal: &'a Principal,
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Where it stands.
    pub status: BindingStatus,
    /// When its lease ends.
    pub expires: Moment,
    /// The capability.
    pub capability: &'a CapabilityId,
    /// The environment.
    pub environment: &'a EnvironmentId,
    /// Its generation.
    pub generation: u64,
    /// The catalogue's version.
    pub catalog_version: Digest,
    /// The implementation.
    pub implementation: Digest,
    /// The descriptor.
    pub descriptor: Digest,
    /// The policy's version.
    pub policy_version: Digest,
    /// What it may touch.
    pub scope: &'a Arc<Scope>,
    /// Its digest, computed when it was bound.
    pub scope_digest: Digest,
    /// The limits of its calls.
    pub budget: &'a Arc<Budget>,
}

/// An approval on record (C-19).
#[derive(Clone, Copy, Debug)]
pub struct ApprovalFacts<'a> {
    /// The proposal that was answered.
    pub proposal: ProposalId,
    /// What it covers.
    pub covers: Covers,
    /// The capability.
    pub capability: &'a CapabilityId,
    /// The implementation.
    pub implementation: Digest,
    /// The descriptor.
    pub descriptor: Digest,
    /// The generation.
    pub generation: u64,
    /// The policy's version.
    pub policy_version: Digest,
    /// The scope.
    pub scope_digest: Digest,
    /// Who asked.
    pub principal: &'a Principal,
    /// For whom.
    pub tenant: &'a Tenant,
    /// In which session.
    pub session: SessionId,
    /// In which run, where the embedder opens runs.
    pub run: Option<RunId>,
    /// In which kind of workspace.
    pub archetype: &'a Archetype,
    /// When it ends.
    pub expires: Moment,
    /// Whether it was used.
    pub used: bool,
}

/// What an approval covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covers {
    /// Every call of the same scope in the same run: `confirm_once`.
    Run,
    /// One call with arguments of this digest: `confirm_every_time`.
    Arguments(Digest),
}

/// Counters over many calls, by whose they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    counts: [[u64; Counter::ALL.len()]; Subject::ALL.len()],
}

fn at(subject: Subject, counter: Counter) -> (usize, usize) {
    let place = |found: Option<usize>| found.unwrap_or_default();
    (
        place(Subject::ALL.iter().position(|known| *known == subject)),
        place(Counter::ALL.iter().position(|known| *known == counter)),
    )
}

impl Used {
    /// What `subject` used of `counter`.
    pub fn get(&self, subject: Subject, counter: Counter) -> u64 {
        let (row, column) = at(subject, counter);
        self.counts
            .get(row)
            .and_then(|row| row.get(column))
            .copied()
            .unwrap_or_default()
    }

    /// The same with `count` for `counter` of `subject`.
    #[must_use]
    pub fn with(mut self, subject: Subject, counter: Counter, count: u64) -> Self {
        let (row, column) = at(subject, counter);
        if let Some(cell) = self.counts.get_mut(row).and_then(|row| row.get_mut(column)) {
            *cell = count;
        }
        self
    }
}

/// A window of a rate: how many since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Whose.
    pub subject: Subject,
    /// Of what.
    pub counter: Counter,
    /// When it was opened.
    pub opened: Moment,
    /// How many since.
    pub count: u64,
}
