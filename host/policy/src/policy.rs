//! A document made ready to decide: names as ids, rules by what they speak of, a version.
//!
//! Rule: the version is a digest over what the document means, so that an
//! edit that changes no meaning changes no version.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bindery_types::{
    Agent, ApprovalRequirement, Archetype, CapabilityId, CredentialName, Digest, GrantName, Limit,
    LimitName, Provider, Rights, Risk, SideEffectClass, canonical, canonical_digest,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::document::Document;
use crate::document::limits::Rate;
use crate::document::rules::Rule;
use crate::fault::{Fault, Malformed};
use crate::names::{IdSet, KnownNames, ListKind};
use crate::scope::Slice;
use crate::words::{Counter, ImplementationStatus, Subject, Verdict};

/// The rule that a decision rests on: for the operator's eyes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleRef {
    /// The document.
    pub file: String,
    /// The line at which the rule begins.
    pub line: usize,
    /// What it says.
    pub decision: Verdict,
    /// Why it is there.
    pub why: String,
}

/// A rule, ready.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) rule: Rule,
    pub(crate) shown: Arc<RuleRef>,
    ids: IdSet,
    /// The requirement it adds: an `ask` without one asks each time.
    pub(crate) approval: ApprovalRequirement,
}

#[derive(Debug)]
pub(crate) struct ReadyAgent {
    pub(crate) active: bool,
    pub(crate) tools: Option<IdSet>,
    pub(crate) archetypes: Option<Vec<Archetype>>,
    pub(crate) providers: Option<Vec<Provider>>,
}

#[derive(Debug)]
pub(crate) struct ReadyGrant {
    pub(crate) slice: Slice,
    pub(crate) raised: Option<SideEffectClass>,
    pub(crate) credential: Option<CredentialName>,
}

/// A policy in force. Nothing in it can be changed; a new document is a new policy.
#[derive(Debug)]
pub struct Policy {
    document: Document,
    version: Digest,
    warnings: Vec<Fault>,
    pub(crate) budget: Arc<bindery_types::Budget>,
    rules: Vec<Ready>,
    by_id: HashMap<CapabilityId, Vec<u32>>,
    by_namespace: HashMap<String, Vec<u32>>,
    everywhere: Vec<u32>,
    pub(crate) hidden: IdSet,
    pub(crate) agents: HashMap<Agent, ReadyAgent>,
    risks: HashMap<CapabilityId, Risk>,
    pub(crate) grants: BTreeMap<GrantName, ReadyGrant>,
    pub(crate) aggregates: Vec<(Subject, Counter, u64)>,
    pub(crate) rates: Vec<(Subject, Counter, Rate)>,
    #[cfg(feature = "seeded-bugs")]
    pub(crate) bug: Option<crate::seeded::Bug>,
}

impl Policy {
    /// Makes `document` ready; names are resolved against `names`, once. When the catalogue
    /// gains an entry, compile again.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when a name in a list that permits stands for none or for several.
    pub fn compile(document: Document, names: &KnownNames) -> Result<Self, Malformed> {
        let mut compiler = Compiler {
            document: &document,
            names,
            faults: Vec::new(),
            warnings: Vec::new(),
        };
        let rules: Vec<Ready> = document
            .policy
            .rules
            .iter()
            .map(|rule| compiler.rule(rule))
            .collect();
        let agents = compiler.agents();
        let hidden = compiler.list(
            "visibility.hidden",
            1,
            &document.people.visibility.hidden,
            ListKind::Forbids,
        );
        let risks = compiler.risks();
        let Compiler {
            faults, warnings, ..
        } = compiler;
        if !faults.is_empty() {
            return Err(Malformed::new(faults));
        }
        let ready = |grant: &crate::document::grants::GrantEntry| ReadyGrant {
            slice: grant.slice(),
            raised: grant.raised,
            credential: grant.credential().cloned(),
        };
        let mut policy = Self {
            version: version(&document, &rules, &agents, &hidden, &risks),
            warnings,
            budget: Arc::new(document.limits.budgets.clone()),
            grants: document
                .grants
                .iter()
                .map(|(name, grant)| (name.clone(), ready(grant)))
                .collect(),
            aggregates: aggregates(&document),
            rates: rates(&document),
            rules,
            by_id: HashMap::new(),
            by_namespace: HashMap::new(),
            everywhere: Vec::new(),
            hidden,
            agents,
            risks,
            document,
            #[cfg(feature = "seeded-bugs")]
            bug: None,
        };
        policy.index();
        Ok(policy)
    }

