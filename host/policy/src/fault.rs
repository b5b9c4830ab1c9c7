//! What is wrong with a text of the operator's: file, line, column, key, and what would be
//! right there.
//!
//! Rule (R-313, X61): nothing malformed is read as something weaker. All faults of a text
//! are reported together, and any fault refuses the whole text.

use std::fmt;

use bindery_types::{ErrorType, Refusal};
use serde::Serialize;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The file, as it was named to the reader.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The key it is about, with the tables around it; empty for the text as such.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// Keys that are allowed there, when the key is unknown.
    pub allowed: Vec<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file, self.line, self.column)?;
        if !self.key.is_empty() {
            write!(f, "`{}`: ", self.key)?;
        }
        f.write_str(&self.message)?;
        if !self.allowed.is_empty() {
            write!(f, "; allowed here: {}", self.allowed.join(", "))?;
        }
        Ok(())
    }
}

/// A text that cannot be used, with everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.faults))]
pub struct Malformed {
    faults: Vec<Fault>,
}

fn lines(faults: &[Fault]) -> String {
    let lines: Vec<String> = faults.iter().map(Fault::to_string).collect();
    lines.join("\n")
}

impl Malformed {
    pub(crate) fn new(faults: Vec<Fault>) -> Self {
        Self { faults }
    }

    pub(crate) fn at(
        file: &str,
        (line, column): (usize, usize),
        key: &str,
        message: String,
    ) -> Self {
        Self::new(vec![Fault {
            file: file.to_owned(),
            line,
            column,
            key: key.to_owned(),
            message,
            allowed: Vec::new(),
        }])
    }

    /// The faults, in the order of the text; never empty.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

impl From<Malformed> for Refusal {
    /// The caller learns that there is a fault, the operator which.
    fn from(malformed: Malformed) -> Self {
        Refusal::new(
            ErrorType::PolicyMalformed,
            "the policy of this host cannot be read",
        )
        .for_operator(malformed.to_string())
        .with("faults", malformed.faults.len())
    }
}

/// Line and column, from 1, of the byte `offset` of `text`.
pub(crate) fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(start..).unwrap_or_default().chars().count() + 1;
    (line, column)
}
