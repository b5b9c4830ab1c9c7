//! Approvals: one yes to one action, compared field by field when it is used.
//!
//! Rule (I14, I15, C-19, C-20): an approval says what it is for, and is used up in the
//! record that starts the call. `confirm_every_time` is keyed to the arguments and used
//! once; `confirm_once` stands for later calls under the same binding in the same run, as
//! long as that binding does.

use bindery_types::{
    ApprovalRequirement, Archetype, BindingHandle, Digest, Moment, ProposalId, RunId, SessionId,
};

use crate::apply::At;
use crate::event::Pins;
use crate::rejection::Rejection;
use crate::state::{Proposal, State};
use crate::words::ProposalStatus;

/// What an approval is wanted for.
pub(crate) struct Wanted<'a> {
    pub(crate) session: SessionId,
    pub(crate) archetype: &'a Archetype,
    pub(crate) run: Option<RunId>,
    /// The binding of the call; `None` when the approval is for a binding itself.
    pub(crate) binding: Option<BindingHandle>,
    /// Digest of the canonical arguments; `None` when the approval is for a binding.
    pub(crate) arguments: Option<Digest>,
    pub(crate) pins: &'a Pins,
    pub(crate) requirement: ApprovalRequirement,
    pub(crate) now: Moment,
}

impl State {
    pub(crate) fn check_approval(
        &self,
        id: ProposalId,
        wanted: &Wanted<'_>,
    ) -> Result<(), Rejection> {
        let Some(proposal) = self.proposals.get(&id) else {
            return Err(Rejection::Unknown { what: "proposal" });
        };
        if proposal.asked.session != wanted.session {
            return Err(Rejection::Unknown { what: "proposal" });
        }
        if proposal.status != ProposalStatus::Approved {
            return Err(Rejection::Proposal {
                status: proposal.status,
            });
        }
        let stands = proposal.stands_for.is_some();
        if !stands && proposal.asked.expires_at <= wanted.now {
            return Err(Rejection::Proposal {
                status: ProposalStatus::Expired,
            });
        }
        match different(proposal, wanted) {
            Some(field) => Err(Rejection::ApprovalDiffers { field }),
            None => Ok(()),
        }
    }

    /// An approved proposal that this call could use, for a caller that repeats itself
    /// after the operator's answer.
    pub fn approval_for(
        &self,
        session: SessionId,
        binding: BindingHandle,
        arguments: Digest,
        run: Option<RunId>,
        now: Moment,
    ) -> Option<ProposalId> {
        let open = self.sessions.get(&session)?;
        let bound = self.bindings.get(&binding)?;
        let fits = |proposal: &Proposal| {
            let wanted = Wanted {
                session,
                archetype: &open.archetype,
                run,
                binding: Some(binding),
                arguments: Some(arguments),
                pins: &bound.pins,
                requirement: proposal.asked.requirement,
                now,
            };
            self.check_approval(proposal.asked.proposal, &wanted)
                .is_ok()
        };
        let found = self.proposals.values().find(|proposal| fits(proposal));
        found.map(|proposal| proposal.asked.proposal)
    }

    /// Uses an approval that [`State::check_approval`] found to fit.
    pub(crate) fn use_approval(
        &mut self,
        id: ProposalId,
        binding: BindingHandle,
        requirement: ApprovalRequirement,
        at: &At<'_>,
    ) {
        let Some(proposal) = self.proposals.get_mut(&id) else {
            return;
        };
        match requirement {
            ApprovalRequirement::ConfirmOnce => proposal.stands_for = Some(binding),
            ApprovalRequirement::ConfirmEveryTime
            | ApprovalRequirement::NoApproval
            | ApprovalRequirement::Blocked => proposal.status = ProposalStatus::Consumed,
        }
        proposal.changed_by = at.sequence;
    }
}

/// The first field in which the action differs from the one that was approved.
fn different(proposal: &Proposal, wanted: &Wanted<'_>) -> Option<&'static str> {
    let (asked, pins) = (&proposal.asked, wanted.pins);
    let stands = proposal.stands_for;
    let of_binding = asked.call.is_none() && asked.binding.is_none();
    let checks = [
        ("kind of action", of_binding == wanted.binding.is_none()),
        ("requirement", asked.requirement == wanted.requirement),
        ("principal", asked.principal == pins.principal),
        ("tenant", asked.tenant == pins.tenant),
        ("run", asked.run == wanted.run),
        ("workspace", asked.archetype == *wanted.archetype),
        ("capability", asked.capability == pins.capability),
        (
            "descriptor",
            asked.descriptor_digest == pins.descriptor_digest,
        ),
        (
            "generation",
            asked.environment_generation == pins.environment_generation,
        ),
        (
            "policy version",
            asked.policy_version == pins.policy_version,
        ),
        // C-19: what stands is for one binding, and any arguments.
        ("binding", stands.is_none() || stands == wanted.binding),
        (
            "arguments",
            stands.is_some()
                || wanted
                    .arguments
                    .is_none_or(|digest| digest == asked.arguments),
        ),
    ];
    let differs = checks
        .iter()
        .find(|(_, same)| !same)
        .map(|(field, _)| *field);
    differs.or_else(|| (asked.scope_digest != pins.scope_digest()).then_some("scope"))
}
