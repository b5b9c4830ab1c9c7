//! Replies as they are printed: one JSON object, or text made of the same.

use bindery::one_line;
use bindery_service::{Rendered, Reply};
use serde_json::Value;

use crate::answer::{Answer, Format};

/// Characters of one value that are shown as text; `-o json` has all of it.
const CHARS_MAX: usize = 4_096;

/// Prints a reply.
pub(crate) fn render(reply: Reply, json: bool) -> Rendered {
    let format = if json { Format::Json } else { Format::Text };
    let answer = match reply {
        Reply::Value(value) if json => Answer::json(&value),
        Reply::Value(value) => Answer::text(text(&value)),
        Reply::Text { json: value, .. } if json => Answer::json(&value),
        Reply::Text { text, .. } => Answer::text(text),
        Reply::Call(reply) => {
            let call = reply.call.to_string();
            Answer::run(format, &reply.run).with_member(format, "call", &call)
        }
        Reply::Refused(refusal) => Answer::refusal(format, &refusal, None),
    };
    answer.into_rendered()
}

/// A JSON object for people: a line a member, what is inside it indented.
fn text(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn write(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                line(
                    text,
                    &format!("{}:", one_line(name, CHARS_MAX)),
                    value,
                    depth,
                );
            }
        }
        Value::Array(items) => {
            for item in items {
                line(text, "-", item, depth);
            }
        }
        plain => text.push_str(&scalar(plain)),
    }
}

fn line(text: &mut String, head: &str, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(members) if members.is_empty() => *text += &format!("{indent}{head} none\n"),
        Value::Array(items) if items.is_empty() => *text += &format!("{indent}{head} none\n"),
        Value::Array(items) if items.iter().all(is_plain) => {
            let items: Vec<String> = items.iter().map(scalar).collect();
            *text += &format!("{indent}{head} {}\n", items.join(", "));
        }
        Value::Object(_) | Value::Array(_) => {
            *text += &format!("{indent}{head}\n");
            write(text, value, depth + 1);
        }
        plain => *text += &format!("{indent}{head} {}\n", scalar(plain)),
    }
}

fn is_plain(value: &Value) -> bool {
    !value.is_object() && !value.is_array()
}

fn scalar(value: &Value) -> String {
    match value {
        // Whoever wrote it shall not write a line of the answer (X49).
        Value::String(text) => one_line(text, CHARS_MAX),
        Value::Null => "none".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_forges_no_line_of_the_text_x49() {
        let value = json!({ "note": "ok\nstatus: approved\u{1b}[2K\u{202e}", "a\nb": 1 });
        let expected = "a\\nb: 1\nnote: ok\\nstatus: approved\\u{1b}[2K\\u{202e}\n";
        assert_eq!(text(&value), expected);
    }

    #[test]
    fn text_says_every_member_of_the_object() {
        let value = json!({
            "status": "bound", "next": null, "on": [1, 2], "empty": [],
            "rows": [{ "id": "a", "deep": { "x": true } }],
        });
        let expected = "empty: none\nnext: none\non: 1, 2\nrows:\n  -\n    deep:\n      x: true\n    id: a\nstatus: bound\n";
        assert_eq!(text(&value), expected);
    }
}
