//! The trace of a decision: one line for each axis, always all of them, in order.
//!
//! Rule (R-269, C-27): no axis decides alone and none is left out. A line has a reason code
//! and a text for the caller that names no rule, and for the operator the rule, why
//! it is there, and the figures.

use std::sync::Arc;

use bindery_types::{ErrorType, words};
use serde_json::{Value, json};

use crate::policy::RuleRef;

words! {
    /// An axis, in the order of evaluation.
    Axis, "an axis" {
        /// Whether the handle is this session's.
        Handle = "handle",
        /// Whether an environment is admitted, and at which generation.
        Environment = "environment",
        /// Whether whoever asks may know of the capability.
        Visibility = "visibility",
        /// Whether authority was withdrawn.
        Revocation = "revocation",
        /// Whether the stage is on.
        Stage = "stage",
        /// Whether what the binding pins still holds.
        Binding = "binding",
        /// Whether it runs.
        ExecutionState = "execution_state",
        /// What it may touch.
        Scope = "scope",
        /// Whether its provider answers.
        Provider = "provider",
        /// Whether its credentials are there.
        Credential = "credential",
        /// Whether any scope denies it.
        Deny = "deny",
        /// Whether every scope allows it.
        Allow = "allow",
        /// Whether the agent may use it.
        Agent = "agent",
        /// Whether it may be used in this workspace.
        Workspace = "workspace",
        /// Who vouches for it.
        Trust = "trust",
        /// How far it was examined.
        Validation = "validation",
        /// Whether its contract agrees with itself.
        Contract = "contract",
        /// Whether the permission mode covers its risk.
        Mode = "mode",
        /// Whether its kind of effect is acceptable here.
        Effect = "effect",
        /// Whether late-bound writes were accepted.
        WriteGate = "write_gate",
        /// Whether the arguments are acceptable.
        Arguments = "arguments",
        /// Whether something is left to use.
        Budget = "budget",
        /// Whether it is asked too often.
        Rate = "rate",
        /// Whether somebody has to say yes, and did.
        Approval = "approval",
    }
}

words! {
    /// What an axis says.
    AxisVerdict, "an axis verdict" {
        /// Nothing against it.
        Pass = "pass",
        /// Somebody has to approve.
        Ask = "ask",
        /// No.
        Block = "block",
        /// There is nothing to look at.
        Unknown = "unknown",
    }
}

