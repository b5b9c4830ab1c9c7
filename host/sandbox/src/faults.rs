//! Why a call ended without a value: the engine's errors as refusals of the closed set.
//!
//! Rule (H38): matched by type first (ours, then the engine's), text last and only by one
//! table that a test provokes against the pinned engine. The engine's own words go to the
//! operator, never to the caller.

use std::char::{CharTryFromError, DecodeUtf16Error};
use std::str::Utf8Error;

use bindery_grants::Exit;
use bindery_types::{Budget, ErrorType, Limit, LimitHit, LimitName, Refusal};
use wasmtime::component::ResourceTableError;
use wasmtime::{Engine, Error, PoolConcurrencyLimitError, PoolingAllocationConfig, Trap};

use crate::abi::{GuestLie, OutputOverflow, Unfit};
use crate::nested::NestedRefused;
use crate::permits::cancelled;

/// How a call ended without returning.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The guest called `wasi:cli/exit` with this code.
    Exit(u8),
    /// It was refused, stopped or failed.
    Refused(Refusal),
}

/// What is known of a call when it ends, beside the engine's error.
#[derive(Debug)]
pub(crate) struct Circumstances<'a> {
    pub(crate) budget: &'a Budget,
    /// Wall time so far, in milliseconds.
    pub(crate) elapsed_ms: u64,
    /// Whether somebody cancelled it.
    pub(crate) cancelled: bool,
    /// The fuel it used.
    pub(crate) fuel_used: u64,
    /// Growth that the limiter refused.
    pub(crate) refused_growth: Option<LimitHit>,
}

impl Circumstances<'_> {
    fn hit(&self, name: LimitName, used: u64) -> Refusal {
        LimitHit {
            name,
            limit: self.budget.get(name),
            used,
        }
        .into()
    }

    /// The refusal of a call that was interrupted: cancelled, else out of time.
    pub(crate) fn interrupted(&self) -> Refusal {
        match self.cancelled {
            true => cancelled(),
            false => self.hit(LimitName::Deadline, self.elapsed_ms),
        }
    }

    /// The limit is the last number allowed; the first refused is one more.
    fn one_too_many(&self, name: LimitName) -> Refusal {
        self.hit(name, self.budget.get(name).or_max().saturating_add(1))
    }
}

/// What `error` means for the caller.
pub(crate) fn explain(error: &Error, call: &Circumstances<'_>) -> Ended {
    if let Some(exit) = error.downcast_ref::<Exit>() {
        return Ended::Exit(exit.0);
    }
    let refusal = by_our_type(error, call)
        .or_else(|| by_engine_type(error, call))
        .or_else(|| by_system(error))
        .or_else(|| by_text(error, call))
        .unwrap_or_else(unknown);
    if error.is::<NestedRefused>() {
        // What the operator reads of it was written where it was refused.
        return Ended::Refused(refusal);
    }
    Ended::Refused(refusal.for_operator(format!("{error:#}")))
}

/// Whatever the guest can do ends in a trap, an error of ours or a row of [`TEXTS`]. What is
/// none of these is a mistake of the host, and blaming the component would hide it.
fn unknown() -> Refusal {
    let message = "the host failed while running the component";
    Refusal::new(ErrorType::Internal, message)
}

fn by_our_type(error: &Error, call: &Circumstances<'_>) -> Option<Refusal> {
    if let Some(hit) = error.downcast_ref::<LimitHit>() {
        return Some((*hit).into());
    }
    if let Some(NestedRefused(refusal)) = error.downcast_ref::<NestedRefused>() {
        return Some(Refusal::clone(refusal));
    }
    if let Some(overflow) = error.downcast_ref::<OutputOverflow>() {
        let asked = u64::try_from(overflow.asked).unwrap_or(u64::MAX);
        return Some(call.hit(LimitName::Output, asked));
    }
    if let Some(lie) = error.downcast_ref::<GuestLie>() {
        return Some(fault("invalid_value", lie.to_string()));
    }
    error
        .downcast_ref::<Unfit>()
        .map(|unfit| Refusal::new(ErrorType::Internal, unfit.to_string()))
}

