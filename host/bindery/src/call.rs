//! `call`: the one way to run anything: resolve, check, decide, reserve, run, settle.
//!
//! Rule (R-497 … R-512): the steps run in this order and a failing one stops the rest.
//! Nothing starts before the ledger has accepted the intent; with possible effects, before
//! it is durable (I18). Whatever happens is recorded; what nobody knows is said to be
//! uncertain and is never run again by itself (I17).

use std::sync::Arc;

use bindery_ledger::event::{CallDecided, CallIntent, CallRefused, Idempotent};
use bindery_ledger::words::{CallEnd, Effectful, Operation, Step};
use bindery_ledger::{CapabilityKey, JournalError, Lease, Rejection};
use bindery_policy::{Ask, Decision, Policy, Ruling, Verb};
use bindery_sandbox::{Cancel, Checked};
use bindery_screen::Screen;
use bindery_types::{
    BindingHandle, Budget, CallId, Digest, ErrorType, IdempotencyKey, Moment, Outcome, ProposalId,
    Refusal, Risk, Run, canonical_digest,
};
use serde_json::Value;

use crate::bind::parsed;
use crate::clock::random;
use crate::decision::decision_event;
use crate::facts::{About, Through, decided, key_of};
use crate::held::{Held, Opened};
use crate::nested::Within;
use crate::passage::Passed;
use crate::redact::redacted;
use crate::resources::Resources;
use crate::session::Session;
use crate::settlement::{Ending, ending, reserve, said_uncertain};

/// How long the outcome of an idempotency key is kept.
pub(crate) const KEY_MS: u64 = 24 * 3_600_000;

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
    pub(crate) fn refused(call: CallId, refusal: Refusal) -> Self {
        Self {
            call,
            proposal: None,
            run: Run::refused(refusal),
        }
    }
}

/// A call on its way down: what each step adds for the next.
pub(crate) struct Resolved {
    pub(crate) call: CallId,
    asked_at: Moment,
    pub(crate) opened: Arc<Opened>,
    pub(crate) handle: BindingHandle,
    pub(crate) held: Arc<Held>,
    pub(crate) capability: CapabilityKey,
    /// What stands behind its grants, whatever is reloaded meanwhile.
    pub(crate) resources: Arc<Resources>,
    /// Masks what is known to be secret in whatever is recorded or shown of the call.
    pub(crate) screen: Arc<Screen>,
    /// The call that made it, when a component did.
    pub(crate) within: Option<Within>,
}

