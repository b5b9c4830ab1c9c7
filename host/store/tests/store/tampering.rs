//! Tampering: whatever is changed in the files is noticed at the next start, or changed
//! nothing that was stored (I19, I39, H53, X68, X69).

use std::path::{Path, PathBuf};

use bindery_ledger::words::*;
use bindery_store::{Store, StoreError};
use bindery_types::ErrorType;
use rusqlite::Connection;

use crate::opening::copy_folder;
use crate::rig::*;
use crate::world::*;

/// A store with a checkpoint, a tail after it, and nothing left in its log.
fn written() -> Place {
    let place = place();
    let world = founded(&place.path);
    work(&world, 1, 10);
    world.lose_and_close();
    place
}

impl World<Store> {
    fn lose_and_close(self) {
        self.start(500, 0, 1, "writer").unwrap();
        self.lose(500, 0, Doubt::AnswerLost).unwrap();
        self.journal.close().unwrap();
    }
}

/// Changes a copy and opens it: the error, or the lines and the state that it has.
fn changed(place: &Place, change: impl FnOnce(&Path)) -> Result<(Vec<u8>, String), StoreError> {
    let copy = place.path.with_file_name("copy");
    let _ = std::fs::remove_dir_all(&copy);
    copy_folder(&place.path, &copy);
    change(&copy);
    let reader = bindery_store::Inspection::open(&copy, None)?;
    let mut lines = Vec::new();
    reader.export(&mut lines)?;
    Ok((lines, serde_json::to_string(reader.state()).unwrap()))
}

fn sql(folder: &Path, statement: &str) {
    let connection = Connection::open(folder.join("ledger.sqlite")).unwrap();
    connection.execute_batch(statement).unwrap();
}

#[test]
fn every_edit_by_sql_is_noticed_h53() {
    let place = written();
    let sound = changed(&place, |_| {}).unwrap();
    let edits = [
        (
            "edit",
            "UPDATE records SET line = replace(line, 'a test', 'a jest') WHERE sequence = 5",
        ),
        (
            "edit of the last",
            "UPDATE records SET line = replace(line, 'a test', 'a jest') WHERE sequence = (SELECT max(sequence) FROM records)",
        ),
        ("delete", "DELETE FROM records WHERE sequence = 7"),
        (
            "delete of the first",
            "DELETE FROM records WHERE sequence = 1",
        ),
        (
            "cut",
            "DELETE FROM records WHERE sequence = (SELECT max(sequence) FROM records)",
        ),
        (
            "cut to nothing",
            "DELETE FROM records; DELETE FROM checkpoints",
        ),
        (
            "reorder",
            "UPDATE records SET sequence = -1 WHERE sequence = 5; UPDATE records SET sequence = 5 WHERE sequence = 6; UPDATE records SET sequence = 6 WHERE sequence = -1",
        ),
        (
            "repeat",
            "INSERT INTO records SELECT (SELECT max(sequence) + 1 FROM records), session, subject, line FROM records WHERE sequence = 9",
        ),
        (
            "subject",
            "UPDATE records SET subject = 'policy' WHERE sequence = 9",
        ),
        (
            "session",
            "UPDATE records SET session = NULL WHERE session IS NOT NULL AND sequence = (SELECT max(sequence) FROM records)",
        ),
        (
            "checkpoint",
            "UPDATE checkpoints SET state = replace(state, 'acme', 'evil')",
        ),
        (
            "checkpoint's place",
            "UPDATE checkpoints SET sequence = sequence - 1",
        ),
        (
            "checkpoint's signature",
            "UPDATE checkpoints SET signature = zeroblob(32)",
        ),
        (
            "trigger",
            "CREATE TRIGGER t AFTER INSERT ON records BEGIN DELETE FROM kept; END",
        ),
        ("table", "CREATE TABLE more (x)"),
        ("index", "DROP INDEX by_subject"),
    ];
    for (name, edit) in edits {
        let error = match changed(&place, |copy| sql(copy, edit)) {
            Err(error) => error,
            Ok(found) => panic!("{name} was not noticed; the same: {}", found == sound),
        };
        assert_eq!(
            error.refusal().kind(),
            ErrorType::IntegrityFailed,
            "{name}: {error}"
        );
    }
}

#[test]
fn a_forged_record_with_a_right_chain_is_noticed_by_the_mark_x69() {
    let place = written();
    // Whoever can write the database and knows the form, but not the key.
    let error = changed(&place, |copy| {
        let lines = String::from_utf8(export(copy).unwrap()).unwrap();
        let mut head = bindery_ledger::Head::default();
        let connection = Connection::open(copy.join("ledger.sqlite")).unwrap();
        connection.execute_batch("DELETE FROM checkpoints").unwrap();
        for (at, line) in (1_i64..).zip(lines.lines()) {
            let record = bindery_ledger::read_checked(line, head.sequence + 1).unwrap();
            let mut record = record;
            record.entry.reason = crate::world::line("forged");
            let forged = head.write(&record).unwrap();
            connection
                .execute(
                    "UPDATE records SET line = ?1 WHERE sequence = ?2",
                    (forged, at),
                )
                .unwrap();
        }
    });
    assert!(
        matches!(error, Err(StoreError::Integrity { .. })),
        "{error:?}"
    );
}

