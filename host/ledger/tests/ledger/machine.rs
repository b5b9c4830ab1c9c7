//! Random sequences of verbs against a reference model that knows nothing of records: it
//! says for each verb whether it must be accepted, from plain maps of its own.
//!
//! Asserted at each step: what is refused changes nothing (I42); discovery changes nothing
//! that decides (I2); a start is accepted exactly when the model allows it, which covers
//! revocation with everything below it (I6), generation (I8), policy (I11), leases under a
//! clock that jumps (I10), approvals (I15), keys (I16, I17), budgets (I22) and foreign
//! sessions (I38); narrowing never outlives its parent (I4, I10); a state is the fold of its
//! lines (I9, I18 hold by the record's order).

use std::collections::BTreeMap;

use bindery_ledger::event::*;
use bindery_ledger::words::*;
use bindery_ledger::*;
use bindery_types::*;
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use crate::model::{FUEL, Model, Verb};
use crate::world::*;

struct Reference;

impl ReferenceStateMachine for Reference {
    type State = Model;
    type Transition = Verb;

    fn init_state() -> BoxedStrategy<Model> {
        Just(Model {
            generation: 1,
            policy: 1,
            clock: START,
            seen: START,
            looked: 1,
            ..Model::default()
        })
        .boxed()
    }

    /// Anything may be tried at any time; most tries are of what the model knows, so that
    /// they meet the guards and not only the doors.
    fn transitions(model: &Model) -> BoxedStrategy<Verb> {
        let (s, b, c, p) = (|| 0_u64..3, || 0_u64..6, || 0_u64..12, || 0_u64..4);
        let lease = || 0_u64..10 * MINUTE;
        let of = |all: Vec<(u64, u64)>| {
            let wild = (b(), s()).boxed();
            if all.is_empty() {
                return wild;
            }
            prop_oneof![8 => prop::sample::select(all), 1 => wild].boxed()
        };
        let held = of(model
            .held
            .iter()
            .map(|(b, held)| (*b, held.session))
            .collect());
        let open = of(model.sessions.iter().map(|s| (0, *s)).collect());
        let calls = of(model.calls.keys().map(|c| (*c, 0)).collect());
        let asked = of(model.asked.keys().map(|p| (*p, 0)).collect());
        let used = model.asked.iter().map(|(p, asked)| (*p, asked.session));
        let used: Vec<_> = used.collect();
        let arguments: BTreeMap<u64, u64> = model
            .asked
            .iter()
            .map(|(p, asked)| (*p, asked.arguments))
            .collect();
        let of_session: Vec<(u64, u64)> = model
            .held
            .iter()
            .map(|(b, held)| (*b, held.session))
            .collect();
        let start = (
            c(),
            held.clone(),
            prop::option::weighted(0.4, 0_u64..3),
            0_u64..2,
            0_u64..12,
        )
            .prop_map(|(c, (b, s), key, arguments, fuel)| Verb::Start {
                c,
                s,
                b,
                key,
                arguments,
                fuel,
                approval: None,
            });
        let approved = (
            c(),
            of(used),
            0_u64..12,
            any::<prop::sample::Index>(),
            0_u64..8,
        )
            .prop_map(move |(c, (p, s), fuel, which, other)| {
                let mine: Vec<u64> = of_session
                    .iter()
                    .filter(|(_, of)| *of == s)
                    .map(|(b, _)| *b)
                    .collect();
                let b = if mine.is_empty() {
                    0
                } else {
                    mine[which.index(mine.len())]
                };
                let arguments = arguments.get(&p).copied().unwrap_or_default();
                let arguments = if other == 0 { 1 - arguments } else { arguments };
                Verb::Start {
                    c,
                    s,
                    b,
                    key: None,
                    arguments,
                    fuel,
                    approval: Some(p),
                }
            });
        let held_too = held.clone();
        prop_oneof![
            2 => s().prop_map(Verb::Open),
            1 => prop::option::weighted(0.2, s()).prop_map(|s| s.map_or(Verb::Search(0), Verb::Close)),
            5 => (b(), open, lease()).prop_map(|(b, (_, s), lease)| Verb::Bind { b, s, lease, parent: None }),
            3 => (b(), held.clone(), lease())
                .prop_map(|(b, (parent, s), lease)| Verb::Bind { b, s, lease, parent: Some(parent) }),
            1 => held.clone().prop_map(|(b, s)| Verb::Release { b, s }),
            1 => held.clone().prop_map(|(b, _)| Verb::Revoke(b)),
            1 => (0_u64..2).prop_map(Verb::RevokePrincipal),
            2 => (held.clone(), lease()).prop_map(|((b, _), lease)| Verb::Renew { b, lease }),
            4 => held.clone().prop_map(|(b, _)| Verb::Refresh(b)),
            1 => prop::option::weighted(0.5, Just(())).prop_map(|raise| match raise {
                Some(()) => Verb::Raise,
                None => Verb::Policy,
            }),
            3 => (-180_000_i64..240_000).prop_map(Verb::Clock),
            1 => s().prop_map(Verb::Search),
            8 => start,
            5 => approved,
            6 => (calls.clone(), 0_u8..4, 0_u64..6).prop_map(|((c, _), how, fuel)| Verb::End { c, how, fuel }),
            3 => (calls, any::<bool>()).prop_map(|((c, _), done)| Verb::Reconcile { c, done }),
            4 => (p(), held_too, 0_u64..2)
                .prop_map(|(p, (b, s), arguments)| Verb::Ask { p, s, b, arguments }),
            4 => asked.prop_map(|(p, _)| Verb::Approve(p)),
        ]
        .boxed()
    }

