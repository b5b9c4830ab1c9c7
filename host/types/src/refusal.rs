//! Refusals: one closed set of failure types, each with category, blame, exit code and
//! safe next actions, in one table.
//!
//! Rule (R-757 … R-761): every failure offers at least one next action, and no action in
//! the list widens scope, installs, escalates or repeats. What a type offers is the most;
//! whoever answers takes out what its caller may not do (R-750 … R-755). Two texts: what
//! the caller may read, and what the operator needs; no path of the host stands in the
//! first.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{Limit, LimitHit, LimitName, UnknownWord};

/// Who has to change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Blame {
    /// The component.
    Guest,
    /// Whoever asked.
    Caller,
    /// The host or its operator.
    Host,
}

/// The kind of failure, coarser than its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// There is no live implementation.
    UnavailableImplementation,
    /// Policy says no.
    BlockedPolicy,
    /// Policy asks, nobody has answered.
    MissingApproval,
    /// Outside agent, workspace, session or resource scope.
    InvalidScope,
    /// No credential is configured.
    MissingCredential,
    /// The component failed after it was started.
    AdapterError,
    /// A run may not move that way.
    InvalidRunTransition,
    /// The request itself is wrong.
    RequestInvalid,
    /// A limit was reached.
    Limit,
    /// The environment moved or is broken.
    Environment,
    /// Somebody cancelled.
    Cancelled,
}

/// What a caller may safely do next. Closed: nothing here widens anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NextAction {
    /// Read the environment manifest again.
    RefreshTheManifest,
    /// Search again in the same scope.
    RepeatDiscoveryInTheSameScope,
    /// Read the current descriptor and schema.
    LoadACurrentDescriptor,
    /// Ask the user, or ask for an approval.
    RequestClarificationOrApproval,
    /// Use another capability that is verified.
    ChooseAVerifiedAlternative,
    /// Find out what the uncertain call did.
    ReconcileAnUncertainCall,
    /// Do nothing more.
    Stop,
}

impl NextAction {
    /// Its place in a set of them.
    fn bit(self) -> u8 {
        1 << self as u8
    }
}

macro_rules! error_types {
    ($( $variant:ident $name:literal $category:ident $blame:ident exit $exit:literal [$($next:ident),+] $docs:literal )*) => {
        /// The type of a failure, as the wire spells it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorType { $( #[doc = $docs] $variant, )* }

        impl ErrorType {
            /// Every type.
            pub const ALL: &'static [ErrorType] = &[ $( ErrorType::$variant, )* ];
            const NAMES: &'static [&'static str] = &[ $( $name, )* ];

            /// The name on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $( ErrorType::$variant => $name, )* }
            }

            /// Its category.
            pub fn category(self) -> Category {
                match self { $( ErrorType::$variant => Category::$category, )* }
            }

            /// Who has to change something.
            pub fn blame(self) -> Blame {
                match self { $( ErrorType::$variant => Blame::$blame, )* }
            }

            /// Exit code of the command line.
            pub fn exit_code(self) -> u8 {
                match self { $( ErrorType::$variant => $exit, )* }
            }

            /// What may safely be done next by a caller that may do all of it; never empty.
            pub fn next_actions(self) -> &'static [NextAction] {
                match self { $( ErrorType::$variant => &[ $( NextAction::$next, )+ ], )* }
            }

            /// One sentence: when it is given.
            pub fn docs(self) -> &'static str {
                match self { $( ErrorType::$variant => $docs, )* }
            }
        }
    };
}

