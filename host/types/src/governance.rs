//! The words of governance: what an implementation is, what a caller may ask for, what an
//! operation can do, and who has to say yes.
//!
//! Rule: these are axes; none is derived from another here, and none decides alone.
//! The one table in this file is C-62: the least risk of each side-effect class.

use crate::word::words;

words! {
    /// Whether a live implementation exists (R-242 … R-244).
    ExecutionState, "an execution state" {
        /// A callable path exists and runs; checked again at each call.
        Available = "available",
        /// Described in full, but nothing runs.
        ContractOnly = "contract_only",
        /// Listed as future intent.
        Planned = "planned",
    }
}

words! {
    /// The kind of operation an agent may ask for (R-248 … R-251); each contains the one before.
    PermissionMode, "a permission mode" {
        /// Propose; nothing runs, not even reads.
        PlanOnly = "plan_only",
        /// Reads.
        ReadOnly = "read_only",
        /// Reads and bounded edits.
        SafeEdit = "safe_edit",
        /// Every risk may be attempted; every other axis still holds.
        FullAccess = "full_access",
    }
}

words! {
    /// What an operation may do at worst, mildest first (R-252 … R-257).
    Risk, "a risk" {
        /// Changes nothing.
        ReadOnly = "read_only",
        /// Changes state of the host's own.
        Write = "write",
        /// Changes what belongs to the user.
        WritesUserContent = "writes_user_content",
        /// Reaches somebody else.
        ExternalSideEffect = "external_side_effect",
        /// Cannot be undone.
        Destructive = "destructive",
        /// Changes who may do what.
        Privileged = "privileged",
    }
}

words! {
    /// The kind of effect behind a risk, set by the host (C-15).
    SideEffectClass, "a side-effect class" {
        /// No effect.
        None = "none",
        /// State the host keeps for the capability.
        LocalState = "local_state",
        /// The user's own files and records.
        UserContent = "user_content",
        /// Something is sent.
        ExternalSend = "external_send",
        /// Money moves.
        Financial = "financial",
        /// Something is deployed.
        Deployment = "deployment",
        /// Permissions change.
        PermissionChange = "permission_change",
        /// Identities change.
        IdentityChange = "identity_change",
        /// A security control acts.
        SecurityAction = "security_action",
        /// Something is destroyed.
        Destructive = "destructive",
        /// Nobody knows.
        Unknown = "unknown",
    }
}

impl SideEffectClass {
    /// The least risk this class can have (C-62).
    pub fn least_risk(self) -> Risk {
        match self {
            Self::None => Risk::ReadOnly,
            Self::LocalState => Risk::Write,
            Self::UserContent => Risk::WritesUserContent,
            Self::ExternalSend | Self::Financial => Risk::ExternalSideEffect,
            Self::Destructive => Risk::Destructive,
            Self::Deployment
            | Self::PermissionChange
            | Self::IdentityChange
            | Self::SecurityAction
            | Self::Unknown => Risk::Privileged,
        }
    }
}

words! {
    /// Whether a person has to decide, mildest first (R-258 … R-261).
    ApprovalRequirement, "an approval requirement" {
        /// Nobody is asked.
        NoApproval = "no_approval",
        /// Asked once for the same action in the same run and scope (C-19).
        ConfirmOnce = "confirm_once",
        /// Asked for each call.
        ConfirmEveryTime = "confirm_every_time",
        /// Never runs.
        Blocked = "blocked",
    }
}

words! {
    /// What a caller may do to the host, not through it.
    Rights, "a principal's rights" {
        /// Search, describe, propose, bind and call under policy.
        Model = "model",
        /// The control plane: policy, approvals, revocation, records.
        Operator = "operator",
    }
}

words! {
    /// Who vouches for a descriptor (R-345 … R-347). Not confidence.
    TrustStatus, "a trust status" {
        /// Nobody.
        Untrusted = "untrusted",
        /// Its origin is proven.
        Authenticated = "authenticated",
        /// The host checked digest and contract.
        HostVerified = "host_verified",
    }
}

words! {
    /// How far a descriptor was examined (R-348 … R-352).
    ValidationStatus, "a validation status" {
        /// Discovered, perhaps described.
        Candidate = "candidate",
        /// Schemas and identity hold.
        StructurallyValid = "structurally_valid",
        /// A probe passed.
        Probed = "probed",
        /// The host accepts binding it.
        Bindable = "bindable",
        /// Refused, with evidence.
        Rejected = "rejected",
    }
}

words! {
    /// Where a binding stands (R-353 … R-357).
    BindingStatus, "a binding status" {
        /// No live binding.
        Unbound = "unbound",
        /// Live.
        Bound = "bound",
        /// Must be looked at again before it is used.
        Stale = "stale",
        /// Authority was withdrawn.
        Revoked = "revoked",
        /// The implementation or its provider is gone.
        Unavailable = "unavailable",
    }
}

words! {
    /// How an entry came to be known (R-340 … R-344).
    SourceKind, "a source kind" {
        /// The host's own registry.
        HostRegistry = "host_registry",
        /// A connector that proved who it is.
        AuthenticatedConnector = "authenticated_connector",
        /// Reflection over a component's exports.
        RuntimeIntrospection = "runtime_introspection",
        /// Documentation somebody found.
        RetrievedDocs = "retrieved_docs",
        /// A model's proposal.
        ModelInference = "model_inference",
    }
}

words! {
    /// What kind of provider stands behind an entry (C-23).
    ProviderFamily, "a provider family" {
        /// A component of this project.
        Native = "native",
        /// A component somebody ships.
        Extension = "extension",
        /// A server of the model context protocol.
        Mcp = "mcp",
        /// A browser.
        Browser = "browser",
        /// A connected application.
        ConnectedApp = "connected_app",
        /// A skill.
        Skill = "skill",
        /// A slash command.
        Command = "command",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_hyphens_is_refused_and_the_right_one_named() {
        let error = "read-only".parse::<Risk>().unwrap_err();
        assert!(
            error.to_string().contains("write `read_only`"),
            "C-16: {error}"
        );
        assert!(
            serde_json::from_str::<Risk>("\"read-only\"").is_err(),
            "C-16"
        );
        let error = "harmless".parse::<Risk>().unwrap_err().to_string();
        assert!(
            error.contains("privileged") && !error.contains("write `"),
            "R-232: {error}"
        );
    }

    #[test]
    fn every_word_reads_back() {
        for word in PermissionMode::ALL {
            assert_eq!(word.as_str().parse(), Ok(*word));
            let json = serde_json::to_string(word).unwrap();
            assert_eq!(
                serde_json::from_str::<PermissionMode>(&json).unwrap(),
                *word
            );
        }
    }

    #[test]
    fn an_unknown_effect_is_as_grave_as_a_change_of_permissions() {
        assert_eq!(
            SideEffectClass::Unknown.least_risk(),
            Risk::Privileged,
            "C-15"
        );
        assert_eq!(SideEffectClass::None.least_risk(), Risk::ReadOnly, "C-62");
        assert_eq!(
            SideEffectClass::Financial.least_risk(),
            Risk::ExternalSideEffect,
            "C-62"
        );
    }
}