fn by_engine_type(error: &Error, call: &Circumstances<'_>) -> Option<Refusal> {
    if error.is::<PoolConcurrencyLimitError>() {
        let message = "too many calls at once: no slot is free for this component";
        return Some(Refusal::new(ErrorType::Busy, message));
    }
    // A char or text that it gave a host function, which the engine reads itself.
    if error.is::<CharTryFromError>() || error.is::<Utf8Error>() || error.is::<DecodeUtf16Error>() {
        return Some(fault("invalid_value", NO_VALUE));
    }
    match error.downcast_ref::<ResourceTableError>() {
        Some(ResourceTableError::Full) => return Some(call.one_too_many(LimitName::Handles)),
        Some(_) => {
            return Some(fault(
                "bad_handle",
                "the component used a handle it does not hold",
            ));
        }
        None => {}
    }
    let trap = error.downcast_ref::<Trap>()?;
    match trap {
        Trap::Interrupt => Some(call.interrupted()),
        Trap::OutOfFuel => Some(call.hit(LimitName::Fuel, call.fuel_used)),
        // H16: named by its cause: the guest was refused memory and could not cope.
        _ if call.refused_growth.is_some() => call.refused_growth.map(Refusal::from),
        _ => {
            let cause = trap_cause(*trap).unwrap_or("trap");
            let text = trap.to_string();
            let text = text.strip_prefix("wasm trap: ").unwrap_or(&text);
            Some(fault(cause, format!("the component trapped: {text}")))
        }
    }
}

/// The stable name of each trap; `None` only for one that a newer engine adds.
fn trap_cause(trap: Trap) -> Option<&'static str> {
    Some(match trap {
        Trap::StackOverflow => "stack_overflow",
        Trap::MemoryOutOfBounds => "memory_out_of_bounds",
        Trap::HeapMisaligned | Trap::UnalignedPointer => "unaligned_pointer",
        Trap::TableOutOfBounds => "table_out_of_bounds",
        Trap::IndirectCallToNull | Trap::NullReference => "null_call",
        Trap::BadSignature => "bad_signature",
        Trap::IntegerOverflow => "integer_overflow",
        Trap::IntegerDivisionByZero => "integer_division_by_zero",
        Trap::BadConversionToInteger => "bad_conversion_to_integer",
        Trap::UnreachableCodeReached => "unreachable",
        Trap::Interrupt => "interrupt",
        Trap::OutOfFuel => "out_of_fuel",
        Trap::CannotEnterComponent => "reentered",
        Trap::CannotLeaveComponent => "call_not_allowed_here",
        Trap::InvalidChar | Trap::InvalidDiscriminant => "invalid_value",
        Trap::StringOutOfBounds | Trap::ListOutOfBounds => "value_out_of_bounds",
        Trap::AllocationTooLarge => "allocation_too_large",
        Trap::UncaughtException => "uncaught_exception",
        Trap::DebugAssertStringEncodingFinished
        | Trap::DebugAssertEqualCodeUnits
        | Trap::DebugAssertPointerAligned
        | Trap::DebugAssertUpperBitsUnset => "string_conversion",
        // Features that are off here (H3); an engine that raises them all the same is
        // named rather than trusted.
        Trap::AtomicWaitNonSharedMemory
        | Trap::ArrayOutOfBounds
        | Trap::CastFailure
        | Trap::NoAsyncResult
        | Trap::UnhandledTag
        | Trap::ContinuationAlreadyConsumed
        | Trap::DisabledOpcode
        | Trap::AsyncDeadlock
        | Trap::CannotBlockSyncTask
        | Trap::TaskCancelNotCancelled
        | Trap::TaskCancelOrReturnTwice
        | Trap::SubtaskCancelAfterTerminal
        | Trap::TaskReturnInvalid
        | Trap::WaitableSetDropHasWaiters
        | Trap::SubtaskDropNotResolved
        | Trap::ThreadNewIndirectInvalidType
        | Trap::ThreadNewIndirectUninitialized
        | Trap::BackpressureOverflow
        | Trap::UnsupportedCallbackCode
        | Trap::CannotResumeThread
        | Trap::ConcurrentFutureStreamOp
        | Trap::ReferenceCountOverflow
        | Trap::StreamOpTooBig
        | Trap::WaitableSyncAndAsync => "feature_off",
        _ => return None,
    })
}

const NO_VALUE: &str = "the component gave the host something that is no value of its type";

