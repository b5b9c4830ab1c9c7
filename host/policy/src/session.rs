//! A session as policy sees it: who, for whom, where, and what was fixed when it began.
//!
//! Rule (R-299, R-303, C-53): principal, tenant, agent, archetype, mode and the settings of
//! the moment do not change while the session lives; no call of the model can move them.

use std::sync::Arc;

use bindery_types::{
    Agent, Archetype, CapabilityId, ErrorType, PermissionMode, Principal, Refusal, Rights, RunId,
    SessionId, Tenant,
};
use serde::Serialize;

use crate::fault::Malformed;
use crate::names::{IdSet, KnownNames, ListKind};
use crate::policy::Policy;
use crate::project::ProjectPolicy;
use crate::stages::Stages;

/// The six fixed fields and the ids around them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Who {
    /// The session.
    pub session: SessionId,
    /// The run, where the embedder opens runs; else the session is the run (C-19).
    pub run: Option<RunId>,
    /// Who asks.
    pub principal: Principal,
    /// What it may do to the host.
    pub rights: Rights,
    /// Whose data.
    pub tenant: Tenant,
    /// For which agent.
    pub agent: Agent,
    /// In which kind of workspace.
    pub archetype: Archetype,
}

/// What a session is opened with.
#[derive(Clone, Debug)]
pub struct SessionSpec {
    /// Who.
    pub who: Who,
    /// The mode asked for; none for the document's default.
    pub mode: Option<PermissionMode>,
    /// The host integration's own allow list: none = no list, empty = nothing.
    pub allow: Option<Vec<String>>,
    /// Its deny list.
    pub deny: Vec<String>,
    /// The project's file.
    pub project: Option<ProjectPolicy>,
    /// The stages, when they differ from the document's.
    pub stages: Option<Stages>,
}

/// A session, opened.
#[derive(Clone, Debug)]
pub struct Session {
    pub(crate) who: Arc<Who>,
    pub(crate) mode: PermissionMode,
    pub(crate) stages: Stages,
    pub(crate) profile: Lists,
    pub(crate) own: Lists,
    pub(crate) project: Lists,
}

/// An allow and a deny list, as ids.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    pub(crate) allow: Option<IdSet>,
    pub(crate) deny: IdSet,
}

impl Lists {
    pub(crate) fn denies(&self, id: &CapabilityId) -> bool {
        self.deny.has(id)
    }

    pub(crate) fn allows(&self, id: &CapabilityId) -> bool {
        self.allow.as_ref().is_none_or(|allowed| allowed.has(id))
    }
}

impl Session {
    /// Who it is.
    pub fn who(&self) -> &Arc<Who> {
        &self.who
    }

    /// Its permission mode.
    pub fn mode(&self) -> PermissionMode {
        self.mode
    }

    /// The stages it was opened with.
    pub fn stages(&self) -> Stages {
        self.stages
    }
}

impl Policy {
    /// Opens a session under this policy. Names in its lists, in the profile and in the
    /// project's file are resolved against `names`, once; when the catalogue gains an
    /// entry, call it again with the same specification.
    ///
    /// # Errors
    ///
    /// `policy_malformed` for lists that cannot be resolved, `permission_denied`
    /// for a mode above the ceiling.
    pub fn open(&self, spec: SessionSpec, names: &KnownNames) -> Result<Session, Refusal> {
        let document = self.document();
        let limits = document.people.mode;
        let mode = spec.mode.unwrap_or(limits.default);
        if mode > limits.ceiling {
            return Err(Refusal::new(
                ErrorType::PermissionDenied,
                format!("no session gets the mode `{mode}` here"),
            )
            .for_operator(format!("`[mode] ceiling` is `{}`", limits.ceiling)));
        }
        let profile = &document.people.profile;
        let project = spec.project.unwrap_or_default();
        let lists = |file: &str, allow: Option<&Vec<String>>, deny: &[String]| {
            self.lists(file, allow, deny, names)
        };
        Ok(Session {
            profile: lists(
                &document.file,
                profile.allowed_tools.as_ref(),
                &profile.denied_tools,
            )?,
            own: lists("(session)", spec.allow.as_ref(), &spec.deny)?,
            project: lists(project.file(), project.allow.as_ref(), &project.deny)?,
            stages: spec.stages.unwrap_or(document.stages.on),
            who: Arc::new(spec.who),
            mode,
        })
    }

    fn lists(
        &self,
        file: &str,
        allow: Option<&Vec<String>>,
        deny: &[String],
        names: &KnownNames,
    ) -> Result<Lists, Malformed> {
        let permits = ListKind::Permits(self.document().names.missing);
        let allow = allow.map(|list| names.resolve(list, permits));
        let deny = names.resolve(deny, ListKind::Forbids);
        let faults = allow
            .iter()
            .flat_map(|list| list.faults.iter().map(|fault| ("allow", fault)));
        let faults = faults.chain(deny.faults.iter().map(|fault| ("deny", fault)));
        let mut faults = faults.map(|(key, fault)| Malformed::at(file, (1, 1), key, fault.clone()));
        match faults.next() {
            Some(fault) => Err(fault),
            None => Ok(Lists {
                allow: allow.map(|list| list.ids),
                deny: deny.ids,
            }),
        }
    }
}
