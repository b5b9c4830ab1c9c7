//! The names in a directory, a batch at a time.
//!
//! Rule (H25, X11): a listing is never collected on the host; it is read as the guest asks
//! and ends with the error `quota` when it is longer than the limit `listing`. A name that
//! is not UTF-8 cannot be given to a guest: it is left out, counted, and told to the operator.

use std::collections::VecDeque;

use bindery_types::{Limit, LimitHit, LimitName};
use rustix::fs::{AtFlags, Dir, FileType, statat};
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorType, DirectoryEntry, DirectoryEntryStream, ErrorCode, HostDirectoryEntryStream,
};
use wasmtime_wasi::p2::{FsError, FsResult};

use super::Fd;
use super::handle::size;
use super::opened::{Lease, lease};
use crate::blocking::Act;
use crate::call::CallGrants;

/// Entries read in one go.
const BATCH: usize = 128;

/// A listing that has begun.
pub(super) struct Listing {
    names: Names,
    batch: VecDeque<Result<DirectoryEntry, ErrorCode>>,
    given: u64,
    /// Names left out so far.
    left_out: u64,
    /// The directory, as the guest names it.
    path: String,
    /// The effect its bytes belong to.
    pub(super) effect: Option<usize>,
    _lease: Lease,
}

/// The directory stream of the host; taken out while a thread reads from it.
pub(super) struct Names(Option<Dir>);

/// What a listing has next.
pub(super) enum Next {
    Entry(DirectoryEntry),
    Fault(ErrorCode),
    End,
    /// More entries than the limit allows.
    TooMany(LimitHit),
    /// Nothing at hand: read these and put them back.
    Read(Names),
}

impl Listing {
    pub(super) fn new(names: Names, path: String, effect: Option<usize>, lease: Lease) -> Self {
        Self {
            names,
            batch: VecDeque::new(),
            given: 0,
            left_out: 0,
            path,
            effect,
            _lease: lease,
        }
    }

    pub(super) fn next(&mut self, limit: Limit) -> Next {
        let entry = self.batch.pop_front();
        self.given = self.given.saturating_add(u64::from(entry.is_some()));
        // What is left out was read all the same.
        let used = self.given.saturating_add(self.left_out);
        if !limit.allows(used) {
            self.batch.clear();
            self.names = Names(None);
            return Next::TooMany(LimitHit {
                name: LimitName::Listing,
                limit,
                used,
            });
        }
        match (entry, self.names.0.take()) {
            (None, Some(names)) => Next::Read(Names(Some(names))),
            (None, None) => Next::End,
            (Some(entry), names) => {
                self.names = Names(names);
                entry.map_or_else(Next::Fault, Next::Entry)
            }
        }
    }

    pub(super) fn put_back(&mut self, names: Names, batch: Batch) {
        self.names = names;
        self.batch = batch.entries;
        self.left_out = self.left_out.saturating_add(batch.left_out);
    }
}

/// Some entries of a directory, and how many beside them have no name for a guest.
#[derive(Default)]
pub(super) struct Batch {
    entries: VecDeque<Result<DirectoryEntry, ErrorCode>>,
    left_out: u64,
}

impl Batch {
    fn is_full(&self) -> bool {
        let left_out = usize::try_from(self.left_out).unwrap_or(usize::MAX);
        self.entries.len().saturating_add(left_out) >= BATCH
    }

    fn add(&mut self, entry: Result<Option<DirectoryEntry>, ErrorCode>) {
        match entry.transpose() {
            Some(entry) => self.entries.push_back(entry),
            None => self.left_out = self.left_out.saturating_add(1),
        }
    }
}

impl Names {
    /// The names in what `dir` has open.
    pub(super) fn of(dir: &std::fs::File) -> std::io::Result<Self> {
        Ok(Self(Some(Dir::read_from(dir)?)))
    }

