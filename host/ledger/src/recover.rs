//! Recovery: what a host that starts makes of what an earlier one left.
//!
//! Rule (I17, R-708, architecture § 8): a call with possible effects and no outcome is
//! uncertain and is never run again; sessions and bindings of an earlier host are no
//! authority. Everything is said in records, in the order in which it holds.

use bindery_types::{Moment, Provider, SessionId};

use crate::event::{Event, HostStarted, RunMoved, SessionClosed};
use crate::lease::ended;
use crate::record::{Actor, Entry};
use crate::state::{CallStanding, State};
use crate::text::Line;
use crate::words::{Basis, Doubt, Effectful, Operation, SessionEnd};

/// The records that a host writes first, over the state that it found.
pub fn recovery(
    state: &State,
    now: Moment,
    actor: &Actor,
    provider: &Provider,
    runtime: &Line,
) -> Vec<Entry> {
    let mut calls: Vec<_> = state
        .calls()
        .filter(|(_, call)| call.standing == CallStanding::Running)
        .collect();
    // Children were started after their parents and end before them.
    calls.sort_by_key(|(_, call)| std::cmp::Reverse(call.started_by));
    let with_effects = |effectful| {
        calls
            .iter()
            .filter(|(_, c)| c.effectful == effectful)
            .count()
    };
    let started = HostStarted {
        runtime: runtime.clone(),
        uncertain: count(with_effects(Effectful::Effects)),
        interrupted: count(with_effects(Effectful::ReadOnly)),
        sessions: count(state.sessions().count()),
    };
    let entry = |session: Option<SessionId>, event: Event, operation, reason: &str| Entry {
        actor: actor.clone(),
        basis: Basis::Observed,
        event,
        follows: None,
        moment: now,
        operation,
        provider: provider.clone(),
        reason: Line::cut(reason),
        session,
    };
    let start = entry(None, started.into(), Operation::Start, "the host starts");
    let ends = calls.into_iter().map(|(id, call)| {
        let event = ended(*id, call, Doubt::Crash);
        let reason = "the host before this one ended while the call ran";
        entry(Some(call.session), event, Operation::Recover, reason)
    });
    let runs = state.runs().filter_map(|(run, standing)| {
        let to = standing
            .status
            .at_end(SessionEnd::HostStopped, standing.done)?;
        let moved = RunMoved { run: *run, to };
        let reason = "the host before this one ended with the run";
        Some(entry(
            Some(standing.session),
            moved.into(),
            Operation::Recover,
            reason,
        ))
    });
    let closed = state.sessions().map(|(session, _)| {
        let event = SessionClosed {
            session: *session,
            end: SessionEnd::HostStopped,
        };
        let reason = "no session outlives its host";
        entry(Some(*session), event.into(), Operation::Recover, reason)
    });
    let all = std::iter::once(start).chain(ends);
    all.chain(runs).chain(closed).collect()
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
