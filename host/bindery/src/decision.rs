//! A decision in the words of the ledger.
//!
//! Rule: a trace that reads like one of the last on this thread is that one, shared: the
//! calls through one binding are decided alike, and 24 lines are many small texts to make.

use std::cell::RefCell;
use std::collections::VecDeque;

use bindery_ledger::event::Decision as DecisionRecord;
use bindery_ledger::words::Verdict as Word;
use bindery_ledger::{Line, Summary};
use bindery_policy::{Axis, AxisVerdict, Decision, Trace, Verdict};
use bindery_types::Digest;

/// A decision as the ledger keeps it.
pub(crate) fn decision_event(decision: &Decision) -> DecisionRecord {
    let asks = decision
        .trace
        .lines()
        .find(|(_, line)| line.verdict == AxisVerdict::Ask);
    let axis = decision
        .trace
        .first_block()
        .or(asks)
        .map_or(Axis::Approval, |(axis, _)| axis);
    let told = told(&decision.trace);
    DecisionRecord {
        verdict: match decision.verdict() {
            Verdict::Allow => Word::Allow,
            Verdict::Ask => Word::Ask,
            Verdict::Deny => Word::Deny,
        },
        axis: Line::cut(axis.as_str()),
        rule: told.rule,
        policy_version: decision.policy_version,
        requirement: decision.requirement,
        risk: decision.risk,
        trace: told.summary,
    }
}

/// Traces that are kept on a thread: those of the bindings that it serves in turns.
const KEPT: usize = 4;

/// What a record says of a trace.
#[derive(Clone)]
struct Told {
    /// Which rule allowed it: a reference that says nothing of the rule.
    rule: Option<Digest>,
    summary: Summary,
}

thread_local! {
    static LAST: RefCell<VecDeque<(Trace, Told)>> = const { RefCell::new(VecDeque::new()) };
}

fn told(trace: &Trace) -> Told {
    LAST.with_borrow_mut(|last| {
        if let Some((_, told)) = last.iter().find(|(known, _)| known == trace) {
            return told.clone();
        }
        let rule = trace.line(Axis::Allow).and_then(|line| line.rule.as_ref());
        let told = Told {
            rule: rule.map(|rule| Digest::of(format!("{}:{}", rule.file, rule.line).as_bytes())),
            summary: Summary::new(trace.to_json()).unwrap_or_default(),
        };
        last.truncate(KEPT - 1);
        last.push_front((trace.clone(), told.clone()));
        told
    })
}