    /// Reads a batch; nothing is left when the names are gone.
    pub(super) fn read(mut self) -> (Self, Batch) {
        let mut batch = Batch::default();
        while !batch.is_full() {
            let Some(dir) = self.0.as_mut() else { break };
            match dir.next() {
                Some(Ok(entry)) => {
                    let name = entry.file_name();
                    if ![c".", c".."].contains(&name) {
                        batch.add(named(dir, name, entry.file_type()));
                    }
                }
                Some(Err(error)) => {
                    batch.add(Err(std::io::Error::from(error).into()));
                    self.0 = None;
                }
                None => self.0 = None,
            }
        }
        (self, batch)
    }
}

/// The entry, if its name is text.
fn named(
    dir: &Dir,
    name: &std::ffi::CStr,
    kind: FileType,
) -> Result<Option<DirectoryEntry>, ErrorCode> {
    let Ok(text) = name.to_str() else {
        return Ok(None);
    };
    // Some file systems leave the kind out of the listing.
    let kind = match kind {
        FileType::Unknown => {
            let stat = dir
                .fd()
                .and_then(|fd| statat(fd, name, AtFlags::SYMLINK_NOFOLLOW))
                .map_err(std::io::Error::from)?;
            FileType::from_raw_mode(stat.st_mode)
        }
        known => known,
    };
    Ok(Some(DirectoryEntry {
        type_: match kind {
            FileType::RegularFile => DescriptorType::RegularFile,
            FileType::Directory => DescriptorType::Directory,
            FileType::Symlink => DescriptorType::SymbolicLink,
            FileType::Fifo => DescriptorType::Fifo,
            FileType::Socket => DescriptorType::Socket,
            FileType::CharacterDevice => DescriptorType::CharacterDevice,
            FileType::BlockDevice => DescriptorType::BlockDevice,
            FileType::Unknown => DescriptorType::Unknown,
        },
        name: text.to_owned(),
    }))
}

impl CallGrants {
    /// Begins to list a directory.
    pub(super) async fn list(&mut self, fd: &Fd) -> FsResult<Resource<DirectoryEntryStream>> {
        self.enter_fs()?;
        let lease = lease().ok_or(ErrorCode::Busy)?;
        let Descriptor::Dir(dir) = self.opened(fd)?.descriptor.clone() else {
            return Err(ErrorCode::NotDirectory.into());
        };
        let names = self.in_flight.run(Act::Read, move || Names::of(&dir.dir));
        let names = names.await.map_err(FsError::trap)??;
        let effect = self.read_effect(fd)?;
        let path = self.opened(fd)?.path.clone();
        let listing = self.table.push(Listing::new(names, path, effect, lease));
        let listing = listing.map_err(|error| FsError::trap(self.handles(error.into())))?;
        Ok(Resource::new_own(listing.rep()))
    }
}

impl HostDirectoryEntryStream for CallGrants {
    async fn read_directory_entry(
        &mut self,
        stream: Resource<DirectoryEntryStream>,
    ) -> FsResult<Option<DirectoryEntry>> {
        self.enter_fs()?;
        let limit = self.directories.listing_max;
        let place = || Resource::<Listing>::new_borrow(stream.rep());
        loop {
            let listing = self.table.get_mut(&place())?;
            let effect = listing.effect;
            match listing.next(limit) {
                Next::Entry(entry) => {
                    let bytes = size(entry.name.len());
                    self.meter.moved(effect, bytes);
                    self.meter.work(bytes).map_err(FsError::trap)?;
                    return Ok(Some(entry));
                }
                Next::End => return Ok(None),
                Next::Fault(code) => return Err(code.into()),
                Next::TooMany(hit) => {
                    self.directories.listing_met = Some(hit);
                    return Err(ErrorCode::Quota.into());
                }
                Next::Read(names) => {
                    let read = self.in_flight.run(Act::Read, move || names.read());
                    let (names, batch) = read.await.map_err(FsError::trap)?;
                    let listing = self.table.get_mut(&place())?;
                    self.directories.leave_out(&listing.path, batch.left_out);
                    listing.put_back(names, batch);
                }
            }
        }
    }

    fn drop(&mut self, stream: Resource<DirectoryEntryStream>) -> wasmtime::Result<()> {
        self.table
            .delete(Resource::<Listing>::new_own(stream.rep()))?;
        Ok(())
    }
}
