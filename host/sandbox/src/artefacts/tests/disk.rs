//! Disks that are full or read-only, paths that are odd, writers that died (D1, D4).

use std::io;
use std::path::PathBuf;
use std::process::Command;

use bindery_types::ErrorType;
use tempfile::TempDir;

use super::super::ArtefactStore;
use super::{Shelf, UNCHANGED, answer, load, name, put};

#[test]
fn d4_an_entry_that_vanished_is_a_miss() {
    let shelf = Shelf::holding(0);
    let store = shelf.open(UNCHANGED);
    std::fs::remove_file(shelf.entry(0)).unwrap();
    assert!(load(&store, 0).is_none());
    std::fs::remove_dir_all(&shelf.path).unwrap();
    assert!(load(&store, 0).is_none());
    assert_eq!(
        put(&store, 0).unwrap_err().kind(),
        ErrorType::StoreUnavailable
    );
}

#[test]
fn d4_unfinished_files_of_dead_writers_go_and_those_of_living_ones_stay() {
    let shelf = Shelf::holding(0);
    let left = shelf.path.join("unfinished-0123");
    std::fs::write(&left, b"half").unwrap();
    let store = shelf.open(UNCHANGED);
    assert!(!left.exists());
    let writing = store.directory.create("whole", 0o400, |_| {
        assert_eq!(store.directory.clean()?, 0, "its writer lives");
        Ok(())
    });
    writing.unwrap();
    assert!(shelf.path.join("whole").exists());
    let failing = store
        .directory
        .create("never", 0o400, |_| Err(io::Error::other("no")));
    let text = failing.unwrap_err().to_string();
    assert!(
        text.contains("unfinished-") && text.contains("never"),
        "D1: {text}"
    );
    let expected = [name(0).file(), "key".to_owned(), "whole".to_owned()];
    assert_eq!(shelf.files(), expected, "nothing half-written stays");
}

#[test]
fn d1_a_path_with_spaces_and_other_letters_is_a_path() {
    let scratch = TempDir::new().unwrap();
    let path = scratch.path().join("a b/größe 倉庫");
    let store = ArtefactStore::open(&path, UNCHANGED).unwrap();
    put(&store, 0).unwrap();
    assert_eq!(answer(&load(&store, 0).unwrap()), 1);
}

/// A small file system of its own; needs the right to mount, which CI has.
struct Mounted(PathBuf);

impl Mounted {
    fn new(path: PathBuf, size: &str) -> Option<Self> {
        std::fs::create_dir_all(&path).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o"])
            .arg(format!("size={size},mode=0700"))
            .arg("none")
            .arg(&path)
            .status();
        let mounted = mount.is_ok_and(|status| status.success());
        if !mounted {
            println!("skipped: nothing can be mounted here");
        }
        mounted.then_some(Self(path))
    }

    fn read_only(&self) {
        let mount = Command::new("mount")
            .args(["-o", "remount,ro"])
            .arg(&self.0)
            .status();
        assert!(mount.unwrap().success());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(&self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()));
    }
}

#[test]
fn d1_a_full_store_refuses_to_store_and_keeps_nothing_half_written() {
    let shelf = Shelf::new();
    let Some(_mounted) = Mounted::new(shelf.path.clone(), "64k") else {
        return;
    };
    let store = shelf.open(UNCHANGED);
    std::fs::write(shelf.path.join("ballast"), vec![0; 64 << 10]).unwrap_err();
    let refusal = put(&store, 0).unwrap_err();
    assert_eq!(refusal.kind(), ErrorType::StoreUnavailable);
    let text = refusal.operator().unwrap();
    assert!(
        text.contains("unfinished-") && text.contains(".cwasm"),
        "both paths: {text}"
    );
    assert_eq!(shelf.files(), ["ballast", "key"]);
    assert!(load(&store, 0).is_none());
}

#[test]
fn d1_a_read_only_store_serves_what_it_has_and_an_empty_one_is_no_obstacle() {
    for stored in [true, false] {
        let shelf = Shelf::new();
        let Some(mounted) = Mounted::new(shelf.path.clone(), "4m") else {
            return;
        };
        if stored {
            put(&shelf.open(UNCHANGED), 0).unwrap();
        }
        let before = shelf.files();
        mounted.read_only();
        let store = shelf.open(UNCHANGED);
        assert_eq!(load(&store, 0).is_some(), stored);
        let refusal = put(&store, 1).unwrap_err();
        assert_eq!(refusal.kind(), ErrorType::StoreUnavailable);
        assert_eq!(shelf.files(), before);
    }
}
