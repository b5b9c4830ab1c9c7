//! A decision in the words of the ledger.
//!
//! Rule: a trace that reads like one of the last on this thread is that one, shared: the
//! calls through one binding are decided alike, and 24 lines are many small texts to make.

use std::cell::RefCell;
use std::collections::VecDeque;

use bindery_ledger::event::Decision as DecisionRecord;
use bindery_ledger::words::Verdict as Word;
use bindery_ledger::{Line, Summary};
use bindery_policy::{Decision, Trace, Verdict};
use bindery_types::Digest;

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
        trace: told(&decision.trace),
    }
}

/// Traces that are kept on a thread: those of the bindings that it serves in turns.
const KEPT: usize = 4;

thread_local! {
    static LAST: RefCell<VecDeque<(Trace, Summary)>> = const { RefCell::new(VecDeque::new()) };
}

fn told(trace: &Trace) -> Summary {
    LAST.with_borrow_mut(|last| {
        if let Some((_, summary)) = last.iter().find(|(known, _)| known == trace) {
            return summary.clone();
        }
        let summary = Summary::new(trace.to_json()).unwrap_or_default();
        last.truncate(KEPT - 1);
        last.push_front((trace.clone(), summary.clone()));
        summary
    })
}
