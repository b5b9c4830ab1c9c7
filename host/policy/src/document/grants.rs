//! What the operator can give, by name, and the credentials that go with it.
//!
//! Rule: a grant names one thing; none is a pattern over many. What it makes possible has
//! a side-effect class that may be raised here and never lowered (C-62). A credential is
//! named with the place it is in, never with its value.

use std::collections::{BTreeMap, BTreeSet};

use bindery_types::{Agent, Archetype, CapabilityId, CredentialName, GrantName, SideEffectClass};
use serde::Serialize;

use super::reader::Section;
use crate::risk;
use crate::scope::{Keys, Slice, SubPath};
use crate::url::UrlPrefix;
use crate::words::{Access, GrantKind};

/// One `[grants.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GrantEntry {
    /// What is given.
    pub resource: Resource,
    /// The operator's own classification, where it is graver than the grant's.
    pub raised: Option<SideEffectClass>,
    #[serde(skip)]
    pub(super) at: usize,
}

/// What a grant gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Resource {
    /// A folder.
    Directory {
        /// The folder of the host.
        host: String,
        /// The path at which the guest sees it.
        guest: String,
        /// What may be done.
        access: Access,
    },
    /// Requests below one URL.
    Endpoint {
        /// With these methods.
        methods: BTreeSet<Box<str>>,
        /// To URLs that begin so.
        url: UrlPrefix,
        /// A credential that the host adds.
        credential: Option<CredentialName>,
    },
    /// A key-value store.
    Store {
        /// The host's name of it.
        store: String,
        /// What may be done.
        access: Access,
    },
    /// Values of the configuration.
    Config {
        /// By name; none of them is secret.
        values: BTreeMap<String, String>,
    },
    /// A credential added to the requests of an endpoint grant.
    Secret {
        /// Which.
        credential: CredentialName,
        /// To the requests of this grant.
        endpoint: GrantName,
    },
    /// The real clock.
    Clock,
    /// Real randomness.
    Random,
    /// The host's log.
    Log,
    /// Calls of another capability.
    Binding {
        /// Which.
        capability: CapabilityId,
    },
}

impl GrantEntry {
    /// A grant that no text spells out: an operator's own, for one command.
    pub fn of(resource: Resource) -> Self {
        Self {
            resource,
            raised: None,
            at: 0,
        }
    }

    /// The whole of it, as a scope holds it.
    pub fn slice(&self) -> Slice {
        match &self.resource {
            Resource::Directory { access, .. } => Slice::Directory {
                access: *access,
                path: SubPath::default(),
            },
            Resource::Endpoint { methods, url, .. } => Slice::Endpoint {
                methods: methods.clone(),
                url: url.clone(),
            },
            Resource::Store { access, .. } => Slice::Store {
                access: *access,
                keys: Keys::Granted,
            },
            Resource::Config { values } => Slice::Config {
                keys: values.keys().map(|key| key.as_str().into()).collect(),
            },
            Resource::Secret { .. } => Slice::Secret,
            Resource::Clock => Slice::Clock,
            Resource::Random => Slice::Random,
            Resource::Log => Slice::Log,
            Resource::Binding { .. } => Slice::Binding,
        }
    }

    /// The credential that it needs.
    pub fn credential(&self) -> Option<&CredentialName> {
        match &self.resource {
            Resource::Endpoint { credential, .. } => credential.as_ref(),
            Resource::Secret { credential, .. } => Some(credential),
            Resource::Directory { .. }
            | Resource::Store { .. }
            | Resource::Config { .. }
            | Resource::Clock
            | Resource::Random
            | Resource::Log
            | Resource::Binding { .. } => None,
        }
    }
}

/// Where a credential is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CredentialSource {
    /// In this environment variable of the host.
    Env(String),
    /// In this file.
    File(String),
    /// In what this program prints.
    Exec(Vec<String>),
}

/// One `[credentials.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CredentialEntry {
    /// Where it is.
    pub source: CredentialSource,
    /// The header field it is sent in; none for `authorization`.
    pub field: Option<String>,
    /// What is sent, with `{}` where the value goes; none for `Bearer {}`.
    pub form: Option<String>,
    /// Whether it may be sent over plain http to another machine.
    pub in_the_clear: bool,
    /// Agents it is for: left out = any, empty = none.
    pub agents: Option<Vec<Agent>>,
    /// Workspace archetypes it is for: left out = any, empty = none.
    pub archetypes: Option<Vec<Archetype>>,
}

pub(super) fn read(top: &mut Section<'_>) -> BTreeMap<GrantName, GrantEntry> {
    let mut grants = BTreeMap::new();
    for (name, mut section) in top.named::<GrantName>("grants") {
        let entry = grant(&mut section);
        section.finish();
        grants.extend(entry.map(|entry| (name, entry)));
    }
    grants
}

