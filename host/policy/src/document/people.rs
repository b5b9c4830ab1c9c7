//! Who takes part: the environment, principals, agents, workspaces, and what they may see.

use std::collections::BTreeMap;

use bindery_types::{
    Agent, Archetype, EnvironmentId, Namespace, PermissionMode, Principal, Provider, Rights,
    Tenant, TrustStatus, Workspace,
};
use serde::Serialize;

use super::reader::Section;
use crate::words::ImplementationStatus;

/// A principal that this host knows by configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PrincipalEntry {
    /// What it may do to the host.
    pub rights: Rights,
    /// Whose data it works on.
    pub tenant: Tenant,
}

/// A registered agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentEntry {
    /// Whether it has an implementation.
    pub implementation_status: ImplementationStatus,
    /// Capabilities by id or public name: left out = any, empty = none (C-65).
    pub tools: Option<Vec<String>>,
    /// Workspace archetypes it works in: left out = any, empty = none.
    pub archetypes: Option<Vec<Archetype>>,
    /// Providers whose implementations it uses: left out = any, empty = none.
    pub providers: Option<Vec<Provider>>,
    /// What it says about itself; read as a statement, never as a permission.
    pub declaration: Option<String>,
}

/// The ceiling of sessions. What it excludes is not visible (C-11).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// Capabilities by id or public name: left out = no ceiling, empty = none.
    pub allowed_tools: Option<Vec<String>>,
    /// Capabilities that are never seen.
    pub denied_tools: Vec<String>,
}

/// The kinds of operation that sessions may ask for (R-248 … R-251, C-65).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Mode {
    /// Unless a session asks for another.
    pub default: PermissionMode,
    /// No session gets more.
    pub ceiling: PermissionMode,
}

/// What is discoverable: left out = any, empty = none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Visibility {
    /// Publishers.
    pub namespaces: Option<Vec<Namespace>>,
    /// Providers.
    pub providers: Option<Vec<Provider>>,
    /// Capabilities by id or public name that are never seen.
    pub hidden: Vec<String>,
}

/// Who has to vouch for a descriptor before it is bound (C-58).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trust {
    /// The least that is accepted.
    pub minimum: TrustStatus,
    /// The trust of entries by source name; a source that is not named is `untrusted`.
    pub sources: BTreeMap<String, TrustStatus>,
}

/// Everything of this file, read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct People {
    /// The environment's id.
    pub environment: EnvironmentId,
    /// Known principals.
    pub principals: BTreeMap<Principal, PrincipalEntry>,
    /// Registered agents.
    pub agents: BTreeMap<Agent, AgentEntry>,
    /// Known workspace archetypes: left out = any.
    pub archetypes: Option<Vec<Archetype>>,
    /// Workspaces by name, each of its archetype; one that is not named is of the
    /// archetype that it is called like.
    pub workspaces: BTreeMap<Workspace, Archetype>,
    /// The ceiling.
    pub profile: Profile,
    /// Modes.
    pub mode: Mode,
    /// What is discoverable.
    pub visibility: Visibility,
    /// Trust.
    pub trust: Trust,
}

pub(super) fn read(top: &mut Section<'_>) -> Option<People> {
    let mut environment = top.section("environment");
    let id = environment.word::<EnvironmentId>("id");
    if !environment.has("id") {
        environment.left_out("id", "default");
    }
    environment.finish();
    let mut workspaces = top.section("workspaces");
    let archetypes = workspaces.words("archetypes");
    let named = named_workspaces(workspaces.section("named"));
    workspaces.finish();
    Some(People {
        environment: id.or_else(|| "default".parse().ok())?,
        principals: principals(top),
        agents: agents(top),
        archetypes,
        workspaces: named,
        profile: profile(top.section("profile")),
        mode: mode(top.section("mode")),
        visibility: visibility(top.section("visibility")),
        trust: trust(top.section("trust")),
    })
}

fn principals(top: &mut Section<'_>) -> BTreeMap<Principal, PrincipalEntry> {
    let mut principals = BTreeMap::new();
    for (name, mut section) in top.named::<Principal>("principals") {
        let rights = section.word("rights");
        let tenant = section.word("tenant");
        if !section.has("rights") {
            section.wrong(
                "rights",
                "say `rights = \"model\"` or `rights = \"operator\"`",
            );
        }
        if !section.has("tenant") {
            section.wrong("tenant", "say whose data it works on: `tenant = \"NAME\"`");
        }
        section.finish();
        if let (Some(rights), Some(tenant)) = (rights, tenant) {
            principals.insert(name, PrincipalEntry { rights, tenant });
        }
    }
    principals
}

fn agents(top: &mut Section<'_>) -> BTreeMap<Agent, AgentEntry> {
    let mut agents = BTreeMap::new();
    for (name, mut section) in top.named::<Agent>("agents") {
        let entry = AgentEntry {
            // What is not said to run is only described.
            implementation_status: section
                .word_or("implementation_status", ImplementationStatus::Stub),
            tools: section.words("tools"),
            archetypes: section.words("archetypes"),
            providers: section.words("providers"),
            declaration: section.text("declaration").map(|said| said.value),
        };
        section.finish();
        agents.insert(name, entry);
    }
    agents
}

fn named_workspaces(section: Section<'_>) -> BTreeMap<Workspace, Archetype> {
    let mut named = BTreeMap::new();
    for (name, word, at) in section.pairs() {
        let read = name.parse::<Workspace>().and_then(|workspace| {
            word.parse::<Archetype>()
                .map(|archetype| (workspace, archetype))
        });
        match read {
            Ok((workspace, archetype)) => {
                named.insert(workspace, archetype);
            }
            Err(error) => {
                let key = section.key(name);
                section.reader.fault(at, &key, error.to_string(), &[]);
            }
        }
    }
    named
}

fn profile(mut section: Section<'_>) -> Profile {
    let profile = Profile {
        allowed_tools: section.words("allowed_tools"),
        denied_tools: section.words("denied_tools").unwrap_or_default(),
    };
    section.finish();
    profile
}

fn mode(mut section: Section<'_>) -> Mode {
    let default = section.word_or("default", PermissionMode::ReadOnly);
    let ceiling = section.word_or("ceiling", default);
    if default > ceiling {
        section.wrong(
            "default",
            format!("`{default}` is above the ceiling `{ceiling}`"),
        );
    }
    section.finish();
    Mode { default, ceiling }
}

fn visibility(mut section: Section<'_>) -> Visibility {
    let visibility = Visibility {
        namespaces: section.words("namespaces"),
        providers: section.words("providers"),
        hidden: section.words("hidden").unwrap_or_default(),
    };
    section.finish();
    visibility
}

fn trust(mut section: Section<'_>) -> Trust {
    let minimum = section.word_or("minimum", TrustStatus::HostVerified);
    let named = section.section("sources");
    let mut sources = BTreeMap::new();
    for (name, word, at) in named.pairs() {
        match word.parse() {
            Ok(trust) => {
                sources.insert(name.to_owned(), trust);
            }
            Err(error) => named
                .reader
                .fault(at, &named.key(name), format!("{error}"), &[]),
        }
    }
    section.finish();
    Trust { minimum, sources }
}
