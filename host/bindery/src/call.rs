//! `call`: the one way to run anything: resolve, check, decide, reserve, run, settle.
//!
//! Rule (R-497 … R-512): the steps run in this order and a failing one stops the rest.
//! Nothing starts before the ledger has accepted the intent; with possible effects, before
//! it is durable (I18). Whatever happens is recorded; what nobody knows is said to be
//! uncertain and is never run again by itself (I17).

use std::collections::BTreeMap;
use std::sync::Arc;

use bindery_ledger::event::{
    Amounts, CallDecided, CallIntent, CallOutcome, CallRefused, CallUncertain,
    Decision as DecisionRecord, Idempotent, OutputRef, ProposalMade,
};
use bindery_ledger::words::{CallEnd, Doubt, Effectful, Meter, Operation, Step, Verdict as Word};
use bindery_ledger::{CapabilityKey, JournalError, Lease, Line, Rejection, Summary};
use bindery_policy::{Ask, Decision, Policy, Question, Ruling, Verb, Verdict};
use bindery_sandbox::{Cancel, Checked};
use bindery_types::{
    BindingHandle, CallId, Digest, ErrorType, IdempotencyKey, LimitName, Moment, Outcome,
    ProposalId, Receipt, Refusal, Risk, Run, canonical, canonical_digest,
};
use serde_json::{Value, json};

use crate::bind::parsed;
use crate::clock::random;
use crate::facts::{About, decided, key_of};
use crate::held::{Held, Opened};
use crate::session::Session;

/// How long the outcome of an idempotency key is kept.
const KEY_MS: u64 = 24 * 3_600_000;

/// What a caller may say beside the arguments.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// Makes requests with the same key and equal arguments one effect (C-56).
    pub idempotency_key: Option<IdempotencyKey>,
    /// Ends the call.
    pub cancel: Cancel,
}

/// What a call came to.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The call; refused ones have an id, too.
    pub call: CallId,
    /// The proposal that an operator has to answer, when it was `approval_required`.
    pub proposal: Option<ProposalId>,
    /// Outcome and receipt.
    pub run: Run,
}

impl Reply {
    fn refused(call: CallId, refusal: Refusal) -> Self {
        Self {
            call,
            proposal: None,
            run: Run::refused(refusal),
        }
    }
}

/// A call on its way down: what each step adds for the next.
struct Resolved {
    call: CallId,
    asked_at: Moment,
    opened: Arc<Opened>,
    handle: BindingHandle,
    held: Arc<Held>,
    capability: CapabilityKey,
}

impl Session {
    /// Calls the capability behind `handle` with `arguments`, JSON text of its parameters.
    ///
    /// Every failure is in the reply, refusals included.
    pub async fn call(&self, handle: &str, arguments: &str, options: &CallOptions) -> Reply {
        let call = match random() {
            Ok(bits) => CallId::from_random(bits),
            Err(refusal) => return Reply::refused(CallId::from_random([0; 16]), refusal),
        };
        let resolved = match self.resolve(call, handle) {
            Ok(resolved) => resolved,
            Err(refusal) => return self.refuse(call, None, Step::Resolve, refusal).await,
        };
        let checked = match self.check(&resolved, arguments) {
            Ok(checked) => checked,
            Err(refusal) => {
                return self
                    .refuse(call, Some(&resolved), Step::Check, refusal)
                    .await;
            }
        };
        match self.decide(&resolved, &checked) {
            Ok(decision) => self.proceed(resolved, checked, decision, options).await,
            Err(refusal) => {
                self.refuse(call, Some(&resolved), Step::Decide, refusal)
                    .await
            }
        }
    }

    /// Step 1: the handle is this session's and its lease is alive.
    fn resolve(&self, call: CallId, handle: &str) -> Result<Resolved, Refusal> {
        let (opened, asked_at) = (self.opened()?, self.governor.clock.now());
        let handle = parsed(handle)?;
        let found = self.governor.look(|state| {
            let binding = state.bound(handle, self.id, asked_at)?;
            Ok::<_, Rejection>(binding.pins.capability.clone())
        });
        let unknown = || Rejection::Unknown { what: "binding" };
        let capability = found
            .unwrap_or_else(|| Err(unknown()))
            .map_err(|error| error.refusal())?;
        let held = self.governor.read().bindings.get(&handle).cloned();
        let held = held.ok_or_else(|| unknown().refusal())?;
        Ok(Resolved {
            call,
            asked_at,
            opened,
            handle,
            held,
            capability,
        })
    }

