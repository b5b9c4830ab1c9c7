//! What a refusal offers to one session, of what its type offers at most.
//!
//! Rule (R-750 … R-755): nothing is offered that this session may not do: no manifest and
//! no descriptors while their stages are off, no alternative that policy would not bind, no
//! reconciling without an operator's rights, and nothing but to stop once it is over. The
//! same question is asked for what is hidden and for what is absent (C-48).

use std::sync::Arc;

use bindery_policy::{Ruling, Stage};
use bindery_types::{CapabilityId, NextAction, Refusal, Rights};

use crate::bind::{BindRequest, parsed};
use crate::held::Opened;
use crate::session::Session;

/// Entries of the catalogue that are looked at for an alternative. A refusal costs no more
/// than this many decisions, however large the catalogue is.
const LOOKED_AT: usize = 32;

/// Everything that is offered for a reason of its own; to stop is everybody's.
const ACTIONS: [NextAction; 6] = [
    NextAction::RefreshTheManifest,
    NextAction::RepeatDiscoveryInTheSameScope,
    NextAction::LoadACurrentDescriptor,
    NextAction::RequestClarificationOrApproval,
    NextAction::ChooseAVerifiedAlternative,
    NextAction::ReconcileAnUncertainCall,
];

impl Session {
    /// `refusal` as this session gets it, of a request about `capability`.
    pub(crate) fn offered(&self, refusal: Refusal, capability: Option<&CapabilityId>) -> Refusal {
        let opened = self.opened().ok();
        let offered = refusal.next_actions();
        let barred = ACTIONS.into_iter().filter(|action| {
            offered.contains(action)
                && !opened
                    .as_ref()
                    .is_some_and(|opened| self.may(opened, *action, capability))
        });
        barred.fold(refusal, Refusal::without)
    }

    /// The same, of a request about what is behind `handle`.
    pub(crate) fn offered_through(&self, refusal: Refusal, handle: &str) -> Refusal {
        let handle = parsed(handle).ok();
        let behind = handle.and_then(|handle| {
            let found = self.governor.look(|state| {
                let binding = state.binding(handle);
                let own = binding.filter(|binding| binding.session == self.id);
                own.map(|binding| binding.pins.capability.id.clone())
            });
            found.flatten()
        });
        self.offered(refusal, behind.as_ref())
    }

    /// The session, or the refusal of one that is over, which may do nothing more.
    pub(crate) fn opened_for_asking(&self) -> Result<Arc<Opened>, Refusal> {
        self.opened().map_err(|refusal| self.offered(refusal, None))
    }

    fn may(&self, opened: &Opened, action: NextAction, capability: Option<&CapabilityId>) -> bool {
        let stages = opened.session.stages();
        match action {
            NextAction::RefreshTheManifest => stages.is_on(Stage::Manifest),
            NextAction::RepeatDiscoveryInTheSameScope | NextAction::LoadACurrentDescriptor => {
                stages.is_on(Stage::Descriptors)
            }
            // Whether it could lead anywhere is the decision's to say, and it has.
            NextAction::RequestClarificationOrApproval | NextAction::Stop => true,
            NextAction::ChooseAVerifiedAlternative => self.has_another(capability),
            // The verb is the operator's (architecture § 7).
            NextAction::ReconcileAnUncertainCall => opened.session.who().rights == Rights::Operator,
        }
    }

    /// Whether this session could use anything but `capability`: what it has from its
    /// beginning, or what policy would bind for it now.
    fn has_another(&self, capability: Option<&CapabilityId>) -> bool {
        let asked = |id: &CapabilityId| {
            let current = self.governor.read();
            let row = current.catalogue.get(id);
            row.map(|row| BindRequest {
                descriptor: Some(row.descriptor.digest()),
                implementation: Some(row.descriptor.implementation_digest()),
                ..BindRequest::default()
            })
        };
        let first: Vec<CapabilityId> = {
            let current = self.governor.read();
            let all = current.catalogue.entries().map(|row| row.descriptor.id());
            all.take(LOOKED_AT).cloned().collect()
        };
        first.iter().any(|id| {
            let usable = self.has_registered(id)
                || asked(id).is_some_and(|request| {
                    let found = self.decide_bind(id, &request);
                    found.is_ok_and(|found| matches!(found.decision.ruling, Ruling::Allow(_)))
                });
            // Last, so that an entry that was asked for takes the time of any other.
            usable && Some(id) != capability
        })
    }
}
