//! How much, how often, how long: budgets, ceilings, counters over many calls, leases.
//!
//! Rule (R-316, X62): what has no number here has the default that is shown, `unlimited`
//! is only ever said in words, and a value above a hard ceiling is a fault.

use std::collections::BTreeMap;

use bindery_types::{ApprovalRequirement, Budget, Limit, LimitName, LimitScope, Risk};
use serde::{Serialize, Serializer};

use super::reader::Section;
use crate::words::{Counter, Subject};

const HOUR_MS: u64 = 3_600_000;
const GIB: u64 = 1 << 30;
/// No lease and no approval lasts longer, whatever the document says.
const TTL_CEILING_MS: u64 = 24 * HOUR_MS;

/// What one session may use in all unless the document says otherwise (X44); what a
/// principal or everybody uses together has no limit of its own by default.
const SESSION_DEFAULTS: &[(Counter, u64)] = &[
    (Counter::Binds, 10_000),
    (Counter::Calls, 100_000),
    (Counter::Proposals, 1_000),
    (Counter::Fuel, 1_000_000_000_000_000),
    (Counter::Time, TTL_CEILING_MS),
    (Counter::EgressBytes, 10 * GIB),
    (Counter::WrittenBytes, 10 * GIB),
];

/// What this host does not do yet, so that a limit on it holds nothing: it is read, kept,
/// and told of ([`Limits::idle`]).
const NOT_DONE: &[Counter] = &[Counter::Searches, Counter::Probes];

/// At most `max` in any window of `per_ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// How many; 0 allows none.
    pub max: u64,
    /// The window, in milliseconds.
    pub per_ms: u64,
}

/// How long bindings live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Leases {
    /// Unless another time is asked for, in milliseconds.
    pub ttl_ms: u64,
    /// At most, in milliseconds; more is cut.
    pub ttl_max_ms: u64,
}

/// What has to be approved, and how long an answer counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Approvals {
    /// How long a proposal or an approval lives, in milliseconds.
    pub ttl_ms: u64,
    /// The least requirement for each risk; the gravest two always ask.
    pub by_risk: BTreeMap<Risk, ApprovalRequirement>,
}

/// Everything of this file, read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limits {
    /// The limits of a call that asks for none, and of the host.
    #[serde(serialize_with = "set_values")]
    pub budgets: Budget,
    /// Hard ceilings of what a call may ask for.
    #[serde(serialize_with = "by_name")]
    pub ceilings: BTreeMap<LimitName, Limit>,
    /// Limits over many calls.
    pub aggregates: BTreeMap<Subject, BTreeMap<Counter, Limit>>,
    /// Rates.
    pub rates: BTreeMap<Subject, BTreeMap<Counter, Rate>>,
    /// Leases.
    pub leases: Leases,
    /// Approvals.
    pub approvals: Approvals,
}

impl Limits {
    /// The limits that hold nothing, as their keys: of what this host does not do.
    pub fn idle(&self) -> Vec<String> {
        let mut idle = Vec::new();
        for counter in NOT_DONE {
            let totals = self
                .aggregates
                .iter()
                .filter(|(_, counters)| matches!(counters.get(counter), Some(Limit::Finite(_))));
            let rates = self
                .rates
                .iter()
                .filter(|(_, counters)| counters.contains_key(counter));
            idle.extend(totals.map(|(subject, _)| format!("aggregates.{subject}.{counter}")));
            idle.extend(rates.map(|(subject, _)| format!("rates.{subject}.{counter}")));
        }
        idle
    }
}

fn set_values<S: Serializer>(budget: &Budget, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(
        budget
            .set_values()
            .map(|(name, limit)| (name.as_str(), limit)),
    )
}

fn by_name<S: Serializer>(limits: &BTreeMap<LimitName, Limit>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(limits.iter().map(|(name, limit)| (name.as_str(), limit)))
}

