//! Plain documents and questions: everything a decision may depend on, as text and lists.
//!
//! Nothing here is the product's: `translate` turns it into a `bindery.toml` and into the
//! product's own question, `expect` decides it row by row.

use bindery_types::{
    ApprovalRequirement, BindingStatus, ExecutionState, PermissionMode, Risk, SideEffectClass,
    TrustStatus, ValidationStatus,
};
use serde_json::Value;

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Say {
    Allow,
    Ask,
    Deny,
}

/// What a condition on an argument says.
#[derive(Clone, Debug)]
pub(crate) enum Test {
    Eq(Value),
    Ne(Value),
    In(Vec<Value>),
    NotIn(Vec<Value>),
    Prefix(String),
    Host(String),
    PathUnder(String),
    Lt(i64),
    Le(i64),
    Gt(i64),
    Ge(i64),
    MaxLen(u64),
    Present,
    Absent,
}

/// A condition on the member `member` of the arguments.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub member: String,
    pub test: Test,
}

/// One `[[policy.rule]]`.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub say: Say,
    pub capabilities: Vec<String>,
    pub names: Vec<String>,
    pub namespaces: Vec<String>,
    pub principals: Option<Vec<String>>,
    pub agents: Option<Vec<String>>,
    pub archetypes: Option<Vec<String>>,
    pub modes: Option<Vec<PermissionMode>>,
    pub risks: Option<Vec<Risk>>,
    pub conditions: Vec<Condition>,
    pub grants: Vec<String>,
    pub approval: Option<ApprovalRequirement>,
}

/// What a named grant gives.
#[derive(Clone, Debug)]
pub(crate) enum Gives {
    Directory {
        write: bool,
    },
    Endpoint {
        methods: Vec<String>,
        path: String,
        credential: Option<String>,
    },
    Store {
        write: bool,
    },
    Config,
}

/// One `[grants.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub name: String,
    pub gives: Gives,
    pub raised: Option<SideEffectClass>,
}

/// One `[credentials.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct Credential {
    pub name: String,
    pub agents: Option<Vec<String>>,
    pub archetypes: Option<Vec<String>>,
}

/// One `[agents.NAME]`.
#[derive(Clone, Debug)]
pub(crate) struct AgentEntry {
    pub name: String,
    pub active: bool,
    pub tools: Option<Vec<String>>,
    pub archetypes: Option<Vec<String>>,
}

/// Whose counters a limit over many calls speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Session,
    Principal,
    Environment,
}

/// A document.
#[derive(Clone, Debug)]
pub(crate) struct Doc {
    pub namespaces: Option<Vec<String>>,
    pub providers: Option<Vec<String>>,
    pub hidden: Vec<String>,
    pub profile_allowed: Option<Vec<String>>,
    pub profile_denied: Vec<String>,
    pub agents: Vec<AgentEntry>,
    pub archetypes: Option<Vec<String>>,
    pub minimum_trust: TrustStatus,
    pub denied_effects: Vec<SideEffectClass>,
    pub raised_risks: Vec<(String, Risk)>,
    pub approvals: Vec<(Risk, ApprovalRequirement)>,
    pub grants: Vec<Grant>,
    pub credentials: Vec<Credential>,
    pub rules: Vec<Rule>,
    pub fuel_ceiling: Option<u64>,
    /// Whose, `binds`, `calls`, `proposals` or `fuel`, at most.
    pub aggregates: Vec<(Whose, String, u64)>,
    /// Whose, `binds` or `calls`, at most, in so many milliseconds.
    pub rates: Vec<(Whose, String, u64, u64)>,
    /// Stages that are on.
    pub stages: Vec<u8>,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Bind,
    Call,
    Refresh,
}

/// A wish for one grant, narrowed or as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    pub grant: String,
    /// Wanted without its right to write.
    pub read_only: bool,
    /// Endpoint only: methods wanted.
    pub methods: Option<Vec<String>>,
    /// Endpoint only: path wanted.
    pub path: Option<String>,
}

/// What a component needs: `directory`, `endpoint`, `store`, `config`.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    pub kind: &'static str,
    pub required: bool,
    pub write: bool,
}

/// The live binding of a call.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub own: bool,
    /// Which part is another's, when it is not one's own.
    pub which: u64,
    pub status: BindingStatus,
    pub expired: bool,
    pub same_capability: bool,
    pub same_environment: bool,
    pub same_generation: bool,
    pub same_catalogue: bool,
    pub same_implementation: bool,
    pub same_descriptor: bool,
    pub same_policy: bool,
    pub scope: Vec<Wish>,
}

/// An approval on record.
#[derive(Clone, Debug)]
pub(crate) struct Approved {
    /// For the whole run, or for the very arguments.
    pub for_run: bool,
    pub same_arguments: bool,
    pub same_pins: bool,
    pub same_principal: bool,
    pub same_run: bool,
    pub same_scope: bool,
    pub expired: bool,
    pub used: bool,
    /// Which of several parts differs, when one does.
    pub which: u64,
}

/// The entry asked about.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub provider: String,
    pub provider_live: bool,
    pub shown: bool,
    pub late_bound: bool,
    pub execution: Option<ExecutionState>,
    pub trust: TrustStatus,
    pub validation: ValidationStatus,
    pub risk: Option<Risk>,
    pub read_only: Option<bool>,
    pub effect: Option<SideEffectClass>,
    pub approval: Option<ApprovalRequirement>,
    pub agents: Option<Vec<String>>,
    pub archetypes: Option<Vec<String>>,
    pub credentials: Vec<String>,
    pub needs: Vec<Need>,
}

/// One question with everything the host knows.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub verb: Verb,
    pub id: String,
    pub principal: String,
    pub model: bool,
    pub agent: String,
    pub archetype: String,
    pub mode: PermissionMode,
    pub session_allow: Option<Vec<String>>,
    pub session_deny: Vec<String>,
    pub project_allow: Option<Vec<String>>,
    pub project_deny: Vec<String>,
    pub admitted: bool,
    pub asked_generation_is_current: bool,
    pub revoked: bool,
    /// Asked digest of the implementation: none, the right one, another one.
    pub implementation: Option<bool>,
    pub descriptor: Option<bool>,
    pub scope: Option<Vec<Wish>>,
    pub asked_fuel: Option<u64>,
    pub entry: Option<Entry>,
    pub held: Option<Held>,
    pub configured: Vec<String>,
    pub gate: bool,
    pub arguments: Value,
    pub approvals: Vec<Approved>,
    /// Whose, name, used.
    pub used: Vec<(Whose, String, u64)>,
    /// Whose, name, so many since so many milliseconds ago.
    pub windows: Vec<(Whose, String, u64, u64)>,
}

/// What has to come out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub word: &'static str,
    /// Every axis that blocks, in order, with its error type.
    pub blocked: Vec<(&'static str, &'static str)>,
    /// Of the first block, when it is a rate.
    pub retry_after_ms: Option<u64>,
    /// Of an allow, what may be touched.
    pub scope: Option<Vec<Wish>>,
    /// Of an allow, whether it uses an approval.
    pub approved: bool,
}
