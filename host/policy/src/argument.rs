//! Conditions that a rule puts on arguments.
//!
//! Rule: they see the canonical form of the arguments (C-56). Integers are compared exactly
//! over the 64-bit range, also where JSON carries them as decimal text; an absent member
//! fails every operator but `absent`, and a value of another kind fails every comparison.

use std::cmp::Ordering;
use std::str::FromStr;

use serde::Serialize;
use serde_json::Value;

/// A place in the arguments (RFC 6901).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Pointer {
    parts: Vec<String>,
}

/// A text that is no JSON Pointer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a JSON Pointer is empty or begins with `/`; `~` is written `~0`, `/` in a name `~1`")]
pub struct PointerError;

impl FromStr for Pointer {
    type Err = PointerError;

    fn from_str(text: &str) -> Result<Self, PointerError> {
        let Some(rest) = text.strip_prefix('/') else {
            return if text.is_empty() {
                Ok(Self { parts: Vec::new() })
            } else {
                Err(PointerError)
            };
        };
        let parts: Option<Vec<String>> = rest.split('/').map(unescaped).collect();
        Ok(Self {
            parts: parts.ok_or(PointerError)?,
        })
    }
}

fn unescaped(part: &str) -> Option<String> {
    let well_made = part
        .split('~')
        .skip(1)
        .all(|rest| rest.starts_with(['0', '1']));
    well_made.then(|| part.replace("~1", "/").replace("~0", "~"))
}

impl Pointer {
    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.parts
            .iter()
            .try_fold(value, |value, part| match value {
                Value::Object(members) => members.get(part),
                Value::Array(items) => {
                    let plain = part == "0" || !part.starts_with(['0', '+']);
                    items.get(part.parse::<usize>().ok().filter(|_| plain)?)
                }
                _ => None,
            })
    }
}

/// A value that a condition names.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Scalar {
    /// A truth value.
    Truth(bool),
    /// A whole number.
    Whole(i128),
    /// Any other number.
    Double(f64),
    /// A text.
    Text(String),
}

/// What a condition asks of the value it finds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// Equal.
    Eq(Scalar),
    /// There, and not equal.
    Ne(Scalar),
    /// One of these.
    In(Vec<Scalar>),
    /// There, and none of these.
    NotIn(Vec<Scalar>),
    /// A text that begins so.
    Prefix(String),
    /// An `http` or `https` URL on this host; `*.host` is every name below it.
    Host(String),
    /// A path at or below this one, dots resolved, relative ones taken from the root.
    PathUnder(String),
    /// A smaller number.
    Lt(Scalar),
    /// A number at most this.
    Le(Scalar),
    /// A greater number.
    Gt(Scalar),
    /// A number at least this.
    Ge(Scalar),
    /// A text of at most so many characters, a list of at most so many items.
    MaxLen(u64),
    /// There.
    Present,
    /// Not there.
    Absent,
}

/// One condition: a place, and everything asked of what is there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// The place.
    pub at: Pointer,
    /// What is asked; all have to hold.
    pub tests: Vec<Test>,
}

impl Condition {
    /// Whether the arguments fulfil the condition.
    pub fn holds(&self, arguments: &Value) -> bool {
        let found = self.at.find(arguments);
        self.tests.iter().all(|test| match (found, test) {
            (None, test) => *test == Test::Absent,
            (Some(value), test) => test.holds(value),
        })
    }
}

impl Test {
    fn holds(&self, value: &Value) -> bool {
        let text = value.as_str();
        match self {
            Self::Eq(wanted) => equal(value, wanted),
            Self::Ne(wanted) => !equal(value, wanted),
            Self::In(list) => list.iter().any(|wanted| equal(value, wanted)),
            Self::NotIn(list) => !list.iter().any(|wanted| equal(value, wanted)),
            Self::Prefix(prefix) => text.is_some_and(|text| text.starts_with(prefix.as_str())),
            Self::Host(host) => text
                .and_then(host_of)
                .is_some_and(|found| host_fits(host, &found)),
            Self::PathUnder(base) => text.is_some_and(|path| is_under(path, base)),
            Self::Lt(bound) => compare(value, bound).is_some_and(Ordering::is_lt),
            Self::Le(bound) => compare(value, bound).is_some_and(Ordering::is_le),
            Self::Gt(bound) => compare(value, bound).is_some_and(Ordering::is_gt),
            Self::Ge(bound) => compare(value, bound).is_some_and(Ordering::is_ge),
            Self::MaxLen(max) => length(value).is_some_and(|length| length <= *max),
            Self::Present => true,
            Self::Absent => false,
        }
    }
}

