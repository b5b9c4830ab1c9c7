//! A question that is allowed, of which a test changes one thing.

use std::sync::Arc;

use bindery_policy::{
    ApprovalFacts, Ask, BindingFacts, Decision, Declared, Document, EntryFacts, EnvironmentFacts,
    Facts, KnownNames, Policy, ProjectPolicy, Registration, Scope, ScopeRequest, Session,
    SessionSpec, Stage, Stages, Switch, Used, Verb, Who, Window, decide,
};
use bindery_types::{
    ApprovalRequirement, BindingStatus, Budget, CapabilityId, CredentialName, Digest,
    EnvironmentId, ExecutionState, Moment, PermissionMode, Principal, Provider, Refusal, Rights,
    Risk, SessionId, Tenant, TrustStatus, ValidationStatus, canonical_digest,
};
use serde_json::{Value, json};

pub(crate) const NOW_MS: u64 = 1_000_000;
pub(crate) const RIGHT: Digest = Digest::from_bytes([1; 32]);
pub(crate) const WRONG: Digest = Digest::from_bytes([2; 32]);

/// The document that allows what the rig asks.
pub(crate) const DOCUMENT: &str = "
[mode]
ceiling = 'full_access'
[agents.cli]
implementation_status = 'active'
[agents.stub]
[grants.src]
kind = 'directory'
host = '/private/host/path'
guest = '/src'
access = 'read_write'
[grants.api]
kind = 'endpoint'
url = 'https://api.test/v1/'
credential = 'token'
[credentials.token]
env = 'TOKEN'
agents = ['cli']
archetypes = ['default']
[[policy.rule]]
decision = 'allow'
why = 'the secret reason'
capabilities = ['acme:p#go']
grants = ['src', 'api']
";

/// Test values live as long as the test process.
pub(crate) fn keep<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

pub(crate) fn id(text: &str) -> CapabilityId {
    text.parse().unwrap()
}

pub(crate) fn scope(json: Value) -> ScopeRequest {
    serde_json::from_value(json).unwrap()
}

pub(crate) struct Rig {
    pub(crate) document: String,
    pub(crate) catalogue: Vec<(&'static str, &'static str)>,
    pub(crate) verb: Verb,
    pub(crate) capability: &'static str,
    pub(crate) who: Who,
    pub(crate) mode: PermissionMode,
    pub(crate) stages: Stages,
    pub(crate) allow: Option<Vec<String>>,
    pub(crate) deny: Vec<String>,
    pub(crate) project: Option<&'static str>,
    pub(crate) environment: Option<u64>,
    pub(crate) generation: Option<u64>,
    pub(crate) implementation: Option<Digest>,
    pub(crate) descriptor: Option<Digest>,
    pub(crate) scope: Option<ScopeRequest>,
    pub(crate) arguments: Value,
    pub(crate) entry: Option<EntryFacts<'static>>,
    pub(crate) held: BindingFacts<'static>,
    pub(crate) handle: bool,
    pub(crate) revoked: Option<Switch>,
    pub(crate) credentials: Vec<CredentialName>,
    pub(crate) gate: bool,
    pub(crate) approvals: Vec<ApprovalFacts<'static>>,
    pub(crate) used: Used,
    pub(crate) windows: Vec<Window>,
}

impl Rig {
    pub(crate) fn new(verb: Verb) -> Self {
        let session = SessionId::from_random([1; 16]);
        let environment: &EnvironmentId = keep("default".parse().unwrap());
        let principal: &Principal = keep("token:a".parse().unwrap());
        let tenant: &Tenant = keep("t".parse().unwrap());
        let provider: &Provider = keep("native".parse().unwrap());
        let held = Arc::new(Scope::default());
        Self {
            document: DOCUMENT.to_owned(),
            catalogue: vec![("go", "acme:p#go"), ("stop", "acme:p#stop")],
            verb,
            capability: "acme:p#go",
            who: Who {
                session,
                run: None,
                principal: principal.clone(),
                rights: Rights::Model,
                tenant: tenant.clone(),
                agent: "cli".parse().unwrap(),
                archetype: "default".parse().unwrap(),
            },
            mode: PermissionMode::FullAccess,
            stages: Stages::of(Stage::ALL.iter().copied()),
            allow: None,
            deny: Vec::new(),
            project: None,
            environment: Some(7),
            generation: Some(7),
            implementation: Some(RIGHT),
            descriptor: None,
            scope: None,
            arguments: json!({}),
            entry: Some(EntryFacts {
                implementation: RIGHT,
                descriptor: RIGHT,
                provider: Some(provider),
                provider_live: true,
                shown: true,
                registration: Registration::LateBound,
                execution: Some(ExecutionState::Available),
                trust: TrustStatus::HostVerified,
                validation: ValidationStatus::Bindable,
                declared: Declared {
                    risk: Some(Risk::ReadOnly),
                    ..Declared::default()
                },
                approval: Some(ApprovalRequirement::NoApproval),
                allowed_agents: None,
                allowed_archetypes: None,
                credentials: &[],
                needs: &[],
            }),
            held: BindingFacts {
                session,
                principal,
                tenant,
                status: BindingStatus::Bound,
                expires: Moment::from_unix_ms(NOW_MS + 1_000),
                capability: keep(id("acme:p#go")),
                environment,
                generation: 7,
                catalog_version: RIGHT,
                implementation: RIGHT,
                descriptor: RIGHT,
                // Filled in with the version in force unless a test sets another.
                policy_version: RIGHT,
                scope_digest: held.digest(),
                scope: keep(held),
                budget: keep(Arc::new(Budget::default())),
            },
            handle: true,
            revoked: None,
            credentials: vec!["token".parse().unwrap()],
            gate: true,
            approvals: Vec::new(),
            used: Used::default(),
            windows: Vec::new(),
        }
    }

