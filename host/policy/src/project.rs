//! `.bindery/tool-policy.json`: what a project allows and denies its own sessions.
//!
//! Rule (R-309 … R-313): data only, two lists and nothing else; left out, `allow` means
//! everything that is otherwise permitted, empty it means nothing; what cannot be read
//! ends the start of the session, with the file and the place.

use serde::Deserialize;

use crate::fault::{Malformed, place};

/// The file in a project's folder.
pub const FILE: &str = ".bindery/tool-policy.json";
/// Its documented second name (C-35).
pub const ALIAS: &str = ".holaryn/tool-policy.json";

const TEXT_BYTES_MAX: usize = 256 * 1024;

/// The two lists, of ids or public names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectPolicy {
    /// Left out = everything otherwise permitted, empty = nothing.
    #[serde(default, deserialize_with = "present")]
    pub allow: Option<Vec<String>>,
    /// Wins over every allow of any scope.
    #[serde(default)]
    pub deny: Vec<String>,
    #[serde(skip)]
    file: String,
}

/// A list that is there has to be a list: `null` is no way to leave it out.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Vec<String>>, D::Error> {
    Vec::deserialize(from).map(Some)
}

impl ProjectPolicy {
    /// Reads `text`, which messages call `file`.
    ///
    /// # Errors
    ///
    /// [`Malformed`] with file, line, column and what is wrong.
    pub fn parse(file: &str, text: &str) -> Result<Self, Malformed> {
        if text.len() > TEXT_BYTES_MAX {
            let message = format!("a project policy has at most {TEXT_BYTES_MAX} bytes");
            return Err(Malformed::at(file, (1, 1), "", message));
        }
        // A list would be read as the members in their order.
        let start = text.len() - text.trim_start().len();
        if !text.trim_start().starts_with('{') {
            let message = "expected an object with `allow` and `deny`".to_owned();
            return Err(Malformed::at(file, place(text, start), "", message));
        }
        let policy: Self = serde_json::from_str(text).map_err(|error| {
            let place = (error.line().max(1), error.column().max(1));
            Malformed::at(file, place, "", error.to_string())
        })?;
        Ok(Self {
            file: file.to_owned(),
            ..policy
        })
    }

    /// Reads what was found under the two names, each with its text.
    ///
    /// # Errors
    ///
    /// [`Malformed`] when both are there, or when the one that is cannot be read.
    pub fn of_project(own: Option<&str>, alias: Option<&str>) -> Result<Option<Self>, Malformed> {
        match (own, alias) {
            (None, None) => Ok(None),
            (Some(text), None) => Self::parse(FILE, text).map(Some),
            (None, Some(text)) => Self::parse(ALIAS, text).map(Some),
            (Some(_), Some(_)) => {
                let message = format!("`{FILE}` and `{ALIAS}` are both there; keep one of them");
                Err(Malformed::at(FILE, (1, 1), "", message))
            }
        }
    }

    /// The file it was read from.
    pub fn file(&self) -> &str {
        &self.file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_file_is_honoured_and_an_empty_allow_is_not_an_omitted_one() {
        let policy = ProjectPolicy::parse(FILE, r#"{"allow": ["a"], "deny": ["b"]}"#).unwrap();
        assert_eq!(policy.allow, Some(vec!["a".to_owned()]), "R-309");
        assert_eq!(policy.deny, ["b"]);
        assert_eq!(
            ProjectPolicy::parse(FILE, r#"{"deny": []}"#).unwrap().allow,
            None,
            "R-311"
        );
        assert_eq!(
            ProjectPolicy::parse(FILE, r#"{"allow": []}"#)
                .unwrap()
                .allow,
            Some(vec![]),
            "R-312"
        );
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_file_and_place() {
        for (text, place, said) in [
            ("{\"allow\": [\"a\"],\n \"denny\": []}", (2, 8), "denny"),
            ("{\"allow\": \"a\"}", (1, 13), "invalid type"),
            ("{\"allow\": null}", (1, 14), "invalid type"),
            ("{\"allow\": [], \"allow\": [\"a\"]}", (1, 21), "duplicate"),
            ("{\"allow\": [1]}", (1, 12), "invalid type"),
            ("[[\"a\"], []]", (1, 1), "expected an object"),
            ("", (1, 1), "expected an object"),
            ("{} x", (1, 4), "trailing"),
            ("\u{feff}{}", (1, 1), "expected an object"),
            ("(function(){})()", (1, 1), "expected an object"),
        ] {
            let error = ProjectPolicy::parse(FILE, text).unwrap_err();
            let fault = &error.faults()[0];
            assert_eq!((fault.line, fault.column), place, "R-313: {text}: {fault}");
            assert!(fault.message.contains(said), "R-313: {text}: {fault}");
            assert!(
                error.to_string().starts_with(".bindery/tool-policy.json:"),
                "R-313"
            );
        }
    }

    #[test]
    fn both_names_present_is_a_start_error_and_either_alone_is_read() {
        assert!(
            ProjectPolicy::of_project(Some("{}"), Some("{}")).is_err(),
            "R-309"
        );
        assert_eq!(ProjectPolicy::of_project(None, None).unwrap(), None);
        let alias = ProjectPolicy::of_project(None, Some("{}"))
            .unwrap()
            .unwrap();
        assert_eq!(alias.file(), ALIAS, "C-35");
        assert_eq!(
            ProjectPolicy::of_project(Some("{}"), None)
                .unwrap()
                .unwrap()
                .file(),
            FILE
        );
    }
}