fn length(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => u64::try_from(text.chars().count()).ok(),
        Value::Array(items) => u64::try_from(items.len()).ok(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn equal(value: &Value, wanted: &Scalar) -> bool {
    match wanted {
        Scalar::Truth(truth) => value.as_bool() == Some(*truth),
        Scalar::Text(text) => value.as_str() == Some(text),
        Scalar::Whole(_) | Scalar::Double(_) => compare(value, wanted).is_some_and(Ordering::is_eq),
    }
}

/// How a value stands to a number; nothing when it is none.
fn compare(value: &Value, bound: &Scalar) -> Option<Ordering> {
    match (number(value)?, bound) {
        (Scalar::Whole(a), Scalar::Whole(b)) => Some(a.cmp(b)),
        (Scalar::Whole(a), Scalar::Double(b)) => whole_to_double(a, *b),
        (Scalar::Double(a), Scalar::Whole(b)) => whole_to_double(*b, a).map(Ordering::reverse),
        (Scalar::Double(a), Scalar::Double(b)) => a.partial_cmp(b),
        _ => None,
    }
}

/// A number, also as the decimal text that carries 64-bit integers and the words that carry
/// infinities.
fn number(value: &Value) -> Option<Scalar> {
    match value {
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Some(Scalar::Whole(whole.into())),
            (None, Some(whole)) => Some(Scalar::Whole(whole.into())),
            (None, None) => number.as_f64().map(Scalar::Double),
        },
        Value::String(text) => match text.as_str() {
            "inf" => Some(Scalar::Double(f64::INFINITY)),
            "-inf" => Some(Scalar::Double(f64::NEG_INFINITY)),
            digits => decimal(digits).map(Scalar::Whole),
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Canonical decimal digits: no plus, no leading zero, no sign for zero.
fn decimal(text: &str) -> Option<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let first = digits.bytes().next()?;
    let plain = first.is_ascii_digit() && (first != b'0' || text == "0");
    text.parse().ok().filter(|_| plain)
}

/// Exact: an integer beyond 2⁵³ is not rounded to be compared.
fn whole_to_double(whole: i128, double: f64) -> Option<Ordering> {
    const BEYOND: f64 = 1e30;
    if double.is_nan() {
        return None;
    }
    if double.abs() > BEYOND {
        return Some(if double > 0.0 {
            Ordering::Less
        } else {
            Ordering::Greater
        });
    }
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the whole part of a double below 10³⁰ is an i128 exactly"
    )]
    let part = double.trunc() as i128;
    let rest = 0.0_f64.partial_cmp(&double.fract())?;
    Some(whole.cmp(&part).then(rest))
}

/// The host of a URL as a client would read it: without user, port and the dot at its end.
fn host_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    // Clients of the URL standard take `\` for `/`.
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = match host.find(']') {
        Some(bracket) => host.get(..=bracket)?,
        None => host.split(':').next()?,
    };
    Some(host.to_lowercase().trim_end_matches('.').to_owned())
}

fn host_fits(wanted: &str, host: &str) -> bool {
    match wanted.strip_prefix("*.") {
        Some(parent) => host
            .strip_suffix(parent)
            .is_some_and(|rest| rest.ends_with('.')),
        None => wanted == host,
    }
}

/// Whether `path`, with `.` and `..` resolved, is `base` or below it.
fn is_under(path: &str, base: &str) -> bool {
    // The usual path has nothing to resolve, and is compared as it is.
    let plain = path.starts_with('/') && !path.contains("//") && !path.contains("/.");
    let bare = base.trim_end_matches('/');
    if plain
        && let Some(rest) = path.strip_prefix(bare)
        && !bare.contains("//")
    {
        return rest.is_empty() || rest.starts_with('/');
    }
    let (path, base) = (resolved(path), resolved(base));
    path.len() >= base.len() && path.iter().zip(&base).all(|(a, b)| a == b)
}

