//! The chain, and that a state is nothing but the fold of its records.

use bindery_ledger::Record;
use bindery_ledger::event::*;
use bindery_ledger::words::*;
use bindery_ledger::*;
use bindery_types::*;

use crate::world::*;

/// The lines of a journal, and the records behind them.
fn lines(world: &World<Memory>) -> (Vec<String>, Vec<Record>) {
    let all = Query::From {
        sequence: 1,
        count: usize::MAX,
    };
    let records = world.journal.records(&all).unwrap();
    let mut head = Head::default();
    let lines = records
        .iter()
        .map(|record| head.write(record).unwrap())
        .collect();
    (lines, records)
}

fn busy() -> World<Memory> {
    let world = World::new();
    world.open_session(0).unwrap();
    world.bind(1, 0, "writer").unwrap();
    for n in 1..6 {
        world
            .model(
                0,
                world.keyed(world.intent(n, 0, 1, "writer"), &format!("k{n}"), MINUTE),
            )
            .unwrap();
        world.succeed(n, 0).unwrap();
    }
    world.lose(99, 0, Doubt::Crash).unwrap_err();
    world
        .revoke(Target::Capability(capability("writer").id))
        .unwrap();
    world
}

/// R-511.
#[test]
fn a_line_reads_back_and_the_fold_of_the_lines_is_the_state() {
    let world = busy();
    let (lines, records) = lines(&world);
    let mut head = Head::default();
    let mut state = State::default();
    for (line, record) in lines.iter().zip(&records) {
        let read = head.read(line).unwrap();
        assert_eq!(&read, record);
        state.apply(&read).unwrap();
    }
    assert_eq!(state, world.state());
    assert_eq!(head.sequence, state.sequence());
}

#[test]
fn each_line_holds_the_digest_of_the_line_before_it_i19() {
    let (lines, _) = lines(&busy());
    for pair in lines.windows(2) {
        let previous = format!(",\"previous\":\"{}\",", Digest::of(pair[0].as_bytes()));
        assert!(pair[1].contains(&previous));
    }
    assert!(lines[0].contains(&genesis().to_string()));
    assert!(lines.iter().all(|line| !line.contains('\n')), "case G6");
}

#[test]
fn any_byte_changed_anywhere_is_noticed_i19() {
    let (lines, _) = lines(&busy());
    let place = lines.len() / 2;
    for at in 0..lines[place].len() {
        let mut bytes = lines[place].clone().into_bytes();
        bytes[at] ^= 1;
        let Ok(changed) = String::from_utf8(bytes) else {
            continue;
        };
        let mut head = Head::default();
        let followed = lines
            .iter()
            .enumerate()
            .try_for_each(|(n, line)| head.follow(if n == place { &changed } else { line }));
        assert!(followed.is_err(), "byte {at}: {changed}");
    }
}

#[test]
fn a_line_left_out_repeated_or_moved_is_noticed_i19() {
    let (lines, _) = lines(&busy());
    let follow = |order: Vec<&String>| {
        let mut head = Head::default();
        order.into_iter().try_for_each(|line| head.follow(line))
    };
    assert!(follow(lines.iter().collect()).is_ok());
    for at in 0..lines.len() - 1 {
        let mut without: Vec<_> = lines.iter().collect();
        without.remove(at);
        assert!(follow(without).is_err(), "without {at}");
        let mut twice: Vec<_> = lines.iter().collect();
        twice.insert(at, &lines[at]);
        assert!(follow(twice).is_err(), "twice {at}");
        let mut swapped: Vec<_> = lines.iter().collect();
        swapped.swap(at, at + 1);
        assert!(follow(swapped).is_err(), "swapped {at}");
    }
}

#[test]
fn the_head_tells_a_cut_end() {
    let (lines, _) = lines(&busy());
    let end = |count: usize| {
        let mut head = Head::default();
        for line in &lines[..count] {
            head.follow(line).unwrap();
        }
        head
    };
    assert_ne!(end(lines.len()), end(lines.len() - 1));
}

