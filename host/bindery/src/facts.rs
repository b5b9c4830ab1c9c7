//! What the host knows at the moment of a decision, gathered for the decider.
//!
//! Rule: nothing is decided here. Every field is read from the catalogue, the ledger or the
//! configuration; what nobody knows is left at its closed value.

use bindery_catalogue::{Contract, Entry as Row};
use bindery_ledger::words::{Meter, ProposalStatus};
use bindery_ledger::{Binding, Bucket, BudgetScope, CapabilityKey, Proposal, State, Target};
use bindery_policy::{
    ApprovalFacts, Ask, BindingFacts, Counter, Covers, Decision, Declared, EntryFacts,
    EnvironmentFacts, Facts, Policy, Subject, Switch, Used, Who, Window, decide,
};
use bindery_types::{
    ApprovalRequirement, BindingHandle, CapabilityId, CredentialName, ExecutionState,
};

use crate::held::{Held, Opened, Powers};

/// What a decision is about, as the host holds it.
pub(crate) struct About<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) opened: &'a Opened,
    /// The row and its powers, when there is such an entry.
    pub(crate) row: Option<(&'a Row, &'a Powers)>,
    /// The binding of a call or a refresh.
    pub(crate) binding: Option<Through<'a>>,
    /// The credentials that this host holds.
    pub(crate) credentials: &'a [CredentialName],
}

/// The binding that a question goes through.
#[derive(Clone, Copy)]
pub(crate) enum Through<'a> {
    /// One that the ledger knows.
    Live(BindingHandle, &'a Held),
    /// One that would be opened: for explanations only; nothing runs through it.
    Supposed(&'a Binding, &'a Held),
}

/// Decides `ask` over what `state` and `about` say.
pub(crate) fn decided(state: &State, about: &About<'_>, ask: &Ask<'_>) -> Decision {
    let who = about.opened.session.who();
    let key = about.row.map(|(row, _)| key_of(row));
    let bound = about.binding.and_then(|through| match through {
        Through::Live(handle, held) => Some((held, state.binding(handle)?)),
        Through::Supposed(binding, held) => Some((held, binding)),
    });
    let environment = state.environment().map(|environment| EnvironmentFacts {
        id: &environment.id,
        generation: environment.generation,
        catalog_version: session_version(state, about.opened)
            .unwrap_or(environment.catalog_version),
    });
    let entry = about
        .row
        .map(|(row, powers)| entry_facts(state, row, powers));
    let approvals = approvals(state, ask.capability);
    let used = used(state, about.opened);
    let facts = Facts {
        environment,
        entry: entry.as_ref(),
        binding: None,
        revoked: key.as_ref().and_then(|key| {
            let thrown = state.switch_for(key, &who.principal)?;
            Some(switch(thrown))
        }),
        credentials: about.credentials,
        write_gate: state.write_gate().is_some(),
        approvals: &approvals,
        used: &used,
        windows: &windows(state, about.opened),
    };
    match bound {
        None => decide(about.policy, ask, &facts),
        Some((held, found)) => {
            let binding = binding_facts(held, found);
            let facts = Facts {
                binding: Some(&binding),
                ..facts
            };
            decide(about.policy, ask, &facts)
        }
    }
}

/// Does the work of gathering facts about a row, and says nothing of them: what is absent
/// takes the time of what is hidden (I27).
pub(crate) fn looked_at(state: &State, opened: &Opened, (row, powers): (&Row, &Powers)) {
    let key = key_of(row);
    let thrown = state.switch_for(&key, &opened.session.who().principal);
    std::hint::black_box((thrown.map(switch), entry_facts(state, row, powers)));
}

/// Why `opened` may not know of a row; nothing when it may.
pub(crate) fn hidden(
    state: &State,
    policy: &Policy,
    opened: &Opened,
    (row, powers): (&Row, &Powers),
) -> Option<&'static str> {
    let facts = entry_facts(state, row, powers);
    policy.hidden_because(&opened.session, row.descriptor.id(), &facts)
}

/// The key under which the ledger knows a row.
pub(crate) fn key_of(row: &Row) -> CapabilityKey {
    CapabilityKey {
        id: row.descriptor.id().clone(),
        implementation: Some(row.descriptor.implementation_digest()),
    }
}

/// What a contract declares of effects, in the words of policy.
pub(crate) fn declared(contract: &Contract) -> Declared {
    Declared {
        risk: contract.risk,
        read_only: contract.read_only,
        side_effect: contract.side_effects,
    }
}

fn session_version(state: &State, opened: &Opened) -> Option<bindery_types::Digest> {
    let session = opened.session.who().session;
    state.session(session).map(|open| open.catalog_version)
}

fn entry_facts<'a>(state: &State, row: &'a Row, powers: &'a Powers) -> EntryFacts<'a> {
    let descriptor = &row.descriptor;
    let contract = descriptor.contract();
    // What the ledger says of trust and validation counts, not what the catalogue shows.
    let known = state.capability(&key_of(row));
    EntryFacts {
        implementation: descriptor.implementation_digest(),
        descriptor: descriptor.digest(),
        provider: Some(&descriptor.origin().provider),
        // As it was last looked at: what is gone is not called because it once was there.
        provider_live: known
            .and_then(|known| known.description.as_ref())
            .is_some_and(|seen| seen.execution_state == ExecutionState::Available),
        // What the ledger has no record of has no source that could show it.
        shown: known.is_some(),
        registration: powers.registration,
        execution: Some(row.execution_state),
        trust: known.map_or(bindery_types::TrustStatus::Untrusted, |known| {
            known.trust_status
        }),
        validation: known.map_or(bindery_types::ValidationStatus::Candidate, |known| {
            known.validation_status()
        }),
        declared: declared(contract),
        approval: contract.approval,
        allowed_agents: contract.allowed_agents.as_deref(),
        allowed_archetypes: contract.allowed_archetypes.as_deref(),
        credentials: &contract.credentials,
        needs: &powers.needs,
    }
}

