//! Random verbs over a small world: what a busy host, its callers and its clock may do, in
//! any order. Most are refused; what is accepted is what the tests look at.
#![allow(dead_code, reason = "each test binary uses its part of the words")]

use std::collections::BTreeMap;

use bindery_ledger::event::*;
use bindery_ledger::words::*;
use bindery_ledger::*;
use bindery_types::*;

use crate::world::*;

/// A small generator with a seed that a failing test names.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

fn name(dice: &mut Dice) -> &'static str {
    if dice.one_in(2) { "writer" } else { "reader" }
}

/// Does one random thing, and says whether it was accepted.
pub(crate) fn step<J: Journal>(world: &mut World<J>, dice: &mut Dice) -> Done {
    let (s, b, c) = (dice.below(3), dice.below(6), dice.below(24));
    match dice.below(30) {
        0 | 1 => world.open_session(s),
        2 => {
            if dice.one_in(4) {
                world.close_session(s)
            } else {
                world.release(b, s)
            }
        }
        3..=6 => open_binding(world, dice, s, b),
        7 => world.end_binding(b, s, Lifecycle::Stale, Trigger::SemanticDrift),
        8 => renew(world, dice, s, b),
        9 => refresh(world, dice, s, b),
        10 if dice.one_in(4) => switch(world, dice, b),
        10..=17 => start(world, dice, s, b, c),
        18..=23 => finish(world, dice, s, c),
        24 | 25 => question(world, dice, s, b),
        26 => versions(world, dice),
        27 => budget(world, dice, s),
        28 => runs(world, dice, s),
        _ => {
            let ms = dice.below(2 * MINUTE);
            // The clock also jumps back.
            world.now = if dice.one_in(4) {
                world.now - ms.min(MINUTE)
            } else {
                world.now + ms
            };
            let served = OperationServed {
                operation: Operation::Search,
                capability: None,
                shown: ms % 8,
                refused: None,
            };
            world.model(s, served)
        }
    }
}

/// The number of a session that a thing belongs to, most of the time.
fn owner(dice: &mut Dice, of: Option<SessionId>, otherwise: u64) -> u64 {
    let mine = (0..3).find(|n| Some(session(*n)) == of);
    if dice.one_in(8) {
        otherwise
    } else {
        mine.unwrap_or(otherwise)
    }
}

/// Ends a call that runs, or another one.
fn finish<J: Journal>(world: &World<J>, dice: &mut Dice, s: u64, c: u64) -> Done {
    let state = world.state();
    let open: Vec<u64> = (0..24).filter(|n| state.call(call(*n)).is_some()).collect();
    let chosen = usize::try_from(c).unwrap() % open.len().max(1);
    let c = if dice.one_in(8) {
        c
    } else {
        open.get(chosen).copied().unwrap_or(c)
    };
    let s = owner(dice, state.call(call(c)).map(|found| found.session), s);
    let uncertain = state
        .call(call(c))
        .is_some_and(|found| found.standing == CallStanding::Uncertain);
    match dice.below(6) {
        0 => world.lose(c, s, Doubt::AnswerLost),
        _ if uncertain && dice.one_in(2) => {
            let finding = if dice.one_in(2) {
                Finding::Done
            } else {
                Finding::Failed
            };
            world.reconcile(c, finding)
        }
        _ => end(world, dice, s, c),
    }
}

fn open_binding<J: Journal>(world: &World<J>, dice: &mut Dice, s: u64, b: u64) -> Done {
    let lease = 5 * MINUTE + dice.below(60 * MINUTE);
    let mut opened = world.opened(b, s, name(dice), lease);
    if dice.one_in(3) {
        opened.parent = Some(binding(dice.below(6)));
    }
    if dice.one_in(6) {
        opened.pins.approval = Some(proposal(dice.below(6)));
    }
    world.model(s, opened)
}

