//! `wasi:clocks`: virtual time, or the host's when granted.
//!
//! Rule (C-64, R-010): virtual time starts at fixed values, each reading adds 100 µs, and
//! a timer that is awaited moves now to its instant, so nothing sleeps, a loop that waits
//! for a time ends, and two runs see the same. In a list of pollables time stands still
//! while something else of the list is on its way: input and output take no virtual time,
//! so a guest's own time-out cannot fire before an answer that does come. Real time is
//! monotonic in steps of a millisecond (H28) and is an effect.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bindery_types::EffectKind;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi_io::async_trait;
use wasmtime_wasi_io::poll::{DynPollable, Pollable, subscribe};

use crate::call::CallGrants;
use crate::grants::Clock;
use crate::shared::Shared;

/// Virtual wall time begins at 2020-01-01T00:00:00Z.
const WALL_START: Duration = Duration::from_secs(1_577_836_800);
/// Monotonic time begins an hour in, so that a guest may subtract from it.
const MONOTONIC_START_NS: u64 = 3_600_000_000_000;
/// What one reading of virtual time takes.
const READING_NS: u64 = 100_000;
/// The step of real monotonic time.
const STEP_NS: u64 = 1_000_000;

/// The time of one call.
pub(crate) enum Time {
    Virtual {
        /// Nanoseconds since the start, shared with the timers that move it.
        elapsed_ns: Shared<AtomicU64>,
        /// The timers in the guest's hands: place of the pollable → instant.
        timers: HashMap<u32, u64>,
    },
    Real {
        start: Instant,
        wall: Option<Option<usize>>,
        monotonic: Option<Option<usize>>,
    },
}

impl Time {
    pub(crate) fn new(clock: Clock) -> Self {
        match clock {
            Clock::Virtual => Time::Virtual {
                elapsed_ns: Shared::new(),
                timers: HashMap::new(),
            },
            Clock::Real => Time::Real {
                start: Instant::now(),
                wall: None,
                monotonic: None,
            },
        }
    }

    /// A pollable is gone.
    pub(crate) fn forget(&mut self, place: u32) {
        if let Time::Virtual { timers, .. } = self {
            timers.remove(&place);
        }
    }

    /// For a list of pollables under virtual time: the instant of each that is a timer.
    pub(crate) fn instants(&self, places: &[u32]) -> Option<Vec<Option<u64>>> {
        let Time::Virtual { timers, .. } = self else {
            return None;
        };
        let instants: Vec<Option<u64>> = places.iter().map(|at| timers.get(at).copied()).collect();
        instants.iter().any(Option::is_some).then_some(instants)
    }

