//! `wasi:io`: streams, pollables, errors, every call counted and every byte charged.
//!
//! Rule (H7, X12, X13, I37): the mechanism is the engine's; in front of it each call is
//! entered in the meter, bytes are charged and credited to the effect whose stream they
//! pass, lists of pollables are bounded, and virtual time moves only when nothing else of
//! a list can.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi_io::bindings::wasi::io::{error, poll, streams};
use wasmtime_wasi_io::poll::DynPollable;
use wasmtime_wasi_io::streams::{
    DynInputStream, DynOutputStream, Error, StreamError, StreamResult,
};

use crate::call::CallGrants;
use crate::text::one_line;

/// What waiting for one pollable costs, as if the host copied so many bytes.
const POLLABLE_WORK_BYTES: usize = 64;
/// Bytes of an error's text that a guest may read.
const ERROR_TEXT_MAX: usize = 256;

impl error::Host for CallGrants {}

impl error::HostError for CallGrants {
    /// The text of the error alone: no chain, no backtrace, no path (H10).
    fn to_debug_string(&mut self, this: Resource<Error>) -> wasmtime::Result<String> {
        self.enter()?;
        let text = self.table.get(&this)?.to_string();
        Ok(one_line(&text, ERROR_TEXT_MAX))
    }

    fn drop(&mut self, this: Resource<Error>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl poll::Host for CallGrants {
    async fn poll(&mut self, list: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        self.enter()?;
        self.work(list.len().saturating_mul(POLLABLE_WORK_BYTES))?;
        if list.len() > self.table.max_capacity() {
            return Err(self.handles_hit().into());
        }
        let places: Vec<u32> = list.iter().map(Resource::rep).collect();
        match self.time.instants(&places) {
            Some(instants) => self.poll_with_timers(&places, &instants).await,
            None => poll::Host::poll(&mut self.table, list).await,
        }
    }
}

impl CallGrants {
    /// Waits on a list that holds virtual timers. Whatever is on its way comes first: it
    /// takes no virtual time. When there is nothing but timers, the earliest one is due.
    async fn poll_with_timers(
        &mut self,
        places: &[u32],
        instants: &[Option<u64>],
    ) -> wasmtime::Result<Vec<u32>> {
        let indices = || (0_u32..).zip(places).zip(instants);
        let others: Vec<(u32, u32)> = indices()
            .filter(|(_, instant)| instant.is_none())
            .map(|((index, place), _)| (index, *place))
            .collect();
        if others.is_empty()
            && let Some(earliest) = instants.iter().flatten().min()
        {
            self.time.advance(*earliest);
        }
        let now = self.time.elapsed_ns();
        let mut ready: Vec<u32> = indices()
            .filter(|(_, instant)| instant.is_some_and(|instant| instant <= now))
            .map(|((index, _), _)| index)
            .collect();
        if others.is_empty() {
            return Ok(ready);
        }
        let list = others.iter().map(|(_, place)| Resource::new_borrow(*place));
        let wait = poll::Host::poll(&mut self.table, list.collect());
        let waited = match ready.is_empty() {
            true => Some(wait.await?),
            false => now_or_never(wait).transpose()?,
        };
        let of_list = |at: u32| {
            others
                .get(usize::try_from(at).ok()?)
                .map(|(index, _)| *index)
        };
        ready.extend(waited.into_iter().flatten().filter_map(of_list));
        ready.sort_unstable();
        Ok(ready)
    }
}

/// What a future gives without waiting.
fn now_or_never<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

impl poll::HostPollable for CallGrants {
    async fn ready(&mut self, this: Resource<DynPollable>) -> wasmtime::Result<bool> {
        self.enter()?;
        poll::HostPollable::ready(&mut self.table, this).await
    }

    async fn block(&mut self, this: Resource<DynPollable>) -> wasmtime::Result<()> {
        self.enter()?;
        poll::HostPollable::block(&mut self.table, this).await
    }

    fn drop(&mut self, this: Resource<DynPollable>) -> wasmtime::Result<()> {
        self.time.forget(this.rep());
        poll::HostPollable::drop(&mut self.table, this)
    }
}

impl CallGrants {
    fn enter_stream(&mut self) -> StreamResult<()> {
        self.meter
            .enter()
            .map_err(|hit| StreamError::Trap(hit.into()))
    }

    /// Bytes passed through the stream at `place`: charged, and credited to its effect.
    fn passed(&mut self, place: u32, bytes: u64) -> StreamResult<()> {
        if let Some(slot) = self.streams.get(&place) {
            self.meter.moved(*slot, bytes);
        }
        self.meter
            .work(bytes)
            .map_err(|hit| StreamError::Trap(hit.into()))
    }

    fn subscribed(
        &mut self,
        subscribe: impl FnOnce(&mut ResourceTable) -> wasmtime::Result<Resource<DynPollable>>,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        self.enter()?;
        subscribe(&mut self.table).map_err(|error| self.handles(error))
    }
}

fn size(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

impl streams::Host for CallGrants {
    fn convert_stream_error(
        &mut self,
        error: StreamError,
    ) -> wasmtime::Result<streams::StreamError> {
        streams::Host::convert_stream_error(&mut self.table, error)
            .map_err(|error| self.handles(error))
    }
}

type Input = Resource<DynInputStream>;
type Output = Resource<DynOutputStream>;

impl streams::HostInputStream for CallGrants {
    fn read(&mut self, this: Input, len: u64) -> StreamResult<Vec<u8>> {
        self.enter_stream()?;
        let place = this.rep();
        let bytes = streams::HostInputStream::read(&mut self.table, this, len)?;
        self.passed(place, size(bytes.len()))?;
        Ok(bytes)
    }

    async fn blocking_read(&mut self, this: Input, len: u64) -> StreamResult<Vec<u8>> {
        self.enter_stream()?;
        let place = this.rep();
        let bytes = streams::HostInputStream::blocking_read(&mut self.table, this, len).await?;
        self.passed(place, size(bytes.len()))?;
        Ok(bytes)
    }

    fn skip(&mut self, this: Input, len: u64) -> StreamResult<u64> {
        self.enter_stream()?;
        let place = this.rep();
        let bytes = streams::HostInputStream::skip(&mut self.table, this, len)?;
        self.passed(place, bytes)?;
        Ok(bytes)
    }

    async fn blocking_skip(&mut self, this: Input, len: u64) -> StreamResult<u64> {
        self.enter_stream()?;
        let place = this.rep();
        let bytes = streams::HostInputStream::blocking_skip(&mut self.table, this, len).await?;
        self.passed(place, bytes)?;
        Ok(bytes)
    }

    fn subscribe(&mut self, this: Input) -> wasmtime::Result<Resource<DynPollable>> {
        self.subscribed(|table| streams::HostInputStream::subscribe(table, this))
    }

    async fn drop(&mut self, this: Input) -> wasmtime::Result<()> {
        self.streams.remove(&this.rep());
        streams::HostInputStream::drop(&mut self.table, this).await
    }
}

impl streams::HostOutputStream for CallGrants {
    fn check_write(&mut self, this: Output) -> StreamResult<u64> {
        self.enter_stream()?;
        streams::HostOutputStream::check_write(&mut self.table, this)
    }

    fn write(&mut self, this: Output, bytes: Vec<u8>) -> StreamResult<()> {
        self.enter_stream()?;
        let (place, given) = (this.rep(), size(bytes.len()));
        streams::HostOutputStream::write(&mut self.table, this, bytes)?;
        self.passed(place, given)
    }

    async fn blocking_write_and_flush(&mut self, this: Output, bytes: Vec<u8>) -> StreamResult<()> {
        self.enter_stream()?;
        let (place, given) = (this.rep(), size(bytes.len()));
        streams::HostOutputStream::blocking_write_and_flush(&mut self.table, this, bytes).await?;
        self.passed(place, given)
    }

    fn flush(&mut self, this: Output) -> StreamResult<()> {
        self.enter_stream()?;
        streams::HostOutputStream::flush(&mut self.table, this)
    }

    async fn blocking_flush(&mut self, this: Output) -> StreamResult<()> {
        self.enter_stream()?;
        streams::HostOutputStream::blocking_flush(&mut self.table, this).await
    }

    fn subscribe(&mut self, this: Output) -> wasmtime::Result<Resource<DynPollable>> {
        self.subscribed(|table| streams::HostOutputStream::subscribe(table, this))
    }

    fn write_zeroes(&mut self, this: Output, len: u64) -> StreamResult<()> {
        self.enter_stream()?;
        let place = this.rep();
        streams::HostOutputStream::write_zeroes(&mut self.table, this, len)?;
        self.passed(place, len)
    }

    async fn blocking_write_zeroes_and_flush(
        &mut self,
        this: Output,
        len: u64,
    ) -> StreamResult<()> {
        self.enter_stream()?;
        let place = this.rep();
        streams::HostOutputStream::blocking_write_zeroes_and_flush(&mut self.table, this, len)
            .await?;
        self.passed(place, len)
    }

    fn splice(&mut self, this: Output, from: Input, len: u64) -> StreamResult<u64> {
        self.enter_stream()?;
        let places = (this.rep(), from.rep());
        let bytes = streams::HostOutputStream::splice(&mut self.table, this, from, len)?;
        self.passed(places.0, bytes)?;
        self.passed(places.1, bytes)?;
        Ok(bytes)
    }

    async fn blocking_splice(&mut self, this: Output, from: Input, len: u64) -> StreamResult<u64> {
        self.enter_stream()?;
        let places = (this.rep(), from.rep());
        let table = &mut self.table;
        let bytes = streams::HostOutputStream::blocking_splice(table, this, from, len).await?;
        self.passed(places.0, bytes)?;
        self.passed(places.1, bytes)?;
        Ok(bytes)
    }

    async fn drop(&mut self, this: Output) -> wasmtime::Result<()> {
        self.streams.remove(&this.rep());
        streams::HostOutputStream::drop(&mut self.table, this).await
    }
}
