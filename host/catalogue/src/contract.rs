//! What whoever ships or admits a capability declares of it.
//!
//! Rule (R-241): declared fields have to agree with one another before anything is tried;
//! what is missing is never read as harmless (R-234, R-235).

use bindery_types::{
    Agent, ApprovalRequirement, Archetype, CredentialName, ExecutionState, Risk, SideEffectClass,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The declared contract (S3's tool contract). Every field may be missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Contract {
    /// A word to filter by; it decides nothing (R-231).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// The declared risk; the host's own can only be higher (C-26).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// Whether it changes nothing; has to agree with `risk` (R-233).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// The declared kind of effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side_effects: Option<SideEffectClass>,
    /// Who has to say yes; missing counts as the strictest (R-234).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalRequirement>,
    /// The declared state; the host derives the real one (R-245).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_state: Option<ExecutionState>,
    /// Agents that may use it: missing = any, empty = none (C-65).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_agents: Option<Vec<Agent>>,
    /// Workspace archetypes it may be used in: missing = any, empty = none (C-65).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_archetypes: Option<Vec<Archetype>>,
    /// Credentials of the document that it cannot do without (R-333, R-592).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub credentials: Vec<CredentialName>,
    /// One sentence about the arguments, for reviewers; never the schema (R-239, R-289).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_summary: Option<String>,
    /// One sentence about the result (R-240).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_summary: Option<String>,
    /// Other names it answers to (R-163).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Examples: evidence, never the contract (R-425).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
    /// How often a failed call may be repeated; missing = never (R-291, R-515).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
}

/// An example call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// Arguments by name.
    pub arguments: Value,
    /// What came back, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Where the example comes from (R-378).
    #[serde(default)]
    pub origin: String,
}

/// Declared fields that cannot all be true.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the contract contradicts itself: {fields:?}: {why}")]
pub struct Disagreement {
    /// The fields, as the contract spells them.
    pub fields: Vec<&'static str>,
    /// What is wrong about them.
    pub why: String,
}

impl Contract {
    /// The first contradiction, if there is one (R-233, R-241).
    pub fn disagreement(&self) -> Option<Disagreement> {
        let disagree = |fields: &[&'static str], why: String| {
            Some(Disagreement {
                fields: fields.to_vec(),
                why,
            })
        };
        let (risk, effects) = (self.risk, self.side_effects);
        match (self.read_only, risk) {
            (Some(true), Some(risk)) if risk > Risk::ReadOnly => {
                return disagree(
                    &["read_only", "risk"],
                    format!("read_only is true and risk is {risk}"),
                );
            }
            (Some(false), Some(Risk::ReadOnly)) => {
                return disagree(
                    &["read_only", "risk"],
                    "read_only is false and risk is read_only".to_owned(),
                );
            }
            _ => {}
        }
        match (self.read_only, effects) {
            (Some(true), Some(effects)) if effects != SideEffectClass::None => {
                return disagree(
                    &["read_only", "side_effects"],
                    format!("read_only is true and side_effects is {effects}"),
                );
            }
            _ => {}
        }
        match (risk, effects) {
            (Some(risk), Some(effects)) if risk < effects.least_risk() => disagree(
                &["risk", "side_effects"],
                format!(
                    "{effects} has at least the risk {}, not {risk}",
                    effects.least_risk()
                ),
            ),
            _ => None,
        }
    }

    /// The risk that is declared in any of the fields, the gravest.
    pub fn declared_risk(&self) -> Option<Risk> {
        self.risk
            .max(self.side_effects.map(SideEffectClass::least_risk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contract_that_contradicts_itself_names_the_fields() {
        let contract = Contract {
            read_only: Some(true),
            risk: Some(Risk::Write),
            ..Contract::default()
        };
        let fields = contract.disagreement().unwrap().fields;
        assert_eq!(fields, ["read_only", "risk"], "R-233, R-241");
        let contract = Contract {
            risk: Some(Risk::Write),
            side_effects: Some(SideEffectClass::Financial),
            ..Contract::default()
        };
        assert_eq!(
            contract.disagreement().unwrap().fields,
            ["risk", "side_effects"],
            "C-62"
        );
    }

    #[test]
    fn a_contract_that_agrees_with_itself_passes() {
        let contract = Contract {
            read_only: Some(true),
            risk: Some(Risk::ReadOnly),
            side_effects: Some(SideEffectClass::None),
            ..Contract::default()
        };
        assert_eq!(contract.disagreement(), None);
        assert_eq!(Contract::default().disagreement(), None);
        assert_eq!(
            Contract::default().declared_risk(),
            None,
            "silence declares nothing"
        );
    }

    #[test]
    fn an_unknown_field_of_a_contract_is_an_error() {
        assert!(serde_json::from_str::<Contract>(r#"{"harmless": true}"#).is_err());
        assert!(
            serde_json::from_str::<Contract>(r#"{"risk": "read-only"}"#).is_err(),
            "C-16"
        );
    }
}
