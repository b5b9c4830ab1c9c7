//! What every call passes on its way in and out beside policy: hooks, and screening.
//!
//! Rule: a no on the way in starts nothing and is on record
//! with its hook; a no on the way out withholds the result, and the end of the call is on
//! record as it was.

use bindery_ledger::event::{CallRefused, Event, HookVetoed, ScreeningWithheld};
use bindery_ledger::words::{Operation, Phase, Step};
use bindery_ledger::{Entry, Line};
use bindery_types::{CapabilityId, ErrorType, Outcome, Refusal, Run};
use serde_json::Value;

use crate::call::{Reply, Resolved};
use crate::governor::Told;
use crate::hooks::{HookCall, HookRoute, Vetoed};
use crate::screening::{Withheld, screened, silenced};
use crate::session::Session;

/// A run that passed: what is recorded, and what its caller gets instead when it did not.
pub(crate) struct Passed {
    pub(crate) run: Run,
    pub(crate) withheld: Option<Refusal>,
    /// Records of what was withheld and why, to go with the end of the call.
    pub(crate) records: Vec<Entry>,
    /// For the record of the end.
    pub(crate) reason: String,
}

impl Passed {
    /// What the caller sees of `run`, which is this one's or what became of it.
    pub(crate) fn shown(withheld: Option<Refusal>, mut run: Run) -> Run {
        // What is uncertain or refused is said; only a result can be withheld.
        let (Some(refusal), Outcome::Value(_) | Outcome::CapabilityError(_)) =
            (withheld, &run.outcome)
        else {
            return run;
        };
        run.outcome = Outcome::Refused(refusal);
        run.denials.clear();
        if let Some(receipt) = &mut run.receipt {
            silenced(receipt);
            receipt.exit_code = ErrorType::PermissionDenied.exit_code();
        }
        run
    }
}

impl Session {
    /// The refusal of a binding that a hook does not want.
    pub(crate) async fn bind_vetoed(&self, capability: &CapabilityId) -> Option<(Refusal, String)> {
        let opened = self.opened().ok()?;
        let about = HookCall {
            route: HookRoute::Bind,
            session: self.id,
            principal: &opened.session.who().principal,
            capability,
            call: None,
            parent: None,
            arguments: None,
            outcome: None,
        };
        let hooks = &self.governor.guards.hooks;
        let vetoed = hooks.ask(Phase::Pre, about).await?;
        let refusal = Refusal::new(
            ErrorType::BindingDenied,
            "the host does not want this binding",
        );
        Some((refusal.for_operator(told(&vetoed)), told(&vetoed)))
    }

    /// The reply to a call that a hook does not want; nothing of it has started.
    pub(crate) async fn vetoed(&self, resolved: &Resolved, arguments: &Value) -> Option<Reply> {
        let about = self.hook_call(resolved, arguments, None);
        let hooks = &self.governor.guards.hooks;
        let vetoed = hooks.ask(Phase::Pre, about).await?;
        let refused = CallRefused {
            call: resolved.call,
            binding: Some(resolved.handle),
            capability: Some(resolved.capability.clone()),
            run: resolved.opened.session.who().run,
            step: Step::Decide,
            error: ErrorType::PermissionDenied,
        };
        let reason = told(&vetoed);
        let by = self.told(&resolved.opened, Operation::Call, &reason);
        let batch = vec![
            self.governor.entry(&by, refused),
            self.record_of(resolved, &vetoed),
        ];
        let refusal = match self.governor.journal.append_lazy(batch) {
            Ok(_) => Refusal::new(
                ErrorType::PermissionDenied,
                "the host does not want this call",
            )
            .for_operator(reason),
            Err(error) => error.refusal(),
        };
        Some(Reply::refused(resolved.call, refusal))
    }

    /// What came out of a call that was started, screened and shown to the hooks.
    pub(crate) async fn passed(&self, resolved: &Resolved, arguments: &Value, run: Run) -> Passed {
        let guards = &self.governor.guards;
        let setting = self.governor.read().policy.document().screening;
        // What the call itself read is known by now, too.
        let known = resolved.resources.screen_now();
        let screen = known.as_ref().unwrap_or(&resolved.screen);
        let mut screened = screened(run, screen, guards.screening.as_ref(), setting);
        if let Err(refusal) = &known {
            // What cannot be searched for may be in it.
            screened.withheld = Some(Withheld::Failed(refusal.message().to_owned()));
        }
        let mut passed = Passed {
            run: screened.run,
            withheld: None,
            records: Vec::new(),
            reason: format!("the call ended; {} masked", screened.masked),
        };
        if let Some(withheld) = screened.withheld {
            let (findings, why) = match withheld {
                Withheld::Found(findings) => (findings, format!("{findings} secrets were in it")),
                Withheld::Failed(why) => (0, format!("it could not be screened: {why}")),
            };
            let event = ScreeningWithheld {
                call: resolved.call,
                findings,
            };
            let why = format!("the result was withheld: {why}");
            passed.records.push(self.by_host(&why, event));
            passed.withheld = Some(withheld_refusal(&passed.run, "screening", why));
        }
        let about = self.hook_call(resolved, arguments, Some(&passed.run.outcome));
        let vetoed = guards.hooks.ask(Phase::Post, about).await;
        if let Some(vetoed) = vetoed {
            passed.records.push(self.record_of(resolved, &vetoed));
            let refusal = withheld_refusal(&passed.run, "hook", told(&vetoed));
            passed.withheld.get_or_insert(refusal);
        }
        passed
    }

    fn hook_call<'a>(
        &self,
        resolved: &'a Resolved,
        arguments: &'a Value,
        outcome: Option<&'a Outcome>,
    ) -> HookCall<'a> {
        HookCall {
            route: match resolved.within {
                None => HookRoute::Call,
                Some(_) => HookRoute::Nested,
            },
            session: self.id,
            principal: &resolved.opened.session.who().principal,
            capability: &resolved.capability.id,
            call: Some(resolved.call),
            parent: resolved.within.as_ref().map(|within| within.parent),
            arguments: Some(arguments),
            outcome,
        }
    }

    fn record_of(&self, resolved: &Resolved, vetoed: &Vetoed) -> Entry {
        let event = HookVetoed {
            call: resolved.call,
            hook: Line::cut(&vetoed.hook),
            phase: vetoed.phase,
        };
        self.by_host(&told(vetoed), event)
    }

    /// A hook and the screening are the host's, not the session's.
    fn by_host(&self, reason: &str, event: impl Into<Event>) -> Entry {
        let told = Told {
            session: Some(self.id),
            ..self.governor.own(Operation::Call, reason)
        };
        self.governor.entry(&told, event)
    }
}

fn told(vetoed: &Vetoed) -> String {
    format!("the hook `{}` vetoed it: {}", vetoed.hook, vetoed.why)
}

/// The caller reads that there was a result and that it is not given; why is the operator's.
fn withheld_refusal(run: &Run, by: &str, why: String) -> Refusal {
    let ended = match &run.outcome {
        Outcome::Value(_) => "value",
        Outcome::CapabilityError(_) => ErrorType::CapabilityError.as_str(),
        Outcome::Refused(refusal) => refusal.kind().as_str(),
    };
    Refusal::new(
        ErrorType::PermissionDenied,
        "the call ran, and its result is withheld",
    )
    .with("withheld_by", by)
    .with("ended_as", ended)
    .for_operator(why)
}
