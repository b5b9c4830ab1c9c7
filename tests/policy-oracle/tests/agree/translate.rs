//! From the plain model to the product: a document as TOML text, a question as its own.

use std::fmt::Write;
use std::sync::Arc;

use bindery_policy::{
    Access, ApprovalFacts, Ask, BindingFacts, Counter, Covers, Decision, Declared, Document,
    EntryFacts, EnvironmentFacts, Facts, GrantKind, Keys, KnownNames, Policy, ProjectPolicy,
    Registration, Scope, ScopeRequest, SessionSpec, Slice, Stage, Stages, SubPath, Subject, Switch,
    Used, Who, Window, decide,
};
use bindery_types::{
    Budget, CapabilityId, Digest, LimitName, Moment, ProposalId, Rights, SessionId,
    canonical_digest,
};
use serde_json::{Value, json};

use crate::model::*;
use crate::random::CATALOGUE;

const NOW_MS: u64 = 1_000_000_000;

fn digest(text: &str) -> Digest {
    Digest::of(text.as_bytes())
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Debug>>(texts: &[String]) -> Vec<T> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// The document as its author would write it.
pub(crate) fn toml(doc: &Doc) -> String {
    let mut out = String::from("[mode]\nceiling = \"full_access\"\n[visibility]\n");
    list(&mut out, "namespaces", doc.namespaces.as_ref());
    list(&mut out, "providers", doc.providers.as_ref());
    list(&mut out, "hidden", Some(&doc.hidden));
    out.push_str("[profile]\n");
    list(&mut out, "allowed_tools", doc.profile_allowed.as_ref());
    list(&mut out, "denied_tools", Some(&doc.profile_denied));
    out.push_str("[workspaces]\n");
    list(&mut out, "archetypes", doc.archetypes.as_ref());
    writeln!(out, "[trust]\nminimum = \"{}\"", doc.minimum_trust).unwrap();
    for agent in &doc.agents {
        let status = if agent.active { "active" } else { "stub" };
        writeln!(
            out,
            "[agents.{}]\nimplementation_status = \"{status}\"",
            agent.name
        )
        .unwrap();
        list(&mut out, "tools", agent.tools.as_ref());
        list(&mut out, "archetypes", agent.archetypes.as_ref());
    }
    for credential in &doc.credentials {
        writeln!(out, "[credentials.{}]\nenv = \"X\"", credential.name).unwrap();
        list(&mut out, "agents", credential.agents.as_ref());
        list(&mut out, "archetypes", credential.archetypes.as_ref());
    }
    doc.grants
        .iter()
        .for_each(|grant| grant_toml(&mut out, grant));
    let words = |words: Vec<String>| format!("{words:?}");
    let effects = doc.denied_effects.iter().map(ToString::to_string).collect();
    writeln!(
        out,
        "[policy]\ndenied_effects = {}\n[policy.risk]",
        words(effects)
    )
    .unwrap();
    for (name, risk) in &doc.raised_risks {
        writeln!(out, "{name:?} = \"{risk}\"").unwrap();
    }
    doc.rules.iter().for_each(|rule| rule_toml(&mut out, rule));
    out.push_str("[approvals.risk]\n");
    for (risk, requirement) in &doc.approvals {
        writeln!(out, "{risk} = \"{requirement}\"").unwrap();
    }
    if let Some(fuel) = doc.fuel_ceiling {
        writeln!(out, "[ceilings]\nfuel = {fuel}").unwrap();
    }
    for (whose, name) in [
        (Whose::Session, "session"),
        (Whose::Principal, "principal"),
        (Whose::Environment, "environment"),
    ] {
        writeln!(out, "[aggregates.{name}]").unwrap();
        for (_, counter, max) in doc.aggregates.iter().filter(|(of, _, _)| *of == whose) {
            writeln!(out, "{counter} = {max}").unwrap();
        }
        writeln!(out, "[rates.{name}]").unwrap();
        for (_, counter, max, per_ms) in doc.rates.iter().filter(|(of, _, _, _)| *of == whose) {
            writeln!(out, "{counter} = \"{max}/{per_ms}ms\"").unwrap();
        }
    }
    out
}

fn list(out: &mut String, key: &str, list: Option<&Vec<String>>) {
    if let Some(list) = list {
        writeln!(out, "{key} = {list:?}").unwrap();
    }
}

fn access(write: bool) -> &'static str {
    if write { "read_write" } else { "read_only" }
}