    /// Virtual nanoseconds since the start, not a reading.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        match self {
            Time::Virtual { elapsed_ns, .. } => {
                let made = elapsed_ns.made();
                made.map_or(0, |elapsed| elapsed.load(Ordering::Relaxed))
            }
            Time::Real { start, .. } => nanoseconds(start.elapsed()),
        }
    }

    /// Moves virtual time forward to `instant_ns`, never back.
    pub(crate) fn advance(&self, instant_ns: u64) {
        if let Time::Virtual { elapsed_ns, .. } = self {
            let elapsed = elapsed_ns.get(AtomicU64::default);
            elapsed.fetch_max(instant_ns, Ordering::Relaxed);
        }
    }

    fn read_virtual(elapsed_ns: &Shared<AtomicU64>) -> u64 {
        let elapsed_ns = elapsed_ns.get(AtomicU64::default);
        let now = elapsed_ns.load(Ordering::Relaxed);
        elapsed_ns.store(now.saturating_add(READING_NS), Ordering::Relaxed);
        now
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn datetime(since_epoch: Duration) -> wall_clock::Datetime {
    wall_clock::Datetime {
        seconds: since_epoch.as_secs(),
        nanoseconds: since_epoch.subsec_nanos(),
    }
}

impl CallGrants {
    /// The one effect that stands for all readings of the real monotonic clock.
    fn note_monotonic(&mut self) {
        if let Time::Real { monotonic, .. } = &mut self.time {
            let meter = &mut self.meter;
            monotonic.get_or_insert_with(|| meter.note(EffectKind::Clock, "monotonic", 0));
        }
    }

    /// The same for the wall clock.
    fn note_wall(&mut self) {
        if let Time::Real { wall, .. } = &mut self.time {
            let meter = &mut self.meter;
            wall.get_or_insert_with(|| meter.note(EffectKind::Clock, "wall", 0));
        }
    }

    /// A timer for `instant_ns` after the start of the call.
    fn timer(&mut self, instant_ns: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let timer = match &self.time {
            Time::Virtual { elapsed_ns, .. } => Timer::Virtual {
                elapsed_ns: Arc::clone(elapsed_ns.get(AtomicU64::default)),
                instant_ns,
            },
            Time::Real { start, .. } => Timer::Real(
                start
                    .checked_add(Duration::from_nanos(instant_ns))
                    .map(tokio::time::Instant::from_std),
            ),
        };
        let timer = self.table.push(timer);
        let pollable = timer
            .map_err(wasmtime::Error::from)
            .and_then(|timer| subscribe(&mut self.table, timer))
            .map_err(|error| self.handles(error))?;
        if let Time::Virtual { timers, .. } = &mut self.time {
            timers.insert(pollable.rep(), instant_ns);
        }
        Ok(pollable)
    }
}

impl wall_clock::Host for CallGrants {
    fn now(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        self.enter()?;
        self.note_wall();
        Ok(datetime(match &self.time {
            Time::Virtual { elapsed_ns, .. } => {
                WALL_START.saturating_add(Duration::from_nanos(Time::read_virtual(elapsed_ns)))
            }
            Time::Real { .. } => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default(),
        }))
    }

    fn resolution(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        self.enter()?;
        Ok(datetime(Duration::from_nanos(match &self.time {
            Time::Virtual { .. } => READING_NS,
            Time::Real { .. } => STEP_NS,
        })))
    }
}

impl monotonic_clock::Host for CallGrants {
    fn now(&mut self) -> wasmtime::Result<u64> {
        self.enter()?;
        self.note_monotonic();
        let elapsed_ns = match &self.time {
            Time::Virtual { elapsed_ns, .. } => Time::read_virtual(elapsed_ns),
            Time::Real { start, .. } => {
                let exact = nanoseconds(start.elapsed());
                exact - exact % STEP_NS
            }
        };
        Ok(MONOTONIC_START_NS.saturating_add(elapsed_ns))
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        self.enter()?;
        Ok(match &self.time {
            Time::Virtual { .. } => READING_NS,
            Time::Real { .. } => STEP_NS,
        })
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.enter()?;
        self.note_monotonic();
        self.timer(when.saturating_sub(MONOTONIC_START_NS))
    }

    fn subscribe_duration(&mut self, duration: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.enter()?;
        self.note_monotonic();
        self.timer(self.time.elapsed_ns().saturating_add(duration))
    }
}

enum Timer {
    Virtual {
        elapsed_ns: Arc<AtomicU64>,
        instant_ns: u64,
    },
    /// `None` is an instant that the host cannot name: it never comes, the deadline does.
    Real(Option<tokio::time::Instant>),
}

#[async_trait]
impl Pollable for Timer {
    async fn ready(&mut self) {
        match self {
            Timer::Virtual {
                elapsed_ns,
                instant_ns,
            } => {
                elapsed_ns.fetch_max(*instant_ns, Ordering::Relaxed);
            }
            Timer::Real(Some(instant)) if *instant <= tokio::time::Instant::now() => {
                // A guest that polls a past instant in a loop must not keep the runtime
                // from the sockets it is waiting for.
                tokio::task::yield_now().await;
            }
            Timer::Real(Some(instant)) => tokio::time::sleep_until(*instant).await,
            Timer::Real(None) => std::future::pending().await,
        }
    }
}
