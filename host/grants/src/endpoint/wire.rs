//! A socket that counts: nothing crosses it past the call's limit or after its end.
//!
//! Rule: limit `egress_bytes` counts what the network sees, TLS and heads included, so
//! the figure in the receipt is the figure seen from outside (I37).

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bindery_types::LimitName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::ledger::{Passage, Request};

const READ_BYTES: usize = 16 << 10;

/// A connection whose bytes are charged to one request.
pub(super) struct Wire {
    socket: TcpStream,
    request: Arc<Request>,
    buffer: Box<[u8]>,
}

impl Wire {
    pub(super) fn new(socket: TcpStream, request: Arc<Request>) -> Self {
        Self {
            socket,
            request,
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
        }
    }

    /// The error for bytes that may not pass.
    fn closed(&self, passage: Passage) -> io::Error {
        match passage {
            Passage::Spent | Passage::Open(_) => {
                let used = self.request.limit(LimitName::EgressBytes).or_max();
                let hit = self
                    .request
                    .stop(LimitName::EgressBytes, used.saturating_add(1));
                io::Error::other(hit)
            }
            Passage::Settled => io::Error::other("the call has ended"),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let (passage, read) = this.request.pass(|passage| {
            let room = match passage {
                Passage::Open(left) => left.min(out.remaining()).min(READ_BYTES),
                // Whether the server has said all is seen by asking for one byte more.
                Passage::Spent => out.remaining().min(1),
                Passage::Settled => 0,
            };
            let mut part = ReadBuf::new(this.buffer.get_mut(..room).unwrap_or_default());
            let read = match passage {
                Passage::Settled => Poll::Ready(Ok(())),
                Passage::Open(_) | Passage::Spent => {
                    Pin::new(&mut this.socket).poll_read(cx, &mut part)
                }
            };
            let moved = part.filled().len();
            (moved, (passage, read.map_ok(|()| moved)))
        });
        let moved = ready!(read)?;
        match passage {
            Passage::Open(_) => {
                out.put_slice(this.buffer.get(..moved).unwrap_or_default());
                Poll::Ready(Ok(()))
            }
            Passage::Spent if moved == 0 => Poll::Ready(Ok(())),
            Passage::Spent | Passage::Settled => Poll::Ready(Err(this.closed(passage))),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let (passage, written) = this.request.pass(|passage| match passage {
            Passage::Open(left) => {
                let part = bytes.get(..left.min(bytes.len())).unwrap_or_default();
                let written = Pin::new(&mut this.socket).poll_write(cx, part);
                let moved = match &written {
                    Poll::Ready(Ok(moved)) => *moved,
                    Poll::Ready(Err(_)) | Poll::Pending => 0,
                };
                (moved, (passage, written))
            }
            Passage::Spent | Passage::Settled => (0, (passage, Poll::Ready(Ok(0)))),
        });
        match passage {
            Passage::Open(_) => written,
            Passage::Spent | Passage::Settled => Poll::Ready(Err(this.closed(passage))),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
