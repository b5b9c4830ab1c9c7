//! What a guest is told when a request fails: one WASI error per cause.
//!
//! Rule (U1, U5): the guest gets the standard code and nothing of the host; the limit that
//! stopped a request comes before whatever the protocol made of it.

use std::error::Error as _;
use std::io;

use bindery_types::{LimitHit, LimitName};
use wasmtime_wasi_http::Error;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

use super::ledger::Request;

/// The error for a limit that stopped a request.
pub(super) fn of_limit(hit: LimitHit) -> Error {
    let limit = hit.limit.or_max();
    match hit.name {
        LimitName::HttpRequestBody => Error::HttpRequestBodySize(Some(limit)),
        LimitName::HttpResponseBody => Error::HttpResponseBodySize(Some(limit)),
        LimitName::HttpUrl => Error::HttpRequestUriTooLong,
        LimitName::HttpHead => Error::HttpResponseHeaderSectionSize(u32::try_from(limit).ok()),
        // WASI knows a head that is too large in bytes only.
        LimitName::HttpHeadFields => Error::HttpResponseHeaderSectionSize(None),
        LimitName::HttpTime => Error::HttpResponseTimeout,
        LimitName::HttpInFlight => Error::ConnectionLimitReached,
        // WASI has no code for the sum of all traffic; the text names the limit.
        _ => Error::InternalError(Some(hit.to_string())),
    }
}

/// The error for what went wrong in the protocol of `request`.
pub(super) fn of_protocol(request: &Request, error: &hyper::Error) -> Error {
    if let Some(hit) = request.stopped() {
        of_limit(hit)
    } else if error.is_parse_too_large() {
        let limit = request.limit(LimitName::HttpHead).or_max();
        of_limit(request.stop(LimitName::HttpHead, limit.saturating_add(1)))
    } else if error.is_incomplete_message() || ends_early(error) {
        Error::HttpResponseIncomplete
    } else if error.is_parse() || error.is_user() {
        Error::HttpProtocolError
    } else {
        Error::ConnectionTerminated
    }
}

/// Whether a body stopped short of the length that was promised.
fn ends_early(error: &hyper::Error) -> bool {
    let cause = error
        .source()
        .and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::UnexpectedEof)
}

/// The error for a TLS handshake that failed.
pub(super) fn of_tls(request: &Request, error: &io::Error) -> Error {
    if let Some(hit) = request.stopped() {
        return of_limit(hit);
    }
    let cause = error
        .get_ref()
        .and_then(|cause| cause.downcast_ref::<rustls::Error>());
    match cause {
        Some(rustls::Error::InvalidCertificate(_)) => Error::TlsCertificateError,
        Some(rustls::Error::AlertReceived(alert)) => Error::TlsAlertReceived {
            alert_id: Some(u8::from(*alert)),
            alert_message: None,
        },
        _ => Error::TlsProtocolError,
    }
}

/// The code of an error that a body stream ended with, for `http-error-code`.
pub(super) fn code_of_body(error: &Error) -> Option<ErrorCode> {
    match error {
        Error::HttpResponseBodySize(size) => Some(ErrorCode::HttpResponseBodySize(*size)),
        Error::HttpResponseTimeout => Some(ErrorCode::HttpResponseTimeout),
        Error::HttpResponseIncomplete => Some(ErrorCode::HttpResponseIncomplete),
        Error::HttpProtocolError => Some(ErrorCode::HttpProtocolError),
        Error::ConnectionReadTimeout => Some(ErrorCode::ConnectionReadTimeout),
        Error::ConnectionTerminated => Some(ErrorCode::ConnectionTerminated),
        Error::InternalError(text) => Some(ErrorCode::InternalError(text.clone())),
        _ => None,
    }
}
