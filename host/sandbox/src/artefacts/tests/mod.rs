//! The store against damage, mix-ups, foreign files, full disks and other processes; here
//! its fixtures and what it does on a good day.

mod damage;
mod disk;
mod foreign;

use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::*;
use crate::compile::{Threads, compile_here};
use crate::engine::code_config;

/// An engine and two components compiled for it.
struct Compiled {
    engine: Engine,
    id: EngineId,
    components: [(Digest, CompiledCode); 2],
}

static COMPILED: LazyLock<Compiled> = LazyLock::new(|| {
    let engine = Engine::new(&code_config()).unwrap();
    let id = EngineId::of(&engine);
    let components = [1, 2].map(|answer| {
        let text = format!(
            r#"(component
                (core module $m
                    (memory 1)
                    (data (i32.const 8) "some initial memory")
                    (func (export "answer") (result i32) i32.const {answer}))
                (core instance $i (instantiate $m))
                (func (export "answer") (result u32) (canon lift (core func $i "answer"))))"#
        );
        let bytes = wat::parse_str(text).unwrap();
        (
            Digest::of(&bytes),
            compile_here(&bytes, Threads::One).unwrap(),
        )
    });
    Compiled {
        engine,
        id,
        components,
    }
});

const UNCHANGED: StoreOptions = StoreOptions {
    bytes_max: BYTES_MAX_DEFAULT,
    check: Check::Unchanged,
};
const STRICT: StoreOptions = StoreOptions {
    bytes_max: BYTES_MAX_DEFAULT,
    check: Check::Strict,
};

/// A store in a directory of its own.
struct Shelf {
    _scratch: TempDir,
    path: PathBuf,
}

impl Shelf {
    fn new() -> Self {
        let scratch = TempDir::new().unwrap();
        let path = scratch.path().join("store");
        Self {
            _scratch: scratch,
            path,
        }
    }

    /// With the component of `index` in it.
    fn holding(index: usize) -> Self {
        let shelf = Self::new();
        put(&shelf.open(UNCHANGED), index).unwrap();
        shelf
    }

    fn open(&self, options: StoreOptions) -> ArtefactStore {
        ArtefactStore::open(&self.path, options).unwrap()
    }

    fn refusal(&self) -> String {
        let refusal = ArtefactStore::open(&self.path, UNCHANGED).err().unwrap();
        assert_eq!(refusal.kind(), ErrorType::StoreUnavailable);
        refusal.operator().unwrap().to_owned()
    }

    fn entry(&self, index: usize) -> PathBuf {
        self.path.join(name(index).file())
    }

    /// Replaces the content of a file of the store in place, as corruption would.
    fn overwrite(&self, file: &str, bytes: &[u8], mode: u32) {
        let path = self.path.join(file);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.path).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn name(index: usize) -> EntryName {
    EntryName::of(COMPILED.components[index].0, &COMPILED.id)
}

fn put(store: &ArtefactStore, index: usize) -> Result<(), Refusal> {
    let (digest, code) = &COMPILED.components[index];
    store.put(&COMPILED.id, *digest, code)
}

fn load(store: &ArtefactStore, index: usize) -> Option<Component> {
    store.load(&COMPILED.engine, &COMPILED.id, COMPILED.components[index].0)
}

/// What the component answers, so that a load is known to be of the right code.
fn answer(component: &Component) -> u32 {
    let mut store = wasmtime::Store::new(&COMPILED.engine, ());
    store.set_fuel(1_000_000).unwrap();
    store.set_epoch_deadline(1);
    let linker = wasmtime::component::Linker::new(&COMPILED.engine);
    let instance = linker.instantiate(&mut store, component).unwrap();
    let answer = instance
        .get_typed_func::<(), (u32,)>(&mut store, "answer")
        .unwrap();
    answer.call(&mut store, ()).unwrap().0
}

#[test]
fn stored_code_is_loaded_by_another_process_and_is_the_right_code() {
    let shelf = Shelf::holding(0);
    for options in [UNCHANGED, STRICT] {
        let store = shelf.open(options);
        assert_eq!(answer(&load(&store, 0).unwrap()), 1);
        assert!(load(&store, 1).is_none(), "that one was never stored");
    }
    let mode = |path| std::fs::metadata(path).unwrap().mode() & 0o7777;
    assert_eq!(mode(shelf.path.clone()), 0o700);
    assert_eq!(mode(shelf.path.join("key")), 0o600);
    assert_eq!(mode(shelf.entry(0)), 0o400);
}

#[test]
fn the_least_recently_used_entry_goes_when_the_store_is_full() {
    let shelf = Shelf::holding(0);
    let bytes = std::fs::metadata(shelf.entry(0)).unwrap().len();
    let one = StoreOptions {
        bytes_max: bytes + bytes / 2,
        check: Check::Unchanged,
    };
    let old = SystemTime::now() - Duration::from_secs(3_600);
    let file = std::fs::File::open(shelf.entry(0)).unwrap();
    file.set_modified(old).unwrap();
    put(&shelf.open(one), 1).unwrap();
    assert!(!shelf.entry(0).exists() && shelf.entry(1).exists());
    let none = StoreOptions {
        bytes_max: bytes / 2,
        ..one
    };
    assert!(put(&shelf.open(none), 0).is_err(), "larger than the store");
    assert!(shelf.entry(1).exists(), "and nothing is evicted for it");
}

#[test]
fn listing_says_what_is_there_and_clearing_removes_it() {
    let shelf = Shelf::holding(0);
    let store = shelf.open(UNCHANGED);
    put(&store, 1).unwrap();
    let listed = store.list(&COMPILED.id).unwrap();
    assert_eq!(listed.len(), 2);
    assert!(
        listed
            .iter()
            .all(|entry| entry.fits_this_engine && entry.created_s > 0)
    );
    assert!(
        listed
            .iter()
            .any(|entry| entry.component == COMPILED.components[1].0)
    );
    let other = EngineId::from_bytes([7; 32]);
    assert!(!store.list(&other).unwrap()[0].fits_this_engine);
    let bytes = listed.iter().map(|entry| entry.bytes).sum();
    assert_eq!(store.clear().unwrap(), Cleared { entries: 2, bytes });
    assert!(store.list(&COMPILED.id).unwrap().is_empty());
    assert_eq!(
        store.verify().unwrap(),
        Verified {
            sound: 1,
            ..Verified::default()
        }
    );
}
