//! `renew`: a binding's lease is prolonged, if policy would still grant it.
//!
//! Rule (I10, R-494): decided like a refresh; never longer than the host allows at once,
//! than the session, or than what it was narrowed from. Scope and pins stay as they are.

use std::sync::Arc;

use bindery_ledger::event::BindingRenewed;
use bindery_ledger::words::Operation;
use bindery_types::{Moment, Refusal};

use crate::bind::parsed;
use crate::governor::Told;
use crate::held::Held;
use crate::session::Session;

impl Session {
    /// Prolongs the lease of `handle` by `ttl_ms` from now, as far as it can be; gives its
    /// end. A lease is never shortened.
    ///
    /// # Errors
    ///
    /// `handle_invalid` and `binding_stale` as for a call; the words of a decision when
    /// policy would not grant the binding any more.
    pub async fn renew(&self, handle: &str, ttl_ms: u64) -> Result<Moment, Refusal> {
        let opened = self.opened()?;
        let handle = parsed(handle)?;
        self.governor.due(handle, self.id).await?;
        let now = self.governor.clock.now();
        let found = self.governor.look(|state| {
            let binding = state.bound(handle, self.id, now)?;
            let parent = binding.parent.and_then(|parent| state.binding(parent));
            let most = parent.map(|parent| parent.pins.lease_until);
            Ok::<_, bindery_ledger::Rejection>((binding.pins.lease_until, most))
        });
        let (before, most) = found
            .ok_or_else(crate::call::lost)?
            .map_err(|rejection| rejection.refusal())?;
        if let Some(refusal) = self.governor.would_refuse(handle, &opened) {
            return Err(refusal);
        }
        let leases = self.governor.read().policy.document().limits.leases;
        let until = now
            .after_ms(ttl_ms.min(leases.ttl_max_ms))
            .min(opened.expires_at)
            .min(most.unwrap_or(opened.expires_at));
        if until <= before {
            return Ok(before);
        }
        let told = Told {
            session: Some(self.id),
            ..self
                .governor
                .own(Operation::Refresh, "its session asked for more time")
        };
        let renewed = BindingRenewed {
            binding: handle,
            lease_until: until,
        };
        let entry = self.governor.entry(&told, renewed);
        self.governor
            .record(vec![entry])
            .await
            .map_err(|error| error.refusal())?;
        let mut current = self.governor.write();
        if let Some(held) = current.bindings.get_mut(&handle) {
            *held = Arc::new(Held {
                lease_until: until,
                ..Held::clone(held)
            });
        }
        Ok(until)
    }
}