error_types! {
    EnvironmentUnavailable "environment_unavailable" Environment Host exit 9 [RefreshTheManifest, Stop] "no environment is admitted, or a source of it is down"
    EnvironmentGenerationChanged "environment_generation_changed" Environment Host exit 75 [RefreshTheManifest] "the request speaks of an older environment"
    CatalogChanged "catalog_changed" Environment Host exit 75 [RepeatDiscoveryInTheSameScope, RefreshTheManifest] "the request speaks of an older catalogue"
    CapabilityUnavailable "capability_unavailable" UnavailableImplementation Host exit 9 [RepeatDiscoveryInTheSameScope, ChooseAVerifiedAlternative] "no such capability can be called here"
    CapabilityAmbiguous "capability_ambiguous" RequestInvalid Caller exit 2 [LoadACurrentDescriptor, RequestClarificationOrApproval] "several capabilities fit and they are not the same"
    DescriptorUntrusted "descriptor_untrusted" BlockedPolicy Host exit 4 [ChooseAVerifiedAlternative, RequestClarificationOrApproval] "where the descriptor comes from is not acceptable"
    DescriptorMismatch "descriptor_mismatch" Environment Host exit 8 [LoadACurrentDescriptor, Stop] "a digest differs from the one that was agreed"
    SchemaInvalid "schema_invalid" AdapterError Guest exit 1 [ChooseAVerifiedAlternative, Stop] "a schema cannot be read or is not supported"
    SchemaUnverified "schema_unverified" BlockedPolicy Host exit 4 [ChooseAVerifiedAlternative, RequestClarificationOrApproval] "a schema is inferred or was not validated"
    ProbeNotSafe "probe_not_safe" BlockedPolicy Host exit 4 [ChooseAVerifiedAlternative, Stop] "there is no safe way to probe this"
    ProbeFailed "probe_failed" AdapterError Guest exit 1 [ChooseAVerifiedAlternative, Stop] "a probe did not meet its condition"
    BindingDenied "binding_denied" BlockedPolicy Host exit 4 [ChooseAVerifiedAlternative, RequestClarificationOrApproval] "policy refuses this binding"
    BindingStale "binding_stale" Environment Host exit 9 [RepeatDiscoveryInTheSameScope] "what the binding rests on no longer holds"
    CapabilityRevoked "capability_revoked" BlockedPolicy Host exit 4 [ChooseAVerifiedAlternative, Stop] "authority was withdrawn"
    DependencyMissing "dependency_missing" UnavailableImplementation Guest exit 4 [ChooseAVerifiedAlternative, Stop] "the component imports what this host does not have"
    PermissionDenied "permission_denied" BlockedPolicy Host exit 4 [RequestClarificationOrApproval, ChooseAVerifiedAlternative] "not granted"
    ApprovalRequired "approval_required" MissingApproval Caller exit 6 [RequestClarificationOrApproval] "an operator has to approve this first"
    BudgetExhausted "budget_exhausted" Limit Caller exit 7 [RequestClarificationOrApproval, Stop] "a limit was reached"
    ResultSchemaMismatch "result_schema_mismatch" AdapterError Guest exit 1 [ChooseAVerifiedAlternative, Stop] "the result does not fit its schema"
    SemanticDriftDetected "semantic_drift_detected" AdapterError Guest exit 1 [RepeatDiscoveryInTheSameScope, Stop] "behaviour contradicts the evidence"
    UncertainSideEffect "uncertain_side_effect" AdapterError Host exit 10 [ReconcileAnUncertainCall] "an effect may have happened"
    ArgumentsInvalid "arguments_invalid" RequestInvalid Caller exit 2 [LoadACurrentDescriptor, RequestClarificationOrApproval] "the arguments do not fit the function"
    CredentialMissing "credential_missing" MissingCredential Host exit 9 [RequestClarificationOrApproval, Stop] "no credential is configured for this"
    NotExecutable "not_executable" UnavailableImplementation Host exit 9 [ChooseAVerifiedAlternative, Stop] "the entry has no live implementation"
    Timeout "timeout" Limit Caller exit 7 [RequestClarificationOrApproval, Stop] "the deadline of the call passed"
    Cancelled "cancelled" Cancelled Caller exit 130 [Stop] "the call was cancelled"
    HandleInvalid "handle_invalid" InvalidScope Caller exit 4 [RepeatDiscoveryInTheSameScope] "no such handle in this session"
    PolicyMalformed "policy_malformed" RequestInvalid Host exit 2 [Stop] "the policy or configuration cannot be read"
    RunTransitionInvalid "run_transition_invalid" InvalidRunTransition Caller exit 1 [Stop] "the run may not move that way"
    StageDisabled "stage_disabled" BlockedPolicy Host exit 4 [ChooseAVerifiedAlternative, Stop] "the stage this belongs to is off"
    ComponentInvalid "component_invalid" RequestInvalid Guest exit 2 [ChooseAVerifiedAlternative, Stop] "the file is not a component this host can run"
    GuestFault "guest_fault" AdapterError Guest exit 1 [ChooseAVerifiedAlternative, Stop] "the component trapped or broke its own contract"
    Busy "busy" Environment Host exit 75 [Stop] "too many calls at once"
    IdempotencyConflict "idempotency_conflict" RequestInvalid Caller exit 2 [Stop] "the idempotency key was used for another call"
    IntegrityFailed "integrity_failed" Environment Host exit 8 [Stop] "stored bytes are not what was stored"
    StoreUnavailable "store_unavailable" Environment Host exit 9 [Stop] "a store of the host cannot be used"
    NotAuthenticated "not_authenticated" InvalidScope Caller exit 3 [Stop] "the caller is not known"
    Internal "internal" Environment Host exit 1 [Stop] "the host broke a promise of its own"
    CapabilityError "capability_error" AdapterError Guest exit 5 [RequestClarificationOrApproval, ChooseAVerifiedAlternative] "the capability ran and said no"
    Usage "usage" RequestInvalid Caller exit 2 [RequestClarificationOrApproval] "the command was not understood"
}

