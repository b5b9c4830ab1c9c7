//! The owned store: opens, recovers, and is a [`Journal`].

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use bindery_ledger::{
    Actor, Entry, Head, Journal, JournalError, Kept, Line, Query, Record, State, recovery,
};
use bindery_types::{Digest, Moment, Provider};

use crate::check::{self, Found, Verified};
use crate::folder::{Folder, Key, open};
use crate::inspect::{DATABASE, Inspection, MARK};
use crate::mark::Mark;
use crate::queue::Queue;
use crate::writer::Writer;
use crate::{StoreError, database};

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// The time, for the records of the start.
    pub now: Moment,
    /// In whose name they are written: the host's.
    pub actor: Actor,
    /// The host's own identity as a provider.
    pub provider: Provider,
    /// The version of the runtime.
    pub runtime: Line,
    /// Where the high-water mark is kept; `None` for the store's own folder. On another
    /// disk it also tells a folder that was restored from an older copy (I39).
    pub mark: Option<PathBuf>,
}

/// A store that this process owns. Dropping it writes what waits and ends the writer.
pub struct Store {
    queue: Arc<Queue>,
    /// Gone before the writer ends, so that its close is the last one and tidies up.
    reader: Option<Inspection>,
    writer: Option<JoinHandle<()>>,
}

impl Store {
    /// Opens the store in `folder`, or makes one; checks all that is there; and records
    /// what an earlier host left in flight.
    ///
    /// # Errors
    ///
    /// When another process owns it, when it cannot be read or written, when it is not as
    /// it was written.
    pub fn open(folder: &Path, options: &Options) -> Result<Self, StoreError> {
        let folder = Folder::make(folder)?;
        let owner = folder.own()?;
        let path = folder.path(DATABASE);
        let place = options.mark.clone().unwrap_or_else(|| folder.path(MARK));
        let new = is_new(&folder, &path, &place)?;
        let key = folder.key(new)?;
        let (connection, mark, found) = if new {
            make(&folder, &path, &place, &key)?
        } else {
            existing(&path, &place, &key)?
        };
        let Found {
            head,
            state,
            checkpoint,
        } = found;
        let queue = Arc::new(Queue::new(state.clone()));
        let writer = Writer {
            connection,
            mark,
            key,
            head,
            checkpoint,
            queue: Arc::clone(&queue),
            owner,
        };
        let writer = std::thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || writer.run())
            .map_err(StoreError::io("cannot start the writer of", &path))?;
        let store = Self {
            reader: Some(Inspection::beside(&path, State::default())?),
            queue,
            writer: Some(writer),
        };
        store.recover(&state, options)?;
        Ok(store)
    }

    fn recover(&self, state: &State, options: &Options) -> Result<(), StoreError> {
        let entries = recovery(
            state,
            // Time does not go back from one owner to the next (I10).
            options.now.max(state.now()),
            &options.actor,
            &options.provider,
            &options.runtime,
        );
        match self.append(entries, Vec::new()) {
            Ok(_) => Ok(()),
            Err(JournalError::Poisoned(why)) => Err(StoreError::Poisoned(why)),
            Err(error) => Err(StoreError::integrity(error.to_string())),
        }
    }

    /// Waits until everything accepted so far is durable; gives the state it comes to.
    ///
    /// # Errors
    ///
    /// When it never will be.
    pub fn flush(&self) -> Result<State, StoreError> {
        let state = self.queue.hurry();
        match self.queue.wait(state.sequence()) {
            Ok(()) => Ok(state),
            Err(error) => Err(StoreError::Poisoned(error.to_string())),
        }
    }

    /// Writes every record as one line of JSON; gives the last one's sequence.
    ///
    /// # Errors
    ///
    /// When the store cannot be read, or `out` not be written.
    pub fn export(&self, out: &mut dyn Write) -> Result<u64, StoreError> {
        self.flush()?;
        self.reader()?.export(out)
    }

    /// Reads everything that is stored, folds it from the first record, and compares.
    ///
    /// # Errors
    ///
    /// When anything is not as it was written.
    pub fn verify(&self) -> Result<Verified, StoreError> {
        let state = self.flush()?;
        self.reader()?.verify_against(&state)
    }

    /// Why nothing is written any more, if that is so (H52).
    pub fn poisoned(&self) -> Option<String> {
        self.queue.poisoned()
    }

    /// Writes what waits, a checkpoint and the mark, and ends.
    ///
    /// # Errors
    ///
    /// When something of that failed.
    pub fn close(mut self) -> Result<(), StoreError> {
        self.end();
        match self.queue.poisoned() {
            Some(why) => Err(StoreError::Poisoned(why)),
            None => Ok(()),
        }
    }

    fn reader(&self) -> Result<&Inspection, StoreError> {
        let closed = || StoreError::Poisoned("it was closed".to_owned());
        self.reader.as_ref().ok_or_else(closed)
    }

    fn end(&mut self) {
        self.reader = None;
        self.queue.close();
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            self.queue.poison("the writer broke");
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.end();
    }
}

