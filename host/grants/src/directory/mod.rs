//! Directory grants and `wasi:filesystem` over them.
//!
//! Rule (R-005, R-020, H25, C4): a guest reaches what is below a granted handle and
//! nothing else. Each operation is entered in the meter, held against the grant, charged
//! to its quota, reported, and then done by the engine's own primitives beneath that
//! handle, on a thread that may block. A grant that is read-only stays so whatever flags
//! an operation combines; between two grants nothing is moved or linked.

mod descriptor;
mod desk;
mod grant;
mod handle;
mod listing;
mod open;
mod opened;
mod path;
mod quota;
mod stream;
#[cfg(test)]
mod tests;

pub use grant::{Access, DirectoryGrant};

use std::collections::BTreeMap;
use std::sync::Arc;

use bindery_types::{Budget, EffectKind, Limit, LimitHit, LimitName};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::{FsError, FsResult};

use crate::blocking::Act;
use crate::call::CallGrants;
use crate::endpoint::Denial;
use crate::grants::GrantError;
use desk::{Desk, Place};
use opened::{Granted, Opened};
use quota::Spent;

/// Denials kept of one call; later ones are only counted.
const DENIALS_KEPT_MAX: usize = 32;

/// The directory grants of one call.
pub(crate) struct Directories {
    grants: Vec<(DirectoryGrant, Arc<Granted>)>,
    listing_max: Limit,
    listing_met: Option<LimitHit>,
    denials: Vec<Denial>,
    denials_dropped: u64,
    /// Names that were left out of listings, by directory.
    left_out: BTreeMap<String, u64>,
}

impl Directories {
    pub(crate) fn new(grants: Vec<DirectoryGrant>, budget: &Budget) -> Result<Self, GrantError> {
        for (index, second) in grants.iter().enumerate() {
            let before = grants.iter().take(index);
            if let Some((first, why)) = before
                .filter_map(|first| Some((first, clash(first, second)?)))
                .next()
            {
                return Err(GrantError::Clash {
                    first: first.guest_path().to_owned(),
                    second: second.guest_path().to_owned(),
                    why,
                });
            }
        }
        let used = |grant: DirectoryGrant| {
            let granted = Arc::new(Granted::new(&grant, budget));
            (grant, granted)
        };
        Ok(Self {
            grants: grants.into_iter().map(used).collect(),
            listing_max: budget.get(LimitName::Listing),
            listing_met: None,
            denials: Vec::new(),
            denials_dropped: 0,
            left_out: BTreeMap::new(),
        })
    }

    /// The limits that were met as error values.
    pub(crate) fn limit_hits(&self) -> Vec<LimitHit> {
        let quotas = self.grants.iter().flat_map(|(_, granted)| {
            [&granted.bytes, &granted.entries]
                .into_iter()
                .filter_map(|quota| quota.met())
        });
        quotas.chain(self.listing_met).collect()
    }

    pub(crate) fn take_denials(&mut self) -> (Vec<Denial>, u64) {
        for (path, count) in std::mem::take(&mut self.left_out) {
            self.deny(Denial {
                asked: format!("list {path}"),
                rule: format!(
                    "{count} names in it are not utf-8, which no component can be given; they were left out"
                ),
                allow: None,
            });
        }
        (std::mem::take(&mut self.denials), self.denials_dropped)
    }

    /// Counts names in the directory `path` that a listing left out.
    fn leave_out(&mut self, path: &str, names: u64) {
        let kept = self.left_out.len() < DENIALS_KEPT_MAX || self.left_out.contains_key(path);
        match (names, kept) {
            (0, _) => {}
            (_, false) => self.denials_dropped = self.denials_dropped.saturating_add(1),
            (_, true) => {
                let count = self.left_out.entry(path.to_owned()).or_default();
                *count = count.saturating_add(names);
            }
        }
    }

    fn deny(&mut self, denial: Denial) {
        match self.denials.len() < DENIALS_KEPT_MAX {
            true => self.denials.push(denial),
            false => self.denials_dropped = self.denials_dropped.saturating_add(1),
        }
    }
}

/// GHSA-4ch3: one tree under two modes would let a guest change through the one what it
/// may only read through the other.
fn clash(first: &DirectoryGrant, second: &DirectoryGrant) -> Option<&'static str> {
    if first.guest_path() == second.guest_path() {
        return Some("they have one name");
    }
    (first.access() != second.access() && first.overlaps(second))
        .then_some("they share a directory, read-only here and read-write there")
}

impl From<Spent> for FsError {
    fn from(_: Spent) -> Self {
        ErrorCode::Quota.into()
    }
}

type Fd = Resource<Descriptor>;

impl CallGrants {
    fn enter_fs(&mut self) -> FsResult<()> {
        self.meter.enter().map_err(FsError::trap)
    }

    /// One call with a path.
    fn enter_path(&mut self, path: &str) -> FsResult<()> {
        self.enter_fs()?;
        let bytes = u64::try_from(path.len()).unwrap_or(u64::MAX);
        self.meter.work(bytes).map_err(FsError::trap)?;
        Ok(path::check(path)?)
    }

