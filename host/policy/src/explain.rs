//! The whole of a decision, for the operator.
//!
//! Rule: a model is told type and reason code and nothing more; asking for more is
//! refused as such.

use bindery_types::{ErrorType, Refusal, Rights};
use serde_json::{Value, json};

use crate::decision::{Decision, Ruling};
use crate::policy::Policy;
use crate::trace::Axis;

/// A decision explained.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// As one JSON object.
    pub json: Value,
    /// As text: the verdict, then one line for each axis.
    pub text: String,
}

impl Decision {
    /// Explains the decision to a principal with `rights`.
    ///
    /// # Errors
    ///
    /// `permission_denied` for a model.
    pub fn explain(&self, policy: &Policy, rights: Rights) -> Result<Explanation, Refusal> {
        if rights == Rights::Model {
            return Err(Refusal::new(
                ErrorType::PermissionDenied,
                "the policy is not for models to read",
            ));
        }
        let first = self.trace.first_block();
        let (risk, rule) = match &self.ruling {
            Ruling::Allow(grant) => (Some(grant.risk()), grant.rule()),
            Ruling::Ask(question) => {
                let line = self.trace.line(Axis::Approval);
                (
                    Some(question.risk),
                    line.and_then(|line| line.rule.as_deref()),
                )
            }
            Ruling::Deny(_) => (None, first.and_then(|(_, line)| line.rule.as_deref())),
        };
        let refusal = self.refusal();
        let json = json!({
            "decision": self.verdict(),
            "axis": first.map(|(axis, _)| axis),
            "reason": first.map(|(_, line)| line.reason),
            "risk": risk,
            "rule": rule,
            "policy_version": policy.version(),
            "caller_reads": refusal.as_ref().map(Refusal::to_json),
            "trace": self.trace.to_json(),
        });
        let head = match first {
            Some((axis, line)) => format!("{}: {axis}: {}\n", self.verdict(), line.operator_text()),
            None => format!("{}\n", self.verdict()),
        };
        Ok(Explanation {
            json,
            text: head + &self.trace.to_text(),
        })
    }
}
