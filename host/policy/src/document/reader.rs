//! A TOML table read key by key: every key is asked for, what was not asked for is a fault.
//!
//! Rule (X61): unknown keys, wrong types and unknown words are faults with their place and
//! with what is allowed there. What was said and what was left out are both remembered, so
//! that every effective value has an origin.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Display;
use std::str::FromStr;

use bindery_types::{Limit, LimitName};
use serde::Serialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fault::{Fault, place};

/// Keys that would give a guest environment variables: no such grant exists (C-63).
const ENVIRONMENT_KEYS: &[&str] = &[
    "env",
    "envs",
    "env_vars",
    "environment",
    "environment_variables",
    "allow_env",
    "inherit_env",
    "pass_env",
    "variables",
];
/// Keys under which people write secrets; the document names where they are (X64).
const SECRET_KEYS: &[&str] = &["value", "token", "password", "key", "api_key", "secret"];

/// One effective value and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The key with the tables around it.
    pub key: String,
    /// The value as it was written, or the default.
    pub value: String,
    /// The line that says it; none for a default.
    pub line: Option<usize>,
}

/// The text being read, and what was found.
pub(crate) struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    /// The byte after each line break.
    starts: Vec<usize>,
    faults: RefCell<Vec<Fault>>,
    settings: RefCell<Vec<Setting>>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(file: &'a str, text: &'a str) -> Self {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        Self {
            file,
            text,
            starts,
            faults: RefCell::default(),
            settings: RefCell::default(),
        }
    }

    /// What was found, in the order of the text.
    pub(crate) fn into_parts(self) -> (Vec<Fault>, Vec<Setting>) {
        let mut faults = self.faults.into_inner();
        faults.sort_by_key(|fault| (fault.line, fault.column));
        (faults, self.settings.into_inner())
    }

    pub(crate) fn fault(&self, at: usize, key: &str, message: impl Into<String>, allowed: &[&str]) {
        let (line, column) = place(self.text, at);
        self.faults.borrow_mut().push(Fault {
            file: self.file.to_owned(),
            line,
            column,
            key: key.to_owned(),
            message: message.into(),
            allowed: allowed.iter().map(|key| (*key).to_owned()).collect(),
        });
    }

    /// The line of the byte `offset`, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        1 + self.starts.partition_point(|start| *start <= offset)
    }

    fn note(&self, key: String, value: String, line: Option<usize>) {
        self.settings
            .borrow_mut()
            .push(Setting { key, value, line });
    }
}

type Member<'r> = (&'r Spanned<Cow<'r, str>>, &'r Spanned<DeValue<'r>>);

/// A value with the byte at which it stands.
pub(crate) struct Said<T> {
    pub(crate) value: T,
    pub(crate) at: usize,
}

/// One table while it is read.
pub(crate) struct Section<'r> {
    pub(crate) reader: &'r Reader<'r>,
    pub(crate) path: String,
    /// The byte at which the table begins.
    pub(crate) at: usize,
    /// None when the table was left out: then everything in it has its default.
    table: Option<&'r DeTable<'r>>,
    asked: Vec<&'static str>,
}

impl<'r> Section<'r> {
    pub(crate) fn new(
        reader: &'r Reader<'r>,
        path: String,
        at: usize,
        table: Option<&'r DeTable<'r>>,
    ) -> Self {
        Self {
            reader,
            path,
            at,
            table,
            asked: Vec::new(),
        }
    }

    pub(crate) fn key(&self, key: &str) -> String {
        match (self.path.as_str(), key) {
            ("", key) => key.to_owned(),
            (path, "") => path.to_owned(),
            (path, key) => format!("{path}.{key}"),
        }
    }

    /// Reports a fault of `key`, at its value or at the table when it is missing.
    pub(crate) fn wrong(&self, key: &str, message: impl Into<String>) {
        let at = self.member(key).map_or(self.at, |value| value.span().start);
        self.reader.fault(at, &self.key(key), message, &[]);
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.member(key).is_some()
    }

    fn member(&self, key: &str) -> Option<&'r Spanned<DeValue<'r>>> {
        self.table?.get(key)
    }

    fn members(&self) -> impl Iterator<Item = Member<'r>> + use<'r> {
        self.table.into_iter().flat_map(|table| table.iter())
    }

    fn get(&mut self, key: &'static str) -> Option<&'r Spanned<DeValue<'r>>> {
        self.asked.push(key);
        let value = self.member(key)?;
        if !matches!(value.get_ref(), DeValue::Table(_)) {
            let said = self.reader.text.get(value.span()).unwrap_or_default();
            let said: Vec<&str> = said.split_whitespace().collect();
            let line = Some(self.reader.line(value.span().start));
            self.reader.note(self.key(key), said.join(" "), line);
        }
        Some(value)
    }

