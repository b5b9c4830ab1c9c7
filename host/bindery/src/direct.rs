//! `run`: the operator's direct door: one call under a policy made of what it is given.
//!
//! Rule: the same pipeline as every call (admitted, bound, decided, recorded, run,
//! settled), under a policy that allows exactly this function exactly these grants. The
//! component counts as registered by the operator, the mode is the least that its grants
//! need, and an approval that the policy asks for is the operator's, who is the caller.

use std::sync::Arc;

use bindery_grants::{Access, Clock, EndpointGrant, Grants, Randomness};
use bindery_ledger::Journal;
use bindery_policy::document::grants::{GrantEntry, Resource};
use bindery_policy::{
    Access as Allowed, Document, ScopeRequest, SessionSpec, Who, Wish, class_of, graver, least_mode,
};
use bindery_sandbox::{Cancel, LoadedComponent, Sandbox};
use bindery_types::{
    ApprovalRequirement, Budget, CapabilityId, ErrorType, GrantName, Limit, LimitScope, Refusal,
    Rights, Run, SessionId, SideEffectClass,
};

use crate::call::CallOptions;
use crate::clock::{HostClock, random};
use crate::governor::Governor;
use crate::held::Powers;
use crate::{Admission, BindRequest, Host, Reply, Resources, Session, start};

/// What is fixed about such a policy; the rest is put in as values.
const FRAME: &str = r#"
[environment]
id = "direct"
[agents.cli]
implementation_status = "active"
[stages]
preset = "static"
search = true
manifest = true
descriptors = true
bindings = true
"#;
/// The one thing that it allows, once there is an entry to name.
const RULE: &str = r#"
[[policy.rule]]
decision = "allow"
why = "the operator runs exactly this, with exactly these grants"
capabilities = ["ID"]
"#;

/// What one direct call is made of.
#[derive(Debug)]
pub struct Direct<'a> {
    /// The component.
    pub component: &'a LoadedComponent,
    /// Its function, by a name that is clear.
    pub function: &'a str,
    /// JSON text of its parameters.
    pub arguments: &'a str,
    /// What it may reach.
    pub grants: Grants,
    /// What it may use.
    pub budget: &'a Budget,
    /// Ends it.
    pub cancel: &'a Cancel,
}

/// Runs it, recorded in `journal`.
pub(crate) async fn run(sandbox: &Sandbox, journal: Arc<dyn Journal>, direct: Direct<'_>) -> Run {
    match attempt(sandbox, journal, direct).await {
        Ok(run) => run,
        Err(refusal) => Run::refused(refusal),
    }
}

async fn attempt(
    sandbox: &Sandbox,
    journal: Arc<dyn Journal>,
    mut direct: Direct<'_>,
) -> Result<Run, Refusal> {
    let (component, budget) = (direct.component, direct.budget);
    // A function that is not there and arguments that do not fit are told as such, whether
    // or not there would be a descriptor of it.
    let checked = sandbox.check(component, direct.function, direct.arguments, budget)?;
    let function = checked.function()?.name.to_string();
    drop(checked);
    let frame = document(FRAME, &direct.grants, budget)?;
    let class = class(&frame);
    let clock = HostClock::system(&*journal);
    let governor = Governor::new(sandbox.clone(), journal, Resources::default(), clock, frame)?;
    start::start(&governor)?;
    let host = Host {
        governor: Arc::new(governor),
    };
    // Opened first: what is registered later gets no bindings that nobody will use (C-51).
    let session = host.session(spec()?).await?;
    let powers = Powers::registered(component.shape());
    let admission = admission(component, class)?;
    let admitted = host
        .governor
        .admit(component.clone(), powers, &admission)
        .await?;
    let capability = capability(&host, &admitted, &function)?;
    // Nothing was allowed so far; from here on this capability has these grants.
    let text = format!("{FRAME}{}", RULE.replace("ID", capability.as_str()));
    let document = document(&text, &direct.grants, budget)?;
    let resources = Resources::whole(std::mem::take(&mut direct.grants));
    host.reload(document, resources).await?;
    let reply = call(&host, &session, &capability, &direct).await;
    // The outcome counts, and is on record; the session ends with its host in any case.
    drop(session.end().await);
    Ok(reply?.run)
}

/// Binds everything that was granted, calls, and answers what the policy asks.
async fn call(
    host: &Host,
    session: &Session,
    capability: &CapabilityId,
    direct: &Direct<'_>,
) -> Result<Reply, Refusal> {
    let document = host.document();
    let whole = document.grants.keys().cloned();
    let request = BindRequest {
        scope: Some(ScopeRequest {
            grants: Some(whole.map(|name| (name, Wish::default())).collect()),
            ..ScopeRequest::default()
        }),
        ..BindRequest::default()
    };
    let bound = session.bind(capability, &request).await?;
    let handle = bound.handle.to_string();
    let options = CallOptions {
        cancel: direct.cancel.clone(),
        ..CallOptions::default()
    };
    let asked = session
        .call_within(&handle, direct.arguments, &options, None)
        .await;
    let Some(proposal) = asked.proposal else {
        return Ok(asked);
    };
    host.approve(proposal, "the operator makes this call")
        .await?;
    Ok(session
        .call_within(&handle, direct.arguments, &options, None)
        .await)
}

