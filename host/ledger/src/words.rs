//! The closed sets of words that records are made of.
//!
//! Rule (C-16, architecture § 8): each set is complete, spelled with underscores, and
//! matched without a catch-all, so that a new word is a compile error everywhere it counts.

use bindery_types::words;

words! {
    /// What a statement rests on (R-788 … R-791).
    Basis, "a basis" {
        /// The host saw it happen.
        Observed = "observed",
        /// Somebody wrote it about themselves.
        Declared = "declared",
        /// A model concluded it.
        Inferred = "inferred",
        /// The host's rules say so.
        Policy = "policy",
    }
}

words! {
    /// What the host was doing when it wrote a record.
    Operation, "an operation" {
        /// A session was being opened.
        Bootstrap = "bootstrap",
        /// Entries were being searched.
        Search = "search",
        /// Entries were being listed.
        List = "list",
        /// An entry was being inspected, or its schema loaded.
        Inspect = "inspect",
        /// A descriptor was being read.
        Describe = "describe",
        /// A descriptor was being validated.
        Validate = "validate",
        /// A probe was being run.
        Probe = "probe",
        /// A binding was being asked for.
        Bind = "bind",
        /// A capability was being called.
        Call = "call",
        /// A binding was being given back.
        Release = "release",
        /// A component was being admitted.
        Admit = "admit",
        /// A binding was being looked at again.
        Refresh = "refresh",
        /// Something changed under a binding.
        Invalidate = "invalidate",
        /// Authority was being withdrawn, or a withdrawal lifted.
        Revoke = "revoke",
        /// A proposal was being answered.
        Approve = "approve",
        /// An uncertain call was being settled by a person.
        Reconcile = "reconcile",
        /// Policy, stages, budgets or registrations were being set.
        Configure = "configure",
        /// A session was being ended.
        Session = "session",
        /// A run was being moved.
        Run = "run",
        /// The host was starting.
        Start = "start",
        /// The host was making sense of what an earlier one left.
        Recover = "recover",
        /// A time passed.
        Expire = "expire",
        /// An embedder's hook was being asked.
        Hook = "hook",
        /// A result was being screened.
        Screen = "screen",
    }
}

words! {
    /// Why a binding ended, or had to be looked at again: every trigger of R-524 … R-547,
    /// and what the host itself does.
    Trigger, "a trigger" {
        /// The catalogue entry changed.
        CapabilityEntryChanged = "capability_entry_changed",
        /// A refresh of the catalogue left it unverifiable.
        CatalogueUnverifiable = "catalogue_unverifiable",
        /// The descriptor's digest changed.
        DescriptorDigestChanged = "descriptor_digest_changed",
        /// A schema's digest changed.
        SchemaDigestChanged = "schema_digest_changed",
        /// The implementation's digest changed.
        ImplementationDigestChanged = "implementation_digest_changed",
        /// The digest of something it depends on changed.
        DependencyDigestChanged = "dependency_digest_changed",
        /// A credential was withdrawn.
        AuthenticationRevoked = "authentication_revoked",
        /// Authority was withdrawn: a switch, or policy.
        AuthorizationRevoked = "authorization_revoked",
        /// The tenant changed.
        TenantChanged = "tenant_changed",
        /// The user changed.
        UserChanged = "user_changed",
        /// The task changed.
        TaskChanged = "task_changed",
        /// The resource scope changed.
        ResourceScopeChanged = "resource_scope_changed",
        /// The approval's scope changed.
        ApprovalScopeChanged = "approval_scope_changed",
        /// The lease ended.
        LeaseExpired = "lease_expired",
        /// The session's time ended.
        SessionExpired = "session_expired",
        /// The environment moved on.
        EnvironmentGenerationExpired = "environment_generation_expired",
        /// The evidence is too old.
        EvidenceStale = "evidence_stale",
        /// The evidence contradicts itself.
        EvidenceContradictory = "evidence_contradictory",
        /// A call behaved otherwise than the evidence says.
        SemanticDrift = "semantic_drift",
        /// A call had an effect that nobody expected.
        UnexpectedSideEffect = "unexpected_side_effect",
        /// The policy changed.
        PolicyVersionChanged = "policy_version_changed",
        /// A binding that a helper depends on ended.
        DependencyInvalidated = "dependency_invalidated",
        /// The binding it was narrowed from ended (I6).
        ParentEnded = "parent_ended",
        /// The implementation or its provider is gone.
        ProviderGone = "provider_gone",
        /// Somebody gave it back.
        ReleaseRequested = "release_requested",
        /// The session was ended.
        SessionEnded = "session_ended",
        /// The host that gave it is no more.
        HostRestarted = "host_restarted",
    }
}

