//! Conditions on arguments, each operator spelled out (an absent member fails all but
//! `absent`; integers are compared exactly over the 64-bit range).

use serde_json::Value;

use crate::model::{Condition, Test};

/// Whether the condition holds for these arguments.
pub(crate) fn holds(condition: &Condition, arguments: &Value) -> bool {
    let Some(value) = arguments.get(&condition.member) else {
        return matches!(condition.test, Test::Absent);
    };
    let whole = integer(value);
    match &condition.test {
        Test::Absent => false,
        Test::Present => true,
        Test::Eq(wanted) => same(value, wanted),
        Test::Ne(wanted) => !same(value, wanted),
        Test::In(list) => list.iter().any(|wanted| same(value, wanted)),
        Test::NotIn(list) => !list.iter().any(|wanted| same(value, wanted)),
        Test::Prefix(prefix) => value.as_str().is_some_and(|text| text.starts_with(prefix)),
        Test::Host(host) => value.as_str().is_some_and(|text| host_is(text, host)),
        Test::PathUnder(base) => value.as_str().is_some_and(|text| under(text, base)),
        Test::Lt(bound) => whole.is_some_and(|number| number < i128::from(*bound)),
        Test::Le(bound) => whole.is_some_and(|number| number <= i128::from(*bound)),
        Test::Gt(bound) => whole.is_some_and(|number| number > i128::from(*bound)),
        Test::Ge(bound) => whole.is_some_and(|number| number >= i128::from(*bound)),
        Test::MaxLen(max) => match value {
            Value::String(text) => text.chars().count() as u64 <= *max,
            Value::Array(items) => items.len() as u64 <= *max,
            _ => false,
        },
    }
}

/// An integer, also one that JSON carries as its decimal digits.
fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => number.to_string().parse().ok(),
        Value::String(text) => {
            let number: i128 = text.parse().ok()?;
            (number.to_string() == *text).then_some(number)
        }
        _ => None,
    }
}

fn same(value: &Value, wanted: &Value) -> bool {
    if wanted.is_number() {
        return integer(value).is_some() && integer(value) == integer(wanted);
    }
    value == wanted
}

fn host_is(url: &str, host: &str) -> bool {
    let Some(rest) = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"))
    else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap();
    let after_user = authority.rsplit('@').next().unwrap();
    let name = after_user.split(':').next().unwrap().to_lowercase();
    let name = name.trim_end_matches('.');
    match host.strip_prefix("*.") {
        Some(parent) => name.ends_with(&format!(".{parent}")),
        None => name == host,
    }
}

fn under(path: &str, base: &str) -> bool {
    let mut place: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                place.pop();
            }
            other => place.push(other),
        }
    }
    let base: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
    place.len() >= base.len() && place[..base.len()] == base[..]
}
