//! A directory grant: one open handle, the name the guest knows it by, and a mode.
//!
//! Rule (H25, R-020, U4): whoever holds the authority opens the directory once; from then
//! on only the handle counts, whatever the path comes to mean. Read-only unless said.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::{FsPerms, OpenMode};

use crate::grants::GrantError;
use crate::text::one_line;

/// What a guest may do in a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Read names, contents and times.
    #[default]
    ReadOnly,
    /// Also change them, within the budget of the call.
    ReadWrite,
}

/// One directory, open, under the path by which the guest knows it.
#[derive(Clone)]
pub struct DirectoryGrant {
    guest_path: String,
    access: Access,
    dir: Dir,
    /// The same directory, to open others below it.
    opened: Arc<cap_std::fs::Dir>,
    /// This directory and those above it when it was opened, nearest first.
    lineage: Vec<Identity>,
}

/// Device and inode: which directory it is, by whatever path it was opened.
type Identity = (u64, u64);

impl std::fmt::Debug for DirectoryGrant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirectoryGrant")
            .field("guest_path", &self.guest_path)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

/// Bytes of a guest path at most.
const GUEST_PATH_MAX: usize = 256;

impl DirectoryGrant {
    /// A grant of what is open as `dir`, as the guest's `guest_path` (`/data`, `.`).
    ///
    /// # Errors
    ///
    /// [`GrantError`] when the path is empty, too long, has a `..` or a character that
    /// cannot be shown, or when the handle cannot be used.
    pub fn new(
        dir: cap_std::fs::Dir,
        guest_path: &str,
        access: Access,
    ) -> Result<Self, GrantError> {
        let refused = |why| GrantError::GuestPath {
            path: one_line(guest_path, GUEST_PATH_MAX),
            why,
        };
        if guest_path.is_empty() {
            return Err(refused("it is empty"));
        }
        if guest_path.len() > GUEST_PATH_MAX {
            return Err(refused("it is longer than 256 bytes"));
        }
        if one_line(guest_path, usize::MAX) != guest_path {
            return Err(refused("it has a character that cannot be shown"));
        }
        if guest_path.split('/').any(|part| part == "..") {
            return Err(refused("`..` leads nowhere"));
        }
        let unusable = |error: &dyn std::fmt::Display| GrantError::Directory {
            path: guest_path.to_owned(),
            why: error.to_string(),
        };
        let lineage = lineage(dir.as_fd()).map_err(|error| unusable(&error))?;
        let opened = Arc::new(dir.try_clone().map_err(|error| unusable(&error))?);
        let (perms, mode) = match access {
            Access::ReadOnly => (FsPerms::ReadOnly, OpenMode::READ),
            Access::ReadWrite => (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE),
        };
        let trimmed = guest_path.trim_end_matches('/');
        Ok(Self {
            guest_path: if trimmed.is_empty() { "/" } else { trimmed }.to_owned(),
            access,
            // Every use is on a thread that may block, see `blocking`.
            dir: Dir::new(dir.into_std_file(), perms, mode, true),
            opened,
            lineage,
        })
    }

    /// The same grant or less of it (I4): the directory `inside` this one, with `access`.
    /// An empty `inside` is this directory. The guest's path grows by `inside`.
    ///
    /// # Errors
    ///
    /// [`GrantError`] when more is asked than there is, when `inside` leads out or through
    /// a link, or when it is no directory.
    pub fn narrowed(&self, inside: &str, access: Access) -> Result<Self, GrantError> {
        let path = match inside {
            "" => self.guest_path.clone(),
            inside => format!("{}/{inside}", self.guest_path.trim_end_matches('/')),
        };
        let refused = |why: String| GrantError::Directory {
            path: path.clone(),
            why,
        };
        if access == Access::ReadWrite && self.access == Access::ReadOnly {
            return Err(refused("the grant is read-only".to_owned()));
        }
        let dir = match inside {
            "" => self
                .opened
                .try_clone()
                .map_err(|error| refused(error.to_string()))?,
            inside => {
                // No links at all: what the operator named is what is opened.
                let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let fd = openat2(self.opened.as_fd(), inside, flags, Mode::empty(), beneath)
                    .map_err(|error| refused(error.to_string()))?;
                cap_std::fs::Dir::from_std_file(fd.into())
            }
        };
        Self::new(dir, &path, access)
    }

    /// The path by which the guest knows it.
    pub fn guest_path(&self) -> &str {
        &self.guest_path
    }

    /// What the guest may do in it.
    pub fn access(&self) -> Access {
        self.access
    }

    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Whether one of the two directories is the other, or is inside it.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let is_in = |inner: &Self, outer: &Self| {
            let outer = outer.lineage.first();
            outer.is_some_and(|outer| inner.lineage.contains(outer))
        };
        is_in(self, other) || is_in(other, self)
    }
}

/// Levels above a directory that are looked at.
const LEVELS_MAX: usize = 128;

/// Which directory `dir` is, and which ones it is in. What cannot be looked at ends the
/// list: a process may hold a directory whose parents it may not see.
fn lineage(dir: BorrowedFd<'_>) -> rustix::io::Result<Vec<Identity>> {
    let identity =
        |fd: BorrowedFd<'_>| rustix::fs::fstat(fd).map(|stat| (stat.st_dev, stat.st_ino));
    let mut lineage = vec![identity(dir)?];
    let mut above: Option<OwnedFd> = None;
    while lineage.len() < LEVELS_MAX {
        let here = above.as_ref().map_or(dir, |fd| fd.as_fd());
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(parent) = openat(here, c"..", flags, Mode::empty()) else {
            break;
        };
        let Ok(next) = identity(parent.as_fd()) else {
            break;
        };
        // The root is its own parent.
        if lineage.last() == Some(&next) {
            break;
        }
        lineage.push(next);
        above = Some(parent);
    }
    Ok(lineage)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(guest_path: &str) -> Result<DirectoryGrant, GrantError> {
        let place = tempfile::tempdir().unwrap();
        let std_dir = std::fs::File::open(place.path()).unwrap();
        let dir = cap_std::fs::Dir::from_std_file(std_dir);
        DirectoryGrant::new(dir, guest_path, Access::default())
    }

    #[test]
    fn a_grant_is_read_only_unless_said_otherwise() {
        let grant = grant("/data").unwrap();
        assert_eq!(grant.access(), Access::ReadOnly, "H25");
        assert!(grant.dir().perms.write_not_permitted(), "H25");
    }

    #[test]
    fn a_trailing_slash_changes_nothing() {
        assert_eq!(grant("/data/").unwrap().guest_path(), "/data", "U4");
        assert_eq!(grant("/").unwrap().guest_path(), "/", "U4");
        assert_eq!(grant(".").unwrap().guest_path(), ".", "U4");
    }

    #[test]
    fn a_guest_path_that_could_mislead_is_refused_with_the_reason() {
        for path in [
            "",
            "/a/../b",
            "..",
            "/a\nb",
            "/a\0",
            "/\u{202e}x",
            &"a".repeat(257),
        ] {
            let error = grant(path).unwrap_err();
            assert!(
                matches!(error, GrantError::GuestPath { .. }),
                "U4: {path:?}"
            );
        }
    }
}
