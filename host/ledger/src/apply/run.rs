//! Agents, workspaces and runs (C-37).

use super::At;
use crate::event::{AgentRegistered, RunCreated, RunMoved, WorkspaceRegistered};
use crate::rejection::Rejection;
use crate::state::{AgentEntry, Run, Session, State};
use crate::words::{AgentStatus, RunStatus};

impl State {
    pub(super) fn agent_registered(&mut self, event: &AgentRegistered) -> Result<(), Rejection> {
        let agent = AgentEntry {
            status: event.status,
            tools: event.tools.clone(),
            archetypes: event.archetypes.clone(),
            providers: event.providers.clone(),
            declaration: event.declaration.clone(),
        };
        self.agents.insert(event.agent.clone(), agent);
        Ok(())
    }

    pub(super) fn workspace_registered(
        &mut self,
        event: &WorkspaceRegistered,
    ) -> Result<(), Rejection> {
        let (workspace, archetype) = (event.workspace.clone(), event.archetype.clone());
        self.workspaces.insert(workspace, archetype);
        Ok(())
    }

    pub(super) fn run_created(&mut self, at: &At<'_>, event: &RunCreated) -> Result<(), Rejection> {
        let session = self.live_session(at, event.session)?;
        if self.runs.contains_key(&event.run) {
            return Err(Rejection::Duplicate { what: "run" });
        }
        self.check_agent(session, event)?;
        let run = Run {
            session: event.session,
            workspace: event.workspace.clone(),
            provider: event.provider.clone(),
            status: RunStatus::Created,
            steps: 0,
            done: 0,
        };
        self.runs.insert(event.run, run);
        Ok(())
    }

    /// the session's agent is real, and may work there, with that provider.
    fn check_agent(&self, session: &Session, event: &RunCreated) -> Result<(), Rejection> {
        let refused = |why| Err(Rejection::RunRefused { why });
        let Some(agent) = self.agents.get(&session.agent) else {
            return refused("it is not registered");
        };
        match agent.status {
            AgentStatus::Active => {}
            AgentStatus::Stub => return refused("it is a stub"),
        }
        let Some(archetype) = self.workspaces.get(&event.workspace) else {
            return refused("the workspace is not registered");
        };
        if *archetype != session.archetype {
            return refused("the session is for another kind of workspace");
        }
        if agent
            .archetypes
            .as_ref()
            .is_some_and(|allowed| !allowed.contains(archetype))
        {
            return refused("it may not work in this kind of workspace");
        }
        let wanted = event.provider.as_ref().zip(agent.providers.as_ref());
        if wanted.is_some_and(|(provider, allowed)| !allowed.contains(provider)) {
            return refused("it may not use this provider");
        }
        Ok(())
    }

    pub(super) fn run_moved(&mut self, at: &At<'_>, event: &RunMoved) -> Result<(), Rejection> {
        let Some(run) = self.runs.get_mut(&event.run) else {
            return Err(Rejection::Unknown { what: "run" });
        };
        if at.entry.session != Some(run.session) {
            return Err(Rejection::Unknown { what: "run" });
        }
        let (from, to) = (run.status, event.to);
        if !from.may_become(to) {
            return Err(Rejection::RunTransition { from, to });
        }
        if to == RunStatus::Completed && run.done == 0 {
            return Err(Rejection::NothingDone);
        }
        run.status = to;
        Ok(())
    }
}
