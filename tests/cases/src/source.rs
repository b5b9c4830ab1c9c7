//! One source file: which test says which ids.
//!
//! Rule: only words count, in comments and in texts; a name in code that looks like an id
//! is none. In a file that holds product code, only what stands below its `cfg(test)`.

use std::ops::Range;

use crate::id::{Id, ids, ids_of_name};

/// Where an id is cited.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, from the root of the repository.
    pub file: String,
    /// The test; none when the whole file or what its tests share cites it.
    pub test: Option<String>,
}

/// One line, taken apart.
#[derive(Default)]
struct Line {
    /// What stands in comments and texts.
    words: String,
    /// The rest.
    code: String,
}

/// Every id that tests in this file cite.
pub fn citations(file: &str, text: &str) -> Vec<(Id, Place)> {
    let lines = taken_apart(text);
    let tests = tests(&lines);
    if tests.is_empty() {
        return Vec::new();
    }
    let first = begin(file, &lines);
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate().skip(first) {
        let inside = tests.iter().find(|(_, range)| range.contains(&number));
        let place = Place {
            file: file.to_owned(),
            test: inside.map(|(name, _)| name.clone()),
        };
        found.extend(ids(&line.words).into_iter().map(|id| (id, place.clone())));
    }
    for (name, _) in tests {
        let named = ids_of_name(&name).into_iter();
        let place = Place {
            file: file.to_owned(),
            test: Some(name),
        };
        found.extend(named.map(|id| (id, place.clone())));
    }
    found
}

/// The first line that belongs to tests.
fn begin(file: &str, lines: &[Line]) -> usize {
    let of_tests = file
        .split('/')
        .any(|part| part == "tests" || part == "tests.rs");
    let switch = lines
        .iter()
        .position(|line| line.code.trim() == "#[cfg(test)]");
    match switch {
        Some(line) if !of_tests => line,
        _ => 0,
    }
}

/// The tests with the lines they take, documentation and attributes included.
fn tests(lines: &[Line]) -> Vec<(String, Range<usize>)> {
    let marked = |line: &Line| {
        let code = line.code.trim();
        code == "#[test]" || code.starts_with("#[tokio::test")
    };
    let starts = lines.iter().enumerate().filter(|(_, line)| marked(line));
    starts
        .filter_map(|(mark, _)| {
            let after = lines.iter().enumerate().skip(mark);
            let (head, name) = after
                .take(20)
                .find_map(|(number, line)| Some((number, name(&line.code)?)))?;
            let above = lines.get(..mark)?.iter().rev();
            let documented = above.take_while(|line| belongs(line)).count();
            Some((name, mark - documented..end(lines, head)))
        })
        .collect()
}

fn name(code: &str) -> Option<String> {
    let (before, after) = code.split_once("fn ")?;
    let starts = before.is_empty() || before.ends_with(char::is_whitespace);
    let name = after.split(['(', '<']).next()?;
    starts.then(|| name.to_owned())
}

/// A comment or an attribute above a test is part of it.
fn belongs(line: &Line) -> bool {
    let code = line.code.trim();
    (code.is_empty() && !line.words.is_empty()) || code.starts_with("#[")
}

