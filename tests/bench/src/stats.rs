//! Medians of what was measured: they stay where they are while a neighbour is noisy.

use serde::Serialize;

/// Samples in short.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// How many.
    pub count: usize,
}

impl Summary {
    /// The summary of `samples`; none of no samples.
    #[must_use]
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let (upper, lower) = (sorted.len() / 2, sorted.len().saturating_sub(1) / 2);
        Some(Self {
            median: f64::midpoint(*sorted.get(lower)?, *sorted.get(upper)?),
            min,
            max,
            count: sorted.len(),
        })
    }
}

/// The sample below which `share` (0 to 1) of them lie; none of no samples.
#[must_use]
pub fn quantile(samples: &[f64], share: f64) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let before = samples.len().saturating_sub(1);
    // Counting up needs no conversion of a float to an index.
    let rank = (0..before).find(|at| share * as_f64(before) <= as_f64(*at));
    sorted.get(rank.unwrap_or(before)).copied()
}

/// A count as a number to divide by; exact up to 2^32.
#[must_use]
pub fn as_f64(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

/// What two sides took, round by round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pair {
    /// One sample a round.
    pub ours: Vec<f64>,
    /// One sample a round.
    pub theirs: Vec<f64>,
}

impl Pair {
    /// Ours over theirs, round by round.
    #[must_use]
    pub fn ratios(&self) -> Vec<f64> {
        self.ratios_beyond(0.0)
    }

    /// The same after `allowance` is taken off ours: what is allowed on top of a multiple.
    #[must_use]
    pub fn ratios_beyond(&self, allowance: f64) -> Vec<f64> {
        let pairs = self.ours.iter().zip(&self.theirs);
        pairs
            .map(|(ours, theirs)| (ours - allowance).max(0.0) / theirs)
            .collect()
    }

    /// Theirs over ours: how many times faster ours is.
    #[must_use]
    pub fn speedups(&self) -> Vec<f64> {
        let pairs = self.ours.iter().zip(&self.theirs);
        pairs.map(|(ours, theirs)| theirs / ours).collect()
    }
}
