//! Agents and runs, as they stand.

use bindery_types::{Archetype, CapabilityId, Provider, SessionId, Workspace};
use serde::{Deserialize, Serialize};

use crate::text::Line;
use crate::words::{AgentStatus, RunStatus};

/// A registered agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentEntry {
    /// Whether it is real.
    pub status: AgentStatus,
    /// The tools it is configured with; `None` for any.
    pub tools: Option<Vec<CapabilityId>>,
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
    pub workspace: Workspace,
    /// The one provider whose implementations it uses; `None` for any that its agent may.
    pub provider: Option<Provider>,
    /// Where it stands.
    pub status: RunStatus,
    /// Actions started so far; the next one is one more.
    pub steps: u64,
    /// Actions that came to a value: without one, nothing was completed.
    pub done: u64,
}
