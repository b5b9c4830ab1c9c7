//! The stopwatch of one call: time inside the guest, inside host imports, and neither.
//!
//! Rule: figures of a receipt are measured. The engine reports every crossing, its own
//! library calls included (`memory.grow`, and the ticks at which a call gives way to
//! others): time in those is neither the guest's nor an import's.

use std::time::{Duration, Instant};

/// Where the call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before, between and after guest code.
    Outside,
    /// In guest code.
    Guest,
    /// Called from guest code.
    Host,
}

/// One crossing from the guest into the host that has not returned.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    /// Host calls counted before it; an import counts itself, a library call does not.
    calls: u64,
    /// Time in it so far.
    spent: Duration,
}

/// Splits the wall time of one call.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    started: Instant,
    since: Instant,
    place: Place,
    crossings: Vec<Crossing>,
    guest: Duration,
    host: Duration,
}

/// What a stopwatch showed at the end, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    /// From start to end.
    pub(crate) wall_us: u64,
    /// Inside guest code.
    pub(crate) guest_us: u64,
    /// Inside host imports, waits included.
    pub(crate) host_us: u64,
}

impl Stopwatch {
    /// Starts it.
    pub(crate) fn start() -> Self {
        let now = Instant::now();
        Self {
            started: now,
            since: now,
            place: Place::Outside,
            crossings: Vec::new(),
            guest: Duration::ZERO,
            host: Duration::ZERO,
        }
    }

    /// The host calls guest code.
    pub(crate) fn enter_guest(&mut self) {
        self.lap();
        self.place = Place::Guest;
    }

    /// Guest code returns to the host that called it.
    pub(crate) fn leave_guest(&mut self) {
        self.lap();
        self.place = match self.crossings.is_empty() {
            true => Place::Outside,
            false => Place::Host,
        };
    }

    /// Guest code calls the host, after `calls` host calls; returns how deep it is now.
    pub(crate) fn enter_host(&mut self, calls: u64) -> usize {
        self.lap();
        self.place = Place::Host;
        self.crossings.push(Crossing {
            calls,
            spent: Duration::ZERO,
        });
        self.crossings.len()
    }

    /// The host returns to guest code, after `calls` host calls; returns how deep it was.
    pub(crate) fn leave_host(&mut self, calls: u64) -> usize {
        self.lap();
        let depth = self.crossings.len();
        self.close_crossing(calls);
        self.place = Place::Guest;
        depth
    }

    /// Stops it, wherever the call was left, after `calls` host calls.
    pub(crate) fn stop(mut self, calls: u64) -> Split {
        self.lap();
        while !self.crossings.is_empty() {
            self.close_crossing(calls);
        }
        Split {
            wall_us: micros(self.since.duration_since(self.started)),
            guest_us: micros(self.guest),
            host_us: micros(self.host),
        }
    }

    fn close_crossing(&mut self, calls: u64) {
        if let Some(crossing) = self.crossings.pop()
            && calls > crossing.calls
        {
            self.host += crossing.spent;
        }
    }

    fn lap(&mut self) {
        let now = Instant::now();
        let lap = now.duration_since(self.since);
        self.since = now;
        match self.place {
            Place::Outside => {}
            Place::Guest => self.guest += lap,
            Place::Host => {
                if let Some(crossing) = self.crossings.last_mut() {
                    crossing.spent += lap;
                }
            }
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAP: Duration = Duration::from_millis(3);
    const NAP_US: u64 = 3_000;

    fn nap() {
        std::thread::sleep(NAP);
    }

    #[test]
    fn imports_are_host_time_and_library_calls_are_nobodys() {
        let mut watch = Stopwatch::start();
        watch.enter_guest();
        nap();
        watch.enter_host(0);
        nap();
        watch.leave_host(1);
        watch.enter_host(1);
        nap();
        watch.leave_host(1);
        watch.leave_guest();
        let split = watch.stop(1);
        assert!(split.host_us >= NAP_US && split.guest_us >= NAP_US);
        assert!(split.wall_us - split.host_us - split.guest_us >= NAP_US);
    }

    #[test]
    fn guest_code_called_back_by_an_import_is_guest_time() {
        let mut watch = Stopwatch::start();
        watch.enter_guest();
        assert_eq!(watch.enter_host(0), 1);
        watch.enter_guest();
        nap();
        assert_eq!(watch.enter_host(1), 2);
        assert_eq!(watch.leave_host(1), 2);
        watch.leave_guest();
        assert_eq!(watch.leave_host(1), 1);
        assert!(watch.stop(1).guest_us >= NAP_US);
    }

    #[test]
    fn a_wait_that_is_cut_short_is_the_imports() {
        let mut watch = Stopwatch::start();
        watch.enter_guest();
        watch.enter_host(0);
        nap();
        assert!(watch.stop(1).host_us >= NAP_US);
    }
}