fn renew<J: Journal>(world: &World<J>, dice: &mut Dice, s: u64, b: u64) -> Done {
    let s = owner(
        dice,
        world.state().binding(binding(b)).map(|b| b.session),
        s,
    );
    let renewed = BindingRenewed {
        binding: binding(b),
        lease_until: world.in_ms(dice.below(90 * MINUTE)),
    };
    world.operator_in(s, renewed)
}

fn refresh<J: Journal>(world: &World<J>, dice: &mut Dice, s: u64, b: u64) -> Done {
    let state = world.state();
    let s = owner(dice, state.binding(binding(b)).map(|b| b.session), s);
    let Some(found) = state.binding(binding(b)) else {
        return world.end_binding(b, s, Lifecycle::Stale, Trigger::EvidenceStale);
    };
    let after = Pins {
        environment_generation: world.generation,
        policy_version: world.policy,
        ..found.pins.clone()
    };
    let refreshed = BindingRefreshed {
        binding: binding(b),
        trigger: Trigger::PolicyVersionChanged,
        before: found.pins.clone(),
        after,
        decision: world.allow(),
    };
    world.operator_in(s, refreshed)
}

fn switch<J: Journal>(world: &World<J>, dice: &mut Dice, b: u64) -> Done {
    let target = match dice.below(6) {
        0 | 1 => Target::Binding(binding(b)),
        2 => Target::Capability(capability(name(dice)).id),
        3 => Target::Digest(digest(name(dice))),
        4 => Target::Principal(principal_of(dice.below(2))),
        _ => Target::Namespace("acme".parse().unwrap()),
    };
    // What is switched off is on again soon, or nothing would ever happen.
    let on = world
        .state()
        .switches()
        .next()
        .map(|(target, _)| target.clone());
    match on {
        Some(target) => world.operator(RevocationLifted { target }),
        None if dice.one_in(3) => world.revoke(target),
        None => world.revoke(Target::Binding(binding(b))),
    }
}

fn start<J: Journal>(world: &World<J>, dice: &mut Dice, s: u64, b: u64, c: u64) -> Done {
    let state = world.state();
    let s = owner(dice, state.binding(binding(b)).map(|b| b.session), s);
    // Mostly of what the binding is for.
    let bound = state
        .binding(binding(b))
        .map(|found| found.pins.capability.clone());
    let of = bound.map_or("writer", |key| {
        if key == capability("reader") {
            "reader"
        } else {
            "writer"
        }
    });
    let of = if dice.one_in(10) { name(dice) } else { of };
    let mut intent = world.intent(c, s, b, of);
    intent.arguments = digest(&format!("arguments {}", dice.below(2)));
    intent.reserve = BTreeMap::from([
        (Meter::Calls, 1),
        (Meter::Fuel, dice.below(30)),
        (Meter::WrittenBytes, 7),
    ]);
    if dice.one_in(3) {
        intent = world.keyed(
            intent,
            &format!("key-{}", dice.below(4)),
            dice.below(5 * MINUTE),
        );
    }
    if dice.one_in(5) {
        intent.parent = Some(call(dice.below(24)));
    }
    if dice.one_in(3) {
        let n = dice.below(6);
        let requirement = state
            .proposal(proposal(n))
            .map_or(ApprovalRequirement::ConfirmOnce, |found| {
                found.asked.requirement
            });
        intent = world.approved(intent, n, requirement);
    }
    if dice.one_in(6) {
        let run = run(dice.below(3));
        intent.run = Some(run);
        intent.step = state.run(run).map_or(1, |run| run.steps + 1);
    }
    world.model(s, intent)
}

fn end<J: Journal>(world: &World<J>, dice: &mut Dice, s: u64, c: u64) -> Done {
    let (end, error) = match dice.below(5) {
        0 => (CallEnd::CapabilityError, None),
        1 => (CallEnd::FailedBeforeEffect, Some(ErrorType::GuestFault)),
        2 => (CallEnd::Cancelled, Some(ErrorType::Cancelled)),
        _ => (CallEnd::Succeeded, None),
    };
    let mut outcome = world.outcome(c, end, error);
    outcome.spent = BTreeMap::from([
        (Meter::Calls, 1),
        (Meter::Fuel, dice.below(30)),
        (Meter::WrittenBytes, 5),
    ]);
    world.model(s, outcome)
}

