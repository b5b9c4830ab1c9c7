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
    subject: String,
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
        let subject = record.entry.event.subject();
        let line = join(&canonical(&entry), self.digest, sequence, &subject);
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
        // A quotation mark inside a text is escaped, so the last of these is the line's own.
        let at = line.rfind(PREVIOUS).unwrap_or_default();
        let rest = line.get(at..).unwrap_or_default();
        if !rest.starts_with(&tail(self.digest, sequence)) || !line.starts_with(HEAD) {
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
        let subject = entry.event.subject();
        if again.is_ok_and(|text| join(&text, previous, sequence, &subject) == line) {
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
            Ok(read) if read.subject != read.entry.event.subject() => ChainError::Malformed {
                sequence: expected,
                why: "it is about something else than it says".to_owned(),
            },
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

/// Whether a line ends with this session and this subject: what a store keeps beside it to
/// find it by is covered by its digest, too.
pub fn ends_with(line: &str, session: Option<&str>, subject: &str) -> bool {
    let at = line.rfind(PREVIOUS).unwrap_or_default();
    let (entry, rest) = line.split_at(at);
    let session = match session {
        Some(session) => format!("\"session\":\"{session}\"}}"),
        None => "\"session\":null}".to_owned(),
    };
    entry.ends_with(&session) && rest.ends_with(&format!(",\"subject\":{}}}", quoted(subject)))
}

const HEAD: &str = "{\"entry\":";
const PREVIOUS: &str = ",\"previous\":\"";

fn join(entry: &str, previous: Digest, sequence: u64, subject: &str) -> String {
    let tail = tail(previous, sequence);
    format!("{HEAD}{entry}{tail}{}}}", quoted(subject))
}

fn tail(previous: Digest, sequence: u64) -> String {
    format!("{PREVIOUS}{previous}\",\"sequence\":{sequence},\"subject\":")
}

fn quoted(text: &str) -> String {
    canonical(&serde_json::Value::from(text))
}
