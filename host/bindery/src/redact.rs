//! Arguments as a reviewer sees them: short, bounded, without what is known to be a secret,
//! looks like one, or is named as one.

use bindery_ledger::Summary;
use bindery_screen::Screen;
use bindery_types::canonical;
use serde_json::{Value, json};

/// What a reviewer sees of arguments: short values as they are, long ones by size. Secrets
/// are found by value, in every form, and by pattern, before anything is cut; a member whose
/// name speaks of a secret shows nothing at all (R-560, R-586, case G6).
pub(crate) fn redacted(arguments: &Value, screen: &Screen) -> Summary {
    let text = canonical(arguments);
    let screened = screen.screen_json(&text);
    // A mask leaves JSON; if it did not, there is nothing to show.
    let masked = serde_json::from_str(&screened.text).unwrap_or(Value::from("(redacted)"));
    Summary::new(shown(&masked, 0)).unwrap_or_else(|_| {
        let bytes = text.len();
        Summary::new(json!({ "too_large_to_show_bytes": bytes })).unwrap_or_default()
    })
}

const SHOWN_CHARS: usize = 256;
const SHOWN_DEPTH: usize = 8;
const SHOWN_ITEMS: usize = 32;
const SECRET_WORDS: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "token",
    "key",
    "credential",
    "auth",
];

fn shown(value: &Value, depth: usize) -> Value {
    match value {
        Value::Array(items) if depth >= SHOWN_DEPTH || items.len() > SHOWN_ITEMS => {
            json!({ "items": items.len() })
        }
        Value::Array(items) => items.iter().map(|item| shown(item, depth + 1)).collect(),
        Value::Object(members) if depth >= SHOWN_DEPTH => json!({ "members": members.len() }),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let lower = name.to_ascii_lowercase();
                let secret = SECRET_WORDS.iter().any(|word| lower.contains(word));
                let value = if secret {
                    Value::from("(redacted)")
                } else {
                    shown(value, depth + 1)
                };
                (name.clone(), value)
            };
            Value::Object(members.iter().map(member).collect())
        }
        Value::String(text) if text.chars().count() > SHOWN_CHARS => {
            let cut: String = text.chars().take(SHOWN_CHARS).collect();
            json!({ "begins": cut, "chars": text.chars().count() })
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bindery_screen::Secret;

    #[test]
    fn a_secret_is_masked_wherever_it_stands_and_whatever_its_member_is_called() {
        let secret = Secret::new("CANARY-1".to_owned()).unwrap();
        let screen = Screen::new([&secret]).unwrap();
        let arguments = json!({
            "note": "ok\n{\"event\":\"approved\"}",
            "password": "hunter2hunter2",
            "url": "https://u:other-secret@h/",
            "list": ["--token=abcdefgh1234", "Q0FOQVJZLTE="],
            "long": format!("{}CANARY-1", "x".repeat(250)),
            "CANARY-1": 3,
        });
        let shown = redacted(&arguments, &screen).value().to_string();
        for hidden in ["hunter2", "other-secret", "abcdefgh1234", "Q0FO", "CANARY"] {
            assert!(!shown.contains(hidden), "G6 {hidden}: {shown}");
        }
        assert!(
            shown.contains("approved"),
            "what is no secret is shown: {shown}"
        );
    }
}
