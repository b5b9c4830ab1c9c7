//! `bindery limits`: the table that errors, receipts and `--limit` speak of.

use bindery::{Budget, LimitName, LimitScope, Unit};
use serde_json::{Value, json};

use crate::answer::{Answer, Format};

/// Every limit with its default, from the one table in the code.
pub(crate) fn run(format: Format) -> Answer {
    match format {
        Format::Json => Answer::json(
            &json!({ "limits": LimitName::ALL.iter().map(|name| row(*name)).collect::<Vec<_>>() }),
        ),
        Format::Text => Answer::text(table()),
    }
}

fn row(name: LimitName) -> Value {
    json!({
        "name": name.as_str(),
        "default": Budget::default().get(name),
        "ceiling": name.ceiling(),
        "unit": unit(name),
        "scope": scope(name),
        "docs": name.docs(),
    })
}

fn table() -> String {
    let mut text = format!(
        "{:<20} {:>14} {:<6} {:<5} {}\n",
        "NAME", "DEFAULT", "UNIT", "SCOPE", "WHAT IS BOUNDED"
    );
    for name in LimitName::ALL {
        let ceiling = name
            .ceiling()
            .map_or_else(String::new, |ceiling| format!(" (at most {ceiling})"));
        let default = Budget::default().get(*name).to_string();
        text += &format!(
            "{:<20} {default:>14} {:<6} {:<5} {}{ceiling}\n",
            name.as_str(),
            unit(*name),
            scope(*name),
            name.docs()
        );
    }
    text + "\n0 allows nothing; only the word `unlimited` lifts a limit.\n"
}

fn unit(name: LimitName) -> &'static str {
    match name.unit() {
        Unit::Fuel => "fuel",
        Unit::Millis => "ms",
        Unit::Bytes => "bytes",
        Unit::Count => "count",
    }
}

fn scope(name: LimitName) -> &'static str {
    match name.scope() {
        LimitScope::Call => "call",
        LimitScope::Host => "host",
    }
}
