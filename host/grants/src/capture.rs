//! Standard output, standard error and log kept up to a limit, the rest counted.
//!
//! Rule (B3, B4, H29, R-008): the host keeps at most the limit whatever a guest writes,
//! the guest goes on, and what is shown is cut between characters and neutralised.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bindery_types::{Captured, Limit};
use bytes::Bytes;
use wasmtime_wasi_io::async_trait;
use wasmtime_wasi_io::poll::Pollable;
use wasmtime_wasi_io::streams::{OutputStream, StreamResult};

use crate::shared::Shared;
use crate::text::{push_byte, push_shown};

/// Bytes kept in order, and how many came in all.
#[derive(Debug)]
pub(crate) struct Capture {
    limit: Limit,
    kept: Vec<u8>,
    total: u64,
}

impl Capture {
    pub(crate) fn new(limit: Limit) -> Self {
        Self {
            limit,
            kept: Vec::new(),
            total: 0,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = self.limit.or_max_usize().saturating_sub(self.kept.len());
        self.kept.extend(bytes.iter().take(room));
        let more = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.total = self.total.saturating_add(more);
    }

    /// The text as it may be shown, within the limit too: escapes are longer than what
    /// they stand for, so they can push the last bytes out.
    pub(crate) fn shown(&self) -> Captured {
        let mut text = String::new();
        let mut consumed = 0_u64;
        'all: for chunk in self.kept.utf8_chunks() {
            for c in chunk.valid().chars() {
                if !self.fits(&mut text, |out| push_shown(out, c)) {
                    break 'all;
                }
                consumed += u64::try_from(c.len_utf8()).unwrap_or(4);
            }
            if self.is_cut(chunk.invalid()) {
                break;
            }
            for byte in chunk.invalid() {
                if !self.fits(&mut text, |out| push_byte(out, u32::from(*byte))) {
                    break 'all;
                }
                consumed += 1;
            }
        }
        let dropped_bytes = self.total.saturating_sub(consumed);
        Captured {
            text,
            truncated: dropped_bytes > 0,
            dropped_bytes,
        }
    }

    fn fits(&self, text: &mut String, push: impl FnOnce(&mut String)) -> bool {
        let mark = text.len();
        push(text);
        let fits = text.len() <= self.limit.or_max_usize();
        if !fits {
            text.truncate(mark);
        }
        fits
    }

    /// Whether these are the first bytes of a character that the limit cut.
    fn is_cut(&self, tail: &[u8]) -> bool {
        let all_kept = u64::try_from(self.kept.len()).is_ok_and(|kept| kept == self.total);
        let begun = std::str::from_utf8(tail).is_err_and(|error| error.error_len().is_none());
        !all_kept && begun && self.kept.ends_with(tail)
    }
}

/// A capture that streams in the guest's hands write to.
#[derive(Debug)]
pub(crate) struct SharedCapture {
    limit: Limit,
    /// The lock guards the bytes: the guest can open the same stream many times.
    capture: Shared<Mutex<Capture>>,
}

impl SharedCapture {
    pub(crate) fn new(limit: Limit) -> Self {
        Self {
            limit,
            capture: Shared::new(),
        }
    }

    pub(crate) fn shown(&self) -> Captured {
        let capture = self.capture.made();
        capture.map_or_else(Captured::default, |capture| lock(capture).shown())
    }

    /// A stream into it.
    pub(crate) fn stream(&self) -> Box<dyn OutputStream> {
        let capture = self.capture.get(|| Mutex::new(Capture::new(self.limit)));
        Box::new(CaptureStream(Arc::clone(capture)))
    }
}

fn lock(capture: &Mutex<Capture>) -> MutexGuard<'_, Capture> {
    capture.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes a guest may give in one go; the host copies them once.
const PERMIT_BYTES: usize = 64 << 10;

struct CaptureStream(Arc<Mutex<Capture>>);

#[async_trait]
impl Pollable for CaptureStream {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for CaptureStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        lock(&self.0).push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(limit: u64, parts: &[&[u8]]) -> Captured {
        let mut capture = Capture::new(Limit::Finite(limit));
        parts.iter().for_each(|part| capture.push(part));
        assert!(u64::try_from(capture.kept.len()).unwrap() <= limit, "B3");
        capture.shown()
    }

    #[test]
    fn text_that_fits_exactly_is_whole_and_one_byte_more_is_counted() {
        let whole = shown(4, &[b"ab", b"cd"]);
        assert_eq!(
            whole,
            Captured {
                text: "abcd".into(),
                truncated: false,
                dropped_bytes: 0
            }
        );
        let cut = shown(4, &[b"ab", b"cde"]);
        assert_eq!(
            cut,
            Captured {
                text: "abcd".into(),
                truncated: true,
                dropped_bytes: 1
            }
        );
        let none = shown(0, &[b"abc"]);
        assert_eq!(
            none,
            Captured {
                text: String::new(),
                truncated: true,
                dropped_bytes: 3
            }
        );
    }

    #[test]
    fn a_character_that_the_limit_cuts_is_dropped_whole() {
        for fitting in 0..4 {
            let cut = shown(7 + fitting, &[b"1234567", "😀".as_bytes()]);
            assert_eq!(cut.text, "1234567", "B4");
            assert_eq!((cut.truncated, cut.dropped_bytes), (true, 4), "B4");
        }
        assert_eq!(shown(11, &[b"1234567", "😀".as_bytes()]).text, "1234567😀");
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_bytes() {
        let odd = shown(64, &[b"a\xff\xf0\x9f", b"b"]);
        assert_eq!(odd.text, "a\\xff\\xf0\\x9fb", "B4");
        assert!(!odd.truncated);
        let ended_early = shown(64, &[b"a\xf0\x9f"]);
        assert_eq!(
            ended_early.text, "a\\xf0\\x9f",
            "the guest stopped there, we did not cut"
        );
    }

    #[test]
    fn escapes_stay_within_the_limit_too() {
        let escapes = shown(6, &[b"\x1b\x1b"]);
        assert_eq!(escapes.text, "\\x1b", "H29");
        assert_eq!((escapes.truncated, escapes.dropped_bytes), (true, 1));
    }

    #[test]
    fn a_line_that_reads_like_a_protocol_message_stays_text_of_the_capture() {
        let line = b"{\"jsonrpc\":\"2.0\",\"id\":1}\n";
        assert_eq!(shown(64, &[line]).text.as_bytes(), line, "X18");
    }
}
