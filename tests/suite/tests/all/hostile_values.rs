//! Values that no type has, values far larger than their guest, texts in odd encodings.

use bindery_artefacts::repository;
use bindery_types::{Budget, ErrorType, LimitName};
use serde_json::{Value, json};

use crate::hostile::{Victim, alone, peak_kib, roomy};
use crate::rig::{
    assert_limit, budget, call, fault_cause, hostile, receipt, refusal, sandbox, value,
};

/// A7, X21: each lie is a fault and its nearest truth is a value, before and after it.
#[tokio::test]
async fn a_value_outside_its_type_is_a_fault_and_the_next_call_gives_the_one_inside() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "values/lie").await;
    let raw = |raw: u32| json!({"raw": raw});
    let list = |pointer: u32, length: u32| json!({"pointer": pointer, "length": length});
    let rows = [
        (
            "enum",
            raw(2),
            json!("c"),
            vec![raw(3), raw(255), raw(u32::MAX)],
        ),
        (
            "char",
            raw(0x1f600),
            json!("😀"),
            vec![raw(0xd800), raw(0x11_0000)],
        ),
        (
            "text",
            raw(0x6261),
            json!("ab"),
            vec![raw(0xfeff), raw(0x80c0)],
        ),
        (
            "list",
            list(64, 2),
            json!([0, 0]),
            vec![list(1, 1), list(64, 0x7fff_ffff), list(65_536, 1)],
        ),
        (
            "variant",
            raw(0),
            json!({"number": 5}),
            vec![raw(2), raw(255)],
        ),
    ];
    for (function, truth, expected, lies) in rows {
        let victim = Victim {
            sandbox: &sandbox,
            component: &component,
            function,
        };
        victim.gives(&truth.to_string(), &expected).await;
        for lie in lies {
            victim.faults(&lie.to_string(), "invalid_value").await;
            victim.gives(&truth.to_string(), &expected).await;
        }
    }
}

/// X21, A9: high bits of flags are dropped and any number but 0 is true, as the canonical
/// ABI says; both are documented.
#[tokio::test]
async fn high_flag_bits_are_dropped_and_odd_bools_are_true() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "values/lie").await;
    let rows = [
        ("flags", 5, json!(["r", "x"])),
        ("flags", 0xffff_fff8_u32, json!([])),
        ("flags", 0xffff_fffd, json!(["r", "x"])),
        ("bool", 0, json!(false)),
        ("bool", 1, json!(true)),
        ("bool", 0x100, json!(true)),
    ];
    for (function, raw, expected) in rows {
        let victim = Victim {
            sandbox: &sandbox,
            component: &component,
            function,
        };
        victim
            .gives(&json!({"raw": raw}).to_string(), &expected)
            .await;
    }
}

