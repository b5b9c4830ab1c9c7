//! What the validator found wrong, as a refusal that a person can act on.
//!
//! Rule (D2, A9, B7): one sentence; the validator's own words are quoted as what they are
//! and stripped of anything that could imitate this host.

use bindery_types::{ErrorType, Refusal, one_line};

use super::bounds;
use super::features;
use super::flags;

/// The refusal for what the validator says of `bytes`.
pub(super) fn invalid(error: &wasmparser::Error, bytes: &[u8]) -> Refusal {
    if let Some(refusal) = features::refusal(error) {
        return refusal;
    }
    let message = error.message();
    // The two sentences below are the validator's; tests provoke both against the version
    // that is locked.
    if message.ends_with("cannot have more than 32 flags") {
        return flags::refusal(bytes, error.offset());
    }
    if message.ends_with("type nesting is too deep") {
        return too_deep(None);
    }
    let sentence = format!(
        "this component is not valid ({}); build it again with current tools",
        printable(message)
    );
    Refusal::new(ErrorType::ComponentInvalid, sentence)
        .with("kind", "invalid")
        .with("offset", error.offset())
        .for_operator(error.to_string())
}

/// The refusal of a type nested `depth` levels deep, or deeper than the validator counts.
pub(super) fn too_deep(depth: Option<u32>) -> Refusal {
    let max = bounds::TYPE_DEPTH.max;
    let found = depth.map_or_else(|| "more".to_owned(), |depth| depth.to_string());
    let message = format!(
        "this component has a type nested {found} levels deep, at most {max} are accepted; make the type flatter"
    );
    let refusal = Refusal::new(ErrorType::ComponentInvalid, message)
        .with("kind", "type_depth")
        .with("limit", max);
    match depth {
        Some(depth) => refusal.with("found", depth),
        None => refusal,
    }
}

/// Text that a component could have had a hand in: one line, nothing hidden, cut at a
/// character.
pub(super) fn printable(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    one_line(text, CHARS_MAX)
}
