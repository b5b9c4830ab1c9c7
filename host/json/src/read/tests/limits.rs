//! Depth, size, number of faults, and texts made to hurt.

use bindery_types::{Budget, ErrorType, LimitName};
use proptest::prelude::*;

use super::world;
use crate::read_arguments;

#[test]
fn b7_deep_nesting_is_refused_by_depth_wherever_it_stands() {
    let world = world();
    let deep = "[".repeat(100_000);
    let closed = format!("{}{}", "[".repeat(400), "]".repeat(400));
    for text in [
        format!("{{\"v\":{deep}"),
        format!("{{\"unknown\":{deep}"),
        format!("{{\"v\":{closed}}}"),
        format!("{{\"unknown\":{closed},\"v\":\"\"}}"),
        "{\"v\":".repeat(100_000),
        deep.clone(),
    ] {
        let refusal = world.read("string", &text, &Budget::default()).unwrap_err();
        assert_eq!(refusal.kind(), ErrorType::ArgumentsInvalid);
        assert!(
            refusal.message().contains("nested deeper than 64"),
            "{refusal}"
        );
    }
    let unknown = |depth| format!("{{\"w\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    let at_limit = world
        .read("string", &unknown(63), &Budget::default())
        .unwrap_err();
    assert!(
        at_limit.message().contains("unknown argument `w`"),
        "{at_limit}"
    );
    let above = world
        .read("string", &unknown(64), &Budget::default())
        .unwrap_err();
    assert!(above.message().contains("nested deeper than 64"), "{above}");
}

#[test]
fn a_budget_stops_exactly_one_above_its_limit() {
    let world = world();
    let text = r#"{"v":["a","b"],"w":[[1]]}"#;
    let used = |limit: LimitName, value: u64, function: &str, text: &str| {
        let budget = Budget::default().with(limit, value).unwrap();
        let refusal = world.read(function, text, &budget).err()?;
        (refusal.kind() == ErrorType::BudgetExhausted).then(|| {
            let details = refusal.details();
            assert_eq!(details["limit"], limit.as_str());
            assert_eq!(details["value"], value);
            details["used"].as_u64().unwrap()
        })
    };
    let length = text.len() as u64;
    assert_eq!(used(LimitName::Arguments, length, "string", text), None);
    assert_eq!(
        used(LimitName::Arguments, length - 1, "string", text),
        Some(length)
    );
    // The arguments, `v` with its two items, `w` with two values inside.
    assert_eq!(used(LimitName::JsonNodes, 7, "string", text), None);
    assert_eq!(used(LimitName::JsonNodes, 6, "string", text), Some(7));
    // Absent fields count: a short text may not ask for a long tape.
    assert_eq!(
        used(LimitName::JsonNodes, 44, "many", r#"{"v":[{},{}]}"#),
        Some(84)
    );
    assert_eq!(
        used(LimitName::JsonNodes, 84, "many", r#"{"v":[{},{}]}"#),
        None
    );
    // A6: bytes are one value, however many.
    let bytes = format!("{{\"v\":\"{}\"}}", "AAAA".repeat(1000));
    assert_eq!(used(LimitName::JsonNodes, 2, "bytes", &bytes), None);
}

#[test]
fn a8_ten_faults_are_told_and_the_rest_is_counted() {
    let world = world();
    let text = format!("{{\"v\":[{}]}}", vec!["256"; 25].join(","));
    let refusal = world
        .read("numbers", &text, &Budget::default())
        .unwrap_err();
    assert_eq!(refusal.details()["faults"].as_array().unwrap().len(), 10);
    assert_eq!(refusal.details()["more"], 15);
    assert!(refusal.message().ends_with("; and 15 more"), "{refusal}");
}

#[test]
fn a_wide_record_finds_its_fields_in_any_order() {
    let world = world();
    let members: Vec<String> = (0..40)
        .rev()
        .map(|n| format!("\"field-{n}\":{n}"))
        .collect();
    let read = world
        .read(
            "many",
            &format!("{{\"v\":[{{{}}}]}}", members.join(",")),
            &Budget::default(),
        )
        .unwrap();
    assert!(read.contains("\"field-0\":0,\"field-1\":1,"), "{read}");
    let refusal = world
        .read("many", r#"{"v":[{"field-40":1}]}"#, &Budget::default())
        .unwrap_err();
    assert!(
        refusal.message().contains("did you mean `field-"),
        "{refusal}"
    );
}

#[test]
fn b4_hostile_text_in_a_message_is_cut_and_made_visible() {
    let world = world();
    let long = "é".repeat(10_000);
    for text in [
        format!("{{\"{long}\":1}}"),
        format!("{{\"x\":\"{long}\",\"y\":0}}"),
        "{\"x\u{202e}\u{9b}31m\":0}".to_owned(),
    ] {
        let refusal = world.read("ints", &text, &Budget::default()).unwrap_err();
        assert!(refusal.to_json().to_string().len() < 2_000);
        assert!(
            !refusal.message().contains(['\u{202e}', '\u{9b}']),
            "{refusal}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever text comes, there is a tape or a refusal, and JSON is judged as another
    /// parser judges it.
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,40}|[\\[\\]{}:,\"\\\\a-z0-9.eE+\\- untfr]{0,60}") {
        let world = world();
        for function in &world.functions {
            let read = read_arguments(&text, function, &world.types, &Budget::default());
            if let Err(refusal) = read {
                let syntax = refusal.message().starts_with("the arguments are not JSON");
                let json = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
                prop_assert_eq!(syntax, !json, "{} {}", text, refusal);
            }
        }
    }

    /// A valid text with one piece cut out or doubled never panics.
    #[test]
    fn a_damaged_text_is_read_or_refused(start in 0_usize..60, len in 0_usize..9, twice: bool) {
        let world = world();
        let text = r#"{"o":{"item":{"sku":"\ud83d\ude00"},"qty":[["a",1],["b",2.0e0]]}}"#;
        let cut = text.get(start..(start + len).min(text.len())).unwrap_or_default();
        let damaged = text.replacen(cut, &cut.repeat(if twice { 2 } else { 0 }), 1);
        for function in &world.functions {
            drop(read_arguments(&damaged, function, &world.types, &Budget::default()));
        }
    }
}
