//! Runs: each session's actions, counted and with a status, for an agent that is one.
//!
//! Rule (C-37, R-577, R-578): agents and workspaces are registered as the document has them;
//! a run is created with its session and checked by the ledger; it moves by the fixed table
//! alone, by what is recorded and by nothing that anybody says about it.

use bindery_ledger::event::{AgentRegistered, RunCreated, RunMoved, WorkspaceRegistered};
use bindery_ledger::words::{
    AgentStatus, Lifecycle, Operation, ProposalStatus, RunStatus, Trigger,
};
use bindery_ledger::{Entry, Line, State};
use bindery_policy::{ImplementationStatus, Policy, Who};
use bindery_types::{Archetype, ErrorType, Provider, Refusal, RunId, SessionId, Workspace};

use crate::Host;
use crate::governor::{Governor, Told};
use crate::held::Opened;
use crate::session::Session;

/// Where the run of a session takes place. The default is a workspace called like the
/// session's archetype, and any provider that its agent may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunWish {
    /// The workspace, one of the document's.
    pub workspace: Option<Workspace>,
    /// The one provider whose implementations it uses.
    pub provider: Option<Provider>,
}

/// A session's run, as the host holds it.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub(crate) run: RunId,
    pub(crate) workspace: Workspace,
    pub(crate) provider: Option<Provider>,
}

impl Host {
    /// Moves a run: an embedder that knows that it is done, failed, or not to go on.
    /// When it is over, so is the task, and every binding of its session ends with it
    /// calls that run are ended.
    ///
    /// # Errors
    ///
    /// `handle_invalid` when no open session has such a run, `run_transition_invalid` for a
    /// move that the table does not have, or a completion without one completed action.
    pub async fn move_run(&self, run: RunId, to: RunStatus, reason: &str) -> Result<(), Refusal> {
        let governor = &self.governor;
        let session = governor.look(|state| state.run(run).map(|run| run.session));
        let session = session
            .flatten()
            .ok_or_else(|| Refusal::new(ErrorType::HandleInvalid, "no such run"))?;
        let told = Told {
            session: Some(session),
            ..governor.own(Operation::Run, reason)
        };
        let mut batch = vec![governor.entry(&told, RunMoved { run, to })];
        if to.is_over() {
            let ends = governor.ends(
                |_, binding| binding.session == session,
                (Lifecycle::Stale, Trigger::TaskChanged),
                &told,
            );
            batch.extend(ends);
        }
        governor
            .record(batch)
            .await
            .map_err(|error| error.refusal())?;
        governor.stop_overtaken().await;
        Ok(())
    }
}

impl Session {
    /// The run that its calls are actions of.
    ///
    /// # Errors
    ///
    /// `handle_invalid` when the session is over.
    pub fn run_id(&self) -> Result<RunId, Refusal> {
        Ok(self.opened()?.run.run)
    }

    /// A run that is over starts nothing any more.
    pub(crate) fn run_stands(&self, opened: &Opened) -> Result<(), Refusal> {
        let run = opened.run.run;
        let status = self.governor.look(|state| Some(state.run(run)?.status));
        match status.flatten().filter(|status| status.is_over()) {
            None => Ok(()),
            Some(status) => {
                let text = format!("the run is `{status}`, nothing starts in it any more");
                Err(Refusal::new(ErrorType::RunTransitionInvalid, text)
                    .with("run", run.to_string())
                    .with("status", status.as_str()))
            }
        }
    }

    /// The first action of a run: from here on it runs. One that could not be created when
    /// the session began is created now, if its agent is one by now.
    pub(crate) fn run_begins(&self, opened: &Opened) -> Result<(), Refusal> {
        let run = opened.run.run;
        self.governor.run_moves(self.id, opened, |state| {
            // What waits for another action goes on waiting.
            let status = state.run(run).map(|run| run.status);
            status
                .filter(|status| *status == RunStatus::AwaitingApproval)
                .unwrap_or(RunStatus::Running)
        })
    }

    /// The run waits as long as a question of its session does.
    pub(crate) fn run_follows(&self, opened: &Opened) -> Result<(), Refusal> {
        let id = self.id;
        self.governor
            .run_moves(id, opened, |state| wanted(state, id))
    }
}

/// Where a run stands by what its session waits for.
fn wanted(state: &State, session: SessionId) -> RunStatus {
    let pending = state.proposals().any(|(_, proposal)| {
        proposal.asked.session == session && proposal.status == ProposalStatus::Pending
    });
    match pending {
        true => RunStatus::AwaitingApproval,
        false => RunStatus::Running,
    }
}

/// The moves from one status to another, as the table has them; none where there are none.
fn moves(from: RunStatus, to: RunStatus) -> &'static [RunStatus] {
    use RunStatus::{AwaitingApproval, Created, Running};
    match (from, to) {
        (Created, Running) | (AwaitingApproval, Running) => &[Running],
        (Created, AwaitingApproval) => &[Running, AwaitingApproval],
        (Running, AwaitingApproval) => &[AwaitingApproval],
        _ => &[],
    }
}