    fn mistyped<T>(&self, key: &str, at: usize, wanted: &str, got: &DeValue<'_>) -> Option<T> {
        let message = format!("expected {wanted}, got {}", kind(got));
        self.reader.fault(at, &self.key(key), message, &[]);
        None
    }

    /// A text, or a number by its text.
    pub(crate) fn text(&mut self, key: &'static str) -> Option<Said<String>> {
        let value = self.get(key)?;
        let at = value.span().start;
        match value.get_ref() {
            DeValue::String(text) => Some(Said {
                value: text.to_string(),
                at,
            }),
            DeValue::Integer(number) if number.radix() == 10 => Some(Said {
                value: number.as_str().to_owned(),
                at,
            }),
            other => self.mistyped(key, at, "a text", other),
        }
    }

    /// A text that is one of the values of `T`.
    pub(crate) fn word<T: FromStr<Err: Display>>(&mut self, key: &'static str) -> Option<T> {
        let said = self.text(key)?;
        self.parse(key, &said.value, said.at)
    }

    fn parse<T: FromStr<Err: Display>>(&self, key: &str, text: &str, at: usize) -> Option<T> {
        text.parse()
            .map_err(|error: T::Err| {
                let shown = without_userinfo(text);
                let error = error.to_string().replace(text, &shown);
                let message = match error.contains(&shown) {
                    true => error,
                    false => format!("{error}; got `{shown}`"),
                };
                self.reader.fault(at, &self.key(key), message, &[]);
            })
            .ok()
    }

    /// The same with a default, which is remembered as one.
    pub(crate) fn word_or<T: FromStr<Err: Display> + Display>(
        &mut self,
        key: &'static str,
        default: T,
    ) -> T {
        if !self.has(key) {
            self.left_out(key, &default.to_string());
        }
        self.word(key).unwrap_or(default)
    }

    /// Remembers that `key` has its default.
    pub(crate) fn left_out(&self, key: &str, default: &str) {
        self.reader.note(self.key(key), default.to_owned(), None);
    }

    /// A list of texts, each a `T`; a list left out is none, an empty one is empty (C-65).
    pub(crate) fn words<T: FromStr<Err: Display>>(&mut self, key: &'static str) -> Option<Vec<T>> {
        let value = self.get(key)?;
        let at = value.span().start;
        let DeValue::Array(items) = value.get_ref() else {
            return self.mistyped(key, at, "a list of texts", value.get_ref());
        };
        let mut words = Vec::new();
        for item in items.iter() {
            let at = item.span().start;
            match item.get_ref() {
                DeValue::String(text) => words.extend(self.parse::<T>(key, text, at)),
                other => {
                    self.mistyped::<()>(key, at, "a text", other);
                }
            }
        }
        Some(words)
    }

    pub(crate) fn truth(&mut self, key: &'static str) -> Option<bool> {
        let value = self.get(key)?;
        match value.get_ref() {
            DeValue::Boolean(truth) => Some(*truth),
            other => self.mistyped(key, value.span().start, "true or false", other),
        }
    }

    /// A whole number from 0.
    pub(crate) fn whole(&mut self, key: &'static str) -> Option<u64> {
        let said = self.text(key)?;
        self.parse(key, &said.value, said.at)
    }

    /// A value of the limit `of`: `"2s"`, `"64MiB"`, `5000`, `"unlimited"`.
    pub(crate) fn limit(&mut self, key: &'static str, of: LimitName) -> Option<Limit> {
        let said = self.text(key)?;
        let read = of.parse_value(&said.value);
        read.map_err(|error| {
            self.reader
                .fault(said.at, &self.key(key), error.to_string(), &[])
        })
        .ok()
    }

    /// A time such as `"10m"`, in milliseconds; it has an end.
    pub(crate) fn time_ms(&mut self, key: &'static str) -> Option<u64> {
        match self.limit(key, LimitName::Deadline)? {
            Limit::Finite(ms) => Some(ms),
            Limit::Unlimited => {
                self.wrong(key, "this time has to have an end");
                None
            }
        }
    }

    /// A time with a default.
    pub(crate) fn time_ms_or(&mut self, key: &'static str, default_ms: u64) -> u64 {
        if !self.has(key) {
            self.left_out(key, &format!("{default_ms}ms"));
        }
        self.time_ms(key).unwrap_or(default_ms)
    }