macro_rules! reasons {
    ($( $variant:ident $code:literal $text:literal )+) => {
        words! {
            /// Why an axis says what it says.
            Reason, "a reason" { $( #[doc = $text] $variant = $code, )+ }
        }

        impl Reason {
            /// The sentence for the caller; it names no rule and no figure of the host's.
            pub fn caller_text(self) -> &'static str {
                match self { $( Self::$variant => $text, )+ }
            }
        }
    };
}

reasons! {
    Ok "ok" "nothing against it"
    NotConcerned "not_concerned" "this is not looked at here"
    NoEntry "no_entry" "there is nothing to look at"
    HandleInvalid "handle_invalid" "no such handle in this session"
    EnvironmentMissing "environment_missing" "no environment is admitted"
    GenerationChanged "generation_changed" "the environment has changed since"
    NotVisible "not_visible" "no such capability can be called here"
    NoLongerVisible "no_longer_visible" "the binding is stale"
    Revoked "revoked" "authority for this was withdrawn"
    StageOff "stage_off" "this is switched off here"
    DigestMissing "digest_missing" "a binding names the implementation it wants by its digest"
    DigestDiffers "digest_differs" "the digest is not the current one"
    LeaseOver "lease_over" "the lease of the binding is over"
    BindingStale "binding_stale" "the binding is stale"
    BindingUnavailable "binding_unavailable" "what the binding stands for is not available"
    PinChanged "pin_changed" "what the binding rests on has changed"
    ContractOnly "contract_only" "it is described, but nothing runs"
    Planned "planned" "it is planned, nothing runs"
    StateUnknown "state_unknown" "nothing is known to run"
    ScopeUnavailable "scope_unavailable" "the scope that was asked for is not available"
    ScopeAmbiguous "scope_ambiguous" "several grants would do, the scope has to name one"
    ScopeInsufficient "scope_insufficient" "it needs something that is not granted"
    ScopeLost "scope_lost" "the scope of the binding is no longer granted"
    ScopeNarrowed "scope_narrowed" "the scope was narrowed to what is granted"
    ProviderDown "provider_down" "its provider does not answer"
    CredentialMissing "credential_missing" "a credential that it needs is not configured"
    Denied "denied" "it is denied here"
    NotAllowed "not_allowed" "nothing allows it here"
    AgentUnknown "agent_unknown" "the agent is not registered"
    AgentStub "agent_stub" "the agent has no implementation"
    AgentNotAllowed "agent_not_allowed" "it is not for this agent"
    ArchetypeNotAllowed "archetype_not_allowed" "it is not for this kind of workspace"
    NotTrusted "not_trusted" "where it comes from is not trusted enough"
    NotValidated "not_validated" "it was not validated as far as this needs"
    ContractDisagrees "contract_disagrees" "its contract contradicts itself"
    ModeTooLow "mode_too_low" "the permission mode of the session does not cover its risk"
    EffectDenied "effect_denied" "this kind of effect is not accepted here"
    GateClosed "gate_closed" "writes of late-bound capabilities were not accepted here"
    ArgumentsDenied "arguments_denied" "these arguments are denied here"
    ArgumentsNotAllowed "arguments_not_allowed" "nothing allows these arguments here"
    AboveCeiling "above_ceiling" "a limit was asked for above its ceiling"
    Spent "spent" "a budget is used up"
    TooOften "too_often" "it is asked too often"
    Blocked "blocked" "it never runs here"
    NoApprovalDeclared "no_approval_declared" "it does not say whether it needs approval"
    AskedAtCall "asked_at_call" "each call will need an approval"
    ApprovalNeeded "approval_needed" "an operator has to approve this first"
    Approved "approved" "it was approved"
    NoMoreProposals "no_more_proposals" "too many approvals are asked for"
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What the axis says.
    pub verdict: AxisVerdict,
    /// Why.
    pub reason: Reason,
    /// The type of the refusal, when it blocks or asks.
    pub kind: Option<ErrorType>,
    /// The rule behind it.
    pub rule: Option<Arc<RuleRef>>,
    /// Figures and names, for the operator.
    pub note: Option<Box<str>>,
    /// When it may be tried again.
    pub retry_after_ms: Option<u64>,
}

impl Line {
    pub(crate) fn pass() -> Self {
        Self::of(AxisVerdict::Pass, Reason::Ok, None)
    }

    pub(crate) fn because(reason: Reason) -> Self {
        Self::of(AxisVerdict::Pass, reason, None)
    }

    pub(crate) fn unknown() -> Self {
        Self::of(AxisVerdict::Unknown, Reason::NoEntry, None)
    }

    pub(crate) fn block(kind: ErrorType, reason: Reason) -> Self {
        Self::of(AxisVerdict::Block, reason, Some(kind))
    }

    pub(crate) fn ask() -> Self {
        Self::of(
            AxisVerdict::Ask,
            Reason::ApprovalNeeded,
            Some(ErrorType::ApprovalRequired),
        )
    }

    fn of(verdict: AxisVerdict, reason: Reason, kind: Option<ErrorType>) -> Self {
        Self {
            verdict,
            reason,
            kind,
            rule: None,
            note: None,
            retry_after_ms: None,
        }
    }

    pub(crate) fn note(mut self, note: impl Into<Box<str>>) -> Self {
        self.note = Some(note.into());
        self
    }

    pub(crate) fn by(mut self, rule: &Arc<RuleRef>) -> Self {
        self.rule = Some(Arc::clone(rule));
        self
    }

    pub(crate) fn blocks(&self) -> bool {
        self.verdict == AxisVerdict::Block
    }

    /// What the operator reads: the caller's sentence, the figures, the rule and its reason.
    pub fn operator_text(&self) -> String {
        let mut text = self.reason.caller_text().to_owned();
        if let Some(note) = &self.note {
            text.push_str(": ");
            text.push_str(note);
        }
        if let Some(rule) = &self.rule {
            text.push_str(&format!(" ({}:{}, {}", rule.file, rule.line, rule.decision));
            if !rule.why.is_empty() {
                text.push_str(&format!(": {}", rule.why));
            }
            text.push(')');
        }
        text
    }
}

/// All lines, one for each axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// On the heap, since decisions are passed on.
    pub(crate) lines: Box<[Line; Axis::ALL.len()]>,
}

impl Trace {
    /// The lines with their axes, in the order of evaluation.
    pub fn lines(&self) -> impl Iterator<Item = (Axis, &Line)> {
        Axis::ALL.iter().copied().zip(self.lines.iter())
    }

    /// The first axis that blocks.
    pub fn first_block(&self) -> Option<(Axis, &Line)> {
        self.lines().find(|(_, line)| line.blocks())
    }

    /// The line of `axis`.
    pub fn line(&self, axis: Axis) -> Option<&Line> {
        self.lines()
            .find(|(of, _)| *of == axis)
            .map(|(_, line)| line)
    }

    /// The whole trace, for operators and records: a list of objects.
    pub fn to_json(&self) -> Value {
        let line = |(axis, line): (Axis, &Line)| {
            json!({
                "axis": axis,
                "verdict": line.verdict,
                "reason": line.reason,
                "error": line.kind,
                "rule": line.rule.as_deref(),
                "note": line.note,
                "retry_after_ms": line.retry_after_ms,
                "text": line.operator_text(),
            })
        };
        self.lines().map(line).collect()
    }

    /// The same as text, one line an axis.
    pub fn to_text(&self) -> String {
        let line = |(axis, line): (Axis, &Line)| {
            format!(
                "{:<16} {:<8} {:<22} {}\n",
                axis.as_str(),
                line.verdict.as_str(),
                line.reason.as_str(),
                line.operator_text()
            )
        };
        self.lines().map(line).collect()
    }
}
