//! `wasi:filesystem/types`: every operation of the interface, in its order there.
//!
//! Rule: each line says which of three an operation is: one that looks at a path, one that
//! changes something at a path, or one on a descriptor that is open already. What they
//! have in common (meter, grant, effect, thread) is in the module above.

use std::sync::Arc;

use bindery_types::EffectKind;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntryStream, ErrorCode,
    Filesize, HostDescriptor, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{FsError, FsResult};
use wasmtime_wasi_io::streams::{DynInputStream, DynOutputStream};

use super::desk::at_once;
use super::open::Request;
use super::opened::Opened;
use super::quota::Spent;
use super::{Fd, path};
use crate::blocking::Act;
use crate::call::CallGrants;

impl types::Host for CallGrants {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        error.downcast()
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        self.enter()?;
        let error = self.table.get(&error)?;
        if error.downcast_ref::<Spent>().is_some() {
            return Ok(Some(ErrorCode::Quota));
        }
        Ok(error.downcast_ref::<std::io::Error>().map(ErrorCode::from))
    }
}

impl HostDescriptor for CallGrants {
    fn read_via_stream(&mut self, fd: Fd, offset: Filesize) -> FsResult<Resource<DynInputStream>> {
        self.read_stream(&fd, offset)
    }

    fn write_via_stream(
        &mut self,
        fd: Fd,
        offset: Filesize,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.write_stream(&fd, Some(offset))
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        self.write_stream(&fd, None)
    }

    async fn advise(&mut self, fd: Fd, offset: u64, len: u64, advice: Advice) -> FsResult<()> {
        self.on_open(fd, move |desk, fd| {
            at_once(HostDescriptor::advise(
                &mut desk.view(),
                fd,
                offset,
                len,
                advice,
            ))?
        })
        .await
    }

