//! Guests that lie: each lie by name, and beside it the nearest truth.

use super::super::{GuestLie, Lifted, OutputOverflow, Unfit};
use super::guest::{ENCODINGS, Guest, HEAP, PAGE, Probe, REALLOC, flat_params, lift_params};
use super::kind::Kind;

const LIMIT: usize = 256 << 10;

/// A heap of little-endian words.
fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn lift(kind: &Kind, heap: &[u8], slot: u32) -> wasmtime::Result<Lifted> {
    Guest::of(std::slice::from_ref(kind), "utf8", 16).lift(heap, slot.into(), LIMIT)
}

fn truth(kind: Kind, heap: &[u8], slot: u32, json: &str) {
    let lifted = lift(&kind, heap, slot).unwrap_or_else(|error| panic!("{kind:?}: {error:?}"));
    assert_eq!(lifted.json, json, "{kind:?}");
}

fn lie(kind: Kind, heap: &[u8], slot: u32, wanted: &GuestLie) {
    let error = lift(&kind, heap, slot).expect_err("a lie");
    assert_eq!(
        error.downcast_ref::<GuestLie>(),
        Some(wanted),
        "{kind:?}: {error:?}"
    );
}

fn list(item: Kind) -> Kind {
    Kind::List(Box::new(item))
}

#[test]
fn a7_the_number_of_cases_is_no_case() {
    let no_case = |kind, found, cases| GuestLie::Discriminant { kind, found, cases };
    truth(Kind::Enum(3), &[], 2, "\"e2-x\"");
    lie(Kind::Enum(3), &[], 3, &no_case("enum", 3, 3));
    // Not mapped to a neighbour by its low byte.
    lie(Kind::Enum(3), &[], 256, &no_case("enum", 256, 3));
    truth(Kind::Enum(257), &[], 256, "\"e256-x\"");
    let pair = |kind: Kind| Kind::Tuple(vec![kind, Kind::U8]);
    truth(pair(Kind::Enum(3)), &[2, 7], HEAP, "[\"e2-x\",7]");
    lie(pair(Kind::Enum(3)), &[3, 7], HEAP, &no_case("enum", 3, 3));

    let variant = Kind::Variant(vec![Some(Kind::U8), None]);
    truth(variant.clone(), &[0, 9], HEAP, "{\"c0-x\":9}");
    truth(variant.clone(), &[1, 9], HEAP, "\"c1-x\"");
    lie(variant.clone(), &[2, 9], HEAP, &no_case("variant", 2, 2));
    lie(variant, &[255, 9], HEAP, &no_case("variant", 255, 2));
    let bare = Kind::Variant(vec![None, None]);
    truth(bare.clone(), &[], 1, "\"c1-x\"");
    lie(bare, &[], 2, &no_case("variant", 2, 2));

    let option = Kind::Option(Box::new(Kind::U8));
    truth(option.clone(), &[1, 0], HEAP, "0");
    lie(option, &[2, 0], HEAP, &no_case("option", 2, 2));
    let result = Kind::Result(Some(Box::new(Kind::U8)), None);
    truth(result.clone(), &[1, 0], HEAP, "null");
    lie(result.clone(), &[2, 0], HEAP, &no_case("result", 2, 2));
    lie(pair(result), &[2, 0, 0], HEAP, &no_case("result", 2, 2));
    lie(Kind::Result(None, None), &[], 2, &no_case("result", 2, 2));
    lie(
        Kind::Tuple(vec![Kind::Result(None, None)]),
        &[],
        2,
        &no_case("result", 2, 2),
    );
}

#[test]
fn a7_a_char_is_a_scalar_value() {
    truth(Kind::Char, &[], 0xd7ff, "\"\u{d7ff}\"");
    truth(Kind::Char, &[], 0x10_ffff, "\"\u{10ffff}\"");
    for found in [0xd800, 0xdfff, 0x11_0000, u32::MAX] {
        lie(Kind::Char, &[], found, &GuestLie::Char { found });
        let heap = words(&[HEAP + 8, 1, found]);
        lie(list(Kind::Char), &heap, HEAP, &GuestLie::Char { found });
    }
}

