//! Bodies under their limits: streamed, counted, never collected, never decoded.
//!
//! Rule (X36): a body ends at its limit with an error, after the bytes within it; it ends
//! at the time of its request whether the other side sends or not.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bindery_types::LimitName;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use wasmtime_wasi_http::{Error, WasiBody};

use super::fault;
use super::ledger::{Request, Slot};

/// What a guest sends.
pub(super) struct RequestBody {
    inner: WasiBody,
    sent_bytes: u64,
    request: Arc<Request>,
}

impl RequestBody {
    pub(super) fn new(inner: WasiBody, request: Arc<Request>) -> Self {
        Self {
            inner,
            sent_bytes: 0,
            request,
        }
    }
}

fn size(bytes: &Bytes) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        let Poll::Ready(Some(Ok(frame))) = &polled else {
            return polled;
        };
        let sent = self
            .sent_bytes
            .saturating_add(frame.data_ref().map_or(0, size));
        if !self.request.limit(LimitName::HttpRequestBody).allows(sent) {
            let hit = self.request.stop(LimitName::HttpRequestBody, sent);
            return Poll::Ready(Some(Err(fault::of_limit(hit))));
        }
        self.sent_bytes = sent;
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// What a server sends back.
pub(super) struct ResponseBody {
    incoming: Incoming,
    received_bytes: u64,
    request: Arc<Request>,
    started: Instant,
    end: Pin<Box<Sleep>>,
    /// The guest's own patience between two frames, with its timer.
    pause: Option<(Duration, Pin<Box<Sleep>>)>,
    /// The place in flight, given back with the last frame.
    slot: Option<Slot>,
}

impl ResponseBody {
    pub(super) fn new(incoming: Incoming, request: Arc<Request>, slot: Slot) -> Self {
        let now = Instant::now();
        Self {
            incoming,
            received_bytes: 0,
            request,
            started: now,
            end: Box::pin(sleep_until(now)),
            pause: None,
            slot: Some(slot),
        }
    }

    /// The times of the request: when it began, when it must have ended, how long the
    /// guest waits between frames.
    pub(super) fn timed(
        mut self,
        started: Instant,
        until: Instant,
        pause: Option<Duration>,
    ) -> Self {
        self.started = started;
        self.end.as_mut().reset(until);
        self.pause = pause.map(|pause| (pause, Box::pin(sleep(pause))));
        self
    }

    /// The limit `name` ends the body.
    fn end_with(
        &mut self,
        name: LimitName,
        used: u64,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let hit = self.request.stop(name, used);
        self.slot = None;
        Poll::Ready(Some(Err(fault::of_limit(hit))))
    }

    /// Passes one frame on, as far as the limit allows.
    fn take(&mut self, frame: Frame<Bytes>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let Some(data) = frame.data_ref() else {
            return Poll::Ready(Some(Ok(frame)));
        };
        let received = self.received_bytes.saturating_add(size(data));
        let limit = self.request.limit(LimitName::HttpResponseBody);
        if limit.allows(received) {
            self.received_bytes = received;
            return Poll::Ready(Some(Ok(frame)));
        }
        let left = limit.or_max().saturating_sub(self.received_bytes);
        match usize::try_from(left) {
            Ok(left) if left > 0 => {
                self.received_bytes = limit.or_max().saturating_add(1);
                let within = data.get(..left).map(Bytes::copy_from_slice);
                Poll::Ready(Some(Ok(Frame::data(within.unwrap_or_default()))))
            }
            _ => self.end_with(LimitName::HttpResponseBody, received),
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        if this.slot.is_none() {
            return Poll::Ready(None);
        }
        // A frame was cut at the limit: what was beyond it is the end.
        let limit = this.request.limit(LimitName::HttpResponseBody);
        if !limit.allows(this.received_bytes) {
            return this.end_with(LimitName::HttpResponseBody, this.received_bytes);
        }
        if this.end.as_mut().poll(cx).is_ready() {
            let used = u64::try_from(this.started.elapsed().as_millis()).unwrap_or(u64::MAX);
            return this.end_with(LimitName::HttpTime, used);
        }
        match Pin::new(&mut this.incoming).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some((pause, timer)) = &mut this.pause {
                    timer.as_mut().reset(Instant::now() + *pause);
                }
                this.take(frame)
            }
            Poll::Ready(Some(Err(error))) => {
                this.slot = None;
                Poll::Ready(Some(Err(fault::of_protocol(&this.request, &error))))
            }
            Poll::Ready(None) => {
                this.slot = None;
                Poll::Ready(None)
            }
            Poll::Pending => {
                let pause = this.pause.as_mut();
                match pause.map(|(_, timer)| timer.as_mut().poll(cx)) {
                    Some(Poll::Ready(())) => {
                        this.slot = None;
                        Poll::Ready(Some(Err(Error::ConnectionReadTimeout)))
                    }
                    Some(Poll::Pending) | None => Poll::Pending,
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        // Nothing is promised: the body may be cut.
        SizeHint::default()
    }
}
