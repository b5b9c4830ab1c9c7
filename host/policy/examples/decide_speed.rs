//! How long one decision takes under a policy of 200 rules: nanoseconds a call, allowed
//! and denied. `cargo run --release -p bindery-policy --example decide_speed`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use bindery_policy::{
    Ask, BindingFacts, Declared, Document, EntryFacts, EnvironmentFacts, Facts, KnownNames, Policy,
    Registration, Scope, SessionSpec, Stage, Stages, Used, Verb, Who, decide,
};
use bindery_types::{
    ApprovalRequirement, BindingStatus, Budget, CapabilityId, Digest, EnvironmentId,
    ExecutionState, Moment, Provider, Rights, RunId, SessionId, TrustStatus, ValidationStatus,
    canonical_digest,
};
use serde_json::json;

const RULES: usize = 200;
const ROUNDS: u32 = 1_000_000;

fn document() -> String {
    let mut text = String::from(
        "[mode]\nceiling = 'full_access'\n[agents.cli]\nimplementation_status = 'active'\n\
         [grants.src]\nkind = 'directory'\nhost = '.'\nguest = '/src'\n",
    );
    for number in 0..RULES / 2 {
        text.push_str(&format!(
            "[[policy.rule]]\ndecision = 'allow'\nwhy = 'x'\ncapabilities = ['acme:p{number}#go']\n\
             grants = ['src']\narguments = [{{ at = '/path', path_under = '/src' }}]\n\
             [[policy.rule]]\ndecision = 'deny'\nnamespaces = ['vendor{number}']\n"
        ));
    }
    text
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::compile(Document::parse("p", &document())?, &KnownNames::default())?;
    let session_id = SessionId::from_random([1; 16]);
    let who = Who {
        session: session_id,
        run: Some(RunId::from_random([1; 16])),
        principal: "token:a".parse()?,
        rights: Rights::Model,
        tenant: "t".parse()?,
        agent: "cli".parse()?,
        archetype: "default".parse()?,
    };
    let (principal, tenant) = (who.principal.clone(), who.tenant.clone());
    let stages = Some(Stages::of(Stage::ALL.iter().copied()));
    let spec = SessionSpec {
        who,
        mode: None,
        allow: None,
        deny: Vec::new(),
        project: None,
        stages,
    };
    let session = policy.open(spec, &KnownNames::default())?;
    let (capability, digest): (CapabilityId, _) =
        ("acme:p50#go".parse()?, Digest::from_bytes([1; 32]));
    let (environment, provider): (EnvironmentId, Provider) =
        ("default".parse()?, "native".parse()?);
    let grant = policy.document().grants.iter().next().ok_or("a grant")?;
    let scope = Arc::new(Scope::of([(grant.0.clone(), grant.1.slice())]));
    let (budget, used) = (Arc::new(Budget::default()), Used::default());
    let entry = EntryFacts {
        implementation: digest,
        descriptor: digest,
        provider: Some(&provider),
        provider_live: true,
        shown: true,
        registration: Registration::LateBound,
        execution: Some(ExecutionState::Available),
        trust: TrustStatus::HostVerified,
        validation: ValidationStatus::Bindable,
        declared: Declared::default(),
        approval: Some(ApprovalRequirement::NoApproval),
        allowed_agents: None,
        allowed_archetypes: None,
        credentials: &[],
        needs: &[],
    };
    let binding = BindingFacts {
        session: session_id,
        principal: &principal,
        tenant: &tenant,
        status: BindingStatus::Bound,
        expires: Moment::from_unix_ms(2),
        capability: &capability,
        environment: &environment,
        generation: 1,
        catalog_version: digest,
        implementation: digest,
        descriptor: digest,
        policy_version: policy.version(),
        scope: &scope,
        scope_digest: scope.digest(),
        budget: &budget,
    };
    let facts = Facts {
        environment: Some(EnvironmentFacts {
            id: &environment,
            generation: 1,
            catalog_version: digest,
        }),
        entry: Some(&entry),
        binding: Some(&binding),
        revoked: None,
        credentials: &[],
        write_gate: true,
        approvals: &[],
        used: &used,
        windows: &[],
    };
    for path in ["/src/main.rs", "/etc/passwd"] {
        let arguments = json!({ "path": path });
        let ask = Ask {
            verb: Verb::Call,
            session: &session,
            capability: &capability,
            generation: Some(1),
            implementation: None,
            descriptor: None,
            scope: None,
            arguments: Some(&arguments),
            arguments_digest: Some(canonical_digest(&arguments)),
            now: Moment::from_unix_ms(1),
        };
        let verdict = decide(&policy, &ask, &facts).verdict();
        let start = Instant::now();
        for _ in 0..ROUNDS {
            black_box(decide(
                black_box(&policy),
                black_box(&ask),
                black_box(&facts),
            ));
        }
        let each = start.elapsed() / ROUNDS;
        #[allow(clippy::print_stdout, reason = "the figure is what the program is for")]
        {
            println!(
                "{RULES} rules, {verdict}: {} ns a decision",
                each.as_nanos()
            );
        }
    }
    Ok(())
}
