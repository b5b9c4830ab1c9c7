//! What is held: the handle, the environment, revocations, the stage, and what a binding
//! pins.

use bindery_types::{BindingStatus, ErrorType, Rights};

use super::case::Case;
use crate::ask::{BindingFacts, Registration, Verb};
use crate::stages::Stage;
use crate::trace::{Line, Reason};

/// Foreign, forged and lost handles are one answer (C-48).
pub(super) fn handle(case: &Case<'_>) -> Line {
    let own = |binding: &BindingFacts<'_>| {
        binding.session == case.who.session
            && *binding.principal == case.who.principal
            && *binding.tenant == case.who.tenant
    };
    match (case.ask.verb, case.facts.binding) {
        (Verb::Bind, _) => Line::because(Reason::NotConcerned),
        (Verb::Call | Verb::Refresh, Some(binding)) if own(binding) => Line::pass(),
        (Verb::Call | Verb::Refresh, _) => {
            Line::block(ErrorType::HandleInvalid, Reason::HandleInvalid)
        }
    }
}

pub(super) fn environment(case: &Case<'_>) -> Line {
    let Some(environment) = &case.facts.environment else {
        return Line::block(
            ErrorType::EnvironmentUnavailable,
            Reason::EnvironmentMissing,
        );
    };
    let held = case.facts.binding.filter(|_| case.ask.verb != Verb::Bind);
    let spoken = [case.ask.generation, held.map(|binding| binding.generation)];
    match spoken
        .into_iter()
        .flatten()
        .find(|generation| *generation != environment.generation)
    {
        None => Line::pass(),
        Some(old) => Line::block(
            ErrorType::EnvironmentGenerationChanged,
            Reason::GenerationChanged,
        )
        .note(format!(
            "generation {old} was asked for, it is {}",
            environment.generation
        )),
    }
}

pub(super) fn revocation(case: &Case<'_>) -> Line {
    let block = || Line::block(ErrorType::CapabilityRevoked, Reason::Revoked);
    if let Some(switch) = case.facts.revoked {
        return block().note(format!("revoked by {switch}"));
    }
    let held = case.facts.binding.filter(|_| case.ask.verb != Verb::Bind);
    match held.map(|binding| binding.status) {
        Some(BindingStatus::Revoked) => block().note("the binding was revoked"),
        _ => Line::pass(),
    }
}

/// C-51: what the host registered is stage 1; what was discovered needs stage 6.
pub(super) fn stage(case: &Case<'_>) -> Line {
    let stage = match case.entry.registration {
        Registration::Static => Stage::Registry,
        Registration::LateBound => Stage::Bindings,
    };
    if case.ask.session.stages.is_on(stage) {
        return Line::pass();
    }
    Line::block(ErrorType::StageDisabled, Reason::StageOff)
        .note(format!("stage {} ({stage}) is off", stage.number()))
}

pub(super) fn binding(case: &Case<'_>) -> Line {
    match (case.ask.verb, case.facts.binding) {
        (Verb::Bind, _) => wanted(case),
        (Verb::Call | Verb::Refresh, Some(binding)) => pins(case, binding),
        (Verb::Call | Verb::Refresh, None) => Line::unknown(),
    }
}

/// what is bound is what was looked at.
fn wanted(case: &Case<'_>) -> Line {
    let (ask, entry) = (case.ask, case.entry);
    let differs = |wanted: Option<_>, there| wanted.is_some_and(|wanted| wanted != there);
    if differs(ask.implementation, entry.implementation) {
        return Line::block(ErrorType::DescriptorMismatch, Reason::DigestDiffers)
            .note(format!("the implementation is {}", entry.implementation));
    }
    if differs(ask.descriptor, entry.descriptor) {
        return Line::block(ErrorType::DescriptorMismatch, Reason::DigestDiffers)
            .note(format!("the descriptor is {}", entry.descriptor));
    }
    if ask.implementation.is_none() && case.who.rights == Rights::Model {
        return Line::block(ErrorType::BindingDenied, Reason::DigestMissing);
    }
    Line::pass()
}

/// R-478 … R-492: each pin, and the lease.
fn pins(case: &Case<'_>, held: &BindingFacts<'_>) -> Line {
    let stale = |reason| Line::block(ErrorType::BindingStale, reason);
    let changed = |pin: &str| stale(Reason::PinChanged).note(format!("the {pin} has changed"));
    match held.status {
        BindingStatus::Stale | BindingStatus::Unbound => return stale(Reason::BindingStale),
        BindingStatus::Unavailable => {
            return Line::block(ErrorType::CapabilityUnavailable, Reason::BindingUnavailable);
        }
        // Revoked is the axis before this one.
        BindingStatus::Bound | BindingStatus::Revoked => {}
    }
    if case.ask.now >= held.expires {
        return stale(Reason::LeaseOver).note(format!("it ended at {}", held.expires));
    }
    if held.capability != case.ask.capability {
        return changed("capability");
    }
    // Without any environment, its own axis has said so.
    let environment = case.facts.environment.as_ref();
    if environment.is_some_and(|environment| environment.id != held.environment) {
        return changed("environment");
    }
    // C-53: a refresh is what brings catalogue and policy versions up to date.
    let calls = case.ask.verb == Verb::Call;
    if calls
        && environment
            .is_some_and(|environment| environment.catalog_version != held.catalog_version)
    {
        return changed("catalogue version");
    }
    if held.implementation != case.entry.implementation {
        return changed("implementation");
    }
    if held.descriptor != case.entry.descriptor {
        return Line::block(ErrorType::DescriptorMismatch, Reason::PinChanged)
            .note("the descriptor has changed");
    }
    if calls && held.policy_version != case.policy.version() {
        return changed("policy version");
    }
    Line::pass()
}