#[test]
fn without_checkpoints_the_state_is_folded_from_the_first_record() {
    let place = written();
    let sound = changed(&place, |_| {}).unwrap();
    let folded = changed(&place, |copy| sql(copy, "DELETE FROM checkpoints")).unwrap();
    assert_eq!(folded, sound);
}

#[test]
fn an_older_database_under_a_newer_mark_is_noticed_i39() {
    let place = written();
    let older = place.path.with_file_name("older");
    std::fs::copy(place.path.join("ledger.sqlite"), &older).unwrap();
    let world = World::over(open(&place.path).unwrap());
    world.open_session(2).unwrap();
    world.journal.close().unwrap();
    let error = changed(&place, |copy| {
        std::fs::copy(&older, copy.join("ledger.sqlite")).unwrap();
    });
    assert!(
        matches!(error, Err(StoreError::Integrity { .. })),
        "{error:?}"
    );
}

#[test]
fn a_mark_of_another_store_or_none_is_noticed() {
    let (place, other) = (written(), written());
    for forged in [
        std::fs::read(other.path.join("mark")).unwrap(),
        Vec::new(),
        vec![0; 8_192],
    ] {
        let error = changed(&place, |copy| {
            std::fs::write(copy.join("mark"), &forged).unwrap()
        });
        assert!(
            matches!(error, Err(StoreError::Integrity { .. })),
            "{error:?}"
        );
    }
    for key in [
        std::fs::read(other.path.join("key")).unwrap(),
        Vec::new(),
        vec![7; 63],
    ] {
        let error = changed(&place, |copy| {
            std::fs::write(copy.join("key"), &key).unwrap()
        });
        assert!(
            matches!(error, Err(StoreError::Integrity { .. })),
            "{error:?}"
        );
    }
}

/// Files and the places in them to change.
fn places(place: &Place, name: &str, step: usize) -> (PathBuf, Vec<usize>) {
    let path = PathBuf::from(name);
    let length = std::fs::read(place.path.join(name)).unwrap().len();
    (path, (0..length).step_by(step).collect())
}

#[test]
fn a_flipped_bit_anywhere_is_noticed_or_changes_nothing_x68() {
    let place = written();
    let sound = changed(&place, |_| {}).unwrap();
    let mut noticed = 0;
    // Steps without a common factor with the sizes of pages and cells hit every kind of
    // byte: headers, cells, free space, indices, the state, the mark, the key.
    for (name, step) in [("ledger.sqlite", 211), ("mark", 7), ("key", 1)] {
        let (file, at) = places(&place, name, step);
        for at in at {
            let found = changed(&place, |copy| {
                let path = copy.join(&file);
                let mut bytes = std::fs::read(&path).unwrap();
                bytes[at] ^= 1 << (at % 8);
                std::fs::write(path, bytes).unwrap();
            });
            match found {
                Err(_) => noticed += 1,
                Ok(found) => assert!(found == sound, "{name}, byte {at}"),
            }
        }
    }
    assert!(noticed > 100, "{noticed}");
}

#[test]
fn a_zeroed_page_or_a_cut_file_is_noticed_or_changes_nothing_x68() {
    let place = written();
    let sound = changed(&place, |_| {}).unwrap();
    let length = std::fs::read(place.path.join("ledger.sqlite"))
        .unwrap()
        .len();
    for page in 0..length / 4_096 {
        let zeroed = changed(&place, |copy| {
            let path = copy.join("ledger.sqlite");
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[page * 4_096..][..4_096].fill(0);
            std::fs::write(path, bytes).unwrap();
        });
        assert!(zeroed.is_err() || zeroed.unwrap() == sound, "page {page}");
        let cut = changed(&place, |copy| {
            let path = copy.join("ledger.sqlite");
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(path, &bytes[..page * 4_096]).unwrap();
        });
        assert!(cut.is_err(), "cut at page {page}");
    }
}

#[test]
fn a_changed_log_of_sqlite_is_noticed_or_changes_nothing_x68() {
    // The log is left behind by an owner that is killed; here its files are copied while
    // it lives.
    let place = place();
    let world = founded(&place.path);
    work(&world, 1, 10);
    world.journal.flush().unwrap();
    let sound = changed(&place, |copy| {
        let _ = std::fs::remove_file(copy.join("ledger.sqlite-shm"));
    })
    .unwrap();
    let (file, at) = places(&place, "ledger.sqlite-wal", 397);
    assert!(at.len() > 50);
    let mut noticed = 0;
    for at in at {
        let found = changed(&place, |copy| {
            let _ = std::fs::remove_file(copy.join("ledger.sqlite-shm"));
            let path = copy.join(&file);
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[at] ^= 1 << (at % 8);
            std::fs::write(path, bytes).unwrap();
        });
        match found {
            Err(_) => noticed += 1,
            Ok(found) => assert!(found == sound, "byte {at} of the log"),
        }
    }
    assert!(noticed > 30, "{noticed}");
    drop(world);
}