    /// The same with one thing changed.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(crate) fn entry(&mut self) -> &mut EntryFacts<'static> {
        self.entry.as_mut().unwrap()
    }

    /// Gives the binding the whole of some grants.
    pub(crate) fn hold(&mut self, grants: &[&str]) {
        let document = Document::parse("bindery.toml", &self.document).unwrap();
        let slice = |name: &&str| {
            let name = name.parse().unwrap();
            let slice = document.grants[&name].slice();
            (name, slice)
        };
        let held = Arc::new(Scope::of(grants.iter().map(slice)));
        self.held.scope_digest = held.digest();
        self.held.scope = keep(held);
    }

    pub(crate) fn names(&self) -> KnownNames {
        let ids: Vec<CapabilityId> = self.catalogue.iter().map(|(_, text)| id(text)).collect();
        self.catalogue
            .iter()
            .map(|(name, _)| *name)
            .zip(&ids)
            .collect()
    }

    pub(crate) fn policy(&self) -> Policy {
        let document = Document::parse("bindery.toml", &self.document);
        let document = document.unwrap_or_else(|error| panic!("{error}"));
        Policy::compile(document, &self.names()).unwrap()
    }

    pub(crate) fn open(&self, policy: &Policy) -> Result<Session, Refusal> {
        let project = self
            .project
            .map(|text| ProjectPolicy::parse("tool-policy.json", text).unwrap());
        let spec = SessionSpec {
            who: self.who.clone(),
            mode: Some(self.mode),
            allow: self.allow.clone(),
            deny: self.deny.clone(),
            project,
            stages: Some(self.stages),
        };
        policy.open(spec, &self.names())
    }

    pub(crate) fn decide(&self) -> Decision {
        let policy = self.policy();
        let session = self.open(&policy).unwrap();
        self.decide_under(&policy, &session)
    }

    pub(crate) fn decide_under(&self, policy: &Policy, session: &Session) -> Decision {
        let capability = id(self.capability);
        let environment: EnvironmentId = "default".parse().unwrap();
        let calls = self.verb == Verb::Call;
        let current = self.held.policy_version == RIGHT;
        let version = if current {
            policy.version()
        } else {
            self.held.policy_version
        };
        let held = BindingFacts {
            policy_version: version,
            ..self.held
        };
        let version = |approval: &ApprovalFacts<'static>| match approval.policy_version == RIGHT {
            true => ApprovalFacts {
                policy_version: policy.version(),
                ..*approval
            },
            false => *approval,
        };
        let approvals: Vec<ApprovalFacts<'_>> = self.approvals.iter().map(version).collect();
        let ask = Ask {
            verb: self.verb,
            session,
            capability: &capability,
            generation: self.generation,
            implementation: self.implementation,
            descriptor: self.descriptor,
            scope: self.scope.as_ref().filter(|_| self.verb == Verb::Bind),
            arguments: calls.then_some(&self.arguments),
            arguments_digest: calls.then(|| canonical_digest(&self.arguments)),
            now: Moment::from_unix_ms(NOW_MS),
        };
        let environment = self.environment.map(|generation| EnvironmentFacts {
            id: &environment,
            generation,
            catalog_version: RIGHT,
        });
        let facts = Facts {
            environment,
            entry: self.entry.as_ref(),
            binding: (self.handle && self.verb != Verb::Bind).then_some(&held),
            revoked: self.revoked,
            credentials: &self.credentials,
            write_gate: self.gate,
            approvals: &approvals,
            used: &self.used,
            windows: &self.windows,
        };
        decide(policy, &ask, &facts)
    }

    /// Verdict, first blocking axis, error type, as text.
    pub(crate) fn said(&self) -> String {
        let decision = self.decide();
        match decision.trace.first_block() {
            Some((axis, line)) => format!("deny {axis} {}", line.kind.unwrap()),
            None => decision.verdict().to_string(),
        }
    }
}
