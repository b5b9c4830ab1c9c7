//! The store on disk does what the store in memory does, in parallel and after a crash too.

use std::sync::Arc;

use bindery_grants::MemoryStore;
use proptest::prelude::*;

use super::*;

const WIDE: Room = Room {
    entries_max: u64::MAX,
    bytes_max: u64::MAX,
};

fn store() -> (tempfile::TempDir, DiskStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = DiskStore::open(&folder.path().join("store")).unwrap();
    (folder, store)
}

#[derive(Clone, Debug)]
enum Step {
    Apply(Vec<Change>, u64, u64),
    Increment(String, u64, u64),
    Swap(String, Option<Vec<u8>>, Vec<u8>),
    Get(Vec<String>, u64),
    Keys(u64, usize),
}

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "a", "b", "ä", "a/../b", "\u{10ffff}"]).prop_map(String::from)
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(b"7".to_vec()),
        Just(b"18446744073709551615".to_vec()),
        prop::collection::vec(any::<u8>(), 0..12),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let change = prop_oneof![
        (key(), value()).prop_map(|(key, value)| Change::Set(key, value)),
        key().prop_map(Change::Delete),
    ];
    prop_oneof![
        (prop::collection::vec(change, 0..4), 0..6_u64, 0..60_u64)
            .prop_map(|(changes, entries, bytes)| Step::Apply(changes, entries, bytes)),
        (key(), any::<u64>(), 0..60_u64).prop_map(|(k, by, bytes)| Step::Increment(k, by, bytes)),
        (key(), prop::option::of(value()), value())
            .prop_map(|(k, old, new)| Step::Swap(k, old, new)),
        (prop::collection::vec(key(), 0..4), 0..40_u64)
            .prop_map(|(keys, max)| Step::Get(keys, max)),
        (0..4_u64, 0..5_usize).prop_map(|(skip, max)| Step::Keys(skip, max)),
    ]
}

fn taken(store: &dyn KeyValueStore, step: &Step) -> String {
    match step {
        Step::Apply(changes, entries_max, bytes_max) => {
            let room = Room {
                entries_max: *entries_max,
                bytes_max: *bytes_max,
            };
            format!("{:?}", store.apply(changes, room))
        }
        Step::Increment(key, by, bytes_max) => {
            let room = Room {
                bytes_max: *bytes_max,
                ..WIDE
            };
            format!("{:?}", store.increment(key, *by, room))
        }
        Step::Swap(key, expected, value) => {
            format!("{:?}", store.swap(key, expected.as_deref(), value, WIDE))
        }
        Step::Get(keys, max) => {
            let exists: Vec<_> = keys.iter().map(|key| store.exists(key)).collect();
            match store.get(keys, *max) {
                // How far it had counted is its own affair.
                Err(StoreFault::Long { .. }) => format!("long {exists:?}"),
                other => format!("{other:?} {exists:?}"),
            }
        }
        Step::Keys(skip, max) => format!("{:?}", store.keys(*skip, *max)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn on_disk_and_in_memory_are_the_same_store_g5(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let ((_folder, disk), memory) = (store(), MemoryStore::default());
        for step in &steps {
            prop_assert_eq!(taken(&disk, step), taken(&memory, step), "{:?}", step);
        }
    }
}

#[test]
fn parallel_increments_lose_nothing_and_the_bounds_hold_together_g5() {
    let (folder, one) = store();
    let another = DiskStore::open(&folder.path().join("store")).unwrap();
    let stores = [Arc::new(one), Arc::new(another)];
    let room = Room {
        entries_max: 3,
        ..WIDE
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = Arc::clone(&stores[thread % 2]);
            scope.spawn(move || {
                for round in 0..25 {
                    store.increment("n", 1, WIDE).unwrap();
                    let key = format!("{thread}-{round}");
                    // Full is an answer; what is not allowed is to be over it.
                    let _ = store.apply(&[Change::Set(key, Vec::new())], room);
                }
            });
        }
    });
    assert_eq!(stores[0].increment("n", 0, WIDE), Ok(100), "G5");
    assert_eq!(stores[1].keys(0, 10).unwrap().keys.len(), 3, "G5");
}

#[test]
fn what_was_acknowledged_is_there_when_it_is_opened_again_and_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, store) = store();
    let path = folder.path().join("store");
    store
        .apply(&[Change::Set("k".to_owned(), b"v".to_vec())], WIDE)
        .unwrap();
    // As a crash leaves it: nothing is closed.
    std::mem::forget(store);
    let again = DiskStore::open(&path).unwrap();
    let found = again.get(&["k".to_owned()], u64::MAX).unwrap();
    assert_eq!(found, [Some(b"v".to_vec())]);
    let mode = path.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_is_no_store_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    std::fs::write(
        &path,
        "not a database, but long enough to be taken for one by its size",
    )
    .unwrap();
    assert!(matches!(
        DiskStore::open(&path),
        Err(StoreFault::Unavailable(_))
    ));
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .starts_with("not a database")
    );
    assert!(DiskStore::open(&folder.path().join("absent/store")).is_err());
}