    fn apply(mut model: Model, verb: &Verb) -> Model {
        model.accepted = model.does(verb);
        if model.accepted {
            model.seen = model.now();
        }
        model
    }
}

struct Machine(World<Memory>);

impl Machine {
    fn perform(&mut self, model: &Model, verb: &Verb) -> Option<Done> {
        let world = &mut self.0;
        let every_time = ApprovalRequirement::ConfirmEveryTime;
        let arguments = |n: &u64| digest(&format!("arguments {n}"));
        Some(match verb {
            Verb::Open(s) => world.open_session(*s),
            Verb::Close(s) => world.close_session(*s),
            Verb::Bind {
                b,
                s,
                lease,
                parent,
            } => {
                let mut opened = world.opened(*b, *s, "writer", *lease);
                opened.parent = parent.map(binding);
                world.model(*s, opened)
            }
            Verb::Release { b, s } => world.release(*b, *s),
            Verb::Revoke(b) => world.revoke(Target::Binding(binding(*b))),
            Verb::RevokePrincipal(who) => {
                let target = Target::Principal(principal_of(*who));
                if model.off.contains(who) {
                    world.revoke(target)
                } else {
                    world.operator(RevocationLifted { target })
                }
            }
            Verb::Renew { b, lease } => {
                let session = self.owner(*b)?;
                let renewed = BindingRenewed {
                    binding: binding(*b),
                    lease_until: self.0.in_ms(*lease),
                };
                self.0.write(self.in_session(session, renewed))
            }
            Verb::Refresh(b) => {
                let session = self.owner(*b)?;
                let before = self.0.state().binding(binding(*b))?.pins.clone();
                let after = Pins {
                    environment_generation: self.0.generation,
                    policy_version: self.0.policy,
                    ..before.clone()
                };
                let refreshed = BindingRefreshed {
                    binding: binding(*b),
                    trigger: Trigger::PolicyVersionChanged,
                    before,
                    after,
                    decision: self.0.allow(),
                };
                self.0.write(self.in_session(session, refreshed))
            }
            Verb::Raise => {
                world.raise().unwrap();
                let observed = CapabilityObserved {
                    capability: capability("writer"),
                    descriptor_digest: digest("descriptor of writer"),
                    execution_state: ExecutionState::Available,
                    environment_generation: world.generation,
                    catalog_version: world.catalogue,
                    last_observed_at: world.moment(),
                    expires_at: world.in_ms(10_000 * MINUTE),
                };
                world.operator(observed)
            }
            Verb::Policy => world.replace_policy(&format!("policy {}", model.policy)),
            Verb::Clock(_) => {
                world.now = model.clock;
                return None;
            }
            Verb::Search(s) => {
                let before = world.state();
                let served = OperationServed {
                    operation: Operation::Search,
                    capability: None,
                    shown: 1,
                    refused: None,
                };
                let done = world.model(*s, served);
                let after = world.state();
                assert_eq!(before.bindings().count(), after.bindings().count(), "I2");
                done
            }
            Verb::Start {
                c,
                s,
                b,
                key,
                arguments: with,
                fuel,
                approval,
            } => {
                let mut intent = world.intent(*c, *s, *b, "writer");
                intent.arguments = arguments(with);
                intent.reserve = BTreeMap::from([(Meter::Fuel, *fuel)]);
                if let Some(key) = key {
                    intent = world.keyed(intent, &format!("key-{key}"), 10_000 * MINUTE);
                }
                if let Some(p) = approval {
                    intent = world.approved(intent, *p, every_time);
                }
                world.model(*s, intent)
            }
            Verb::End { c, how, fuel } => {
                let session = self.0.state().call(call(*c))?.session;
                let event: Event = match how {
                    0 | 1 => {
                        let (end, error) = if *how == 0 {
                            (CallEnd::Succeeded, None)
                        } else {
                            (CallEnd::FailedBeforeEffect, Some(ErrorType::GuestFault))
                        };
                        let mut outcome = self.0.outcome(*c, end, error);
                        outcome.spent = BTreeMap::from([(Meter::Fuel, *fuel)]);
                        outcome.into()
                    }
                    _ => CallUncertain {
                        call: call(*c),
                        doubt: Doubt::Crash,
                        effects: Vec::new(),
                        effects_dropped: 0,
                    }
                    .into(),
                };
                self.0.write(self.in_session(session, event))
            }
            Verb::Reconcile { c, done } => {
                let finding = if *done {
                    Finding::Done
                } else {
                    Finding::Failed
                };
                world.reconcile(*c, finding)
            }
            Verb::Ask {
                p,
                s,
                b,
                arguments: with,
            } => {
                let mut asked = world.asked(*p, *s, *b, "writer", every_time);
                asked.arguments = arguments(with);
                world.model(*s, asked)
            }
            Verb::Approve(p) => world.approve(*p),
        })
    }