fn grant(section: &mut Section<'_>) -> Option<GrantEntry> {
    let word = section.text("kind");
    if word
        .as_ref()
        .is_some_and(|said| said.value.starts_with("env"))
    {
        section.wrong(
            "kind",
            "no environment variable ever reaches a guest; use kind `config` (C-63)",
        );
        return None;
    }
    if word.is_none() && !section.has("kind") {
        section.wrong(
            "kind",
            "say what is granted: `kind = \"directory\"`, for example",
        );
    }
    let kind = section.word::<GrantKind>("kind")?;
    let resource = resource(section, kind);
    let raised = section.word::<SideEffectClass>("side_effect");
    let entry = GrantEntry {
        resource: resource?,
        raised,
        at: section.at,
    };
    let own = risk::class_of(&entry.slice(), None);
    if raised.is_some_and(|raised| raised.least_risk() < own.least_risk()) {
        section.wrong(
            "side_effect",
            format!("this grant is `{own}`; it can be raised, never lowered (C-62)"),
        );
    }
    Some(entry)
}

fn needed(section: &mut Section<'_>, key: &'static str) -> Option<String> {
    if !section.has(key) {
        section.wrong(key, format!("`{key}` is missing"));
    }
    section.text(key).map(|said| said.value)
}

fn needed_word<T>(section: &mut Section<'_>, key: &'static str) -> Option<T>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    if !section.has(key) {
        section.wrong(key, format!("`{key}` is missing"));
    }
    section.word(key)
}

fn resource(section: &mut Section<'_>, kind: GrantKind) -> Option<Resource> {
    Some(match kind {
        GrantKind::Directory => Resource::Directory {
            host: needed(section, "host")?,
            guest: guest_path(section)?,
            access: section.word_or("access", Access::ReadOnly),
        },
        GrantKind::Endpoint => {
            let methods = methods(section);
            let credential = section.word("credential");
            Resource::Endpoint {
                methods: methods?,
                url: needed_word(section, "url")?,
                credential,
            }
        }
        GrantKind::Store => Resource::Store {
            store: needed(section, "store")?,
            access: section.word_or("access", Access::ReadOnly),
        },
        GrantKind::Config => {
            let values = section.section("values").pairs();
            let values: BTreeMap<String, String> = values
                .into_iter()
                .map(|(key, value, _)| (key.to_owned(), value))
                .collect();
            if values.is_empty() {
                section.wrong(
                    "values",
                    "a config grant names its values: `values = { KEY = \"value\" }`",
                );
                return None;
            }
            Resource::Config { values }
        }
        GrantKind::Secret => {
            let credential = needed_word(section, "credential");
            Resource::Secret {
                endpoint: needed_word(section, "endpoint")?,
                credential: credential?,
            }
        }
        GrantKind::Clock => Resource::Clock,
        GrantKind::Random => Resource::Random,
        GrantKind::Log => Resource::Log,
        GrantKind::Binding => Resource::Binding {
            capability: needed_word(section, "capability")?,
        },
    })
}

fn guest_path(section: &mut Section<'_>) -> Option<String> {
    let path = needed(section, "guest")?;
    let inside = path.strip_prefix('/').map(str::parse::<SubPath>);
    if !matches!(inside, Some(Ok(_))) {
        section.wrong(
            "guest",
            "the guest's path begins with `/` and has no `.`, `..` or empty part",
        );
        return None;
    }
    Some(path)
}

fn methods(section: &mut Section<'_>) -> Option<BTreeSet<Box<str>>> {
    if !section.has("methods") {
        section.left_out("methods", "[\"GET\", \"HEAD\"]");
    }
    let words = section.words::<String>("methods");
    let words = words.unwrap_or_else(|| vec!["GET".to_owned(), "HEAD".to_owned()]);
    let plain = |method: &String| {
        !method.is_empty()
            && method.bytes().all(|c| c.is_ascii_uppercase())
            && !["CONNECT", "TRACE"].contains(&method.as_str())
    };
    if words.is_empty() || !words.iter().all(plain) {
        section.wrong(
            "methods",
            "methods are upper-case names, at least one, never CONNECT or TRACE",
        );
        return None;
    }
    Some(words.into_iter().map(String::into_boxed_str).collect())
}

pub(super) fn read_credentials(top: &mut Section<'_>) -> BTreeMap<CredentialName, CredentialEntry> {
    let mut credentials = BTreeMap::new();
    for (name, mut section) in top.named::<CredentialName>("credentials") {
        let env = section
            .text("env")
            .map(|said| CredentialSource::Env(said.value));
        let file = section
            .text("file")
            .map(|said| CredentialSource::File(said.value));
        let exec = section.words::<String>("exec").map(CredentialSource::Exec);
        let (agents, archetypes) = (section.words("agents"), section.words("archetypes"));
        let (field, form) = (section.text("field"), section.text("form"));
        let in_the_clear = section.truth("in_the_clear").unwrap_or(false);
        let mut sources = [env, file, exec].into_iter().flatten();
        match (sources.next(), sources.next()) {
            (Some(source), None) => {
                credentials.insert(
                    name,
                    CredentialEntry {
                        source,
                        field: field.map(|said| said.value),
                        form: form.map(|said| said.value),
                        in_the_clear,
                        agents,
                        archetypes,
                    },
                );
            }
            _ => section.wrong("", "say where it is: exactly one of `env`, `file`, `exec`"),
        }
        section.finish();
    }
    credentials
}
