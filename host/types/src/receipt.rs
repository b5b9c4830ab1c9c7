//! The receipt of a call: every figure measured, the fields fixed by a golden file.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::{Budget, Digest, Effect, EffectKind, FunctionName, Limit, LimitName, LimitScope};

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

/// What the calls used that a call made of other components, at every depth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NestedUse {
    /// How many there were that were started.
    pub calls: u64,
    /// Their fuel; it is part of the caller's.
    pub fuel: u64,
    /// Their calls to the host; they are part of the caller's.
    pub host_calls: u64,
    /// Bytes of argument text that they took in.
    pub bytes_in: u64,
    /// Bytes of result text that they gave out.
    pub bytes_out: u64,
    /// Bytes that they sent to the network and received.
    pub egress_bytes: u64,
}

impl NestedUse {
    /// Adds a call, with what it says of its own nested calls.
    pub fn add(&mut self, receipt: &Receipt) {
        let below = receipt.nested.unwrap_or_default();
        let requests = receipt.effects.iter();
        let requests = requests.filter(|effect| effect.kind == EffectKind::Request);
        let egress = requests.fold(0_u64, |sum, effect| sum.saturating_add(effect.bytes));
        let rows = [
            (&mut self.calls, 1, below.calls),
            // Fuel and host calls of a receipt have those of its nested calls in them.
            (&mut self.fuel, receipt.fuel_used, 0),
            (&mut self.host_calls, receipt.host_calls, 0),
            (&mut self.bytes_in, receipt.bytes_in, below.bytes_in),
            (&mut self.bytes_out, receipt.bytes_out, below.bytes_out),
            (&mut self.egress_bytes, egress, below.egress_bytes),
        ];
        for (sum, own, below) in rows {
            *sum = sum.saturating_add(own).saturating_add(below);
        }
    }
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
    /// Of all this, what its calls of other components used; absent when it made none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nested: Option<NestedUse>,
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
    pub limits: LimitsInForce,
}

/// The limits that a call was under. It shares the call's budget: most receipts are dropped
/// without anybody asking for the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitsInForce(Budget);

impl LimitsInForce {
    /// Those of `budget` that are a call's.
    #[must_use]
    pub fn of(budget: &Budget) -> Self {
        Self(budget.clone())
    }

    /// The limit `name`; none when it is no limit of a call.
    #[must_use]
    pub fn get(&self, name: LimitName) -> Option<Limit> {
        (name.scope() == LimitScope::Call).then(|| self.0.get(name))
    }

    /// All of them, in the order of their names.
    #[must_use]
    pub fn by_name(&self) -> BTreeMap<&'static str, Limit> {
        let rows = self.0.values(LimitScope::Call);
        rows.map(|(name, limit)| (name.as_str(), limit)).collect()
    }
}

impl Serialize for LimitsInForce {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.by_name().serialize(serializer)
    }
}