fn binding_facts<'a>(held: &'a Held, found: &'a Binding) -> BindingFacts<'a> {
    let pins = &found.pins;
    BindingFacts {
        session: found.session,
        principal: &pins.principal,
        tenant: &pins.tenant,
        status: found.status(),
        expires: pins.lease_until,
        capability: &pins.capability.id,
        environment: &pins.environment,
        generation: pins.environment_generation,
        catalog_version: pins.catalog_version,
        implementation: pins
            .capability
            .implementation
            .unwrap_or(pins.descriptor_digest),
        descriptor: pins.descriptor_digest,
        policy_version: pins.policy_version,
        scope: &held.scope,
        scope_digest: held.scope_digest,
        budget: &held.budget,
    }
}

/// Answered proposals about this capability; what is used up is answered no more.
fn approvals<'a>(state: &'a State, capability: &CapabilityId) -> Vec<ApprovalFacts<'a>> {
    let of_it = state.proposals().filter(|(_, proposal)| {
        proposal.asked.capability.id == *capability && proposal.status == ProposalStatus::Approved
    });
    of_it.map(|(_, proposal)| approval(proposal)).collect()
}

fn approval(proposal: &Proposal) -> ApprovalFacts<'_> {
    let asked = &proposal.asked;
    ApprovalFacts {
        proposal: asked.proposal,
        covers: match asked.requirement {
            ApprovalRequirement::ConfirmOnce => Covers::Run,
            ApprovalRequirement::NoApproval
            | ApprovalRequirement::ConfirmEveryTime
            | ApprovalRequirement::Blocked => Covers::Arguments(asked.arguments),
        },
        capability: &asked.capability.id,
        implementation: asked
            .capability
            .implementation
            .unwrap_or(asked.descriptor_digest),
        descriptor: asked.descriptor_digest,
        generation: asked.environment_generation,
        policy_version: asked.policy_version,
        scope_digest: asked.scope_digest,
        principal: &asked.principal,
        tenant: &asked.tenant,
        session: asked.session,
        run: asked.run,
        archetype: &asked.archetype,
        expires: asked.expires_at,
        used: false,
    }
}

fn switch(target: &Target) -> Switch {
    match target {
        Target::Binding(_) => Switch::Handle,
        Target::Capability(_) => Switch::Capability,
        Target::Digest(_) => Switch::Digest,
        Target::Namespace(_) => Switch::Namespace,
        Target::Principal(_) => Switch::Principal,
        Target::All => Switch::All,
    }
}

/// The meter of the ledger that a counter of policy reads.
pub(crate) fn meter_of(counter: Counter) -> Option<Meter> {
    match counter {
        Counter::Calls => Some(Meter::Calls),
        Counter::Fuel => Some(Meter::Fuel),
        Counter::Time => Some(Meter::WallMs),
        Counter::EgressBytes => Some(Meter::EgressBytes),
        Counter::WrittenBytes => Some(Meter::WrittenBytes),
        Counter::Binds => Some(Meter::Binds),
        Counter::Proposals => Some(Meter::Proposals),
        // Neither is done yet; a document that limits them is told so.
        Counter::Searches | Counter::Probes => None,
    }
}

/// Whose budgets a session draws from.
pub(crate) fn scope_of(subject: Subject, who: &Who) -> BudgetScope {
    match subject {
        Subject::Session => BudgetScope::Session(who.session),
        Subject::Principal => BudgetScope::Principal(who.tenant.clone(), who.principal.clone()),
        Subject::Environment => BudgetScope::Environment,
    }
}

/// What is counted in total of one counter of one subject, where it is counted.
pub(crate) fn bucket<'a>(
    state: &'a State,
    opened: &Opened,
    subject: Subject,
    counter: Counter,
) -> Option<&'a Bucket> {
    let mut totals = opened.drawn.totals.iter();
    let drawn = totals.find(|drawn| drawn.subject == subject && drawn.counter == counter)?;
    state.bucket(&drawn.bucket)
}

fn used(state: &State, opened: &Opened) -> Used {
    let totals = opened.drawn.totals.iter();
    totals.fold(Used::default(), |used, drawn| {
        let Some(bucket) = state.bucket(&drawn.bucket) else {
            return used;
        };
        let count = bucket.spent.saturating_add(bucket.reserved);
        used.with(drawn.subject, drawn.counter, count)
    })
}

fn windows(state: &State, opened: &Opened) -> Vec<Window> {
    let rates = opened.drawn.rates.iter();
    rates
        .filter_map(|drawn| {
            let bucket = state.bucket(&drawn.bucket)?;
            Some(Window {
                subject: drawn.subject,
                counter: drawn.counter,
                opened: bucket.since,
                count: bucket.spent,
            })
        })
        .collect()
}
