//! Answers in a call that holds credentials: searched for them before the guest sees a byte.
//!
//! Rule (H50, C9): every answer, whoever sends it, for one server may hand on what another
//! was told. Fields, their names, trailers and the body, across the borders of its frames;
//! the reason of a status never reaches a guest. A mask has the length of what it hides, so
//! lengths that were announced stay true. Compressed text hides whatever is in it, so it is
//! not asked for, and refused where it comes all the same.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bindery_screen::{Ending, Masker, Needles};
use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, HeaderValue, IF_RANGE, RANGE};
use http_body::{Body, Frame, SizeHint};
use wasmtime_wasi_http::Error;

use super::body::ResponseBody;

/// Fields of a request by which it would get its answer compressed or in parts of its own
/// choosing. A server may ignore both, so leaving them out changes no meaning.
pub(super) fn request(fields: &mut HeaderMap) {
    fields.remove(RANGE);
    fields.remove(IF_RANGE);
    fields.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

/// Masks the head of an answer.
///
/// # Errors
///
/// The error for a body in a coding that cannot be searched.
pub(super) fn head(parts: &mut http::response::Parts, needles: &Needles) -> Result<(), Error> {
    let codings = parts.headers.get_all(CONTENT_ENCODING);
    for coding in codings {
        if !coding
            .as_bytes()
            .trim_ascii()
            .eq_ignore_ascii_case(b"identity")
        {
            return Err(Error::HttpResponseContentCoding(None));
        }
    }
    // The reason phrase among them.
    parts.extensions.clear();
    parts.headers = fields(&parts.headers, needles);
    Ok(())
}

fn fields(fields: &HeaderMap, needles: &Needles) -> HeaderMap {
    let mut masked = HeaderMap::with_capacity(fields.len());
    for (name, value) in fields {
        // A name cannot hold a mask; a server that makes one of a secret loses it.
        if needles.finds_in(name.as_str().as_bytes()) {
            continue;
        }
        let value = match needles.masked(value.as_bytes()) {
            None => value.clone(),
            Some(bytes) => HeaderValue::from_bytes(&bytes).unwrap_or(HeaderValue::from_static("*")),
        };
        masked.append(name, value);
    }
    masked
}

/// A body whose secrets are masked as it streams.
pub(super) struct ScrubbedBody {
    inner: ResponseBody,
    needles: Arc<Needles>,
    masker: Masker,
    /// What follows the bytes that were held back to the last.
    next: Option<Option<Result<Frame<Bytes>, Error>>>,
}

impl ScrubbedBody {
    pub(super) fn new(inner: ResponseBody, needles: Arc<Needles>) -> Self {
        Self {
            inner,
            masker: Masker::new(Arc::clone(&needles)),
            needles,
            next: None,
        }
    }

    /// The body's bytes are over: what was held back, if any, then `last`.
    fn end(
        &mut self,
        ending: Ending,
        last: Option<Result<Frame<Bytes>, Error>>,
    ) -> Option<Result<Frame<Bytes>, Error>> {
        let rest = self.masker.finish(ending);
        match rest.is_empty() {
            true => last,
            false => {
                self.next = Some(last);
                Some(Ok(Frame::data(rest.into())))
            }
        }
    }
}

impl Body for ScrubbedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        if let Some(next) = this.next.take() {
            return Poll::Ready(next);
        }
        loop {
            let frame = match std::task::ready!(Pin::new(&mut this.inner).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => {
                    return Poll::Ready(this.end(Ending::Cut, Some(Err(error))));
                }
                None => return Poll::Ready(this.end(Ending::Whole, None)),
            };
            match frame.into_data() {
                Ok(data) => {
                    let passed = this.masker.push(&data);
                    if !passed.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(passed.into()))));
                    }
                }
                Err(frame) => {
                    let trailers = frame.into_trailers().unwrap_or_default();
                    let trailers = Frame::trailers(fields(&trailers, &this.needles));
                    return Poll::Ready(this.end(Ending::Whole, Some(Ok(trailers))));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        // The last bytes may be held back when the inner body has ended.
        false
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use bindery_screen::Secret;

    use super::*;

    fn needles() -> Needles {
        let secret = Secret::new("CANARY-1".to_owned()).unwrap();
        Needles::new([&secret]).unwrap()
    }

    fn parts(pairs: &[(&'static str, &'static str)]) -> http::response::Parts {
        let mut response = http::Response::new(());
        for (name, value) in pairs {
            let fields = response.headers_mut();
            fields.append(*name, HeaderValue::from_static(value));
        }
        response.into_parts().0
    }

    #[test]
    fn values_are_masked_names_are_dropped_and_the_rest_is_left() {
        let mut parts = parts(&[
            ("x-a", "a CANARY-1"),
            ("x-a", "b"),
            ("canary-1", "in a name"),
            ("content-encoding", "Identity"),
        ]);
        let reason = hyper::ext::ReasonPhrase::from_static(b"CANARY-1");
        parts.extensions.insert(reason);
        head(&mut parts, &needles()).unwrap();
        let all: Vec<_> = parts.headers.get_all("x-a").iter().collect();
        assert_eq!(all, ["a ********", "b"], "C9");
        assert_eq!(
            parts.headers.len(),
            3,
            "C9: a field that is named by it is gone"
        );
        assert!(
            parts.extensions.is_empty(),
            "C9: no reason of the status is left"
        );
    }

    #[test]
    fn what_cannot_be_searched_is_refused() {
        for coding in ["gzip", "br", "identity, gzip", "x"] {
            let mut parts = parts(&[("content-encoding", coding)]);
            assert!(head(&mut parts, &needles()).is_err(), "H50 {coding}");
        }
    }
}