pub(super) fn read(top: &mut Section<'_>) -> Limits {
    let ceilings: BTreeMap<LimitName, Limit> = limits(&top.section("ceilings"))
        .into_iter()
        .map(|(name, limit, _)| (name, limit))
        .collect();
    let aggregates = aggregates(&mut top.section("aggregates"));
    let section = top.section("budgets");
    let said = limits(&section);
    let budgets = budgets(&section, &said, &ceilings);
    fit(&section, &said, (&budgets, &aggregates));
    Limits {
        budgets,
        aggregates,
        rates: rates(&mut top.section("rates")),
        leases: leases(top.section("leases")),
        approvals: approvals(top.section("approvals")),
        ceilings,
    }
}

/// Limits by name; in a rule's `budget`, too.
pub(super) fn limits(section: &Section<'_>) -> Vec<(LimitName, Limit, usize)> {
    let mut limits = Vec::new();
    for (key, text, at) in section.pairs() {
        let read = LimitName::parse(key).and_then(|name| Ok((name, name.parse_value(&text)?)));
        match read {
            Ok((name, limit)) => limits.push((name, limit, at)),
            Err(error) => section
                .reader
                .fault(at, &section.key(key), error.to_string(), &[]),
        }
    }
    limits
}

fn budgets(
    section: &Section<'_>,
    said: &[(LimitName, Limit, usize)],
    ceilings: &BTreeMap<LimitName, Limit>,
) -> Budget {
    let mut budget = Budget::default();
    for (name, limit, at) in said.iter().copied() {
        let key = section.key(name.as_str());
        if let Some(ceiling) = ceilings.get(&name).filter(|ceiling| limit > **ceiling) {
            let message =
                format!("{limit} is above the ceiling {ceiling} of this document (R-316)");
            section.reader.fault(at, &key, message, &[]);
        }
        if let Err(error) = budget.set(name, limit) {
            section.reader.fault(at, &key, error.to_string(), &[]);
        }
    }
    for name in LimitName::ALL
        .iter()
        .filter(|name| !section.has(name.as_str()))
    {
        section.left_out(name.as_str(), &budget.get(*name).to_string());
    }
    // What a call starts with is never above its own ceiling either.
    for (name, ceiling) in ceilings {
        if name.scope() == LimitScope::Call && budget.get(*name) > *ceiling {
            let _never_above_what_types_allow = budget.set(*name, *ceiling);
        }
    }
    budget
}

/// What one call reserves fits into what all calls may use together: otherwise none could
/// ever start.
fn fit(
    section: &Section<'_>,
    said: &[(LimitName, Limit, usize)],
    (budget, aggregates): (&Budget, &BTreeMap<Subject, BTreeMap<Counter, Limit>>),
) {
    const RESERVED: [(LimitName, Counter); 4] = [
        (LimitName::Fuel, Counter::Fuel),
        (LimitName::Deadline, Counter::Time),
        (LimitName::EgressBytes, Counter::EgressBytes),
        (LimitName::WrittenBytes, Counter::WrittenBytes),
    ];
    for (name, counter) in RESERVED {
        let Some((_, _, at)) = said.iter().find(|(said, ..)| *said == name) else {
            continue;
        };
        for (subject, of_subject) in aggregates {
            let together = of_subject.get(&counter).copied();
            let Some(together) = together.filter(|together| budget.get(name) > *together) else {
                continue;
            };
            let message = format!(
                "one call reserves {}, and `aggregates.{}.{}` is {together}: no call could start; raise that, too",
                budget.get(name),
                subject.as_str(),
                counter.as_str()
            );
            let key = section.key(name.as_str());
            section.reader.fault(*at, &key, message, &[]);
        }
    }
}

fn aggregates(section: &mut Section<'_>) -> BTreeMap<Subject, BTreeMap<Counter, Limit>> {
    let mut aggregates = BTreeMap::new();
    for subject in Subject::ALL {
        let mut of_subject = section.section(subject.as_str());
        let mut limits = BTreeMap::new();
        for counter in Counter::ALL {
            let default = SESSION_DEFAULTS.iter().find(|(known, _)| known == counter);
            let default = match subject {
                Subject::Session => {
                    default.map_or(Limit::Unlimited, |(_, max)| Limit::Finite(*max))
                }
                Subject::Principal | Subject::Environment => Limit::Unlimited,
            };
            if !of_subject.has(counter.as_str()) {
                of_subject.left_out(counter.as_str(), &default.to_string());
            }
            let said = of_subject.limit(counter.as_str(), unit_of(*counter));
            limits.insert(*counter, said.unwrap_or(default));
        }
        of_subject.finish();
        aggregates.insert(*subject, limits);
    }
    aggregates
}

