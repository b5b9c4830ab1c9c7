//! The list of what must be answered by a test, or by another part of the product.

use crate::id::{Id, ids};

/// One line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Required {
    /// What is required.
    pub id: Id,
    /// Why no test here answers it; none when one must.
    pub reason: Option<String>,
}

/// Reads the list: an id a line, then its reason if it has one; `#` starts a comment.
///
/// # Errors
///
/// The first line that does not begin with exactly one id, or repeats one.
pub fn required(text: &str) -> Result<Vec<Required>, String> {
    let mut list: Vec<Required> = Vec::new();
    let lines = text.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (word, reason) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let [id] = ids(word)[..] else {
            return Err(format!("`{word}` is not one id"));
        };
        if list.iter().any(|known| known.id == id) {
            return Err(format!("{id} stands there twice"));
        }
        let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
        list.push(Required { id, reason });
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_id_and_perhaps_a_reason() {
        let list = required("# head\nA1\n\n  H33  comes with worker processes \n").unwrap();
        let shown: Vec<(String, Option<&str>)> = list
            .iter()
            .map(|row| (row.id.to_string(), row.reason.as_deref()))
            .collect();
        let expected = [
            ("A1".to_owned(), None),
            ("H33".to_owned(), Some("comes with worker processes")),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_line_that_is_no_id_or_comes_twice_is_an_error() {
        for wrong in ["A1\nA1", "Z9", "A1–A3", "because A1"] {
            assert!(required(wrong).is_err(), "{wrong}");
        }
    }
}
