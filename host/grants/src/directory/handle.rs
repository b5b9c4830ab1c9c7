//! Operations on what is open already; the opening has reported it.
//!
//! Rule (H25): bytes are credited to the effect of the opening; what is written is charged
//! first, with the gap it leaves and the size it sets, and given back when it did not
//! happen.

use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi::OpenMode;
use wasmtime_wasi::filesystem::{Descriptor, File};
use wasmtime_wasi::p2::bindings::filesystem::types::{ErrorCode, HostDescriptor};
use wasmtime_wasi::p2::{FsError, FsResult};
use wasmtime_wasi_io::streams::{DynInputStream, DynOutputStream};

use super::desk::{Desk, at_once};
use super::opened::Opened;
use super::stream::{FileReader, FileWriter};
use super::{Access, Fd};
use crate::blocking::Act;
use crate::call::CallGrants;

pub(super) fn size(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

impl CallGrants {
    /// An operation on what is open, which the opening has reported.
    pub(super) async fn on_open<R: Send + 'static>(
        &mut self,
        fd: Fd,
        body: impl FnOnce(&mut Desk, Fd) -> FsResult<R> + Send + 'static,
    ) -> FsResult<R> {
        self.enter_fs()?;
        self.on_desk(Act::Read, &fd, move |desk, place| body(desk, place.fd()))
            .await
    }

    /// Waits until what was written is on the disk. In a read-only grant nothing can wait
    /// to be written.
    pub(super) async fn synchronise(
        &mut self,
        fd: Fd,
        body: impl FnOnce(&mut Desk, Fd) -> FsResult<()> + Send + 'static,
    ) -> FsResult<()> {
        self.enter_fs()?;
        match self.opened(&fd)?.granted.access {
            Access::ReadOnly => Ok(()),
            Access::ReadWrite => {
                self.on_desk(Act::Write, &fd, move |desk, place| body(desk, place.fd()))
                    .await
            }
        }
    }

    /// An operation that changes what is open.
    pub(super) async fn change_open<R: Send + 'static>(
        &mut self,
        fd: &Fd,
        body: impl FnOnce(&mut Desk, Fd, &Opened) -> FsResult<R> + Send + 'static,
    ) -> FsResult<R> {
        self.enter_fs()?;
        self.may_change(fd, "")?;
        let opened = self.opened(fd)?.over();
        let effect = self.write_effect(fd)?;
        let was_written = opened.written;
        let changed = self
            .on_desk(Act::Write, fd, move |desk, place| {
                body(desk, place.fd(), &opened)
            })
            .await;
        if changed.is_err() && was_written.is_none() {
            self.retract_refused(effect, &changed);
            self.opened(fd)?.written = None;
        }
        changed
    }

    /// A file that may be written to through a stream.
    fn writable(&mut self, fd: &Fd) -> FsResult<(File, Opened)> {
        self.enter_fs()?;
        self.may_change(fd, "")?;
        let opened = self.opened(fd)?.over();
        match &opened.descriptor {
            Descriptor::File(file) if file.open_mode.contains(OpenMode::WRITE) => {
                Ok((file.clone(), opened))
            }
            Descriptor::File(_) | Descriptor::Dir(_) => Err(ErrorCode::BadDescriptor.into()),
        }
    }

    pub(super) fn write_stream(
        &mut self,
        fd: &Fd,
        offset: Option<u64>,
    ) -> FsResult<Resource<DynOutputStream>> {
        let (file, opened) = self.writable(fd)?;
        let effect = self.write_effect(fd)?;
        let mut desk = Desk::new();
        let place = desk.put(opened.descriptor.clone())?;
        let inner = match offset {
            Some(offset) => desk.view().write_via_stream(place.fd(), offset)?,
            None => desk.view().append_via_stream(place.fd())?,
        };
        let inner = desk.table().delete(inner)?;
        let stream: DynOutputStream = Box::new(FileWriter::new(
            inner,
            offset,
            Arc::clone(&file.file),
            opened.granted,
            self.in_flight.clone(),
            opened.lease,
        ));
        let stream = self.table.push(stream);
        let stream = stream.map_err(|error| FsError::trap(self.handles(error.into())))?;
        self.streams.insert(stream.rep(), effect);
        Ok(stream)
    }

    /// A stream of what a file holds from `offset` on.
    pub(super) fn read_stream(
        &mut self,
        fd: &Fd,
        offset: u64,
    ) -> FsResult<Resource<DynInputStream>> {
        self.enter_fs()?;
        let opened = self.opened(fd)?.over();
        let mut desk = Desk::new();
        let place = desk.put(opened.descriptor)?;
        let inner = desk.view().read_via_stream(place.fd(), offset)?;
        let effect = self.read_effect(fd)?;
        let inner = desk.table().delete(inner)?;
        let in_flight = self.in_flight.clone();
        let stream: DynInputStream = Box::new(FileReader::new(inner, in_flight, opened.lease));
        let stream = self.table.push(stream);
        let stream = stream.map_err(|error| FsError::trap(self.handles(error.into())))?;
        self.streams.insert(stream.rep(), effect);
        Ok(stream)
    }

    /// What a file grows by is charged, though a hole takes no room.
    pub(super) async fn resize(&mut self, fd: &Fd, new: u64) -> FsResult<()> {
        self.change_open(fd, move |desk, fd, opened| {
            let growth = new.saturating_sub(opened.file()?.metadata()?.len());
            opened.granted.bytes.take(growth)?;
            let done = at_once(HostDescriptor::set_size(&mut desk.view(), fd, new))?;
            if done.is_err() {
                opened.granted.bytes.give_back(growth);
            }
            done
        })
        .await
    }

    /// At most 64 KiB of a file, and whether it ended.
    pub(super) async fn read_at(
        &mut self,
        fd: &Fd,
        len: u64,
        offset: u64,
    ) -> FsResult<(Vec<u8>, bool)> {
        self.enter_fs()?;
        let effect = self.read_effect(fd)?;
        let (bytes, ended) = self
            .on_desk(Act::Read, fd, move |desk, place| {
                let view = &mut desk.view();
                at_once(HostDescriptor::read(view, place.fd(), len, offset))?
            })
            .await?;
        self.meter.moved(effect, size(bytes.len()));
        self.meter.work(size(bytes.len())).map_err(FsError::trap)?;
        Ok((bytes, ended))
    }

    /// Writes as much as the quota has left, and is an error when that is nothing.
    pub(super) async fn write_at(
        &mut self,
        fd: &Fd,
        mut bytes: Vec<u8>,
        offset: u64,
    ) -> FsResult<u64> {
        self.meter.work(size(bytes.len())).map_err(FsError::trap)?;
        let written = self
            .change_open(fd, move |desk, fd, opened| {
                let gap = offset.saturating_sub(opened.file()?.metadata()?.len());
                opened.granted.bytes.take(gap)?;
                let some = match opened.granted.bytes.take_some(size(bytes.len())) {
                    Ok(some) => some,
                    Err(spent) => {
                        opened.granted.bytes.give_back(gap);
                        return Err(spent.into());
                    }
                };
                bytes.truncate(usize::try_from(some).unwrap_or(usize::MAX));
                let done = at_once(HostDescriptor::write(&mut desk.view(), fd, bytes, offset))?;
                let unused = match &done {
                    Ok(written) => some.saturating_sub(*written),
                    Err(_) => some.saturating_add(gap),
                };
                opened.granted.bytes.give_back(unused);
                done
            })
            .await?;
        let effect = self.write_effect(fd)?;
        self.meter.moved(effect, written);
        Ok(written)
    }
}

impl Opened {
    /// The same descriptor, for an operation over it.
    fn over(&self) -> Opened {
        Opened {
            descriptor: self.descriptor.clone(),
            granted: Arc::clone(&self.granted),
            path: self.path.clone(),
            lease: self.lease.clone(),
            read: self.read,
            written: self.written,
        }
    }

    fn file(&self) -> FsResult<&std::fs::File> {
        match &self.descriptor {
            Descriptor::File(file) => Ok(&file.file),
            Descriptor::Dir(_) => Err(ErrorCode::BadDescriptor.into()),
        }
    }
}