/// The limit whose values are written as this counter's are.
fn unit_of(counter: Counter) -> LimitName {
    match counter {
        Counter::Searches
        | Counter::Probes
        | Counter::Binds
        | Counter::Calls
        | Counter::Proposals => LimitName::HostCalls,
        Counter::Fuel => LimitName::Fuel,
        Counter::Time => LimitName::Deadline,
        Counter::EgressBytes | Counter::WrittenBytes => LimitName::EgressBytes,
    }
}

fn rates(section: &mut Section<'_>) -> BTreeMap<Subject, BTreeMap<Counter, Rate>> {
    let mut rates = BTreeMap::new();
    for subject in Subject::ALL {
        let mut of_subject = section.section(subject.as_str());
        let mut limits = BTreeMap::new();
        let counters = Counter::ALL
            .iter()
            .filter(|counter| unit_of(**counter) == LimitName::HostCalls);
        for counter in counters {
            let Some(said) = of_subject.text(counter.as_str()) else {
                continue;
            };
            match rate(&said.value) {
                Some(rate) => {
                    limits.insert(*counter, rate);
                }
                None => of_subject.wrong(counter.as_str(), "write a rate like `60/1m` or `5/1s`"),
            }
        }
        of_subject.finish();
        rates.insert(*subject, limits);
    }
    rates
}

fn rate(text: &str) -> Option<Rate> {
    let (max, per) = text.split_once('/')?;
    let number = LimitName::HostCalls.parse_value(max).ok()?;
    match (number, LimitName::Deadline.parse_value(per).ok()?) {
        (Limit::Finite(max), Limit::Finite(per_ms)) if per_ms > 0 => Some(Rate { max, per_ms }),
        _ => None,
    }
}

fn leases(mut section: Section<'_>) -> Leases {
    let ttl_max_ms = section.time_ms_or("ttl_max", HOUR_MS);
    let ttl_ms = section.time_ms_or("ttl", ttl_max_ms.min(HOUR_MS / 6));
    if ttl_ms > ttl_max_ms {
        section.wrong(
            "ttl",
            format!("{ttl_ms}ms is more than `ttl_max`, {ttl_max_ms}ms"),
        );
    }
    capped(&section, "ttl_max", ttl_max_ms);
    section.finish();
    Leases { ttl_ms, ttl_max_ms }
}

fn capped(section: &Section<'_>, key: &str, ms: u64) {
    if ms > TTL_CEILING_MS || ms == 0 {
        section.wrong(
            key,
            format!("a time here is more than 0 and at most {TTL_CEILING_MS}ms (R-316)"),
        );
    }
}

/// What each risk asks for at least, whatever the document says.
pub(crate) fn floor(risk: Risk) -> ApprovalRequirement {
    match risk {
        Risk::Destructive | Risk::Privileged => ApprovalRequirement::ConfirmEveryTime,
        Risk::ReadOnly | Risk::Write | Risk::WritesUserContent | Risk::ExternalSideEffect => {
            ApprovalRequirement::NoApproval
        }
    }
}

fn approvals(mut section: Section<'_>) -> Approvals {
    let ttl_ms = section.time_ms_or("ttl", HOUR_MS / 6);
    capped(&section, "ttl", ttl_ms);
    let mut by = section.section("risk");
    let mut by_risk = BTreeMap::new();
    for risk in Risk::ALL {
        let least = floor(*risk);
        let wanted = by.word_or(risk.as_str(), least);
        if wanted < least {
            by.wrong(
                risk.as_str(),
                format!("a requirement can be made stricter than `{least}`, never milder (R-559)"),
            );
        }
        by_risk.insert(*risk, wanted.max(least));
    }
    by.finish();
    section.finish();
    Approvals { ttl_ms, by_risk }
}
