//! Rules: who may do what with which arguments, under which grants, and why.
//!
//! Rule (style 47): a rule that permits names what it permits and says why. Rules have no
//! order: denials win, what permits adds grants, and everything else only narrows.

use bindery_types::{
    Agent, ApprovalRequirement, Archetype, CapabilityId, GrantName, Limit, LimitName, Namespace,
    PermissionMode, Principal, Risk, SideEffectClass,
};
use serde::{Serialize, Serializer};
use toml::de::DeValue;

use super::limits::limits;
use super::reader::{Section, kind};
use crate::argument::{Condition, Scalar, Test};
use crate::words::Verdict;

/// One `[[policy.rule]]`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rule {
    /// What it says.
    pub decision: Verdict,
    /// Why it is there; part of no digest.
    #[serde(skip)]
    pub why: String,
    /// The line at which it begins.
    #[serde(skip)]
    pub line: usize,
    #[serde(skip)]
    pub(super) at: usize,
    /// Capabilities by id.
    pub capabilities: Vec<CapabilityId>,
    /// Capabilities by public name, resolved when the policy is loaded (C-49).
    pub names: Vec<String>,
    /// Whole publishers.
    pub namespaces: Vec<Namespace>,
    /// Left out = any, here and below; empty = none (C-65).
    pub principals: Option<Vec<Principal>>,
    /// Agents.
    pub agents: Option<Vec<Agent>>,
    /// Workspace archetypes.
    pub archetypes: Option<Vec<Archetype>>,
    /// Permission modes.
    pub modes: Option<Vec<PermissionMode>>,
    /// Risks, as the host classifies them.
    pub risks: Option<Vec<Risk>>,
    /// Conditions on the arguments; all have to hold.
    pub arguments: Vec<Condition>,
    /// Grants that a scope may be made of.
    pub grants: Vec<GrantName>,
    /// The least approval requirement.
    pub approval: Option<ApprovalRequirement>,
    /// Limits that nothing under this rule exceeds.
    #[serde(serialize_with = "by_name")]
    pub budget: Vec<(LimitName, Limit)>,
}

fn by_name<S: Serializer>(limits: &[(LimitName, Limit)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(limits.iter().map(|(name, limit)| (name.as_str(), limit)))
}

/// `[policy]`, read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyEntry {
    /// Kinds of effect that never happen here.
    pub denied_effects: Vec<SideEffectClass>,
    /// Risks that the operator sets higher, by id or public name.
    pub risks: Vec<(String, Risk)>,
    /// The rules.
    pub rules: Vec<Rule>,
}

pub(super) fn read(mut section: Section<'_>) -> PolicyEntry {
    let denied_effects = section.words("denied_effects").unwrap_or_default();
    let raised = section.section("risk");
    let mut risks = Vec::new();
    for (name, word, at) in raised.pairs() {
        match word.parse() {
            Ok(risk) => risks.push((name.to_owned(), risk)),
            Err(error) => raised
                .reader
                .fault(at, &raised.key(name), format!("{error}"), &[]),
        }
    }
    let rules = section.list("rule").into_iter().filter_map(rule).collect();
    section.finish();
    PolicyEntry {
        denied_effects,
        risks,
        rules,
    }
}

fn rule(mut section: Section<'_>) -> Option<Rule> {
    let decision = section.word::<Verdict>("decision");
    if !section.has("decision") {
        section.wrong(
            "decision",
            "say `decision = \"allow\"`, `\"ask\"` or `\"deny\"`",
        );
    }
    let rule = Rule {
        decision: decision.unwrap_or(Verdict::Deny),
        why: section
            .text("why")
            .map(|said| said.value)
            .unwrap_or_default(),
        line: section.reader.line(section.at),
        at: section.at,
        capabilities: section.words("capabilities").unwrap_or_default(),
        names: section.words("names").unwrap_or_default(),
        namespaces: section.words("namespaces").unwrap_or_default(),
        principals: section.words("principals"),
        agents: section.words("agents"),
        archetypes: section.words("archetypes"),
        modes: section.words("modes"),
        risks: section.words("risks"),
        arguments: section
            .list("arguments")
            .into_iter()
            .filter_map(condition)
            .collect(),
        grants: section.words("grants").unwrap_or_default(),
        approval: section.word("approval"),
        budget: limits(&section.section("budget"))
            .into_iter()
            .map(|(n, l, _)| (n, l))
            .collect(),
    };
    check(&section, &rule);
    section.finish();
    decision.map(|_| rule)
}

fn check(section: &Section<'_>, rule: &Rule) {
    let lists = ["capabilities", "names", "namespaces"];
    let empty = rule.capabilities.is_empty() && rule.names.is_empty() && rule.namespaces.is_empty();
    // An empty list names nothing; left out, a denial speaks of everything.
    if empty && lists.iter().any(|list| section.has(list)) {
        section.wrong(
            "",
            "none of `capabilities`, `names` and `namespaces` names anything",
        );
    }
    match rule.decision {
        Verdict::Deny => {
            for key in ["grants", "approval", "budget"] {
                if section.has(key) {
                    section.wrong(key, "a denial gives and narrows nothing");
                }
            }
        }
        Verdict::Allow | Verdict::Ask => {
            if empty {
                section.wrong(
                    "",
                    "a rule that permits names `capabilities`, `names` or `namespaces`",
                );
            }
            if rule.why.trim().is_empty() {
                section.wrong("why", "a rule that permits says why: `why = \"...\"`");
            }
        }
    }
}

