//! The decision of the product against a second one, written from the requirement rows.
//!
//! Rule: over random documents and questions, verdict, every blocking axis with its
//! error type, the time to wait, the scope and the use of an approval are the same. Three
//! wrong turns that are built into the product for this test alone are each noticed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "everything here is a test, and a test fails by panicking"
)]

mod condition;
mod expect;
mod limits;
mod model;
mod random;
mod reach;
mod translate;

use std::collections::BTreeMap;

use bindery_policy::seeded::Bug;
use bindery_policy::{Decision, Policy, Ruling, Scope};

use model::{Doc, Expected, Question};
use random::Dice;

/// Documents of a run; each is asked [`QUESTIONS`].
const DOCUMENTS: u64 = 25_000;
/// Questions to each document.
const QUESTIONS: u64 = 4;
/// Documents within which a wrong turn has to be noticed.
const SEEDED_DOCUMENTS: u64 = 10_000;

/// What the product said, in the oracle's words.
fn said(decision: &Decision) -> (Expected, Option<Scope>) {
    let lines = decision
        .trace
        .lines()
        .filter(|(_, line)| line.verdict == bindery_policy::AxisVerdict::Block);
    let blocked = lines
        .map(|(axis, line)| (axis.as_str(), line.kind.unwrap().as_str()))
        .collect();
    let (scope, approved, retry_after_ms) = match &decision.ruling {
        Ruling::Allow(grant) => (
            Some((**grant.scope()).clone()),
            grant.approval().is_some(),
            None,
        ),
        Ruling::Ask(_) => (None, false, None),
        Ruling::Deny(denial) => (None, false, denial.retry_after_ms),
    };
    let word = decision.verdict().as_str();
    (
        Expected {
            word,
            blocked,
            retry_after_ms,
            scope: None,
            approved,
        },
        scope,
    )
}

/// What was seen on the way.
#[derive(Debug, Default)]
struct Tally {
    words: BTreeMap<&'static str, u64>,
    first: BTreeMap<&'static str, u64>,
    approved: u64,
    difference: Option<String>,
}

impl Tally {
    fn see(&mut self, wanted: &Expected) {
        *self.words.entry(wanted.word).or_default() += 1;
        self.approved += u64::from(wanted.approved);
        if let Some((axis, _)) = wanted.blocked.first() {
            *self.first.entry(axis).or_default() += 1;
        }
    }

    fn add(mut self, other: Self) -> Self {
        for (word, count) in other.words {
            *self.words.entry(word).or_default() += count;
        }
        for (axis, count) in other.first {
            *self.first.entry(axis).or_default() += count;
        }
        Self {
            approved: self.approved + other.approved,
            difference: self.difference.or(other.difference),
            ..self
        }
    }
}

/// Asks about `documents` on both cores, up to the first difference.
fn compare(documents: u64, bug: Option<Bug>) -> Tally {
    std::thread::scope(|scope| {
        let odd = scope.spawn(|| walk((1..documents).step_by(2), bug));
        walk((0..documents).step_by(2), bug).add(odd.join().unwrap())
    })
}

fn walk(seeds: impl Iterator<Item = u64>, bug: Option<Bug>) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        let mut dice = Dice::new(seed);
        let doc = random::document(&mut dice);
        let policy = translate::policy(&doc);
        let policy = match bug {
            Some(bug) => policy.with_bug(bug),
            None => policy,
        };
        for _ in 0..QUESTIONS {
            let q = random::question(&mut dice, &doc);
            tally.see(&expect::expect(&doc, &q));
            tally.difference =
                differs(&doc, &q, &policy).map(|text| format!("seed {seed}\n{text}"));
            if tally.difference.is_some() {
                return tally;
            }
        }
    }
    tally
}

fn differs(doc: &Doc, q: &Question, policy: &Policy) -> Option<String> {
    let decision = translate::ask(doc, q, policy);
    let wanted = expect::expect(doc, q);
    let (got, scope) = said(&decision);
    // Limits that were asked for are in a scope, too; the model has only what it touches.
    let touched = |scope: &Scope| {
        Scope::of(
            scope
                .slices()
                .map(|(name, slice)| (name.clone(), slice.clone())),
        )
    };
    let wanted_scope = wanted
        .scope
        .as_ref()
        .map(|wishes| translate::scope(doc, wishes));
    let plain = Expected {
        scope: None,
        ..wanted.clone()
    };
    let same = got == plain && wanted_scope == scope.as_ref().map(touched);
    (!same).then(|| {
        let (text, trace) = (translate::toml(doc), decision.trace.to_text());
        format!("{text}\n{q:#?}\nwanted {wanted:?}\ngot {got:?} {scope:?}\n{trace}")
    })
}

#[test]
fn r_269_the_product_decides_as_the_oracle_does_and_every_axis_has_its_turn() {
    let tally = compare(DOCUMENTS, None);
    if let Some(difference) = tally.difference {
        panic!("{difference}");
    }
    println!(
        "{:?}, {} by an approval\n{:?}",
        tally.words, tally.approved, tally.first
    );
    assert_eq!(tally.words.values().sum::<u64>(), DOCUMENTS * QUESTIONS);
    // A comparison in which nothing is allowed, or an axis never decides, proves little.
    assert!(
        tally.words["allow"] > 5_000 && tally.words["ask"] > 1_000,
        "{:?}",
        tally.words
    );
    assert!(tally.approved > 200, "{}", tally.approved);
    for axis in bindery_policy::Axis::ALL {
        let turns = tally.first.get(axis.as_str()).copied().unwrap_or_default();
        assert!(turns > 20, "{axis} decided {turns} times");
    }
}

#[test]
fn each_of_three_seeded_bugs_is_noticed() {
    for bug in Bug::ALL {
        assert!(
            compare(SEEDED_DOCUMENTS, Some(bug)).difference.is_some(),
            "{bug:?} was not noticed"
        );
    }
}