    fn index(&mut self) {
        for (number, ready) in (0_u32..).zip(&self.rules) {
            let rule = &ready.rule;
            // What was written counts, not what it resolved to: a name of nothing is nothing.
            if rule.capabilities.is_empty() && rule.names.is_empty() && rule.namespaces.is_empty() {
                self.everywhere.push(number);
            }
            for namespace in &rule.namespaces {
                let of = self
                    .by_namespace
                    .entry(namespace.as_str().to_owned())
                    .or_default();
                if of.last() != Some(&number) {
                    of.push(number);
                }
            }
            // A rule is found once: by the namespace, where it names both.
            let named =
                |id: &CapabilityId| rule.namespaces.iter().any(|n| n.as_str() == id.namespace());
            for id in ready.ids.iter().filter(|id| !named(id)) {
                self.by_id.entry(id.clone()).or_default().push(number);
            }
        }
    }

    /// The document it was made of.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The digest of what it means.
    pub fn version(&self) -> Digest {
        self.version
    }

    /// What is worth telling the operator.
    pub fn warnings(&self) -> &[Fault] {
        &self.warnings
    }

    /// The rules that speak of `capability`, whoever asks.
    pub(crate) fn rules_of(
        &self,
        capability: &CapabilityId,
    ) -> impl Iterator<Item = (u32, &Ready)> {
        let by_id = self.by_id.get(capability).into_iter().flatten();
        let by_namespace = self
            .by_namespace
            .get(capability.namespace())
            .into_iter()
            .flatten();
        by_id
            .chain(by_namespace)
            .chain(&self.everywhere)
            .filter_map(|number| Some((*number, self.rule(*number)?)))
    }

    pub(crate) fn rule(&self, number: u32) -> Option<&Ready> {
        self.rules.get(usize::try_from(number).ok()?)
    }

    /// The tools of an agent as ids, in order: none = any that the rules allow.
    pub fn tools_of(&self, agent: &Agent) -> Option<Vec<CapabilityId>> {
        let tools = self.agents.get(agent)?.tools.as_ref()?;
        Some(tools.sorted().into_iter().cloned().collect())
    }

    /// The risk that the operator set for `capability`.
    pub fn raised_risk(&self, capability: &CapabilityId) -> Option<Risk> {
        self.risks.get(capability).copied()
    }

    /// The hard ceiling of `limit` for what somebody with `rights` asks for: the document's
    /// or the product's. A model asks for no more than the operator gives by default, unless
    /// the document says how much more.
    pub fn ceiling(&self, limit: LimitName, rights: Rights) -> Limit {
        let product = limit.ceiling().map_or(Limit::Unlimited, Limit::Finite);
        let said = self.document.limits.ceilings.get(&limit).copied();
        let own = match rights {
            Rights::Model => said.unwrap_or_else(|| self.budget.get(limit)),
            Rights::Operator => said.unwrap_or(Limit::Unlimited),
        };
        product.min(own)
    }
}

fn finite(limit: Limit) -> Option<u64> {
    match limit {
        Limit::Finite(max) => Some(max),
        Limit::Unlimited => None,
    }
}

fn aggregates(document: &Document) -> Vec<(Subject, Counter, u64)> {
    let all = document.limits.aggregates.iter();
    let all = all.flat_map(|(subject, limits)| {
        limits
            .iter()
            .map(|(counter, limit)| (*subject, *counter, *limit))
    });
    all.filter_map(|(subject, counter, limit)| Some((subject, counter, finite(limit)?)))
        .collect()
}

fn rates(document: &Document) -> Vec<(Subject, Counter, Rate)> {
    let all = document.limits.rates.iter();
    all.flat_map(|(subject, rates)| {
        rates
            .iter()
            .map(|(counter, rate)| (*subject, *counter, *rate))
    })
    .collect()
}

struct Compiler<'a> {
    document: &'a Document,
    names: &'a KnownNames,
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
}