words! {
    /// The eleven names of S0's transitions (C-21): six of a capability's record, five of
    /// a binding.
    Lifecycle, "a lifecycle state" {
        /// Known to exist.
        Discovered = "discovered",
        /// Its descriptor has a digest.
        Described = "described",
        /// Schemas and identity hold.
        StructurallyValid = "structurally_valid",
        /// A probe passed.
        Probed = "probed",
        /// The host accepts binding it.
        Bindable = "bindable",
        /// Refused, with evidence.
        Rejected = "rejected",
        /// A live binding.
        Bound = "bound",
        /// Must be looked at again.
        Stale = "stale",
        /// Authority was withdrawn; final for this binding.
        Revoked = "revoked",
        /// The implementation or its provider is gone.
        Unavailable = "unavailable",
        /// Given back; final for this binding.
        Released = "released",
    }
}

words! {
    /// What raised the environment's generation (C-09).
    RaisedBy, "a cause of a generation" {
        /// The environment's identity.
        Identity = "identity",
        /// The tenant.
        Tenant = "tenant",
        /// The set of providers.
        ProviderSet = "provider_set",
        /// The set of policies.
        PolicySet = "policy_set",
        /// The runtime itself.
        Runtime = "runtime",
    }
}

words! {
    /// What a catalogue version is a hash over (C-09).
    CatalogueInput, "an input of the catalogue version" {
        /// Descriptors.
        Descriptors = "descriptors",
        /// Permissions.
        Permissions = "permissions",
        /// Hashes of schemas.
        SchemaHashes = "schema_hashes",
        /// Who provides.
        ProviderIdentity = "provider_identity",
        /// Who may see.
        Visibility = "visibility",
        /// Who may call.
        Invokability = "invokability",
        /// Other names.
        Aliases = "aliases",
        /// Policy that speaks of single entries.
        ScopedPolicy = "scoped_policy",
    }
}

words! {
    /// What an aggregate budget counts.
    Meter, "a meter" {
        /// Calls started; never given back.
        Calls = "calls",
        /// Bindings opened; never given back.
        Binds = "binds",
        /// Questions to the operator; never given back.
        Proposals = "proposals",
        /// Fuel.
        Fuel = "fuel",
        /// Wall time, in milliseconds.
        WallMs = "wall_ms",
        /// Calls from guests to the host.
        HostCalls = "host_calls",
        /// Bytes of results.
        OutputBytes = "output_bytes",
        /// Bytes written to directories and stores.
        WrittenBytes = "written_bytes",
        /// Bytes to and from the network.
        EgressBytes = "egress_bytes",
    }
}

impl Meter {
    /// Whether each call draws it from the totals itself, at every depth: calls are counted
    /// one by one, and what is written or sent is the doing of the call whose scope allows
    /// it, which its caller's may not. Of all else a child has what its parent has.
    pub fn is_each(self) -> bool {
        match self {
            Self::Calls | Self::WrittenBytes | Self::EgressBytes => true,
            Self::Binds
            | Self::Proposals
            | Self::Fuel
            | Self::WallMs
            | Self::HostCalls
            | Self::OutputBytes => false,
        }
    }
}

words! {
    /// A step of the call pipeline (architecture § 1).
    Step, "a step of a call" {
        /// The handle was looked up.
        Resolve = "resolve",
        /// The arguments were checked.
        Check = "check",
        /// Policy was asked.
        Decide = "decide",
        /// Budget, approval and idempotency were claimed.
        Reserve = "reserve",
        /// The component ran.
        Run = "run",
        /// The result was checked.
        Settle = "settle",
    }
}

words! {
    /// What policy said (R-548 … R-550). There is no fourth word.
    Verdict, "a verdict" {
        /// The action may start.
        Allow = "allow",
        /// Somebody has to be asked; nothing starts.
        Ask = "ask",
        /// The action does not start.
        Deny = "deny",
    }
}

words! {
    /// Whether a call can have effects outside its own store.
    Effectful, "whether a call has effects" {
        /// It cannot.
        ReadOnly = "read_only",
        /// It can: its intent is durable before it starts (I18).
        Effects = "effects",
    }
}

words! {
    /// How a call that was started ended, when that is known.
    CallEnd, "an end of a call" {
        /// With a value.
        Succeeded = "succeeded",
        /// The capability ran and said no.
        CapabilityError = "capability_error",
        /// It failed, and no effect can have happened.
        FailedBeforeEffect = "failed_before_effect",
        /// It failed after it ran; its effects are in the record.
        Failed = "failed",
        /// It was stopped; only for calls without effects (C-39).
        Cancelled = "cancelled",
        /// The host stopped under it; only for calls without effects.
        Interrupted = "interrupted",
    }
}

words! {
    /// Why nobody knows what a call did (I17).
    Doubt, "a doubt about a call" {
        /// The host ended between intent and outcome.
        Crash = "crash",
        /// The deadline passed while it ran (C-39).
        Timeout = "timeout",
        /// It was cancelled while it ran.
        Cancelled = "cancelled",
        /// The other side committed or not, and the answer was lost (case G2).
        AnswerLost = "answer_lost",
        /// Whoever ran it lost hold of it.
        Abandoned = "abandoned",
    }
}

words! {
    /// What a person found out about an uncertain call.
    Finding, "a finding about an uncertain call" {
        /// The effect happened.
        Done = "done",
        /// The effect did not happen.
        Failed = "failed",
    }
}

