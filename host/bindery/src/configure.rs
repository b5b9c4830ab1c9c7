//! `configure`: policy replaced, stages switched, late-bound writes accepted; the operator's.
//!
//! Rule (C-53): rules, revocations and gates bite at once; stages, lists and modes are for
//! sessions that begin afterwards.

use std::sync::Arc;

use bindery_ledger::Line;
use bindery_ledger::event::{StageSwitched, WriteGateAccepted};
use bindery_ledger::words::{Operation, Trigger};
use bindery_policy::{Document, Policy, Stage, Stages};
use bindery_types::{Digest, ErrorType, Refusal};

use crate::admit::{Plan, RULED};
use crate::governor::{Governor, compiled, known_names};
use crate::{Host, Resources};

impl Host {
    /// Replaces policy, configuration and what stands behind its grants. Every live binding
    /// is decided again: same or wider, it is pinned anew and not widened; else it is stale.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::policy::Document;
    /// use bindery::{BindRequest, CallOptions, Outcome, Resources};
    ///
    /// let (host, session, answer) = stand().await?;
    /// let handle = session.bind(&answer, &BindRequest::default()).await?.handle.to_string();
    /// let nothing = Document::parse("bindery.toml", "")?;
    /// host.reload(nothing, Resources::default()).await?;
    /// let reply = session.call(&handle, "{}", &CallOptions::default()).await;
    /// assert!(matches!(reply.run.outcome, Outcome::Refused(_)), "nothing allows it any more");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `policy_malformed` when a name in the document is ambiguous or stands for nothing:
    /// or when it is of another environment; then everything stays as it was;
    /// `store_unavailable` when it cannot be recorded.
    pub async fn reload(
        &self,
        document: Document,
        resources: Resources,
    ) -> Result<Digest, Refusal> {
        let governor = &self.governor;
        {
            let _turn = governor.turn().await;
            let names = known_names(&governor.read().names());
            let own = governor.read().document.people.environment.clone();
            if document.people.environment != own {
                // C-09: sessions and bindings are of the environment that the host began in.
                let text = "another environment begins with another host";
                return Err(Refusal::new(ErrorType::PolicyMalformed, text)
                    .for_operator(format!("`[environment] id` was `{own}` when it started")));
            }
            // Strictly first: a document that is wrong replaces nothing.
            Policy::compile(document.clone(), &names)?;
            let policy = compiled(&document, &names)?;
            if governor.read().policy.version() != policy.version() {
                // Versions of the catalogue count the rules, and rules decide what an
                // examination comes to: both are recorded with them.
                let plan = Plan::under(governor, Arc::new(policy), RULED);
                let batch = plan.entries(governor)?;
                governor
                    .record(batch)
                    .await
                    .map_err(|error| error.refusal())?;
                plan.take_effect(governor, None);
            }
            let mut current = governor.write();
            current.document = document;
            current.resources = Arc::new(resources);
        }
        governor.look_again(Trigger::PolicyVersionChanged).await?;
        governor.stop_overtaken().await;
        Ok(governor.read().policy.version())
    }

    /// The configuration in force.
    pub fn document(&self) -> Document {
        self.governor.read().document.clone()
    }

    /// The digest of the rules in force.
    pub fn policy_version(&self) -> Digest {
        self.governor.read().policy.version()
    }

    /// The stages that the next session is opened with.
    pub fn stages(&self) -> Stages {
        let document = self.governor.read().policy.document().stages.on;
        self.governor.stages(document)
    }

    /// Switches a stage for sessions that are opened from now on.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::policy::Stage;
    ///
    /// let (host, early, _) = stand().await?;
    /// assert!(!host.stages().is_on(Stage::Probes));
    /// host.switch_stage(Stage::Probes, true, "").await?;
    /// assert!(host.stages().is_on(Stage::Probes));
    /// let evidence = host.switch_stage(Stage::Composition, true, "").await;
    /// assert!(evidence.is_err(), "programs over capabilities need a stated reason");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `policy_malformed` when a stage would be on without one that it needs (C-52), or
    /// `evidence` is empty for one that needs it.
    pub async fn switch_stage(
        &self,
        stage: Stage,
        on: bool,
        evidence: &str,
    ) -> Result<Stages, Refusal> {
        if on && stage.needs_evidence() && evidence.trim().is_empty() {
            let text = format!("stage {} is turned on with evidence only", stage.number());
            return Err(Refusal::new(ErrorType::PolicyMalformed, text));
        }
        let stages = self.stages().with(stage, on).map_err(|missing| {
            Refusal::new(ErrorType::PolicyMalformed, missing.to_string())
                .with("stage", missing.stage.number())
                .with("missing", missing.missing.number())
        })?;
        let event = StageSwitched {
            stage: stage.number(),
            on,
            evidence: Line::cut(evidence),
        };
        self.configured(event, "the operator switched a stage")
            .await?;
        Ok(stages)
    }

    /// Accepts that late-bound capabilities may write (C-54).
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// let (host, _, _) = stand().await?;
    /// assert!(host.accept_writes("").await.is_err());
    /// host.accept_writes("the evaluation of last week").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `usage` without evidence, `store_unavailable` when it cannot be recorded.
    pub async fn accept_writes(&self, evidence: &str) -> Result<(), Refusal> {
        if evidence.trim().is_empty() {
            let text = "say on what evidence late-bound writes are accepted";
            return Err(Refusal::new(ErrorType::Usage, text));
        }
        let event = WriteGateAccepted {
            evidence: Line::cut(evidence),
        };
        self.configured(event, "the operator accepted late-bound writes")
            .await
    }

    async fn configured(
        &self,
        event: impl Into<bindery_ledger::event::Event>,
        reason: &str,
    ) -> Result<(), Refusal> {
        let governor = &self.governor;
        let told = governor.own(Operation::Configure, reason);
        let entry = governor.entry(&told, event);
        governor
            .record(vec![entry])
            .await
            .map_err(|error| error.refusal())?;
        Ok(())
    }
}

impl Governor {
    /// The document's stages, as the operator has switched them since. A switch that does
    /// not fit the document any more is passed over: fewer stages, never more.
    pub(crate) fn stages(&self, document: Stages) -> Stages {
        let switched = self.look(|state| {
            let all = Stage::ALL.iter();
            all.filter_map(|stage| Some((*stage, state.stage(stage.number())?)))
                .collect::<Vec<_>>()
        });
        let switched = switched.unwrap_or_default();
        let (on, off): (Vec<_>, Vec<_>) = switched.into_iter().partition(|(_, on)| *on);
        // Prerequisites have lower numbers (C-52): on from below, off from above.
        let ordered = on.into_iter().chain(off.into_iter().rev());
        ordered.fold(document, |stages, (stage, on)| {
            stages.with(stage, on).unwrap_or(stages)
        })
    }
}