impl Compiler<'_> {
    fn list(&mut self, key: &str, line: usize, list: &[String], kind: ListKind) -> IdSet {
        let resolved = self.names.resolve(list, kind);
        let fault = |message: String| Fault {
            file: self.document.file.clone(),
            line,
            column: 1,
            key: key.to_owned(),
            message,
            allowed: Vec::new(),
        };
        self.faults.extend(resolved.faults.into_iter().map(fault));
        self.warnings
            .extend(resolved.warnings.into_iter().map(fault));
        resolved.ids
    }

    fn permits(&self) -> ListKind {
        ListKind::Permits(self.document.names.missing)
    }

    fn rule(&mut self, rule: &Rule) -> Ready {
        let (kind, asks) = match rule.decision {
            Verdict::Deny => (ListKind::Forbids, ApprovalRequirement::NoApproval),
            Verdict::Allow => (self.permits(), ApprovalRequirement::NoApproval),
            Verdict::Ask => (self.permits(), ApprovalRequirement::ConfirmEveryTime),
        };
        let ids: Vec<String> = rule
            .capabilities
            .iter()
            .map(|id| id.as_str().to_owned())
            .collect();
        let all: Vec<String> = ids.into_iter().chain(rule.names.iter().cloned()).collect();
        Ready {
            ids: self.list("policy.rule.names", rule.line, &all, kind),
            shown: Arc::new(RuleRef {
                file: self.document.file.clone(),
                line: rule.line,
                decision: rule.decision,
                why: rule.why.clone(),
            }),
            approval: rule.approval.unwrap_or(asks),
            rule: rule.clone(),
        }
    }

    fn agents(&mut self) -> HashMap<Agent, ReadyAgent> {
        let mut agents = HashMap::new();
        for (name, agent) in &self.document.people.agents {
            let permits = self.permits();
            let key = format!("agents.{name}.tools");
            let tools = agent
                .tools
                .as_ref()
                .map(|tools| self.list(&key, 1, tools, permits));
            let active = agent.implementation_status == ImplementationStatus::Active;
            let (archetypes, providers) = (agent.archetypes.clone(), agent.providers.clone());
            agents.insert(
                name.clone(),
                ReadyAgent {
                    active,
                    tools,
                    archetypes,
                    providers,
                },
            );
        }
        agents
    }

    fn risks(&mut self) -> HashMap<CapabilityId, Risk> {
        let mut risks: HashMap<CapabilityId, Risk> = HashMap::new();
        for (name, risk) in &self.document.policy.risks {
            let list = self.list(
                "policy.risk",
                1,
                std::slice::from_ref(name),
                ListKind::Forbids,
            );
            for id in list.iter() {
                let known = risks.entry(id.clone()).or_insert(*risk);
                *known = (*known).max(*risk);
            }
        }
        risks
    }
}

/// The digest of the meaning: names as ids, rules in no order, reasons and places left out.
fn version(
    document: &Document,
    rules: &[Ready],
    agents: &HashMap<Agent, ReadyAgent>,
    hidden: &IdSet,
    risks: &HashMap<CapabilityId, Risk>,
) -> Digest {
    let mut meaning = serde_json::to_value(document).unwrap_or_default();
    let mut meant: Vec<Value> = rules.iter().map(rule_meaning).collect();
    meant.sort_by_cached_key(canonical);
    meant.dedup();
    let tools: BTreeMap<&str, Value> = agents
        .iter()
        .map(|(name, agent)| {
            (
                name.as_str(),
                json!(agent.tools.as_ref().map(IdSet::sorted)),
            )
        })
        .collect();
    let risks: BTreeMap<&str, Risk> = risks
        .iter()
        .map(|(id, risk)| (id.as_str(), *risk))
        .collect();
    if let Some(members) = meaning.as_object_mut() {
        members.insert("policy".to_owned(), json!({
            "rules": meant,
            "denied_effects": document.policy.denied_effects.iter().collect::<std::collections::BTreeSet<_>>(),
            "risks": risks,
            "tools": tools,
            "hidden": hidden.sorted(),
        }));
    }
    canonical_digest(&meaning)
}

fn rule_meaning(ready: &Ready) -> Value {
    let mut meaning = serde_json::to_value(&ready.rule).unwrap_or_default();
    if let Some(members) = meaning.as_object_mut() {
        members.remove("names");
        members.insert("capabilities".to_owned(), json!(ready.ids.sorted()));
        members.insert("approval".to_owned(), json!(ready.approval));
        for list in [
            "namespaces",
            "principals",
            "agents",
            "archetypes",
            "modes",
            "risks",
            "grants",
        ] {
            if let Some(Value::Array(items)) = members.get_mut(list) {
                items.sort_by_cached_key(canonical);
                items.dedup();
            }
        }
    }
    meaning
}
