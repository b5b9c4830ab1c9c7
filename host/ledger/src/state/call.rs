//! A call that runs or is uncertain, and the keys that make requests one effect.

use bindery_types::{BindingHandle, CallId, Digest, Moment, Principal, RunId, SessionId, Tenant};
use serde::{Deserialize, Serialize};

use crate::event::{Amounts, OutputRef};
use crate::key::{CapabilityKey, EffectKey};
use crate::words::{CallEnd, Effectful, Trigger};

/// A call that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Whose.
    pub session: SessionId,
    /// Whose data.
    pub tenant: Tenant,
    /// Who asked.
    pub principal: Principal,
    /// Under which binding.
    pub binding: BindingHandle,
    /// The call that made it.
    pub parent: Option<CallId>,
    /// The run it is an action of.
    pub run: Option<RunId>,
    /// What runs.
    pub capability: CapabilityKey,
    /// Whether it can have effects.
    pub effectful: Effectful,
    /// The key it holds.
    pub key: Option<EffectKey>,
    /// Whether it runs.
    pub standing: CallStanding,
    /// What it holds of the aggregate budgets, or of its parent.
    pub reserve: Amounts,
    /// What its running children hold of it.
    pub children_reserve: Amounts,
    /// What its ended children spent of it.
    pub children_spent: Amounts,
    /// How many children run.
    pub children_running: u64,
    /// What ended its binding while it ran; its result is kept, and marked.
    pub overtaken: Option<Trigger>,
    /// When it started.
    pub started_at: Moment,
    /// The record that started it.
    pub started_by: u64,
}

/// Whether a started call runs, or nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStanding {
    /// It runs.
    Running,
    /// It has ended in a way that nobody knows.
    Uncertain,
}

/// What an idempotency key stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EffectEntry {
    /// Digest of the canonical arguments.
    pub arguments: Digest,
    /// The call that holds it.
    pub call: CallId,
    /// Where that call stands.
    pub standing: EffectStanding,
    /// When a known outcome may be forgotten.
    pub expires_at: Moment,
}

/// Where the call of an idempotency key stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectStanding {
    /// It runs.
    InProgress,
    /// It ended; every repetition gets this.
    Ended {
        /// How.
        end: CallEnd,
        /// With which result.
        output: Option<OutputRef>,
        /// The record that says so.
        by: u64,
    },
    /// It ended before any effect; it may run again.
    FailedBeforeEffect,
    /// Nobody knows; it may not run again before somebody found out (I17).
    Unknown,
}
