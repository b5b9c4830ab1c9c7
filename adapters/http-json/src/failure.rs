//! The host's error codes as failures that a caller can act on.

use wasip2::http::types::ErrorCode;

use crate::bindings::exports::bindery::http_json::http::Failure;

/// The failure for what the host or the network said.
pub(crate) fn of_code(code: ErrorCode) -> Failure {
    match code {
        ErrorCode::HttpRequestDenied | ErrorCode::DestinationIpProhibited => Failure::Denied,
        ErrorCode::HttpRequestUriInvalid | ErrorCode::HttpRequestUriTooLong => {
            Failure::BadUrl("the URL is not in its plain form, or too long".to_owned())
        }
        ErrorCode::DnsError(_) | ErrorCode::DestinationNotFound => Failure::UnknownHost,
        ErrorCode::DnsTimeout
        | ErrorCode::ConnectionTimeout
        | ErrorCode::ConnectionReadTimeout
        | ErrorCode::ConnectionWriteTimeout
        | ErrorCode::HttpResponseTimeout => Failure::Timeout,
        ErrorCode::TlsCertificateError => Failure::Tls(
            "the certificate is not for this host, or nobody known vouches for it".to_owned(),
        ),
        ErrorCode::TlsProtocolError | ErrorCode::TlsAlertReceived(_) => {
            Failure::Tls("no TLS connection could be made".to_owned())
        }
        ErrorCode::HttpRequestBodySize(bytes) => Failure::RequestTooLarge(bytes),
        ErrorCode::HttpResponseBodySize(bytes) => Failure::TooLarge(bytes),
        ErrorCode::HttpResponseHeaderSectionSize(bytes) => Failure::TooLarge(bytes.map(u64::from)),
        ErrorCode::ConnectionLimitReached => Failure::Limit("requests in flight".to_owned()),
        ErrorCode::InternalError(Some(text)) => Failure::Limit(text),
        ErrorCode::HttpProtocolError | ErrorCode::HttpUpgradeFailed => {
            Failure::Protocol("the answer is no proper HTTP".to_owned())
        }
        ErrorCode::HttpResponseIncomplete => {
            Failure::Connection("the answer ended before it was complete".to_owned())
        }
        ErrorCode::ConnectionRefused => Failure::Connection("refused".to_owned()),
        other => Failure::Connection(other.to_string()),
    }
}
