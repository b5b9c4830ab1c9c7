//! What a run came to: a value, the capability's own error, or a refusal.

use crate::{Receipt, Refusal};

/// The end of one call.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// JSON text of the result.
    Value(String),
    /// JSON text of the `err` the function returned: the capability ran and said no.
    CapabilityError(String),
    /// The call was refused, stopped or failed.
    Refused(Refusal),
}

/// An outcome with what it took to get there.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The end of the call.
    pub outcome: Outcome,
    /// What was measured; `None` when nothing was started.
    pub receipt: Option<Receipt>,
    /// For the operator: what was refused to the guest for want of a grant, and which
    /// grant it takes; one line each.
    pub denials: Vec<String>,
}

impl Run {
    /// A run that was refused before anything was started.
    pub fn refused(refusal: Refusal) -> Self {
        Self {
            outcome: Outcome::Refused(refusal),
            receipt: None,
            denials: Vec::new(),
        }
    }
}
