//! `bindery policy test FILE`: tables of questions with the decision that is expected.
//!
//! Rule: a test states only what matters to it; everything else is as favourable as it can
//! be, so that what decides is the policy. Unknown keys are faults here, too.

use std::sync::Arc;

use bindery_types::{
    Agent, ApprovalRequirement, Archetype, BindingStatus, CapabilityId, CredentialName, Digest,
    EnvironmentId, ExecutionState, GrantName, Moment, PermissionMode, Principal, Provider, Rights,
    Risk, SessionId, SideEffectClass, Tenant, TrustStatus, ValidationStatus, canonical_digest,
};
use serde::Deserialize;
use serde_json::Value;

use crate::ask::{
    Ask, BindingFacts, EntryFacts, EnvironmentFacts, Facts, Registration, Used, Verb,
};
use crate::decide::decide;
use crate::decision::Decision;
use crate::document::reader::{Reader, Section};
use crate::fault::{Malformed, place};
use crate::names::KnownNames;
use crate::policy::Policy;
use crate::risk::Declared;
use crate::scope::Scope;
use crate::session::{SessionSpec, Who};
use crate::trace::Axis;
use crate::words::Verdict;

/// One `[[test]]`.
#[derive(Clone, Debug)]
pub struct PolicyTest {
    name: String,
    line: usize,
    expect: Verdict,
    axis: Option<Axis>,
    question: Question,
}

#[derive(Clone, Debug)]
struct Question {
    verb: Verb,
    capability: CapabilityId,
    principal: Principal,
    rights: Rights,
    agent: Agent,
    archetype: Archetype,
    mode: Option<PermissionMode>,
    grants: Vec<GrantName>,
    arguments: Value,
    risk: Option<Risk>,
    side_effect: Option<SideEffectClass>,
    approval: ApprovalRequirement,
    execution_state: ExecutionState,
    trust: TrustStatus,
    validation: ValidationStatus,
    registration: Registration,
    provider: Option<Provider>,
    credentials: Vec<CredentialName>,
    deny: Vec<String>,
    allow: Option<Vec<String>>,
}

/// What came of one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestResult {
    /// Its name.
    pub name: String,
    /// The line of the file at which it begins.
    pub line: usize,
    /// What is wrong, when something is: expected, got, and the operator's text.
    pub failure: Option<String>,
}

/// The texts of a suite that are read as something else.
const NOW_MS: u64 = 1_000_000;

/// Reads the tests of `text`, which messages call `file`.
///
/// # Errors
///
/// [`Malformed`] with every fault.
pub fn read_tests(file: &str, text: &str) -> Result<Vec<PolicyTest>, Malformed> {
    let table = toml::de::DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        Malformed::at(file, place(text, at), "", error.message().to_owned())
    })?;
    let reader = Reader::new(file, text);
    let mut top = Section::new(&reader, String::new(), 0, Some(table.get_ref()));
    let tests: Vec<PolicyTest> = top.list("test").into_iter().filter_map(test).collect();
    top.finish();
    let (faults, _) = reader.into_parts();
    if faults.is_empty() {
        Ok(tests)
    } else {
        Err(Malformed::new(faults))
    }
}

fn test(mut section: Section<'_>) -> Option<PolicyTest> {
    for key in ["name", "expect", "capability"] {
        if !section.has(key) {
            section.wrong(key, format!("`{key}` is missing"));
        }
    }
    let head = (
        section.text("name"),
        section.word("expect"),
        section.word("axis"),
    );
    let line = section.reader.line(section.at);
    let question = question(&mut section);
    section.finish();
    Some(PolicyTest {
        name: head.0?.value,
        line,
        expect: head.1?,
        axis: head.2,
        question: question?,
    })
}

