//! One row of the table: what was measured against what, and whether that is good enough.

use serde::Serialize;

use crate::goal::Goal;
use crate::stats::{Pair, Summary};

/// What the figure of a row counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// One side over the other.
    Ratio,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// A number of things.
    Count,
}

/// One row.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// A short name, by which a run can be limited to it.
    pub id: String,
    /// What is measured.
    pub what: String,
    /// What it is measured against.
    pub against: String,
    /// What is wanted.
    pub goal: Option<Goal>,
    /// What the figure counts.
    pub unit: Unit,
    /// What came of it; none when it could not be measured.
    pub figure: Option<Summary>,
    /// Whether the goal is met; none without a goal or a figure.
    pub met: Option<bool>,
    /// Nanoseconds of the measured side.
    pub ours_ns: Option<Summary>,
    /// Nanoseconds of the other side.
    pub theirs_ns: Option<Summary>,
    /// Why there is no figure, or what its reader should know.
    pub note: Option<String>,
}

impl Row {
    /// A row without a figure so far.
    #[must_use]
    pub fn new(id: &str, what: &str, against: &str) -> Self {
        Self {
            id: id.to_owned(),
            what: what.to_owned(),
            against: against.to_owned(),
            goal: None,
            unit: Unit::Ratio,
            figure: None,
            met: None,
            ours_ns: None,
            theirs_ns: None,
            note: None,
        }
    }

    /// What is wanted of it.
    #[must_use]
    pub fn goal(mut self, goal: Goal) -> Self {
        self.goal = Some(goal);
        self.judged()
    }

    /// What its reader should know.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// No figure, and why.
    #[must_use]
    pub fn absent(self, reason: impl Into<String>) -> Self {
        self.note(reason)
    }

    /// Ours over theirs.
    #[must_use]
    pub fn ratio(self, pair: &Pair) -> Self {
        self.ratio_beyond(pair, 0.0)
    }

    /// Ours over theirs after `allowance_ns` is taken off ours.
    #[must_use]
    pub fn ratio_beyond(self, pair: &Pair, allowance_ns: f64) -> Self {
        self.with(pair, &pair.ratios_beyond(allowance_ns))
    }

    /// How many times faster ours is.
    #[must_use]
    pub fn speedup(self, pair: &Pair) -> Self {
        self.with(pair, &pair.speedups())
    }

    /// Samples that are no ratio.
    #[must_use]
    pub fn samples(mut self, unit: Unit, samples: &[f64]) -> Self {
        self.unit = unit;
        self.figure = Summary::of(samples);
        self.judged()
    }

    fn with(mut self, pair: &Pair, ratios: &[f64]) -> Self {
        self.figure = Summary::of(ratios);
        self.ours_ns = Summary::of(&pair.ours);
        self.theirs_ns = Summary::of(&pair.theirs);
        self.judged()
    }

    fn judged(mut self) -> Self {
        self.met = match (self.goal, self.figure) {
            (Some(goal), Some(figure)) => Some(goal.is_met_by(figure.median)),
            _ => None,
        };
        self
    }
}
