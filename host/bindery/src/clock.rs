//! Time and randomness of the host, as values for the pure crates below.
//!
//! Rule (I10): time never goes back here, whatever the system's clock does.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bindery_ledger::HighWater;
use bindery_types::{ErrorType, Moment, Refusal};

/// The host's clock; `now` is the latest time that was ever seen.
#[derive(Debug)]
pub(crate) struct HostClock {
    seen: HighWater,
    read: fn() -> Moment,
}

impl HostClock {
    pub(crate) fn new(start: Moment, read: fn() -> Moment) -> Self {
        Self {
            seen: HighWater::from(start),
            read,
        }
    }

    /// The system's, never before what `journal` has seen.
    pub(crate) fn system(journal: &dyn bindery_ledger::Journal) -> Self {
        let mut latest = Moment::default();
        journal.look(&mut |state| latest = state.now());
        Self::new(latest, system)
    }

    pub(crate) fn now(&self) -> Moment {
        self.seen.see((self.read)())
    }
}

/// The system's time, which goes on by itself when its clock is set back: otherwise a lease
/// of a minute would live as long as the step.
pub(crate) fn system() -> Moment {
    static BEGUN: OnceLock<(Instant, Duration)> = OnceLock::new();
    let wall = || {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.unwrap_or_default()
    };
    let (begun, at) = BEGUN.get_or_init(|| (Instant::now(), wall()));
    let now = wall().max(*at + begun.elapsed());
    Moment::from_unix_ms(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

/// 128 random bits from the system.
///
/// # Errors
///
/// `environment_unavailable` when the system has none; nothing is made without (I3).
pub(crate) fn random() -> Result<[u8; 16], Refusal> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).map_err(|error| {
        Refusal::new(
            ErrorType::EnvironmentUnavailable,
            "the host has no randomness",
        )
        .for_operator(error.to_string())
    })?;
    Ok(bits)
}
