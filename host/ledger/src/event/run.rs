//! Agents, workspaces and runs, in their least form (C-37).

use bindery_types::{Agent, Archetype, CapabilityId, Provider, RunId, SessionId, Workspace};
use serde::{Deserialize, Serialize};

use crate::text::Line;
use crate::words::{AgentStatus, RunStatus};

/// An agent was registered; registering it again replaces what was said before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentRegistered {
    /// Which.
    pub agent: Agent,
    /// Whether it is real; publishing a stub makes it no agent.
    pub status: AgentStatus,
    /// The tools it is configured with; `None` for any, an empty list for none.
    pub tools: Option<Vec<CapabilityId>>,
    /// The kinds of workspace it may work in; `None` for any, an empty list for none (C-65).
    pub archetypes: Option<Vec<Archetype>>,
    /// The providers it may use; `None` for any, an empty list for none.
    pub providers: Option<Vec<Provider>>,
    /// What it says about itself.
    pub declaration: Line,
}

/// A workspace was registered; registering it again replaces what was said before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceRegistered {
    /// Its name.
    pub workspace: Workspace,
    /// Its kind.
    pub archetype: Archetype,
}

/// A run was created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunCreated {
    /// Which.
    pub run: RunId,
    /// In which session.
    pub session: SessionId,
    /// In which workspace.
    pub workspace: Workspace,
    /// The one provider whose implementations it uses; `None` for any that its agent may.
    pub provider: Option<Provider>,
}

/// A run moved along the table of [`RunStatus`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunMoved {
    /// Which.
    pub run: RunId,
    /// Where to.
    pub to: RunStatus,
}