    /// Step 2: the arguments fit the types of exactly the bytes that are pinned (I9).
    fn check(&self, resolved: &Resolved, arguments: &str) -> Result<(Checked, Value), Refusal> {
        let current = self.governor.read();
        let row = current.catalogue.get(&resolved.capability.id);
        let gone = || Refusal::new(ErrorType::BindingStale, "the binding is stale");
        let row = row
            .filter(|row| key_of(row) == resolved.capability)
            .ok_or_else(gone)?;
        let digest = row.descriptor.implementation_digest();
        let loaded = current.loaded.get(&digest).cloned().ok_or_else(gone)?;
        let function = row.descriptor.function().to_owned();
        drop(current);
        let budget = &resolved.held.budget;
        let checked = self
            .governor
            .sandbox
            .check(&loaded, &function, arguments, budget)?;
        let broken = || Refusal::new(ErrorType::Internal, "checked arguments cannot be written");
        let text = checked.arguments().ok_or_else(broken)?;
        let value = serde_json::from_str(&text).map_err(|_| broken())?;
        Ok((checked, value))
    }

    /// Step 3: every axis again, with these arguments.
    fn decide(
        &self,
        resolved: &Resolved,
        (_, arguments): &(Checked, Value),
    ) -> Result<(Decision, Arc<Policy>, Digest), Refusal> {
        let current = self.governor.read();
        let row = current.catalogue.get(&resolved.capability.id);
        let row = row.and_then(|row| Some((row, &**current.powers.get(row.descriptor.id())?)));
        let about = About {
            policy: &current.policy,
            opened: &resolved.opened,
            row,
            binding: Some((resolved.handle, &resolved.held)),
            credentials: &[],
        };
        let digest = canonical_digest(arguments);
        let ask = Ask {
            verb: Verb::Call,
            session: &resolved.opened.session,
            capability: &resolved.capability.id,
            generation: None,
            implementation: None,
            descriptor: None,
            scope: None,
            arguments: Some(arguments),
            arguments_digest: Some(digest),
            now: self.governor.clock.now(),
        };
        let decision = self.governor.look(|state| decided(state, &about, &ask));
        let silent = || Refusal::new(ErrorType::Internal, "the ledger shows no state");
        Ok((
            decision.ok_or_else(silent)?,
            Arc::clone(&current.policy),
            digest,
        ))
    }

    async fn proceed(
        &self,
        resolved: Resolved,
        (checked, arguments): (Checked, Value),
        (decision, policy, digest): (Decision, Arc<Policy>, Digest),
        options: &CallOptions,
    ) -> Reply {
        match &decision.ruling {
            Ruling::Allow(_) => {}
            Ruling::Ask(question) => {
                let question = (**question).clone();
                return self.ask(&resolved, &arguments, &decision, &question).await;
            }
            Ruling::Deny(_) => return self.deny(&resolved, digest, &arguments, &decision).await,
        }
        let lease = match self
            .reserve(&resolved, &arguments, digest, &decision, options)
            .await
        {
            Ok(lease) => lease,
            Err(reply) => return *reply,
        };
        let Ruling::Allow(grant) = decision.ruling else {
            return Reply::refused(resolved.call, lost());
        };
        // I4: what runs holds what was granted, opened now and not a moment earlier.
        let grants = self
            .governor
            .resources
            .grants(policy.document(), grant.scope());
        let run = match grants {
            Ok(grants) => {
                let sandbox = &self.governor.sandbox;
                let _listed = self
                    .governor
                    .running
                    .list(resolved.call, options.cancel.clone());
                // What was revoked between the intent and the listing is ended here.
                self.governor.stop_overtaken();
                sandbox
                    .run_checked(checked, grants, grant.budget(), &options.cancel)
                    .await
            }
            Err(refusal) => Run::refused(refusal),
        };
        self.settle(&resolved, lease, run).await
    }