const OPERATORS: &[&str] = &[
    "eq",
    "ne",
    "in",
    "not_in",
    "prefix",
    "host",
    "path_under",
    "lt",
    "le",
    "gt",
    "ge",
    "max_len",
    "present",
    "absent",
];

fn condition(mut section: Section<'_>) -> Option<Condition> {
    if !section.has("at") {
        section.wrong("at", "say where: `at = \"/path\"` (a JSON Pointer)");
    }
    let at = section.word("at");
    let mut tests = Vec::new();
    for operator in OPERATORS {
        if section.has(operator) {
            tests.extend(test(&mut section, operator));
        }
    }
    let any = OPERATORS.iter().any(|operator| section.has(operator));
    if !any {
        section.wrong(
            "",
            format!("say what is asked of it, one of: {}", OPERATORS.join(", ")),
        );
    }
    section.finish();
    Some(Condition { at: at?, tests })
}

fn test(section: &mut Section<'_>, operator: &'static str) -> Option<Test> {
    Some(match operator {
        "eq" => Test::Eq(scalar(section, operator)?),
        "ne" => Test::Ne(scalar(section, operator)?),
        "in" => Test::In(scalars(section, operator)?),
        "not_in" => Test::NotIn(scalars(section, operator)?),
        "prefix" => Test::Prefix(text(section, operator)?),
        "host" => Test::Host(text(section, operator)?.to_lowercase()),
        "path_under" => Test::PathUnder(path(section, operator)?),
        "lt" => Test::Lt(number(section, operator)?),
        "le" => Test::Le(number(section, operator)?),
        "gt" => Test::Gt(number(section, operator)?),
        "ge" => Test::Ge(number(section, operator)?),
        "max_len" => Test::MaxLen(section.whole(operator)?),
        "present" => truth(section, operator).map(|()| Test::Present)?,
        "absent" => truth(section, operator).map(|()| Test::Absent)?,
        _ => return None,
    })
}

fn truth(section: &mut Section<'_>, key: &'static str) -> Option<()> {
    let truth = section.truth(key)?;
    if !truth {
        section.wrong(
            key,
            format!("write `{key} = true`, or the other one of `present` and `absent`"),
        );
    }
    truth.then_some(())
}

fn path(section: &mut Section<'_>, key: &'static str) -> Option<String> {
    let path = text(section, key)?;
    let plain = path.starts_with('/') && !path.split('/').any(|part| part == "." || part == "..");
    if !plain {
        section.wrong(key, "the path begins with `/` and has no `.` and no `..`");
    }
    plain.then_some(path)
}

fn text(section: &mut Section<'_>, key: &'static str) -> Option<String> {
    match scalar(section, key)? {
        Scalar::Text(text) => Some(text),
        Scalar::Truth(_) | Scalar::Whole(_) | Scalar::Double(_) => {
            section.wrong(key, "expected a text");
            None
        }
    }
}

fn number(section: &mut Section<'_>, key: &'static str) -> Option<Scalar> {
    match scalar(section, key)? {
        number @ (Scalar::Whole(_) | Scalar::Double(_)) => Some(number),
        Scalar::Text(_) | Scalar::Truth(_) => {
            section.wrong(key, "expected a number");
            None
        }
    }
}

fn scalar(section: &mut Section<'_>, key: &'static str) -> Option<Scalar> {
    let said = section.raw(key)?;
    let read = scalar_of(said.get_ref());
    if let Err(message) = &read {
        section.wrong(key, message.clone());
    }
    read.ok()
}

fn scalars(section: &mut Section<'_>, key: &'static str) -> Option<Vec<Scalar>> {
    let said = section.raw(key)?;
    let read: Result<Vec<Scalar>, String> = match said.get_ref() {
        DeValue::Array(items) => items.iter().map(|item| scalar_of(item.get_ref())).collect(),
        other => Err(format!("expected a list, got {}", kind(other))),
    };
    if let Err(message) = &read {
        section.wrong(key, message.clone());
    }
    read.ok()
}

/// Whole numbers over the whole 64-bit range, signed and unsigned.
fn scalar_of(value: &DeValue<'_>) -> Result<Scalar, String> {
    match value {
        DeValue::String(text) => Ok(Scalar::Text(text.to_string())),
        DeValue::Boolean(truth) => Ok(Scalar::Truth(*truth)),
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .ok()
            .filter(|number| (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(number))
            .map(Scalar::Whole)
            .ok_or_else(|| "a whole number of at most 64 bits".to_owned()),
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Scalar::Double(number)),
            _ => Err("expected a finite number".to_owned()),
        },
        other => Err(format!(
            "expected a text, a number, true or false, got {}",
            kind(other)
        )),
    }
}