impl Governor {
    /// Moves the run of a session, if it has begun and is not over, to where it has to be.
    fn run_moves(
        &self,
        session: SessionId,
        opened: &Opened,
        to: impl Fn(&State) -> RunStatus,
    ) -> Result<(), Refusal> {
        let told = Told {
            session: Some(session),
            ..self.own(Operation::Run, "the run goes on")
        };
        let planned = &opened.run;
        let due = || {
            let steps = self.look(|state| match state.run(planned.run) {
                None => Some(moves(RunStatus::Created, to(state))).map(|steps| (false, steps)),
                Some(run) => Some(moves(run.status, to(state))).map(|steps| (true, steps)),
            });
            let (known, steps) = steps.flatten().unwrap_or((true, &[]));
            let mut batch = match known {
                true => Vec::new(),
                false => self.run_created(opened, &told),
            };
            let run = planned.run;
            let moved = steps
                .iter()
                .map(|to| self.entry(&told, RunMoved { run, to: *to }));
            batch.extend(moved);
            batch
        };
        let batch = due();
        if batch.is_empty() {
            return Ok(());
        }
        match self.journal.append_lazy(batch) {
            Ok(_) => Ok(()),
            // Another call of the session was as quick: what it recorded is all the same.
            Err(_) if due().is_empty() => Ok(()),
            Err(error) => Err(error.refusal()),
        }
    }

    /// The same for a session that somebody else's verb was about, if it is open.
    pub(crate) fn run_of_session_follows(&self, session: SessionId) -> Result<(), Refusal> {
        let opened = self.read().sessions.get(&session).cloned();
        match opened {
            Some(opened) => self.run_moves(session, &opened, |state| wanted(state, session)),
            None => Ok(()),
        }
    }

    /// The records that create a session's run, with its workspace if that is called like
    /// its archetype and not known yet.
    pub(crate) fn run_created(&self, opened: &Opened, told: &Told<'_>) -> Vec<Entry> {
        let (who, planned) = (opened.session.who(), &opened.run);
        let (workspace, archetype) = (planned.workspace.clone(), who.archetype.clone());
        let known = self.look(|state| state.workspace(&workspace).is_some());
        let own = workspace.as_str() == archetype.as_str() && known == Some(false);
        let registered = own.then(|| {
            let workspace = workspace.clone();
            self.entry(
                told,
                WorkspaceRegistered {
                    workspace,
                    archetype,
                },
            )
        });
        let created = RunCreated {
            run: planned.run,
            session: who.session,
            workspace,
            provider: planned.provider.clone(),
        };
        registered
            .into_iter()
            .chain([self.entry(told, created)])
            .collect()
    }

    /// The records by which the ledger comes to know agents and workspaces as `policy` has
    /// them; an agent that the document does not have any more is none.
    pub(crate) fn registrations(&self, policy: &Policy) -> Vec<Entry> {
        let told = self.own(
            Operation::Configure,
            "agents and workspaces of the document",
        );
        let people = &policy.document().people;
        let agents = people.agents.iter().map(|(agent, entry)| AgentRegistered {
            agent: agent.clone(),
            status: match entry.implementation_status {
                ImplementationStatus::Active => AgentStatus::Active,
                ImplementationStatus::Stub => AgentStatus::Stub,
            },
            tools: policy.tools_of(agent),
            archetypes: entry.archetypes.clone(),
            providers: entry.providers.clone(),
            declaration: Line::cut(entry.declaration.as_deref().unwrap_or_default()),
        });
        let mut wanted: Vec<AgentRegistered> = agents.collect();
        let mut batch = Vec::new();
        self.look(|state| {
            let gone = state.agents().filter(|(agent, known)| {
                !people.agents.contains_key(agent) && known.status == AgentStatus::Active
            });
            wanted.extend(gone.map(|(agent, known)| AgentRegistered {
                agent: agent.clone(),
                status: AgentStatus::Stub,
                tools: known.tools.clone(),
                archetypes: known.archetypes.clone(),
                providers: known.providers.clone(),
                declaration: known.declaration.clone(),
            }));
            wanted.retain(|event| {
                state.agent(&event.agent).is_none_or(|known| {
                    known.status != event.status
                        || known.tools != event.tools
                        || known.archetypes != event.archetypes
                        || known.providers != event.providers
                        || known.declaration != event.declaration
                })
            });
            let workspaces = people
                .workspaces
                .iter()
                .filter(|(workspace, archetype)| state.workspace(workspace) != Some(archetype));
            batch.extend(workspaces.map(|(workspace, archetype)| {
                let (workspace, archetype) = (workspace.clone(), archetype.clone());
                self.entry(
                    &told,
                    WorkspaceRegistered {
                        workspace,
                        archetype,
                    },
                )
            }));
        });
        batch.extend(wanted.into_iter().map(|event| self.entry(&told, event)));
        batch
    }
}

/// Whether the agent of a session can have a run at all: of one that cannot, a session is
/// opened all the same, and binds nothing.
pub(crate) fn may_run(policy: &Policy, who: &Who) -> bool {
    let agent = policy.document().people.agents.get(&who.agent);
    agent.is_some_and(|agent| {
        let active = agent.implementation_status == ImplementationStatus::Active;
        let there = agent.archetypes.as_ref();
        active && there.is_none_or(|list| list.contains(&who.archetype))
    })
}

/// The workspace that is called like `archetype`.
pub(crate) fn workspace_of(archetype: &Archetype) -> Result<Workspace, Refusal> {
    archetype.as_str().parse().map_err(|error| {
        let text = "the workspace archetype is no name of a workspace";
        Refusal::new(ErrorType::Internal, text).for_operator(format!("{error}"))
    })
}
