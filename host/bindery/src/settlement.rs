//! What a call may spend, what it spent, and how it ended, in the words of the ledger.
//!
//! Rule (I17, C-39): whatever stopped a call with effects leaves a doubt, and its caller is
//! told so.

use std::collections::BTreeMap;

use bindery_ledger::event::{Amounts, CallOutcome, CallUncertain, OutputRef};
use bindery_ledger::words::{CallEnd, Doubt, Meter};
use bindery_ledger::{Kept, Line};
use bindery_policy::{Access, Scope, Slice};
use bindery_types::{
    Budget, CallId, Digest, EffectKind, ErrorType, LimitName, Moment, Outcome, Receipt, Refusal,
    Run, canonical_digest,
};

use crate::call::KEY_MS;

/// The most that a call may draw from the aggregate budgets: of bytes that are sent or
/// written, as much as its scope lets it at all.
pub(crate) fn reserve(budget: &Budget, scope: &Scope) -> Amounts {
    let limit = |name: LimitName| budget.get(name).or_max();
    let (mut egress, mut written) = (0, 0_u64);
    for (_, slice) in scope.slices() {
        let more = match slice {
            Slice::Directory {
                access: Access::ReadWrite,
                ..
            } => limit(LimitName::WrittenBytes),
            // What it writes is counted, what it removes makes room: no total bounds it
            // before; the values that fit into the store at once are reserved.
            Slice::Store {
                access: Access::ReadWrite,
                ..
            } => limit(LimitName::StoreBytes),
            Slice::Endpoint { .. } => {
                egress = limit(LimitName::EgressBytes);
                0
            }
            Slice::Directory { .. }
            | Slice::Store { .. }
            | Slice::Config { .. }
            | Slice::Secret
            | Slice::Clock
            | Slice::Random
            | Slice::Log
            | Slice::Binding => 0,
        };
        written = written.saturating_add(more);
    }
    BTreeMap::from([
        (Meter::Calls, 1),
        (Meter::Fuel, limit(LimitName::Fuel)),
        (Meter::WallMs, limit(LimitName::Deadline)),
        (Meter::HostCalls, limit(LimitName::HostCalls)),
        (Meter::OutputBytes, limit(LimitName::Output)),
        (Meter::EgressBytes, egress),
        (Meter::WrittenBytes, written),
    ])
}

/// What it drew. Bytes that were sent and written are those of its own effects; where there
/// were more effects than are kept, all that was reserved is charged: nobody knows better.
fn spent(receipt: &Receipt, reserved: &Amounts) -> Amounts {
    let nested = receipt.nested.unwrap_or_default();
    let bytes = |meter: Meter, kinds: &[EffectKind]| {
        let own = receipt.effects.iter();
        let own = own.filter(|effect| kinds.contains(&effect.kind));
        let seen = own.fold(0_u64, |sum, effect| sum.saturating_add(effect.bytes));
        match receipt.effects_dropped {
            0 => seen,
            _ => seen.max(reserved.get(&meter).copied().unwrap_or_default()),
        }
    };
    let egress = bytes(Meter::EgressBytes, &[EffectKind::Request]);
    let written = &[EffectKind::Write, EffectKind::StoreWrite];
    let written = bytes(Meter::WrittenBytes, written);
    BTreeMap::from([
        (Meter::Calls, 1),
        (Meter::Fuel, receipt.fuel_used),
        (Meter::WallMs, receipt.wall_us / 1_000),
        (Meter::HostCalls, receipt.host_calls),
        (
            Meter::OutputBytes,
            receipt.bytes_out.saturating_add(nested.bytes_out),
        ),
        (Meter::EgressBytes, egress),
        (Meter::WrittenBytes, written),
    ])
}

/// How a call ended, for the ledger; the text of a result is kept for a key alone.
pub(crate) enum Ending {
    Known(Box<CallOutcome>, Vec<Kept>),
    Unknown(CallUncertain),
}

pub(crate) fn ending(
    call: CallId,
    (effectful, keyed): (bool, bool),
    reserved: &Amounts,
    run: &Run,
    now: Moment,
) -> Ending {
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
        .filter(|_| keyed)
        .zip(output.as_ref())
        .map(|(text, output)| Kept {
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
        spent: run
            .receipt
            .as_ref()
            .map(|receipt| spent(receipt, reserved))
            .unwrap_or_default(),
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
pub(crate) fn said_uncertain(run: Run) -> Run {
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
