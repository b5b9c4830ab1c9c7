//! What is not JSON, with the place where it stops being JSON.

use bindery_types::{Budget, ErrorType};

use super::world;

#[test]
fn what_is_not_json_is_told_with_line_and_column() {
    let world = world();
    for (text, line, column, wanted) in [
        ("", 1, 1, "expected a value, found the end of the text"),
        (
            "{\n \"v\": \"a\"\n x}",
            3,
            2,
            "expected `,` or `}`, found `x`",
        ),
        ("{\"v\":\"é\" 1}", 1, 10, "expected `,` or `}`, found `1`"),
        (
            "{\"v\":\"a\",}",
            1,
            10,
            "expected a name in double quotes, found `}`",
        ),
        (
            "{'v':1}",
            1,
            2,
            "expected a name in double quotes, found `'`",
        ),
        ("{\"v\" 1}", 1, 6, "expected `:`, found `1`"),
        (
            "{\"v\":\"a\"} {}",
            1,
            11,
            "expected the end of the text, found `{`",
        ),
        ("{\"v\":\"a", 1, 8, "expected `\"` at the end of the string"),
        (
            "{\"v\":\"a\n\"}",
            1,
            8,
            "instead of a raw control character",
        ),
        ("{\"v\":\"\\x\"}", 1, 7, "expected one of the escapes"),
        (
            "{\"v\":\"\\u12g4\"}",
            1,
            7,
            "expected four hexadecimal digits",
        ),
        // X45
        (
            "{\"v\":\"\\ud800\"}",
            1,
            7,
            "expected a low surrogate right after the high one",
        ),
        (
            "{\"v\":\"\\ud800\\ud800\"}",
            1,
            7,
            "expected a low surrogate right after",
        ),
        (
            "{\"v\":\"\\udc00\"}",
            1,
            7,
            "expected no low surrogate without a high one",
        ),
        ("{\"v\":01}", 1, 7, "expected no digit after a leading zero"),
        ("{\"v\":1.}", 1, 8, "expected a digit"),
        ("{\"v\":+1}", 1, 6, "expected a value, found `+`"),
        ("{\"v\":NaN}", 1, 6, "expected a value, found `N`"),
        ("{\"v\":nul}", 1, 6, "expected `null`"),
        ("{\"v\":[1,]}", 1, 9, "expected a value, found `]`"),
        ("\u{feff}{}", 1, 1, "found a byte order mark"),
        ("{\"w\":[1 2]}", 1, 9, "expected `,` or `]`, found `2`"),
    ] {
        let refusal = world.read("string", text, &Budget::default()).unwrap_err();
        assert_eq!(refusal.kind(), ErrorType::ArgumentsInvalid, "{text}");
        assert!(
            refusal.message().contains(wanted),
            "{text}: {}",
            refusal.message()
        );
        let fault = &refusal.details()["faults"][0];
        assert_eq!(
            (fault["line"].as_u64(), fault["column"].as_u64()),
            (Some(line), Some(column)),
            "{text}"
        );
    }
}
