//! The one decision, and the order of its evaluation.
//!
//! Every axis is evaluated each time; the first that blocks gives the reason. Nothing an
//! axis says makes another one milder, and no mode lifts a denial.
//!
//!  1. `handle`: the handle is this session's, principal's and tenant's (R-497, C-48)
//!  2. `environment`: admitted, and at the generation that is spoken of
//!  3. `visibility`: what is hidden answers like what is absent (R-048, C-11)
//!  4. `revocation`: kill switches and withdrawn bindings (R-531, H56)
//!  5. `stage`: the stage of the operation is on (C-51, C-52)
//!  6. `binding`: digests asked for, pins, lease (R-478 …)
//!  7. `execution_state`: something runs (R-242 … R-245), before any permission
//!  8. `scope`: what was asked within what is granted, or the least
//!  9. `provider`: it answers
//! 10. `credential`: configured, for this agent and workspace (R-582 …)
//! 11. `deny`: no list and no rule of any scope denies it
//! 12. `allow`: every list allows it, and a rule does
//! 13. `agent`: registered, active, configured for it, and it for the agent
//! 14. `workspace`: the archetype fits
//! 15. `trust`: somebody vouches for it (C-58)
//! 16. `validation`: bindable
//! 17. `contract`: declared fields agree with each other and with the grants
//! 18. `mode`: the session's mode covers the risk (R-248 … R-251)
//! 19. `effect`: the side-effect class is accepted here (C-15, C-62)
//! 20. `write_gate`: late-bound writes were accepted (C-43, C-54)
//! 21. `arguments`: no rule denies them, one allows them
//! 22. `budget`: nothing above a ceiling, something left of every counter
//! 23. `rate`: no window is full
//! 24. `approval`: nobody has to say yes, or somebody did (R-258 … R-261, C-19)
//!
//! A bind and a refresh have no arguments: what only a call can tell is left to the call,
//! where everything is decided again (R-059 … R-063).

mod case;
mod eligible;
mod held;
mod matched;
mod power;
mod yes;

use bindery_types::ErrorType;

use crate::ask::{Ask, Facts};
use crate::decision::{Decision, Denial, Ruling};
use crate::policy::Policy;
use crate::trace::{Axis, AxisVerdict, Line, Reason, Trace};
use case::Case;

/// Decides one question. Pure: no clock, no file, no memory of earlier questions.
pub fn decide(policy: &Policy, ask: &Ask<'_>, facts: &Facts<'_>) -> Decision {
    let case = Case::of(policy, ask, facts);
    let mut trace = Trace {
        lines: Box::new([
            held::handle(&case),
            held::environment(&case),
            eligible::visibility(&case),
            held::revocation(&case),
            held::stage(&case),
            held::binding(&case),
            eligible::execution_state(&case),
            power::scope(&case),
            eligible::provider(&case),
            eligible::credential(&case),
            eligible::deny(&case),
            eligible::allow(&case),
            eligible::agent(&case),
            eligible::workspace(&case),
            eligible::trust(&case),
            eligible::validation(&case),
            power::contract(&case),
            power::mode(&case),
            power::effect(&case),
            power::write_gate(&case),
            power::arguments(&case),
            power::budget(&case),
            power::rate(&case),
            yes::approval(&case),
        ]),
    };
    if facts.entry.is_none() {
        // The work above was done on an empty entry, so that an absent capability takes
        // the time of a hidden one (I27); nothing of it is said.
        for line in trace.lines.iter_mut().skip(ABOUT_THE_CALLER) {
            *line = Line::unknown();
        }
    }
    let ruling = match trace.first_block() {
        Some((axis, line)) => Ruling::Deny(Denial::of(axis, line)),
        None => rule(&case, &trace),
    };
    Decision {
        ruling,
        trace,
        policy_version: policy.version(),
        risk: case.class.risk,
        requirement: case.requirement(),
    }
}

/// Handle, environment and visibility are said of whatever is asked for.
const ABOUT_THE_CALLER: usize = 3;

fn rule(case: &Case<'_>, trace: &Trace) -> Ruling {
    let asks = trace
        .lines()
        .any(|(_, line)| line.verdict == AxisVerdict::Ask);
    let made = if asks {
        yes::question(case).map(Ruling::Ask)
    } else {
        yes::grant(case).map(Ruling::Allow)
    };
    // Without environment or scope an axis has blocked before; deny is what is left.
    made.unwrap_or_else(|| {
        Ruling::Deny(Denial::of(
            Axis::Scope,
            &Line::block(ErrorType::Internal, Reason::NoEntry),
        ))
    })
}
