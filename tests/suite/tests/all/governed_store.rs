//! A store on disk as the record of a governed host, and what is read from it afterwards.

use std::path::{Path, PathBuf};

use bindery::ledger::{Actor, Line, Query, Record};
use bindery::{Moment, Rights};
use bindery_store::{Inspection, Options, Store, StoreError};

/// Opens the store in `folder` as a host does that starts at `now`.
pub(crate) fn open_store(folder: &Path, now: Moment) -> Result<Store, StoreError> {
    let options = Options {
        now,
        actor: Actor {
            principal: "host".parse().unwrap(),
            rights: Rights::Operator,
        },
        provider: "bindery".parse().unwrap(),
        runtime: Line::cut("bindery test"),
        mark: None,
    };
    Store::open(folder, &options)
}

/// The system's clock.
pub(crate) fn system_now() -> Moment {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    Moment::from_unix_ms(u64::try_from(since.as_millis()).unwrap())
}

/// Every record.
pub(crate) const ALL: Query = Query::From {
    sequence: 1,
    count: usize::MAX,
};

/// What a store that nobody owns holds, its chain verified first.
pub(crate) fn records_in(folder: &Path) -> Vec<Record> {
    let reader = Inspection::open(folder, None).unwrap();
    reader.verify().unwrap();
    reader.records(&ALL).unwrap()
}

/// A folder for one store, in memory where that is possible: what a killed process had
/// written is there on any file system, and a sync costs nothing.
pub(crate) struct Place {
    _folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

pub(crate) fn place() -> Place {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.unwrap();
    let path = folder.path().join("store");
    Place {
        _folder: folder,
        path,
    }
}