    /// Step 4: budget, approval and key are claimed in one record.
    async fn reserve(
        &self,
        resolved: &Resolved,
        arguments: &Value,
        digest: Digest,
        decision: &Decision,
        options: &CallOptions,
    ) -> Result<Lease, Box<Reply>> {
        let call = resolved.call;
        let effectful = match resolved.held.risk {
            Risk::ReadOnly => Effectful::ReadOnly,
            Risk::Write
            | Risk::WritesUserContent
            | Risk::ExternalSideEffect
            | Risk::Destructive
            | Risk::Privileged => Effectful::Effects,
        };
        let now = self.governor.clock.now();
        let approval = match &decision.ruling {
            Ruling::Allow(grant) => grant.approval(),
            Ruling::Ask(_) | Ruling::Deny(_) => None,
        };
        let intent = CallIntent {
            call,
            session: self.id,
            binding: resolved.handle,
            parent: None,
            run: resolved.opened.session.who().run,
            step: 1,
            capability: resolved.capability.clone(),
            effectful,
            arguments: digest,
            input: redacted(arguments),
            decision: decision_event(decision),
            reserve: reserve(&resolved.held),
            approval,
            idempotency: options.idempotency_key.clone().map(|key| Idempotent {
                key,
                expires_at: now.after_ms(KEY_MS),
            }),
            asked_at: resolved.asked_at,
            decided_at: now,
        };
        let told = self.told(&resolved.opened, Operation::Call, "policy allowed the call");
        let entry = self.governor.entry(&told, intent);
        let recorded = match effectful {
            Effectful::Effects => self.governor.record(vec![entry]).await,
            Effectful::ReadOnly => self.governor.journal.append_lazy(vec![entry]),
        };
        if let Err(error) = recorded {
            return Err(Box::new(self.not_reserved(resolved, error).await));
        }
        let lease = self
            .governor
            .look(|state| state.lease(call, &self.governor.lost));
        lease
            .unwrap_or(Err(Rejection::Unknown { what: "call" }))
            .map_err(|error| Box::new(Reply::refused(call, error.refusal())))
    }

    /// What a claim that was not accepted comes to: a repeated request gets what it got.
    async fn not_reserved(&self, resolved: &Resolved, error: JournalError) -> Reply {
        if let JournalError::Rejected(Rejection::AlreadyDone { call, .. }) = &error
            && let Some(run) = self.recorded(*call)
        {
            return Reply {
                call: *call,
                proposal: None,
                run,
            };
        }
        self.refuse(
            resolved.call,
            Some(resolved),
            Step::Reserve,
            error.refusal(),
        )
        .await
    }

    /// The outcome of an earlier call, out of the record.
    fn recorded(&self, call: CallId) -> Option<Run> {
        use bindery_ledger::Query;
        use bindery_ledger::event::Event;
        let records = self
            .governor
            .journal
            .records(&Query::Subject(call.to_string()))
            .ok()?;
        let outcome = records
            .iter()
            .rev()
            .find_map(|record| match &record.entry.event {
                Event::CallOutcome(outcome) => Some(outcome),
                _ => None,
            })?;
        let text = match &outcome.output {
            Some(output) => self.governor.journal.kept(output.digest).ok()?,
            None => None,
        };
        let outcome = match (outcome.end, text) {
            (CallEnd::Succeeded, Some(text)) => Outcome::Value(text),
            (CallEnd::CapabilityError, Some(text)) => Outcome::CapabilityError(text),
            _ => {
                let kind = outcome.error.unwrap_or(ErrorType::IdempotencyConflict);
                let text = "the call of this idempotency key ended like this before";
                Outcome::Refused(Refusal::new(kind, text))
            }
        };
        Some(Run {
            outcome,
            receipt: None,
            denials: Vec::new(),
        })
    }

    /// Step 6: how it ended is recorded before anybody is told.
    async fn settle(&self, resolved: &Resolved, lease: Lease, run: Run) -> Reply {
        let call = resolved.call;
        let effectful = resolved.held.risk != Risk::ReadOnly;
        let (event, kept) = match ending(call, effectful, &run, self.governor.clock.now()) {
            Ending::Known(outcome, kept) => (lease.settle(*outcome), kept),
            Ending::Unknown(uncertain) => (lease.doubt(uncertain), Vec::new()),
        };
        let Ok(event) = event else {
            return Reply::refused(call, lost());
        };
        let told = self.told(&resolved.opened, Operation::Call, "the call ended");
        let entry = self.governor.entry(&told, event);
        let recorded = if effectful || !kept.is_empty() {
            let journal = Arc::clone(&self.governor.journal);
            let append = tokio::task::spawn_blocking(move || journal.append(vec![entry], kept));
            append
                .await
                .unwrap_or_else(|_| Err(JournalError::Poisoned("interrupted".to_owned())))
        } else {
            self.governor.journal.append_lazy(vec![entry])
        };
        match recorded {
            Ok(_) if effectful => Reply {
                call,
                proposal: None,
                run: said_uncertain(run),
            },
            Ok(_) => Reply {
                call,
                proposal: None,
                run,
            },
            Err(error) if effectful => {
                let refusal = Refusal::new(
                    ErrorType::UncertainSideEffect,
                    "the call ran, and how it ended could not be recorded",
                );
                let run = Run {
                    outcome: Outcome::Refused(refusal.for_operator(error.to_string())),
                    ..run
                };
                Reply {
                    call,
                    proposal: None,
                    run,
                }
            }
            Err(error) => Reply::refused(call, error.refusal()),
        }
    }

