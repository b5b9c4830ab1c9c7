//! Why an event was not accepted: the state says no, and stays as it was (I42).

use bindery_types::{CallId, ErrorType, Moment, Refusal};

use crate::key::{BucketKey, Target};
use crate::words::{CallEnd, Lifecycle, ProposalStatus, RunStatus, Trigger};

/// A refusal of [`State::apply`](crate::State::apply).
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Rejection {
    /// A record out of its place.
    #[error("record {got} cannot follow record {last}")]
    OutOfOrder {
        /// the last sequence applied
        last: u64,
        /// the sequence given
        got: u64,
    },
    /// The cause of a record is not an earlier record.
    #[error("record {got} cannot follow from record {follows}, which is not earlier")]
    CauseNotEarlier {
        /// the record's own sequence
        got: u64,
        /// the sequence it names
        follows: u64,
    },
    /// The actor's rights do not reach.
    #[error("`{kind}` needs operator rights")]
    RightsMissing {
        /// the kind of event
        kind: &'static str,
    },
    /// The record speaks for somebody else's session.
    #[error("the record is not in the name of the session's principal")]
    ForeignSession,
    /// Something that does not exist, or not for this session (C-48).
    #[error("no such {what}")]
    Unknown {
        /// the kind of thing
        what: &'static str,
    },
    /// Something that exists already.
    #[error("this {what} exists already")]
    Duplicate {
        /// the kind of thing
        what: &'static str,
    },
    /// No environment is admitted, or its time is over.
    #[error("no environment is admitted at this moment")]
    NoEnvironment,
    /// A pin differs from what is current.
    #[error("the {pin} is not the current one")]
    PinDiffers {
        /// which pin
        pin: &'static str,
        /// what that says about a binding
        trigger: Trigger,
    },
    /// A move that the table of lifecycles does not have.
    #[error("`{from}` cannot become `{to}`")]
    Transition {
        /// where it stands
        from: Lifecycle,
        /// where it was to go
        to: Lifecycle,
    },
    /// A precondition of a move is missing.
    #[error("{what} is missing")]
    Missing {
        /// the precondition
        what: &'static str,
    },
    /// A value that does not belong into the event.
    #[error("{what}")]
    Malformed {
        /// what is wrong
        what: &'static str,
    },
    /// The binding is not callable.
    #[error("the binding is `{status}` since record {since}")]
    NotBound {
        /// what it is
        status: Lifecycle,
        /// why
        trigger: Trigger,
        /// the record that ended it
        since: u64,
    },
    /// The lease is over.
    #[error("the lease ended at {until}")]
    LeaseOver {
        /// its end
        until: Moment,
    },
    /// A lease would outlive what it hangs on (I10).
    #[error("a lease until {asked} outlives its {limit_of}, which ends at {until}")]
    LeaseTooLong {
        /// the end asked for
        asked: Moment,
        /// whose end is the limit
        limit_of: &'static str,
        /// that end
        until: Moment,
    },
    /// A switch is on.
    #[error("authority was withdrawn by a switch")]
    SwitchedOff {
        /// what the switch hits
        target: Target,
    },
    /// Policy did not say what the event needs.
    #[error("the decision does not say `{needed}`")]
    Verdict {
        /// the word needed
        needed: &'static str,
    },
    /// Late-bound writes are not accepted here yet (C-54).
    #[error("the write gate is closed: no evaluation and no operator's statement is recorded")]
    WriteGate,
    /// An aggregate budget or a rate has too little left.
    #[error("budget `{}` of {} allows {limit}, {used} is used or reserved, {asked} is asked", .bucket.meter, scope(.bucket))]
    Budget {
        /// which
        bucket: Box<BucketKey>,
        /// its limit
        limit: u64,
        /// spent and reserved
        used: u64,
        /// asked now
        asked: u64,
        /// when asking again can help: at the end of a rate's window
        retry_after_ms: Option<u64>,
    },
    /// The parent's share of a meter has too little left.
    #[error("the calling capability has {left} of `{meter}` left, {asked} is asked")]
    ParentBudget {
        /// which meter
        meter: crate::words::Meter,
        /// what is left
        left: u64,
        /// what is asked
        asked: u64,
    },
    /// The key is taken by a call that runs.
    #[error("the call of this idempotency key is still running")]
    InProgress {
        /// that call
        call: CallId,
    },
    /// The key's effect has happened; its outcome stands.
    #[error("the call of this idempotency key has ended, its outcome stands")]
    AlreadyDone {
        /// that call
        call: CallId,
        /// how it ended
        end: CallEnd,
    },
    /// Nobody knows whether the key's effect has happened.
    #[error("the call of this idempotency key has an unknown outcome and must be reconciled first")]
    OutcomeUnknown {
        /// that call
        call: CallId,
    },
    /// The key was used for other arguments.
    #[error("the idempotency key was used with other arguments")]
    KeyConflict,
    /// The proposal is not usable in the way it was to be used.
    #[error("the proposal is `{status}`")]
    Proposal {
        /// where it stands
        status: ProposalStatus,
    },
    /// The approval is for another action (I14).
    #[error("the approval is for another {field}")]
    ApprovalDiffers {
        /// the first field that differs
        field: &'static str,
    },
    /// The end of a call with effects must be said to be unknown (C-39).
    #[error("a call with effects that ended like this is uncertain")]
    MustBeUncertain,
    /// Children of the call still run.
    #[error("calls made by this call are still running")]
    ChildrenRunning,
    /// A move that the table of runs does not have.
    #[error("a run that is `{from}` cannot become `{to}`")]
    RunTransition {
        /// where it stands
        from: RunStatus,
        /// where it was to go
        to: RunStatus,
    },
    /// A run is completed by what was done in it, and by nothing else.
    #[error("no action of the run came to a value, so it is not completed")]
    NothingDone,
    /// What the call runs is of another provider than its run's.
    #[error("the run uses the implementations of another provider")]
    ProviderOutside,
    /// The agent may not create this run.
    #[error("the agent cannot create this run: {why}")]
    RunRefused {
        /// why
        why: &'static str,
    },
}

