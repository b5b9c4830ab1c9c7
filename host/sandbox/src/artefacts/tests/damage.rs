//! A flipped byte, anywhere: found, never loaded, repaired by storing again (H40).

use std::time::Duration;

use super::super::{entry, key::Key, seal};
use super::{STRICT, Shelf, UNCHANGED, answer, load, name, put};

#[test]
fn h40_a_byte_flipped_anywhere_in_an_entry_is_found_and_storing_again_repairs_it() {
    let shelf = Shelf::holding(0);
    let file = name(0).file();
    let sound = std::fs::read(shelf.entry(0)).unwrap();
    let end = sound.len() - entry::TRAILER_BYTES;
    // Every byte of the trailer and of the ELF header, and some of everything between.
    let spread = (0..60).map(|n: usize| n.wrapping_mul(7_919).wrapping_mul(n + 31) % end);
    let positions = (0..64).chain(end..sound.len()).chain(spread);
    let stores = [shelf.open(UNCHANGED), shelf.open(STRICT)];
    for at in positions {
        let mut flipped = sound.clone();
        flipped[at] ^= 1 << (at % 8);
        shelf.overwrite(&file, &flipped, 0o400);
        for store in &stores {
            assert!(load(store, 0).is_none(), "byte {at}");
        }
        assert_eq!(stores[0].verify().unwrap().bad.len(), 1, "byte {at}");
    }
    for cut in [0, 1, entry::TRAILER_BYTES - 1, end, sound.len() - 1] {
        shelf.overwrite(&file, &sound[..cut], 0o400);
        assert!(load(&stores[0], 0).is_none() && load(&stores[1], 0).is_none());
    }
    put(&stores[0], 0).unwrap();
    assert_eq!(answer(&load(&stores[0], 0).unwrap()), 1);
    assert!(stores[0].verify().unwrap().bad.is_empty());
}

#[test]
fn h40_a_sealed_file_skips_the_hash_until_it_changes() {
    let shelf = Shelf::holding(0);
    let store = shelf.open(UNCHANGED);
    let key = || Key::obtain(&store.directory).unwrap();
    let stat = || store.directory.stat(&name(0).file()).unwrap();
    assert!(load(&store, 0).is_some());
    assert!(
        !shelf.path.join(name(0).seal()).exists(),
        "a file that has not rested is not sealed"
    );
    let mut loads = 0;
    while !shelf.path.join(name(0).seal()).exists() {
        assert!(loads < 200, "a rested file is sealed");
        std::thread::sleep(Duration::from_millis(100));
        assert!(load(&store, 0).is_some());
        loads += 1;
    }
    assert!(seal::holds(&store.directory, &key(), name(0), &stat()));
    assert!(!seal::holds(&store.directory, &key(), name(1), &stat()));
    assert!(!seal::holds(
        &store.directory,
        &Key::fresh().unwrap(),
        name(0),
        &stat()
    ));
    assert!(store.verify().unwrap().bad.is_empty());

    // A byte of the seal: the hash decides, and the file is sound.
    let seal = std::fs::read(shelf.path.join(name(0).seal())).unwrap();
    for at in 0..seal.len() {
        let mut flipped = seal.clone();
        flipped[at] ^= 0x10;
        shelf.overwrite(&name(0).seal(), &flipped, 0o400);
        assert!(
            !seal::holds(&store.directory, &key(), name(0), &stat()),
            "{at}"
        );
    }
    assert_eq!(store.verify().unwrap().bad.len(), 1);
    assert_eq!(answer(&load(&store, 0).unwrap()), 1);

    // A byte of the sealed file, its times set back: the change itself has a time.
    let modified = std::fs::metadata(shelf.entry(0))
        .unwrap()
        .modified()
        .unwrap();
    let mut bytes = std::fs::read(shelf.entry(0)).unwrap();
    bytes[4_096] ^= 1;
    shelf.overwrite(&name(0).file(), &bytes, 0o400);
    let file = std::fs::File::open(shelf.entry(0)).unwrap();
    file.set_modified(modified).unwrap();
    assert!(load(&store, 0).is_none());
}

#[test]
fn h40_a_damaged_key_makes_everything_worthless_and_nothing_dangerous() {
    let shelf = Shelf::holding(0);
    let sound = std::fs::read(shelf.path.join("key")).unwrap();
    for at in 0..sound.len() {
        let mut flipped = sound.clone();
        flipped[at] ^= 0x80;
        shelf.overwrite("key", &flipped, 0o600);
        let store = shelf.open(UNCHANGED);
        assert!(load(&store, 0).is_none(), "byte {at}");
    }
    shelf.overwrite("key", b"", 0o600);
    let store = shelf.open(UNCHANGED);
    assert!(load(&store, 0).is_none());
    put(&store, 0).unwrap();
    assert_eq!(answer(&load(&shelf.open(STRICT), 0).unwrap()), 1);
}

#[test]
fn h40_files_swapped_between_two_components_are_loaded_as_neither() {
    let shelf = Shelf::holding(0);
    let store = shelf.open(UNCHANGED);
    put(&store, 1).unwrap();
    let aside = shelf.path.join("aside");
    std::fs::rename(shelf.entry(0), &aside).unwrap();
    std::fs::rename(shelf.entry(1), shelf.entry(0)).unwrap();
    std::fs::rename(&aside, shelf.entry(1)).unwrap();
    for store in [shelf.open(UNCHANGED), shelf.open(STRICT)] {
        assert!(load(&store, 0).is_none() && load(&store, 1).is_none());
    }
}
