//! The scanner: JSON tokens out of a text, strictly RFC 8259, never deeper than the limit.
//!
//! Rule (cases B7, X45): nothing here recurses over the text, every open bracket and every
//! value is counted before it is entered, and what is skipped is still checked to be JSON.

use bindery_types::{Budget, Limit, LimitHit, LimitName};

use crate::string::{Raw, escape_at, expected_escape};
use crate::text::plain_run;

/// Nesting that one word of bits can remember; the limit `json_depth` has it as ceiling.
const DEPTH_MAX: u64 = 64;

/// Reading ended early; [`Scanner::why`] says why. Empty, so that results stay small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop;

/// Why reading ended early.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Why {
    /// The text is not JSON.
    Syntax {
        /// byte offset of what does not fit
        at: usize,
        /// what JSON wants there
        expected: &'static str,
    },
    /// One bracket too many is open.
    Depth {
        /// byte offset of that bracket
        at: usize,
        /// brackets that may be open
        limit: u64,
    },
    /// A limit of the budget was reached.
    Limit(LimitHit),
}

/// What the next value is, judged by its first character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    Object,
    Array,
    String,
    Number,
    True,
    False,
    Null,
}

/// Walks a text; every step takes exactly one token.
pub(crate) struct Scanner<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    /// Open brackets.
    depth: u64,
    depth_max: u64,
    /// Values counted so far.
    nodes: u64,
    nodes_limit: Limit,
    why: Option<Why>,
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t str, budget: &Budget) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            depth: 0,
            depth_max: budget.get(LimitName::JsonDepth).or_max().min(DEPTH_MAX),
            nodes: 0,
            nodes_limit: budget.get(LimitName::JsonNodes),
            why: None,
        }
    }

    /// Why [`Stop`] was returned.
    pub(crate) fn why(&self) -> Option<Why> {
        self.why
    }

    /// Where the scanner stands, in bytes.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The text from `start` to where the scanner stands.
    pub(crate) fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Counts `values` more values against `json_nodes`.
    pub(crate) fn charge(&mut self, values: usize) -> Result<(), Stop> {
        let used = self
            .nodes
            .saturating_add(u64::try_from(values).unwrap_or(u64::MAX));
        self.nodes = used;
        if self.nodes_limit.allows(used) {
            return Ok(());
        }
        self.why = Some(Why::Limit(LimitHit {
            name: LimitName::JsonNodes,
            limit: self.nodes_limit,
            used,
        }));
        Err(Stop)
    }

    #[cold]
    fn fail<T>(&mut self, at: usize, expected: &'static str) -> Result<T, Stop> {
        self.why = Some(Why::Syntax { at, expected });
        Err(Stop)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn blank(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// What the next value is; nothing but blanks is taken.
    pub(crate) fn head(&mut self) -> Result<Head, Stop> {
        self.blank();
        match self.peek() {
            Some(b'"') => Ok(Head::String),
            Some(b'-' | b'0'..=b'9') => Ok(Head::Number),
            Some(b'{') => Ok(Head::Object),
            Some(b'[') => Ok(Head::Array),
            Some(b't') => Ok(Head::True),
            Some(b'f') => Ok(Head::False),
            Some(b'n') => Ok(Head::Null),
            _ => self.fail(self.at, "a value"),
        }
    }

    /// Takes the literal that [`Scanner::head`] announced.
    pub(crate) fn literal(&mut self, head: Head) -> Result<(), Stop> {
        let (word, expected) = match head {
            Head::True => ("true", "`true`"),
            Head::False => ("false", "`false`"),
            _ => ("null", "`null`"),
        };
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return self.fail(self.at, expected);
        }
        self.at += word.len();
        Ok(())
    }

    /// Takes a number and gives its text.
    pub(crate) fn number(&mut self) -> Result<&'t str, Stop> {
        let start = self.at;
        self.eat(b'-');
        if self.eat(b'0') {
            if let Some(b'0'..=b'9') = self.peek() {
                return self.fail(self.at, "no digit after a leading zero");
            }
        } else {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(self.since(start))
    }

    fn digits(&mut self) -> Result<(), Stop> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        match self.at == start {
            true => self.fail(self.at, "a digit"),
            false => Ok(()),
        }
    }

    /// Takes a string, all escapes checked.
    pub(crate) fn string(&mut self) -> Result<Raw<'t>, Stop> {
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.at += plain_run(self.bytes.get(self.at..).unwrap_or_default());
            match self.peek() {
                Some(b'"') => {
                    let inner = self.since(start);
                    self.at += 1;
                    return Ok(Raw { inner, escaped });
                }
                Some(b'\\') => {
                    escaped = true;
                    match escape_at(self.bytes.get(self.at..).unwrap_or_default()) {
                        Some((_, len)) => self.at += len,
                        None => return self.bad_escape(),
                    }
                }
                Some(_) => {
                    return self.fail(self.at, "an escape instead of a raw control character");
                }
                None => return self.fail(self.at, "`\"` at the end of the string"),
            }
        }
    }

    #[cold]
    fn bad_escape<T>(&mut self) -> Result<T, Stop> {
        let escape = self.bytes.get(self.at..).unwrap_or_default();
        self.fail(self.at, expected_escape(escape))
    }

    /// Takes `{` or `[`.
    pub(crate) fn open(&mut self) -> Result<(), Stop> {
        if self.depth >= self.depth_max {
            self.why = Some(Why::Depth {
                at: self.at,
                limit: self.depth_max,
            });
            return Err(Stop);
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Whether another item of the open array follows; takes the comma or the bracket.
    pub(crate) fn item(&mut self, first: bool) -> Result<bool, Stop> {
        self.next(first, b']', "`,` or `]`")
    }

    /// The key of the next member of the open object, `None` at its end; takes the comma,
    /// key and colon, or the brace.
    pub(crate) fn member(&mut self, first: bool) -> Result<Option<Raw<'t>>, Stop> {
        if !self.next(first, b'}', "`,` or `}`")? {
            return Ok(None);
        }
        self.blank();
        if self.peek() != Some(b'"') {
            return self.fail(self.at, "a name in double quotes");
        }
        let key = self.string()?;
        self.blank();
        match self.eat(b':') {
            true => Ok(Some(key)),
            false => self.fail(self.at, "`:`"),
        }
    }

    fn next(&mut self, first: bool, close: u8, expected: &'static str) -> Result<bool, Stop> {
        self.blank();
        if self.eat(close) {
            self.depth = self.depth.saturating_sub(1);
            return Ok(false);
        }
        match first || self.eat(b',') {
            true => Ok(true),
            false => self.fail(self.at, expected),
        }
    }

    /// Takes one value of any shape, checked to be JSON and counted, without recursion:
    /// one bit per open bracket says whether it is an object's.
    pub(crate) fn skip(&mut self) -> Result<(), Stop> {
        let outside = self.depth;
        let mut objects: u64 = 0;
        let mut first = false;
        loop {
            match self.head()? {
                head @ (Head::Object | Head::Array) => {
                    self.open()?;
                    objects = objects << 1 | u64::from(head == Head::Object);
                    first = true;
                }
                Head::String => drop(self.string()?),
                Head::Number => drop(self.number()?),
                literal => self.literal(literal)?,
            }
            loop {
                if self.depth == outside {
                    return Ok(());
                }
                let more = match objects & 1 {
                    1 => self.member(first)?.is_some(),
                    _ => self.item(first)?,
                };
                first = false;
                if more {
                    self.charge(1)?;
                    break;
                }
                objects >>= 1;
            }
        }
    }

    /// Takes the end of the text.
    pub(crate) fn end(&mut self) -> Result<(), Stop> {
        self.blank();
        match self.at == self.bytes.len() {
            true => Ok(()),
            false => self.fail(self.at, "the end of the text"),
        }
    }
}

/// Line and column, both from 1 and in characters, of a byte offset.
pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or(before);
    (
        before.matches('\n').count() + 1,
        line.chars().count().saturating_add(1),
    )
}
