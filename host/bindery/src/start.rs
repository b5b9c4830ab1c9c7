//! Starting: what an earlier host left is recovered, then the environment is admitted.
//!
//! Rule (R-708, C-09): nothing of an earlier host is authority; a generation never sinks,
//! and rises when what it stands for is another than it was.

use bindery_ledger::event::EnvironmentAdmitted;
use bindery_ledger::words::Operation;
use bindery_ledger::{Line, recovery};
use bindery_types::{ErrorType, Refusal, Tenant};

use crate::governor::Governor;

/// How long an environment is admitted for before it has to be again.
pub(crate) const ENVIRONMENT_MS: u64 = 7 * 24 * 3_600_000;
/// Whose environment it is, where the document names no other.
const TENANT: &str = "local";

pub(crate) fn start(governor: &Governor) -> Result<(), Refusal> {
    let now = governor.clock.now();
    let runtime = Line::cut(concat!("bindery ", env!("CARGO_PKG_VERSION")));
    let mut batch = Vec::new();
    if !governor.journal.has_recovered() {
        let left =
            governor.look(|state| recovery(state, now, &governor.host, &governor.own, &runtime));
        batch.extend(left.unwrap_or_default());
    }
    let current = governor.read();
    let people = &current.policy.document().people;
    let tenant = TENANT.parse::<Tenant>().map_err(|error| {
        Refusal::new(ErrorType::Internal, "the host's own tenant is no name")
            .for_operator(error.to_string())
    })?;
    // Who provides is known when components are admitted again; until then it is who did.
    let known = governor.look(|state| {
        state.environment().map(|old| {
            let same = old.id == people.environment && old.tenant == tenant;
            match same {
                true => (old.generation, old.providers.clone()),
                false => (old.generation.saturating_add(1), vec![governor.own.clone()]),
            }
        })
    });
    let (generation, providers) = known
        .flatten()
        .unwrap_or_else(|| (1, vec![governor.own.clone()]));
    let admitted = EnvironmentAdmitted {
        environment: people.environment.clone(),
        tenant,
        generation,
        catalog_version: current.version(),
        policy_version: current.policy.version(),
        providers,
        expires_at: now.after_ms(ENVIRONMENT_MS),
    };
    let told = governor.own(Operation::Start, "the environment is admitted");
    batch.push(governor.entry(&told, admitted));
    batch.extend(governor.registrations(&current.policy));
    governor
        .journal
        .append(batch, Vec::new())
        .map_err(|error| error.refusal())?;
    Ok(())
}
