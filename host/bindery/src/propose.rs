//! `propose`: what policy asks an operator becomes a proposal, bound to this one action.
//!
//! Rule (I14, R-560 … R-562): the proposal carries what a reviewer needs and everything the
//! answer is bound to; it is no authority, and the same question is asked once.

use bindery_ledger::Summary;
use bindery_ledger::event::ProposalMade;
use bindery_ledger::words::{Operation, ProposalStatus, Step};
use bindery_policy::{Decision, Question};
use bindery_types::{Digest, ProposalId, canonical_digest};
use serde_json::{Value, json};

use crate::call::{Reply, Resolved, lost};
use crate::clock::random;
use crate::redact::redacted;
use crate::session::Session;

impl Session {
    /// a proposal is made, nothing starts. The same question asked again while it
    /// is pending is the same proposal.
    pub(crate) async fn ask(
        &self,
        resolved: &Resolved,
        arguments: &Value,
        decision: &Decision,
        question: &Question,
    ) -> Reply {
        let refusal = decision.refusal().unwrap_or_else(lost);
        let digest = question
            .arguments_digest
            .unwrap_or_else(|| canonical_digest(arguments));
        let decided = self.decided_event(resolved, digest, arguments, decision, refusal.kind());
        let told = self.told(&resolved.opened, Operation::Call, "policy asks an operator");
        let mut batch = vec![self.governor.entry(&told, decided)];
        let pending = self.pending(resolved, digest, question);
        let proposal = match pending {
            Some(proposal) => proposal,
            None => {
                let bits = match random() {
                    Ok(bits) => bits,
                    Err(refusal) => return Reply::refused(resolved.call, refusal),
                };
                let proposal = ProposalId::from_random(bits);
                let made = self.proposal(resolved, proposal, digest, arguments, question);
                batch.push(self.governor.entry(&told, made));
                proposal
            }
        };
        let recorded = self.governor.record(batch).await;
        let recorded = recorded.map_err(|error| error.refusal());
        match recorded.and_then(|_| self.run_follows(&resolved.opened)) {
            Ok(()) => Reply {
                proposal: Some(proposal),
                ..Reply::refused(
                    resolved.call,
                    refusal.with("proposal", proposal.to_string()),
                )
            },
            // Of many that ask at once, those above the limit are on record, too (H54).
            Err(refusal) => {
                self.refuse(resolved.call, Some(resolved), Step::Reserve, refusal)
                    .await
            }
        }
    }

    fn pending(
        &self,
        resolved: &Resolved,
        digest: Digest,
        question: &Question,
    ) -> Option<ProposalId> {
        let found = self.governor.look(|state| {
            let same = state.proposals().find(|(_, proposal)| {
                proposal.status == ProposalStatus::Pending
                    && proposal.asked.session == self.id
                    && proposal.asked.binding == Some(resolved.handle)
                    && proposal.asked.arguments == digest
                    && proposal.asked.requirement == question.requirement
                    && proposal.asked.policy_version == question.policy_version
                    && self.governor.clock.now() < proposal.asked.expires_at
            });
            same.map(|(id, _)| *id)
        });
        found.flatten()
    }

    fn proposal(
        &self,
        resolved: &Resolved,
        proposal: ProposalId,
        digest: Digest,
        arguments: &Value,
        question: &Question,
    ) -> ProposalMade {
        let who = resolved.opened.session.who();
        let evidence = self.governor.look(|state| {
            let known = state.capability(&resolved.capability);
            known.map(|known| known.evidence_refs.clone())
        });
        let summary = json!({
            "risk": question.risk,
            "capability": resolved.capability.id,
            "arguments": redacted(arguments, &resolved.screen).value(),
            "scope": serde_json::to_value(&*resolved.held.scope).unwrap_or_default(),
            "expected_effect": question.side_effect,
        });
        ProposalMade {
            proposal,
            call: Some(resolved.call),
            binding: Some(resolved.handle),
            session: self.id,
            principal: who.principal.clone(),
            tenant: who.tenant.clone(),
            run: who.run,
            archetype: who.archetype.clone(),
            capability: resolved.capability.clone(),
            descriptor_digest: question.descriptor,
            arguments: digest,
            scope_digest: question.scope_digest,
            environment_generation: question.generation,
            policy_version: question.policy_version,
            requirement: question.requirement,
            risk: question.risk,
            side_effect_class: question.side_effect,
            summary: Summary::new(summary).unwrap_or_default(),
            evidence: evidence.flatten().unwrap_or_default(),
            expires_at: question.expires,
        }
    }
}
