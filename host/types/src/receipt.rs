//! The receipt of a call: every figure measured, the fields fixed by a golden file.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Digest, Effect, FunctionName, Limit};

/// Text a guest gave to a stream, cut at its limit on a character boundary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Captured {
    /// The first part; control characters are neutralised, bytes that are not UTF-8 are
    /// shown as `\xNN`.
    pub text: String,
    /// Whether anything is missing.
    pub truncated: bool,
    /// How many bytes are missing.
    pub dropped_bytes: u64,
}

/// What one call used and did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Receipt {
    /// SHA-256 of the component's bytes.
    pub component_digest: Digest,
    /// The function, by its full name.
    pub function: FunctionName,
    /// Fuel used: the guest's computation and the host's work for it.
    pub fuel_used: u64,
    /// The fuel allowed.
    pub fuel_limit: Limit,
    /// Wall time from start to end, in microseconds.
    pub wall_us: u64,
    /// Of it, time inside guest code.
    pub guest_us: u64,
    /// Of it, time inside host imports, waits included.
    pub host_us: u64,
    /// Highest sum of all linear memories.
    pub memory_peak_bytes: u64,
    /// Bytes of argument text taken in.
    pub bytes_in: u64,
    /// Bytes of result text given out.
    pub bytes_out: u64,
    /// Calls from the guest to the host.
    pub host_calls: u64,
    /// Compilations this call had to wait for: 0 when the store had the code.
    pub compiles: u64,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
    /// The log of the call.
    pub log: Captured,
    /// What was touched, in order.
    pub effects: Vec<Effect>,
    /// Effects counted but not kept.
    pub effects_dropped: u64,
    /// Limits that the guest met and went on from: memory it was refused, a quota.
    pub limits_hit: Vec<&'static str>,
    /// Exit code of the command line for this outcome.
    pub exit_code: u8,
    /// The limits in force.
    pub limits: BTreeMap<&'static str, Limit>,
}
