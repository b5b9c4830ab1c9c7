//! Whether the capability may be used here at all: seen, running, permitted, vouched for.

use bindery_types::{CapabilityId, CredentialName, ErrorType, ExecutionState, ValidationStatus};

use super::case::Case;
use crate::ask::{EntryFacts, Verb};
use crate::policy::Policy;
use crate::session::Session;
use crate::trace::{Line, Reason};

fn any<T: PartialEq>(list: Option<&[T]>, item: &T) -> bool {
    list.is_none_or(|list| list.contains(item))
}

/// What is hidden answers like what is absent; the reason is the operator's (C-11, C-48).
pub(super) fn visibility(case: &Case<'_>) -> Line {
    let hidden = match case.facts.entry {
        None => Some("there is no such entry"),
        Some(_) => None,
    };
    let seen = case
        .policy
        .hidden_because(case.ask.session, case.ask.capability, case.entry);
    match (hidden.or(seen), case.ask.verb) {
        (None, _) => Line::pass(),
        (Some(why), Verb::Bind) => {
            Line::block(ErrorType::CapabilityUnavailable, Reason::NotVisible).note(why)
        }
        (Some(why), Verb::Call | Verb::Refresh) => {
            Line::block(ErrorType::BindingStale, Reason::NoLongerVisible).note(why)
        }
    }
}

impl Policy {
    /// Why `session` may not know of a capability; nothing when it may. The same question
    /// for search, inspection and decisions.
    pub fn hidden_because(
        &self,
        session: &Session,
        id: &CapabilityId,
        entry: &EntryFacts<'_>,
    ) -> Option<&'static str> {
        let visibility = &self.document().people.visibility;
        let (namespaces, providers) = (
            visibility.namespaces.as_ref(),
            visibility.providers.as_ref(),
        );
        if !entry.shown {
            Some("its source hides it")
        } else if !namespaces.is_none_or(|list| list.iter().any(|n| n.as_str() == id.namespace())) {
            Some("its namespace is not in `[visibility] namespaces`")
        } else if !providers.is_none_or(|list| entry.provider.is_some_and(|p| list.contains(p))) {
            Some("its provider is not in `[visibility] providers`")
        } else if self.hidden.has(id) {
            Some("it is in `[visibility] hidden`")
        } else if session.profile.denies(id) {
            Some("it is in `[profile] denied_tools`")
        } else if !session.profile.allows(id) {
            Some("it is not in `[profile] allowed_tools`")
        } else {
            None
        }
    }
}

/// … R-247: an honest answer, never a simulated success.
pub(super) fn execution_state(case: &Case<'_>) -> Line {
    let reason = match case.entry.execution {
        Some(ExecutionState::Available) => return Line::pass(),
        Some(ExecutionState::ContractOnly) => Reason::ContractOnly,
        Some(ExecutionState::Planned) => Reason::Planned,
        None => Reason::StateUnknown,
    };
    Line::block(ErrorType::NotExecutable, reason)
}

pub(super) fn provider(case: &Case<'_>) -> Line {
    if case.entry.provider_live {
        return Line::pass();
    }
    let name = case
        .entry
        .provider
        .map_or("unknown", |provider| provider.as_str());
    Line::block(ErrorType::CapabilityUnavailable, Reason::ProviderDown)
        .note(format!("provider `{name}`"))
}

/// R-582 …: named, for this agent and workspace, and there.
pub(super) fn credential(case: &Case<'_>) -> Line {
    let slices = case.scope.iter().flat_map(|scope| scope.slices());
    let of_grants =
        slices.filter_map(|(name, _)| case.policy.grants.get(name)?.credential.as_ref());
    let mut needed = case.entry.credentials.iter().chain(of_grants);
    match needed.find_map(|name| Some((name, missing(case, name)?))) {
        None => Line::pass(),
        Some((name, why)) => Line::block(ErrorType::CredentialMissing, Reason::CredentialMissing)
            .note(format!("`{name}` {why}")),
    }
}

