//! `session`: one admitted use of the environment, with six fields that stay as they are.
//!
//! Rule (R-299, R-081): principal, tenant, agent, archetype, mode and the settings of the
//! moment are fixed here by the host; nothing a model does moves them.

use std::collections::BTreeMap;
use std::sync::Arc;

use bindery_ledger::event::{BudgetSet, SessionOpened};
use bindery_ledger::words::{Basis, Operation, SessionEnd};
use bindery_ledger::{Actor, BucketKey};
use bindery_policy::{Policy, SessionSpec, Stage, Who};
use bindery_types::{Limit, Refusal, RunId, SessionId, canonical_digest};

use crate::Host;
use crate::clock::random;
use crate::drawn::AllDrawn;
use crate::facts::{meter_of, scope_of};
use crate::governor::{Governor, Told, known_names};
use crate::held::Opened;
use crate::runs::{Planned, RunWish, may_run, workspace_of};

/// How long a session lives unless it is ended.
pub(crate) const SESSION_MS: u64 = 24 * 3_600_000;

/// An open session. Clones are the same session; dropping one ends nothing.
#[derive(Clone)]
pub struct Session {
    pub(crate) governor: Arc<Governor>,
    pub(crate) id: SessionId,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// Opens a session for whoever `spec` names.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::SessionId;
    /// use bindery::policy::{SessionSpec, Who};
    ///
    /// let (host, _, _) = stand().await?;
    /// let spec = SessionSpec {
    ///     who: Who {
    ///         session: SessionId::from_random([2; 16]),
    ///         run: None,
    ///         principal: "token:model".parse().expect("a name"),
    ///         rights: bindery::Rights::Model,
    ///         tenant: "local".parse().expect("a name"),
    ///         agent: "tester".parse().expect("a name"),
    ///         archetype: "default".parse().expect("a name"),
    ///     },
    ///     mode: None,
    ///     allow: None,
    ///     deny: Vec::new(),
    ///     project: None,
    ///     stages: None,
    /// };
    /// let session = host.session(spec).await?;
    /// assert!(session.is_open());
    /// session.end().await?;
    /// assert!(!session.is_open());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `policy_malformed` for lists that cannot be resolved, `permission_denied` for a mode
    /// above the ceiling, `environment_unavailable` without an admitted environment,
    /// `store_unavailable` when it cannot be recorded.
    pub async fn session(&self, spec: SessionSpec) -> Result<Session, Refusal> {
        self.session_in(spec, RunWish::default()).await
    }

    /// The same, with its run where `wish` says.
    ///
    /// # Errors
    ///
    /// As [`Host::session`], and `run_transition_invalid` for a run that was asked for and
    /// that the agent may not create there (R-577).
    pub async fn session_in(&self, spec: SessionSpec, wish: RunWish) -> Result<Session, Refusal> {
        let governor = &self.governor;
        governor.expire().await?;
        let id = spec.who.session;
        let (opened, batch) = prepared(governor, spec, wish)?;
        governor
            .record(batch)
            .await
            .map_err(|error| error.refusal())?;
        governor.write().sessions.insert(id, Arc::new(opened));
        let session = Session {
            governor: Arc::clone(governor),
            id,
        };
        session.bind_registered().await?;
        Ok(session)
    }
}

fn prepared(
    governor: &Governor,
    spec: SessionSpec,
    wish: RunWish,
) -> Result<(Opened, Vec<bindery_ledger::Entry>), Refusal> {
    let current = governor.read();
    let policy = &current.policy;
    let names = known_names(&current.names());
    // Every name in the document has to stand for something by now (C-49).
    Policy::compile(current.document.clone(), &names)?;
    let asked = spec.who.run.is_some() || wish != RunWish::default();
    let run = planned(&spec.who, wish)?;
    let spec = SessionSpec {
        who: Who {
            run: Some(run.run),
            ..spec.who
        },
        // Fixed from here on, whatever is switched later (C-53).
        stages: spec
            .stages
            .or(Some(governor.stages(policy.document().stages.on))),
        ..spec
    };
    let session = policy.open(spec.clone(), &names)?;
    let expires_at = governor.clock.now().after_ms(SESSION_MS);
    let who = session.who();
    let actor = Actor {
        principal: who.principal.clone(),
        rights: who.rights,
    };
    let place = governor.look(|state| {
        let environment = state.environment()?;
        Some((environment.id.clone(), environment.generation))
    });
    let (environment, generation) = place.flatten().ok_or_else(|| {
        Refusal::new(
            bindery_types::ErrorType::EnvironmentUnavailable,
            "no environment is admitted",
        )
    })?;
    let told = Told {
        session: Some(who.session),
        ..governor.own(Operation::Bootstrap, "a session was opened")
    };
    let settings = serde_json::to_value(policy.document()).unwrap_or_default();
    let stages = Stage::ALL
        .iter()
        .filter(|stage| session.stages().is_on(**stage));
    let event = SessionOpened {
        session: who.session,
        environment,
        generation,
        principal: who.principal.clone(),
        rights: who.rights,
        tenant: who.tenant.clone(),
        agent: who.agent.clone(),
        archetype: who.archetype.clone(),
        mode: session.mode(),
        configuration: canonical_digest(&settings),
        catalog_version: current.version(),
        policy_version: policy.version(),
        stages: stages.map(|stage| stage.number()).collect(),
        expires_at,
    };
    let mut batch = vec![governor.entry(&told, event)];
    let opened = Opened {
        drawn: Arc::new(AllDrawn::of(policy, session.who())),
        spec,
        session,
        actor,
        expires_at,
        run,
    };
    batch.extend(budgets(governor, policy, opened.session.who(), &told).into_values());
    if asked || may_run(policy, opened.session.who()) {
        batch.extend(governor.run_created(&opened, &told));
    }
    Ok((opened, batch))
}

