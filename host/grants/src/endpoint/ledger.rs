//! What the requests of one call used and came to, shared with the tasks that carry them.
//!
//! Rule (U5, I37): every limit that stops a request is remembered by name, value and use;
//! every byte that crosses a socket is counted before the guest can see it; once the call
//! is settled no socket of it moves another byte.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bindery_types::{Budget, Limit, LimitHit, LimitName};

use super::decide::Denial;

/// Denials kept of one call; later ones are only counted.
const DENIALS_KEPT_MAX: usize = 32;

/// The limits of a call's requests and what was used of them.
#[derive(Debug)]
pub(super) struct Ledger {
    budget: Budget,
    account: Mutex<Account>,
}

/// Guarded by one lock, which is held over single system calls that do not wait.
#[derive(Debug, Default)]
struct Account {
    egress_bytes: u64,
    in_flight: u64,
    hits: Vec<LimitHit>,
    denials: Vec<Denial>,
    denials_dropped: u64,
    settled: bool,
}

/// What the operator is told about the requests of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointReport {
    /// Requests that policy refused, the first ones.
    pub denials: Vec<Denial>,
    /// How many more there were.
    pub denials_dropped: u64,
    /// Limits that stopped a request, each once.
    pub hits: Vec<LimitHit>,
}

impl Ledger {
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            budget: budget.clone(),
            account: Mutex::default(),
        }
    }

    pub(super) fn limit(&self, name: LimitName) -> Limit {
        self.budget.get(name)
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        // Every change is complete when the lock is released, so a poisoned one is sound.
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the call: what is open moves no further byte.
    pub(super) fn settle(&self) -> EndpointReport {
        let mut account = self.account();
        account.settled = true;
        EndpointReport {
            denials: std::mem::take(&mut account.denials),
            denials_dropped: account.denials_dropped,
            hits: std::mem::take(&mut account.hits),
        }
    }
}

/// One request: what it moved, whether it was refused, which limit stopped it.
#[derive(Debug)]
pub(super) struct Request {
    ledger: Arc<Ledger>,
    bytes: AtomicU64,
    refused: AtomicBool,
    stopped: Mutex<Option<LimitHit>>,
}

/// How much may cross a socket now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// At most this many bytes, and some.
    Open(usize),
    /// None: the limit is used up.
    Spent,
    /// None: the call has ended.
    Settled,
}

impl Request {
    pub(super) fn new(ledger: &Arc<Ledger>) -> Arc<Self> {
        Arc::new(Self {
            ledger: Arc::clone(ledger),
            bytes: AtomicU64::new(0),
            refused: AtomicBool::new(false),
            stopped: Mutex::new(None),
        })
    }

    /// The limit `name` of the call.
    pub(super) fn limit(&self, name: LimitName) -> Limit {
        self.ledger.limit(name)
    }

    /// Bytes it has moved over its socket, both ways.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether it never left the host.
    pub(super) fn is_refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }

    /// Policy refuses it.
    pub(super) fn refuse(&self, denial: Denial) {
        self.refused.store(true, Ordering::Relaxed);
        let mut account = self.ledger.account();
        match account.denials.len() < DENIALS_KEPT_MAX {
            true => account.denials.push(denial),
            false => account.denials_dropped = account.denials_dropped.saturating_add(1),
        }
    }

    /// It never left the host, for another reason than policy.
    pub(super) fn withhold(&self) {
        self.refused.store(true, Ordering::Relaxed);
    }

    /// The limit `name` stops it at `used`.
    pub(super) fn stop(&self, name: LimitName, used: u64) -> LimitHit {
        let limit = self.limit(name);
        let hit = LimitHit { name, limit, used };
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = Some(hit);
        let mut account = self.ledger.account();
        if !account.hits.iter().any(|known| known.name == name) {
            account.hits.push(hit);
        }
        hit
    }

    /// The limit that stopped it, if one did.
    pub(super) fn stopped(&self) -> Option<LimitHit> {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves bytes over the socket: `step` is told how many may pass and says how many
    /// did. It must not wait: the account is locked meanwhile.
    pub(super) fn pass<R>(&self, step: impl FnOnce(Passage) -> (usize, R)) -> R {
        let mut account = self.ledger.account();
        let limit = self.limit(LimitName::EgressBytes).or_max();
        let passage = match usize::try_from(limit.saturating_sub(account.egress_bytes)) {
            _ if account.settled => Passage::Settled,
            Ok(0) => Passage::Spent,
            Ok(left) => Passage::Open(left),
            Err(_) => Passage::Open(usize::MAX),
        };
        let (moved, result) = step(passage);
        let moved = u64::try_from(moved).unwrap_or(u64::MAX);
        account.egress_bytes = account.egress_bytes.saturating_add(moved);
        self.bytes.fetch_add(moved, Ordering::Relaxed);
        result
    }

    /// One more request in flight, until the slot is dropped.
    pub(super) fn take_off(self: &Arc<Self>) -> Result<Slot, LimitHit> {
        let mut account = self.ledger.account();
        let used = account.in_flight.saturating_add(1);
        if !self.limit(LimitName::HttpInFlight).allows(used) {
            drop(account);
            return Err(self.stop(LimitName::HttpInFlight, used));
        }
        account.in_flight = used;
        Ok(Slot(Arc::clone(&self.ledger)))
    }
}

/// A place among the requests in flight.
#[derive(Debug)]
pub(super) struct Slot(Arc<Ledger>);

impl Drop for Slot {
    fn drop(&mut self) {
        let mut account = self.0.account();
        account.in_flight = account.in_flight.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(name: LimitName, limit: u64) -> Arc<Request> {
        let budget = Budget::default().with(name, limit).unwrap();
        Request::new(&Arc::new(Ledger::new(&budget)))
    }

    #[test]
    fn the_last_request_in_flight_takes_off_and_the_next_names_the_limit() {
        let request = request(LimitName::HttpInFlight, 1);
        let slot = request.take_off().unwrap();
        let hit = request.take_off().unwrap_err();
        assert_eq!((hit.name, hit.used), (LimitName::HttpInFlight, 2), "U5");
        drop(slot);
        assert!(request.take_off().is_ok());
        assert_eq!(request.ledger.settle().hits, [hit]);
    }

    #[test]
    fn bytes_pass_up_to_the_limit_and_none_after_the_call() {
        let request = request(LimitName::EgressBytes, 10);
        assert_eq!(request.pass(|open| (8, open)), Passage::Open(10));
        assert_eq!(request.pass(|open| (2, open)), Passage::Open(2));
        assert_eq!(request.pass(|open| (0, open)), Passage::Spent);
        request.ledger.settle();
        assert_eq!(request.pass(|open| (0, open)), Passage::Settled, "I37");
        assert_eq!(request.bytes(), 10);
    }

    #[test]
    fn denials_are_kept_to_a_bound_and_then_counted() {
        let request = request(LimitName::HttpInFlight, 1);
        for number in 0..40 {
            request.refuse(Denial {
                asked: number.to_string(),
                rule: String::new(),
                allow: None,
            });
        }
        let report = request.ledger.settle();
        assert_eq!((report.denials.len(), report.denials_dropped), (32, 8));
    }
}
