//! Opening a desk: configuration, resources, record, and what is on the shelf.

use std::sync::Arc;

use bindery::ledger::{Actor, Entry, Journal, JournalError, Kept, Line, Memory, Query, Record};
use bindery::{Digest, ErrorType, Host, HostBuilder, Moment, Provider, Refusal, Rights};
use bindery_store::{Inspection, Options, Store, StoreError};
use cap_std::AmbientAuthority;
use tokio::sync::Notify;

use super::{Desk, Recording};
use crate::place::Place;
use crate::resources::Opener;
use crate::shelf::Shelf;

impl Desk {
    /// Opens the host of `place`, as `builder` has it otherwise; components of its shelf
    /// are admitted again, and one that cannot be is told of in the status.
    ///
    /// # Errors
    ///
    /// `policy_malformed` for the configuration, `store_unavailable` when the store is
    /// another's or cannot be used, `integrity_failed` when it is not as it was written.
    ///
    /// # Ambient Authority
    ///
    /// Opens the folders that the configuration grants, now and at each reload.
    pub async fn open(
        place: Place,
        builder: HostBuilder,
        recording: Recording,
        authority: AmbientAuthority,
    ) -> Result<Self, Refusal> {
        let document = place.document()?;
        let opener = Opener::new(authority);
        let resources = opener.open(&document, &place)?;
        let (own, shown) = journals(&place, recording)?;
        let host = builder
            .policy(document)
            .resources(resources)
            .journal(own)
            .build()?;
        let mut desk = Self {
            host,
            journal: shown,
            shelf: Shelf::of(&place),
            place,
            recording,
            opener,
            problems: Vec::new(),
            started_at: now(),
            sessions: std::sync::Mutex::default(),
            waiting: std::sync::Mutex::default(),
            told: std::sync::atomic::AtomicBool::default(),
            shelving: tokio::sync::Mutex::default(),
            stop: Notify::new(),
        };
        desk.problems = desk.take_down().await?;
        Ok(desk)
    }

    /// Admits what is on the shelf; gives what could not be.
    async fn take_down(&self) -> Result<Vec<String>, Refusal> {
        let mut problems = Vec::new();
        let budget = self.host.document().limits.budgets;
        for shelved in self.shelf.list()? {
            let admission = shelved.admission();
            let admitted = match self.shelf.bytes(shelved.digest, &budget) {
                Ok(bytes) => self.host.admit(bytes, admission).await.map(|_| ()),
                Err(refusal) => Err(refusal),
            };
            if let Err(refusal) = admitted {
                let why = refusal.operator().unwrap_or(refusal.message()).to_owned();
                let problem = format!("{} ({}): {why}", shelved.origin, shelved.digest);
                tracing::warn!(%problem, "a component of the shelf is left out");
                problems.push(problem);
            }
        }
        Ok(problems)
    }
}

/// The journal that the host writes, and the one that records are read from.
type Journals = (Arc<dyn Journal>, Arc<dyn Journal>);

fn journals(place: &Place, recording: Recording) -> Result<Journals, Refusal> {
    let memory = || Arc::new(Memory::default());
    match recording {
        Recording::Store => {
            let store: Arc<dyn Journal> = Arc::new(owned(place)?);
            Ok((Arc::clone(&store), store))
        }
        Recording::Nothing => {
            let memory: Arc<dyn Journal> = memory();
            Ok((Arc::clone(&memory), memory))
        }
        Recording::Read => {
            let store = place.store();
            if store.symlink_metadata().is_err() {
                // Nothing was ever recorded: that is an empty record, and none is made.
                return Ok((memory(), memory()));
            }
            let inspection =
                Inspection::open(&store, None).map_err(|error| unusable(&store, &error))?;
            Ok((memory(), Arc::new(Reading(inspection))))
        }
    }
}

fn owned(place: &Place) -> Result<Store, Refusal> {
    place.make_data()?;
    store(&place.store())
}

/// Opens the record in `folder` as its owner, or makes one.
///
/// # Errors
///
/// `store_unavailable` when it is another's or cannot be used, `integrity_failed` when it is
/// not as it was written.
pub fn store(folder: &std::path::Path) -> Result<Store, Refusal> {
    let broken = |_| Refusal::new(ErrorType::Internal, "the host's own name is no name");
    let options = Options {
        now: now(),
        actor: Actor {
            principal: "host".parse().map_err(broken)?,
            rights: Rights::Operator,
        },
        provider: "bindery".parse::<Provider>().map_err(broken)?,
        runtime: Line::cut(concat!("bindery ", env!("CARGO_PKG_VERSION"))),
        mark: None,
    };
    Store::open(folder, &options).map_err(|error| unusable(folder, &error))
}

/// What is wrong with a store, where it is, and what may be done about it.
fn unusable(folder: &std::path::Path, error: &StoreError) -> Refusal {
    let refusal = error.refusal();
    let next = match (refusal.kind(), error) {
        // It says itself whom to ask.
        (_, StoreError::Owned { .. }) => return refusal,
        (ErrorType::IntegrityFailed, _) => {
            "keep the folder as it is for whoever looks into it, then put back the whole folder \
             from one backup"
        }
        _ => "give its owner room and the right to write there, then start again",
    };
    refusal.for_operator(format!(
        "{error}; the store is `{}`: {next}",
        folder.display()
    ))
}

fn now() -> Moment {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    Moment::from_unix_ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A store that is looked at. What would write is refused.
struct Reading(Inspection);

impl Reading {
    fn refused() -> JournalError {
        JournalError::Poisoned("the store is open for reading only".to_owned())
    }
}

impl Journal for Reading {
    fn append(&self, _: Vec<Entry>, _: Vec<Kept>) -> Result<u64, JournalError> {
        Err(Self::refused())
    }

    fn append_lazy(&self, _: Vec<Entry>) -> Result<u64, JournalError> {
        Err(Self::refused())
    }

    fn look(&self, see: &mut dyn FnMut(&bindery::ledger::State)) {
        see(self.0.state());
    }

    fn records(&self, query: &Query) -> Result<Vec<Record>, JournalError> {
        self.0
            .records(query)
            .map_err(|error| JournalError::Unreadable(error.to_string()))
    }

    fn kept(&self, digest: Digest) -> Result<Option<String>, JournalError> {
        self.0
            .kept(digest)
            .map_err(|error| JournalError::Unreadable(error.to_string()))
    }
}

impl std::fmt::Debug for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading").finish_non_exhaustive()
    }
}

impl Desk {
    /// The host behind it.
    pub fn host(&self) -> &Host {
        &self.host
    }
}