#[test]
fn a7_text_is_never_repaired() {
    let utf8 = GuestLie::Text { encoding: "utf-8" };
    let mut heap = words(&[HEAP + 8, 2]);
    heap.extend_from_slice("é".as_bytes());
    truth(Kind::Text, &heap, HEAP, "\"é\"");
    for bad in [[0xff, 0xfe], [b'a', 0xc3], [0xc0, 0x80]] {
        heap.splice(8.., bad);
        lie(Kind::Text, &heap, HEAP, &utf8);
    }
}

#[test]
fn x6_utf16_and_latin1_are_read_as_they_are() {
    let call = |encoding: &str, heap: &[u8]| {
        let guest = Guest::of(&[Kind::Text], encoding, 16);
        let lifted = guest.lift(heap, HEAP.into(), LIMIT);
        lifted.map_err(|error| error.downcast::<GuestLie>().unwrap())
    };
    let utf16 = GuestLie::Text { encoding: "utf-16" };
    let misaligned = GuestLie::Misaligned {
        kind: "string",
        pointer: HEAP + 9,
        align: 2,
    };
    let tagged = |units: u32| units | 1 << 31;
    assert_eq!(
        call("utf16", &words(&[HEAP + 8, 2, 0xdd1e_d834]))
            .unwrap()
            .json,
        "\"𝄞\""
    );
    assert_eq!(
        call("utf16", &words(&[HEAP + 8, 2, 0xd834_0061])),
        Err(utf16.clone())
    );
    assert_eq!(
        call("utf16", &words(&[HEAP + 9, 1, 0, 0])),
        Err(misaligned.clone())
    );
    let latin1 = "latin1+utf16";
    assert_eq!(
        call(latin1, &words(&[HEAP + 8, 2, 0xff61])).unwrap().json,
        "\"aÿ\""
    );
    assert_eq!(
        call(latin1, &words(&[HEAP + 8, tagged(1), 0x20ac]))
            .unwrap()
            .json,
        "\"€\""
    );
    assert_eq!(
        call(latin1, &words(&[HEAP + 8, tagged(1), 0xdc00])),
        Err(utf16)
    );
    assert_eq!(call(latin1, &words(&[HEAP + 9, 1, 0, 0])), Err(misaligned));
    let outside = call(latin1, &words(&[HEAP + 8, u32::MAX])).unwrap_err();
    assert!(matches!(outside, GuestLie::Pointer { bytes, .. } if bytes == 2 * 0x7fff_ffff));
}

#[test]
fn a7_pointers_are_aligned_and_inside_to_the_last_byte() {
    let memory = PAGE * 16;
    let outside = |kind, pointer, bytes| GuestLie::Pointer {
        kind,
        pointer,
        bytes,
        memory: memory.try_into().unwrap(),
    };
    let of = |pointer, len| words(&[pointer, len]);
    truth(list(Kind::U32), &of(memory, 0), HEAP, "[]");
    truth(list(Kind::U32), &of(memory - 4, 1), HEAP, "[0]");
    for (pointer, len) in [
        (memory, 1),
        (memory - 4, 2),
        (memory + 4, 0),
        (HEAP, 0x7fff_ffff),
        (HEAP, 0x4000_0000),
        (HEAP, u32::MAX),
        (u32::MAX - 3, 1),
    ] {
        let wanted = outside("list", pointer, u64::from(len) * 4);
        lie(list(Kind::U32), &of(pointer, len), HEAP, &wanted);
    }
    let misaligned = |kind, pointer, align| GuestLie::Misaligned {
        kind,
        pointer,
        align,
    };
    lie(list(Kind::U32), &of(1, 1), HEAP, &misaligned("list", 1, 4));
    lie(
        list(Kind::U64),
        &of(HEAP + 4, 1),
        HEAP,
        &misaligned("list", HEAP + 4, 8),
    );
    for kind in [Kind::Text, Kind::Bytes] {
        let name = if kind == Kind::Text { "string" } else { "list" };
        truth(kind.clone(), &of(memory, 0), HEAP, "\"\"");
        lie(
            kind.clone(),
            &of(memory, 1),
            HEAP,
            &outside(name, memory, 1),
        );
        lie(
            kind,
            &of(HEAP, 0x8000_0000),
            HEAP,
            &outside(name, HEAP, 0x8000_0000),
        );
    }
    let pair = Kind::Tuple(vec![Kind::U32, Kind::U32]);
    truth(pair.clone(), &[], memory - 8, "[0,0]");
    lie(
        pair.clone(),
        &[],
        memory - 4,
        &outside("result", memory - 4, 8),
    );
    lie(
        pair.clone(),
        &[],
        u32::MAX - 3,
        &outside("result", u32::MAX - 3, 8),
    );
    lie(pair, &[], HEAP + 2, &misaligned("result", HEAP + 2, 4));
}

