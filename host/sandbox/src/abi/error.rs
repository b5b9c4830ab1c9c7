//! What can go wrong between tape, memory and JSON: three causes with three culprits.
//!
//! Rule (H38): matched by type, never by text, so each error here is found again by
//! `downcast_ref` in what the engine returns.

/// The guest returned something outside its type (A7, X21): its fault, and its instance
/// is thrown away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GuestLie {
    /// No case has this number.
    #[error("the component returned case {found} of a {kind} that has {cases}")]
    Discriminant {
        /// `variant`, `enum`, `option` or `result`
        kind: &'static str,
        /// the number found
        found: u32,
        /// how many cases there are
        cases: usize,
    },
    /// A surrogate, or beyond the last scalar.
    #[error("the component returned 0x{found:x} as a char, which is no unicode scalar value")]
    Char {
        /// the number found
        found: u32,
    },
    /// Bytes that are no text in the component's encoding.
    #[error("the component returned a string that is not valid {encoding}")]
    Text {
        /// `utf-8` or `utf-16`
        encoding: &'static str,
    },
    /// Memory that is not there.
    #[error(
        "the component returned a {kind} at {pointer} of {bytes} bytes, outside its memory of {memory}"
    )]
    Pointer {
        /// `string`, `list` or `result`
        kind: &'static str,
        /// first byte
        pointer: u32,
        /// bytes claimed
        bytes: u64,
        /// bytes there are
        memory: usize,
    },
    /// A pointer that its type does not allow.
    #[error("the component returned a {kind} at {pointer}, which is not a multiple of {align}")]
    Misaligned {
        /// `string`, `list` or `result`
        kind: &'static str,
        /// first byte
        pointer: u32,
        /// what it must be a multiple of
        align: u32,
    },
    /// Its `realloc` answered with memory that is not there or not aligned (X6).
    #[error("the component's allocator answered with memory that is misaligned or outside")]
    Allocation,
}

/// The JSON text of the result would be longer than the hostcall fuel allows. The store's
/// owner knows which limit that was and makes a `LimitHit` of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the result needs at least {asked} bytes of JSON, which is over the limit")]
pub(crate) struct OutputOverflow {
    /// Bytes the text would have had at least when it was stopped.
    pub(crate) asked: usize,
}

/// Tape and type, or type and host, do not belong together: a mistake of the host, which
/// ends this call and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the host's view of this function does not fit the component: {what}")]
pub(crate) struct Unfit {
    /// What does not fit.
    pub(crate) what: &'static str,
}

/// [`Unfit`] as a value of the engine's error type, for `ok_or_else`.
pub(super) fn unfit(what: &'static str) -> wasmtime::Error {
    Unfit { what }.into()
}

/// The engine tells a bad answer of the guest's `realloc` in words only.
pub(super) fn allocation(error: wasmtime::Error) -> wasmtime::Error {
    match error.to_string().starts_with("realloc return: ") {
        true => GuestLie::Allocation.into(),
        false => error,
    }
}
