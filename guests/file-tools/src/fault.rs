//! WASI's error codes as this interface's errors.

use wasip2::filesystem::types::ErrorCode;

use crate::wit::Error;

/// The error of one path.
pub(crate) fn of(code: ErrorCode, path: &str) -> Error {
    match code {
        ErrorCode::NoEntry => Error::NotFound(path.to_owned()),
        ErrorCode::Access | ErrorCode::NotPermitted | ErrorCode::ReadOnly => {
            Error::Denied(path.to_owned())
        }
        ErrorCode::NotDirectory | ErrorCode::IsDirectory | ErrorCode::Loop => {
            Error::WrongKind(path.to_owned())
        }
        other => Error::Other(format!("{path}: {}", other.name())),
    }
}

/// The same in words, for a list of problems.
pub(crate) fn words(code: ErrorCode, path: &str) -> String {
    format!("{path}: {}", code.name())
}
