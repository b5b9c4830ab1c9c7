//! Agents and runs, as they stand.

use bindery_types::{Archetype, CapabilityId, Provider, SessionId};
use serde::{Deserialize, Serialize};

use crate::text::Line;
use crate::words::{AgentStatus, RunStatus};

/// A registered agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentEntry {
    /// Whether it is real.
    pub status: AgentStatus,
    /// The tools it is configured with.
    pub tools: Vec<CapabilityId>,
    /// The kinds of workspace it may work in; `None` for any.
    pub archetypes: Option<Vec<Archetype>>,
    /// The providers it may use; `None` for any.
    pub providers: Option<Vec<Provider>>,
    /// What it says about itself.
    pub declaration: Line,
}

/// A run of an open session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Whose.
    pub session: SessionId,
    /// In which workspace.
    pub workspace: Line,
    /// Whose implementations it uses.
    pub provider: Provider,
    /// Where it stands.
    pub status: RunStatus,
    /// Actions started so far; the next one is one more.
    pub steps: u64,
}
