//! What does not fit, and what the caller is told.

use bindery_types::{Budget, ErrorType};

use super::world;

#[test]
fn what_does_not_fit_is_told_with_its_place() {
    let world = world();
    for (function, text, wanted) in [
        ("nothing", "[]", &["expected an empty object"][..]),
        (
            "nothing",
            r#"{"a":1}"#,
            &["`/a`: unknown argument `a`; expected no argument"],
        ),
        // A1, A2
        (
            "ints",
            r#"{"x":18446744073709551616,"y":-9223372036854775809}"#,
            &[
                "`/x`: expected a whole number from 0 to 18446744073709551615",
                "`/y`: expected a whole number from -9223372036854775808 to 9223372036854775807",
            ],
        ),
        ("ints", r#"{"x":"01","y":"-0"}"#, &["`/x`", "`/y`"]),
        (
            "small",
            r#"{"a":256,"b":"12","c":-1}"#,
            &[
                "`/a`: expected a whole number from 0 to 255, got the number 256",
                "`/b`: expected a whole number from 0 to 4294967295, got the string `12`",
                "`/c`: expected a whole number from 0 to 18446744073709551615 (a number or a decimal string), got the number -1",
            ],
        ),
        (
            "small",
            r#"{"a":1.5,"b":1e-3,"c":1}"#,
            &["got the number 1.5", "got the number 1e-3"],
        ),
        ("s8", r#"{"v":-129}"#, &["from -128 to 127"]),
        // A3
        (
            "g",
            r#"{"v":5}"#,
            &["`/v`: expected `null` or {\"some\": …}, got the number 5"],
        ),
        (
            "g",
            r#"{"v":{}}"#,
            &["exactly one member expected, 0 members given"],
        ),
        (
            "g",
            r#"{"v":{"some":1,"some":2}}"#,
            &["exactly one member expected, 2 members given"],
        ),
        ("g", r#"{"v":{"none":null}}"#, &["no case `none`"]),
        (
            "h",
            r#"{"r":{"b":true}}"#,
            &["`/r/b`: expected `null` or {\"some\": …}"],
        ),
        (
            "result",
            r#"{"v":{"err":0}}"#,
            &["`/v/err`: expected `null`"],
        ),
        (
            "result",
            r#"{"v":null}"#,
            &["expected {\"ok\": …} or {\"err\": …}, got `null`"],
        ),
        // A8
        (
            "place",
            r#"{"o":{"item":"sku","qty":[["a",1],["b"]]}}"#,
            &[
                "`/o/item`: case `sku` needs a string: write {\"sku\": …}",
                "`/o/qty/1`: 2 items expected, 1 given",
            ],
        ),
        (
            "place",
            r#"{"o":{"itm":{"free":null}}}"#,
            &[
                "`/o/itm`: unknown field `itm`, did you mean `item`; expected one of `item`, `qty`",
                "`/o/item`: field `item` is missing: expected one of the cases `sku` (with a string), `free`",
                "`/o/qty`: field `qty` is missing: expected an array",
            ],
        ),
        (
            "place",
            r#"{"o":{"item":"Free","qty":[]}}"#,
            &[
                "no case `Free`, did you mean `free`; expected one of the cases `sku` (with a string), `free`",
            ],
        ),
        (
            "place",
            r#"{"o":{"item":{"free":null},"qty":[]}}"#,
            &["`/o/item`: case `free` has no payload: write \"free\""],
        ),
        (
            "color",
            r#"{"v":"blue"}"#,
            &["no case `blue`; expected one of `red`, `green`"],
        ),
        (
            "color",
            r#"{"v":{"red":null}}"#,
            &["expected one of `red`, `green`, got an object"],
        ),
        // A9
        (
            "perms",
            r#"{"v":["r","r"]}"#,
            &["`/v/1`: label `r` is given more than once"],
        ),
        (
            "perms",
            r#"{"v":["R"]}"#,
            &["no label `R`, did you mean `r`; the labels are `r`, `w`, `x`"],
        ),
        (
            "perms",
            r#"{"v":{"r":true}}"#,
            &["an array of the labels `r`, `w`, `x`, got an object"],
        ),
        // A6
        (
            "bytes",
            r#"{"v":"Zm9v\n"}"#,
            &["`/v`: expected a base64 string: character 5 is '\\n'"],
        ),
        (
            "bytes",
            r#"{"v":[1,2]}"#,
            &["expected a base64 string, got an array"],
        ),
        // E7
        (
            "json",
            r#"{"opts":"{\"n\":1}","tags":"[\"a\"]","body":"{\"keep\":true}"}"#,
            &[
                "`/opts`: expected an object with the fields `n`, got a string holding JSON text: pass the value itself, not its text",
                "`/tags`: expected an array, got a string holding JSON text",
            ],
        ),
        (
            "json",
            r#""{\"opts\":{\"n\":1}}""#,
            &[
                "expected an object with the arguments `opts`, `tags`, `body`, got a string holding JSON text",
            ],
        ),
        ("json", r#""\"{}\"""#, &["got a string holding JSON text"]),
        (
            "json",
            r#"{"opts":"","tags":[],"body":""}"#,
            &["got an empty string"],
        ),
        (
            "json",
            r#"{"opts":{"n":"1"},"tags":[],"body":""}"#,
            &["`/opts/n`: expected a whole number from 0 to 4294967295, got the string `1`"],
        ),
        // X45
        (
            "ints",
            r#"{"x":1,"x":1,"y":0}"#,
            &["`/x`: argument `x` is given more than once"],
        ),
        (
            "ints",
            r#"{"x":1,"y":0,"__proto__":{}}"#,
            &["unknown argument `__proto__`"],
        ),
        ("f64", r#"{"v":1e400}"#, &["within ±1.7976931348623157e308"]),
        ("f32", r#"{"v":3.5e38}"#, &["within ±3.4028235e38"]),
        ("f64", r#"{"v":"NaN"}"#, &["got the string `NaN`"]),
        (
            "char",
            r#"{"v":""}"#,
            &["a string of exactly one character, got an empty string"],
        ),
        ("char", r#"{"v":"ab"}"#, &["got the string `ab`"]),
    ] {
        let refusal = world.read(function, text, &Budget::default()).unwrap_err();
        assert_eq!(refusal.kind(), ErrorType::ArgumentsInvalid);
        let faults = refusal.details()["faults"].as_array().unwrap().clone();
        assert_eq!(faults.len(), wanted.len(), "{text}: {}", refusal.message());
        for wanted in wanted {
            assert!(
                refusal.message().contains(wanted),
                "{text}: {}",
                refusal.message()
            );
        }
        for fault in faults {
            for key in ["pointer", "expected", "got"] {
                assert!(fault[key].is_string(), "{fault}");
            }
        }
    }
}