    fn opened(&mut self, fd: &Fd) -> FsResult<&mut Opened> {
        Ok(self
            .table
            .get_mut(&Resource::<Opened>::new_borrow(fd.rep()))?)
    }

    /// A path below an open directory, as the trace has it.
    fn shown(&mut self, fd: &Fd, path: &str) -> FsResult<String> {
        Ok(path::shown(&self.opened(fd)?.path, path))
    }

    /// Nothing is changed through a read-only grant. The operator learns which grant it
    /// would take (U1), the guest gets the error of a read-only file system.
    fn may_change(&mut self, fd: &Fd, path: &str) -> FsResult<()> {
        let opened = self.opened(fd)?;
        if opened.granted.access == Access::ReadWrite {
            return Ok(());
        }
        let guest_path = opened.granted.guest_path.clone();
        let denial = Denial {
            asked: format!("write {}", path::shown(&opened.path, path)),
            rule: format!("directory `{guest_path}` is granted read-only"),
            allow: Some(format!("--dir 'HOST::{guest_path}:rw'")),
        };
        self.directories.deny(denial);
        Err(ErrorCode::ReadOnly.into())
    }

    /// Runs `body` over the descriptor behind `fd` on a thread that may block.
    async fn on_desk<R: Send + 'static>(
        &mut self,
        act: Act,
        fd: &Fd,
        body: impl FnOnce(&mut Desk, Place) -> FsResult<R> + Send + 'static,
    ) -> FsResult<R> {
        let descriptor = self.opened(fd)?.descriptor.clone();
        let run = move || {
            let mut desk = Desk::new();
            let place = desk.put(descriptor)?;
            body(&mut desk, place)
        };
        let done = self.in_flight.run(act, run).await;
        done.map_err(FsError::trap)?
    }

    /// Looks at a path: an effect when there was something to see.
    async fn look<R: Send + 'static>(
        &mut self,
        fd: &Fd,
        path: String,
        body: impl FnOnce(&mut Desk, Place, String) -> FsResult<R> + Send + 'static,
    ) -> FsResult<R> {
        self.enter_path(&path)?;
        let shown = self.shown(fd, &path)?;
        let seen = self
            .on_desk(Act::Read, fd, move |desk, place| body(desk, place, path))
            .await?;
        self.meter.note_again(EffectKind::Read, shown);
        Ok(seen)
    }

    /// Changes something at a path: an effect from before it is tried, since a call can
    /// end while it happens; taken back when it is known not to have happened.
    async fn change<R: Send + 'static>(
        &mut self,
        fd: &Fd,
        path: String,
        body: impl FnOnce(&mut Desk, Place, String, &Granted) -> FsResult<R> + Send + 'static,
    ) -> FsResult<R> {
        self.enter_path(&path)?;
        self.may_change(fd, &path)?;
        let shown = self.shown(fd, &path)?;
        let granted = Arc::clone(&self.opened(fd)?.granted);
        let effect = self.meter.note(EffectKind::Write, shown, 0);
        let changed = self
            .on_desk(Act::Write, fd, move |desk, place| {
                body(desk, place, path, &granted)
            })
            .await;
        self.retract_refused(effect, &changed);
        changed
    }

    fn retract_refused<R>(&mut self, effect: Option<usize>, done: &FsResult<R>) {
        if let Err(error) = done
            && error.downcast_ref().is_some()
        {
            self.meter.retract(effect);
        }
    }

    /// The effect that what is read from an open descriptor belongs to.
    fn read_effect(&mut self, fd: &Fd) -> FsResult<Option<usize>> {
        let opened = self.opened(fd)?;
        if let Some(effect) = opened.read {
            return Ok(effect);
        }
        let path = opened.path.clone();
        let effect = self.meter.note_again(EffectKind::Read, path);
        self.opened(fd)?.read = Some(effect);
        Ok(effect)
    }

    /// The same for what is written.
    fn write_effect(&mut self, fd: &Fd) -> FsResult<Option<usize>> {
        let opened = self.opened(fd)?;
        if let Some(effect) = opened.written {
            return Ok(effect);
        }
        let path = opened.path.clone();
        let effect = self.meter.note_again(EffectKind::Write, path);
        self.opened(fd)?.written = Some(effect);
        Ok(effect)
    }

    fn hand_out(&mut self, opened: Opened) -> wasmtime::Result<Fd> {
        let pushed = self.table.push(opened);
        pushed
            .map(Opened::fd)
            .map_err(|error| self.handles(error.into()))
    }
}

impl preopens::Host for CallGrants {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        self.enter()?;
        let granted: Vec<Opened> = self
            .directories
            .grants
            .iter()
            .map(|(grant, granted)| Opened {
                descriptor: Descriptor::Dir(grant.dir().clone()),
                granted: Arc::clone(granted),
                path: granted.guest_path.clone(),
                lease: None,
                read: None,
                written: None,
            })
            .collect();
        let mut preopens = Vec::new();
        for opened in granted {
            let name = opened.granted.guest_path.clone();
            preopens.push((self.hand_out(opened)?, name));
        }
        Ok(preopens)
    }
}