    /// The raw value, for what has a shape of its own.
    pub(crate) fn raw(&mut self, key: &'static str) -> Option<&'r Spanned<DeValue<'r>>> {
        self.get(key)
    }

    /// A table; a missing one is read as empty, so that its defaults are remembered.
    pub(crate) fn section(&mut self, key: &'static str) -> Section<'r> {
        let path = self.key(key);
        let Some(value) = self.get(key) else {
            return Section::new(self.reader, path, self.at, None);
        };
        let at = value.span().start;
        match value.get_ref() {
            DeValue::Table(table) => Section::new(self.reader, path, at, Some(table)),
            other => {
                self.mistyped::<()>(key, at, "a table", other);
                Section::new(self.reader, path, at, None)
            }
        }
    }

    /// The tables below `key`, each with its name read as a `T`.
    pub(crate) fn named<T: FromStr<Err: Display>>(
        &mut self,
        key: &'static str,
    ) -> Vec<(T, Section<'r>)> {
        let outer = self.section(key);
        outer.children()
    }

    /// Every member as a table of its own.
    pub(crate) fn children<T: FromStr<Err: Display>>(&self) -> Vec<(T, Section<'r>)> {
        let mut children = Vec::new();
        for (name, value) in self.members() {
            let (at, key) = (name.span().start, name.get_ref());
            let Some(parsed) = self.parse::<T>(key, key, at) else {
                continue;
            };
            match value.get_ref() {
                DeValue::Table(table) => {
                    children.push((
                        parsed,
                        Section::new(self.reader, self.key(key), at, Some(table)),
                    ));
                }
                other => {
                    self.mistyped::<()>(key, value.span().start, "a table", other);
                }
            }
        }
        children
    }

    /// Every member as a name with a text.
    pub(crate) fn pairs(&self) -> Vec<(&'r str, String, usize)> {
        let mut pairs = Vec::new();
        for (name, value) in self.members() {
            let (key, at) = (name.get_ref().as_ref(), value.span().start);
            match value.get_ref() {
                DeValue::String(text) => pairs.push((key, text.to_string(), at)),
                DeValue::Integer(number) if number.radix() == 10 => {
                    pairs.push((key, number.as_str().to_owned(), at));
                }
                other => {
                    self.mistyped::<()>(key, at, "a text", other);
                    continue;
                }
            }
            let said = self
                .reader
                .text
                .get(value.span())
                .unwrap_or_default()
                .to_owned();
            self.reader
                .note(self.key(key), said, Some(self.reader.line(at)));
        }
        pairs
    }

    /// The tables of the list `key` (`[[key]]`).
    pub(crate) fn list(&mut self, key: &'static str) -> Vec<Section<'r>> {
        let Some(value) = self.get(key) else {
            return Vec::new();
        };
        let DeValue::Array(items) = value.get_ref() else {
            self.mistyped::<()>(key, value.span().start, "a list of tables", value.get_ref());
            return Vec::new();
        };
        let mut tables = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let at = item.span().start;
            match item.get_ref() {
                DeValue::Table(table) => {
                    let path = format!("{}[{index}]", self.key(key));
                    tables.push(Section::new(self.reader, path, at, Some(table)));
                }
                other => {
                    self.mistyped::<()>(key, at, "a table", other);
                }
            }
        }
        tables
    }

    /// Ends the reading: every key that was not asked for is a fault.
    pub(crate) fn finish(self) {
        for (name, _) in self.members() {
            let key: &str = name.get_ref();
            if self.asked.contains(&key) {
                continue;
            }
            let message = if ENVIRONMENT_KEYS.contains(&key) && !self.path.is_empty() {
                "no environment variable ever reaches a guest; give it a `config` grant (C-63)"
            } else if SECRET_KEYS.contains(&key) && self.path.starts_with("credentials.") {
                "a credential is named here, never written; say where it is with `env`, `file` or `exec`"
            } else {
                "unknown key"
            };
            self.reader
                .fault(name.span().start, &self.key(key), message, &self.asked);
        }
    }
}

/// What a TOML value is, in words.
pub(crate) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// A text as it may be shown: who and with which password stands before the host of a URL
/// is no matter of an error.
fn without_userinfo(text: &str) -> String {
    let authority = text.find("://").map(|at| at + 3);
    let at = authority.and_then(|from| {
        let rest = text.get(from..)?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        Some((from, from + rest.get(..end)?.rfind('@')?))
    });
    match at.and_then(|(from, at)| Some((text.get(..from)?, text.get(at..)?))) {
        Some((before, after)) => format!("{before}…{after}"),
        None => text.to_owned(),
    }
}