words! {
    /// Where an action stands.
    ActionStatus, "an action status" {
        /// Policy said no; not an error.
        Blocked = "blocked",
        /// Somebody has to say yes.
        AwaitingApproval = "awaiting_approval",
        /// There was nothing that could run.
        Unavailable = "unavailable",
        /// It runs.
        Running = "running",
        /// It returned a value.
        Succeeded = "succeeded",
        /// It failed.
        Failed = "failed",
        /// It was stopped.
        Cancelled = "cancelled",
        /// Nobody knows what it did.
        Uncertain = "uncertain",
    }
}

words! {
    /// Where a proposal stands.
    ProposalStatus, "a proposal status" {
        /// Nobody has answered.
        Pending = "pending",
        /// An operator said yes; nothing has started.
        Approved = "approved",
        /// An operator said no.
        Denied = "denied",
        /// Its time ended.
        Expired = "expired",
        /// What it was about changed.
        Voided = "voided",
        /// An intent used it up (I15).
        Consumed = "consumed",
    }
}

words! {
    /// Where a run stands (C-37).
    RunStatus, "a run status" {
        /// Made, nothing done.
        Created = "created",
        /// Actions may start.
        Running = "running",
        /// An action of it waits for an operator.
        AwaitingApproval = "awaiting_approval",
        /// Over, well.
        Completed = "completed",
        /// Over, badly.
        Failed = "failed",
        /// Over, an operator or policy said no.
        Rejected = "rejected",
        /// Over, somebody stopped it.
        Cancelled = "cancelled",
    }
}

impl RunStatus {
    /// Whether nothing follows it.
    pub fn is_over(self) -> bool {
        match self {
            Self::Created | Self::Running | Self::AwaitingApproval => false,
            Self::Completed | Self::Failed | Self::Rejected | Self::Cancelled => true,
        }
    }

    /// What a run that stands here becomes when its session ends, if it is not over: it is
    /// completed only when something was done and nothing is waited for.
    pub fn at_end(self, end: SessionEnd, done: u64) -> Option<Self> {
        match (self, end) {
            (Self::Completed | Self::Failed | Self::Rejected | Self::Cancelled, _) => None,
            (Self::Created, _) => Some(Self::Cancelled),
            (Self::Running, SessionEnd::Completed) if done > 0 => Some(Self::Completed),
            (
                Self::Running | Self::AwaitingApproval,
                SessionEnd::Completed | SessionEnd::Cancelled,
            ) => Some(Self::Cancelled),
            (
                Self::Running | Self::AwaitingApproval,
                SessionEnd::Expired | SessionEnd::FixedFieldChanged | SessionEnd::HostStopped,
            ) => Some(Self::Failed),
        }
    }

    /// The fixed table of R-578.
    pub fn may_become(self, next: Self) -> bool {
        match self {
            Self::Created => matches!(next, Self::Running | Self::Rejected | Self::Cancelled),
            Self::Running => !matches!(next, Self::Created | Self::Running),
            Self::AwaitingApproval => !matches!(
                next,
                Self::Created | Self::AwaitingApproval | Self::Completed
            ),
            Self::Completed | Self::Failed | Self::Rejected | Self::Cancelled => false,
        }
    }
}

words! {
    /// Why a session ended.
    SessionEnd, "an end of a session" {
        /// It was done.
        Completed = "completed",
        /// Somebody stopped it.
        Cancelled = "cancelled",
        /// Its time ended.
        Expired = "expired",
        /// One of its six fixed fields changed on the host's side.
        FixedFieldChanged = "fixed_field_changed",
        /// The host ended.
        HostStopped = "host_stopped",
    }
}

impl SessionEnd {
    /// Why what was the session's ended with it.
    pub fn trigger(self) -> Trigger {
        match self {
            Self::HostStopped => Trigger::HostRestarted,
            Self::Completed | Self::Cancelled | Self::Expired | Self::FixedFieldChanged => {
                Trigger::SessionEnded
            }
        }
    }
}

words! {
    /// Where evidence comes from.
    EvidenceKind, "a kind of evidence" {
        /// The descriptor says so.
        Declared = "declared",
        /// The binary shows it.
        Reflected = "reflected",
        /// A probe with fixture resources showed it; the label never drops.
        Fixture = "fixture",
        /// A call showed it.
        Observed = "observed",
        /// A person looked.
        Review = "review",
    }
}

words! {
    /// Whether an agent is real.
    AgentStatus, "an agent status" {
        /// It runs.
        Active = "active",
        /// It is a name.
        Stub = "stub",
    }
}

words! {
    /// How a binding came about (C-51).
    Route, "a route of a binding" {
        /// The host made it when the session opened, for a statically registered tool.
        Static = "static",
        /// Somebody found the capability and asked.
        LateBound = "late_bound",
    }
}

words! {
    /// On which side of a call a hook stands.
    Phase, "a phase" {
        /// Before anything ran.
        Pre = "pre",
        /// Before anybody saw the result.
        Post = "post",
    }
}
