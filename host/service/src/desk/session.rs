//! What a session does: it is opened by name, binds, calls, releases, and ends.
//!
//! Rule (C-50, C-65): a name belongs to its principal; a session that nobody opened is
//! opened with the defaults by the first request that needs one.

use std::collections::HashSet;
use std::sync::PoisonError;

use bindery::policy::{ScopeRequest, SessionSpec, Who};
use bindery::{
    BindRequest, CallOptions, CapabilityId, ErrorType, Outcome, Refusal, RunWish, Session,
    SessionId,
};
use serde_json::{Value, json};

use super::catalogue::value;
use super::{Caller, Desk};
use crate::reply::Reply;
use crate::request::{BindWish, HANDLE, SessionWish};

/// The agent of a session that names none (C-65).
const AGENT: &str = "cli";
/// The workspace archetype of a session that names none.
const ARCHETYPE: &str = "default";
/// Characters that a session's name may have.
const NAME_CHARS_MAX: usize = 128;
/// Sessions that one principal may have open at once.
const SESSIONS_MAX: usize = 64;

impl Desk {
    /// The session of that name, opened with the defaults when there is none.
    pub(super) async fn session(&self, caller: &Caller, name: &str) -> Result<Session, Refusal> {
        if let Some(session) = self.named(caller, name) {
            return Ok(session);
        }
        self.may_open(caller, name)?;
        let session = self.open_session(caller, &SessionWish::default()).await?;
        // Two requests may have opened one each: the first that is listed counts.
        let listed = {
            let mut sessions = self.sessions();
            let key = (caller.principal.clone(), name.to_owned());
            sessions
                .entry(key)
                .or_insert_with(|| session.clone())
                .clone()
        };
        if listed.id() != session.id() {
            session.end().await?;
        }
        Ok(listed)
    }

    /// Whether `caller` may have one more session, called `name`. Those that have ended are
    /// forgotten on the way.
    fn may_open(&self, caller: &Caller, name: &str) -> Result<(), Refusal> {
        let hides = name.chars().any(bindery::hides);
        if name.trim().is_empty() || hides || name.chars().count() > NAME_CHARS_MAX {
            let text = format!(
                "a session's name has 1 to {NAME_CHARS_MAX} visible characters and no control characters"
            );
            return Err(Refusal::new(ErrorType::Usage, text).with("limit", NAME_CHARS_MAX));
        }
        let mut sessions = self.sessions();
        sessions.retain(|_, session| session.is_open());
        let own = sessions.keys();
        let own = own.filter(|(principal, _)| *principal == caller.principal);
        if own.count() >= SESSIONS_MAX {
            let text = format!("{SESSIONS_MAX} sessions are open, end one of them first");
            return Err(Refusal::new(ErrorType::BudgetExhausted, text).with("limit", SESSIONS_MAX));
        }
        Ok(())
    }

    /// The session of that name, if it is open.
    fn named(&self, caller: &Caller, name: &str) -> Option<Session> {
        let key = (caller.principal.clone(), name.to_owned());
        let session = self.sessions().get(&key).cloned()?;
        session.is_open().then_some(session)
    }

    fn found(&self, caller: &Caller, name: &str) -> Result<Session, Refusal> {
        self.named(caller, name).ok_or_else(|| {
            Refusal::new(ErrorType::HandleInvalid, "no such session is open").with("session", name)
        })
    }

    pub(super) async fn open_session(
        &self,
        caller: &Caller,
        wish: &SessionWish,
    ) -> Result<Session, Refusal> {
        let place = RunWish {
            workspace: optional("--workspace", wish.workspace.as_deref())?,
            provider: optional("--provider", wish.provider.as_deref())?,
        };
        let spec = SessionSpec {
            who: Who {
                session: SessionId::from_random(random()?),
                run: optional("--run", wish.run.as_deref())?,
                principal: caller.principal.clone(),
                rights: caller.rights,
                tenant: caller.tenant.clone(),
                agent: word("--agent", wish.agent.as_deref().unwrap_or(AGENT))?,
                archetype: word(
                    "--archetype",
                    wish.archetype.as_deref().unwrap_or(ARCHETYPE),
                )?,
            },
            mode: wish.mode,
            allow: wish.allow.clone(),
            deny: wish.deny.clone(),
            project: self.place.project()?,
            stages: None,
        };
        self.host.session_in(spec, place).await
    }

