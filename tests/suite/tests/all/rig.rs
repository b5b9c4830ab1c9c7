//! What tests of running share: a sandbox of a few slots, a call, the parts of its end.

use bindery_artefacts::wat;
use bindery_grants::Grants;
use bindery_sandbox::{Cancel, LoadedComponent, Sandbox, SandboxConfig};
use bindery_types::{Budget, ErrorType, LimitName, Outcome, Receipt, Refusal, Run};
use serde_json::Value;

/// A budget with these limits, the defaults otherwise.
pub(crate) fn budget(limits: &[(LimitName, u64)]) -> Budget {
    limits
        .iter()
        .fold(Budget::default(), |budget, (name, value)| {
            budget.with(*name, *value).unwrap()
        })
}

/// A sandbox for a handful of calls at once.
pub(crate) fn sandbox() -> Sandbox {
    sandbox_with(&[(LimitName::Concurrent, 4)])
}

/// A sandbox whose host has these limits.
pub(crate) fn sandbox_with(limits: &[(LimitName, u64)]) -> Sandbox {
    Sandbox::new(SandboxConfig {
        budget: budget(limits),
        ..SandboxConfig::default()
    })
    .unwrap()
}

/// The component of `guests/hostile/<name>.wat`, loaded.
pub(crate) async fn hostile(sandbox: &Sandbox, name: &str) -> LoadedComponent {
    let bytes = wat(&format!("hostile/{name}")).unwrap();
    let loaded = sandbox.load(bytes).await;
    loaded.unwrap_or_else(|refusal| panic!("{name}: {refusal} {:?}", refusal.operator()))
}

/// Calls a function that is granted nothing, under `budget`.
pub(crate) async fn call(
    sandbox: &Sandbox,
    component: &LoadedComponent,
    function: &str,
    arguments: &str,
    budget: &Budget,
) -> Run {
    let (grants, cancel) = (Grants::default(), Cancel::new());
    sandbox
        .run(component, function, arguments, grants, budget, &cancel)
        .await
}

/// The value of a call that has one.
pub(crate) fn value(run: &Run) -> Value {
    match &run.outcome {
        Outcome::Value(json) => serde_json::from_str(json).unwrap(),
        Outcome::CapabilityError(json) => panic!("the capability's own error: {json}"),
        Outcome::Refused(refusal) => panic!("{refusal}: {:?}", refusal.operator()),
    }
}

/// The refusal of a call that has one.
pub(crate) fn refusal(run: &Run) -> &Refusal {
    match &run.outcome {
        Outcome::Refused(refusal) => refusal,
        other => panic!("a refusal was expected: {other:?}"),
    }
}

/// The receipt of a call that was started.
pub(crate) fn receipt(run: &Run) -> &Receipt {
    run.receipt.as_ref().unwrap()
}

/// The cause of a guest fault.
pub(crate) fn fault_cause(run: &Run) -> &str {
    let refusal = refusal(run);
    assert_eq!(refusal.kind(), ErrorType::GuestFault, "{refusal}");
    refusal.details()["cause"].as_str().unwrap()
}

/// U5: the refusal names the limit, its value, what was used, and where it is set.
pub(crate) fn assert_limit(run: &Run, name: LimitName, value: u64) {
    let refusal = refusal(run);
    let kind = match name {
        LimitName::Deadline => ErrorType::Timeout,
        _ => ErrorType::BudgetExhausted,
    };
    let operator = refusal.operator();
    assert_eq!(refusal.kind(), kind, "{refusal} {operator:?}");
    assert_eq!(
        refusal.details()["limit"],
        name.as_str(),
        "{refusal} {operator:?}"
    );
    assert_eq!(refusal.details()["value"], value, "{refusal}");
    assert!(refusal.details()["used"].as_u64().unwrap() > value || name == LimitName::Deadline);
    assert_eq!(
        refusal.details()["setting"],
        format!("--limit {}=VALUE", name.as_str())
    );
}
