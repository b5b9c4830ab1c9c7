//! Streams over an open file.
//!
//! Rule (H25, H29): the bytes are moved by the engine's own streams, each piece on a
//! thread that may block; nothing is read ahead that was not asked for, nothing a guest
//! gave is lost when it drops the stream, and every byte written is charged first.

use std::sync::Arc;

use bytes::Bytes;
use wasmtime_wasi_io::async_trait;
use wasmtime_wasi_io::poll::Pollable;
use wasmtime_wasi_io::streams::{
    DynInputStream, DynOutputStream, InputStream, OutputStream, StreamError, StreamResult,
};

use super::desk::at_once;
use super::opened::{Granted, Lease};
use crate::blocking::{Act, InFlight, Permit, Task};

/// Bytes of one piece at most.
const PIECE_BYTES: usize = 64 << 10;
/// Bytes read for a guest that waits before it says how many it wants.
const FIRST_READ_BYTES: usize = 4 << 10;

fn failed(error: impl Into<wasmtime::Error>) -> StreamError {
    StreamError::LastOperationFailed(error.into())
}

/// Reads a file from an offset on.
pub(super) struct FileReader {
    state: Reading,
    in_flight: InFlight,
    _lease: Option<Lease>,
}

enum Reading {
    Idle(DynInputStream),
    Busy(Task<(DynInputStream, StreamResult<Bytes>)>),
    Ready(DynInputStream, Bytes),
    Failed(StreamError),
    Closed,
}

impl FileReader {
    pub(super) fn new(inner: DynInputStream, in_flight: InFlight, lease: Option<Lease>) -> Self {
        Self {
            state: Reading::Idle(inner),
            in_flight,
            _lease: lease,
        }
    }

    fn start(&mut self, permit: Permit, size: usize) {
        let Reading::Idle(mut inner) = std::mem::replace(&mut self.state, Reading::Closed) else {
            return;
        };
        let size = size.min(PIECE_BYTES);
        self.state = Reading::Busy(self.in_flight.spawn(Act::Read, permit, move || {
            let read = at_once(inner.blocking_read(size));
            (inner, read.unwrap_or_else(|waited| Err(failed(waited))))
        }));
    }

    async fn filled(&mut self, size: usize) {
        if matches!(self.state, Reading::Idle(_)) {
            match Permit::next().await {
                Ok(permit) => self.start(permit, size),
                Err(lost) => self.state = Reading::Failed(failed(lost)),
            }
        }
        if let Reading::Busy(task) = &mut self.state {
            self.state = match task.end().await {
                Ok((inner, Ok(bytes))) => Reading::Ready(inner, bytes),
                Ok((_, Err(error))) => Reading::Failed(error),
                Err(lost) => Reading::Failed(failed(lost)),
            };
        }
    }
}

#[async_trait]
impl Pollable for FileReader {
    async fn ready(&mut self) {
        self.filled(FIRST_READ_BYTES).await;
    }
}

#[async_trait]
impl InputStream for FileReader {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size > 0
            && matches!(self.state, Reading::Idle(_))
            && let Some(permit) = Permit::now()
        {
            self.start(permit, size);
        }
        match std::mem::replace(&mut self.state, Reading::Closed) {
            Reading::Ready(inner, mut bytes) => {
                let piece = bytes.split_to(bytes.len().min(size));
                self.state = match bytes.is_empty() {
                    true => Reading::Idle(inner),
                    false => Reading::Ready(inner, bytes),
                };
                Ok(piece)
            }
            Reading::Failed(error) => Err(error),
            Reading::Closed => Err(StreamError::Closed),
            waiting => {
                self.state = waiting;
                Ok(Bytes::new())
            }
        }
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size > 0 {
            self.filled(size).await;
        }
        self.read(size)
    }

    /// A guest must not leave a trail of reads behind that nobody waits for.
    async fn cancel(&mut self) {
        if let Reading::Busy(task) = &mut self.state {
            task.end().await.ok();
        }
        self.state = Reading::Closed;
    }
}

/// Writes to a file, from an offset on or at its end.
pub(super) struct FileWriter {
    state: Writing,
    /// Where the next byte goes; at the end when there is none.
    offset: Option<u64>,
    file: Arc<std::fs::File>,
    granted: Arc<Granted>,
    in_flight: InFlight,
    _lease: Option<Lease>,
}