    async fn refuse(
        &self,
        call: CallId,
        resolved: Option<&Resolved>,
        step: Step,
        refusal: Refusal,
    ) -> Reply {
        let Ok(opened) = self.opened() else {
            return Reply::refused(call, refusal);
        };
        let event = CallRefused {
            call,
            binding: resolved.map(|resolved| resolved.handle),
            capability: resolved.map(|resolved| resolved.capability.clone()),
            run: opened.session.who().run,
            step,
            error: refusal.kind(),
        };
        let told = self.told(&opened, Operation::Call, "the call was refused");
        let entry = self.governor.entry(&told, event);
        match self.governor.journal.append_lazy(vec![entry]) {
            Ok(_) => Reply::refused(call, refusal),
            Err(error) => Reply::refused(call, error.refusal()),
        }
    }

    async fn deny(
        &self,
        resolved: &Resolved,
        digest: Digest,
        arguments: &Value,
        decision: &Decision,
    ) -> Reply {
        let refusal = decision.refusal().unwrap_or_else(lost);
        let event = self.decided_event(resolved, digest, arguments, decision, refusal.kind());
        let told = self.told(&resolved.opened, Operation::Call, "policy denied the call");
        let entry = self.governor.entry(&told, event);
        match self.governor.journal.append_lazy(vec![entry]) {
            Ok(_) => Reply::refused(resolved.call, refusal),
            Err(error) => Reply::refused(resolved.call, error.refusal()),
        }
    }

    fn decided_event(
        &self,
        resolved: &Resolved,
        digest: Digest,
        arguments: &Value,
        decision: &Decision,
        error: ErrorType,
    ) -> CallDecided {
        CallDecided {
            call: resolved.call,
            binding: resolved.handle,
            capability: resolved.capability.clone(),
            run: resolved.opened.session.who().run,
            arguments: digest,
            input: redacted(arguments),
            decision: decision_event(decision),
            error,
        }
    }

    /// a proposal is made, nothing starts. The same question asked again while it
    /// is pending is the same proposal.
    async fn ask(
        &self,
        resolved: &Resolved,
        arguments: &Value,
        decision: &Decision,
        question: &Question,
    ) -> Reply {
        let refusal = decision.refusal().unwrap_or_else(lost);
        let digest = question
            .arguments_digest
            .unwrap_or_else(|| canonical_digest(arguments));
        let decided = self.decided_event(resolved, digest, arguments, decision, refusal.kind());
        let told = self.told(&resolved.opened, Operation::Call, "policy asks an operator");
        let mut batch = vec![self.governor.entry(&told, decided)];
        let pending = self.pending(resolved, digest, question);
        let proposal = match pending {
            Some(proposal) => proposal,
            None => {
                let bits = match random() {
                    Ok(bits) => bits,
                    Err(refusal) => return Reply::refused(resolved.call, refusal),
                };
                let proposal = ProposalId::from_random(bits);
                let made = self.proposal(resolved, proposal, digest, arguments, question);
                batch.push(self.governor.entry(&told, made));
                proposal
            }
        };
        match self.governor.record(batch).await {
            Ok(_) => Reply {
                proposal: Some(proposal),
                ..Reply::refused(
                    resolved.call,
                    refusal.with("proposal", proposal.to_string()),
                )
            },
            Err(error) => Reply::refused(resolved.call, error.refusal()),
        }
    }

    fn pending(
        &self,
        resolved: &Resolved,
        digest: Digest,
        question: &Question,
    ) -> Option<ProposalId> {
        use bindery_ledger::words::ProposalStatus;
        let found = self.governor.look(|state| {
            let same = state.proposals().find(|(_, proposal)| {
                proposal.status == ProposalStatus::Pending
                    && proposal.asked.session == self.id
                    && proposal.asked.binding == Some(resolved.handle)
                    && proposal.asked.arguments == digest
                    && proposal.asked.requirement == question.requirement
                    && proposal.asked.policy_version == question.policy_version
                    && self.governor.clock.now() < proposal.asked.expires_at
            });
            same.map(|(id, _)| *id)
        });
        found.flatten()
    }

