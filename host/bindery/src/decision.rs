//! A decision in the words of the ledger.

use bindery_ledger::event::Decision as DecisionRecord;
use bindery_ledger::words::Verdict as Word;
use bindery_ledger::{Line, Summary};
use bindery_policy::{Decision, Verdict};
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
        trace: Summary::new(decision.trace.to_json()).unwrap_or_default(),
    }
}