enum Writing {
    Idle(DynOutputStream),
    /// Bytes that wait for a thread.
    Queued(DynOutputStream, Bytes),
    Busy(Task<(DynOutputStream, StreamResult<u64>)>),
    Failed(StreamError),
    Closed,
}

impl FileWriter {
    pub(super) fn new(
        inner: DynOutputStream,
        offset: Option<u64>,
        file: Arc<std::fs::File>,
        granted: Arc<Granted>,
        in_flight: InFlight,
        lease: Option<Lease>,
    ) -> Self {
        Self {
            state: Writing::Idle(inner),
            offset,
            file,
            granted,
            in_flight,
            _lease: lease,
        }
    }

    fn start(&mut self, permit: Permit) {
        let state = std::mem::replace(&mut self.state, Writing::Closed);
        let Writing::Queued(mut inner, bytes) = state else {
            self.state = state;
            return;
        };
        let (file, granted, offset) = (
            Arc::clone(&self.file),
            Arc::clone(&self.granted),
            self.offset,
        );
        self.state = Writing::Busy(self.in_flight.spawn(Act::Write, permit, move || {
            let written = write_piece(&mut inner, &file, &granted, offset, bytes);
            (inner, written)
        }));
    }

    /// Waits until nothing is on its way.
    async fn settled(&mut self) {
        if matches!(self.state, Writing::Queued(..)) {
            match Permit::next().await {
                Ok(permit) => self.start(permit),
                Err(lost) => self.state = Writing::Failed(failed(lost)),
            }
        }
        if let Writing::Busy(task) = &mut self.state {
            self.state = match task.end().await {
                Ok((inner, Ok(written))) => {
                    self.offset = self.offset.map(|at| at.saturating_add(written));
                    Writing::Idle(inner)
                }
                Ok((_, Err(error))) => Writing::Failed(error),
                Err(lost) => Writing::Failed(failed(lost)),
            };
        }
    }

    /// The error that ended the stream, told once.
    fn fault(&mut self) -> StreamResult<()> {
        match std::mem::replace(&mut self.state, Writing::Closed) {
            Writing::Failed(error) => Err(error),
            Writing::Closed => Err(StreamError::Closed),
            going_on => {
                self.state = going_on;
                Ok(())
            }
        }
    }
}

/// Writes one piece that is paid for, and charges the gap it leaves behind the end of the
/// file: a hole is no room for data, but a reader of the file sees it as such.
fn write_piece(
    inner: &mut DynOutputStream,
    file: &std::fs::File,
    granted: &Granted,
    offset: Option<u64>,
    bytes: Bytes,
) -> StreamResult<u64> {
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let end = file.metadata().map_err(failed)?.len();
    let gap = offset.unwrap_or(end).saturating_sub(end);
    if let Err(spent) = granted.bytes.take(gap) {
        granted.bytes.give_back(size);
        return Err(failed(spent));
    }
    let written = at_once(inner.blocking_write_and_flush(bytes));
    written.map_err(failed)?.map(|()| size)
}

#[async_trait]
impl Pollable for FileWriter {
    async fn ready(&mut self) {
        self.settled().await;
    }
}

#[async_trait]
impl OutputStream for FileWriter {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.fault()?;
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        match std::mem::replace(&mut self.state, Writing::Closed) {
            Writing::Idle(inner) if bytes.is_empty() => self.state = Writing::Idle(inner),
            Writing::Idle(inner) => {
                self.granted.bytes.take(size).map_err(failed)?;
                self.state = Writing::Queued(inner, bytes);
            }
            _ => return Err(StreamError::trap("written without a permit of check-write")),
        }
        if let Some(permit) = Permit::now() {
            self.start(permit);
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.fault()
    }

    /// A stream whose quota is used up still takes a byte: the guest learns of the quota
    /// from the write that meets it, and from no write that did not.
    fn check_write(&mut self) -> StreamResult<usize> {
        self.fault()?;
        let left = usize::try_from(self.granted.bytes.left()).unwrap_or(PIECE_BYTES);
        Ok(match self.state {
            Writing::Idle(_) => left.clamp(1, PIECE_BYTES),
            _ => 0,
        })
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.settled().await;
        self.write(bytes)?;
        self.settled().await;
        self.fault()
    }

    /// What the guest gave is written, though it waits for nothing.
    async fn cancel(&mut self) {
        self.settled().await;
        self.state = Writing::Closed;
    }
}