/// What a text of the engine means.
enum Meaning {
    /// One more than the limit was asked.
    Count(LimitName),
    /// A handle was misused.
    Handle(&'static str),
    /// What it gave a host function, or its allocator answered, is no value of the type.
    Value,
    /// A text between two components is none in the encoding it came in (X6).
    Text,
}

/// Limits and handle errors that the engine tells in words only: a part of the text and
/// what it means. A test provokes each row.
const TEXTS: &[(&str, Meaning)] = &[
    (
        "instance count too high",
        Meaning::Count(LimitName::Instances),
    ),
    ("memory count too high", Meaning::Count(LimitName::Memories)),
    ("table count too high", Meaning::Count(LimitName::Tables)),
    (
        "store handle limit exceeded",
        Meaning::Count(LimitName::Handles),
    ),
    (
        "fuel allocated for hostcalls has been exhausted",
        Meaning::Count(LimitName::Lift),
    ),
    (
        "unknown handle index",
        Meaning::Handle("the component used a handle it does not hold"),
    ),
    (
        "used with the wrong type",
        Meaning::Handle("the component used a handle as one of another type"),
    ),
    (
        "borrow handles still remain",
        Meaning::Handle("the component kept a borrowed handle beyond its call"),
    ),
    ("pointer/length out of bounds of memory", Meaning::Value),
    ("list pointer is not aligned", Meaning::Value),
    ("unexpected discriminant", Meaning::Value),
    ("realloc return: ", Meaning::Value),
    ("invalid utf8 encoding", Meaning::Text),
    ("invalid utf16 encoding", Meaning::Text),
];

fn by_text(error: &Error, call: &Circumstances<'_>) -> Option<Refusal> {
    let text = format!("{error:#}");
    let row = TEXTS.iter().find(|(part, _)| text.contains(part));
    match row.map(|(_, meaning)| meaning) {
        Some(Meaning::Count(name)) => Some(call.one_too_many(*name)),
        Some(Meaning::Handle(message)) => Some(fault("bad_handle", *message)),
        Some(Meaning::Value) => Some(fault("invalid_value", NO_VALUE)),
        Some(Meaning::Text) => Some(fault(
            "string_conversion",
            "one part of the component gave another a text that is not valid in its encoding",
        )),
        // A memory or table that is too large from the start is refused in words, too.
        None => call.refused_growth.map(Refusal::from),
    }
}

/// What the system refused to the host is no fault of the guest's.
fn by_system(error: &Error) -> Option<Refusal> {
    let short = error.chain().any(|cause| {
        let system = cause.downcast_ref::<std::io::Error>();
        system.is_some_and(|error| error.raw_os_error().is_some())
            || SYSTEM_TEXTS
                .iter()
                .any(|part| cause.to_string().contains(part))
    });
    short.then(|| Refusal::new(ErrorType::Busy, "the host is short of memory for this call"))
}

/// How the engine words what the system refused to it.
const SYSTEM_TEXTS: &[&str] = &["mmap failed", "mprotect failed", "madvise failed"];

/// What the pool says of a component that its slots cannot hold, and which limit that is.
const POOL_TEXTS: &[(&str, LimitName)] = &[
    ("core module instances, which exceeds", LimitName::Instances),
    ("Wasm linear memories, which exceeds", LimitName::Memories),
    ("defined memories count of", LimitName::Memories),
    ("tables, which exceeds", LimitName::Tables),
    ("defined tables count of", LimitName::Tables),
    ("memory has a minimum byte size of", LimitName::Memory),
    ("has a minimum element size of", LimitName::TableElements),
];

/// Why compiled code cannot be loaded into `engine`: it demands more than any call may
/// have here, or it was made for another engine.
pub(crate) fn unloadable(error: &Error, engine: &Engine) -> Refusal {
    let text = format!("{error:#}");
    let row = POOL_TEXTS.iter().find(|(part, _)| text.contains(part));
    let refusal = match (row, engine.get_pooling_config()) {
        (Some((_, name)), Some(pool)) => {
            let limit = pool_limit(pool, *name);
            LimitHit {
                name: *name,
                limit: Limit::Finite(limit),
                used: limit.saturating_add(1),
            }
            .into()
        }
        _ => Refusal::new(
            ErrorType::Internal,
            "the compiled code does not fit the engine",
        ),
    };
    refusal.for_operator(text)
}

fn pool_limit(pool: &PoolingAllocationConfig, name: LimitName) -> u64 {
    let bytes = |value: usize| u64::try_from(value).unwrap_or(u64::MAX);
    match name {
        LimitName::Instances => pool.get_max_core_instances_per_component().into(),
        LimitName::Memories => pool.get_max_memories_per_component().into(),
        LimitName::Tables => pool.get_max_tables_per_component().into(),
        LimitName::TableElements => bytes(pool.get_table_elements()),
        _ => bytes(pool.get_max_memory_size()),
    }
}

/// A fault of the guest, with its machine-readable cause.
pub(crate) fn fault(
    cause: &'static str,
    message: impl Into<std::borrow::Cow<'static, str>>,
) -> Refusal {
    Refusal::new(ErrorType::GuestFault, message).with("cause", cause)
}

#[cfg(test)]
mod tests;