impl Journal for Store {
    fn append(&self, batch: Vec<Entry>, kept: Vec<Kept>) -> Result<u64, JournalError> {
        let (first, last) = self.queue.accept(batch, kept, true)?;
        self.queue.wait(last)?;
        Ok(first)
    }

    fn append_lazy(&self, batch: Vec<Entry>) -> Result<u64, JournalError> {
        let (first, _) = self.queue.accept(batch, Vec::new(), false)?;
        Ok(first)
    }

    fn has_recovered(&self) -> bool {
        true
    }

    fn standing(&self) -> Result<(), JournalError> {
        match self.queue.poisoned() {
            Some(why) => Err(JournalError::Poisoned(why)),
            None => Ok(()),
        }
    }

    fn look(&self, see: &mut dyn FnMut(&State)) {
        self.queue.look(see);
    }

    fn records(&self, query: &Query) -> Result<Vec<Record>, JournalError> {
        self.flush()?;
        Ok(self.reader()?.records(query)?)
    }

    fn kept(&self, digest: Digest) -> Result<Option<String>, JournalError> {
        Ok(self.reader()?.kept(digest)?)
    }
}

/// Whether there is no store yet. A store of which a part is missing is no empty one
/// only a start that was cut off before the first record is made anew: its key
/// is written first, its database last.
fn is_new(folder: &Folder, path: &Path, place: &Path) -> Result<bool, StoreError> {
    let key = folder.path("key");
    let there = [path, place, &key].map(|file| file.symlink_metadata().is_ok());
    let gone = |what: &str| Err(StoreError::integrity(format!("its {what} is gone")));
    match there {
        [true, true, true] => return Ok(false),
        [false, false, false] => return Ok(true),
        [true, false, _] => return gone("high-water mark"),
        [true, true, false] => return gone("key"),
        [false, true, false] => return gone("database, with its key,"),
        [false, true, true] => {
            let marked = folder
                .key(false)
                .and_then(|key| Mark::read(place, &key, false));
            // A mark that cannot be read is a cut start only while it is not whole.
            let whole = place
                .metadata()
                .is_ok_and(|found| found.len() >= Mark::BYTES);
            if marked.map_or(whole, |(_, head)| head.sequence > 0) {
                return gone("database");
            }
        }
        [false, false, true] => {}
    }
    for file in [place, &key] {
        match std::fs::remove_file(file) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::io("cannot remove", file)(error)),
        }
    }
    Ok(true)
}

type Opened = (rusqlite::Connection, Mark, Found);

/// Makes a store: key, mark and tables first under another name, so that a database with
/// its right name is whole.
fn make(folder: &Folder, path: &Path, place: &Path, key: &Key) -> Result<Opened, StoreError> {
    let mark = Mark::make(place, key)?;
    let draft = folder.path("ledger.new");
    for name in ["ledger.new", "ledger.new-wal", "ledger.new-shm"] {
        match std::fs::remove_file(folder.path(name)) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::io("cannot remove", &draft)(error)),
        }
    }
    let file = open(&draft, OpenOptions::new().write(true).create_new(true))?;
    drop(file);
    // Closing it brings the log into the file and removes the log.
    drop(database::writable(&draft, true)?);
    std::fs::rename(&draft, path).map_err(StoreError::io("cannot name", path))?;
    folder.sync()?;
    let found = Found {
        head: Head::default(),
        state: State::default(),
        checkpoint: 0,
    };
    Ok((database::writable(path, false)?, mark, found))
}

fn existing(path: &Path, place: &Path, key: &Key) -> Result<Opened, StoreError> {
    // Owner, mode and links are checked before SQLite opens it by name (X74).
    drop(open(path, OpenOptions::new().read(true).write(true))?);
    let (mark, marked) = Mark::read(place, key, true)?;
    let connection = database::writable(path, false)?;
    let found = check::open(&connection, key, marked)?;
    Ok((connection, mark, found))
}
