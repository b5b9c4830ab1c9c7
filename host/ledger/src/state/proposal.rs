//! A proposal, as it stands.

use bindery_types::BindingHandle;
use serde::{Deserialize, Serialize};

use crate::event::ProposalMade;
use crate::words::ProposalStatus;

/// A question to the operator, and the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// The question, with everything that the answer is bound to.
    pub asked: ProposalMade,
    /// The answer.
    pub status: ProposalStatus,
    /// For `confirm_once`: the binding whose first call it was used for; it stands as long
    /// as that binding does (C-19).
    pub stands_for: Option<BindingHandle>,
    /// The record that changed it last.
    pub changed_by: u64,
}