impl Session {
    /// Calls the capability behind `handle` with `arguments`, JSON text of its parameters.
    ///
    /// Every failure is in the reply, refusals included.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::{BindRequest, CallOptions, Outcome};
    ///
    /// let (_, session, answer) = stand().await?;
    /// let handle = session.bind(&answer, &BindRequest::default()).await?.handle.to_string();
    /// let reply = session.call(&handle, "{}", &CallOptions::default()).await;
    /// assert_eq!(reply.run.outcome, Outcome::Value("42".to_owned()));
    /// assert!(reply.run.receipt.is_some_and(|receipt| receipt.fuel_used > 0));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn call(&self, handle: &str, arguments: &str, options: &CallOptions) -> Reply {
        let mut reply = self.call_within(handle, arguments, options, None).await;
        if let Outcome::Refused(refusal) = reply.run.outcome {
            reply.run.outcome = Outcome::Refused(self.offered_through(refusal, handle));
        }
        reply
    }

    /// The same, for whoever called: a session, or a component within what it has left.
    pub(crate) async fn call_within(
        &self,
        handle: &str,
        arguments: &str,
        options: &CallOptions,
        within: Option<Within>,
    ) -> Reply {
        let call = match random() {
            Ok(bits) => CallId::from_random(bits),
            Err(refusal) => return Reply::refused(CallId::from_random([0; 16]), refusal),
        };
        let resolved = match self.resolve(call, handle, within).await {
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
    async fn resolve(
        &self,
        call: CallId,
        handle: &str,
        within: Option<Within>,
    ) -> Result<Resolved, Refusal> {
        let (opened, asked_at) = (self.opened()?, self.governor.clock.now());
        let handle = parsed(handle)?;
        self.governor.due(handle, self.id).await?;
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
        self.run_stands(&opened)?;
        self.callees_stand(&held, asked_at)?;
        let resources = self.governor.resources();
        let screen = resources.screen().await?;
        Ok(Resolved {
            call,
            asked_at,
            opened,
            handle,
            held,
            capability,
            resources,
            screen,
            within,
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
            binding: Some(Through::Live(resolved.handle, &resolved.held)),
            credentials: current.resources.credentials(),
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
        if let Some(reply) = self.vetoed(&resolved, &arguments).await {
            return reply;
        }
        let Ruling::Allow(grant) = &decision.ruling else {
            return Reply::refused(resolved.call, lost());
        };
        let (scope, budget) = (Arc::clone(grant.scope()), resolved.budget(grant));
        let lease = match self
            .reserve(
                &resolved,
                (&arguments, digest),
                (&decision, &budget),
                options,
            )
            .await
        {
            Ok(lease) => lease,
            Err(reply) => return *reply,
        };
        // I4: what runs holds what was granted, opened now and not a moment earlier.
        let grants = resolved.resources.grants(policy.document(), &scope);
        let run = match grants {
            Ok(grants) => {
                self.run(&resolved, (checked, grants), &budget, options)
                    .await
            }
            Err(refusal) => Run::refused(refusal),
        };
        let missing = matches!(&run.outcome, Outcome::Refused(refusal)
            if refusal.kind() == ErrorType::CredentialMissing);
        let keyed = options.idempotency_key.is_some();
        let passed = self.passed(&resolved, &arguments, run).await;
        let reply = self.settle(&resolved, lease, passed, keyed).await;
        if missing {
            self.governor.credential_gone(resolved.handle).await;
        }
        reply
    }

    /// Step 4: budget, approval and key are claimed in one record.
    async fn reserve(
        &self,
        resolved: &Resolved,
        (arguments, digest): (&Value, Digest),
        (decision, budget): (&Decision, &Budget),
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
            parent: resolved.within.as_ref().map(|within| within.parent),
            run: resolved.opened.session.who().run,
            // The journal counts (R-566).
            step: 0,
            capability: resolved.capability.clone(),
            effectful,
            arguments: digest,
            input: redacted(arguments, &resolved.screen),
            decision: decision_event(decision),
            reserve: reserve(budget, &resolved.held.scope),
            approval,
            idempotency: options.idempotency_key.clone().map(|key| Idempotent {
                key,
                expires_at: now.after_ms(KEY_MS),
            }),
            asked_at: resolved.asked_at,
            decided_at: now,
        };
        if let Err(refusal) = self.run_begins(&resolved.opened) {
            return Err(Box::new(
                self.refuse(call, Some(resolved), Step::Reserve, refusal)
                    .await,
            ));
        }
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
    async fn settle(
        &self,
        resolved: &Resolved,
        lease: Lease,
        passed: Passed,
        keyed: bool,
    ) -> Reply {
        let call = resolved.call;
        let Passed {
            run,
            withheld,
            records,
            reason,
        } = passed;
        let effectful = resolved.held.risk != Risk::ReadOnly;
        let keyed = keyed && withheld.is_none();
        let now = self.governor.clock.now();
        let reserved = self
            .governor
            .look(|state| Some(state.call(call)?.reserve.clone()));
        let reserved = reserved.flatten().unwrap_or_default();
        let (event, kept) = match ending(call, (effectful, keyed), &reserved, &run, now) {
            Ending::Known(mut outcome, kept) => {
                // What nobody may see is not described either, and a repeated key gets none.
                outcome.output = outcome.output.filter(|_| withheld.is_none());
                (lease.settle(*outcome), kept)
            }
            Ending::Unknown(uncertain) => (lease.doubt(uncertain), Vec::new()),
        };
        let Ok(event) = event else {
            return Reply::refused(call, lost());
        };
        let told = self.told(&resolved.opened, Operation::Call, &reason);
        let mut batch = records;
        batch.push(self.governor.entry(&told, event));
        let recorded = if effectful || !kept.is_empty() {
            self.governor.record_with(batch, kept).await
        } else {
            self.governor.journal.append_lazy(batch)
        };
        let run = match recorded {
            Ok(_) if effectful => Passed::shown(withheld, said_uncertain(run)),
            Ok(_) => Passed::shown(withheld, run),
            Err(error) if effectful => {
                let refusal = Refusal::new(
                    ErrorType::UncertainSideEffect,
                    "the call ran, and how it ended could not be recorded",
                );
                Run {
                    outcome: Outcome::Refused(refusal.for_operator(error.to_string())),
                    ..run
                }
            }
            Err(error) => Run::refused(error.refusal()),
        };
        Reply {
            call,
            proposal: None,
            run,
        }
    }

    pub(crate) async fn refuse(
        &self,
        call: CallId,
        resolved: Option<&Resolved>,
        step: Step,
        refusal: Refusal,
    ) -> Reply {
        let opened = self.opened().ok();
        let event = CallRefused {
            call,
            binding: resolved.map(|resolved| resolved.handle),
            capability: resolved.map(|resolved| resolved.capability.clone()),
            run: opened.as_ref().and_then(|opened| opened.session.who().run),
            step,
            error: refusal.kind(),
        };
        let told = match &opened {
            Some(opened) => self.told(opened, Operation::Call, "the call was refused"),
            // R-510: nobody's session any more, and on record all the same.
            None => self
                .governor
                .own(Operation::Call, "a call of a session that is over"),
        };
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

    pub(crate) fn decided_event(
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
            input: redacted(arguments, &resolved.screen),
            decision: decision_event(decision),
            error,
        }
    }
}

pub(crate) fn lost() -> Refusal {
    Refusal::new(ErrorType::Internal, "the host lost what it had decided")
}
