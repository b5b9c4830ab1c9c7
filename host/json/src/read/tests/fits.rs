//! What fits, and the one text it has on the way out.

use bindery_types::Budget;

use super::world;

#[test]
fn what_fits_has_one_output_form() {
    let world = world();
    for (function, text, wanted) in [
        ("nothing", " { } ", "{}"),
        // A1
        (
            "ints",
            r#"{"x":9007199254740993,"y":-9223372036854775808}"#,
            r#"{"x":"9007199254740993","y":"-9223372036854775808"}"#,
        ),
        (
            "ints",
            r#"{"y":"-9007199254740993","x":18446744073709551615}"#,
            r#"{"x":"18446744073709551615","y":"-9007199254740993"}"#,
        ),
        ("ints", r#"{"x":"7","y":-7.0}"#, r#"{"x":7,"y":-7}"#),
        // A2
        (
            "small",
            r#"{"a":30.0,"b":1e3,"c":7}"#,
            r#"{"a":30,"b":1000,"c":7}"#,
        ),
        (
            "small",
            r#"{"a":-0.0,"b":0,"c":-0}"#,
            r#"{"a":0,"b":0,"c":0}"#,
        ),
        // A3
        ("g", r#"{"v":null}"#, r#"{"v":null}"#),
        ("g", "{}", r#"{"v":null}"#),
        ("g", r#"{"v":{"some":null}}"#, r#"{"v":{"some":null}}"#),
        ("g", r#"{"v":{"some":5}}"#, r#"{"v":{"some":5}}"#),
        (
            "g3",
            r#"{"v":{"some":{"some":5}}}"#,
            r#"{"v":{"some":{"some":5}}}"#,
        ),
        ("h", r#"{"r":{}}"#, r#"{"r":{"a":null,"b":null}}"#),
        ("h", r#"{"r":{"a":null}}"#, r#"{"r":{"a":null,"b":null}}"#),
        (
            "h",
            r#"{"r":{"b":{"some":null}}}"#,
            r#"{"r":{"a":null,"b":{"some":null}}}"#,
        ),
        ("result", r#"{"v":{"ok":1}}"#, r#"{"v":{"ok":1}}"#),
        ("result", r#"{"v":{"err":null}}"#, r#"{"v":{"err":null}}"#),
        // A8
        (
            "place",
            r#"{"o":{"qty":[["a",1]],"item":{"sku":"b"}}}"#,
            r#"{"o":{"item":{"sku":"b"},"qty":[["a",1]]}}"#,
        ),
        (
            "place",
            r#"{"o":{"item":"free","qty":[]}}"#,
            r#"{"o":{"item":"free","qty":[]}}"#,
        ),
        // A9
        ("perms", r#"{"v":["x","r"]}"#, r#"{"v":["r","x"]}"#),
        ("perms", r#"{"v":[]}"#, r#"{"v":[]}"#),
        ("color", r#"{"v":"gr\u0065en"}"#, r#"{"v":"green"}"#),
        // E7: a string stays a string, whatever it looks like.
        (
            "json",
            r#"{"opts":{"n":1},"tags":["a"],"body":"{\"keep\":true}"}"#,
            r#"{"opts":{"n":1},"tags":["a"],"body":"{\"keep\":true}"}"#,
        ),
        // X45 and the rest of the table
        ("f64", r#"{"v":-0}"#, r#"{"v":-0.0}"#),
        ("f64", r#"{"v":"nan"}"#, r#"{"v":"nan"}"#),
        ("f32", r#"{"v":0.1}"#, r#"{"v":0.1}"#),
        ("f32", r#"{"v":"-inf"}"#, r#"{"v":"-inf"}"#),
        ("f32", r#"{"v":3.4028235e38}"#, r#"{"v":3.4028235e+38}"#),
        ("char", r#"{"v":"\ud83d\ude00"}"#, "{\"v\":\"😀\"}"),
        (
            "string",
            r#"{"v":"a\u0000b\/\n"}"#,
            r#"{"v":"a\u0000b/\n"}"#,
        ),
        ("bytes", r#"{"v":"Zm9v"}"#, r#"{"v":"Zm9v"}"#),
        ("bytes", r#"{"v":"\u005am9v"}"#, r#"{"v":"Zm9v"}"#),
    ] {
        let read = world.read(function, text, &Budget::default());
        assert_eq!(
            read.as_deref().map_err(ToString::to_string),
            Ok(wanted),
            "{function} {text}"
        );
        let again = world.read(function, wanted, &Budget::default());
        assert_eq!(again.as_deref().map_err(ToString::to_string), Ok(wanted));
    }
}