fn question(section: &mut Section<'_>) -> Option<Question> {
    let capability = section.word("capability");
    let arguments = match section.text("arguments") {
        None => Value::Object(serde_json::Map::new()),
        Some(said) => serde_json::from_str(&said.value)
            .map_err(|error| section.wrong("arguments", format!("no JSON: {error}")))
            .ok()?,
    };
    Some(Question {
        capability: capability?,
        arguments,
        verb: section.word_or("verb", Verb::Call),
        principal: section.word_or("principal", "token:test".parse().ok()?),
        rights: section.word_or("rights", Rights::Model),
        agent: section.word_or("agent", "cli".parse().ok()?),
        archetype: section.word_or("archetype", "default".parse().ok()?),
        mode: section.word("mode"),
        grants: section.words("grants").unwrap_or_default(),
        risk: section.word("risk"),
        side_effect: section.word("side_effect"),
        approval: section.word_or("approval", ApprovalRequirement::NoApproval),
        execution_state: section.word_or("execution_state", ExecutionState::Available),
        trust: section.word_or("trust", TrustStatus::HostVerified),
        validation: section.word_or("validation", ValidationStatus::Bindable),
        registration: section.word_or("registration", Registration::Static),
        provider: section.word("provider"),
        credentials: section.words("credentials").unwrap_or_default(),
        deny: section.words("deny").unwrap_or_default(),
        allow: section.words("allow"),
    })
}

impl PolicyTest {
    /// Runs the test under `policy`.
    pub fn run(&self, policy: &Policy, names: &KnownNames) -> TestResult {
        let failure = match self.question.put(policy, names) {
            Err(why) => Some(why),
            Ok(decision) => self.compare(&decision),
        };
        TestResult {
            name: self.name.clone(),
            line: self.line,
            failure,
        }
    }

    fn compare(&self, decision: &Decision) -> Option<String> {
        let (got, first) = (decision.verdict(), decision.trace.first_block());
        let right_axis = self
            .axis
            .is_none_or(|axis| first.map(|(first, _)| first) == Some(axis));
        if got == self.expect && right_axis {
            return None;
        }
        let wanted = match self.axis {
            Some(axis) => format!("{} by {axis}", self.expect),
            None => self.expect.to_string(),
        };
        let why = first.map(|(axis, line)| format!(" by {axis}: {}", line.operator_text()));
        Some(format!(
            "expected {wanted}, got {got}{}",
            why.unwrap_or_default()
        ))
    }
}

impl Question {
    fn put(&self, policy: &Policy, names: &KnownNames) -> Result<Decision, String> {
        let session_id = SessionId::from_random([0; 16]);
        let (digest, tenant) = (Digest::from_bytes([1; 32]), "test".parse::<Tenant>());
        let tenant = tenant.map_err(|error| error.to_string())?;
        let environment: &EnvironmentId = &policy.document().people.environment;
        let who = Who {
            session: session_id,
            run: None,
            principal: self.principal.clone(),
            rights: self.rights,
            tenant: tenant.clone(),
            agent: self.agent.clone(),
            archetype: self.archetype.clone(),
        };
        let spec = SessionSpec {
            who,
            mode: self.mode,
            allow: self.allow.clone(),
            deny: self.deny.clone(),
            project: None,
            stages: None,
        };
        let session = policy
            .open(spec, names)
            .map_err(|refusal| refusal.operator().unwrap_or(refusal.message()).to_owned())?;
        let entry = self.entry(digest);
        let scope = Arc::new(self.scope(policy)?);
        let binding = BindingFacts {
            session: session_id,
            principal: &self.principal,
            tenant: &tenant,
            status: BindingStatus::Bound,
            expires: Moment::from_unix_ms(u64::MAX),
            capability: &self.capability,
            environment,
            generation: 1,
            catalog_version: digest,
            implementation: digest,
            descriptor: digest,
            policy_version: policy.version(),
            scope: &scope,
            scope_digest: scope.digest(),
            budget: &policy.budget,
        };
        let calls = self.verb == Verb::Call;
        let request = self.request();
        let ask = Ask {
            verb: self.verb,
            session: &session,
            capability: &self.capability,
            generation: None,
            implementation: Some(digest),
            descriptor: None,
            scope: request.as_ref().filter(|_| self.verb == Verb::Bind),
            arguments: calls.then_some(&self.arguments),
            arguments_digest: calls.then(|| canonical_digest(&self.arguments)),
            now: Moment::from_unix_ms(NOW_MS),
        };
        let credentials: Vec<CredentialName> =
            policy.document().credentials.keys().cloned().collect();
        let facts = Facts {
            environment: Some(EnvironmentFacts {
                id: environment,
                generation: 1,
                catalog_version: digest,
            }),
            entry: Some(&entry),
            binding: (self.verb != Verb::Bind).then_some(&binding),
            revoked: None,
            credentials: &credentials,
            write_gate: true,
            approvals: &[],
            used: &Used::default(),
            windows: &[],
        };
        Ok(decide(policy, &ask, &facts))
    }

