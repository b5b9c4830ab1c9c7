//! Budgets: reserved before a call starts, charged when it ends, exact in between.
//!
//! Rule (I22, H45, case G4): a root call draws from the totals of its session, its
//! principal and the environment; a child draws from its parent's share; every call draws
//! from the rates. What is asked is compared and taken in one step, so N calls are
//! admitted where N are allowed, in every order of arrivals.

use bindery_types::{Moment, SessionId};

use crate::event::Amounts;
use crate::key::{BucketKey, BudgetScope};
use crate::rejection::Rejection;
use crate::state::{Bucket, Call, CallStanding, State};
use crate::words::Meter;

impl Bucket {
    /// What counts as used at `now`: nothing, when a rate's window is over.
    fn used(&self, key: &BucketKey, now: Moment) -> u64 {
        if self.window_over(key, now) {
            return 0;
        }
        self.spent.saturating_add(self.reserved)
    }

    fn window_over(&self, key: &BucketKey, now: Moment) -> bool {
        key.window_ms
            .is_some_and(|window| now >= self.since.after_ms(window))
    }
}

impl State {
    /// Sets a limit; what is spent and what runs is counted on.
    pub(crate) fn set_bucket(&mut self, key: &BucketKey, limit: u64, now: Moment) {
        if let Some(bucket) = self.buckets.get_mut(key) {
            bucket.limit = limit;
            return;
        }
        let running = self.calls.values().filter(|call| {
            call.standing == CallStanding::Running
                && is_counted(call, key.meter)
                && draws(call, key)
        });
        let held = running.filter_map(|call| call.reserve.get(&key.meter));
        let reserved = match key.window_ms {
            Some(_) => 0,
            None => held.fold(0, |sum: u64, amount| sum.saturating_add(*amount)),
        };
        let bucket = Bucket {
            limit,
            spent: 0,
            reserved,
            since: now,
        };
        self.buckets.insert(key.clone(), bucket);
    }

    /// Whether everything that the call wants to hold is there.
    pub(crate) fn check_budget(&self, call: &Call, now: Moment) -> Result<(), Rejection> {
        if let Some(parent) = call.parent.and_then(|id| self.calls.get(&id)) {
            for (meter, asked) in &call.reserve {
                if *meter == Meter::Calls {
                    continue;
                }
                let left = left_of(parent, *meter);
                if *asked > left {
                    let (meter, asked) = (*meter, *asked);
                    return Err(Rejection::ParentBudget { meter, left, asked });
                }
            }
        }
        for (key, asked) in self.claims(call) {
            let Some(bucket) = self.buckets.get(&key) else {
                continue;
            };
            let used = bucket.used(&key, now);
            if asked > bucket.limit.saturating_sub(used) {
                let over = key.window_ms.map(|window| bucket.since.after_ms(window));
                return Err(Rejection::Budget {
                    limit: bucket.limit,
                    used,
                    asked,
                    // Waiting helps only where the whole window would be enough.
                    retry_after_ms: over
                        .filter(|_| asked <= bucket.limit)
                        .map(|over| over.ms_since(now)),
                    bucket: Box::new(key),
                });
            }
        }
        Ok(())
    }

    /// Takes what [`State::check_budget`] found.
    pub(crate) fn take_budget(&mut self, call: &Call, now: Moment) {
        if let Some(parent) = call.parent.and_then(|id| self.calls.get_mut(&id)) {
            add(&mut parent.children_reserve, &call.reserve);
            parent.children_running += 1;
        }
        for (key, asked) in self.claims(call) {
            let Some(bucket) = self.buckets.get_mut(&key) else {
                continue;
            };
            if bucket.window_over(&key, now) {
                bucket.since = now;
                bucket.spent = 0;
            }
            match key.window_ms {
                Some(_) => bucket.spent = bucket.spent.saturating_add(asked),
                None => bucket.reserved = bucket.reserved.saturating_add(asked),
            }
        }
    }

