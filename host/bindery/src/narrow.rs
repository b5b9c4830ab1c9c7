//! `narrow`: a binding of less, made from a binding, for whoever should hold no more.
//!
//! Rule (I4, I6, I10, R-493): what comes out is within what was narrowed, in every grant,
//! limit and in time; it is decided like a refresh of that, and ends with it. There is no
//! way back: the narrower handle says nothing of the wider one.

use std::sync::Arc;

use bindery_ledger::event::BindRefused;
use bindery_ledger::words::Operation;
use bindery_policy::{Ask, Decision, Ruling, ScopeRequest, Verb};
use bindery_types::{BindingHandle, Budget, ErrorType, Refusal};

use crate::bind::{Bound, Found, bound, parsed};
use crate::call::lost;
use crate::clock::random;
use crate::compose::Planned;
use crate::facts::{About, Through, decided, key_of};
use crate::held::{Callees, Held};
use crate::session::Session;

impl Session {
    /// A new binding of the same capability, within `handle`'s scope and within `request`.
    /// The old one stays as it is; giving it back ends both.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::policy::ScopeRequest;
    /// use bindery::{BindRequest, CallOptions, Outcome};
    ///
    /// let (_, session, answer) = stand().await?;
    /// let wide = session.bind(&answer, &BindRequest::default()).await?;
    /// let less: ScopeRequest = serde_json::from_str(r#"{"budget": {"fuel": "1"}}"#).expect("a request");
    /// let narrow = session.narrow(&wide.handle.to_string(), &less).await?;
    /// let reply = session.call(&narrow.handle.to_string(), "{}", &CallOptions::default()).await;
    /// assert!(matches!(reply.run.outcome, Outcome::Refused(_)), "it may not compute at all");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `handle_invalid` and `binding_stale` as for a call; `binding_denied` when nothing is
    /// left of what is asked for; the words of a decision when policy has changed.
    pub async fn narrow(&self, handle: &str, request: &ScopeRequest) -> Result<Bound, Refusal> {
        let bound = self.narrower(handle, request).await;
        bound.map_err(|refusal| self.offered_through(refusal, handle))
    }

    async fn narrower(&self, handle: &str, request: &ScopeRequest) -> Result<Bound, Refusal> {
        let opened = self.opened()?;
        let wide = parsed(handle)?;
        let (held, found) = match self.decide_narrow(wide, request) {
            Ok(decided) => decided,
            Err(refusal) => return Err(self.refuse_narrow(wide, refusal).await?),
        };
        let Ruling::Allow(grant) = &found.decision.ruling else {
            let refusal = found.decision.refusal().unwrap_or_else(lost);
            self.record_refused_bind(&found, &refusal, "policy refused the narrower binding")
                .await?;
            return Err(refusal);
        };
        if let Some((refusal, why)) = self.bind_vetoed(&found.asked).await {
            self.record_refused_bind(&found, &refusal, &why).await?;
            return Err(refusal);
        }
        let narrow = BindingHandle::from_random(random()?);
        let parts = (held.callees.clone(), held.risk);
        let (mut event, mut made) = self.open(narrow, (grant, &found), parts)?;
        event.parent = Some(wide);
        event.pins.lease_until = event.pins.lease_until.min(held.lease_until);
        made.lease_until = event.pins.lease_until;
        let shown = bound(narrow, grant, &made);
        let planned = Planned {
            handle: narrow,
            capability: found.asked.clone(),
            event,
            held: made,
        };
        self.record_opened(&opened, vec![planned]).await?;
        Ok(shown)
    }

    /// What the narrower binding would hold, and what policy says of it.
    fn decide_narrow(
        &self,
        handle: BindingHandle,
        request: &ScopeRequest,
    ) -> Result<(Held, Found), Refusal> {
        let (opened, now) = (self.opened()?, self.governor.clock.now());
        let pinned = self.governor.look(|state| {
            state
                .bound(handle, self.id, now)
                .map(|binding| binding.pins.clone())
        });
        let pins = pinned
            .ok_or_else(lost)?
            .map_err(|rejection| rejection.refusal())?;
        let current = self.governor.read();
        let wide = current.bindings.get(&handle).ok_or_else(lost)?;
        let held = narrowed(wide, request, now)?;
        let row = current.catalogue.get(&pins.capability.id);
        let row = row.filter(|row| key_of(row) == pins.capability);
        let row = row.and_then(|row| Some((row, &**current.powers.get(row.descriptor.id())?)));
        let about = About {
            policy: &current.policy,
            opened: &opened,
            row,
            binding: Some(Through::Live(handle, &held)),
            credentials: current.resources.credentials(),
        };
        let ask = Ask {
            verb: Verb::Refresh,
            session: &opened.session,
            capability: &pins.capability.id,
            generation: None,
            implementation: None,
            descriptor: None,
            scope: None,
            arguments: None,
            arguments_digest: None,
            now,
        };
        let decision: Option<Decision> = self.governor.look(|state| decided(state, &about, &ask));
        let found = Found {
            key: Some(pins.capability.clone()),
            asked: pins.capability.id.clone(),
            schemas: Some((pins.input_schema_ref, pins.output_schema_ref)),
            decision: decision.ok_or_else(lost)?,
        };
        Ok((held, found))
    }

    /// A wish that leaves nothing is on record, when the handle was this session's.
    async fn refuse_narrow(
        &self,
        handle: BindingHandle,
        refusal: Refusal,
    ) -> Result<Refusal, Refusal> {
        let opened = self.opened()?;
        let capability = self.governor.look(|state| {
            let binding = state.binding(handle);
            let own = binding.filter(|binding| binding.session == self.id);
            own.map(|binding| binding.pins.capability.clone())
        });
        if let Some(capability) = capability.flatten() {
            let refused = BindRefused {
                capability,
                error: refusal.kind(),
                decision: None,
            };
            let reason = "the binding was not narrowed";
            let told = self.told(&opened, Operation::Bind, reason);
            let entry = self.governor.entry(&told, refused);
            let recorded = self.governor.record(vec![entry]).await;
            recorded.map_err(|error| error.refusal())?;
        }
        Ok(refusal)
    }
}

/// What is within `wide` and within `request`, from `now` on.
fn narrowed(
    wide: &Held,
    request: &ScopeRequest,
    now: bindery_types::Moment,
) -> Result<Held, Refusal> {
    let scope = wide
        .scope
        .narrow(request)
        .map_err(|error| Refusal::new(ErrorType::BindingDenied, error.to_string()))?;
    let mut budget = Budget::clone(&wide.budget);
    for (name, limit) in scope.limits() {
        let least = limit.min(budget.get(name));
        // What is less than a limit in force is within its ceiling.
        let _less = budget.set(name, least);
    }
    let lasting = scope.ttl_ms().map(|ttl_ms| now.after_ms(ttl_ms));
    let kept = wide
        .callees
        .iter()
        .filter(|(_, callee)| scope.slice(&callee.grant).is_some());
    let callees: Callees = kept
        .map(|(import, callee)| (import.clone(), callee.clone()))
        .collect();
    Ok(Held {
        scope: Arc::new(scope),
        scope_digest: wide.scope_digest,
        budget: Arc::new(budget),
        risk: wide.risk,
        side_effect: wide.side_effect,
        lease_until: lasting.map_or(wide.lease_until, |until| until.min(wide.lease_until)),
        callees,
    })
}
