//! Proposals: made by anybody who may ask, answered by operators only.

use bindery_types::{ApprovalRequirement, Moment, ProposalId, SessionId};

use super::At;
use super::binding::differs;
use crate::event::{
    ProposalApproved, ProposalDenied, ProposalExpired, ProposalMade, ProposalVoided,
};
use crate::rejection::Rejection;
use crate::state::{Proposal, State};
use crate::words::{Meter, ProposalStatus, Trigger};

impl State {
    pub(super) fn proposal_made(
        &mut self,
        at: &At<'_>,
        event: &ProposalMade,
    ) -> Result<(), Rejection> {
        let session = self.live_session(at, event.session)?;
        if self.proposals.contains_key(&event.proposal) {
            return Err(Rejection::Duplicate { what: "proposal" });
        }
        let own = session.principal == event.principal
            && session.tenant == event.tenant
            && session.archetype == event.archetype;
        if !own {
            return Err(Rejection::ForeignSession);
        }
        match event.requirement {
            ApprovalRequirement::ConfirmOnce | ApprovalRequirement::ConfirmEveryTime => {}
            ApprovalRequirement::NoApproval | ApprovalRequirement::Blocked => {
                return Err(Rejection::Malformed {
                    what: "a proposal is for what can be confirmed (C-18)",
                });
            }
        }
        if event.expires_at <= at.now {
            return Err(Rejection::Proposal {
                status: ProposalStatus::Expired,
            });
        }
        self.check_asked(event)?;
        self.check_count(event.session, session, Meter::Proposals, at.now)?;
        let proposal = Proposal {
            asked: event.clone(),
            status: ProposalStatus::Pending,
            stands_for: None,
            changed_by: at.sequence,
        };
        self.proposals.insert(event.proposal, proposal);
        self.take_count(event.session, Meter::Proposals, at.now);
        Ok(())
    }

    /// Open questions, and answers that were not used up, to which nothing can come any
    /// more: with what changed, or with nothing when their time is over.
    pub fn overtaken_proposals(
        &self,
        now: Moment,
    ) -> Vec<(ProposalId, SessionId, Option<Trigger>)> {
        let open = self.proposals.values().filter(|proposal| {
            matches!(
                proposal.status,
                ProposalStatus::Pending | ProposalStatus::Approved
            )
        });
        open.filter_map(|proposal| {
            let asked = &proposal.asked;
            let binding = asked.binding.and_then(|handle| self.bindings.get(&handle));
            let ended = binding.and_then(|binding| binding.ended);
            let why = match (ended, self.check_asked(asked)) {
                (Some(ended), _) => Some(ended.trigger),
                (None, Err(Rejection::PinDiffers { trigger, .. })) => Some(trigger),
                (None, Err(_)) => Some(Trigger::CatalogueUnverifiable),
                // What stands for a binding lasts as long as that does (C-19).
                (None, Ok(())) if proposal.stands_for.is_some() => return None,
                (None, Ok(())) if now < asked.expires_at => return None,
                (None, Ok(())) => None,
            };
            Some((asked.proposal, asked.session, why))
        })
        .collect()
    }

    /// what a proposal is about is still so.
    fn check_asked(&self, asked: &ProposalMade) -> Result<(), Rejection> {
        let environment = self.environment.as_ref().ok_or(Rejection::NoEnvironment)?;
        if environment.generation != asked.environment_generation {
            let trigger = Trigger::EnvironmentGenerationExpired;
            return Err(differs("environment generation", trigger));
        }
        if environment.policy_version != asked.policy_version {
            return Err(differs("policy version", Trigger::PolicyVersionChanged));
        }
        let description = self.known(&asked.capability)?.description.as_ref();
        if description.map(|d| d.descriptor_digest) != Some(asked.descriptor_digest) {
            let trigger = Trigger::DescriptorDigestChanged;
            return Err(differs("descriptor digest", trigger));
        }
        if let Some(handle) = asked.binding {
            match self.bindings.get(&handle) {
                Some(binding) if binding.session != asked.session => {
                    return Err(Rejection::Unknown { what: "binding" });
                }
                Some(binding) if binding.pins.scope_digest() != asked.scope_digest => {
                    return Err(differs("scope", Trigger::ResourceScopeChanged));
                }
                Some(_) => {}
                None => return Err(Rejection::Unknown { what: "binding" }),
            }
        }
        Ok(())
    }

    pub(super) fn proposal_approved(
        &mut self,
        at: &At<'_>,
        event: &ProposalApproved,
    ) -> Result<(), Rejection> {
        let proposal = self.pending(event.proposal)?;
        if proposal.asked.expires_at <= at.now {
            return Err(Rejection::Proposal {
                status: ProposalStatus::Expired,
            });
        }
        self.check_asked(&proposal.asked)?;
        // nobody can judge what rests on nothing.
        let evidence = &proposal.asked.evidence;
        if evidence.is_empty() || !evidence.iter().all(|id| self.evidence.contains_key(id)) {
            return Err(Rejection::Missing {
                what: "evidence that can be read",
            });
        }
        self.answer(at, event.proposal, ProposalStatus::Approved)
    }

    pub(super) fn proposal_denied(
        &mut self,
        at: &At<'_>,
        event: &ProposalDenied,
    ) -> Result<(), Rejection> {
        self.pending(event.proposal)?;
        self.answer(at, event.proposal, ProposalStatus::Denied)
    }

    pub(super) fn proposal_expired(
        &mut self,
        at: &At<'_>,
        event: &ProposalExpired,
    ) -> Result<(), Rejection> {
        let proposal = self.open(event.proposal)?;
        if at.now < proposal.asked.expires_at {
            return Err(Rejection::Malformed {
                what: "the time of the proposal is not over",
            });
        }
        self.answer(at, event.proposal, ProposalStatus::Expired)
    }

    pub(super) fn proposal_voided(
        &mut self,
        at: &At<'_>,
        event: &ProposalVoided,
    ) -> Result<(), Rejection> {
        self.open(event.proposal)?;
        self.answer(at, event.proposal, ProposalStatus::Voided)
    }

    fn pending(&self, id: ProposalId) -> Result<&Proposal, Rejection> {
        let proposal = self.open(id)?;
        if proposal.status != ProposalStatus::Pending {
            return Err(Rejection::Proposal {
                status: proposal.status,
            });
        }
        Ok(proposal)
    }

    /// Pending, or approved and not used.
    fn open(&self, id: ProposalId) -> Result<&Proposal, Rejection> {
        let Some(proposal) = self.proposals.get(&id) else {
            return Err(Rejection::Unknown { what: "proposal" });
        };
        match proposal.status {
            ProposalStatus::Pending | ProposalStatus::Approved => Ok(proposal),
            status @ (ProposalStatus::Denied
            | ProposalStatus::Expired
            | ProposalStatus::Voided
            | ProposalStatus::Consumed) => Err(Rejection::Proposal { status }),
        }
    }

    fn answer(
        &mut self,
        at: &At<'_>,
        id: ProposalId,
        status: ProposalStatus,
    ) -> Result<(), Rejection> {
        let proposal = self
            .proposals
            .get_mut(&id)
            .ok_or(Rejection::Unknown { what: "proposal" })?;
        proposal.status = status;
        proposal.changed_by = at.sequence;
        Ok(())
    }
}
