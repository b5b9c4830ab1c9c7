//! The engine's own filesystem at work on a thread that may block.
//!
//! Rule (H25, GHSA-vqjp): paths are resolved by wasmtime-wasi's primitives and by nothing
//! else. Its operations are asynchronous in form; over descriptors marked as allowed to
//! block they never wait, so one operation of the guest, with the looking before and after
//! it, is one task on one thread.

use std::future::Future;
use std::pin::pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};

use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::WasiCtxBuilder;
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemCtx, WasiFilesystemCtxView};
use wasmtime_wasi::p2::{FsError, FsResult};

/// A table for the descriptors of one operation.
pub(super) struct Desk {
    table: ResourceTable,
    ctx: WasiFilesystemCtx,
}

/// The one setting that differs from the default; it holds no directory.
fn may_block() -> WasiFilesystemCtx {
    static CTX: OnceLock<WasiFilesystemCtx> = OnceLock::new();
    let make = || {
        let mut builder = WasiCtxBuilder::new();
        let mut ctx = builder.allow_blocking_current_thread(true).build();
        ctx.filesystem().clone()
    };
    CTX.get_or_init(make).clone()
}

impl Desk {
    pub(super) fn new() -> Self {
        Self {
            table: ResourceTable::new(),
            ctx: may_block(),
        }
    }

    pub(super) fn put(&mut self, descriptor: Descriptor) -> FsResult<Place> {
        Ok(Place(self.table.push(descriptor)?.rep()))
    }

    pub(super) fn take(&mut self, descriptor: Resource<Descriptor>) -> FsResult<Descriptor> {
        Ok(self.table.delete(descriptor)?)
    }

    pub(super) fn view(&mut self) -> WasiFilesystemCtxView<'_> {
        WasiFilesystemCtxView {
            ctx: &mut self.ctx,
            table: &mut self.table,
        }
    }

    pub(super) fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }
}

/// Where a descriptor lies on a desk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place(u32);

impl Place {
    pub(super) fn fd(self) -> Resource<Descriptor> {
        Resource::new_borrow(self.0)
    }
}

/// What a future gives without waiting.
pub(super) fn at_once<F: Future>(future: F) -> Result<F::Output, Waited> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Ok(output),
        Poll::Pending => Err(Waited),
    }
}

/// The engine waited where it promises not to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a file operation did not end on its thread")]
pub(super) struct Waited;

impl From<Waited> for FsError {
    fn from(waited: Waited) -> Self {
        FsError::trap(waited)
    }
}