    fn proposal(
        &self,
        resolved: &Resolved,
        proposal: ProposalId,
        digest: Digest,
        arguments: &Value,
        question: &Question,
    ) -> ProposalMade {
        let who = resolved.opened.session.who();
        let evidence = self.governor.look(|state| {
            let known = state.capability(&resolved.capability);
            known.map(|known| known.evidence_refs.clone())
        });
        let summary = json!({
            "risk": question.risk,
            "capability": resolved.capability.id,
            "arguments": redacted(arguments).value(),
            "scope": serde_json::to_value(&*resolved.held.scope).unwrap_or_default(),
            "expected_effect": question.side_effect,
        });
        ProposalMade {
            proposal,
            call: Some(resolved.call),
            binding: Some(resolved.handle),
            session: self.id,
            principal: who.principal.clone(),
            tenant: who.tenant.clone(),
            run: who.run,
            archetype: who.archetype.clone(),
            capability: resolved.capability.clone(),
            descriptor_digest: question.descriptor,
            arguments: digest,
            scope_digest: question.scope_digest,
            environment_generation: question.generation,
            policy_version: question.policy_version,
            requirement: question.requirement,
            risk: question.risk,
            side_effect_class: question.side_effect,
            summary: Summary::new(summary).unwrap_or_default(),
            evidence: evidence.flatten().unwrap_or_default(),
            expires_at: question.expires,
        }
    }
}

fn lost() -> Refusal {
    Refusal::new(ErrorType::Internal, "the host lost what it had decided")
}

/// The most that a call may draw from the aggregate budgets.
fn reserve(held: &Held) -> Amounts {
    let limit = |name: LimitName| held.budget.get(name).or_max();
    BTreeMap::from([
        (Meter::Calls, 1),
        (Meter::Fuel, limit(LimitName::Fuel)),
        (Meter::WallMs, limit(LimitName::Deadline)),
        (Meter::HostCalls, limit(LimitName::HostCalls)),
        (Meter::OutputBytes, limit(LimitName::Output)),
    ])
}

fn spent(receipt: &Receipt) -> Amounts {
    BTreeMap::from([
        (Meter::Calls, 1),
        (Meter::Fuel, receipt.fuel_used),
        (Meter::WallMs, receipt.wall_us / 1_000),
        (Meter::HostCalls, receipt.host_calls),
        (Meter::OutputBytes, receipt.bytes_out),
    ])
}

/// How a call ended, for the ledger.
enum Ending {
    Known(Box<CallOutcome>, Vec<bindery_ledger::Kept>),
    Unknown(CallUncertain),
}

fn ending(call: CallId, effectful: bool, run: &Run, now: Moment) -> Ending {
    let (effects, effects_dropped) = match &run.receipt {
        Some(receipt) => (receipt.effects.clone(), receipt.effects_dropped),
        None => (Vec::new(), 0),
    };
    let started = run.receipt.is_some();
    let (end, error, text) = match &run.outcome {
        Outcome::Value(text) => (CallEnd::Succeeded, None, Some(text)),
        Outcome::CapabilityError(text) => (CallEnd::CapabilityError, None, Some(text)),
        Outcome::Refused(refusal) if !started => {
            (CallEnd::FailedBeforeEffect, Some(refusal.kind()), None)
        }
        Outcome::Refused(refusal) if effectful && stopped(refusal.kind()).is_some() => {
            let doubt = stopped(refusal.kind()).unwrap_or(Doubt::Abandoned);
            return Ending::Unknown(CallUncertain {
                call,
                doubt,
                effects,
                effects_dropped,
            });
        }
        Outcome::Refused(refusal) if refusal.kind() == ErrorType::Cancelled => {
            (CallEnd::Cancelled, Some(refusal.kind()), None)
        }
        Outcome::Refused(refusal) => (CallEnd::Failed, Some(refusal.kind()), None),
    };
    let output = text.map(|text| OutputRef {
        digest: Digest::of(text.as_bytes()),
        bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
    });
    let kept = text
        .zip(output.as_ref())
        .map(|(text, output)| bindery_ledger::Kept {
            digest: output.digest,
            text: text.clone(),
            expires_at: now.after_ms(KEY_MS),
        });
    let receipt = run
        .receipt
        .as_ref()
        .map(|receipt| canonical_digest(&serde_json::to_value(receipt).unwrap_or_default()));
    let message = match &run.outcome {
        Outcome::Refused(refusal) => Some(Line::cut(refusal.message())),
        Outcome::Value(_) | Outcome::CapabilityError(_) => None,
    };
    let outcome = CallOutcome {
        call,
        end,
        error,
        message,
        spent: run.receipt.as_ref().map(spent).unwrap_or_default(),
        output,
        receipt,
        effects,
        effects_dropped,
    };
    Ending::Known(Box::new(outcome), kept.into_iter().collect())
}

