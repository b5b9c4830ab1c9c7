//! Calls: what was decided, what was claimed before the start, how it ended.

use std::collections::BTreeMap;

use bindery_types::{
    ApprovalRequirement, BindingHandle, CallId, Digest, Effect, ErrorType, IdempotencyKey, Moment,
    ProposalId, Risk, RunId, SessionId,
};
use serde::{Deserialize, Serialize};

use crate::key::CapabilityKey;
use crate::text::{Line, Summary};
use crate::words::{CallEnd, Doubt, Effectful, Finding, Meter, Phase, Step, Verdict};

/// So much of each meter.
pub type Amounts = BTreeMap<Meter, u64>;

/// What policy said, as data: the ledger keeps it and checks that it is current (I11), and
/// never makes one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// Allow, ask or deny.
    pub verdict: Verdict,
    /// The axis that decided.
    pub axis: Line,
    /// Digest of the rule that decided, when a rule did.
    pub rule: Option<Digest>,
    /// The rules that were current when it was made.
    pub policy_version: Digest,
    /// Who has to be asked, in the strictest reading.
    pub requirement: ApprovalRequirement,
    /// The risk of this action, with these arguments.
    pub risk: Risk,
    /// Every axis with its verdict, for the operator.
    pub trace: Summary,
}

/// A call ended before policy could let it start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRefused {
    /// Which.
    pub call: CallId,
    /// Under which binding, when the handle was one of the session's.
    pub binding: Option<BindingHandle>,
    /// Of what, when that is known.
    pub capability: Option<CapabilityKey>,
    /// In which run.
    pub run: Option<RunId>,
    /// At which step.
    pub step: Step,
    /// How.
    pub error: ErrorType,
}

/// Policy said ask or deny; nothing started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallDecided {
    /// Which.
    pub call: CallId,
    /// Under which binding.
    pub binding: BindingHandle,
    /// Of what.
    pub capability: CapabilityKey,
    /// In which run.
    pub run: Option<RunId>,
    /// Digest of the canonical arguments.
    pub arguments: Digest,
    /// What a reviewer sees of them, redacted.
    pub input: Summary,
    /// What policy said.
    pub decision: Decision,
    /// How the caller was refused.
    pub error: ErrorType,
}

/// The caller's wish that requests with one key be one effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Idempotent {
    /// The key.
    pub key: IdempotencyKey,
    /// When a known outcome may be forgotten; an unknown one is not.
    pub expires_at: Moment,
}

/// Everything that a call claims before it starts, in one record and so in one
/// transaction: decision, reservation, approval and idempotency key (I14 … I18).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallIntent {
    /// Which.
    pub call: CallId,
    /// Whose.
    pub session: SessionId,
    /// Under which binding.
    pub binding: BindingHandle,
    /// The call that made it.
    pub parent: Option<CallId>,
    /// The run it is an action of.
    pub run: Option<RunId>,
    /// Its place in the run, from 1; 0 where there is no run, and on the way to the
    /// journal, which counts.
    pub step: u64,
    /// What runs: exactly what the binding pins (I9).
    pub capability: CapabilityKey,
    /// Whether it can have effects.
    pub effectful: Effectful,
    /// Digest of the canonical arguments (C-56).
    pub arguments: Digest,
    /// What a reviewer sees of them, redacted.
    pub input: Summary,
    /// What policy said: allow.
    pub decision: Decision,
    /// The most it may spend, of each meter; a child's share is its parent's.
    pub reserve: Amounts,
    /// The approval it uses up, where one is required.
    pub approval: Option<ProposalId>,
    /// The caller's key.
    pub idempotency: Option<Idempotent>,
    /// When it was asked for.
    pub asked_at: Moment,
    /// When it was decided.
    pub decided_at: Moment,
}

/// A result, by reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputRef {
    /// Digest of its text.
    pub digest: Digest,
    /// Bytes of its text.
    pub bytes: u64,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallOutcome {
    /// Which.
    pub call: CallId,
    /// How.
    pub end: CallEnd,
    /// The type of its failure, if it failed.
    pub error: Option<ErrorType>,
    /// What the operator may read of the failure, redacted.
    pub message: Option<Line>,
    /// What it spent, its children included.
    pub spent: Amounts,
    /// Its result or its own error, by reference.
    pub output: Option<OutputRef>,
    /// Digest of the canonical receipt.
    pub receipt: Option<Digest>,
    /// What it touched.
    pub effects: Vec<Effect>,
    /// Effects counted but not kept.
    pub effects_dropped: u64,
}

/// A call with possible effects ended in a way that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallUncertain {
    /// Which.
    pub call: CallId,
    /// Why.
    pub doubt: Doubt,
    /// What it is known to have touched.
    pub effects: Vec<Effect>,
    /// Effects counted but not kept.
    pub effects_dropped: u64,
}

/// A person found out what an uncertain call did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallReconciled {
    /// Which.
    pub call: CallId,
    /// What it did.
    pub finding: Finding,
    /// How that is known.
    pub evidence: Line,
}

/// An embedder's hook said no.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookVetoed {
    /// Of which call.
    pub call: CallId,
    /// Which hook.
    pub hook: Line,
    /// Before or after the run.
    pub phase: Phase,
}

/// A result was withheld from the caller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScreeningWithheld {
    /// Of which call.
    pub call: CallId,
    /// How many places looked like secrets; 0 when the screening itself failed.
    pub findings: u64,
}
