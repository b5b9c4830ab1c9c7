//! Which files a search passes over: `.gitignore`, `.ignore`, `.rgignore`, globs, hidden names.
//!
//! The order is ripgrep's. Globs of the caller come first. Then kinds of ignore files, the
//! stronger kind before the weaker one (`.rgignore`, `.ignore`, `.gitignore`,
//! `.git/info/exclude`), and within a kind the nearer directory before the farther one.
//! Git's files count only inside a repository and not beyond its top. A hidden name is
//! passed over unless a rule calls it in.

use std::io::Read;
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use wasip2::filesystem::types::{Descriptor, PathFlags};

use crate::place::{open_directory, open_file};
use crate::source::Source;
use crate::wit::Error;

/// What the caller chose for the whole search.
pub(crate) struct Choice {
    pub(crate) globs: Override,
    pub(crate) hidden: bool,
    pub(crate) no_ignore: bool,
}

/// The caller's globs, relative to a grant.
pub(crate) fn globs(patterns: &[String]) -> Result<Override, Error> {
    let mut builder = OverrideBuilder::new("/");
    for pattern in patterns {
        builder
            .add(pattern)
            .map_err(|error| Error::BadPattern(error.to_string()))?;
    }
    builder
        .build()
        .map_err(|error| Error::BadPattern(error.to_string()))
}

/// The rules of one directory, with those of the directories above it.
pub(crate) struct Level {
    above: Option<Rc<Level>>,
    /// Strongest kind first: custom, general, git's, git's own exclusions.
    kinds: [Gitignore; 4],
    is_repository: bool,
}

/// The names of the kinds' files; the last one lies inside `.git`.
const FILES: [&str; 3] = [".rgignore", ".ignore", ".gitignore"];
/// From this kind on the files are git's and count only inside a repository.
const FIRST_OF_GIT: usize = 2;

impl Level {
    /// Reads the ignore files of a directory at `path` below the grant (`names` is what it
    /// holds, so nothing is opened in vain).
    pub(crate) fn read(
        above: Option<Rc<Self>>,
        directory: &Descriptor,
        path: &str,
        names: &[&str],
        choice: &Choice,
    ) -> Rc<Self> {
        let has = |name: &str| names.binary_search(&name).is_ok();
        let root = format!("/{path}");
        let rules = |name: &str| match !choice.no_ignore && has(name) {
            true => matcher(&root, text(directory, name)),
            false => Gitignore::empty(),
        };
        let is_repository = has(".git");
        let exclude = match !choice.no_ignore && is_repository {
            true => open_directory(directory, ".git/info", PathFlags::empty()).map_or_else(
                |_| Gitignore::empty(),
                |info| matcher(&root, text(&info, "exclude")),
            ),
            false => Gitignore::empty(),
        };
        let [custom, general, git] = FILES.map(rules);
        Rc::new(Self {
            above,
            kinds: [custom, general, git, exclude],
            is_repository,
        })
    }

    /// Whether a search passes over an entry of this directory.
    pub(crate) fn excludes(
        &self,
        choice: &Choice,
        path: &str,
        name: &str,
        is_directory: bool,
    ) -> bool {
        let path = format!("/{path}");
        match choice.globs.matched(&path, is_directory) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => {}
        }
        match self.matched(&path, is_directory) {
            Match::Ignore(()) => true,
            Match::Whitelist(()) => false,
            Match::None => !choice.hidden && name.starts_with('.'),
        }
    }

    fn matched(&self, path: &str, is_directory: bool) -> Match<()> {
        let in_repository = self.upward().any(|level| level.is_repository);
        let mut found = [Match::None, Match::None, Match::None, Match::None];
        let mut left_repository = false;
        for level in self.upward() {
            for (kind, (found, rules)) in found.iter_mut().zip(&level.kinds).enumerate() {
                let counts = kind < FIRST_OF_GIT || (in_repository && !left_repository);
                if counts && found.is_none() {
                    *found = rules.matched(path, is_directory).map(|_| ());
                }
            }
            left_repository |= level.is_repository;
        }
        found.into_iter().fold(Match::None, Match::or)
    }

    fn upward(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |level| level.above.as_deref())
    }
}

/// The text of an ignore file; one that cannot be read has no rules.
fn text(directory: &Descriptor, name: &str) -> Vec<u8> {
    let mut text = Vec::new();
    if let Ok(file) = open_file(directory, name, PathFlags::SYMLINK_FOLLOW) {
        // What was read before a fault still counts, as for any text that is cut short.
        let _ = Source::new(&file).read_to_end(&mut text);
    }
    text
}

/// Rules of one file. A line that is not a glob is left out; from the first line that is
/// not UTF-8 on, nothing counts.
fn matcher(root: &str, text: Vec<u8>) -> Gitignore {
    let mut builder = GitignoreBuilder::new(root);
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
    for line in text.split(|byte| *byte == b'\n') {
        let Ok(line) = str::from_utf8(line) else {
            break;
        };
        let _ = builder.add_line(None, line.strip_suffix('\r').unwrap_or(line));
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
