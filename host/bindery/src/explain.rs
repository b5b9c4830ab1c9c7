//! `explain`: what policy would say to a bind or a call, axis by axis, without doing it.
//!
//! Rule (R-050): for operators; a model that asks is refused. The decision is made by the
//! same function over the same facts as the real one, and nothing runs through it.

use bindery_ledger::Binding;
use bindery_ledger::words::Route;
use bindery_policy::{Ask, Decision, Explanation, Ruling, Verb};
use bindery_types::{CapabilityId, ErrorType, Refusal, Rights, canonical_digest};
use serde_json::Value;

use crate::bind::{BindRequest, Found};
use crate::facts::{About, Through, decided};
use crate::held::Held;
use crate::session::Session;

impl Session {
    /// Explains to somebody with the rights `asker` what this session would get: of a bind
    /// of `capability` as in `request`; with `arguments`, of a call through that binding.
    /// A bind that is not allowed is explained as such, whatever the arguments.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::{BindRequest, Rights};
    ///
    /// let (_, session, answer) = stand().await?;
    /// let explained = session.explain(Rights::Operator, &answer, &BindRequest::default(), None)?;
    /// assert!(explained.text.contains("allow"));
    /// assert!(session.explain(Rights::Model, &answer, &BindRequest::default(), None).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// `permission_denied` for a model, `arguments_invalid` for arguments that the
    /// capability does not take.
    pub fn explain(
        &self,
        asker: Rights,
        capability: &CapabilityId,
        request: &BindRequest,
        arguments: Option<&str>,
    ) -> Result<Explanation, Refusal> {
        let explained = self.explained(asker, capability, request, arguments);
        explained.map_err(|refusal| self.offered(refusal, Some(capability)))
    }

    fn explained(
        &self,
        asker: Rights,
        capability: &CapabilityId,
        request: &BindRequest,
        arguments: Option<&str>,
    ) -> Result<Explanation, Refusal> {
        let bind = self.decide_bind(capability, request)?;
        let policy = std::sync::Arc::clone(&self.governor.read().policy);
        // The rights come first: a model learns nothing from which error it gets.
        let explanation = bind.decision.explain(&policy, asker)?;
        match (&bind.decision.ruling, arguments) {
            (Ruling::Allow(_), Some(arguments)) => {
                self.would_call(&bind, arguments)?.explain(&policy, asker)
            }
            (Ruling::Allow(_) | Ruling::Ask(_) | Ruling::Deny(_), _) => Ok(explanation),
        }
    }

    fn would_call(&self, bind: &Found, arguments: &str) -> Result<Decision, Refusal> {
        let lost = crate::call::lost;
        let Ruling::Allow(grant) = &bind.decision.ruling else {
            return Err(lost());
        };
        // What it calls is opened with it, and decides about its risk.
        let planned = self.planned(bind, grant)?.pop().ok_or_else(lost)?;
        let (opened, held) = (planned.event, planned.held);
        let binding = Binding {
            session: self.id,
            parent: None,
            route: Route::LateBound,
            pins: opened.pins,
            ended: None,
            opened_by: 0,
            pinned_by: 0,
        };
        let arguments = self.canonical(grant.capability(), &held, arguments)?;
        self.suppose(&binding, &held, &arguments).ok_or_else(lost)
    }

    /// The arguments in the form in which they are decided about (C-56).
    fn canonical(
        &self,
        capability: &CapabilityId,
        held: &Held,
        arguments: &str,
    ) -> Result<Value, Refusal> {
        let gone = || {
            let text = "no such capability can be called here";
            Refusal::new(ErrorType::CapabilityUnavailable, text)
        };
        let (loaded, function) = {
            let current = self.governor.read();
            let row = current.catalogue.get(capability).ok_or_else(gone)?;
            let digest = row.descriptor.implementation_digest();
            let loaded = current.loaded.get(&digest).cloned().ok_or_else(gone)?;
            (loaded, row.descriptor.function().to_owned())
        };
        let sandbox = &self.governor.sandbox;
        let checked = sandbox.check(&loaded, &function, arguments, &held.budget)?;
        let text = checked.arguments().ok_or_else(crate::call::lost)?;
        serde_json::from_str(&text).map_err(|_| crate::call::lost())
    }

    fn suppose(&self, binding: &Binding, held: &Held, arguments: &Value) -> Option<Decision> {
        let opened = self.opened().ok()?;
        let current = self.governor.read();
        let capability = &binding.pins.capability.id;
        let row = current.catalogue.get(capability)?;
        let about = About {
            policy: &current.policy,
            opened: &opened,
            row: Some((row, &**current.powers.get(capability)?)),
            binding: Some(Through::Supposed(binding, held)),
            credentials: current.resources.credentials(),
        };
        let ask = Ask {
            verb: Verb::Call,
            session: &opened.session,
            capability,
            generation: None,
            implementation: None,
            descriptor: None,
            scope: None,
            arguments: Some(arguments),
            arguments_digest: Some(canonical_digest(arguments)),
            now: self.governor.clock.now(),
        };
        self.governor.look(|state| decided(state, &about, &ask))
    }
}
