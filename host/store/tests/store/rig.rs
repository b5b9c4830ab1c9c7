//! Stores in folders that vanish, and the words to open them.

use std::path::{Path, PathBuf};

use bindery_ledger::{Actor, Journal, Query, Record, State};
use bindery_store::{Inspection, Options, Store, StoreError};
use bindery_types::{Moment, Rights};

use crate::world::{START, World, line};

pub(crate) fn options(now: u64) -> Options {
    Options {
        now: Moment::from_unix_ms(now),
        actor: Actor {
            principal: "operator".parse().unwrap(),
            rights: Rights::Operator,
        },
        provider: "host".parse().unwrap(),
        runtime: line("0.1.0"),
        mark: None,
    }
}

pub(crate) struct Place {
    _folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

/// In memory where that is possible: what a killed process had written is there on any file
/// system, and a sync costs nothing.
pub(crate) fn place() -> Place {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.unwrap();
    let path = folder.path().join("store");
    Place {
        _folder: folder,
        path,
    }
}

pub(crate) fn open(path: &Path) -> Result<Store, StoreError> {
    Store::open(path, &options(START))
}

/// A new store with the world in it, one session and one binding of each capability.
pub(crate) fn founded(path: &Path) -> World<Store> {
    let mut world = World::over(open(path).unwrap());
    world.found();
    furnish(&world);
    world
}

/// What a host does before calls: a session, and bindings 1 (writes) and 2 (reads).
pub(crate) fn furnish<J: Journal>(world: &World<J>) {
    world.open_session(0).unwrap();
    world.bind(1, 0, "writer").unwrap();
    world.bind(2, 0, "reader").unwrap();
}

/// `count` calls with effects, begun and ended.
pub(crate) fn work(world: &World<Store>, first: u64, count: u64) {
    for n in first..first + count {
        world.start(n, 0, 1, "writer").unwrap();
        world.succeed(n, 0).unwrap();
    }
}

pub(crate) fn everything(journal: &dyn Journal) -> Vec<Record> {
    let all = Query::From {
        sequence: 1,
        count: usize::MAX,
    };
    journal.records(&all).unwrap()
}

pub(crate) fn state(store: &Store) -> State {
    store.flush().unwrap()
}

/// The export of a store that nobody owns.
pub(crate) fn export(path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut out = Vec::new();
    Inspection::open(path, None)?.export(&mut out)?;
    Ok(out)
}
