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
            "C-" => write!(f, "C-{:02}", self.number),
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

/// The ids in front of a test's name and at its end: `d4_twenty_processes_…`,
/// `x6_x21_…`, `r_310_a_deny_…`, `…_r319_to_r339_i9`.
pub(crate) fn ids_of_name(name: &str) -> Vec<Id> {
    let words: Vec<&str> = name.split('_').collect();
    let from = |at: usize| run(words.get(at..).unwrap_or_default());
    let (mut found, _) = from(0);
    let ends = |at: &usize| {
        let (_, used) = from(*at);
        used > 0 && at + used == words.len()
    };
    let back = (0..words.len()).find(ends).map(from);
    found.extend(back.into_iter().flat_map(|(back, _)| back));
    found
}

/// The ids that `words` begin with, and how many words they are.
fn run(words: &[&str]) -> (Vec<Id>, usize) {
    let (mut found, mut used): (Vec<Id>, usize) = (Vec::new(), 0);
    loop {
        let rest = words.get(used..).unwrap_or_default();
        let range = !found.is_empty() && rest.first() == Some(&"to");
        let skipped = usize::from(range);
        let Some((id, taken)) = spelled(rest.get(skipped..).unwrap_or_default()) else {
            return (found, used);
        };
        let first = found.last().copied().filter(|_| range);
        found.extend(between(first, id));
        found.push(id);
        used += skipped + taken;
    }
}

/// The id that `words` begin with as names spell them, `b1`, `r310`, `r_310`, `c54` or
/// `c_54`, and how many words it is. Two digits tell a `C-54` from a `C5`.
fn spelled(words: &[&str]) -> Option<(Id, usize)> {
    let word = words.first()?;
    let (letter, number, taken) = match *word {
        "r" | "c" => (*word, *words.get(1)?, 2),
        _ => word.split_at_checked(1).map(|(l, n)| (l, n, 1))?,
    };
    let hyphen = match (letter, number.len()) {
        ("r", 3..) | ("c", 2) => "-",
        _ if taken == 1 => "",
        _ => return None,
    };
    let text = format!("{}{hyphen}{number}", letter.to_uppercase());
    match ids(&text)[..] {
        [id] => Some((id, taken)),
        _ => None,
    }
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
        assert_eq!(found("d4_x6_twenty_of_them"), ["D4", "X6"]);
        assert_eq!(found("r_310_c_54_a_deny_wins"), ["R-310", "C-54"]);
        assert!(found("u64_is_exact").is_empty() && found("a_value").is_empty());
    }

    #[test]
    fn a_name_may_end_with_ids_and_with_a_range_of_them() {
        let found = |name| {
            let found: Vec<String> = ids_of_name(name).iter().map(Id::to_string).collect();
            found.join(" ")
        };
        assert_eq!(
            found("a_record_is_filled_r319_to_r321_c54_i9"),
            "R-319 R-320 R-321 C-54 I9"
        );
        assert_eq!(found("it_is_so_r_054_to_r_056_c9"), "R-054 R-055 R-056 C9");
        assert_eq!(found("of_a1_nothing_is_said"), "");
        assert_eq!(found("from_a_to_b_or_r_or_c_7"), "");
    }

    #[test]
    fn a_range_names_what_is_between_and_a_list_does_not() {
        assert_eq!(found("X7–X9, X19"), "X7 X8 X9 X19");
        assert_eq!(found("H2 … H5"), "H2 H3 H4 H5");
        assert_eq!(found("A1 and A3; A5–B7"), "A1 A3 A5 B7");
    }
}
