//! Our reader against an independent validator of our schemas.
//!
//! Rule (I41): the validator accepts exactly the texts that the reader accepts; what is
//! read keeps its value; what is rendered fits the output schema and reads back to the
//! same text. The same property fails once any one row of the JSON table is broken on
//! purpose, so it can fail.
//!
//! `BINDERY_ORACLE_CASES` sets the number of type pairs of the first test, for a soak.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "everything here is a test, and a test fails by panicking"
)]

mod doctor;
mod exact;
mod json;
mod mutate;
mod property;
mod types;
mod values;

use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use doctor::Doctor;
use types::{Kind, kind};

/// Type pairs of a plain run; each is asked some thirty texts.
const CASES: u32 = 600;
/// Type pairs within which a broken row has to be noticed.
const DOCTORED_CASES: u32 = 6_000;

/// Two types, and the seed of the texts asked of them.
type Subject = ((Kind, Kind), u64);

fn search(cases: u32, doctor: &Doctor) -> Result<(), TestError<Subject>> {
    let config = Config {
        cases,
        failure_persistence: None,
        // What is searched for is whether there is a counterexample, not the smallest.
        max_shrink_iters: if doctor.is_healthy() { 2_000 } else { 0 },
        ..Config::default()
    };
    // The same texts in every run: a failure is a failure for everybody.
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let strategy = ((kind(), kind()), proptest::num::u64::ANY);
    TestRunner::new_with_rng(config, rng).run(&strategy, |((v, w), seed)| {
        property::reader_and_validator_agree(&v, &w, seed, doctor)
    })
}

/// I41: what the schema says is what a call enforces.
#[test]
fn the_validator_accepts_exactly_what_the_reader_accepts() {
    let cases = std::env::var("BINDERY_ORACLE_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(CASES);
    if let Err(error) = search(cases, &Doctor::HEALTHY) {
        panic!("{error}");
    }
}

#[test]
fn every_row_of_the_table_is_noticed_when_it_is_broken() {
    let unnoticed: Vec<&str> = doctor::BROKEN_ROWS
        .iter()
        .filter(|doctor| !is_noticed(doctor))
        .map(|doctor| doctor.row)
        .collect();
    assert!(doctor::BROKEN_ROWS.len() >= 20);
    assert!(unnoticed.is_empty(), "nobody noticed: {unnoticed:?}");
}

/// Whether there is a counterexample that is one only because the row is broken.
fn is_noticed(doctor: &Doctor) -> bool {
    match search(DOCTORED_CASES, doctor) {
        Err(TestError::Fail(_, ((v, w), seed))) => {
            property::reader_and_validator_agree(&v, &w, seed, &Doctor::HEALTHY).is_ok()
        }
        Err(TestError::Abort(_)) | Ok(()) => false,
    }
}

#[test]
fn repeated_members_are_refused_though_no_validator_sees_them() {
    property::repeated_members_are_refused();
}
