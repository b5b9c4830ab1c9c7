//! What comes out of a decision: a grant, a question, or a denial, and the trace.
//!
//! Rule (R-548 … R-550, style 18): there is no fourth outcome, and a grant is made by the
//! decider alone: private fields, not `Clone`, not read from anything.
//!
//! A grant cannot be written down by whoever wants one:
//!
//! ```compile_fail,E0451
//! fn forge(mut other: bindery_policy::Grant) -> bindery_policy::Grant {
//!     bindery_policy::Grant { ttl_ms: u64::MAX, ..other }
//! }
//! ```
//!
//! nor copied, so that one decision starts one thing:
//!
//! ```compile_fail,E0599
//! fn twice(grant: &bindery_policy::Grant) -> bindery_policy::Grant {
//!     grant.clone()
//! }
//! ```
//!
//! nor read back from a record:
//!
//! ```compile_fail,E0277
//! fn restore(text: &str) -> bindery_policy::Grant {
//!     serde_json::from_str(text).unwrap()
//! }
//! ```
//!
//! nor had by default:
//!
//! ```compile_fail,E0277
//! fn made<T: Default>() -> T { T::default() }
//! fn forge() -> bindery_policy::Grant { made() }
//! ```
//!
//! It can only be taken, from a decision, and moved on:
//!
//! ```
//! fn start(decision: bindery_policy::Decision) -> Option<bindery_policy::Grant> {
//!     match decision.ruling {
//!         bindery_policy::Ruling::Allow(grant) => Some(grant),
//!         bindery_policy::Ruling::Ask(_) | bindery_policy::Ruling::Deny(_) => None,
//!     }
//! }
//! ```

use std::sync::Arc;

use bindery_types::{
    ApprovalRequirement, Budget, CapabilityId, Category, Digest, ErrorType, Moment, NextAction,
    ProposalId, Refusal, Risk, SideEffectClass,
};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::ask::Verb;
use crate::policy::RuleRef;
use crate::scope::Scope;
use crate::session::Who;
use crate::trace::{Axis, Line, Reason, Trace};
use crate::words::Verdict;

/// A decision.
#[derive(Debug)]
pub struct Decision {
    /// What follows.
    pub ruling: Ruling,
    /// How it came about; for operators and records.
    pub trace: Trace,
    /// Under which policy.
    pub policy_version: Digest,
    /// The risk it was decided for.
    pub risk: Risk,
    /// Who has to be asked, in the strictest reading.
    pub requirement: ApprovalRequirement,
}

/// The three outcomes.
#[derive(Debug)]
pub enum Ruling {
    /// The action may start.
    Allow(Grant),
    /// A proposal is made, nothing starts.
    Ask(Box<Question>),
    /// The action is blocked.
    Deny(Denial),
}

impl Decision {
    /// `allow`, `ask` or `deny`.
    pub fn verdict(&self) -> Verdict {
        match &self.ruling {
            Ruling::Allow(_) => Verdict::Allow,
            Ruling::Ask(_) => Verdict::Ask,
            Ruling::Deny(_) => Verdict::Deny,
        }
    }

    /// The refusal that the caller gets, unless it is allowed.
    pub fn refusal(&self) -> Option<Refusal> {
        match &self.ruling {
            Ruling::Allow(_) => None,
            Ruling::Ask(_) => {
                let text = Reason::ApprovalNeeded.caller_text();
                Some(
                    Refusal::new(ErrorType::ApprovalRequired, text)
                        .with("reason", Reason::ApprovalNeeded.as_str()),
                )
            }
            Ruling::Deny(denial) => Some(denial.refusal()),
        }
    }
}

/// What was decided: the only thing that lets a binding be opened or a call be run.
#[derive(Debug)]
pub struct Grant {
    pub(crate) verb: Verb,
    pub(crate) who: Arc<Who>,
    pub(crate) capability: CapabilityId,
    pub(crate) implementation: Digest,
    pub(crate) descriptor: Digest,
    pub(crate) scope: Arc<Scope>,
    pub(crate) budget: Arc<Budget>,
    pub(crate) ttl_ms: u64,
    pub(crate) approval: Option<ProposalId>,
    pub(crate) policy_version: Digest,
    pub(crate) generation: u64,
    pub(crate) catalog_version: Digest,
    pub(crate) risk: Risk,
    pub(crate) side_effect: SideEffectClass,
    pub(crate) rule: Option<Arc<RuleRef>>,
}

impl Grant {
    /// What may start.
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// For whom.
    pub fn who(&self) -> &Arc<Who> {
        &self.who
    }

    /// The capability.
    pub fn capability(&self) -> &CapabilityId {
        &self.capability
    }

    /// The implementation that was decided about.
    pub fn implementation(&self) -> Digest {
        self.implementation
    }