#[test]
fn x21_high_flag_bits_are_dropped_and_any_nonzero_bool_is_true() {
    truth(Kind::Flags(3), &[], 0xffff_fff8, "[]");
    truth(Kind::Flags(3), &[], 0xffff_fffd, "[\"l0-x\",\"l2-x\"]");
    truth(
        list(Kind::Flags(3)),
        &[8, 16, 0, 0, 1, 0, 0, 0, 0xfa],
        HEAP,
        "[[\"l1-x\"]]",
    );
    truth(Kind::Bool, &[], 2, "true");
    truth(Kind::Bool, &[], 256, "true");
    truth(Kind::Bool, &[], 0, "false");
    truth(
        Kind::Tuple(vec![Kind::Bool, Kind::Bool]),
        &[0, 0x80],
        HEAP,
        "[false,true]",
    );
}

/// A list whose every item is the pointer pair (`pointer`, `len`).
fn aliases(items: u32, pointer: u32, len: u32) -> Vec<u8> {
    let mut heap = words(&[HEAP + 8, items]);
    for _ in 0..items {
        heap.extend_from_slice(&words(&[pointer, len]));
    }
    heap
}

#[test]
fn b5_200_000_views_of_one_text_end_at_the_output_limit() {
    let heap = aliases(200_000, 1024, 64 << 10);
    for item in [Kind::Text, Kind::Bytes, list(Kind::Bool)] {
        let guest = Guest::of(&[list(item)], "utf8", 64);
        let error = guest.lift(&heap, HEAP.into(), 1 << 20).unwrap_err();
        let overflow = error.downcast_ref::<OutputOverflow>();
        let overflow = overflow.unwrap_or_else(|| panic!("{error:?}"));
        // Refused before the view that would overflow is read, not after all 13 GB.
        let within_one_view = (1 << 20)..(1 << 20) + ((6 * 64) << 10);
        assert!(within_one_view.contains(&overflow.asked), "{overflow:?}");
    }
}

#[test]
fn b5_a_list_that_must_overflow_is_refused_before_its_first_item() {
    let guest = Guest::of(&[list(Kind::Bool)], "utf8", 16);
    let items = PAGE * 15;
    let error = guest
        .lift(&words(&[HEAP, items]), HEAP.into(), LIMIT)
        .unwrap_err();
    let asked = usize::try_from(items).unwrap() * 2 + 1;
    assert_eq!(error.downcast_ref(), Some(&OutputOverflow { asked }));
}

