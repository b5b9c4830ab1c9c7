//! How many rounds a run of the bench makes.
//!
//! Rule: a quick run measures every row as the full one does, only fewer times; it shows
//! that each row has a figure, and its figures decide nothing.

use serde::Serialize;

/// The rounds a quick run makes, whatever the full one would.
const QUICK_ROUNDS: usize = 5;
/// The same where a round takes seconds.
const QUICK_LONG_ROUNDS: usize = 1;

/// The pace of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// As many rounds as a figure takes to be worth something on a busy machine.
    #[default]
    Full,
    /// A few, to see that every row works.
    Quick,
}

impl Pace {
    /// Rounds of a row that takes `full` of them.
    #[must_use]
    pub fn rounds(self, full: usize) -> usize {
        match self {
            Pace::Full => full,
            Pace::Quick => full.min(QUICK_ROUNDS),
        }
    }

    /// The same for a row whose rounds take seconds.
    #[must_use]
    pub fn long_rounds(self, full: usize) -> usize {
        match self {
            Pace::Full => full,
            Pace::Quick => full.min(QUICK_LONG_ROUNDS),
        }
    }
}
