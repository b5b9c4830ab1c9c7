//! Arguments as a reviewer sees them: short, bounded, without what is named as a secret.

use bindery_ledger::Summary;
use bindery_types::canonical;
use serde_json::{Value, json};

/// What a reviewer sees of arguments: short values as they are, long ones by size, and
/// nothing of a member whose name speaks of a secret (R-560, case G6).
pub(crate) fn redacted(arguments: &Value) -> Summary {
    let shown = shown(arguments, 0);
    Summary::new(shown).unwrap_or_else(|_| {
        let bytes = canonical(arguments).len();
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
