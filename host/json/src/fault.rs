//! Faults of arguments: collected, counted, and made into one refusal.
//!
//! Rule (case A8): all faults of a call are reported together, at most ten, each with its
//! place, what was expected and what came; words of the caller, no types of the host.

use bindery_types::{ErrorType, Function, Refusal};
use serde_json::{Value, json};

use crate::place::Place;
use crate::scan::{Why, line_and_column};
use crate::words::excerpt;

/// Faults that are spelled out; the rest is counted.
const SHOWN_MAX: usize = 10;

/// One thing that is wrong.
#[derive(Debug)]
pub(crate) struct Fault {
    /// What was expected there.
    pub(crate) expected: String,
    /// What came.
    pub(crate) got: String,
    /// Both in one sentence, without the place.
    pub(crate) sentence: String,
}

impl Fault {
    /// The common form: this was expected, that came.
    pub(crate) fn new(expected: impl Into<String>, got: impl Into<String>) -> Self {
        let (expected, got) = (expected.into(), got.into());
        let sentence = format!("expected {expected}, got {got}");
        Self {
            expected,
            got,
            sentence,
        }
    }

    /// The same with a sentence that says it better.
    #[must_use]
    pub(crate) fn saying(mut self, sentence: impl Into<String>) -> Self {
        self.sentence = sentence.into();
        self
    }
}

/// The faults of one call.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    shown: Vec<(String, Fault)>,
    more: u64,
}

impl Faults {
    /// Notes a fault; its text is only made while there is room for it.
    #[cold]
    pub(crate) fn add(&mut self, at: &Place<'_>, fault: impl FnOnce() -> Fault) {
        match self.shown.len() < SHOWN_MAX {
            true => self.shown.push((at.pointer(), fault())),
            false => self.more = self.more.saturating_add(1),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// The refusal of arguments that are JSON but do not fit.
    pub(crate) fn refusal(self, function: &Function) -> Refusal {
        let sentences: Vec<String> = self
            .shown
            .iter()
            .map(|(pointer, fault)| match pointer.as_str() {
                "" => fault.sentence.clone(),
                pointer => format!("`{pointer}`: {}", fault.sentence),
            })
            .collect();
        let more = match self.more {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let message = format!(
            "the arguments do not fit `{}`: {}{more}",
            function.name.function(),
            sentences.join("; ")
        );
        let faults: Vec<Value> = self
            .shown
            .into_iter()
            .map(|(pointer, fault)| {
                json!({ "pointer": pointer, "expected": fault.expected, "got": fault.got })
            })
            .collect();
        Refusal::new(ErrorType::ArgumentsInvalid, message)
            .with("faults", faults)
            .with("more", self.more)
    }
}

/// The refusal of a text that ended the reading: other faults of it would be guesses.
pub(crate) fn stopped(why: Option<Why>, text: &str) -> Refusal {
    match why {
        Some(Why::Limit(hit)) => hit.into(),
        Some(Why::Depth { at, limit }) => at_position(
            text,
            at,
            &format!("brackets nested at most {limit} deep"),
            "one more",
            |line, column| {
                format!(
                    "the arguments are nested deeper than {limit} (limit `json_depth`): \
                     line {line}, column {column}"
                )
            },
        ),
        Some(Why::Syntax { at, expected }) => {
            let got = found(text, at);
            at_position(text, at, expected, &got, |line, column| {
                format!(
                    "the arguments are not JSON: line {line}, column {column}: \
                     expected {expected}, found {got}"
                )
            })
        }
        None => Refusal::new(
            ErrorType::Internal,
            "reading the arguments stopped without a cause",
        ),
    }
}

fn at_position(
    text: &str,
    at: usize,
    expected: &str,
    got: &str,
    message: impl FnOnce(usize, usize) -> String,
) -> Refusal {
    let (line, column) = line_and_column(text, at);
    let fault = json!({
        "pointer": "", "expected": expected, "got": got, "line": line, "column": column,
    });
    Refusal::new(ErrorType::ArgumentsInvalid, message(line, column))
        .with("faults", vec![fault])
        .with("more", 0)
}

/// What stands at a byte offset, for the reader of the message.
fn found(text: &str, at: usize) -> String {
    match text.get(at..).and_then(|rest| rest.chars().next()) {
        None => "the end of the text".to_owned(),
        Some('\u{feff}') => "a byte order mark".to_owned(),
        Some('`') => "a backquote".to_owned(),
        Some(c) => format!("`{}`", excerpt(c.encode_utf8(&mut [0; 4]))),
    }
}