    fn owner(&self, b: u64) -> Option<SessionId> {
        Some(self.0.state().binding(binding(b))?.session)
    }

    fn in_session(&self, session: SessionId, event: impl Into<Event>) -> Entry {
        let mut entry = self.0.operator_entry(None, event);
        entry.session = Some(session);
        entry
    }
}

impl StateMachineTest for Machine {
    type SystemUnderTest = Self;
    type Reference = Reference;

    fn init_test(_: &Model) -> Self {
        let world = World::new();
        world
            .budget(BudgetScope::Environment, Meter::Fuel, None, FUEL)
            .unwrap();
        Self(world)
    }

    fn apply(mut machine: Self, model: &Model, verb: Verb) -> Self {
        let before = machine.0.state();
        let done = machine.perform(model, &verb);
        let accepted = done.as_ref().is_some_and(Result::is_ok);
        assert_eq!(accepted, model.accepted, "{verb:?}: {done:?}");
        if !accepted {
            assert_eq!(machine.0.state(), before, "I42: {verb:?}");
        }
        machine
    }

    fn check_invariants(machine: &Self, model: &Model) {
        let state = machine.0.state();
        let scope = BudgetScope::Environment;
        let fuel = BucketKey {
            scope,
            meter: Meter::Fuel,
            window_ms: None,
        };
        let bucket = state.bucket(&fuel).unwrap();
        assert_eq!(
            (bucket.spent, bucket.reserved),
            (model.spent, model.reserved()),
            "I22"
        );
        let handles: Vec<_> = model.held.keys().map(|b| binding(*b)).collect();
        let found: Vec<_> = state.bindings().map(|(handle, _)| *handle).collect();
        assert_eq!(found, handles, "I3: no handle that nobody was given");
        for (b, held) in &model.held {
            let found = state.binding(binding(*b)).unwrap();
            assert_eq!(found.ended.is_none(), held.alive, "I6: binding {b}");
            if let Some(parent) = found.parent.and_then(|parent| state.binding(parent)) {
                assert_eq!(found.pins.capability, parent.pins.capability, "I4");
            }
        }
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_verbs_is_accepted_exactly_as_the_model_allows_i4_i6_i8_i10_i11_i15_i16_i17_i22_i38_i42(
        sequential 1..90 => Machine
    );
}