fn question<J: Journal>(world: &World<J>, dice: &mut Dice, s: u64, b: u64) -> Done {
    let n = dice.below(6);
    match dice.below(5) {
        0 => {
            let denied = ProposalDenied {
                proposal: proposal(n),
                note: None,
            };
            world.operator(denied)
        }
        1 => world.operator(ProposalExpired {
            proposal: proposal(n),
        }),
        2 => world.approve(n),
        _ => {
            let requirement = if dice.one_in(2) {
                ApprovalRequirement::ConfirmOnce
            } else {
                ApprovalRequirement::ConfirmEveryTime
            };
            let mut asked = world.asked(n, s, b, name(dice), requirement);
            asked.arguments = digest(&format!("arguments {}", dice.below(2)));
            if dice.one_in(4) {
                asked.binding = None;
                asked.call = None;
            }
            let made = world.model(s, asked);
            if dice.one_in(2) {
                world.approve(n)
            } else {
                made
            }
        }
    }
}

fn versions<J: Journal>(world: &mut World<J>, dice: &mut Dice) -> Done {
    match dice.below(12) {
        0 => {
            // Records of capabilities are looked at again at once, or nothing can be bound.
            world.raise()?;
            observe(world)
        }
        1 => world.replace_policy(&format!("policy {}", dice.below(1_000))),
        2 => world.operator(StageSwitched {
            stage: 2,
            on: dice.one_in(2),
            evidence: line("a test"),
        }),
        _ => observe(world),
    }
}

fn observe<J: Journal>(world: &World<J>) -> Done {
    let observed = |name: &str| CapabilityObserved {
        capability: capability(name),
        descriptor_digest: digest(&format!("descriptor of {name}")),
        execution_state: ExecutionState::Available,
        environment_generation: world.generation,
        catalog_version: world.catalogue,
        last_observed_at: world.moment(),
        expires_at: world.in_ms(10_000 * MINUTE),
    };
    world.operator(observed("writer"))?;
    world.operator(observed("reader"))
}

fn budget<J: Journal>(world: &World<J>, dice: &mut Dice, s: u64) -> Done {
    let scope = match dice.below(3) {
        0 => BudgetScope::Session(session(s)),
        1 => BudgetScope::Principal("acme".parse().unwrap(), principal_of(s)),
        _ => BudgetScope::Environment,
    };
    let meter = match dice.below(8) {
        0..3 => Meter::Calls,
        3..5 => Meter::Fuel,
        5 => Meter::WrittenBytes,
        6 => Meter::Binds,
        _ => Meter::Proposals,
    };
    let window_ms = dice.one_in(3).then_some(MINUTE);
    if dice.one_in(4) {
        let bucket = BucketKey {
            scope,
            meter,
            window_ms,
        };
        return world.operator(BudgetSet {
            bucket,
            limit: None,
        });
    }
    world.budget(scope, meter, window_ms, 40 + dice.below(400))
}

fn runs<J: Journal>(world: &World<J>, dice: &mut Dice, s: u64) -> Done {
    match dice.below(4) {
        0 => world.operator(AgentRegistered {
            agent: "helper".parse().unwrap(),
            status: AgentStatus::Active,
            tools: None,
            archetypes: None,
            providers: None,
            declaration: line("a test"),
        }),
        1 => world.operator(WorkspaceRegistered {
            workspace: "home".parse().unwrap(),
            archetype: "default".parse().unwrap(),
        }),
        2 => world.model(
            s,
            RunCreated {
                run: run(dice.below(3)),
                session: session(s),
                workspace: "home".parse().unwrap(),
                provider: Some("native".parse().unwrap()),
            },
        ),
        _ => world.model(
            s,
            RunMoved {
                run: run(dice.below(3)),
                to: if dice.one_in(2) {
                    RunStatus::Running
                } else {
                    RunStatus::ALL[usize::try_from(dice.below(7)).unwrap()]
                },
            },
        ),
    }
}
