//! The static registry: capabilities that the operator registered for sessions to call by
//! name, without asking for a binding.
//!
//! Rule (C-51): one path. When a session opens, the host makes a binding for each of them
//! that policy permits it, of the least scope and with every pin; nobody sees its handle, and
//! every call through it is a whole call. What is registered later is the next session's.

use bindery_ledger::words::{Route, Step};
use bindery_policy::{Registration, Ruling};
use bindery_types::{BindingHandle, CallId, CapabilityId, ErrorType, Refusal};

use crate::bind::BindRequest;
use crate::call::{CallOptions, Reply};
use crate::clock::random;
use crate::session::Session;

impl Session {
    /// Calls a capability of the static registry.
    ///
    /// Every failure is in the reply: `capability_unavailable` for one that is not
    /// registered so, hidden or not permitted, alike.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/stand.in"));
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), bindery::Refusal> {
    /// use bindery::policy::Registration;
    /// use bindery::{Admission, ApprovalRequirement, CallOptions, ErrorType, Outcome};
    ///
    /// let (host, early, answer) = stand().await?;
    /// let options = CallOptions::default();
    /// let reply = early.call_registered(&answer, "{}", &options).await;
    /// let Outcome::Refused(refusal) = reply.run.outcome else {
    ///     unreachable!("sessions have to ask for this one")
    /// };
    /// assert_eq!(refusal.kind(), ErrorType::CapabilityUnavailable);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn call_registered(
        &self,
        capability: &CapabilityId,
        arguments: &str,
        options: &CallOptions,
    ) -> Reply {
        let key = (self.id, capability.clone());
        let handle = self.governor.read().registered.get(&key).copied();
        if let Some(handle) = handle {
            return self.call(&handle.to_string(), arguments, options).await;
        }
        let call = match random() {
            Ok(bits) => CallId::from_random(bits),
            Err(refusal) => return Reply::refused(CallId::from_random([0; 16]), refusal),
        };
        let text = "no such capability can be called here";
        let refusal = Refusal::new(ErrorType::CapabilityUnavailable, text);
        let refusal = self.offered(refusal, Some(capability));
        self.refuse(call, None, Step::Resolve, refusal).await
    }

    /// Whether it has a binding of the host's own for `capability`.
    pub fn has_registered(&self, capability: &CapabilityId) -> bool {
        let key = (self.id, capability.clone());
        self.governor.read().registered.contains_key(&key)
    }

    /// Binds what is registered and permitted. What is not is left out: it is then no
    /// capability of this session.
    pub(crate) async fn bind_registered(&self) -> Result<(), Refusal> {
        let opened = self.opened()?;
        for (capability, request) in self.registered() {
            let found = self.decide_bind(&capability, &request)?;
            let Ruling::Allow(grant) = &found.decision.ruling else {
                continue;
            };
            if self.bind_vetoed(&capability).await.is_some() {
                continue;
            }
            let Ok(mut planned) = self.planned(&found, grant) else {
                continue;
            };
            for binding in &mut planned {
                binding.event.route = Route::Static;
            }
            let Some(handle) = planned.last().map(|binding| binding.handle) else {
                continue;
            };
            // I42: one that the ledger does not take leaves the others as they are.
            if self.record_opened(&opened, planned).await.is_ok() {
                self.keep_registered(capability, handle);
            }
        }
        Ok(())
    }

    /// Whether the operator registered `capability` for sessions to have.
    pub(crate) fn is_registered(&self, capability: &CapabilityId) -> bool {
        let current = self.governor.read();
        let powers = current.powers.get(capability);
        powers.is_some_and(|powers| powers.registration == Registration::Static)
    }

    fn keep_registered(&self, capability: CapabilityId, handle: BindingHandle) {
        let mut current = self.governor.write();
        current.registered.insert((self.id, capability), handle);
    }

    /// Every registered capability, asked for as it is now.
    fn registered(&self) -> Vec<(CapabilityId, BindRequest)> {
        let current = self.governor.read();
        let rows = current.catalogue.entries().filter(|row| {
            let powers = current.powers.get(row.descriptor.id());
            powers.is_some_and(|powers| powers.registration == Registration::Static)
        });
        rows.map(|row| {
            let request = BindRequest {
                descriptor: Some(row.descriptor.digest()),
                implementation: Some(row.descriptor.implementation_digest()),
                ..BindRequest::default()
            };
            (row.descriptor.id().clone(), request)
        })
        .collect()
    }
}