    pub(super) async fn session_new(
        &self,
        caller: &Caller,
        name: &str,
        wish: &SessionWish,
    ) -> Result<Value, Refusal> {
        if self.named(caller, name).is_some() {
            let text = "a session of this name is open: end it, or choose another name";
            return Err(Refusal::new(ErrorType::Usage, text).with("session", name));
        }
        self.may_open(caller, name)?;
        let session = self.open_session(caller, wish).await?;
        let key = (caller.principal.clone(), name.to_owned());
        self.sessions().insert(key, session.clone());
        self.shown(name, session.id())
    }

    pub(super) fn session_show(&self, caller: &Caller, name: &str) -> Result<Value, Refusal> {
        self.shown(name, self.found(caller, name)?.id())
    }

    pub(super) async fn session_end(&self, caller: &Caller, name: &str) -> Result<Value, Refusal> {
        let session = self.found(caller, name)?;
        session.end().await?;
        self.forget(caller, name);
        Ok(json!({ "session": name, "id": session.id(), "ended": "completed" }))
    }

    pub(super) async fn session_cancel(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<Value, Refusal> {
        let session = self.found(caller, name)?;
        session.cancel().await?;
        self.forget(caller, name);
        Ok(json!({ "session": name, "id": session.id(), "ended": "cancelled" }))
    }

    fn forget(&self, caller: &Caller, name: &str) {
        let key = (caller.principal.clone(), name.to_owned());
        self.sessions().remove(&key);
    }

    /// The six fixed fields, and what goes with them: its run, where it has one.
    fn shown(&self, name: &str, id: SessionId) -> Result<Value, Refusal> {
        let found = self.look(|state| {
            let run = state.runs().find(|(_, run)| run.session == id);
            let run = run.map(|(run, standing)| (*run, standing.clone()));
            Some((state.session(id)?.clone(), run))
        });
        let (session, run) = found
            .flatten()
            .ok_or_else(|| Refusal::new(ErrorType::HandleInvalid, "no such session is open"))?;
        let run = run.map(|(run, standing)| {
            json!({
                "id": run,
                "workspace": standing.workspace,
                "provider": standing.provider,
                "status": standing.status,
                "steps": standing.steps,
                "done": standing.done,
            })
        });
        Ok(json!({ "name": name, "id": id, "session": value(&session)?, "run": run }))
    }

    pub(super) fn session_list(&self) -> Result<Value, Refusal> {
        let names: Vec<_> = {
            let sessions = self.sessions();
            sessions
                .iter()
                .map(|((_, name), session)| (session.id(), name.clone()))
                .collect()
        };
        let open = self
            .look(|state| {
                let all = state.sessions();
                all.map(|(id, session)| (*id, session.clone()))
                    .collect::<Vec<_>>()
            })
            .unwrap_or_default();
        let row = |(id, session)| {
            let name = names.iter().find(|(named, _)| *named == id);
            Ok(json!({ "name": name.map(|(_, name)| name), "id": id, "session": value(&session)? }))
        };
        let rows: Result<Vec<_>, Refusal> = open.into_iter().map(row).collect();
        let rows = rows?;
        Ok(json!({ "sessions": rows }))
    }

    pub(super) async fn bind(
        &self,
        caller: &Caller,
        session: &str,
        id: &str,
        wish: &BindWish,
    ) -> Result<Value, Refusal> {
        let request = bind_request(wish)?;
        let session = self.session(caller, session).await?;
        value(&session.bind(&self.capability(id)?, &request).await?)
    }

    pub(super) async fn release(
        &self,
        caller: &Caller,
        session: &str,
        handle: &str,
        reason: &str,
    ) -> Result<Value, Refusal> {
        let session = self.session(caller, session).await?;
        session.release(handle, reason).await?;
        Ok(json!({ "handle": handle, "status": "released", "reason": reason }))
    }

    pub(super) async fn renew(
        &self,
        caller: &Caller,
        session: &str,
        handle: &str,
        ttl_ms: u64,
    ) -> Result<Value, Refusal> {
        let session = self.session(caller, session).await?;
        let until = session.renew(handle, ttl_ms).await?;
        Ok(json!({ "handle": handle, "expires_at": until }))
    }

    pub(super) async fn call(
        &self,
        caller: &Caller,
        session: &str,
        (target, wish): (&str, &BindWish),
        (arguments, options): (&str, &CallOptions),
    ) -> Reply {
        let session = match self.session(caller, session).await {
            Ok(session) => session,
            Err(refusal) => return Reply::Refused(refusal),
        };
        if target.starts_with(HANDLE) {
            let reply = session.call(target, arguments, options).await;
            return Reply::Call(Box::new(reply));
        }
        let capability = match self.capability(target) {
            Ok(capability) => capability,
            Err(refusal) => return Reply::Refused(refusal),
        };
        // C-51: at stage 1 there is no bind; what is registered is called through the host's
        // own binding.
        if session.has_registered(&capability) {
            let reply = session
                .call_registered(&capability, arguments, options)
                .await;
            return Reply::Call(Box::new(reply));
        }
        match self
            .call_once(&session, &capability, wish, (arguments, options))
            .await
        {
            Ok(reply) => Reply::Call(Box::new(reply)),
            Err(refusal) => Reply::Refused(refusal),
        }
    }

    /// A binding for one call. A call that somebody has to approve keeps its binding: the
    /// approval is for exactly that one, and the repeated call goes through it.
    async fn call_once(
        &self,
        session: &Session,
        capability: &CapabilityId,
        wish: &BindWish,
        (arguments, options): (&str, &CallOptions),
    ) -> Result<bindery::Reply, Refusal> {
        let handle = match self.waiting(session, capability, wish) {
            Some(handle) => handle,
            None => session
                .bind(capability, &bind_request(wish)?)
                .await?
                .handle
                .to_string(),
        };
        let reply = session.call(&handle, arguments, options).await;
        let asked = matches!(&reply.run.outcome, Outcome::Refused(refusal)
            if refusal.kind() == ErrorType::ApprovalRequired);
        if asked {
            self.remember(&handle, wish);
        } else {
            // A binding that ended meanwhile is no reason to hide what the call came to.
            drop(session.release(&handle, "the one call is over").await);
        }
        Ok(reply)
    }

    /// Keeps how a binding was wished whose call waits for an answer; those that are over
    /// are forgotten.
    fn remember(&self, handle: &str, wish: &BindWish) {
        let live = self.look(|state| {
            let live = state
                .bindings()
                .filter(|(_, binding)| binding.ended.is_none());
            live.map(|(handle, _)| handle.to_string())
                .collect::<HashSet<_>>()
        });
        let live = live.unwrap_or_default();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|handle, _| live.contains(handle));
        waiting.insert(handle.to_owned(), wish.clone());
    }

