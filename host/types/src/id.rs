//! Ids: who asks, in which session, about what, under which handle.
//!
//! Rule: a newtype with one fallible constructor each, so that no two kinds can be mixed
//! up. Ids that stand for authority in flight are random (128 bits given by the host);
//! what they stand for is in the host's record, never in the text.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{FunctionName, NameError};

/// A text that is not the id it was taken for.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{what} {rule}")]
pub struct IdError {
    what: &'static str,
    rule: &'static str,
}

macro_rules! ids {
    ($( $(#[$doc:meta])* $name:ident $what:literal $check:ident $rule:ident; )+) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                if $check(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(IdError { what: $what, rule: $rule })
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

const LABEL_RULE: &str = "is 1 to 64 of `a-z`, `0-9`, `-` and `_`, starting with a letter";
const WORD_RULE: &str = "is 1 to 128 of letters, digits and `-_.:@/`";

fn label(text: &str) -> bool {
    let rest = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    (1..=64).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(rest)
}

fn word(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.:@/".contains(c);
    (1..=128).contains(&text.len()) && text.chars().all(allowed)
}

ids! {
    /// Who publishes: the first part of a capability's id.
    Namespace "a namespace" label LABEL_RULE;
    /// Who asks: `local:1000`, `token:ci`.
    Principal "a principal" word WORD_RULE;
    /// Whose data and budgets.
    Tenant "a tenant" word WORD_RULE;
    /// The registered agent that a session acts for.
    Agent "an agent" word WORD_RULE;
    /// The kind of workspace.
    Archetype "a workspace archetype" label LABEL_RULE;
    /// One workspace, of one archetype.
    Workspace "a workspace" label LABEL_RULE;
    /// Where implementations come from.
    Provider "a provider" word WORD_RULE;
    /// The environment a host admits sessions to.
    EnvironmentId "an environment id" word WORD_RULE;
    /// A credential's name; never its value.
    CredentialName "a credential name" label LABEL_RULE;
    /// The name under which the operator grants one resource.
    GrantName "a grant name" label LABEL_RULE;
    /// What makes one effect of many requests.
    IdempotencyKey "an idempotency key" word WORD_RULE;
}

macro_rules! random_ids {
    ($( $(#[$doc:meta])* $name:ident $prefix:literal $what:literal; )+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 16]);

        impl $name {
            /// The id made of 128 random bits.
            pub fn from_random(bits: [u8; 16]) -> Self {
                Self(bits)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($prefix)?;
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                let error = IdError {
                    what: $what,
                    rule: concat!("is `", $prefix, "` and 32 lower-case hexadecimal digits"),
                };
                let hex = text.strip_prefix($prefix).ok_or_else(|| error.clone())?;
                bits(hex).map(Self).ok_or(error)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

fn bits(hex: &str) -> Option<[u8; 16]> {
    let lower = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    if hex.len() != 32 || !hex.bytes().all(lower) {
        return None;
    }
    u128::from_str_radix(hex, 16).ok().map(u128::to_be_bytes)
}

random_ids! {
    /// One admitted use of an environment.
    SessionId "sess_" "a session";
    /// A leased binding, valid in one session; no credential, never restored as authority.
    BindingHandle "bindh_" "a binding handle";
    /// A catalogue entry at one catalogue version; no authority (C-02).
    ToolHandle "toolh_" "a tool handle";
    /// One call, refused ones included.
    CallId "call_" "a call";
    /// A question to the operator.
    ProposalId "prop_" "a proposal";
    /// An ordered set of actions of one agent.
    RunId "run_" "a run";
    /// A stored observation.
    EvidenceId "evid_" "an evidence";
}

/// `<namespace>:<package>[/<interface>]#<function>`: one exported function of what one
/// publisher ships (C-49). Digests tell two builds of it apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CapabilityId {
    text: Box<str>,
    namespace_bytes: usize,
    function_at: usize,
}

impl CapabilityId {
    /// The id of `function` of the package that `namespace` ships as `package`.
    ///
    /// # Errors
    ///
    /// When `package` is not a label (see [`Namespace`]).
    pub fn of(
        namespace: &Namespace,
        package: &str,
        function: &FunctionName,
    ) -> Result<Self, IdError> {
        let interface = function
            .interface()
            .map_or("", |interface| interface.short());
        let slash = if interface.is_empty() { "" } else { "/" };
        format!(
            "{namespace}:{package}{slash}{interface}#{}",
            function.function()
        )
        .parse()
    }

    /// The whole id.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Who publishes it.
    pub fn namespace(&self) -> &str {
        self.text.get(..self.namespace_bytes).unwrap_or_default()
    }

    /// Package, and interface where there is one.
    pub fn package(&self) -> &str {
        let from = self.namespace_bytes + 1;
        self.text.get(from..self.function_at).unwrap_or_default()
    }

    /// The function's own name.
    pub fn function(&self) -> &str {
        self.text.get(self.function_at + 1..).unwrap_or_default()
    }
}

const CAPABILITY: IdError = IdError {
    what: "a capability id",
    rule: "is `namespace:package[/interface]#function`, each part of `a-z`, `0-9`, `-` and `_`, at most 256 characters",
};

impl FromStr for CapabilityId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let (head, function) = text.split_once('#').ok_or(CAPABILITY)?;
        let (namespace, package) = head.split_once(':').ok_or(CAPABILITY)?;
        let mut parts = package.split('/');
        let packages = parts.by_ref().take(2).all(part) && parts.next().is_none();
        if text.len() > 256 || !label(namespace) || !packages || !part(function) {
            return Err(CAPABILITY);
        }
        Ok(Self {
            text: text.into(),
            namespace_bytes: namespace.len(),
            function_at: head.len(),
        })
    }
}

/// A part of an id: a name of WIT (which may have capitals for acronyms), or `_`.
fn part(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
    !text.is_empty() && text.chars().all(allowed)
}

impl fmt::Display for CapabilityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for CapabilityId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for CapabilityId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl From<NameError> for IdError {
    fn from(_: NameError) -> Self {
        CAPABILITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_id_reads_back_in_parts() {
        let id: CapabilityId = "acme:weather/forecast#look-up".parse().unwrap();
        assert_eq!(id.namespace(), "acme");
        assert_eq!(id.package(), "weather/forecast");
        assert_eq!(id.function(), "look-up");
        let plain: CapabilityId = "local:thing#go".parse().unwrap();
        assert_eq!((plain.package(), plain.function()), ("thing", "go"));
    }

    #[test]
    fn what_is_no_capability_id_is_refused() {
        for text in [
            "",
            "acme",
            "acme:weather",
            "acme#go",
            ":w#go",
            "acme:#go",
            "acme:w#",
            "Acme:w#go",
            "acme:w/i/x#go",
            "acme:w#go\n",
            "acme:w ö#go",
            "acme:w#a#b",
            "acme:w//#go",
        ] {
            assert!(text.parse::<CapabilityId>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_two_kinds_of_handle_are_never_interchangeable() {
        let text = BindingHandle::from_random([7; 16]).to_string();
        assert_eq!(text.parse(), Ok(BindingHandle::from_random([7; 16])));
        assert!(text.parse::<ToolHandle>().is_err(), "C-02");
        assert!(text.to_uppercase().parse::<BindingHandle>().is_err());
        assert!(
            text.replace("bindh_07", "bindh_+7")
                .parse::<BindingHandle>()
                .is_err()
        );
    }

    #[test]
    fn a_key_with_a_line_break_is_no_key() {
        assert!("a\nb".parse::<IdempotencyKey>().is_err(), "case G6");
        assert!("order-17".parse::<IdempotencyKey>().is_ok());
    }
}
