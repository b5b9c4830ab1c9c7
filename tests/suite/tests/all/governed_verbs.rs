//! Which verbs a governed machine is asked for: anything at any time, most of it by those who
//! hold what it goes through, so that they meet the guards and not only the doors.

use proptest::prelude::*;
use proptest_state_machine::ReferenceStateMachine;

use crate::governed_model::{Aim, Answer, MINUTE, Model, Opened, Rules, SLOTS, Verb, Which};

/// The model as the frame of the tests wants it.
pub(crate) struct Reference;

impl ReferenceStateMachine for Reference {
    type State = Model;
    type Transition = Verb;

    fn init_state() -> BoxedStrategy<Model> {
        Just(Model::new()).boxed()
    }

    fn transitions(model: &Model) -> BoxedStrategy<Verb> {
        let which = || prop_oneof![2 => Just(Which::Reader), 3 => Just(Which::Writer)];
        let slot = || 0..SLOTS;
        let ttl = || prop::option::of(MINUTE / 2..4 * MINUTE);
        let own: Vec<(usize, usize)> = (model.bindings.iter().enumerate())
            .filter_map(|(binding, held)| {
                let of = |open: &Opened| open.number == held.session;
                let slot = model
                    .slots
                    .iter()
                    .position(|open| open.as_ref().is_some_and(of))?;
                Some((slot, binding))
            })
            .collect();
        let count = model.bindings.len().max(1);
        let any_held = (slot(), 0..count).boxed();
        let held = match own.is_empty() {
            true => any_held,
            false => prop_oneof![7 => prop::sample::select(own.clone()), 1 => any_held].boxed(),
        };
        let any_question = (0..model.questions.len().max(1)).boxed();
        let pending: Vec<usize> = (model.questions.iter().enumerate())
            .filter(|(_, question)| question.answer == Answer::Pending)
            .map(|(place, _)| place)
            .collect();
        let questions = match pending.is_empty() {
            true => any_question,
            false => prop_oneof![5 => prop::sample::select(pending), 1 => any_question].boxed(),
        };
        // Whoever was given an answer repeats his call.
        let answered: Vec<(usize, usize, u8)> = (model.questions.iter())
            .filter(|question| question.answer == Answer::Yes)
            .filter_map(|question| {
                let slot = own
                    .iter()
                    .find(|(_, binding)| *binding == question.binding)?
                    .0;
                Some((slot, question.binding, question.argument))
            })
            .collect();
        let (repeats, answered) = match answered.is_empty() {
            true => (1, vec![(0, 0, 0)]),
            false => (24, answered),
        };
        // A session that is open is seldom replaced by another.
        let empty: Vec<usize> = (0..SLOTS)
            .filter(|slot| model.slots[*slot].is_none())
            .collect();
        let opened = match empty.is_empty() {
            true => 1,
            false => 8,
        };
        let empty = match empty.is_empty() {
            true => slot().boxed(),
            false => prop::sample::select(empty).boxed(),
        };
        let aim = || {
            prop_oneof![
                3 => which().prop_map(Aim::Capability),
                2 => (0..2_usize).prop_map(Aim::Principal),
                1 => Just(Aim::All),
            ]
        };
        let lifted: Vec<Aim> = model.switches.iter().copied().collect();
        let lifted = match lifted.is_empty() {
            true => aim().boxed(),
            false => prop::sample::select(lifted).boxed(),
        };
        let rules = prop_oneof![
            2 => Just(Rules::Both),
            1 => Just(Rules::ReaderOnly),
            4 => Just(Rules::AskForWriter),
            1 => Just(Rules::BothOtherwise),
        ];
        let key = || prop::option::weighted(0.5, 0..3_u8);
        prop_oneof![
            1 => which().prop_map(Verb::Admit),
            opened => (empty, 0..2_usize).prop_map(|(slot, principal)| Verb::Open { slot, principal }),
            1 => (slot(), any::<bool>()).prop_map(|(slot, cancel)| Verb::End { slot, cancel }),
            16 => (slot(), which(), prop::bool::weighted(0.8), ttl()).prop_map(
                |(slot, which, writing, ttl)| Verb::Bind { slot, which, writing, ttl }),
            8 => (held.clone(), any::<bool>(), ttl()).prop_map(
                |((slot, binding), writing, ttl)| Verb::Narrow { slot, binding, writing, ttl }),
            40 => (held.clone(), key(), 0..3_u8).prop_map(
                |((slot, binding), key, argument)| Verb::Call { slot, binding, key, argument }),
            repeats => prop::sample::select(answered).prop_map(
                |(slot, binding, argument)| Verb::Call { slot, binding, key: None, argument }),
            3 => held.clone().prop_map(|(slot, binding)| Verb::Release { slot, binding }),
            1 => (0..count).prop_map(Verb::RevokeBinding),
            1 => aim().prop_map(Verb::Revoke),
            6 => lifted.prop_map(Verb::Lift),
            5 => rules.prop_map(Verb::Reload),
            1 => Just(Verb::BadReload),
            12 => questions.clone().prop_map(Verb::Approve),
            4 => questions.prop_map(Verb::Deny),
            1 => Just(Verb::Restart),
            4 => (-3_i64..4).prop_map(|minutes| Verb::Clock(minutes * 60_000)),
            2 => slot().prop_map(Verb::Look),
        ]
        .boxed()
    }

    fn preconditions(model: &Model, verb: &Verb) -> bool {
        model.allows(verb)
    }

    fn apply(mut model: Model, verb: &Verb) -> Model {
        model.step(verb);
        model
    }
}