fn grant_toml(out: &mut String, grant: &Grant) {
    writeln!(out, "[grants.{}]", grant.name).unwrap();
    match &grant.gives {
        Gives::Directory { write } => writeln!(
            out,
            "kind = \"directory\"\nhost = \".\"\nguest = \"/{}\"\naccess = \"{}\"",
            grant.name,
            access(*write)
        ),
        Gives::Store { write } => writeln!(
            out,
            "kind = \"store\"\nstore = \"s\"\naccess = \"{}\"",
            access(*write)
        ),
        Gives::Config => writeln!(out, "kind = \"config\"\nvalues = {{ A = \"1\" }}"),
        Gives::Endpoint {
            methods,
            path,
            credential,
        } => {
            if let Some(name) = credential {
                writeln!(out, "credential = {name:?}").unwrap();
            }
            writeln!(
                out,
                "kind = \"endpoint\"\nmethods = {methods:?}\nurl = \"https://api.test{path}\""
            )
        }
    }
    .unwrap();
    if let Some(raised) = grant.raised {
        writeln!(out, "side_effect = \"{raised}\"").unwrap();
    }
}

fn rule_toml(out: &mut String, rule: &Rule) {
    let say = match rule.say {
        Say::Allow => "allow",
        Say::Ask => "ask",
        Say::Deny => "deny",
    };
    writeln!(
        out,
        "[[policy.rule]]\ndecision = \"{say}\"\nwhy = \"because\""
    )
    .unwrap();
    for (key, texts) in [
        ("capabilities", &rule.capabilities),
        ("names", &rule.names),
        ("namespaces", &rule.namespaces),
    ] {
        list(out, key, Some(texts).filter(|texts| !texts.is_empty()));
    }
    list(out, "principals", rule.principals.as_ref());
    list(out, "agents", rule.agents.as_ref());
    list(out, "archetypes", rule.archetypes.as_ref());
    list(
        out,
        "modes",
        rule.modes
            .as_ref()
            .map(|m| m.iter().map(ToString::to_string).collect())
            .as_ref(),
    );
    list(
        out,
        "risks",
        rule.risks
            .as_ref()
            .map(|r| r.iter().map(ToString::to_string).collect())
            .as_ref(),
    );
    if rule.say != Say::Deny {
        list(out, "grants", Some(&rule.grants));
    }
    if let Some(approval) = rule.approval {
        writeln!(out, "approval = \"{approval}\"").unwrap();
    }
    for condition in &rule.conditions {
        writeln!(
            out,
            "[[policy.rule.arguments]]\nat = \"/{}\"\n{}",
            condition.member,
            test_toml(&condition.test)
        )
        .unwrap();
    }
}

