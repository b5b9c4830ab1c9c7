//! The arithmetic of the bench: what a wrong median or verdict would make of true figures.

use bindery_bench::goal::Goal;
use bindery_bench::pace::Pace;
use bindery_bench::row::{Row, Unit};
use bindery_bench::stats::{Pair, Summary, quantile};
use bindery_bench::table;

fn pair() -> Pair {
    Pair {
        ours: vec![3.0, 9.0, 5.0],
        theirs: vec![2.0, 3.0, 5.0],
    }
}

#[test]
fn the_median_is_the_middle_sample_or_the_mean_of_the_two_in_the_middle() {
    let odd = Summary::of(&[9.0, 1.0, 4.0]).unwrap();
    assert_eq!(
        (odd.median, odd.min, odd.max, odd.count),
        (4.0, 1.0, 9.0, 3)
    );
    assert_eq!(Summary::of(&[4.0, 1.0, 9.0, 2.0]).unwrap().median, 3.0);
    assert_eq!(Summary::of(&[7.0]).unwrap().median, 7.0);
    assert_eq!(Summary::of(&[]), None);
}

#[test]
fn a_quantile_is_the_sample_that_so_many_do_not_exceed() {
    let hundred: Vec<f64> = (0..=100).rev().map(f64::from).collect();
    assert_eq!(quantile(&hundred, 0.99), Some(99.0));
    assert_eq!(quantile(&hundred, 1.0), Some(100.0));
    assert_eq!(quantile(&hundred, 0.0), Some(0.0));
    assert_eq!(quantile(&[], 0.5), None);
}

#[test]
fn a_ratio_is_taken_round_by_round_and_then_its_median() {
    assert_eq!(pair().ratios(), [1.5, 3.0, 1.0]);
    assert_eq!(pair().speedups(), [2.0 / 3.0, 1.0 / 3.0, 1.0]);
    assert_eq!(pair().ratios_beyond(3.0), [0.0, 2.0, 0.4]);
    let row = Row::new("id", "this", "that").ratio(&pair());
    assert_eq!(row.figure.unwrap().median, 1.5);
    assert_eq!(row.ours_ns.unwrap().median, 5.0);
    assert_eq!(row.theirs_ns.unwrap().median, 3.0);
}

#[test]
fn a_goal_is_met_at_its_bound_and_not_beyond() {
    assert!(Goal::AtMost(1.5).is_met_by(1.5) && !Goal::AtMost(1.5).is_met_by(1.51));
    assert!(Goal::AtLeast(2.0).is_met_by(2.0) && !Goal::AtLeast(2.0).is_met_by(1.99));
    assert!(!Goal::AtMost(1.0).is_met_by(f64::NAN) && !Goal::AtLeast(1.0).is_met_by(f64::NAN));
}

#[test]
fn a_row_is_judged_whether_its_goal_or_its_figure_comes_first() {
    let met = |bound: f64| {
        let goal = Goal::AtMost(bound);
        let first = Row::new("id", "this", "that").goal(goal).ratio(&pair());
        let last = Row::new("id", "this", "that").ratio(&pair()).goal(goal);
        assert_eq!(first.met, last.met);
        first.met
    };
    assert_eq!((met(1.5), met(1.4)), (Some(true), Some(false)));
}

#[test]
fn a_quick_run_makes_fewer_rounds_and_never_none() {
    assert_eq!((Pace::Full.rounds(41), Pace::Full.long_rounds(3)), (41, 3));
    assert_eq!((Pace::Quick.rounds(41), Pace::Quick.long_rounds(3)), (5, 1));
    assert_eq!(
        Pace::Quick.rounds(2),
        2,
        "never more than the full run makes"
    );
}

#[test]
fn a_row_without_a_figure_is_neither_met_nor_missed_and_says_why() {
    let row = Row::new("peer", "this", "that").goal(Goal::AtMost(1.0));
    let row = row.absent("it is not installed");
    assert_eq!((row.met, row.figure), (None, None));
    let text = table::text(&[row]);
    assert!(text.contains("peer: it is not installed"), "{text}");
    assert!(!text.contains("NO") && !text.contains("yes"), "{text}");
}

#[test]
fn a_missed_goal_shows_in_the_table_and_in_the_json() {
    let row = Row::new("slow", "this", "that").samples(Unit::Ms, &[4.0]);
    let row = row.goal(Goal::AtMost(2.0));
    let text = table::text(std::slice::from_ref(&row));
    assert!(text.contains("NO") && text.contains("4.00 ms"), "{text}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("below/bench.json");
    table::write_json(&[row], Pace::Quick, &path).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert_eq!(json["pace"], "quick", "such figures decide nothing");
    assert_eq!(json["rows"][0]["met"], false);
    assert_eq!(json["rows"][0]["goal"]["at_most"], 2.0);
    assert_eq!(json["rows"][0]["figure"]["median"], 4.0);
}
