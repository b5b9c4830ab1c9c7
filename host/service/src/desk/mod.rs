//! The desk: one host with its record, answering requests one at a time or many at once.
//!
//! Rule: whose request it is comes from the connection or the process, never from the
//! request; rights are looked at before anything else is (architecture § 7).

mod catalogue;
mod open;
mod operate;
mod record;
mod session;

pub use open::store;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bindery::ledger::Journal;
use bindery::{
    Cancel, CapabilityId, ErrorType, Host, Moment, Principal, Refusal, Rights, Session, Tenant,
};
use tokio::sync::Notify;

use crate::place::Place;
use crate::reply::Reply;
use crate::request::{BindWish, Envelope, Request, capability};
use crate::resources::Opener;
use crate::shelf::Shelf;

/// Who asks, as the system says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Under this name.
    pub principal: Principal,
    /// With these rights.
    pub rights: Rights,
    /// On whose data.
    pub tenant: Tenant,
}

impl Caller {
    /// The user of this system with the number `uid`: an operator of its own hosts (C-65).
    ///
    /// # Errors
    ///
    /// `internal` when that makes no name.
    pub fn local(uid: u32) -> Result<Self, Refusal> {
        let broken = |_| Refusal::new(ErrorType::Internal, "the user's number makes no name");
        Ok(Self {
            principal: format!("local:{uid}").parse().map_err(broken)?,
            rights: Rights::Operator,
            tenant: "local".parse().map_err(broken)?,
        })
    }
}

/// What a desk keeps of what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recording {
    /// The store of its place, which it owns.
    Store,
    /// Nothing: for questions about configuration and components.
    Nothing,
    /// Nothing, and the store of its place is read.
    Read,
}

/// A host with its record, and the sessions that were opened by name.
pub struct Desk {
    pub(crate) host: Host,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) place: Place,
    pub(crate) shelf: Shelf,
    pub(crate) recording: Recording,
    /// Opens folders again when the configuration is read again.
    pub(crate) opener: Opener,
    /// Components of the shelf that could not be admitted again, and why.
    pub(crate) problems: Vec<String>,
    pub(crate) started_at: Moment,
    /// Guards the map only.
    sessions: Mutex<HashMap<(Principal, String), Session>>,
    /// How the bindings were wished for whose calls wait for an answer, by handle.
    waiting: Mutex<HashMap<String, BindWish>>,
    /// Held while the shelf is changed.
    shelving: tokio::sync::Mutex<()>,
    /// Whether it was said that the record takes nothing any more.
    told: AtomicBool,
    /// Told when the host is to end.
    pub(crate) stop: Notify,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk")
            .field("place", &self.place)
            .field("recording", &self.recording)
            .finish_non_exhaustive()
    }
}

impl Desk {
    /// Answers one request; `cancel` ends a call that it started.
    pub async fn answer(&self, user: &Caller, envelope: &Envelope, cancel: &Cancel) -> Reply {
        let request = &envelope.request;
        let caller = match self.acting(user, envelope.acting_as.as_ref()) {
            Ok(caller) => caller,
            Err(refusal) => return Reply::Refused(refusal),
        };
        if request.rights() == Rights::Operator && caller.rights != Rights::Operator {
            let text = "only an operator may ask for this";
            return Reply::Refused(
                Refusal::new(ErrorType::PermissionDenied, text).with("verb", request.verb()),
            );
        }
        let reply = self
            .serve(&caller, &envelope.session, request, cancel)
            .await;
        self.tell_once();
        match caller.rights {
            Rights::Operator => reply,
            Rights::Model => reply.for_model(),
        }
    }

    /// The user of the command, or a principal of the configuration in its place (C-65).
    fn acting(&self, user: &Caller, wanted: Option<&Principal>) -> Result<Caller, Refusal> {
        let Some(wanted) = wanted.filter(|wanted| **wanted != user.principal) else {
            return Ok(user.clone());
        };
        if user.rights != Rights::Operator {
            let text = "only an operator acts as somebody else";
            return Err(Refusal::new(ErrorType::PermissionDenied, text));
        }
        let document = self.host.document();
        let known = document.people.principals.get(wanted);
        let known = known.ok_or_else(|| {
            Refusal::new(ErrorType::NotAuthenticated, "no such principal").for_operator(format!(
                "there is no `[principals.\"{wanted}\"]` in {}",
                self.place.config().display()
            ))
        })?;
        Ok(Caller {
            principal: wanted.clone(),
            rights: known.rights,
            tenant: known.tenant.clone(),
        })
    }

