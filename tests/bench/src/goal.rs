//! What a row is compared with.

use std::fmt;

use serde::Serialize;

/// A bound on the median of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Met up to this.
    AtMost(f64),
    /// Met from this on.
    AtLeast(f64),
}

impl Goal {
    /// Whether `value` meets it; what is no number meets nothing.
    #[must_use]
    pub fn is_met_by(self, value: f64) -> bool {
        match self {
            Goal::AtMost(bound) => value <= bound,
            Goal::AtLeast(bound) => value >= bound,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Goal::AtMost(bound) => write!(f, "<= {bound}"),
            Goal::AtLeast(bound) => write!(f, ">= {bound}"),
        }
    }
}
