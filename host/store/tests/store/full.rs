//! A disk that is full: effects stop, nothing acknowledged is lost, and with room again
//! the next start goes on (issue: a real small file system).

use std::path::Path;
use std::process::Command;

use bindery_ledger::JournalError;
use bindery_store::Store;

use crate::rig::*;
use crate::world::*;

/// A file system of one mebibyte, where this user may mount one.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    fn mount(at: &'a Path) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(at)
            .output();
        done.is_ok_and(|output| output.status.success())
            .then_some(Self(at))
    }

    fn grow(&self) {
        let done = Command::new("mount")
            .args(["-o", "remount,size=64m"])
            .arg(self.0)
            .status()
            .unwrap();
        assert!(done.success());
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

/// Calls until one is refused: how many starts were acknowledged, and the refusal.
fn until_refused(world: &World<Store>) -> (Vec<(u64, u64)>, JournalError) {
    let mut acks = Vec::new();
    for n in 1..100_000 {
        match world.start(n, 0, 1, "writer") {
            Ok(at) => acks.push((at, n)),
            Err(error) => return (acks, error),
        }
    }
    panic!("never full")
}

#[test]
fn a_full_disk_stops_effects_and_loses_nothing_x70() {
    let place = place();
    let folder = place.path.with_file_name("small");
    let Some(small) = Small::mount(&folder) else {
        // The same error comes from a limit on files; that is the other test's.
        println!("skipped: this user may not mount a file system");
        return;
    };
    let path = folder.join("store");
    let world = founded(&path);
    let (acks, error) = until_refused(&world);
    assert!(matches!(error, JournalError::Poisoned(_)), "{error}");
    assert!(acks.len() > 10);
    assert!(world.journal.poisoned().is_some());
    for n in 0..3 {
        assert!(world.open_session(100 + n).is_err(), "I12: it stays closed");
    }
    assert!(world.journal.close().is_err());
    small.grow();
    let store = open(&path).unwrap();
    store.verify().unwrap();
    let records = everything(&store);
    for (at, n) in acks {
        let record = &records[usize::try_from(at).unwrap() - 1];
        assert_eq!(record.entry.event.subject(), call(n).to_string());
    }
    let world = World::over(store);
    furnish(&world);
    drop(world);
}

#[test]
fn a_file_that_may_not_grow_stops_effects_and_loses_nothing_x70() {
    let place = place();
    drop(founded(&place.path));
    let orders = crate::child::Orders {
        folder: &place.path,
        calls: 100_000,
        stop: None,
    };
    // 512 KiB for any one file; the signal is ignored, so that the error is an error.
    let wrapper = [
        "sh",
        "-c",
        "trap '' XFSZ; ulimit -f 1024; exec \"$@\"",
        "sh",
    ];
    let wrapper: Vec<String> = wrapper.iter().map(|word| (*word).to_owned()).collect();
    let output = orders.command(&wrapper).output().unwrap();
    let mut heard = crate::kills::Heard::default();
    heard.hear(&String::from_utf8_lossy(&output.stdout));
    assert!(
        heard.said("failed") && !heard.said("revived"),
        "{:?}",
        heard.rest
    );
    assert!(heard.acks.len() > 10);
    drop(open(&place.path).unwrap());
    crate::kills::check_record(&place.path, &[heard]);
}

#[test]
fn a_store_that_may_only_be_read_is_not_opened_for_writing() {
    let place = place();
    drop(founded(&place.path));
    let folder = place.path.with_file_name("read-only");
    std::fs::create_dir(&folder).unwrap();
    let bound = Command::new("mount")
        .args(["--bind"])
        .arg(&place.path)
        .arg(&folder)
        .output();
    if !bound.is_ok_and(|output| output.status.success()) {
        println!("skipped: this user may not mount a folder");
        return;
    }
    let _unmount = Small(&folder);
    let locked = Command::new("mount")
        .args(["-o", "remount,bind,ro"])
        .arg(&folder)
        .status();
    assert!(locked.unwrap().success());
    let error = open(&folder).err().unwrap();
    assert_eq!(
        error.refusal().kind(),
        bindery_types::ErrorType::StoreUnavailable
    );
    assert!(!error.refusal().message().contains('/'));
}