impl fmt::Display for ErrorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ErrorType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl std::str::FromStr for ErrorType {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let mut all = Self::ALL.iter();
        let found = all.find(|kind| kind.as_str() == text);
        found
            .copied()
            .ok_or_else(|| UnknownWord::new("an error type", Self::NAMES, text))
    }
}

impl<'de> Deserialize<'de> for ErrorType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A failure as a value: what it is, for whom, and what may follow.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct Refusal {
    kind: ErrorType,
    message: Cow<'static, str>,
    operator: Option<String>,
    details: Map<String, Value>,
    /// What this caller is not offered, of what the type offers: a bit for each.
    barred: u8,
    /// Another category than its type's, where one type has causes of several.
    category: Option<Category>,
}

impl Refusal {
    /// A refusal of `kind`; `message` is for the caller: lower case, no full stop, the
    /// thing and the limit named, no path of the host.
    pub fn new(kind: ErrorType, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            kind,
            message: message.into(),
            operator: None,
            details: Map::new(),
            barred: 0,
            category: None,
        }
    }

    /// Adds the text that only the operator reads: causes, paths, what to configure.
    #[must_use]
    pub fn for_operator(mut self, text: impl Into<String>) -> Self {
        self.operator = Some(text.into());
        self
    }

    /// The same without the operator's text: what may be said to anybody else.
    #[must_use]
    pub fn for_caller(mut self) -> Self {
        self.operator = None;
        self
    }

    /// The same without `action` among what is offered: its caller may not do it, or it
    /// leads nowhere here.
    #[must_use]
    pub fn without(mut self, action: NextAction) -> Self {
        self.barred |= action.bit();
        self
    }

    /// What may safely be done next, of what the type offers; to stop is left to everybody.
    pub fn next_actions(&self) -> Vec<NextAction> {
        let offered = self.kind.next_actions().iter().copied();
        let left: Vec<NextAction> = offered.filter(|one| self.barred & one.bit() == 0).collect();
        match left.is_empty() {
            true => vec![NextAction::Stop],
            false => left,
        }
    }

    /// The same in another category than its type is in by itself.
    #[must_use]
    pub fn in_category(mut self, category: Category) -> Self {
        self.category = Some(category);
        self
    }

    /// Its category.
    pub fn category(&self) -> Category {
        self.category.unwrap_or_else(|| self.kind.category())
    }

    /// Adds one machine-readable detail.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// The same with every text of it passed through `map`: message, operator's text, and
    /// the strings among the details.
    #[must_use]
    pub fn map_text(self, map: impl Fn(&str) -> String) -> Self {
        fn inside(value: &mut Value, map: &impl Fn(&str) -> String) {
            match value {
                Value::String(text) => *text = map(text),
                Value::Array(items) => items.iter_mut().for_each(|item| inside(item, map)),
                Value::Object(members) => members.values_mut().for_each(|v| inside(v, map)),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        let mut details = self.details;
        details.values_mut().for_each(|value| inside(value, &map));
        Self {
            kind: self.kind,
            message: map(&self.message).into(),
            operator: self.operator.as_deref().map(&map),
            details,
            barred: self.barred,
            category: self.category,
        }
    }

    /// The type.
    pub fn kind(&self) -> ErrorType {
        self.kind
    }

    /// The caller's text.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The operator's text, if there is more to say.
    pub fn operator(&self) -> Option<&str> {
        self.operator.as_deref()
    }

    /// The details.
    pub fn details(&self) -> &Map<String, Value> {
        &self.details
    }

    /// The object under `error` on the wire: type, category, message, blame, details,
    /// next. The operator's text is not in it.
    pub fn to_json(&self) -> Value {
        serde_json::json!({
            "type": self.kind,
            "category": self.category(),
            "message": self.message,
            "blame": self.kind.blame(),
            "details": self.details,
            "next": self.next_actions(),
        })
    }
}

impl From<LimitHit> for Refusal {
    /// Names the limit, its value, what was used and where it is set (architecture § 6).
    fn from(hit: LimitHit) -> Self {
        let kind = match hit.name {
            LimitName::Deadline => ErrorType::Timeout,
            _ => ErrorType::BudgetExhausted,
        };
        let value = match hit.limit {
            Limit::Finite(value) => Value::from(value),
            Limit::Unlimited => Value::from("unlimited"),
        };
        let name = hit.name.as_str();
        Self::new(kind, hit.to_string())
            .for_operator(format!(
                "raise it with `--limit {name}=VALUE` of `run`, `--budget {name}=VALUE` of `bind` and `call`, or the key `{name}` of the configuration"
            ))
            .with("limit", name)
            .with("value", value)
            .with("used", hit.used)
            .with("setting", format!("--limit {name}=VALUE"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_was_reached_names_itself_its_value_and_what_was_used() {
        let hit = LimitHit {
            name: LimitName::Fuel,
            limit: Limit::Finite(5),
            used: 6,
        };
        let refusal = Refusal::from(hit);
        assert_eq!(refusal.kind(), ErrorType::BudgetExhausted);
        assert_eq!(
            Value::Object(refusal.details().clone()),
            serde_json::json!({
                "limit": "fuel", "value": 5, "used": 6, "setting": "--limit fuel=VALUE"
            })
        );
        let deadline = LimitHit {
            name: LimitName::Deadline,
            ..hit
        };
        assert_eq!(Refusal::from(deadline).kind(), ErrorType::Timeout);
    }

    #[test]
    fn every_type_offers_a_next_action_and_has_a_name_of_its_own() {
        let mut names = std::collections::BTreeSet::new();
        for kind in ErrorType::ALL {
            assert!(!kind.next_actions().is_empty(), "R-757: {kind}");
            assert!(names.insert(kind.as_str()));
            assert_eq!(kind.as_str().parse(), Ok(*kind));
        }
        assert_eq!(
            names.len(),
            40,
            "21 of the seed, 17 of C-17, capability_error and usage"
        );
    }

    #[test]
    fn what_is_taken_out_is_not_offered_and_to_stop_is_what_is_left() {
        let gone = Refusal::new(ErrorType::CapabilityUnavailable, "gone");
        let some = gone.clone().without(NextAction::ChooseAVerifiedAlternative);
        let discover = NextAction::RepeatDiscoveryInTheSameScope;
        assert_eq!(some.next_actions(), [discover], "R-754");
        let told = some.clone().map_text(str::to_uppercase);
        assert_eq!(
            told.next_actions(),
            [discover],
            "another text offers no more"
        );
        assert_eq!(some.without(discover).next_actions(), [NextAction::Stop]);
        assert_eq!(gone.next_actions(), gone.kind().next_actions());
    }

    #[test]
    fn a_policy_block_and_an_outage_share_no_exit_code() {
        let codes = |category: Category| -> Vec<u8> {
            let of = ErrorType::ALL
                .iter()
                .filter(|kind| kind.category() == category);
            of.map(|kind| kind.exit_code()).collect()
        };
        for blocked in codes(Category::BlockedPolicy) {
            assert_eq!(blocked, 4, "R-766");
        }
        assert!(!codes(Category::Environment).contains(&4), "R-766");
    }

    #[test]
    fn the_wire_form_has_six_members_and_no_operator_text() {
        let refusal = Refusal::new(ErrorType::Busy, "32 calls are running")
            .for_operator("raise `concurrent`")
            .with("limit", "concurrent");
        let json = refusal.to_json();
        let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            ["blame", "category", "details", "message", "next", "type"]
        );
        assert!(!json.to_string().contains("raise"));
    }
}