fn resolved(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn holds(test: Test, value: Value) -> bool {
        let condition = Condition {
            at: "/x".parse().unwrap(),
            tests: vec![test],
        };
        condition.holds(&json!({ "x": value }))
    }

    #[test]
    fn an_absent_member_fails_every_operator_but_absent() {
        let one = || Scalar::Whole(1);
        for test in [
            Test::Eq(one()),
            Test::Ne(one()),
            Test::In(vec![one()]),
            Test::NotIn(vec![]),
            Test::Prefix(String::new()),
            Test::Host("a".into()),
            Test::PathUnder("/".into()),
            Test::Lt(one()),
            Test::Le(one()),
            Test::Gt(one()),
            Test::Ge(one()),
            Test::MaxLen(9),
            Test::Present,
        ] {
            let condition = Condition {
                at: "/x".parse().unwrap(),
                tests: vec![test],
            };
            assert!(!condition.holds(&json!({"y": 1})), "{condition:?}");
        }
        let absent = Condition {
            at: "/x".parse().unwrap(),
            tests: vec![Test::Absent],
        };
        assert!(absent.holds(&json!({"y": 1})) && !absent.holds(&json!({"x": null})));
    }

    #[test]
    fn integers_are_compared_exactly_over_the_64_bit_range() {
        let max = i128::from(u64::MAX);
        assert!(holds(Test::Lt(Scalar::Whole(max)), json!(u64::MAX - 1)));
        assert!(!holds(Test::Lt(Scalar::Whole(max)), json!(u64::MAX)));
        assert!(!holds(
            Test::Eq(Scalar::Whole(9_007_199_254_740_992)),
            json!(9_007_199_254_740_993_u64)
        ));
        assert!(
            holds(
                Test::Gt(Scalar::Whole(9_007_199_254_740_992)),
                json!("9007199254740993")
            ),
            "as text"
        );
        assert!(!holds(
            Test::Le(Scalar::Double(9_007_199_254_740_992.0)),
            json!(9_007_199_254_740_993_u64)
        ));
        assert!(holds(
            Test::Ge(Scalar::Whole(i128::from(i64::MIN))),
            json!(i64::MIN)
        ));
        assert!(
            holds(Test::Gt(Scalar::Double(-0.5)), json!(0))
                && holds(Test::Lt(Scalar::Double(0.5)), json!(0))
        );
        assert!(holds(Test::Gt(Scalar::Whole(max)), json!("inf")));
        for text in ["01", "+1", "-0", "1.0", " 1", "1e3", "nan", ""] {
            assert!(!holds(Test::Ge(Scalar::Whole(-9)), json!(text)), "{text}");
        }
    }

    #[test]
    fn a_host_is_read_as_a_client_reads_it() {
        let evil = || Test::Host("evil.test".into());
        for url in [
            "https://evil.test/",
            "HTTP://EVIL.TEST.:80/x",
            "https://good.test@evil.test/",
            "https://evil.test\\@good.test/",
            "https://evil.test?good.test",
        ] {
            assert!(holds(evil(), json!(url)), "{url}");
        }
        for url in [
            "https://good.test/evil.test",
            "ftp://evil.test/",
            "evil.test",
            "https://notevil.test/",
        ] {
            assert!(!holds(evil(), json!(url)), "{url}");
        }
        assert!(holds(
            Test::Host("*.b.test".into()),
            json!("https://a.b.test/")
        ));
        assert!(!holds(
            Test::Host("*.b.test".into()),
            json!("https://b.test/")
        ));
        assert!(!holds(
            Test::Host("*.b.test".into()),
            json!("https://ab.test/")
        ));
    }

    #[test]
    fn a_path_is_resolved_before_it_is_compared() {
        let src = || Test::PathUnder("/src/".into());
        assert!(
            holds(src(), json!("/src"))
                && holds(src(), json!("/a/../src//x"))
                && holds(src(), json!("src/x"))
        );
        assert!(!holds(src(), json!("/src/../etc/passwd")) && !holds(src(), json!("/srcs/x")));
        assert!(!holds(src(), json!("/src/../../src2")) && !holds(src(), json!(7)));
    }

    #[test]
    fn a_pointer_reaches_into_lists_and_escaped_names() {
        let condition = Condition {
            at: "/a~1b/1/c~0".parse().unwrap(),
            tests: vec![Test::Eq(Scalar::Truth(true))],
        };
        assert!(condition.holds(&json!({"a/b": [0, {"c~": true}]})));
        let leading = Condition {
            at: "/a/01".parse().unwrap(),
            tests: vec![Test::Present],
        };
        assert!(!leading.holds(&json!({"a": [1, 2]})));
        assert!("a".parse::<Pointer>().is_err() && "/~2".parse::<Pointer>().is_err());
    }
}