fn test_toml(test: &Test) -> String {
    let items = |list: &[Value]| {
        list.iter()
            .map(Value::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    match test {
        Test::Eq(value) => format!("eq = {value}"),
        Test::Ne(value) => format!("ne = {value}"),
        Test::In(list) => format!("in = [{}]", items(list)),
        Test::NotIn(list) => format!("not_in = [{}]", items(list)),
        Test::Prefix(text) => format!("prefix = {text:?}"),
        Test::Host(text) => format!("host = {text:?}"),
        Test::PathUnder(text) => format!("path_under = {text:?}"),
        Test::Lt(number) => format!("lt = {number}"),
        Test::Le(number) => format!("le = {number}"),
        Test::Gt(number) => format!("gt = {number}"),
        Test::Ge(number) => format!("ge = {number}"),
        Test::MaxLen(max) => format!("max_len = {max}"),
        Test::Present => "present = true".to_owned(),
        Test::Absent => "absent = true".to_owned(),
    }
}

/// The document as the product reads it.
pub(crate) fn policy(doc: &Doc) -> Policy {
    let text = toml(doc);
    let document =
        Document::parse("bindery.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Policy::compile(document, &names()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn names() -> KnownNames {
    let ids: Vec<CapabilityId> = CATALOGUE
        .iter()
        .map(|(_, id)| id.parse().unwrap())
        .collect();
    CATALOGUE.iter().map(|(name, _)| *name).zip(&ids).collect()
}

/// A held scope as the product holds it.
pub(crate) fn scope(doc: &Doc, wishes: &[Wish]) -> Scope {
    let slice = |wish: &Wish| {
        let gives = &doc
            .grants
            .iter()
            .find(|grant| grant.name == wish.grant)
            .unwrap()
            .gives;
        let access = if wish.read_only {
            Access::ReadOnly
        } else {
            Access::ReadWrite
        };
        match gives {
            Gives::Directory { .. } => Slice::Directory {
                access,
                path: SubPath::default(),
            },
            Gives::Store { .. } => Slice::Store {
                access,
                keys: Keys::Granted,
            },
            Gives::Config => Slice::Config {
                keys: ["A".into()].into(),
            },
            Gives::Endpoint { .. } => Slice::Endpoint {
                methods: wish
                    .methods
                    .iter()
                    .flatten()
                    .map(|m| m.as_str().into())
                    .collect(),
                url: format!("https://api.test{}", wish.path.as_ref().unwrap())
                    .parse()
                    .unwrap(),
            },
        }
    };
    Scope::of(
        wishes
            .iter()
            .map(|wish| (wish.grant.parse().unwrap(), slice(wish))),
    )
}

/// A wished scope as a caller writes it.
fn request(q: &Question) -> Option<ScopeRequest> {
    if q.verb != Verb::Bind || (q.scope.is_none() && q.asked_fuel.is_none()) {
        return None;
    }
    let mut json = json!({ "budget": {} });
    if let Some(fuel) = q.asked_fuel {
        json["budget"]["fuel"] = json!(fuel.to_string());
    }
    if let Some(wishes) = &q.scope {
        json["grants"] = json!({});
        for wish in wishes {
            let mut wanted = json!({});
            if wish.read_only {
                wanted["access"] = json!("read_only");
            }
            if let Some(methods) = &wish.methods {
                wanted["methods"] = json!(methods);
            }
            if let Some(path) = &wish.path {
                wanted["url"] = json!(format!("https://api.test{path}"));
            }
            json["grants"][&wish.grant] = wanted;
        }
    }
    Some(serde_json::from_value(json).unwrap())
}

fn subject(whose: Whose) -> Subject {
    match whose {
        Whose::Session => Subject::Session,
        Whose::Principal => Subject::Principal,
        Whose::Environment => Subject::Environment,
    }
}

/// What the product says to the question.
pub(crate) fn ask(doc: &Doc, q: &Question, policy: &Policy) -> Decision {
    let session_id = SessionId::from_random([1; 16]);
    let other_session = SessionId::from_random([2; 16]);
    let stage = |number: &u8| {
        Stage::ALL
            .iter()
            .copied()
            .find(|stage| stage.number() == *number)
            .unwrap()
    };
    let project = (q.project_allow.is_some() || !q.project_deny.is_empty()).then(|| {
        let mut json = json!({ "deny": q.project_deny });
        if let Some(allow) = &q.project_allow {
            json["allow"] = json!(allow);
        }
        ProjectPolicy::parse("tool-policy.json", &json.to_string()).unwrap()
    });
    let who = Who {
        session: session_id,
        run: None,
        principal: q.principal.parse().unwrap(),
        rights: if q.model {
            Rights::Model
        } else {
            Rights::Operator
        },
        tenant: "t".parse().unwrap(),
        agent: q.agent.parse().unwrap(),
        archetype: q.archetype.parse().unwrap(),
    };
    let spec = SessionSpec {
        who,
        mode: Some(q.mode),
        allow: q.session_allow.clone(),
        deny: q.session_deny.clone(),
        project,
        stages: Some(Stages::of(doc.stages.iter().map(stage))),
    };
    let session = policy.open(spec, &names()).unwrap();
    let (id, other_id): (CapabilityId, CapabilityId) =
        (q.id.parse().unwrap(), "other:x#y".parse().unwrap());
    let (right, wrong) = (digest("right"), digest("wrong"));
    let wanted = |same: Option<bool>| same.map(|same| if same { right } else { wrong });
    let request = request(q);
    let arguments_digest = canonical_digest(&q.arguments);
    let ask = Ask {
        verb: match q.verb {
            Verb::Bind => bindery_policy::Verb::Bind,
            Verb::Call => bindery_policy::Verb::Call,
            Verb::Refresh => bindery_policy::Verb::Refresh,
        },
        session: &session,
        capability: &id,
        generation: Some(if q.asked_generation_is_current { 5 } else { 4 }),
        implementation: wanted(q.implementation),
        descriptor: wanted(q.descriptor),
        scope: request.as_ref(),
        arguments: (q.verb == Verb::Call).then_some(&q.arguments),
        arguments_digest: (q.verb == Verb::Call).then_some(arguments_digest),
        now: Moment::from_unix_ms(NOW_MS),
    };
    // Everything that facts borrow.
    let (environment, other_environment) =
        ("default".parse().unwrap(), "elsewhere".parse().unwrap());
    let provider = q
        .entry
        .as_ref()
        .map(|entry| entry.provider.parse().unwrap());
    let agents = q
        .entry
        .as_ref()
        .and_then(|entry| entry.agents.as_ref())
        .map(|list| parsed(list));
    let archetypes = q
        .entry
        .as_ref()
        .and_then(|entry| entry.archetypes.as_ref())
        .map(|list| parsed(list));
    let credentials = q
        .entry
        .as_ref()
        .map(|entry| parsed(&entry.credentials))
        .unwrap_or_default();
    let needs: Vec<bindery_policy::Need> = q
        .entry
        .iter()
        .flat_map(|entry| &entry.needs)
        .map(|need| bindery_policy::Need {
            kind: need.kind.parse::<GrantKind>().unwrap(),
            required: need.required,
            write: need.write,
        })
        .collect();
    let entry = q.entry.as_ref().map(|entry| EntryFacts {
        implementation: right,
        descriptor: right,
        provider: provider.as_ref(),
        provider_live: entry.provider_live,
        shown: entry.shown,
        registration: if entry.late_bound {
            Registration::LateBound
        } else {
            Registration::Static
        },
        execution: entry.execution,
        trust: entry.trust,
        validation: entry.validation,
        declared: Declared {
            risk: entry.risk,
            read_only: entry.read_only,
            side_effect: entry.effect,
        },
        approval: entry.approval,
        allowed_agents: agents.as_deref(),
        allowed_archetypes: archetypes.as_deref(),
        credentials: &credentials,
        needs: &needs,
    });
    let held_scope = Arc::new(
        q.held
            .as_ref()
            .map(|held| scope(doc, &held.scope))
            .unwrap_or_default(),
    );
    let budget = Arc::new(Budget::default().with(LimitName::Fuel, 500).unwrap());
    let (other_principal, other_tenant) = ("token:c".parse().unwrap(), "u".parse().unwrap());
    let tenant = "t".parse().unwrap();
    let principal = q.principal.parse().unwrap();
    let held = q.held.as_ref().map(|held| BindingFacts {
        session: if !held.own && held.which % 3 == 0 {
            other_session
        } else {
            session_id
        },
        principal: if !held.own && held.which % 3 == 1 {
            &other_principal
        } else {
            &principal
        },
        tenant: if !held.own && held.which % 3 == 2 {
            &other_tenant
        } else {
            &tenant
        },
        status: held.status,
        expires: Moment::from_unix_ms(if held.expired { NOW_MS } else { NOW_MS + 1 }),
        capability: if held.same_capability { &id } else { &other_id },
        environment: if held.same_environment {
            &environment
        } else {
            &other_environment
        },
        generation: if held.same_generation { 5 } else { 4 },
        catalog_version: if held.same_catalogue { right } else { wrong },
        implementation: if held.same_implementation {
            right
        } else {
            wrong
        },
        descriptor: if held.same_descriptor { right } else { wrong },
        policy_version: if held.same_policy {
            policy.version()
        } else {
            wrong
        },
        scope: &held_scope,
        scope_digest: held_scope.digest(),
        budget: &budget,
    });
    let other_archetype = "elsewhere".parse().unwrap();
    let archetype = q.archetype.parse().unwrap();
    let approvals: Vec<ApprovalFacts<'_>> = q
        .approvals
        .iter()
        .zip(0..)
        .map(|(a, number)| {
            let pin = |index: u64| a.same_pins || a.which % 5 != index;
            let person = |index: u64| a.same_principal || a.which % 2 != index;
            let run = |index: u64| a.same_run || a.which % 3 != index;
            ApprovalFacts {
                proposal: ProposalId::from_random([number; 16]),
                covers: match (a.for_run, a.same_arguments) {
                    (true, _) => Covers::Run,
                    (false, true) => Covers::Arguments(arguments_digest),
                    (false, false) => Covers::Arguments(wrong),
                },
                capability: if pin(0) { &id } else { &other_id },
                implementation: if pin(1) { right } else { wrong },
                descriptor: if pin(2) { right } else { wrong },
                generation: if pin(3) { 5 } else { 4 },
                policy_version: if pin(4) { policy.version() } else { wrong },
                scope_digest: if a.same_scope {
                    held_scope.digest()
                } else {
                    wrong
                },
                principal: if person(0) {
                    &principal
                } else {
                    &other_principal
                },
                tenant: if person(1) { &tenant } else { &other_tenant },
                session: if run(0) { session_id } else { other_session },
                run: if run(1) {
                    None
                } else {
                    Some(bindery_types::RunId::from_random([9; 16]))
                },
                archetype: if run(2) { &archetype } else { &other_archetype },
                expires: Moment::from_unix_ms(if a.expired { NOW_MS } else { NOW_MS + 1 }),
                used: a.used,
            }
        })
        .collect();
    let used = q
        .used
        .iter()
        .fold(Used::default(), |used, (whose, name, count)| {
            used.with(subject(*whose), name.parse::<Counter>().unwrap(), *count)
        });
    let windows: Vec<Window> = q
        .windows
        .iter()
        .map(|(whose, name, count, ago_ms)| Window {
            subject: subject(*whose),
            counter: name.parse().unwrap(),
            opened: Moment::from_unix_ms(NOW_MS - ago_ms),
            count: *count,
        })
        .collect();
    let configured = parsed(&q.configured);
    let facts = Facts {
        environment: q.admitted.then_some(EnvironmentFacts {
            id: &environment,
            generation: 5,
            catalog_version: right,
        }),
        entry: entry.as_ref(),
        binding: held.as_ref(),
        revoked: q.revoked.then_some(Switch::All),
        credentials: &configured,
        write_gate: q.gate,
        approvals: &approvals,
        used: &used,
        windows: &windows,
    };
    decide(policy, &ask, &facts)
}