/// The policy: `text`, the grants by what they make possible, and the limits.
fn document(text: &str, grants: &Grants, budget: &Budget) -> Result<Document, Refusal> {
    let mut document = Document::parse("(the command)", text)?;
    for (place, resource) in resources(grants)?.into_iter().enumerate() {
        let name = format!("g{place}").parse::<GrantName>();
        let name = name.map_err(|error| Refusal::new(ErrorType::Internal, error.to_string()))?;
        for rule in &mut document.policy.rules {
            rule.grants.push(name.clone());
        }
        document.grants.insert(name, GrantEntry::of(resource));
    }
    let mode = least_mode(class(&document).least_risk());
    (document.people.mode.default, document.people.mode.ceiling) = (mode, mode);
    document.limits.budgets = budget.clone();
    // What bounds this call is its own budget, which the operator has set.
    document.limits.ceilings = budget.values(LimitScope::Call).collect();
    for counters in document.limits.aggregates.values_mut() {
        for limit in counters.values_mut() {
            *limit = Limit::Unlimited;
        }
    }
    Ok(document)
}

/// The gravest effect that the grants make possible.
fn class(document: &Document) -> SideEffectClass {
    let classes = document.grants.values();
    let classes = classes.map(|grant| class_of(&grant.slice(), grant.raised));
    classes.fold(SideEffectClass::None, graver)
}

/// The grants as a document would name them; what stands behind them is what was given.
fn resources(grants: &Grants) -> Result<Vec<Resource>, Refusal> {
    let allowed = |access| match access {
        Access::ReadOnly => Allowed::ReadOnly,
        Access::ReadWrite => Allowed::ReadWrite,
    };
    let mut resources = Vec::new();
    for grant in &grants.directories {
        resources.push(Resource::Directory {
            host: "(opened by the command)".to_owned(),
            guest: grant.guest_path().to_owned(),
            access: allowed(grant.access()),
        });
    }
    for grant in &grants.endpoints {
        resources.push(endpoint(grant)?);
    }
    for grant in &grants.stores {
        resources.push(Resource::Store {
            store: grant.name().to_owned(),
            access: allowed(grant.access()),
        });
    }
    if let Some(values) = &grants.config {
        let values = values.clone();
        resources.push(Resource::Config { values });
    }
    if grants.clock == Clock::Real {
        resources.push(Resource::Clock);
    }
    if grants.randomness == Randomness::Real {
        resources.push(Resource::Random);
    }
    Ok(resources)
}

fn endpoint(grant: &EndpointGrant) -> Result<Resource, Refusal> {
    let text = grant.to_string();
    let (methods, url) = text.split_once(' ').unwrap_or(("", &text));
    let url = url
        .parse()
        .map_err(|error: bindery_policy::UrlError| usage(error.to_string()))?;
    Ok(Resource::Endpoint {
        methods: methods.split(',').map(Into::into).collect(),
        url,
        credential: None,
    })
}

/// The component as the operator vouches for it. Its package tells two components apart;
/// what can have effects is asked about, as everywhere, and the operator answers.
fn admission(component: &LoadedComponent, class: SideEffectClass) -> Result<Admission, Refusal> {
    let namespace = "direct".parse();
    let namespace = namespace.map_err(|_| usage("the namespace is no name".to_owned()))?;
    let digest = component.digest().to_string();
    let mut admission = Admission::by_operator(namespace, digest.clone());
    admission.package = Some(format!("c{}", digest.get(..16).unwrap_or(&digest)));
    admission.contract.risk = Some(class.least_risk());
    admission.contract.approval = Some(match class {
        SideEffectClass::None => ApprovalRequirement::NoApproval,
        _ => ApprovalRequirement::ConfirmEveryTime,
    });
    Ok(admission)
}

/// The entry of `function`, which the component is known to export.
fn capability(
    host: &Host,
    admitted: &[crate::Admitted],
    function: &str,
) -> Result<CapabilityId, Refusal> {
    let current = host.governor.read();
    let mut ids = admitted.iter().map(|entry| &entry.id);
    let found = ids.find(|id| {
        let row = current.catalogue.get(id);
        row.is_some_and(|row| row.descriptor.function() == function)
    });
    found.cloned().ok_or_else(|| {
        let text = "the function has no descriptor";
        Refusal::new(ErrorType::ComponentInvalid, text).with("function", function)
    })
}

fn spec() -> Result<SessionSpec, Refusal> {
    let broken = |_| Refusal::new(ErrorType::Internal, "the host's own name is no name");
    Ok(SessionSpec {
        who: Who {
            session: SessionId::from_random(random()?),
            run: None,
            principal: "local".parse().map_err(broken)?,
            rights: Rights::Operator,
            tenant: "local".parse().map_err(broken)?,
            agent: "cli".parse().map_err(broken)?,
            archetype: "default".parse().map_err(broken)?,
        },
        mode: None,
        allow: None,
        deny: Vec::new(),
        project: None,
        stages: None,
    })
}

fn usage(message: String) -> Refusal {
    Refusal::new(ErrorType::Usage, message)
}
