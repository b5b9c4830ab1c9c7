//! The budgets and rates that a session draws from, by the keys under which the ledger
//! counts them.
//!
//! Rule: the keys of a session are made when it is opened and never again; a call reads
//! fifteen counters, and each key of a principal's is two texts.

use bindery_ledger::BucketKey;
use bindery_policy::{Counter, Policy, Subject, Who};

use crate::facts::{meter_of, scope_of};

/// One counter of one subject.
#[derive(Debug)]
pub(crate) struct Drawn {
    pub(crate) subject: Subject,
    pub(crate) counter: Counter,
    pub(crate) bucket: BucketKey,
}

/// All of them: totals, and rates with their windows.
#[derive(Debug)]
pub(crate) struct AllDrawn {
    pub(crate) totals: Vec<Drawn>,
    pub(crate) rates: Vec<Drawn>,
}

impl AllDrawn {
    /// What `who` draws from under `policy`.
    pub(crate) fn of(policy: &Policy, who: &Who) -> Self {
        let drawn = |subject: Subject, counter: Counter, window_ms: Option<u64>| {
            Some(Drawn {
                subject,
                counter,
                bucket: BucketKey {
                    scope: scope_of(subject, who),
                    meter: meter_of(counter)?,
                    window_ms,
                },
            })
        };
        let every = Subject::ALL
            .iter()
            .flat_map(|subject| Counter::ALL.iter().map(|counter| (*subject, *counter)));
        let rates = policy.document().limits.rates.iter();
        let rates = rates.flat_map(|(subject, rates)| {
            let of = rates.iter();
            of.map(|(counter, rate)| (*subject, *counter, rate.per_ms))
        });
        Self {
            totals: every
                .filter_map(|(subject, counter)| drawn(subject, counter, None))
                .collect(),
            rates: rates
                .filter_map(|(subject, counter, per_ms)| drawn(subject, counter, Some(per_ms)))
                .collect(),
        }
    }
}