fn missing(case: &Case<'_>, name: &CredentialName) -> Option<&'static str> {
    let Some(entry) = case.policy.document().credentials.get(name) else {
        return Some("is not in the document");
    };
    if !any(entry.agents.as_deref(), &case.who.agent) {
        return Some("is not for this agent");
    }
    if !any(entry.archetypes.as_deref(), &case.who.archetype) {
        return Some("is not for this kind of workspace");
    }
    (!case.facts.credentials.contains(name)).then_some("is not configured, or was revoked")
}

/// a denial of any scope wins over every permission of any scope.
pub(super) fn deny(case: &Case<'_>) -> Line {
    let id = case.ask.capability;
    let block = || Line::block(case.denied(), Reason::Denied);
    if case.ask.session.own.denies(id) {
        return block().note("by the session's deny list");
    }
    #[cfg(feature = "seeded-bugs")]
    if case.policy.bug == Some(crate::seeded::Bug::ProjectAllowBeatsDeny)
        && case.ask.session.project.allow.is_some()
        && case.ask.session.project.allows(id)
    {
        return Line::pass();
    }
    if case.ask.session.project.denies(id) {
        return block().note("by the project's deny list");
    }
    let mut rules = case
        .rules(&case.denying)
        .filter(|ready| ready.rule.arguments.is_empty());
    match rules.next() {
        Some(ready) => block().by(&ready.shown),
        None => Line::pass(),
    }
}

/// permission is an intersection.
pub(super) fn allow(case: &Case<'_>) -> Line {
    let id = case.ask.capability;
    let block = |why: &str| Line::block(case.denied(), Reason::NotAllowed).note(why);
    if !case.ask.session.own.allows(id) {
        return block("it is not in the session's allow list");
    }
    if !case.ask.session.project.allows(id) {
        return block("it is not in the project's allow list");
    }
    match case.rules(&case.permitting).next() {
        Some(ready) => Line::pass().by(&ready.shown),
        None => block("no rule allows it for this principal, agent, archetype, mode and risk"),
    }
}

/// registration alone grants nothing.
pub(super) fn agent(case: &Case<'_>) -> Line {
    let (id, name) = (case.ask.capability, &case.who.agent);
    let block = |reason, why: String| Line::block(case.denied(), reason).note(why);
    let Some(agent) = case.policy.agents.get(name) else {
        return block(
            Reason::AgentUnknown,
            format!("there is no `[agents.{name}]`"),
        );
    };
    if !agent.active {
        return block(Reason::AgentStub, format!("`{name}` is a stub"));
    }
    if !agent.tools.as_ref().is_none_or(|tools| tools.has(id)) {
        return block(
            Reason::AgentNotAllowed,
            format!("it is not in `[agents.{name}] tools`"),
        );
    }
    let provider = case.entry.provider;
    let listed = agent.providers.as_deref();
    if listed.is_some_and(|list| !provider.is_some_and(|provider| list.contains(provider))) {
        return block(
            Reason::AgentNotAllowed,
            format!("its provider is not in `[agents.{name}] providers`"),
        );
    }
    if !any(case.entry.allowed_agents, name) {
        return block(
            Reason::AgentNotAllowed,
            format!("its contract does not list `{name}`"),
        );
    }
    Line::pass()
}

///
pub(super) fn workspace(case: &Case<'_>) -> Line {
    let archetype = &case.who.archetype;
    let of_agent = case.policy.agents.get(&case.who.agent);
    let lists = [
        (
            case.policy.document().people.archetypes.as_deref(),
            "the document's archetypes",
        ),
        (
            of_agent.and_then(|agent| agent.archetypes.as_deref()),
            "the agent's archetypes",
        ),
        (case.entry.allowed_archetypes, "its contract's archetypes"),
    ];
    match lists.into_iter().find(|(list, _)| !any(*list, archetype)) {
        None => Line::pass(),
        Some((_, whose)) => Line::block(case.denied(), Reason::ArchetypeNotAllowed)
            .note(format!("`{archetype}` is not among {whose}")),
    }
}

/// C-58: who vouches, not how sure a text sounds.
pub(super) fn trust(case: &Case<'_>) -> Line {
    let (minimum, trust) = (
        case.policy.document().people.trust.minimum,
        case.entry.trust,
    );
    if trust >= minimum {
        return Line::pass();
    }
    Line::block(ErrorType::DescriptorUntrusted, Reason::NotTrusted)
        .note(format!("it is `{trust}`, `{minimum}` is needed"))
}

/// only what was found bindable.
pub(super) fn validation(case: &Case<'_>) -> Line {
    match case.entry.validation {
        ValidationStatus::Bindable => Line::pass(),
        other => Line::block(ErrorType::SchemaUnverified, Reason::NotValidated)
            .note(format!("it is `{other}`")),
    }
}
