//! Which test answers which case, attack, hardening rule, invariant or requirement.
//!
//! Rule: read from the sources, never from a list kept by hand. A test answers an id when
//! the id stands in front of its name or at its end, in its documentation, in a comment or
//! in a text inside it; the header of a file counts for the file. What is required is one
//! data file, with a reason where another part of the product answers.

mod id;
mod required;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

pub use id::{Id, ids};
pub use required::{Required, required};
pub use source::{Place, citations};

/// Folders whose Rust files may hold tests.
const TOPS: [&str; 3] = ["host", "tests", "examples"];
/// What is built or fetched lies in folders of these names.
const FOREIGN: [&str; 3] = ["target", "node_modules", "__pycache__"];
/// The tests of this crate speak of ids without answering any.
const OURSELVES: &str = "tests/cases";

/// Every id that a test below `root` cites, with the places, in the order of the ids.
///
/// # Errors
///
/// When a source file cannot be read.
pub fn table(root: &Path) -> io::Result<BTreeMap<Id, BTreeSet<Place>>> {
    let mut files = Vec::new();
    for top in TOPS {
        gather(&root.join(top), &mut files)?;
    }
    let mut table: BTreeMap<Id, BTreeSet<Place>> = BTreeMap::new();
    for path in files {
        if path.starts_with(root.join(OURSELVES)) {
            continue;
        }
        let text = std::fs::read_to_string(&path)?;
        let name = path.strip_prefix(root).unwrap_or(&path);
        for (id, place) in citations(&name.to_string_lossy(), &text) {
            table.entry(id).or_default().insert(place);
        }
    }
    Ok(table)
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let named = |name: &str| path.file_name().is_some_and(|file| file == name);
        if path.is_dir() {
            if !FOREIGN.into_iter().any(named) {
                gather(&path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