    /// The binding of a call of `capability`, wished for in the same words, that waits for
    /// an answer, or got one. A call that is wished for otherwise is another question.
    fn waiting(
        &self,
        session: &Session,
        capability: &CapabilityId,
        wish: &BindWish,
    ) -> Option<String> {
        use bindery::ledger::words::ProposalStatus;
        let alike: HashSet<String> = {
            let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let alike = waiting.iter().filter(|(_, wished)| *wished == wish);
            alike.map(|(handle, _)| handle.clone()).collect()
        };
        let found = self.look(|state| {
            let open = state.proposals().find(|(_, proposal)| {
                let binding = proposal.asked.binding;
                let alike = binding.is_some_and(|handle| alike.contains(&handle.to_string()));
                let answerable = matches!(
                    proposal.status,
                    ProposalStatus::Pending | ProposalStatus::Approved
                );
                answerable
                    && alike
                    && proposal.asked.session == session.id()
                    && proposal.asked.capability.id == *capability
            });
            let handle = open.and_then(|(_, proposal)| proposal.asked.binding)?;
            let live = state.binding(handle)?.ended.is_none();
            live.then(|| handle.to_string())
        });
        found.flatten()
    }
}

/// What is wanted, in the words of the host.
pub(super) fn bind_request(wish: &BindWish) -> Result<BindRequest, Refusal> {
    let scope = wish
        .scope
        .clone()
        .map(serde_json::from_value::<ScopeRequest>);
    let scope = scope.transpose().map_err(|error| {
        Refusal::new(ErrorType::ArgumentsInvalid, format!("the scope: {error}"))
    })?;
    Ok(BindRequest {
        descriptor: wish.descriptor,
        implementation: wish.digest,
        generation: wish.generation,
        scope,
    })
}

fn word<T: std::str::FromStr<Err: std::fmt::Display>>(
    flag: &str,
    text: &str,
) -> Result<T, Refusal> {
    text.parse()
        .map_err(|error| Refusal::new(ErrorType::Usage, format!("`{flag} {text}`: {error}")))
}

fn optional<T: std::str::FromStr<Err: std::fmt::Display>>(
    flag: &str,
    text: Option<&str>,
) -> Result<Option<T>, Refusal> {
    text.map(|text| word(flag, text)).transpose()
}

fn random() -> Result<[u8; 16], Refusal> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).map_err(|error| {
        let text = "the host has no randomness";
        Refusal::new(ErrorType::EnvironmentUnavailable, text).for_operator(error.to_string())
    })?;
    Ok(bits)
}