    async fn serve(
        &self,
        caller: &Caller,
        session: &str,
        request: &Request,
        cancel: &Cancel,
    ) -> Reply {
        match request {
            Request::Environment => self.environment(caller, session).await.into(),
            Request::Describe { id } => self.describe(caller, session, id).await.into(),
            Request::Validate { id } => self.validate(caller, session, id).await.into(),
            Request::Bind { id, wish } => self.bind(caller, session, id, wish).await.into(),
            Request::Call {
                target,
                arguments,
                idempotency_key,
                wish,
            } => {
                let options = match options(idempotency_key.as_deref(), cancel) {
                    Ok(options) => options,
                    Err(refusal) => return Reply::Refused(refusal),
                };
                self.call(caller, session, (target, wish), (arguments, &options))
                    .await
            }
            Request::Release { handle, reason } => {
                self.release(caller, session, handle, reason).await.into()
            }
            Request::SessionNew { wish } => self.session_new(caller, session, wish).await.into(),
            Request::SessionShow => self.session_show(caller, session).into(),
            Request::SessionEnd => self.session_end(caller, session).await.into(),
            Request::SessionCancel => self.session_cancel(caller, session).await.into(),
            Request::SessionList => self.session_list().into(),
            Request::RunMove { run, to, reason } => self.run_move(run, to, reason).await.into(),
            Request::Renew { handle, ttl_ms } => {
                self.renew(caller, session, handle, *ttl_ms).await.into()
            }
            Request::Invalidate {
                subject,
                finding,
                evidence,
            } => self.invalidate(subject, finding, evidence).await.into(),
            Request::Review {
                id,
                trust,
                evidence,
            } => self.review(id, *trust, evidence).await.into(),
            Request::Admit { .. } => self.admit(request).await.into(),
            Request::Ledger { id, from, count } => self.ledger(id.as_deref(), *from, *count).into(),
            Request::Binding { handle } => self.binding(handle).into(),
            Request::Trace { id } => self.trace(id.as_deref()).into(),
            Request::Actions { run } => self.actions(run.as_deref()).into(),
            Request::Proposals { id } => {
                if let Err(refusal) = self.host.expire().await {
                    return Reply::Refused(refusal);
                }
                self.proposals(*id).into()
            }
            Request::Approve { id, reason } => self.approve(*id, reason).await.into(),
            Request::Deny { id, reason } => self.deny(*id, reason).await.into(),
            Request::Revoke {
                target,
                reason,
                lift,
            } => self.revoke(target, reason, *lift).await.into(),
            Request::Reconcile {
                call,
                done,
                evidence,
            } => self.reconcile(call, *done, evidence).await.into(),
            Request::Stages => self.stages().into(),
            Request::StageSet {
                stage,
                on,
                evidence,
            } => self.stage_set(*stage, *on, evidence).await.into(),
            Request::ConfigReload => self.reload().await.into(),
            Request::AcceptWrites { evidence } => self.accept_writes(evidence).await.into(),
            Request::Explain { .. } => self.explain(caller, request).await,
            Request::Status => self.status().into(),
            Request::Stop => self.ask_to_stop().into(),
        }
    }

    /// A capability by id or by public name; what is neither is absent (C-48). An operator
    /// is told which entries a name that several share could mean.
    fn capability(&self, text: &str) -> Result<CapabilityId, Refusal> {
        let names = self.host.names();
        if let Some(id) = capability(text, names.clone()) {
            return Ok(id);
        }
        let said = "no such capability can be called here";
        let refusal = Refusal::new(ErrorType::CapabilityUnavailable, said);
        let alike = names.iter().filter(|(_, name)| {
            let shared = name.strip_prefix(text);
            shared.is_some_and(|rest| rest.starts_with('_'))
        });
        let alike: Vec<String> = alike.map(|(id, name)| format!("`{name}` ({id})")).collect();
        Err(if alike.is_empty() {
            refusal
        } else {
            refusal.for_operator(format!("do you mean {}", alike.join(" or ")))
        })
    }

    /// A record that takes nothing any more is told of in the log, once.
    fn tell_once(&self) {
        if let Err(error) = self.journal.standing()
            && !self.told.swap(true, Ordering::Relaxed)
        {
            tracing::error!(%error, "nothing is recorded any more: see to the disk and start this host again");
        }
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, HashMap<(Principal, String), Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn options(key: Option<&str>, cancel: &Cancel) -> Result<bindery::CallOptions, Refusal> {
    let key = key
        .map(str::parse)
        .transpose()
        .map_err(|error| Refusal::new(ErrorType::Usage, format!("`--idempotency-key`: {error}")))?;
    Ok(bindery::CallOptions {
        idempotency_key: key,
        cancel: cancel.clone(),
    })
}
