//! The operator's verbs: approve, deny, revoke, reconcile. No front that a model can reach
//! has any of them (architecture § 7).

use bindery_ledger::event::{
    CallReconciled, ProposalApproved, ProposalDenied, RevocationLifted, Revoked,
};
use bindery_ledger::words::{Finding, Operation};
use bindery_ledger::{Line, Proposal, Query, Record, Target};
use bindery_types::{CallId, ErrorType, ProposalId, Refusal, SessionId};

use crate::Host;
use crate::governor::Told;

impl Host {
    /// Every proposal of every open session.
    pub fn proposals(&self) -> Vec<Proposal> {
        let all = self.governor.look(|state| {
            state
                .proposals()
                .map(|(_, proposal)| proposal.clone())
                .collect::<Vec<_>>()
        });
        all.unwrap_or_default()
    }

    /// Says yes to one action (R-562); nothing starts: the caller repeats its call.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::{BindRequest, CallOptions, Outcome};
    ///
    /// let (host, session, answer) = stand().await?;
    /// host.reload(asking()?, bindery::Resources::default()).await?;
    /// let handle = session.bind(&answer, &BindRequest::default()).await?.handle.to_string();
    /// let options = CallOptions::default();
    /// let asked = session.call(&handle, "{}", &options).await;
    /// let proposal = asked.proposal.expect("somebody has to be asked");
    /// host.approve(proposal, "looked at").await?;
    /// let reply = session.call(&handle, "{}", &options).await;
    /// assert_eq!(reply.run.outcome, Outcome::Value("42".to_owned()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `approval_required` when it is not pending any more, `binding_stale` and the like
    /// when what it was about has changed.
    pub async fn approve(&self, proposal: ProposalId, reason: &str) -> Result<(), Refusal> {
        self.expire().await?;
        let session = self.session_of(proposal)?;
        let told = self.operator(Operation::Approve, reason, Some(session));
        let entry = self.governor.entry(&told, ProposalApproved { proposal });
        self.governor
            .record(vec![entry])
            .await
            .map_err(|error| error.refusal())?;
        self.governor.run_of_session_follows(session)
    }

    /// Says no.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::{BindRequest, CallOptions, Outcome};
    ///
    /// let (host, session, answer) = stand().await?;
    /// host.reload(asking()?, bindery::Resources::default()).await?;
    /// let handle = session.bind(&answer, &BindRequest::default()).await?.handle.to_string();
    /// let options = CallOptions::default();
    /// let asked = session.call(&handle, "{}", &options).await;
    /// let proposal = asked.proposal.expect("somebody has to be asked");
    /// host.deny(proposal, "not now").await?;
    /// assert!(host.approve(proposal, "after all").await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Host::approve`].
    pub async fn deny(&self, proposal: ProposalId, reason: &str) -> Result<(), Refusal> {
        self.expire().await?;
        let session = self.session_of(proposal)?;
        let told = self.operator(Operation::Approve, reason, Some(session));
        let denied = ProposalDenied {
            proposal,
            note: Some(Line::cut(reason)),
        };
        let entry = self.governor.entry(&told, denied);
        self.governor
            .record(vec![entry])
            .await
            .map_err(|error| error.refusal())?;
        self.governor.run_of_session_follows(session)
    }

    /// Withdraws authority: bindings that are hit end in this record; no effect starts
    /// through them after it returns (I6).
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::ledger::Target;
    /// use bindery::{BindRequest, CallOptions, ErrorType, Outcome};
    ///
    /// let (host, session, answer) = stand().await?;
    /// let handle = session.bind(&answer, &BindRequest::default()).await?.handle.to_string();
    /// host.revoke(Target::All, "an incident").await?;
    /// let reply = session.call(&handle, "{}", &CallOptions::default()).await;
    /// let Outcome::Refused(refusal) = reply.run.outcome else {
    ///     unreachable!("everything was withdrawn")
    /// };
    /// assert_eq!(refusal.kind(), ErrorType::CapabilityRevoked);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `handle_invalid` for a binding that is not there.
    pub async fn revoke(&self, target: Target, reason: &str) -> Result<(), Refusal> {
        let told = self.operator(Operation::Revoke, reason, None);
        let entry = self.governor.entry(&told, Revoked { target });
        self.governor
            .record(vec![entry])
            .await
            .map_err(|error| error.refusal())?;
        self.governor.stop_overtaken().await;
        self.governor
            .questions_over(self.governor.clock.now())
            .await
    }

    /// Lifts a withdrawal; what it ended stays ended.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::BindRequest;
    /// use bindery::ledger::Target;
    ///
    /// let (host, session, answer) = stand().await?;
    /// host.revoke(Target::All, "an incident").await?;
    /// assert!(session.bind(&answer, &BindRequest::default()).await.is_err());
    /// host.lift(Target::All, "it is over").await?;
    /// session.bind(&answer, &BindRequest::default()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `handle_invalid` when no such withdrawal is in force.
    pub async fn lift(&self, target: Target, reason: &str) -> Result<(), Refusal> {
        let told = self.operator(Operation::Revoke, reason, None);
        let entry = self.governor.entry(&told, RevocationLifted { target });
        self.governor
            .record(vec![entry])
            .await
            .map_err(|error| error.refusal())?;
        Ok(())
    }

    /// Says what an uncertain call did (I17).
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::ledger::words::Finding;
    /// use bindery::{BindRequest, CallOptions, ErrorType};
    ///
    /// let (host, session, answer) = stand().await?;
    /// let handle = session.bind(&answer, &BindRequest::default()).await?.handle.to_string();
    /// let reply = session.call(&handle, "{}", &CallOptions::default()).await;
    /// let known = host.reconcile(reply.call, Finding::Done, "its log").await.unwrap_err();
    /// assert_eq!(known.kind(), ErrorType::HandleInvalid, "how it ended is known");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `handle_invalid` when the call is not uncertain.
    pub async fn reconcile(
        &self,
        call: CallId,
        finding: Finding,
        evidence: &str,
    ) -> Result<(), Refusal> {
        let session = self
            .governor
            .look(|state| state.call(call).map(|call| call.session));
        let told = self.operator(Operation::Reconcile, evidence, session.flatten());
        let reconciled = CallReconciled {
            call,
            finding,
            evidence: Line::cut(evidence),
        };
        let entry = self.governor.entry(&told, reconciled);
        self.governor
            .record(vec![entry])
            .await
            .map_err(|error| error.refusal())?;
        Ok(())
    }

    /// The records about something, or of a session.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::ledger::Query;
    ///
    /// let (host, session, _) = stand().await?;
    /// let of_session = host.records(&Query::Session(session.id()))?;
    /// assert_eq!(of_session[0].entry.event.kind(), "session_opened");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `store_unavailable` when they cannot be read.
    pub fn records(&self, query: &Query) -> Result<Vec<Record>, Refusal> {
        self.governor
            .journal
            .records(query)
            .map_err(|error| error.refusal())
    }

    fn session_of(&self, proposal: ProposalId) -> Result<SessionId, Refusal> {
        let found = self.governor.look(|state| {
            state
                .proposal(proposal)
                .map(|proposal| proposal.asked.session)
        });
        found
            .flatten()
            .ok_or_else(|| Refusal::new(ErrorType::HandleInvalid, "no such proposal"))
    }

    fn operator<'a>(
        &'a self,
        operation: Operation,
        reason: &'a str,
        session: Option<SessionId>,
    ) -> Told<'a> {
        Told {
            session,
            ..self.governor.own(operation, reason)
        }
    }
}