/// The line after the body that starts at `head`.
fn end(lines: &[Line], head: usize) -> usize {
    let mut depth = 0_usize;
    let mut opened = false;
    for (number, line) in lines.iter().enumerate().skip(head) {
        for letter in line.code.chars() {
            match letter {
                '{' => (depth, opened) = (depth + 1, true),
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if opened && depth == 0 {
            return number + 1;
        }
    }
    lines.len()
}

/// What the reader is in the middle of.
#[derive(Clone, Copy)]
enum Inside {
    Code,
    LineComment,
    BlockComment,
    Text,
    /// A raw text that ends with a quote and so many `#`.
    Raw(usize),
}

/// Words and code of every line.
fn taken_apart(text: &str) -> Vec<Line> {
    let letters: Vec<char> = text.chars().collect();
    let mut lines = vec![Line::default()];
    let (mut inside, mut at) = (Inside::Code, 0);
    while let Some(letter) = letters.get(at).copied() {
        let rest = letters.get(at..).unwrap_or_default();
        if letter == '\n' {
            if matches!(inside, Inside::LineComment) {
                inside = Inside::Code;
            }
            lines.push(Line::default());
            at += 1;
            continue;
        }
        let (next, length) = step(inside, rest);
        if let Some(line) = lines.last_mut() {
            let taken = rest.iter().take(length).filter(|letter| **letter != '\n');
            match (inside, next) {
                // A letter in quotes is neither: it may be a brace.
                (Inside::Code, Inside::Code) if length > 2 => line.code.push('\''),
                (Inside::Code, Inside::Code) => line.code.extend(taken),
                _ => line.words.extend(taken),
            }
        }
        (inside, at) = (next, at + length);
    }
    lines
}

/// What comes after the letters at the front of `rest`, and how many those are.
fn step(inside: Inside, rest: &[char]) -> (Inside, usize) {
    match (inside, rest) {
        (Inside::Code, ['/', '/', ..]) => (Inside::LineComment, 2),
        (Inside::Code, ['/', '*', ..]) => (Inside::BlockComment, 2),
        (Inside::Code, ['r', '"' | '#', ..]) => match raw(rest) {
            Some(marks) => (Inside::Raw(marks), marks + 2),
            None => (Inside::Code, 1),
        },
        (Inside::Code, ['"', ..]) => (Inside::Text, 1),
        // A letter in quotes may be a quote itself; a lifetime has no second quote.
        (Inside::Code, ['\'', '\\', _, '\'', ..]) => (Inside::Code, 4),
        (Inside::Code, ['\'', _, '\'', ..]) => (Inside::Code, 3),
        (Inside::BlockComment, ['*', '/', ..]) => (Inside::Code, 2),
        (Inside::Text, ['\\', _, ..]) if !rest.starts_with(&['\\', '\n']) => (Inside::Text, 2),
        (Inside::Text, ['"', ..]) => (Inside::Code, 1),
        (Inside::Raw(marks), ['"', after @ ..])
            if after.iter().take_while(|letter| **letter == '#').count() >= marks =>
        {
            (Inside::Code, marks + 1)
        }
        (inside, _) => (inside, 1),
    }
}

/// How many `#` open the raw text at the front of `rest`, if one is there.
fn raw(rest: &[char]) -> Option<usize> {
    let after = rest.get(1..)?;
    let marks = after.iter().take_while(|letter| **letter == '#').count();
    (after.get(marks) == Some(&'"')).then_some(marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r##"//! Guards U5.

fn shared() { assert!(true, "H1"); }

/// X1: why.
#[test]
fn one() {
    let brace = '{'; // A1
    let text = r#"{ H2 " "#;
    assert_eq!(Core::I32, "B1\
        , B2");
}

#[tokio::test(flavor = "x")]
async fn two() {
    let C4 = "D1 }";
}
"##;

    fn shown(file: &str, text: &str) -> Vec<String> {
        citations(file, text)
            .into_iter()
            .map(|(id, place)| format!("{id} {}", place.test.as_deref().unwrap_or("-")))
            .collect()
    }

    #[test]
    fn words_of_a_test_are_its_citations_and_names_in_code_are_none() {
        let expected = [
            "U5 -", "H1 -", "X1 one", "A1 one", "H2 one", "B1 one", "B2 one", "D1 two",
        ];
        assert_eq!(shown("tests/all/x.rs", FILE), expected);
    }

    #[test]
    fn product_code_above_the_tests_of_a_file_proves_nothing() {
        let text = "// I1: a guard\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn it() {\n        // I2\n    }\n}\n";
        assert_eq!(shown("host/x/src/y.rs", text), ["I2 it"]);
        assert!(shown("host/x/src/y.rs", "// I1\nfn x() {}\n").is_empty());
    }
}