    async fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        self.synchronise(fd, |desk, fd| {
            at_once(HostDescriptor::sync_data(&mut desk.view(), fd))?
        })
        .await
    }

    async fn get_flags(&mut self, fd: Fd) -> FsResult<DescriptorFlags> {
        self.on_open(fd, |desk, fd| {
            at_once(HostDescriptor::get_flags(&mut desk.view(), fd))?
        })
        .await
    }

    async fn get_type(&mut self, fd: Fd) -> FsResult<DescriptorType> {
        self.on_open(fd, |desk, fd| {
            at_once(HostDescriptor::get_type(&mut desk.view(), fd))?
        })
        .await
    }

    async fn set_size(&mut self, fd: Fd, size: Filesize) -> FsResult<()> {
        self.resize(&fd, size).await
    }

    async fn set_times(&mut self, fd: Fd, read: NewTimestamp, write: NewTimestamp) -> FsResult<()> {
        self.change_open(&fd, move |desk, fd, _| {
            at_once(HostDescriptor::set_times(&mut desk.view(), fd, read, write))?
        })
        .await
    }

    async fn read(&mut self, fd: Fd, len: u64, offset: u64) -> FsResult<(Vec<u8>, bool)> {
        self.read_at(&fd, len, offset).await
    }

    async fn write(&mut self, fd: Fd, bytes: Vec<u8>, offset: Filesize) -> FsResult<Filesize> {
        self.write_at(&fd, bytes, offset).await
    }

    async fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<DirectoryEntryStream>> {
        self.list(&fd).await
    }

    async fn sync(&mut self, fd: Fd) -> FsResult<()> {
        self.synchronise(fd, |desk, fd| {
            at_once(HostDescriptor::sync(&mut desk.view(), fd))?
        })
        .await
    }

    async fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.change(&fd, path, |desk, dir, path, granted| {
            granted.entries.take(1)?;
            let view = &mut desk.view();
            let done = at_once(HostDescriptor::create_directory_at(view, dir.fd(), path))?;
            if done.is_err() {
                granted.entries.give_back(1);
            }
            done
        })
        .await
    }

    async fn stat(&mut self, fd: Fd) -> FsResult<DescriptorStat> {
        if self.opened(&fd)?.written.is_none() {
            self.read_effect(&fd)?;
        }
        self.on_open(fd, |desk, fd| {
            at_once(HostDescriptor::stat(&mut desk.view(), fd))?
        })
        .await
    }

    async fn stat_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        self.look(&fd, path, move |desk, dir, path| {
            at_once(HostDescriptor::stat_at(
                &mut desk.view(),
                dir.fd(),
                flags,
                path,
            ))?
        })
        .await
    }

    async fn set_times_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
        read: NewTimestamp,
        write: NewTimestamp,
    ) -> FsResult<()> {
        self.change(&fd, path, move |desk, dir, path, _| {
            let view = &mut desk.view();
            at_once(HostDescriptor::set_times_at(
                view,
                dir.fd(),
                flags,
                path,
                read,
                write,
            ))?
        })
        .await
    }

    async fn link_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
        new_fd: Fd,
        new_path: String,
    ) -> FsResult<()> {
        let to = self.second_place(&fd, &path, &new_fd, &new_path)?;
        self.change(
            &new_fd,
            new_path,
            move |desk, new_dir, new_path, granted| {
                granted.entries.take(1)?;
                let dir = desk.put(to)?;
                let view = &mut desk.view();
                let link =
                    HostDescriptor::link_at(view, dir.fd(), flags, path, new_dir.fd(), new_path);
                let done = at_once(link)?;
                if done.is_err() {
                    granted.entries.give_back(1);
                }
                done
            },
        )
        .await
    }

    async fn open_at(
        &mut self,
        fd: Fd,
        path_flags: PathFlags,
        path: String,
        open: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Fd> {
        let request = Request {
            path,
            path_flags,
            open,
            flags,
        };
        self.open(&fd, request).await
    }

    async fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        self.look(&fd, path, |desk, dir, path| {
            at_once(HostDescriptor::readlink_at(
                &mut desk.view(),
                dir.fd(),
                path,
            ))?
        })
        .await
    }

    async fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.change(&fd, path, |desk, dir, path, _| {
            let view = &mut desk.view();
            at_once(HostDescriptor::remove_directory_at(view, dir.fd(), path))?
        })
        .await
    }

    async fn rename_at(
        &mut self,
        fd: Fd,
        path: String,
        new_fd: Fd,
        new_path: String,
    ) -> FsResult<()> {
        let from = self.second_place(&fd, &path, &new_fd, &new_path)?;
        let shown = self.shown(&fd, &path)?;
        let effect = self.meter.note(EffectKind::Write, shown, 0);
        let done = self
            .change(&new_fd, new_path, move |desk, new_dir, new_path, _| {
                let dir = desk.put(from)?;
                let view = &mut desk.view();
                at_once(HostDescriptor::rename_at(
                    view,
                    dir.fd(),
                    path,
                    new_dir.fd(),
                    new_path,
                ))?
            })
            .await;
        self.retract_refused(effect, &done);
        done
    }

    async fn symlink_at(&mut self, fd: Fd, target: String, path: String) -> FsResult<()> {
        path::check(&target)?;
        self.may_change(&fd, &path)?;
        if path::points_out(&path, &target) {
            self.enter_path(&path)?;
            return Err(ErrorCode::NotPermitted.into());
        }
        self.change(&fd, path, move |desk, dir, path, granted| {
            granted.entries.take(1)?;
            let view = &mut desk.view();
            let done = at_once(HostDescriptor::symlink_at(view, dir.fd(), target, path))?;
            if done.is_err() {
                granted.entries.give_back(1);
            }
            done
        })
        .await
    }

    async fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        self.change(&fd, path, |desk, dir, path, _| {
            let view = &mut desk.view();
            at_once(HostDescriptor::unlink_file_at(view, dir.fd(), path))?
        })
        .await
    }

    async fn is_same_object(&mut self, fd: Fd, other: Fd) -> wasmtime::Result<bool> {
        self.enter()?;
        let other = self.opened(&other)?.descriptor.clone();
        let same = self.on_desk(Act::Read, &fd, move |desk, place| {
            let other = desk.put(other)?;
            let view = &mut desk.view();
            let same = at_once(HostDescriptor::is_same_object(view, place.fd(), other.fd()))?;
            same.map_err(FsError::trap)
        });
        Ok(same.await?)
    }

    async fn metadata_hash(&mut self, fd: Fd) -> FsResult<MetadataHashValue> {
        self.on_open(fd, |desk, fd| {
            at_once(HostDescriptor::metadata_hash(&mut desk.view(), fd))?
        })
        .await
    }

    async fn metadata_hash_at(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        self.look(&fd, path, move |desk, dir, path| {
            let view = &mut desk.view();
            at_once(HostDescriptor::metadata_hash_at(
                view,
                dir.fd(),
                flags,
                path,
            ))?
        })
        .await
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        self.table.delete(Resource::<Opened>::new_own(fd.rep()))?;
        Ok(())
    }
}

impl CallGrants {
    /// The first of two places that an operation joins. Two grants are two file systems to
    /// a guest: what would cross them is copied, and then charged (GHSA-4ch3).
    fn second_place(
        &mut self,
        fd: &Fd,
        path: &str,
        new_fd: &Fd,
        new_path: &str,
    ) -> FsResult<Descriptor> {
        path::check(path)?;
        path::check(new_path)?;
        self.may_change(fd, path)?;
        self.may_change(new_fd, new_path)?;
        let new_granted = Arc::clone(&self.opened(new_fd)?.granted);
        let opened = self.opened(fd)?;
        if !Arc::ptr_eq(&opened.granted, &new_granted) {
            return Err(ErrorCode::CrossDevice.into());
        }
        Ok(opened.descriptor.clone())
    }
}
