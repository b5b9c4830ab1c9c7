//! Many callers, one writer: every answer is true, and none is out of order.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use bindery_ledger::words::*;
use bindery_ledger::*;

use crate::rig::*;
use crate::world::*;

#[test]
fn sixty_four_callers_get_their_own_records_and_the_log_has_no_gap_r794() {
    let place = place();
    let world = founded(&place.path);
    let acks: Vec<(u64, u64)> = std::thread::scope(|threads| {
        let one = |caller: u64| {
            let world = &world;
            threads.spawn(move || {
                let mut acks = Vec::new();
                for round in 0..8 {
                    let n = 1_000 * caller + round;
                    acks.push((world.start(n, 0, 1, "writer").unwrap(), n));
                    acks.push((world.succeed(n, 0).unwrap(), n));
                }
                acks
            })
        };
        let all: Vec<_> = (1..65).map(one).collect();
        all.into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    let records = everything(&world.journal);
    for (at, record) in (1..).zip(&records) {
        assert_eq!(record.sequence, at);
    }
    for (sequence, n) in &acks {
        let record = &records[usize::try_from(*sequence).unwrap() - 1];
        assert_eq!(record.entry.event.subject(), call(*n).to_string());
    }
    let places: BTreeSet<u64> = acks.iter().map(|(sequence, _)| *sequence).collect();
    assert_eq!(places.len(), 64 * 8 * 2);
    world.journal.verify().unwrap();
}

#[test]
fn an_acknowledged_record_is_in_the_file_before_its_caller_goes_on_i18() {
    let place = place();
    let world = founded(&place.path);
    for n in 1..20 {
        let at = world.start(n, 0, 1, "writer").unwrap();
        let lines = String::from_utf8(export(&place.path).unwrap()).unwrap();
        let line = lines.lines().nth(usize::try_from(at).unwrap() - 1).unwrap();
        assert!(line.contains(&call(n).to_string()));
        world.succeed(n, 0).unwrap();
    }
}

#[test]
fn no_call_starts_after_a_revocation_was_acknowledged_i6() {
    let place = place();
    let world = founded(&place.path);
    let acknowledged = AtomicU64::new(u64::MAX);
    let starts: Vec<u64> = std::thread::scope(|threads| {
        let one = |caller: u64| {
            let (world, acknowledged) = (&world, &acknowledged);
            threads.spawn(move || {
                let mut started = Vec::new();
                for round in 0..200 {
                    let before = acknowledged.load(Ordering::SeqCst);
                    match world.start(1_000 * caller + round, 0, 1, "writer") {
                        Ok(at) => {
                            assert_eq!(before, u64::MAX, "started after the answer");
                            started.push(at);
                        }
                        Err(_) => break,
                    }
                }
                started
            })
        };
        let callers: Vec<_> = (1..9).map(one).collect();
        std::thread::sleep(std::time::Duration::from_millis(30));
        let at = world
            .revoke(Target::Capability(capability("writer").id))
            .unwrap();
        acknowledged.store(at, Ordering::SeqCst);
        callers
            .into_iter()
            .flat_map(|caller| caller.join().unwrap())
            .collect()
    });
    let revoked = acknowledged.load(Ordering::SeqCst);
    assert!(!starts.is_empty());
    assert!(
        starts.iter().all(|at| *at < revoked),
        "by the log's own order"
    );
    let marked = state(&world.journal);
    assert!(
        marked
            .calls()
            .all(|(_, call)| call.overtaken == Some(Trigger::AuthorizationRevoked))
    );
}

#[test]
fn somebody_elses_lock_is_waited_for_and_nothing_is_lost_x72() {
    let place = place();
    let world = founded(&place.path);
    let other = rusqlite::Connection::open(place.path.join("ledger.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|threads| {
        let writing = threads.spawn(|| world.start(1, 0, 1, "writer"));
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(
            !writing.is_finished(),
            "not acknowledged while it cannot be written"
        );
        other.execute_batch("ROLLBACK").unwrap();
        writing.join().unwrap().unwrap();
    });
    world.journal.verify().unwrap();
}
