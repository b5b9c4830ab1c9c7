//! `bindery.toml`, read: from text to what is meant, once.
//!
//! Rule (R-309, X61): defaults deny everything; every unknown key, word, name or type is a
//! fault with its place; all faults are reported together and any refuses the whole. What
//! was said is converted here and nowhere else, and each effective value has its origin.

pub mod grants;
pub mod limits;
pub mod people;
pub(crate) mod reader;
pub mod rules;

use std::collections::BTreeMap;

use bindery_types::{CredentialName, GrantName};
use serde::Serialize;
use toml::de::DeTable;

use crate::fault::{Malformed, place};
use crate::stages::{self, StageSettings};
use crate::words::{Missing, Screening};
use grants::{CredentialEntry, GrantEntry, Resource};
use limits::Limits;
use people::People;
pub use reader::Setting;
use reader::{Reader, Section};
use rules::PolicyEntry;

/// What `bindery init` writes: every section with its choices as comments; it denies
/// everything.
pub const STARTER: &str = include_str!("starter.toml");

/// Longest text that is read as a document, in bytes.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Settings of public names (C-49).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Names {
    /// Longest public name, 16 to 64 characters.
    pub max_chars: usize,
    /// What an allow list is that names something unknown.
    pub missing: Missing,
}

/// The policy and configuration of a host, as it is meant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Document {
    /// The name of the text, for messages.
    #[serde(skip)]
    pub file: String,
    /// Who takes part.
    pub people: People,
    /// Which stages new sessions have (C-53).
    pub stages: StageSettings,
    /// What can be given.
    pub grants: BTreeMap<GrantName, GrantEntry>,
    /// Credentials by name.
    pub credentials: BTreeMap<CredentialName, CredentialEntry>,
    /// How much, how often, how long.
    pub limits: Limits,
    /// The rules.
    pub policy: PolicyEntry,
    /// Public names.
    pub names: Names,
    /// What happens to secrets in results.
    pub screening: Screening,
    #[serde(skip)]
    settings: Vec<Setting>,
}

impl Document {
    /// Reads `text`, which messages call `file`.
    ///
    /// # Errors
    ///
    /// [`Malformed`] with every fault: file, line, column, key, allowed keys.
    pub fn parse(file: &str, text: &str) -> Result<Self, Malformed> {
        if text.len() > TEXT_BYTES_MAX {
            let message = format!(
                "a document has at most {TEXT_BYTES_MAX} bytes, this has {}",
                text.len()
            );
            return Err(Malformed::at(file, (1, 1), "", message));
        }
        if text.starts_with('\u{feff}') {
            let message =
                "the text begins with a byte order mark; save it as plain UTF-8".to_owned();
            return Err(Malformed::at(file, (1, 1), "", message));
        }
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            Malformed::at(file, place(text, at), "", error.message().to_owned())
        })?;
        let reader = Reader::new(file, text);
        let document = read(
            Section::new(&reader, String::new(), 0, Some(table.get_ref())),
            file,
        );
        let (faults, settings) = reader.into_parts();
        match document {
            Some(document) if faults.is_empty() => Ok(Self {
                settings,
                ..document
            }),
            _ => Err(Malformed::new(faults)),
        }
    }

    /// Where each effective value comes from, in the order of the keys.
    pub fn origin(&self) -> Vec<&Setting> {
        let mut settings: Vec<&Setting> = self.settings.iter().collect();
        settings.sort_by(|a, b| a.key.cmp(&b.key));
        settings
    }
}

fn read(mut top: Section<'_>, file: &str) -> Option<Document> {
    let people = people::read(&mut top);
    let document = Document {
        file: file.to_owned(),
        people: people?,
        stages: stages::read(top.section("stages")),
        grants: grants::read(&mut top),
        credentials: grants::read_credentials(&mut top),
        limits: limits::read(&mut top),
        policy: rules::read(top.section("policy")),
        names: names(top.section("names")),
        screening: screening(top.section("screening")),
        settings: Vec::new(),
    };
    check_references(top.reader, &document);
    top.finish();
    Some(document)
}

fn names(mut section: Section<'_>) -> Names {
    const RANGE: std::ops::RangeInclusive<usize> = 16..=64;
    const DEFAULT: usize = 48;
    let max_chars = section.word_or("max_chars", DEFAULT);
    if !RANGE.contains(&max_chars) {
        section.wrong(
            "max_chars",
            "public names have at most 16 to 64 characters (C-49)",
        );
    }
    let missing = section.word_or("missing", Missing::Error);
    section.finish();
    Names { max_chars, missing }
}

fn screening(mut section: Section<'_>) -> Screening {
    let screening = section.word_or("secrets", Screening::Redact);
    section.finish();
    screening
}

/// Names that stand for something elsewhere in the document have to be there.
fn check_references(reader: &Reader<'_>, document: &Document) {
    for (name, grant) in &document.grants {
        let wrong =
            |message: String| reader.fault(grant.at, &format!("grants.{name}"), message, &[]);
        if let Some(credential) = grant
            .credential()
            .filter(|c| !document.credentials.contains_key(*c))
        {
            wrong(format!("there is no `[credentials.{credential}]`"));
        }
        if let Resource::Secret { endpoint, .. } = &grant.resource {
            let target = document.grants.get(endpoint).map(|grant| &grant.resource);
            if !matches!(target, Some(Resource::Endpoint { .. })) {
                wrong(format!("`{endpoint}` is no endpoint grant"));
            }
        }
    }
    for rule in &document.policy.rules {
        for grant in rule
            .grants
            .iter()
            .filter(|grant| !document.grants.contains_key(*grant))
        {
            let message = format!("there is no `[grants.{grant}]`");
            reader.fault(rule.at, "policy.rule.grants", message, &[]);
        }
    }
}

#[cfg(test)]
mod tests;
