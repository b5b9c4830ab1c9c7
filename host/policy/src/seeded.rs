//! Three wrong turns, to prove that the oracle notices them. Never in the product.

/// A wrong turn of `decide`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A project's allow list lifts its deny list.
    ProjectAllowBeatsDeny,
    /// One more of everything than the counters allow.
    OneCallTooMany,
    /// An approval counts for every scope (C-19).
    ApprovalForAnyScope,
}

impl Bug {
    /// All three.
    pub const ALL: [Bug; 3] = [
        Self::ProjectAllowBeatsDeny,
        Self::OneCallTooMany,
        Self::ApprovalForAnyScope,
    ];
}

impl crate::Policy {
    /// The same policy, decided about wrongly.
    #[must_use]
    pub fn with_bug(mut self, bug: Bug) -> Self {
        self.bug = Some(bug);
        self
    }
}
