//! Ids as the sources spell them: `A1`, `X33`, `H7`, `I37`, `R-019`, `C-64`, ranges too.

use std::fmt;

/// The families there are: the letters in front, whether a hyphen follows, the highest
/// number. What lies beyond is some other word.
const FAMILIES: [(&str, u32); 13] = [
    ("A", 9),
    ("B", 9),
    ("C", 9),
    ("D", 7),
    ("E", 7),
    ("F", 4),
    ("G", 6),
    ("U", 5),
    ("X", 74),
    ("H", 56),
    ("I", 42),
    ("R-", 1_100),
    ("C-", 99),
];

/// One id. Ordered by family, then by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id {
    family: usize,
    number: u32,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (prefix, _) = FAMILIES.get(self.family).copied().unwrap_or(("?", 0));
        match prefix {
            "R-" => write!(f, "R-{:03}", self.number),
            _ => write!(f, "{prefix}{}", self.number),
        }
    }
}

/// Every id in `text`; `X7–X9` and `R-757 … R-761` name those between, too.
///
/// ```
/// let found = bindery_cases::ids("cases B1, X7–X9 and R-019, but neither Core::B1x nor A77");
/// let found: Vec<String> = found.iter().map(ToString::to_string).collect();
/// assert_eq!(found, ["B1", "X7", "X8", "X9", "R-019"]);
/// ```
pub fn ids(text: &str) -> Vec<Id> {
    let mut found: Vec<Id> = Vec::new();
    let mut rest = text;
    let mut before = ' ';
    // The first end of a range, when what follows it so far is only the range's sign.
    let mut open: Option<Id> = None;
    while let Some(next) = rest.chars().next() {
        let starts = !before.is_alphanumeric() && before != '_' && before != '-';
        match starts.then(|| id_at(rest)).flatten() {
            Some((id, after)) => {
                found.extend(between(open.take(), id));
                found.push(id);
                open = is_range(after).then_some(id);
                (rest, before) = (after, '0');
            }
            None => {
                if next.is_alphanumeric() {
                    open = None;
                }
                (rest, before) = (rest.get(next.len_utf8()..).unwrap_or(""), next);
            }
        }
    }
    found
}

/// The ids in front of a test's name: `d4_twenty_processes_…`, `x6_x21_…`.
pub(crate) fn ids_of_name(name: &str) -> Vec<Id> {
    let words = name.split('_').map(|word| ids(&word.to_uppercase()));
    words
        .take_while(|found| found.len() == 1)
        .flatten()
        .collect()
}

fn is_range(after: &str) -> bool {
    let after = after.trim_start();
    after.starts_with('–') || after.starts_with('…')
}

fn between(first: Option<Id>, last: Id) -> Vec<Id> {
    match first {
        Some(first) if first.family == last.family => (first.number + 1..last.number)
            .map(|number| Id { number, ..last })
            .collect(),
        _ => Vec::new(),
    }
}

/// The id at the very start of `text`, with what follows it.
fn id_at(text: &str) -> Option<(Id, &str)> {
    FAMILIES
        .iter()
        .enumerate()
        .find_map(|(family, (prefix, highest))| {
            let digits = text.strip_prefix(prefix)?;
            let length = digits.bytes().take_while(u8::is_ascii_digit).count();
            let (number, after) = digits.split_at_checked(length)?;
            let ends = !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            let number: u32 = number.parse().ok().filter(|_| ends)?;
            (1..=*highest)
                .contains(&number)
                .then_some((Id { family, number }, after))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> String {
        let found: Vec<String> = ids(text).iter().map(Id::to_string).collect();
        found.join(" ")
    }

    #[test]
    fn ids_stand_alone_and_words_that_only_look_alike_are_none() {
        assert_eq!(
            found("case A1: x; (H31) C-64 C4,R-005"),
            "A1 H31 C-64 C4 R-005"
        );
        assert_eq!(found("PA1 A1b A10 X0 U+2028 utf-8 B7_x a1 H-3 X99"), "");
    }

    #[test]
    fn a_name_may_begin_with_ids() {
        let found = |name| {
            ids_of_name(name)
                .iter()
                .map(Id::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(found("d4_x6_twenty_of_b1"), ["D4", "X6"]);
        assert!(found("u64_is_exact").is_empty() && found("a_value").is_empty());
    }

    #[test]
    fn a_range_names_what_is_between_and_a_list_does_not() {
        assert_eq!(found("X7–X9, X19"), "X7 X8 X9 X19");
        assert_eq!(found("H2 … H5"), "H2 H3 H4 H5");
        assert_eq!(found("A1 and A3; A5–B7"), "A1 A3 A5 B7");
    }
}