    fn entry(&self, digest: Digest) -> EntryFacts<'_> {
        EntryFacts {
            implementation: digest,
            descriptor: digest,
            provider: self.provider.as_ref(),
            provider_live: true,
            shown: true,
            registration: self.registration,
            execution: Some(self.execution_state),
            trust: self.trust,
            validation: self.validation,
            declared: Declared {
                risk: self.risk,
                read_only: None,
                side_effect: self.side_effect,
            },
            approval: Some(self.approval),
            allowed_agents: None,
            allowed_archetypes: None,
            credentials: &self.credentials,
            needs: &[],
        }
    }

    fn scope(&self, policy: &Policy) -> Result<Scope, String> {
        let slice = |name: &GrantName| {
            let grant = policy
                .grants
                .get(name)
                .ok_or_else(|| format!("there is no `[grants.{name}]`"))?;
            Ok((name.clone(), grant.slice.clone()))
        };
        self.grants
            .iter()
            .map(slice)
            .collect::<Result<Vec<_>, String>>()
            .map(Scope::of)
    }

    fn request(&self) -> Option<crate::scope::ScopeRequest> {
        let grants: serde_json::Map<String, Value> = self
            .grants
            .iter()
            .map(|name| (name.to_string(), Value::Object(Default::default())))
            .collect();
        crate::scope::ScopeRequest::deserialize(serde_json::json!({ "grants": grants })).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    const POLICY: &str = "
[agents.cli]
implementation_status = 'active'
[grants.src]
kind = 'directory'
host = '.'
guest = '/src'
[[policy.rule]]
decision = 'allow'
why = 'reading sources'
namespaces = ['acme']
grants = ['src']
arguments = [{ at = '/path', path_under = '/src' }]
[[policy.rule]]
decision = 'deny'
capabilities = ['acme:p#stop']
";

    fn results(text: &str) -> Vec<Option<String>> {
        let names = KnownNames::default();
        let policy = Policy::compile(Document::parse("p", POLICY).unwrap(), &names).unwrap();
        let tests = read_tests("t.toml", text).unwrap();
        tests
            .iter()
            .map(|test| test.run(&policy, &names).failure)
            .collect()
    }

    #[test]
    fn a_table_passes_where_the_policy_decides_as_expected() {
        let table = "
[[test]]
name = 'sources can be read'
capability = 'acme:p#go'
grants = ['src']
arguments = '{\"path\": \"/src/main.rs\"}'
expect = 'allow'
[[test]]
name = 'nothing else can'
capability = 'acme:p#go'
arguments = '{\"path\": \"/etc/passwd\"}'
expect = 'deny'
axis = 'arguments'
[[test]]
name = 'binding asks for no arguments'
verb = 'bind'
capability = 'acme:p#go'
grants = ['src']
expect = 'allow'
[[test]]
name = 'what needs approval asks'
capability = 'acme:p#go'
arguments = '{\"path\": \"/src\"}'
approval = 'confirm_once'
expect = 'ask'
[[test]]
name = 'the denial wins'
capability = 'acme:p#stop'
arguments = '{\"path\": \"/src\"}'
expect = 'deny'
axis = 'deny'
";
        assert_eq!(results(table), vec![None; 5]);
    }

    #[test]
    fn a_table_fails_with_what_was_expected_what_came_and_why() {
        let table = "[[test]]\nname = 'x'\ncapability = 'acme:p#stop'\nexpect = 'allow'\n";
        let failure = results(table)[0].clone().unwrap();
        assert_eq!(
            failure,
            "expected allow, got deny by deny: it is denied here (p:14, deny)"
        );
        let table =
            "[[test]]\nname = 'x'\ncapability = 'acme:p#stop'\nexpect = 'deny'\naxis = 'mode'\n";
        assert!(
            results(table)[0]
                .clone()
                .unwrap()
                .starts_with("expected deny by mode, got deny by deny")
        );
    }

    #[test]
    fn a_table_with_an_unknown_key_is_refused_with_its_place() {
        let error = read_tests(
            "t.toml",
            "[[test]]\nname = 'x'\ncapability = 'a:b#c'\nexpct = 'allow'\n",
        )
        .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("t.toml:4:1: `test[0].expct`: unknown key"),
            "{error}"
        );
    }
}
