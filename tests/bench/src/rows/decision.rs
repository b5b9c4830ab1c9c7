//! The decision alone: one question of a call, all axes, 200 rules, nothing recorded.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use bindery::policy::{
    Ask, BindingFacts, Declared, EntryFacts, EnvironmentFacts, Facts, KnownNames, Policy,
    Registration, Ruling, Scope, Used, Verb, decide,
};
use bindery::{
    ApprovalRequirement, BindingStatus, Budget, CapabilityId, Digest, EnvironmentId,
    ExecutionState, Moment, Provider, Risk, TrustStatus, ValidationStatus, canonical_digest,
};
use serde_json::json;

use super::ROUNDS;
use crate::goal::Goal;
use crate::measure::{fitting, time};
use crate::rig::{QUESTION, Rig, explain};
use crate::row::{Row, Unit};
use crate::stand::{document, spec};

/// The row.
pub(super) fn rows(rig: &Rig) -> Result<Vec<Row>> {
    let policy = Policy::compile(document()?, &KnownNames::default());
    let policy = policy.map_err(|error| anyhow!("{error}"))?;
    let session = policy
        .open(spec()?, &KnownNames::default())
        .map_err(explain)?;
    let capability: CapabilityId = "bench:answer/answers#answer".parse()?;
    let environment: EnvironmentId = "default".parse()?;
    let provider: Provider = "bindery".parse()?;
    let (digest, scope) = (Digest::of(b"the guest"), Arc::new(Scope::default()));
    let (arguments, budget) = (json!({ "question": QUESTION }), Arc::new(Budget::default()));
    let who = session.who();
    let entry = EntryFacts {
        implementation: digest,
        descriptor: digest,
        provider: Some(&provider),
        provider_live: true,
        shown: true,
        registration: Registration::LateBound,
        execution: Some(ExecutionState::Available),
        trust: TrustStatus::HostVerified,
        validation: ValidationStatus::Bindable,
        declared: Declared {
            risk: Some(Risk::ReadOnly),
            ..Declared::default()
        },
        approval: Some(ApprovalRequirement::NoApproval),
        allowed_agents: None,
        allowed_archetypes: None,
        credentials: &[],
        needs: &[],
    };
    let held = BindingFacts {
        session: who.session,
        principal: &who.principal,
        tenant: &who.tenant,
        status: BindingStatus::Bound,
        expires: Moment::from_unix_ms(u64::MAX),
        capability: &capability,
        environment: &environment,
        generation: 1,
        catalog_version: digest,
        implementation: digest,
        descriptor: digest,
        policy_version: policy.version(),
        scope_digest: scope.digest(),
        scope: &scope,
        budget: &budget,
    };
    let ask = Ask {
        verb: Verb::Call,
        session: &session,
        capability: &capability,
        generation: None,
        implementation: None,
        descriptor: None,
        scope: None,
        arguments: Some(&arguments),
        arguments_digest: Some(canonical_digest(&arguments)),
        now: Moment::from_unix_ms(1),
    };
    let facts = Facts {
        environment: Some(EnvironmentFacts {
            id: &environment,
            generation: 1,
            catalog_version: digest,
        }),
        entry: Some(&entry),
        binding: Some(&held),
        revoked: None,
        credentials: &[],
        write_gate: false,
        approvals: &[],
        used: &Used::default(),
        windows: &[],
    };
    let decision = decide(&policy, &ask, &facts);
    ensure!(
        matches!(decision.ruling, Ruling::Allow(_)),
        "the bench's own question is not allowed: {}",
        decision.trace.to_text()
    );
    let mut deciding = |count: u32| -> Result<()> {
        for _ in 0..count {
            drop(black_box(decide(&policy, black_box(&ask), &facts)));
        }
        Ok(())
    };
    let count = fitting(&mut deciding)?;
    let mut samples = Vec::new();
    for _ in 0..rig.pace.rounds(ROUNDS) {
        samples.push(time(&mut deciding, count)? / 1e3);
    }
    let row = Row::new("decision", "one decision about a call, 200 rules", "");
    let row = row.goal(Goal::AtMost(1.0));
    Ok(vec![row.samples(Unit::Us, &samples)])
}