    /// The descriptor that was decided about.
    pub fn descriptor(&self) -> Digest {
        self.descriptor
    }

    /// What it may touch.
    pub fn scope(&self) -> &Arc<Scope> {
        &self.scope
    }

    /// Under which limits.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// How long the binding may live, in milliseconds; of a call, what is left of its lease.
    pub fn ttl_ms(&self) -> u64 {
        self.ttl_ms
    }

    /// The approval it rests on; the ledger uses it up in the transaction of the intent.
    pub fn approval(&self) -> Option<ProposalId> {
        self.approval
    }

    /// Under which policy.
    pub fn policy_version(&self) -> Digest {
        self.policy_version
    }

    /// In which generation of the environment.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// At which version of the catalogue.
    pub fn catalog_version(&self) -> Digest {
        self.catalog_version
    }

    /// Its risk.
    pub fn risk(&self) -> Risk {
        self.risk
    }

    /// Its kind of effect.
    pub fn side_effect(&self) -> SideEffectClass {
        self.side_effect
    }

    /// The rule that allowed it; for operators and records.
    pub fn rule(&self) -> Option<&RuleRef> {
        self.rule.as_deref()
    }
}

/// What has to be approved: everything an approval is bound to (I14, C-19). It is no
/// authority; the ledger makes a proposal of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Question {
    /// Once for the run, or for these arguments.
    pub requirement: ApprovalRequirement,
    /// For whom.
    #[serde(serialize_with = "who")]
    pub who: Arc<Who>,
    /// The capability.
    pub capability: CapabilityId,
    /// The implementation.
    pub implementation: Digest,
    /// The descriptor.
    pub descriptor: Digest,
    /// The generation.
    pub generation: u64,
    /// The policy.
    pub policy_version: Digest,
    /// The scope.
    pub scope_digest: Digest,
    /// The canonical arguments.
    pub arguments_digest: Option<Digest>,
    /// The risk, for the reviewer.
    pub risk: Risk,
    /// The kind of effect, for the reviewer.
    pub side_effect: SideEffectClass,
    /// When the proposal, and an approval of it, ends.
    pub expires: Moment,
}

fn who<S: Serializer>(who: &Arc<Who>, to: S) -> Result<S::Ok, S::Error> {
    who.as_ref().serialize(to)
}

/// Why it is blocked.
#[derive(Clone, Debug, PartialEq)]
pub struct Denial {
    /// The type, from the closed set.
    pub kind: ErrorType,
    /// The first axis that blocks.
    pub axis: Axis,
    /// The reason code.
    pub reason: Reason,
    /// When it may be tried again, for rates.
    pub retry_after_ms: Option<u64>,
    /// For the operator.
    pub operator: String,
}

impl Denial {
    pub(crate) fn of(axis: Axis, line: &Line) -> Self {
        Self {
            kind: line.kind.unwrap_or(ErrorType::Internal),
            axis,
            reason: line.reason,
            retry_after_ms: line.retry_after_ms,
            operator: format!("{axis}: {}", line.operator_text()),
        }
    }

    /// Whether nobody's yes could lift it: what is denied outright, never runs, is above the
    /// session's mode, or may not even be asked about any more (R-292, R-299, H54).
    fn is_final(&self) -> bool {
        matches!(
            self.reason,
            Reason::Denied
                | Reason::ArgumentsDenied
                | Reason::Blocked
                | Reason::ModeTooLow
                | Reason::NoMoreProposals
        )
    }

    /// As a refusal. The caller reads type and reason, never a rule (R-050); of what it may
    /// not know, it reads what it would read if it were not there (R-048, C-48).
    pub fn refusal(&self) -> Refusal {
        let refusal =
            Refusal::new(self.kind, self.reason.caller_text()).for_operator(self.operator.clone());
        // R-744: what is outside of agent, workspace or resources is told apart from what a
        // rule says no to, by its category beside the same type.
        let outside = matches!(self.axis, Axis::Agent | Axis::Workspace | Axis::Scope)
            && self.kind.category() == Category::BlockedPolicy;
        let refusal = match outside {
            true => refusal.in_category(Category::InvalidScope),
            false => refusal,
        };
        let silent = [
            Reason::NotVisible,
            Reason::NoLongerVisible,
            Reason::HandleInvalid,
        ];
        let refusal = match silent.contains(&self.reason) {
            true => refusal,
            false => refusal
                .with("axis", self.axis.as_str())
                .with("reason", self.reason.as_str()),
        };
        // R-753: nobody is sent to ask for what asking cannot get.
        let refusal = match self.is_final() {
            true => refusal.without(NextAction::RequestClarificationOrApproval),
            false => refusal,
        };
        match self.retry_after_ms {
            Some(ms) => refusal.with("retry_after_ms", Value::from(ms)),
            None => refusal,
        }
    }
}
