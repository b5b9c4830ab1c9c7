//! Types, names and found values in the caller's words.
//!
//! Rule (cases A8, B4): no type names of the host, no indexes; everything that comes from
//! the text is cut between characters and cannot steer a terminal.

use bindery_types::{Ty, TyId, TypeTable};

/// Characters of a found value that a message shows.
const EXCERPT_MAX: usize = 40;
/// Characters of a declared name that a message shows.
const NAME_MAX: usize = 64;
/// Names that a listing shows before it counts the rest.
const LISTED_MAX: usize = 16;
/// Characters of a name that is compared for likeness; longer ones are no slips.
const LIKENESS_MAX: usize = 64;

/// The beginning of `text`, with everything that is not plain text made visible.
pub(crate) fn excerpt(text: &str) -> String {
    cut(text, EXCERPT_MAX)
}

/// A declared name, whole unless it is absurdly long.
pub(crate) fn shown(name: &str) -> String {
    cut(name, NAME_MAX)
}

fn cut(text: &str, chars_max: usize) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        match c {
            _ if count == chars_max => {
                out.push('…');
                break;
            }
            ' '..='~' => out.push(c),
            other => out.extend(other.escape_debug()),
        }
    }
    out
}

/// What a value of type `id` looks like in JSON, with the names it may have.
pub(crate) fn expectation(id: TyId, types: &TypeTable) -> String {
    match types.get(id) {
        Ty::Record(record) if record.fields.is_empty() => "an empty object".to_owned(),
        Ty::Record(record) => format!(
            "an object with the fields {}",
            listing(record.fields.iter().map(|field| quoted(&field.name)))
        ),
        Ty::Variant(variant) => format!(
            "one of the cases {}",
            listing(variant.cases.iter().map(|case| match case.ty {
                Some(payload) => {
                    format!("{} (with {})", quoted(&case.name), brief(payload, types))
                }
                None => quoted(&case.name),
            }))
        ),
        Ty::Enum(cases) => {
            format!(
                "one of {}",
                listing(cases.cases.iter().map(|case| quoted(case)))
            )
        }
        Ty::Flags(flags) => format!(
            "an array of the labels {}",
            listing(flags.labels.iter().map(|label| quoted(label)))
        ),
        _ => brief(id, types),
    }
}

/// The same in a few words, without names.
pub(crate) fn brief(id: TyId, types: &TypeTable) -> String {
    let ty = types.get(id);
    if let Some((least, greatest)) = crate::number::bounds(ty) {
        let form = match ty {
            Ty::U64 | Ty::S64 => " (a number or a decimal string)",
            _ => "",
        };
        return format!("a whole number from {least} to {greatest}{form}");
    }
    let words = match ty {
        Ty::Bool => "`true` or `false`",
        Ty::F32 => "a number within ±3.4028235e38 or \"nan\", \"inf\", \"-inf\"",
        Ty::F64 => "a number within ±1.7976931348623157e308 or \"nan\", \"inf\", \"-inf\"",
        Ty::Char => "a string of exactly one character",
        Ty::String => "a string",
        Ty::Bytes => "a base64 string",
        Ty::List(_) => "an array",
        Ty::Tuple(items) => return format!("an array of {}", counted(items.len(), "item")),
        Ty::Record(_) => "an object",
        Ty::Variant(_) => "one of its cases",
        Ty::Enum(_) => "one of its case names",
        Ty::Flags(_) => "an array of labels",
        Ty::Option(inner) => match types.get(*inner) {
            Ty::Option(_) => "`null` or {\"some\": …}",
            _ => return format!("{} or `null`", brief(*inner, types)),
        },
        Ty::Result { .. } => "{\"ok\": …} or {\"err\": …}",
        // The integers were answered above.
        _ => "nothing, since the type has no JSON form",
    };
    words.to_owned()
}

/// What a piece of JSON text is.
pub(crate) fn found(json: &str) -> String {
    match json.as_bytes().first() {
        Some(b'{') => "an object".to_owned(),
        Some(b'[') => "an array".to_owned(),
        Some(b'"') if json == "\"\"" => "an empty string".to_owned(),
        Some(b'"') => {
            let inner = json
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'));
            format!("the string `{}`", excerpt(inner.unwrap_or(json)))
        }
        Some(b'-' | b'0'..=b'9') => format!("the number {}", excerpt(json)),
        _ => format!("`{}`", excerpt(json)),
    }
}

/// `1 item`, `2 items`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", shown(name))
}

/// Names with commas, the first ones of many.
pub(crate) fn listing(names: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = names.collect();
    let more = names.len().saturating_sub(LISTED_MAX);
    if more > 0 {
        names.truncate(LISTED_MAX);
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

/// `, did you mean …` for the name most like `asked`, or nothing.
pub(crate) fn suggestion<'n>(asked: &str, names: impl Iterator<Item = &'n str>) -> String {
    nearest(asked, names).map_or_else(String::new, |name| {
        format!(", did you mean {}", quoted(name))
    })
}

/// The name that differs only in letter case or dashes, else the one at the least
/// distance, if that is small for its length.
fn nearest<'n>(asked: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let letters = |text: &str| text.replace(['-', '_', ' '], "").to_lowercase();
    if asked.chars().count() > LIKENESS_MAX {
        return None;
    }
    let wanted = letters(asked);
    let allowed = (wanted.chars().count() / 3).clamp(1, 3);
    names
        .filter(|name| name.len() <= LIKENESS_MAX)
        .map(|name| (distance(&wanted, &letters(name)), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Letters to add, drop or change to make `b` of `a`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (above, left) in a.chars().enumerate() {
        let mut corner = above;
        let mut last = above + 1;
        let mut next = vec![last];
        for (up, right) in row.iter().skip(1).zip(&b) {
            let changed = corner + usize::from(left != *right);
            last = changed.min(last + 1).min(*up + 1);
            next.push(last);
            corner = *up;
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a8_the_nearest_name_is_found_and_a_stranger_is_not() {
        let names = ["item", "qty", "read-only"];
        for (asked, wanted) in [
            ("itm", Some("item")),
            ("Item", Some("item")),
            ("readOnly", Some("read-only")),
            ("q", None),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(asked, names.iter().copied()), wanted, "{asked}");
        }
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
    }

    #[test]
    fn b4_what_is_shown_is_cut_between_characters_and_cannot_steer_a_terminal() {
        assert_eq!(excerpt(&"é".repeat(50)), format!("{}…", "é".repeat(40)));
        assert_eq!(
            excerpt("a\u{1b}[2J\u{202e}b\u{9b}"),
            "a\\u{1b}[2J\\u{202e}b\\u{9b}"
        );
    }
}