fn scope(bucket: &BucketKey) -> &'static str {
    match &bucket.scope {
        crate::key::BudgetScope::Session(_) => "the session",
        crate::key::BudgetScope::Principal(_, _) => "the principal",
        crate::key::BudgetScope::Environment => "the environment",
    }
}

impl Rejection {
    /// The refusal type that says the same to a caller.
    pub fn kind(&self) -> ErrorType {
        match self {
            Self::NoEnvironment => ErrorType::EnvironmentUnavailable,
            Self::PinDiffers { trigger, .. } => stale(*trigger),
            Self::Unknown { .. } | Self::ForeignSession => ErrorType::HandleInvalid,
            Self::NotBound { status, .. } => match status {
                Lifecycle::Revoked => ErrorType::CapabilityRevoked,
                Lifecycle::Unavailable => ErrorType::CapabilityUnavailable,
                Lifecycle::Discovered
                | Lifecycle::Described
                | Lifecycle::StructurallyValid
                | Lifecycle::Probed
                | Lifecycle::Bindable
                | Lifecycle::Rejected
                | Lifecycle::Bound
                | Lifecycle::Stale
                | Lifecycle::Released => ErrorType::BindingStale,
            },
            Self::LeaseOver { .. } => ErrorType::BindingStale,
            Self::SwitchedOff { .. } => ErrorType::CapabilityRevoked,
            Self::RightsMissing { .. } => ErrorType::PermissionDenied,
            Self::Transition { .. }
            | Self::Missing { .. }
            | Self::LeaseTooLong { .. }
            | Self::WriteGate => ErrorType::BindingDenied,
            Self::Budget { .. } | Self::ParentBudget { .. } => ErrorType::BudgetExhausted,
            Self::InProgress { .. } => ErrorType::Busy,
            Self::OutcomeUnknown { .. } | Self::MustBeUncertain => ErrorType::UncertainSideEffect,
            Self::KeyConflict | Self::AlreadyDone { .. } => ErrorType::IdempotencyConflict,
            Self::Proposal { .. } | Self::ApprovalDiffers { .. } => ErrorType::ApprovalRequired,
            Self::RunTransition { .. } | Self::RunRefused { .. } | Self::NothingDone => {
                ErrorType::RunTransitionInvalid
            }
            Self::ProviderOutside => ErrorType::PermissionDenied,
            Self::OutOfOrder { .. }
            | Self::CauseNotEarlier { .. }
            | Self::Duplicate { .. }
            | Self::Malformed { .. }
            | Self::Verdict { .. }
            | Self::ChildrenRunning => ErrorType::Internal,
        }
    }

    /// The refusal that a caller gets.
    pub fn refusal(&self) -> Refusal {
        let refusal = Refusal::new(self.kind(), self.to_string());
        match self {
            Self::Budget {
                bucket,
                limit,
                used,
                retry_after_ms,
                ..
            } => {
                let refusal = refusal
                    .with("limit", bucket.meter.as_str())
                    .with("value", *limit)
                    .with("used", *used);
                match retry_after_ms {
                    Some(ms) => refusal.with("retry_after_ms", *ms),
                    None => refusal,
                }
            }
            Self::OutcomeUnknown { call } => refusal
                .with("uncertain_call", call.to_string())
                .for_operator(format!("`bindery reconcile {call}` settles it")),
            Self::ParentBudget { meter, left, .. } => {
                refusal.with("limit", meter.as_str()).with("left", *left)
            }
            _ => refusal,
        }
    }
}

/// A pin that differs is the binding's staleness, but for the two that have words of
/// their own on the wire.
fn stale(trigger: Trigger) -> ErrorType {
    match trigger {
        Trigger::EnvironmentGenerationExpired => ErrorType::EnvironmentGenerationChanged,
        Trigger::CapabilityEntryChanged => ErrorType::CatalogChanged,
        Trigger::DescriptorDigestChanged | Trigger::ImplementationDigestChanged => {
            ErrorType::DescriptorMismatch
        }
        Trigger::CatalogueUnverifiable
        | Trigger::SchemaDigestChanged
        | Trigger::DependencyDigestChanged
        | Trigger::AuthenticationRevoked
        | Trigger::AuthorizationRevoked
        | Trigger::TenantChanged
        | Trigger::UserChanged
        | Trigger::TaskChanged
        | Trigger::ResourceScopeChanged
        | Trigger::ApprovalScopeChanged
        | Trigger::LeaseExpired
        | Trigger::SessionExpired
        | Trigger::EvidenceStale
        | Trigger::EvidenceContradictory
        | Trigger::SemanticDrift
        | Trigger::UnexpectedSideEffect
        | Trigger::PolicyVersionChanged
        | Trigger::DependencyInvalidated
        | Trigger::ParentEnded
        | Trigger::ProviderGone
        | Trigger::ReleaseRequested
        | Trigger::SessionEnded
        | Trigger::HostRestarted => ErrorType::BindingStale,
    }
}
