//! Opening a path: looked at first, checked after.
//!
//! Rule (H25): a guest opens regular files and directories. A pipe would hold the thread
//! that opens it for ever, a device or a socket is not a file of the grant; so the path is
//! looked at before and the descriptor after, and what is neither is refused.

use std::sync::Arc;

use bindery_types::EffectKind;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, DescriptorType, ErrorCode, HostDescriptor, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{FsError, FsResult};

use super::Fd;
use super::desk::{Desk, Place, at_once};
use super::opened::{Granted, Opened, lease};
use crate::blocking::Act;
use crate::call::CallGrants;
use crate::endpoint::Denial;

/// What a guest asks to open, and how.
pub(super) struct Request {
    pub(super) path: String,
    pub(super) path_flags: PathFlags,
    pub(super) open: OpenFlags,
    pub(super) flags: DescriptorFlags,
}

impl Request {
    /// Whether opening can change something, or allows it later: every flag that makes the
    /// engine open for writing counts, whatever else is said (GHSA-2r75).
    fn changes(&self) -> bool {
        self.open.contains(OpenFlags::CREATE)
            || self.open.contains(OpenFlags::TRUNCATE)
            || self.open.contains(OpenFlags::EXCLUSIVE)
            || self.flags.contains(DescriptorFlags::WRITE)
    }

    fn reads(&self) -> bool {
        !self.changes() || self.flags.contains(DescriptorFlags::READ)
    }
}

/// What came of it.
enum Found {
    Open(Descriptor),
    /// Something that is neither a file nor a directory.
    Neither,
}

impl CallGrants {
    pub(super) async fn open(&mut self, fd: &Fd, request: Request) -> FsResult<Fd> {
        self.enter_path(&request.path)?;
        let (changes, reads) = (request.changes(), request.reads());
        if changes {
            self.may_change(fd, &request.path)?;
        }
        // H34: the descriptors of the process are shared by all calls.
        let lease = lease().ok_or(ErrorCode::Busy)?;
        let path = self.shown(fd, &request.path)?;
        let granted = Arc::clone(&self.opened(fd)?.granted);
        let written = changes.then(|| self.meter.note(EffectKind::Write, path.clone(), 0));
        let act = if changes { Act::Write } else { Act::Read };
        let quotas = Arc::clone(&granted);
        let found = self
            .on_desk(act, fd, move |desk, dir| open(desk, dir, request, &quotas))
            .await;
        self.retract_refused(written.flatten(), &found);
        let descriptor = match found? {
            Found::Open(descriptor) => descriptor,
            Found::Neither => {
                self.meter.retract(written.flatten());
                return Err(self.neither(path));
            }
        };
        let read = reads.then(|| self.meter.note_again(EffectKind::Read, path.clone()));
        let opened = Opened {
            descriptor,
            granted,
            path,
            lease: Some(lease),
            read,
            written,
        };
        self.hand_out(opened).map_err(FsError::trap)
    }

    fn neither(&mut self, path: String) -> FsError {
        self.directories.deny(Denial {
            asked: format!("open {path}"),
            rule: "it is neither a file nor a directory".to_owned(),
            allow: None,
        });
        ErrorCode::NotPermitted.into()
    }
}

fn is_file_or_directory(kind: DescriptorType) -> bool {
    matches!(
        kind,
        DescriptorType::RegularFile | DescriptorType::Directory
    )
}

fn open(desk: &mut Desk, dir: Place, request: Request, granted: &Granted) -> FsResult<Found> {
    let Request {
        path,
        path_flags,
        open,
        flags,
    } = request;
    let seen = at_once(HostDescriptor::stat_at(
        &mut desk.view(),
        dir.fd(),
        path_flags,
        path.clone(),
    ))?;
    let is_new = match seen {
        Ok(stat) if is_file_or_directory(stat.type_) => false,
        // A link that is not to be followed cannot be opened; the engine says how.
        Ok(stat) if stat.type_ == DescriptorType::SymbolicLink => false,
        Ok(_) => return Ok(Found::Neither),
        Err(_) => open.contains(OpenFlags::CREATE),
    };
    if is_new {
        granted.entries.take(1)?;
    }
    let opened = at_once(HostDescriptor::open_at(
        &mut desk.view(),
        dir.fd(),
        path_flags,
        path,
        open,
        flags,
    ))?;
    if is_new && opened.is_err() {
        granted.entries.give_back(1);
    }
    let descriptor = desk.take(opened?)?;
    let place = desk.put(descriptor.clone())?;
    let kind = at_once(HostDescriptor::get_type(&mut desk.view(), place.fd()))??;
    Ok(match is_file_or_directory(kind) {
        true => Found::Open(descriptor),
        false => Found::Neither,
    })
}