/// A1, A3 and the rest of the table of numbers come back from a real guest as they went.
#[tokio::test]
async fn numbers_beyond_a_double_and_nested_options_come_back_as_they_went() {
    let text = r#"(component
        (core module $m
            (memory (export "memory") 1)
            (func (export "pair") (param i64 i64) (result i32)
                (i64.store (i32.const 16) (local.get 0))
                (i64.store (i32.const 24) (local.get 1))
                (i32.const 16))
            (func (export "option") (param i32 i32 i32) (result i32)
                (i32.store8 (i32.const 16) (local.get 0))
                (i32.store8 (i32.const 20) (local.get 1))
                (i32.store (i32.const 24) (local.get 2))
                (i32.const 16)))
        (core instance $i (instantiate $m))
        (func (export "pair") (param "x" u64) (param "y" s64) (result (tuple u64 s64))
            (canon lift (core func $i "pair") (memory $i "memory")))
        (func (export "option") (param "v" (option (option u32))) (result (option (option u32)))
            (canon lift (core func $i "option") (memory $i "memory"))))"#;
    let sandbox = sandbox();
    let component = sandbox.load(wat::parse_str(text).unwrap()).await.unwrap();
    let rows = [
        (
            "pair",
            r#"{"x":9007199254740993,"y":-9223372036854775808}"#,
            json!(["9007199254740993", "-9223372036854775808"]),
        ),
        (
            "pair",
            r#"{"x":18446744073709551615,"y":"-9007199254740993"}"#,
            json!(["18446744073709551615", "-9007199254740993"]),
        ),
        ("pair", r#"{"x":30.0,"y":-0.0}"#, json!([30, 0])),
        ("option", "{}", Value::Null),
        ("option", r#"{"v":{"some":null}}"#, json!({"some": null})),
        ("option", r#"{"v":{"some":5}}"#, json!({"some": 5})),
    ];
    for (function, arguments, expected) in rows {
        let run = call(
            &sandbox,
            &component,
            function,
            arguments,
            &Budget::default(),
        )
        .await;
        assert_eq!(value(&run), expected, "A1, A2, A3: {arguments}");
    }
    for arguments in [
        r#"{"x":18446744073709551616,"y":0}"#,
        r#"{"x":0,"y":-9223372036854775809}"#,
        r#"{"x":-1,"y":0}"#,
        r#"{"x":1.5,"y":0}"#,
    ] {
        let run = call(&sandbox, &component, "pair", arguments, &Budget::default()).await;
        let refusal = refusal(&run);
        assert_eq!(
            refusal.kind(),
            ErrorType::ArgumentsInvalid,
            "A1, A2: {arguments}"
        );
        assert!(run.receipt.is_none(), "A1: nothing was started");
    }
}

/// B5, X5, H17: what is small in the guest and huge on the host ends by its limit's name,
/// as a result and as an argument of a host call; the host stays as small as before.
#[tokio::test]
async fn many_views_of_one_text_end_at_the_limit_and_a_few_pass() {
    if !alone("hostile_values::many_views_of_one_text_end_at_the_limit_and_a_few_pass") {
        return;
    }
    let sandbox = sandbox();
    let component = hostile(&sandbox, "values/aliases").await;
    let arguments = |items: u32, bytes: u32| format!(r#"{{"items": {items}, "bytes": {bytes}}}"#);
    let few = call(
        &sandbox,
        &component,
        "texts",
        &arguments(3, 4),
        &Budget::default(),
    )
    .await;
    assert_eq!(value(&few), json!(["aaaa", "aaaa", "aaaa"]));
    let give = r#"{"entries": 1, "bytes": 4}"#;
    let few = call(&sandbox, &component, "give", give, &Budget::default()).await;
    assert_eq!(value(&few), 0, "the list was taken");
    let before = peak_kib();
    for function in ["texts", "blobs"] {
        for (items, bytes) in [(200_000, 64 << 10), (1_000_000, 1 << 20)] {
            let arguments = arguments(items, bytes);
            let run = call(
                &sandbox,
                &component,
                function,
                &arguments,
                &Budget::default(),
            )
            .await;
            assert_limit(&run, LimitName::Output, 256 << 10);
            assert_eq!(receipt(&run).bytes_out, 0, "B5");
        }
    }
    for (entries, bytes) in [(100_000, 64 << 10), (400_000, 1 << 20), (2, 1 << 20)] {
        let give = format!(r#"{{"entries": {entries}, "bytes": {bytes}}}"#);
        let run = call(&sandbox, &component, "give", &give, &Budget::default()).await;
        assert_limit(&run, LimitName::Lift, 1 << 20);
    }
    let grown = peak_kib() - before;
    // The guest's own memory is at most 10 MiB; all it pointed at would be 1 TiB.
    assert!(grown < 64 << 10, "B5: the host grew by {grown} KiB");
    let few = call(
        &sandbox,
        &component,
        "texts",
        &arguments(1, 2),
        &Budget::default(),
    )
    .await;
    assert_eq!(value(&few), json!(["aa"]), "B5: the next call works");
}

/// B3, X22: what is said through a logging import is kept to its limit, the rest is
/// counted, and the guest goes on.
#[tokio::test]
async fn a_flood_through_the_log_is_kept_to_its_limit_and_counted() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "host-calls/log").await;
    let say = async |limit: u64| {
        let budget = budget(&[(LimitName::Log, limit)]);
        call(&sandbox, &component, "say", r#"{"bytes": 5000}"#, &budget).await
    };
    let whole = say(64 << 10).await;
    let log = &receipt(&whole).log;
    assert!(!log.truncated && log.dropped_bytes == 0, "B3");
    let length = u64::try_from(log.text.len()).unwrap();
    let cut = say(100).await;
    assert_eq!(value(&cut), Value::Null, "B3: the guest goes on");
    let log = &receipt(&cut).log;
    assert!(
        log.truncated && log.text.len() <= 100,
        "B3: {}",
        log.text.len()
    );
    let kept = u64::try_from(log.text.len()).unwrap();
    assert_eq!(
        kept + log.dropped_bytes,
        length,
        "B3: nothing is lost uncounted"
    );
}

/// A6: 8 MiB of bytes each way cost the host a small multiple of themselves, and a byte
/// more than the limit is refused before its JSON text is built.
#[tokio::test]
async fn eight_mebibytes_each_way_cost_a_small_multiple_of_themselves() {
    const NAME: &str =
        "hostile_values::eight_mebibytes_each_way_cost_a_small_multiple_of_themselves";
    const PAYLOAD: usize = 8 << 20;
    /// Times the payload, guest memory and the texts of this test included.
    const MULTIPLE: u64 = 10;
    if !alone(NAME) {
        return;
    }
    let sandbox = sandbox();
    let component = hostile(&sandbox, "values/bytes").await;
    let roomy = roomy(&[
        (LimitName::Arguments, 12 << 20),
        (LimitName::Output, 12 << 20),
    ]);
    let small = call(&sandbox, &component, "make", r#"{"bytes": 3}"#, &roomy).await;
    assert_eq!(value(&small), json!("AQEB"));
    let before = peak_kib();
    let data = base64_simd::STANDARD.encode_to_string(vec![1; PAYLOAD]);
    let arguments = format!(r#"{{"data": "{data}"}}"#);
    drop(data);
    let sum = call(&sandbox, &component, "sum", &arguments, &roomy).await;
    drop(arguments);
    assert_eq!(value(&sum), json!(PAYLOAD), "A6");
    let make = format!(r#"{{"bytes": {PAYLOAD}}}"#);
    let made = call(&sandbox, &component, "make", &make, &roomy).await;
    let payload = u64::try_from(PAYLOAD).unwrap();
    assert_eq!(receipt(&made).bytes_out, payload.div_ceil(3) * 4 + 2, "A6");
    drop(made);
    let grown = peak_kib() - before;
    assert!(
        grown * 1024 < payload * MULTIPLE,
        "A6: the host grew by {grown} KiB for 8 MiB"
    );
    let tight = budget(&[(LimitName::Output, payload), (LimitName::Deadline, 60_000)]);
    let over = call(&sandbox, &component, "make", &make, &tight).await;
    assert_limit(&over, LimitName::Output, payload);
    let sum = async |data: &str| {
        let arguments = format!(r#"{{"data": "{data}"}}"#);
        call(&sandbox, &component, "sum", &arguments, &roomy).await
    };
    assert_eq!(value(&sum("AQIB").await), json!(4));
    for bad in ["AQI", "AQI_", "AQIB\\n", "AQJ=", "[1, 2]"] {
        let run = sum(bad).await;
        let message = refusal(&run).message();
        assert!(
            message.contains("`/data`: expected a base64"),
            "A6: {bad}: {message}"
        );
    }
}

/// The composed component with these words in its places.
fn composed(from: &str, to: &str, realloc: &str) -> Vec<u8> {
    let name = "composed/strings";
    let path = repository().join(format!("guests/hostile/{name}.wat"));
    let text = std::fs::read_to_string(path).unwrap();
    let text = text
        .replace("REALLOC", realloc)
        .replace("string-encoding=FROM", &format!("string-encoding={from}"))
        .replace("string-encoding=TO", &format!("string-encoding={to}"));
    wat::parse_str(text).unwrap()
}

const HONEST: &str = "(local.get $at)";
/// The bit that says that a text of two encodings is UTF-16 (canonical ABI).
const UTF16_TAG: u32 = 1 << 31;

/// Texts of each encoding that are none, and one that is: raw bytes, pointer, length.
fn texts(encoding: &str) -> ([u32; 3], Vec<[u32; 3]>) {
    let outside = [0x6261, 0xffff_0000, 2];
    match encoding {
        "utf8" => (
            [0x6261, 16, 2],
            vec![[0xfeff, 16, 2], [0x6261, 65_535, 2], outside],
        ),
        "utf16" => (
            [0x0062_0061, 16, 2],
            vec![
                [0xd800, 16, 1],
                [0x61, 17, 1],
                [0x61, 16, 0x7fff_ffff],
                outside,
            ],
        ),
        _ => (
            [0x6261, 16, 2],
            vec![
                [0xd800, 16, 1 | UTF16_TAG],
                [0x61, 17, 1 | UTF16_TAG],
                [0x61, 16, u32::MAX],
                outside,
            ],
        ),
    }
}

/// X6: nine pairs of encodings; lone surrogates, odd pointers, texts and allocations
/// outside memory are faults of the guest, and the same guest still passes a good text.
#[tokio::test]
async fn texts_between_two_components_are_whole_or_a_fault() {
    let sandbox = sandbox();
    let encodings = ["utf8", "utf16", "latin1+utf16"];
    let arguments = |[raw, pointer, length]: [u32; 3]| {
        json!({"raw": raw, "pointer": pointer, "length": length}).to_string()
    };
    for (from, to) in encodings
        .iter()
        .flat_map(|from| encodings.map(|to| (*from, to)))
    {
        let component = sandbox.load(composed(from, to, HONEST)).await.unwrap();
        let (good, bad) = texts(from);
        let good = arguments(good);
        for text in bad {
            let arguments = arguments(text);
            let budget = Budget::default();
            let run = call(&sandbox, &component, "give", &arguments, &budget).await;
            let causes = [
                "string_conversion",
                "value_out_of_bounds",
                "unaligned_pointer",
            ];
            let cause = fault_cause(&run);
            let known = causes.contains(&cause) || cause == "invalid_value";
            assert!(known, "X6: {from} to {to}: {text:x?}: {cause}");
            let run = call(&sandbox, &component, "give", &good, &Budget::default()).await;
            assert_eq!(value(&run), 2, "X6: {from} to {to}");
        }
        for answer in ["(i32.const -8)", "(i32.const 65536)", "(i32.const 65535)"] {
            let component = sandbox.load(composed(from, to, answer)).await.unwrap();
            let run = call(&sandbox, &component, "give", &good, &Budget::default()).await;
            fault_cause(&run);
        }
    }
}

/// X4, H18: the limit of handles is one for all instances of a call.
#[tokio::test]
async fn fifty_instances_share_one_limit_of_handles() {
    let names: Vec<String> = (0..50).map(|n| format!("$one-{n}")).collect();
    let each =
        |line: &dyn Fn(&str) -> String| -> String { names.iter().map(|name| line(name)).collect() };
    let text = format!(
        r#"(component
            (component $C
                (type $r (resource (rep i32)))
                (core func $new (canon resource.new $r))
                (core module $m
                    (import "" "new" (func $new (param i32) (result i32)))
                    (func (export "hoard") (param $n i32)
                        (loop $again (if (local.get $n) (then
                            (drop (call $new (local.get $n)))
                            (local.set $n (i32.sub (local.get $n) (i32.const 1)))
                            (br $again))))))
                (core instance $i (instantiate $m (with "" (instance (export "new" (func $new))))))
                (func (export "hoard") (param "count" u32) (canon lift (core func $i "hoard"))))
            {instances}
            (component $Top
                {wanted}
                {lowered}
                (core module $m
                    {imports}
                    (func (export "hoard") (param i32) {calls}))
                (core instance $i (instantiate $m (with "" (instance {given}))))
                (func (export "hoard") (param "each" u32) (canon lift (core func $i "hoard"))))
            (instance $top (instantiate $Top {passed}))
            (alias export $top "hoard" (func $hoard))
            (export "hoard" (func $hoard)))"#,
        instances = each(&|i| format!("(instance {i} (instantiate $C))\n")),
        imports = each(&|i| format!("(import \"\" \"{i}\" (func {i} (param i32)))\n")),
        calls = each(&|i| format!("(call {i} (local.get 0))\n")),
        wanted = each(&|i| {
            let name = i.trim_start_matches('$');
            format!("(import \"{name}\" (func {i} (param \"count\" u32)))\n")
        }),
        lowered = each(&|i| format!("(core func {i} (canon lower (func {i})))\n")),
        passed = each(&|i| {
            let name = i.trim_start_matches('$');
            format!("(with \"{name}\" (func {i} \"hoard\"))\n")
        }),
        given = each(&|i| format!("(export \"{i}\" (func {i}))\n")),
    );
    let sandbox = sandbox();
    let component = sandbox.load(wat::parse_str(text).unwrap()).await.unwrap();
    let limit = budget(&[(LimitName::Handles, 1_000)]);
    let run = call(&sandbox, &component, "hoard", r#"{"each": 20}"#, &limit).await;
    assert_eq!(value(&run), Value::Null, "50 times 20 is the limit");
    let run = call(&sandbox, &component, "hoard", r#"{"each": 21}"#, &limit).await;
    assert_limit(&run, LimitName::Handles, 1_000);
}

/// H22, B6: nobody enters an instance that is being run already; its next call works.
#[tokio::test]
async fn a_guest_that_is_called_back_into_is_a_fault() {
    let sandbox = sandbox();
    let component = hostile(&sandbox, "reenter/parent").await;
    let victim = |function| Victim {
        sandbox: &sandbox,
        component: &component,
        function,
    };
    victim("keep-quiet").gives("{}", &Value::Null).await;
    victim("call-back").faults("{}", "reentered").await;
    victim("keep-quiet").gives("{}", &Value::Null).await;
}
