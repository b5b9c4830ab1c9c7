//! The chain: each record's line holds the digest of the line before it.
//!
//! Rule (I19, H53): one record is one line of canonical JSON, the same bytes in the store,
//! in an export and under the digest. Anybody with `sha256sum` can check it. It shows that
//! something was changed; only a mark kept elsewhere shows that the end was cut.

use bindery_types::{Digest, canonical};
use serde::Deserialize;

use crate::record::{Entry, Record};

/// What stands before the first record.
pub fn genesis() -> Digest {
    Digest::of(b"bindery ledger 1")
}

/// A line that does not belong where it stands.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ChainError {
    /// Not a record's line.
    #[error("line {sequence} is no record: {why}")]
    Malformed {
        /// its place
        sequence: u64,
        /// what is wrong
        why: String,
    },
    /// The line says another place.
    #[error("line {expected} says it is record {got}")]
    Sequence {
        /// its place
        expected: u64,
        /// what it says
        got: u64,
    },
    /// The line before it is not the one it was written after.
    #[error("record {sequence} does not follow from the line before it")]
    Broken {
        /// its place
        sequence: u64,
    },
    /// The bytes are not the canonical ones.
    #[error("record {sequence} is not written in canonical form")]
    NotCanonical {
        /// its place
        sequence: u64,
    },
}

/// The end of a chain: its last line's place and digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The last record; 0 before the first.
    pub sequence: u64,
    /// The digest of its line.
    pub digest: Digest,
}

impl Default for Head {
    fn default() -> Self {
        Self {
            sequence: 0,
            digest: genesis(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    entry: Entry,
    previous: Digest,
    sequence: u64,
}

impl Head {
    /// Writes the next record as a line and steps on to it.
    ///
    /// # Errors
    ///
    /// When the entry is no JSON, which its types rule out.
    pub fn write(&mut self, record: &Record) -> Result<String, ChainError> {
        let sequence = record.sequence;
        let malformed = |why: String| ChainError::Malformed { sequence, why };
        let expected = self.sequence.saturating_add(1);
        if sequence != expected {
            let got = sequence;
            return Err(ChainError::Sequence { expected, got });
        }
        let entry = serde_json::to_value(&record.entry);
        let entry = entry.map_err(|error| malformed(error.to_string()))?;
        let line = join(&canonical(&entry), self.digest, sequence);
        self.step(sequence, &line);
        Ok(line)
    }

    /// Checks that `line` is the next one, by its bytes alone, and steps on to it.
    ///
    /// # Errors
    ///
    /// When it says another place or another line before it.
    pub fn follow(&mut self, line: &str) -> Result<(), ChainError> {
        let sequence = self.sequence.saturating_add(1);
        let tail = tail(self.digest, sequence);
        if !line.ends_with(&tail) || !line.starts_with(HEAD) {
            return Err(self.wrong(line));
        }
        self.step(sequence, line);
        Ok(())
    }

    /// Checks and reads the next line.
    ///
    /// # Errors
    ///
    /// As [`Head::follow`], and when the line is no record in canonical form.
    pub fn read(&mut self, line: &str) -> Result<Record, ChainError> {
        let previous = self.digest;
        self.follow(line)?;
        let sequence = self.sequence;
        let entry = parse(line, sequence)?.entry;
        let again = serde_json::to_value(&entry).map(|value| canonical(&value));
        if again.is_ok_and(|text| join(&text, previous, sequence) == line) {
            return Ok(Record { sequence, entry });
        }
        Err(ChainError::NotCanonical { sequence })
    }

    fn step(&mut self, sequence: u64, line: &str) {
        self.sequence = sequence;
        self.digest = Digest::of(line.as_bytes());
    }

    /// Says what is wrong with a line that does not fit.
    fn wrong(&self, line: &str) -> ChainError {
        let expected = self.sequence.saturating_add(1);
        match parse(line, expected) {
            Err(error) => error,
            Ok(read) if read.sequence != expected => ChainError::Sequence {
                expected,
                got: read.sequence,
            },
            Ok(read) if read.previous != self.digest => ChainError::Broken { sequence: expected },
            Ok(_) => ChainError::NotCanonical { sequence: expected },
        }
    }
}

/// Reads a line of a chain that somebody has checked.
///
/// # Errors
///
/// When it is no record.
pub fn read_checked(line: &str, sequence: u64) -> Result<Record, ChainError> {
    let entry = parse(line, sequence)?.entry;
    Ok(Record { sequence, entry })
}

fn parse(line: &str, sequence: u64) -> Result<Line, ChainError> {
    serde_json::from_str(line).map_err(|error| ChainError::Malformed {
        sequence,
        why: error.to_string(),
    })
}

const HEAD: &str = "{\"entry\":";

fn join(entry: &str, previous: Digest, sequence: u64) -> String {
    let tail = tail(previous, sequence);
    let mut line = String::with_capacity(HEAD.len() + entry.len() + tail.len());
    line.push_str(HEAD);
    line.push_str(entry);
    line.push_str(&tail);
    line
}

fn tail(previous: Digest, sequence: u64) -> String {
    format!(",\"previous\":\"{previous}\",\"sequence\":{sequence}}}")
}
