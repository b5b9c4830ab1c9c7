//! Generated types and values, both directions, both paths; then the same memory broken.

use proptest::prelude::*;
use wasmtime::component::Val;

use super::super::flat::SLOTS;
use super::super::{GuestLie, OutputOverflow, Unfit};
use super::guest::{ENCODINGS, Guest, HEAP, PAGE, Probe, boxed_params, flat_params};
use super::kind::Kind;
use super::oracle::{self, Spelling, json};
use super::strategy::{Dice, kind, value};

/// Enough for every value made here.
const AMPLE: usize = 64 << 20;

/// What `flat` and `boxed` return.
fn seen() -> Kind {
    Kind::Tuple(vec![Kind::List(Box::new(Kind::U64)), Kind::Bytes])
}

/// Calls `name` by both paths and compares all that the guest saw: its core parameters
/// and the memory allocated for them. Returns first word and memory.
fn lowered_alike(
    guest: &Guest,
    name: &str,
    params: &[(String, Kind)],
    args: &[Val],
    dice: &mut Dice,
) -> (u64, Vec<u8>) {
    let members: Vec<(String, Val)> = params
        .iter()
        .zip(args)
        .map(|((name, _), val)| (name.clone(), val.clone()))
        .collect();
    let kinds: Vec<Kind> = params.iter().map(|(_, kind)| kind.clone()).collect();
    let mut chance = || dice.chance();
    let text = oracle::object(&members, &kinds, &mut Spelling::Input(&mut chance));
    let ours = guest
        .call(name, &Probe::new(name, params).read(&text), AMPLE)
        .unwrap();
    let theirs = guest.call_val(name, args, AMPLE).unwrap();
    assert_eq!(
        ours.json,
        json(&theirs, &seen(), &mut Spelling::Output),
        "{text}"
    );
    let Val::Tuple(parts) = theirs else { panic!() };
    let [Val::List(words), Val::List(heap)] = &parts[..] else {
        panic!()
    };
    let Some(Val::U64(first)) = words.first() else {
        panic!()
    };
    (*first, oracle::bytes(heap))
}

/// What our path must say of a value returned by a function.
fn expected(val: &Val, kind: &Kind) -> (String, bool) {
    match (val, kind) {
        (Val::Result(result), Kind::Result(..)) => {
            let text = oracle::side_json(result, kind, &mut Spelling::Output);
            (text, result.is_err())
        }
        _ => (json(val, kind, &mut Spelling::Output), false),
    }
}

/// Lifts by the dynamic path.
fn lift_val(guest: &Guest, heap: &[u8], slot: u64, fuel: usize) -> wasmtime::Result<Val> {
    let bytes = heap.iter().map(|byte| Val::U8(*byte)).collect();
    guest.call_val("lift", &[Val::List(bytes), Val::U64(slot)], fuel)
}

/// Breaks a few bytes or words.
fn mutate(heap: &mut [u8], slot: &mut u64, dice: &mut Dice) {
    for _ in 0..=dice.below(3) {
        let memory = u64::from(PAGE) * 16;
        let words = [
            0,
            1,
            2,
            3,
            255,
            0xd800,
            0x11_0000,
            memory,
            memory - 4,
            memory - 1,
        ];
        let large = [
            0x7fff_ffff,
            0x8000_0000,
            0x8000_0001,
            0xffff_ffff,
            u64::from(HEAP) + 1,
        ];
        let word = if dice.chance() {
            dice.pick(&words)
        } else {
            dice.pick(&large)
        };
        if heap.is_empty() || dice.below(6) == 0 {
            *slot = if dice.chance() {
                word
            } else {
                *slot ^ (1 << dice.below(40))
            };
        } else if dice.chance() {
            let at = dice.below(heap.len());
            heap[at] = dice.pick(&[0, 1, 2, 0x7f, 0x80, 0xff, 0xfe, 0xed]);
        } else {
            let at = dice.below(heap.len()) & !3;
            let bytes = u32::try_from(word).unwrap().to_le_bytes();
            for (byte, new) in heap[at..].iter_mut().zip(bytes) {
                *byte = new;
            }
        }
    }
}

/// Both paths say the same of this memory: the same value, or both refuse and ours says
/// that the guest lied.
fn judged_alike(guest: &Guest, kind: &Kind, heap: &[u8], slot: u64) {
    let ours = guest.lift(heap, slot, 1 << 20);
    // The dynamic path pays forty bytes an item, so it may end earlier than ours.
    let theirs = lift_val(guest, heap, slot, 8 << 20);
    let exhausted = |error: &wasmtime::Error| format!("{error:?}").contains("hostcalls");
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            assert_eq!((ours.json, ours.is_error), expected(&theirs, kind));
        }
        (Err(error), _) if error.is::<OutputOverflow>() => {}
        (_, Err(error)) if exhausted(&error) => {}
        (Err(error), Err(_)) => assert!(error.is::<GuestLie>(), "{error:?}"),
        (ours, theirs) => panic!("ours {ours:?}, theirs {theirs:?}, of {kind:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn both_paths_give_the_guest_the_same_and_make_the_same_of_its_memory(
        kinds in prop::collection::vec(kind(), 1..4),
        encoding in prop::sample::select(&ENCODINGS[..]),
        seed in any::<u64>(),
    ) {
        let guest = Guest::of(&kinds, encoding, 16);
        let mut dice = Dice(seed);
        for _ in 0..3 {
            let args: Vec<Val> = kinds.iter().map(|kind| value(kind, &mut dice)).collect();
            let (word, _) = lowered_alike(&guest, "flat", &flat_params(&kinds), &args, &mut dice);
            let mut boxed = args.clone();
            boxed.extend((0..16).map(Val::U64));
            let params = boxed_params(&kinds);
            let (at, mut heap) = lowered_alike(&guest, "boxed", &params, &boxed, &mut dice);

            let is_one_word = kinds[0].flat().len() == 1;
            if is_one_word && kinds.iter().map(|kind| kind.flat().len()).sum::<usize>() > SLOTS {
                // All parameters went through memory: what `flat` saw is their pointer.
                continue;
            }
            let mut slot = if is_one_word { word } else { at };
            let lifted = guest.lift(&heap, slot, AMPLE).unwrap();
            let wanted = expected(&args[0], &kinds[0]);
            prop_assert_eq!((&lifted.json, lifted.is_error), (&wanted.0, wanted.1));

            // The charge is exactly the text.
            let exact = lifted.json.len();
            prop_assert!(guest.lift(&heap, slot, exact).is_ok());
            let error = guest.lift(&heap, slot, exact - 1).unwrap_err();
            let overflow = error.downcast_ref::<OutputOverflow>().unwrap();
            prop_assert!((1..=exact).contains(&overflow.asked));

            for _ in 0..6 {
                mutate(&mut heap, &mut slot, &mut dice);
                judged_alike(&guest, &kinds[0], &heap, slot);
            }
        }
    }

    #[test]
    fn a_tape_of_other_types_is_refused_or_fits_and_never_breaks_anything(
        mine in kind(),
        other in kind(),
        seed in any::<u64>(),
    ) {
        let guest = Guest::of(std::slice::from_ref(&mine), "utf8", 16);
        let mut dice = Dice(seed);
        let val = value(&other, &mut dice);
        let text = format!("{{\"p0\":{}}}", json(&val, &other, &mut Spelling::Output));
        let tape = Probe::new("flat", &flat_params(&[other])).read(&text);
        for name in ["flat", "boxed"] {
            if let Err(error) = guest.call(name, &tape, AMPLE) {
                prop_assert!(error.is::<Unfit>(), "{error:?}");
            }
        }
    }
}