/// The session's run: the one that it names, else one of its own (C-19).
fn planned(who: &Who, wish: RunWish) -> Result<Planned, Refusal> {
    Ok(Planned {
        run: match who.run {
            Some(run) => run,
            None => RunId::from_random(random()?),
        },
        workspace: match wish.workspace {
            Some(workspace) => workspace,
            None => workspace_of(&who.archetype)?,
        },
        provider: wish.provider,
    })
}

/// The aggregate budgets and rates that a session of `who` draws from, as the ledger
/// enforces them (case G4), where the ledger has them otherwise: those of its principal and
/// the environment once, by their first session, and all of them when policy is replaced.
pub(crate) fn budgets(
    governor: &Governor,
    policy: &Policy,
    who: &Who,
    told: &Told<'_>,
) -> BTreeMap<BucketKey, bindery_ledger::Entry> {
    let limits = &policy.document().limits;
    let totals = limits.aggregates.iter().flat_map(|(subject, counters)| {
        let totals = counters.iter();
        totals.map(|(counter, limit)| match limit {
            Limit::Finite(max) => (*subject, *counter, None, Some(*max)),
            Limit::Unlimited => (*subject, *counter, None, None),
        })
    });
    let rates = limits.rates.iter().flat_map(|(subject, counters)| {
        counters
            .iter()
            .map(|(counter, rate)| (*subject, *counter, Some(rate.per_ms), Some(rate.max)))
    });
    let set = totals
        .chain(rates)
        .filter_map(|(subject, counter, window_ms, limit)| {
            let bucket = BucketKey {
                scope: scope_of(subject, who),
                meter: meter_of(counter)?,
                window_ms,
            };
            let set = governor.look(|state| state.bucket(&bucket).map(|known| known.limit));
            if set.flatten() == limit {
                return None;
            }
            let event = BudgetSet {
                bucket: bucket.clone(),
                limit,
            };
            Some((bucket, governor.entry(told, event)))
        });
    set.collect()
}

impl Session {
    /// Its id.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Whether it has neither been ended nor expired.
    pub fn is_open(&self) -> bool {
        let known = self.governor.look(|state| state.session(self.id).is_some());
        known == Some(true) && self.opened().is_ok()
    }

    /// Ends it, and what still runs in it; its handles mean nothing any more.
    ///
    /// # Errors
    ///
    /// `handle_invalid` when it was ended before.
    pub async fn end(&self) -> Result<(), Refusal> {
        self.governor
            .close_session(self.id, SessionEnd::Completed)
            .await
    }

    /// Ends the calls that run in it, and it with them (R-190).
    ///
    /// # Errors
    ///
    /// As [`Session::end`].
    pub async fn cancel(&self) -> Result<(), Refusal> {
        self.governor.stop_session(self.id).await;
        self.governor
            .close_session(self.id, SessionEnd::Cancelled)
            .await
    }

    pub(crate) fn opened(&self) -> Result<Arc<Opened>, Refusal> {
        let opened = self.governor.read().sessions.get(&self.id).cloned();
        let over = || Refusal::new(bindery_types::ErrorType::HandleInvalid, "no such session");
        let opened = opened.ok_or_else(over)?;
        if opened.expires_at <= self.governor.clock.now() {
            return Err(over());
        }
        Ok(opened)
    }

    pub(crate) fn told<'a>(
        &'a self,
        opened: &'a Opened,
        operation: Operation,
        reason: &'a str,
    ) -> Told<'a> {
        Told {
            actor: &opened.actor,
            session: Some(self.id),
            operation,
            basis: Basis::Policy,
            provider: &self.governor.own,
            reason,
        }
    }
}
