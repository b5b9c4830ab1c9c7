//! Budgets: reserved before a call starts, charged when it ends, exact in between.
//!
//! Rule (I22, H45, case G4): a root call draws from the totals of its session, its
//! principal and the environment; a child draws from its parent's share; every call draws
//! from the rates. What is asked is compared and taken in one step, so N calls are
//! admitted where N are allowed, in every order of arrivals.

use bindery_types::{Moment, Principal, SessionId, Tenant};

use crate::event::Amounts;
use crate::key::{BucketKey, BudgetScope};
use crate::rejection::Rejection;
use crate::state::{Bucket, Call, CallStanding, Session, State};
use crate::words::Meter;

impl Bucket {
    /// What counts as used at `now`: nothing, when a rate's window is over.
    fn used(&self, key: &BucketKey, now: Moment) -> u64 {
        if self.window_over(key, now) {
            return 0;
        }
        self.spent.saturating_add(self.reserved)
    }

    /// Whether `asked` more is within the limit.
    fn admits(&self, key: &BucketKey, asked: u64, now: Moment) -> Result<(), Rejection> {
        let used = self.used(key, now);
        if asked <= self.limit.saturating_sub(used) {
            return Ok(());
        }
        let over = key.window_ms.map(|window| self.since.after_ms(window));
        Err(Rejection::Budget {
            limit: self.limit,
            used,
            asked,
            // Waiting helps only where the whole window would be enough.
            retry_after_ms: over
                .filter(|_| asked <= self.limit)
                .map(|over| over.ms_since(now)),
            bucket: Box::new(key.clone()),
        })
    }

    /// Begins a new window where the old one is over.
    fn roll(&mut self, key: &BucketKey, now: Moment) {
        if self.window_over(key, now) {
            self.since = now;
            self.spent = 0;
        }
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
                if meter.is_each() {
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
            bucket.admits(&key, asked, now)?;
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
            bucket.roll(&key, now);
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

    /// Whether a session may do one more of what is counted one by one: a binding, a
    /// question. It is counted where it is recorded, so that of many that come at once as
    /// many are admitted as are allowed (case G4).
    pub(crate) fn check_count(
        &self,
        id: SessionId,
        session: &Session,
        meter: Meter,
        now: Moment,
    ) -> Result<(), Rejection> {
        for key in self.keys_of((id, &session.tenant, &session.principal), meter) {
            let Some(bucket) = self.buckets.get(&key) else {
                continue;
            };
            bucket.admits(&key, 1, now)?;
        }
        Ok(())
    }

    /// Counts what [`State::check_count`] found.
    pub(crate) fn take_count(&mut self, id: SessionId, meter: Meter, now: Moment) {
        let Some(session) = self.sessions.get(&id) else {
            return;
        };
        for key in self.keys_of((id, &session.tenant, &session.principal), meter) {
            let Some(bucket) = self.buckets.get_mut(&key) else {
                continue;
            };
            bucket.roll(&key, now);
            bucket.spent = bucket.spent.saturating_add(1);
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
    /// root of a call tree, whose share the children live on, but for [`Meter::is_each`].
    fn keys(&self, call: &Call, meter: Meter) -> Vec<BucketKey> {
        let mut keys = self.keys_of((call.session, &call.tenant, &call.principal), meter);
        keys.retain(|key| key.window_ms.is_some() || is_counted(call, meter));
        keys
    }

    /// The budgets of one meter that somebody draws from, totals and rates.
    fn keys_of(
        &self,
        (session, tenant, principal): (SessionId, &Tenant, &Principal),
        meter: Meter,
    ) -> Vec<BucketKey> {
        let scopes = [
            BudgetScope::Session(session),
            BudgetScope::Principal(tenant.clone(), principal.clone()),
            BudgetScope::Environment,
        ];
        let of = |scope: BudgetScope| {
            let key = |window_ms| BucketKey {
                scope: scope.clone(),
                meter,
                window_ms,
            };
            let all = self.buckets.range(key(None)..=key(Some(u64::MAX)));
            all.map(|(key, _)| key.clone()).collect::<Vec<_>>()
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

/// Whether a call draws `meter` from the totals itself.
fn is_counted(call: &Call, meter: Meter) -> bool {
    call.parent.is_none() || meter.is_each()
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