#[test]
fn x6_an_allocator_that_answers_outside_or_askew_has_lied() {
    let outcome = |answer: u32, ty: &str, encoding: &str, kind: Kind, json: &str| {
        let guest = Guest::new(&format!(
            "(component
              (core module $m
                (memory (export \"memory\") 1)
                (func (export \"realloc\") (param i32 i32 i32 i32) (result i32)
                  (i32.const {answer}))
                (func (export \"f\") (param i32 i32)))
              (core instance $i (instantiate $m))
              (func (export \"f\") (param \"p0\" {ty}) (canon lift (core func $i \"f\")
                (memory $i \"memory\") (realloc (func $i \"realloc\"))
                string-encoding={encoding})))"
        ));
        let tape = Probe::new("f", &flat_params(&[kind])).read(&format!("{{\"p0\":{json}}}"));
        let outcome = guest.call("f", &tape, LIMIT);
        outcome.map_err(|error| error.downcast::<GuestLie>().unwrap())
    };
    let numbers = |answer| outcome(answer, "(list u32)", "utf8", list(Kind::U32), "[1,2]");
    let text = |answer, encoding| outcome(answer, "string", encoding, Kind::Text, "\"a€\"");
    assert!(numbers(PAGE - 8).is_ok());
    for answer in [PAGE - 4, PAGE - 7, u32::MAX - 3] {
        assert_eq!(numbers(answer), Err(GuestLie::Allocation), "{answer}");
    }
    for encoding in ENCODINGS {
        assert!(text(PAGE - 8, encoding).is_ok(), "{encoding}");
        assert_eq!(
            text(PAGE - 2, encoding),
            Err(GuestLie::Allocation),
            "{encoding}"
        );
    }
    assert_eq!(text(PAGE - 9, "utf16"), Err(GuestLie::Allocation));
}

#[test]
fn a_function_of_nothing_returns_null_and_post_return_gets_the_pointer() {
    let guest = Guest::new(&format!(
        "(component
          (core module $m
            (memory (export \"memory\") 1)
            (global $top (mut i32) (i32.const {HEAP}))
            {REALLOC}
            (func (export \"nothing\"))
            (func (export \"pair\") (result i32)
              (i32.store (i32.const 16) (i32.const 7)) (i32.const 16))
            (func (export \"after\") (param i32)
              (if (i32.ne (local.get 0) (i32.const 16)) (then unreachable))))
          (core instance $i (instantiate $m))
          (func (export \"nothing\") (canon lift (core func $i \"nothing\")))
          (func (export \"pair\") (result (tuple u32 u32)) (canon lift (core func $i \"pair\")
            (memory $i \"memory\") (post-return (func $i \"after\")))))"
    ));
    for (name, json) in [("nothing", "null"), ("pair", "[7,0]")] {
        let lifted = guest
            .call(name, &Probe::new(name, &[]).read("{}"), LIMIT)
            .unwrap();
        assert_eq!((lifted.json.as_str(), lifted.is_error), (json, false));
    }
}

#[test]
fn a_result_is_unwrapped_and_its_side_told() {
    let text = Kind::Option(Box::new(Kind::Text));
    let kind = Kind::Result(Some(text.clone().into()), Some(text.into()));
    let guest = Guest::of(&[kind], "utf8", 1);
    for (heap, json, is_error) in [
        (words(&[0, 0]), "null", false),
        (words(&[1, 0]), "null", true),
        (words(&[1, 1, HEAP + 16, 1, u32::from(b'x')]), "\"x\"", true),
    ] {
        let mut heap = heap;
        heap.resize(32, 0);
        let lifted = guest.lift(&heap, HEAP.into(), LIMIT).unwrap();
        assert_eq!((lifted.json.as_str(), lifted.is_error), (json, is_error));
    }
}

/// H36: a value is walked to a bounded depth, whatever its type says.
#[test]
fn b7_a_type_nested_deeper_than_inspect_allows_is_refused_by_the_walk_too() {
    let nested = |levels| (0..levels).fold(Kind::U8, |kind, _| Kind::Tuple(vec![kind]));
    assert!(lift(&nested(63), &[], 1).is_ok());
    let error = lift(&nested(70), &[], 1).unwrap_err();
    assert!(error.is::<Unfit>(), "{error:?}");
}

#[test]
fn arguments_of_another_function_are_refused() {
    let guest = Guest::of(&[Kind::Text], "utf8", 1);
    let right = Probe::new("lift", &lift_params()).read("{\"heap\":\"\",\"slot\":0}");
    assert!(guest.call("lift", &right, LIMIT).is_ok());
    let fewer = Probe::new("lift", &flat_params(&[Kind::Bytes])).read("{\"p0\":\"\"}");
    let error = guest.call("lift", &fewer, LIMIT).unwrap_err();
    assert!(error.is::<Unfit>(), "{error:?}");
}
