//! Bytes of a component from a file, never more than the limit, never waiting.
//!
//! Rule (D2): what is not a plain file is refused by what it is ([`crate::plain`]).

use std::io::Read;
use std::path::Path;

use bindery_types::{Budget, ErrorType, Limit, LimitHit, LimitName, Refusal};

use crate::plain::{self, Fault};

/// The bytes of the component file at `path`.
///
/// # Errors
///
/// [`ErrorType::ComponentInvalid`] when there is no readable plain file,
/// [`ErrorType::BudgetExhausted`] when it is larger than limit `component`. The path
/// stands in the operator's text only.
pub fn read_component(path: &Path, budget: &Budget) -> Result<Vec<u8>, Refusal> {
    let at = |refusal: Refusal| {
        let told = refusal.operator().map(|text| format!(": {text}"));
        let told = told.unwrap_or_default();
        refusal.for_operator(format!("{}{told}", path.display()))
    };
    let (file, len) = plain::open(path).map_err(|fault| at(refused(fault)))?;
    let limit = budget.get(LimitName::Component);
    fits(len, limit).map_err(at)?;
    let mut bytes = Vec::new();
    // A file that grows meanwhile is read to one byte past the limit, then refused.
    file.take(limit.or_max().saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| at(not_readable(&error)))?;
    fits(size_of(&bytes), limit).map_err(at)?;
    Ok(bytes)
}

/// The number of bytes, as the types count them.
pub(super) fn size_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// Passes a component of `size` bytes, or refuses it with the limit.
pub(super) fn fits(size: u64, limit: Limit) -> Result<(), Refusal> {
    if limit.allows(size) {
        return Ok(());
    }
    Err(Refusal::from(LimitHit {
        name: LimitName::Component,
        limit,
        used: size,
    }))
}

fn refused(fault: Fault) -> Refusal {
    match fault {
        Fault::System(error) => not_readable(&error),
        Fault::Kind { kind, what } => {
            let message = format!(
                "this is {what}, a component file was expected; name the `.wasm` file itself"
            );
            Refusal::new(ErrorType::ComponentInvalid, message).with("kind", kind)
        }
    }
}

fn not_readable(error: &std::io::Error) -> Refusal {
    let (kind, message) = match error.kind() {
        std::io::ErrorKind::NotFound => (
            "missing",
            "there is no such file, a component file was expected; check the path",
        ),
        std::io::ErrorKind::PermissionDenied => (
            "unreadable",
            "the component file may not be read; check its permissions",
        ),
        _ => (
            "unreadable",
            "the component file cannot be read; check the path and the disk",
        ),
    };
    Refusal::new(ErrorType::ComponentInvalid, message)
        .with("kind", kind)
        .for_operator(error.to_string())
}
