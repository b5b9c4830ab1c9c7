//! What went wrong with single files of a search: told, bounded, never fatal.

/// At most so many are kept; the rest is counted.
const KEPT: usize = 20;

/// The list that grows during a search.
#[derive(Default)]
pub(crate) struct Problems {
    kept: Vec<String>,
    more: u64,
}

impl Problems {
    /// Adds one.
    pub(crate) fn add(&mut self, problem: String) {
        if self.kept.len() < KEPT {
            self.kept.push(problem);
        } else {
            self.more += 1;
        }
    }

    /// The list, with a last line for those that did not fit.
    pub(crate) fn told(mut self) -> Vec<String> {
        if self.more > 0 {
            self.kept.push(format!("and {} more", self.more));
        }
        self.kept
    }
}