/// C-39: what stopped a call with effects leaves a doubt.
fn stopped(kind: ErrorType) -> Option<Doubt> {
    match kind {
        ErrorType::Timeout => Some(Doubt::Timeout),
        ErrorType::Cancelled => Some(Doubt::Cancelled),
        ErrorType::UncertainSideEffect => Some(Doubt::AnswerLost),
        _ => None,
    }
}

/// C-39: the caller of an effectful call that was stopped is told the same.
fn said_uncertain(run: Run) -> Run {
    match &run.outcome {
        Outcome::Refused(refusal)
            if run.receipt.is_some()
                && refusal.kind() != ErrorType::UncertainSideEffect
                && stopped(refusal.kind()).is_some() =>
        {
            let text = "the call was stopped, and what it did outside is not known";
            let uncertain = Refusal::new(ErrorType::UncertainSideEffect, text)
                .with("ended_by", refusal.kind().as_str());
            Run {
                outcome: Outcome::Refused(uncertain),
                ..run
            }
        }
        _ => run,
    }
}

/// What a reviewer sees of arguments: short values as they are, long ones by size, and
/// nothing of a member whose name speaks of a secret (R-560, case G6).
fn redacted(arguments: &Value) -> Summary {
    let shown = shown(arguments, 0);
    Summary::new(shown).unwrap_or_else(|_| {
        let bytes = canonical(arguments).len();
        Summary::new(json!({ "too_large_to_show_bytes": bytes })).unwrap_or_default()
    })
}

const SHOWN_CHARS: usize = 256;
const SHOWN_DEPTH: usize = 8;
const SHOWN_ITEMS: usize = 32;
const SECRET_WORDS: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "token",
    "key",
    "credential",
    "auth",
];

fn shown(value: &Value, depth: usize) -> Value {
    match value {
        Value::Array(items) if depth >= SHOWN_DEPTH || items.len() > SHOWN_ITEMS => {
            json!({ "items": items.len() })
        }
        Value::Array(items) => items.iter().map(|item| shown(item, depth + 1)).collect(),
        Value::Object(members) if depth >= SHOWN_DEPTH => json!({ "members": members.len() }),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let lower = name.to_ascii_lowercase();
                let secret = SECRET_WORDS.iter().any(|word| lower.contains(word));
                let value = if secret {
                    Value::from("(redacted)")
                } else {
                    shown(value, depth + 1)
                };
                (name.clone(), value)
            };
            Value::Object(members.iter().map(member).collect())
        }
        Value::String(text) if text.chars().count() > SHOWN_CHARS => {
            let cut: String = text.chars().take(SHOWN_CHARS).collect();
            json!({ "begins": cut, "chars": text.chars().count() })
        }
        other => other.clone(),
    }
}

/// A decision as the ledger keeps it.
pub(crate) fn decision_event(decision: &Decision) -> DecisionRecord {
    use bindery_policy::{Axis, AxisVerdict};
    let asks = decision
        .trace
        .lines()
        .find(|(_, line)| line.verdict == AxisVerdict::Ask);
    let axis = decision
        .trace
        .first_block()
        .or(asks)
        .map_or(Axis::Approval, |(axis, _)| axis);
    let rule = decision
        .trace
        .line(Axis::Allow)
        .and_then(|line| line.rule.as_ref());
    DecisionRecord {
        verdict: match decision.verdict() {
            Verdict::Allow => Word::Allow,
            Verdict::Ask => Word::Ask,
            Verdict::Deny => Word::Deny,
        },
        axis: Line::cut(axis.as_str()),
        rule: rule.map(|rule| Digest::of(format!("{}:{}", rule.file, rule.line).as_bytes())),
        policy_version: decision.policy_version,
        requirement: decision.requirement,
        risk: decision.risk,
        trace: Summary::new(decision.trace.to_json()).unwrap_or_default(),
    }
}
