//! `bind`: a leased, scoped, pinned reference to one capability, if policy grants it.
//!
//! Rule (R-054 … R-058, R-472): a handle is random, useless in another session, no
//! credential and no approval. A refused bind leaves no partial state (I42).

use std::sync::Arc;

use bindery_ledger::event::{BindRefused, BindingOpened, Pins};
use bindery_ledger::words::{Operation, Route};
use bindery_ledger::{CapabilityKey, Line, Summary};
use bindery_policy::{Ask, Decision, Grant, Ruling, ScopeRequest, Stage, Verb};
use bindery_types::{
    BindingHandle, CapabilityId, Digest, ErrorType, Moment, Refusal, Risk, SideEffectClass,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::compose::Planned;
use crate::decision::decision_event;
use crate::facts::{About, decided, key_of, looked_at};
use crate::held::{Callees, Held, Opened};
use crate::session::Session;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct BindRequest {
    /// The descriptor it was described by; `descriptor_mismatch` when it is not current.
    pub descriptor: Option<Digest>,
    /// The implementation that is wanted; a model has to say it (R-861).
    pub implementation: Option<Digest>,
    /// The environment generation the request speaks of.
    pub generation: Option<u64>,
    /// The scope that is wanted; none for the least (R-495).
    pub scope: Option<ScopeRequest>,
}

/// A live binding, as its session may see it.
#[derive(Clone, Debug, Serialize)]
pub struct Bound {
    /// The handle.
    pub handle: BindingHandle,
    /// The capability.
    pub capability_id: CapabilityId,
    /// What runs, exactly.
    pub implementation_digest: Digest,
    /// What describes it.
    pub descriptor_digest: Digest,
    /// What it may touch, by grant.
    pub scope: Value,
    /// The limits of each call.
    pub limits: Value,
    /// The host's risk under this scope.
    pub risk: Risk,
    /// The kind of effect under this scope.
    pub side_effect_class: SideEffectClass,
    /// From when on it is not callable.
    pub expires_at: Moment,
}

impl Session {
    /// Asks for a binding of `capability`.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::BindRequest;
    ///
    /// let (_, session, answer) = stand().await?;
    /// let bound = session.bind(&answer, &BindRequest::default()).await?;
    /// assert_eq!(bound.capability_id, answer);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `capability_unavailable` for what is absent or hidden, alike; `binding_denied`,
    /// `descriptor_mismatch` and the other words of the decision, of which the operator's
    /// record has every axis.
    pub async fn bind(
        &self,
        capability: &CapabilityId,
        request: &BindRequest,
    ) -> Result<Bound, Refusal> {
        let bound = self.bind_asked(capability, request).await;
        bound.map_err(|refusal| self.offered(refusal, Some(capability)))
    }

    async fn bind_asked(
        &self,
        capability: &CapabilityId,
        request: &BindRequest,
    ) -> Result<Bound, Refusal> {
        let opened = self.opened()?;
        opened.session.stages().require(Stage::Bindings)?;
        self.run_stands(&opened)?;
        let found = self.decide_bind(capability, request)?;
        let grant = match found.decision.ruling {
            Ruling::Allow(ref grant) => grant,
            Ruling::Ask(_) | Ruling::Deny(_) => return Err(self.refuse_bind(found).await?),
        };
        let mut planned = match self.planned(&found, grant) {
            Ok(planned) => planned,
            Err(refusal) => {
                let why = refusal.operator().unwrap_or_default().to_owned();
                self.record_refused_bind(&found, &refusal, &why).await?;
                return Err(refusal);
            }
        };
        let registered = self.is_registered(capability);
        for binding in planned.iter_mut().filter(|_| registered) {
            // C-54: the gate of what is found at run time does not concern it.
            binding.event.route = Route::Static;
        }
        for binding in &planned {
            if let Some((refusal, why)) = self.bind_vetoed(&binding.capability).await {
                self.record_refused_bind(&found, &refusal, &why).await?;
                return Err(refusal);
            }
        }
        let own = planned.last().ok_or_else(crate::call::lost)?;
        let bound = bound(own.handle, grant, &own.held);
        self.record_opened(&opened, planned).await?;
        Ok(bound)
    }

    /// I8, I11: the ledger looks at pins, policy and switches again; a change since the
    /// decision is a refusal here, and nothing was opened.
    pub(crate) async fn record_opened(
        &self,
        opened: &Opened,
        planned: Vec<Planned>,
    ) -> Result<(), Refusal> {
        let told = self.told(opened, Operation::Bind, "policy granted the binding");
        let mut batch = Vec::new();
        let mut held = Vec::new();
        for binding in planned {
            batch.push(self.governor.entry(&told, binding.event));
            held.push((binding.handle, Arc::new(binding.held)));
        }
        self.governor
            .record(batch)
            .await
            .map_err(|error| error.refusal())?;
        self.governor.write().bindings.extend(held);
        Ok(())
    }

    pub(crate) fn decide_bind(
        &self,
        capability: &CapabilityId,
        request: &BindRequest,
    ) -> Result<Found, Refusal> {
        let opened = self.opened()?;
        let current = self.governor.read();
        let row = current.catalogue.get(capability);
        let row = row.and_then(|row| Some((row, &**current.powers.get(row.descriptor.id())?)));
        let about = About {
            policy: &current.policy,
            opened: &opened,
            row,
            binding: None,
            credentials: current.resources.credentials(),
        };
        let ask = Ask {
            verb: Verb::Bind,
            session: &opened.session,
            capability,
            generation: request.generation,
            implementation: request.implementation,
            descriptor: request.descriptor,
            scope: request.scope.as_ref(),
            arguments: None,
            arguments_digest: None,
            now: self.governor.clock.now(),
        };
        let stand_in = match row {
            Some(_) => None,
            None => current.catalogue.entries().next(),
        };
        let decision = self.governor.look(|state| {
            let powers = stand_in.and_then(|row| current.powers.get(row.descriptor.id()));
            if let Some((row, powers)) = stand_in.zip(powers) {
                looked_at(state, &opened, (row, powers));
            }
            decided(state, &about, &ask)
        });
        let decision = decision
            .ok_or_else(|| Refusal::new(ErrorType::Internal, "the ledger shows no state"))?;
        let granted = matches!(decision.ruling, Ruling::Allow(_));
        // Digests of schemas take the longer the larger those are: made of what is granted,
        // so that they tell nothing of what is hidden (I27).
        let schemas = row.filter(|_| granted);
        Ok(Found {
            key: row.map(|(row, _)| key_of(row)),
            asked: capability.clone(),
            schemas: schemas.map(|(row, _)| row.descriptor.schema_refs()),
            decision,
        })
    }

    async fn refuse_bind(&self, found: Found) -> Result<Refusal, Refusal> {
        let refusal = found.decision.refusal().unwrap_or_else(|| {
            Refusal::new(ErrorType::BindingDenied, "the binding is not granted")
        });
        let reason = "policy refused the binding";
        self.record_refused_bind(&found, &refusal, reason).await?;
        Ok(refusal)
    }

    pub(crate) async fn record_refused_bind(
        &self,
        found: &Found,
        refusal: &Refusal,
        reason: &str,
    ) -> Result<(), Refusal> {
        let opened = self.opened()?;
        let refused = BindRefused {
            capability: found.key.clone().unwrap_or(CapabilityKey {
                id: found.asked.clone(),
                implementation: None,
            }),
            error: refusal.kind(),
            decision: Some(decision_event(&found.decision)),
        };
        let told = self.told(&opened, Operation::Bind, reason);
        let entry = self.governor.entry(&told, refused);
        self.governor
            .record(vec![entry])
            .await
            .map_err(|error| error.refusal())?;
        Ok(())
    }

    pub(crate) fn open(
        &self,
        handle: BindingHandle,
        (grant, found): (&Grant, &Found),
        (callees, risk): (Callees, Risk),
    ) -> Result<(BindingOpened, Held), Refusal> {
        let opened = self.opened()?;
        let who = opened.session.who();
        let environment = self
            .governor
            .look(|state| state.environment().map(|e| e.id.clone()));
        let environment = environment.flatten().ok_or_else(|| {
            Refusal::new(
                ErrorType::EnvironmentUnavailable,
                "no environment is admitted",
            )
        })?;
        let (input_schema_ref, output_schema_ref) = found.schemas.ok_or_else(|| {
            Refusal::new(
                ErrorType::CapabilityUnavailable,
                "no such capability can be called here",
            )
        })?;
        let until = self
            .governor
            .clock
            .now()
            .after_ms(grant.ttl_ms())
            .min(opened.expires_at);
        let scope = serde_json::to_value(&**grant.scope()).unwrap_or_default();
        let summary = |value: Value| {
            Summary::new(value).map_err(|error| {
                Refusal::new(
                    ErrorType::BindingDenied,
                    "the scope is too large to be recorded",
                )
                .for_operator(error.to_string())
            })
        };
        let pins = Pins {
            environment,
            environment_generation: grant.generation(),
            catalog_version: grant.catalog_version(),
            capability: CapabilityKey {
                id: grant.capability().clone(),
                implementation: Some(grant.implementation()),
            },
            descriptor_digest: grant.descriptor(),
            input_schema_ref,
            output_schema_ref,
            dependencies: Vec::new(),
            principal: who.principal.clone(),
            tenant: who.tenant.clone(),
            resource_scope: summary(json!({ "grants": scope.get("slices") }))?,
            authentication_mode: Line::cut(self.authentication(grant)),
            operation_scope: summary(json!({ "side_effects": grant.side_effect() }))?,
            data_scope: summary(json!({ "limits": scope.get("limits") }))?,
            risk,
            side_effect_class: grant.side_effect(),
            policy_version: grant.policy_version(),
            approval: grant.approval(),
            lease_until: until,
        };
        let held = Held {
            scope: Arc::clone(grant.scope()),
            scope_digest: pins.scope_digest(),
            budget: Arc::clone(grant.budget()),
            risk,
            callees,
            side_effect: grant.side_effect(),
            lease_until: until,
        };
        let event = BindingOpened {
            binding: handle,
            session: self.id,
            parent: None,
            route: Route::LateBound,
            pins,
            decision: decision_event(&found.decision),
        };
        Ok((event, held))
    }

    /// R-595: how requests of the binding prove who they are, and never with what.
    fn authentication(&self, grant: &Grant) -> &'static str {
        let current = self.governor.read();
        let grants = &current.policy.document().grants;
        let mut slices = grant.scope().slices();
        let with = |name| grants.get(name).is_some_and(|g| g.credential().is_some());
        match slices.any(|(name, _)| with(name)) {
            true => "provider_secret",
            false => "none",
        }
    }
}

/// A decision with what was looked up for it.
pub(crate) struct Found {
    pub(crate) key: Option<CapabilityKey>,
    pub(crate) asked: CapabilityId,
    pub(crate) schemas: Option<(Digest, Digest)>,
    pub(crate) decision: Decision,
}

/// A malformed handle answers like a foreign one (C-48).
pub(crate) fn parsed(handle: &str) -> Result<BindingHandle, Refusal> {
    handle
        .parse()
        .map_err(|_| bindery_ledger::Rejection::Unknown { what: "binding" }.refusal())
}

pub(crate) fn bound(handle: BindingHandle, grant: &Grant, held: &Held) -> Bound {
    let limits = held.budget.values(bindery_types::LimitScope::Call);
    let limits = limits.map(|(name, limit)| (name.as_str().to_owned(), json!(limit)));
    Bound {
        handle,
        capability_id: grant.capability().clone(),
        implementation_digest: grant.implementation(),
        descriptor_digest: grant.descriptor(),
        scope: serde_json::to_value(&*held.scope).unwrap_or_default(),
        limits: Value::Object(limits.collect()),
        risk: held.risk,
        side_effect_class: held.side_effect,
        expires_at: held.lease_until,
    }
}