#[test]
fn what_is_not_canonical_is_no_line() {
    let (lines, _) = lines(&busy());
    let spaced = lines[0].replacen("{\"actor\":", "{ \"actor\":", 1);
    assert!(matches!(
        Head::default().read(&spaced),
        Err(ChainError::NotCanonical { sequence: 1 })
    ));
    let unknown = lines[0].replacen("{\"actor\":", "{\"aaa\":1,\"actor\":", 1);
    assert!(matches!(
        Head::default().read(&unknown),
        Err(ChainError::Malformed { .. })
    ));
}

#[test]
fn a_record_out_of_its_place_or_caused_by_a_later_one_is_refused_r794() {
    let world = busy();
    let mut state = world.state();
    let before = state.clone();
    let entry = world.operator_entry(
        None,
        StageSwitched {
            stage: 2,
            on: true,
            evidence: line("x"),
        },
    );
    for sequence in [0, 1, state.sequence(), state.sequence() + 2] {
        let record = Record {
            sequence,
            entry: entry.clone(),
        };
        assert!(matches!(
            state.apply(&record),
            Err(Rejection::OutOfOrder { .. })
        ));
    }
    let mut later = entry;
    later.follows = Some(state.sequence() + 1);
    let record = Record {
        sequence: state.sequence() + 1,
        entry: later,
    };
    assert!(matches!(
        state.apply(&record),
        Err(Rejection::CauseNotEarlier { .. })
    ));
    assert_eq!(state, before);
}

#[test]
fn a_batch_is_all_or_nothing_i42() {
    let world = busy();
    let before = world.state();
    let good = world.operator_entry(
        None,
        StageSwitched {
            stage: 2,
            on: true,
            evidence: line("x"),
        },
    );
    let bad = world.operator_entry(
        None,
        StageSwitched {
            stage: 11,
            on: true,
            evidence: line("x"),
        },
    );
    let refused = world.journal.append(vec![good.clone(), bad], Vec::new());
    assert_eq!(rejected(refused), Rejection::Unknown { what: "stage" });
    assert_eq!(world.state(), before);
    world
        .journal
        .append(vec![good.clone(), good], Vec::new())
        .unwrap();
    assert_eq!(world.state().stage(2), Some(true));
    assert_eq!(world.state().stage(3), None);
}

#[test]
fn kept_results_are_there_until_their_time() {
    let mut world = busy();
    let kept = Kept {
        digest: digest("\"x\""),
        text: "\"x\"".to_owned(),
        expires_at: world.in_ms(MINUTE),
    };
    let entry = world.operator_entry(
        None,
        StageSwitched {
            stage: 2,
            on: true,
            evidence: line("x"),
        },
    );
    world
        .journal
        .append(vec![entry.clone()], vec![kept])
        .unwrap();
    assert_eq!(
        world.journal.kept(digest("\"x\"")).unwrap().as_deref(),
        Some("\"x\"")
    );
    assert_eq!(world.journal.kept(digest("\"y\"")).unwrap(), None);
    world.now += MINUTE;
    let mut later = entry;
    later.moment = world.moment();
    world.journal.append_lazy(vec![later]).unwrap();
    assert_eq!(world.journal.kept(digest("\"x\"")).unwrap(), None);
}

#[test]
fn the_kinds_of_events_are_a_closed_list() {
    assert_eq!(Event::KINDS.len(), 42);
    let event: Event = Revoked {
        target: Target::All,
    }
    .into();
    assert_eq!(
        serde_json::to_value(&event).unwrap(),
        serde_json::json!({"revoked": {"target": "all"}})
    );
    assert_eq!(event.kind(), "revoked");
    assert!(serde_json::from_str::<Event>(r#"{"surprise":{}}"#).is_err());
}