    /// Gives back what the call held and charges what it spent.
    pub(crate) fn settle_budget(&mut self, call: &Call, spent: &Amounts, now: Moment) {
        if let Some(parent) = call.parent.and_then(|id| self.calls.get_mut(&id)) {
            take(&mut parent.children_reserve, &call.reserve);
            add(&mut parent.children_spent, spent);
            parent.children_running = parent.children_running.saturating_sub(1);
        }
        let mut meters: Vec<Meter> = call.reserve.keys().chain(spent.keys()).copied().collect();
        meters.sort_unstable();
        meters.dedup();
        for meter in meters {
            let held = call.reserve.get(&meter).copied().unwrap_or_default();
            let used = spent.get(&meter).copied().unwrap_or_default();
            for key in self.keys(call, meter) {
                let Some(bucket) = self.buckets.get_mut(&key) else {
                    continue;
                };
                if key.window_ms.is_none() {
                    bucket.reserved = bucket.reserved.saturating_sub(held);
                    bucket.spent = bucket.spent.saturating_add(used);
                } else if call.started_at >= bucket.since && !bucket.window_over(&key, now) {
                    // A rate's window knows what was taken in it, until it is over.
                    let rest = bucket.spent.saturating_sub(held);
                    bucket.spent = rest.saturating_add(used);
                }
            }
        }
    }

    /// The budgets that the call draws from, with what it wants of each.
    fn claims(&self, call: &Call) -> Vec<(BucketKey, u64)> {
        if self.buckets.is_empty() {
            return Vec::new();
        }
        let wanted = call.reserve.iter();
        wanted
            .flat_map(|(meter, asked)| {
                let keys = self.keys(call, *meter);
                keys.into_iter().map(|key| (key, *asked))
            })
            .collect()
    }

    /// The budgets of one meter that the call draws from: rates always, totals only at the
    /// root of a call tree, whose share the children live on. Calls are counted one by one.
    fn keys(&self, call: &Call, meter: Meter) -> Vec<BucketKey> {
        let scopes = [
            BudgetScope::Session(call.session),
            BudgetScope::Principal(call.tenant.clone(), call.principal.clone()),
            BudgetScope::Environment,
        ];
        let of = |scope: BudgetScope| {
            let key = |window_ms| BucketKey {
                scope: scope.clone(),
                meter,
                window_ms,
            };
            let all = self.buckets.range(key(None)..=key(Some(u64::MAX)));
            let mine = all.filter(|(key, _)| key.window_ms.is_some() || is_counted(call, meter));
            mine.map(|(key, _)| key.clone()).collect::<Vec<_>>()
        };
        scopes.into_iter().flat_map(of).collect()
    }

    /// What a session may still spend of a meter, at most: the least remainder of its
    /// totals; `None` where there is none.
    pub fn remaining(&self, session: SessionId, meter: Meter) -> Option<u64> {
        let open = self.sessions.get(&session)?;
        let of_session = |key: &BucketKey| match &key.scope {
            BudgetScope::Session(id) => *id == session,
            BudgetScope::Principal(tenant, principal) => {
                *tenant == open.tenant && *principal == open.principal
            }
            BudgetScope::Environment => true,
        };
        self.buckets
            .iter()
            .filter(|(key, _)| key.meter == meter && key.window_ms.is_none() && of_session(key))
            .map(|(_, bucket)| bucket.remaining())
            .min()
    }
}

fn draws(call: &Call, key: &BucketKey) -> bool {
    match &key.scope {
        BudgetScope::Session(session) => *session == call.session,
        BudgetScope::Principal(tenant, principal) => {
            *tenant == call.tenant && *principal == call.principal
        }
        BudgetScope::Environment => true,
    }
}

/// Whether a call draws `meter` from the totals itself: one is one, at every depth; of all
/// else a child has what its parent has.
fn is_counted(call: &Call, meter: Meter) -> bool {
    call.parent.is_none() || meter == Meter::Calls
}

/// What a running call has left for children: its share less what they hold and spent.
fn left_of(parent: &Call, meter: Meter) -> u64 {
    let of = |amounts: &Amounts| amounts.get(&meter).copied().unwrap_or_default();
    of(&parent.reserve)
        .saturating_sub(of(&parent.children_reserve))
        .saturating_sub(of(&parent.children_spent))
}

fn add(sum: &mut Amounts, amounts: &Amounts) {
    for (meter, amount) in amounts {
        let entry = sum.entry(*meter).or_default();
        *entry = entry.saturating_add(*amount);
    }
}

fn take(sum: &mut Amounts, amounts: &Amounts) {
    for (meter, amount) in amounts {
        if let Some(entry) = sum.get_mut(meter) {
            *entry = entry.saturating_sub(*amount);
        }
    }
}
