//! A secret in a file that only its owner can read.
//!
//! Rule (H50, X64): the file is opened once, no link followed at its end, and judged by
//! what was opened: a regular file of the user who runs the host, closed to everybody
//! else. The same descriptor is then read, to a bound.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use bindery_screen::{SECRET_BYTES_MAX, Secret};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::provider::{SecretProvider, SecretUnavailable};

/// A line break may follow the value.
pub(super) const BYTES_READ_MAX: usize = SECRET_BYTES_MAX + 3;

/// The content of a file of the host.
#[derive(Clone, Debug)]
pub struct SecretFile {
    path: PathBuf,
}

impl SecretFile {
    /// The file at `path`, opened and read at each call.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

#[async_trait]
impl SecretProvider for SecretFile {
    async fn secret(&self) -> Result<Secret, SecretUnavailable> {
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || read(&path)).await;
        read.unwrap_or_else(|_| {
            Err(SecretUnavailable::Unsafe(format!(
                "{} could not be read",
                self.path.display()
            )))
        })
    }
}

fn read(path: &Path) -> Result<Secret, SecretUnavailable> {
    let shown = path.display();
    let refused = |why: &str| SecretUnavailable::Unsafe(format!("{shown} {why}"));
    // A FIFO must not hold the thread.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = open(path, flags, Mode::empty()).map_err(|error| match error {
        Errno::NOENT | Errno::NOTDIR => {
            SecretUnavailable::Absent(format!("there is no file {shown}"))
        }
        Errno::LOOP => refused("is a link"),
        error => refused(&format!("cannot be opened: {error}")),
    })?;
    let stat = fstat(&file).map_err(|error| refused(&format!("cannot be looked at: {error}")))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(refused("is no regular file"));
    }
    if stat.st_uid != geteuid().as_raw() {
        return Err(refused("belongs to another user"));
    }
    if stat.st_mode & 0o077 != 0 {
        return Err(refused("is open to other users: make it `chmod 600`"));
    }
    let mut bytes = Vec::with_capacity(BYTES_READ_MAX + 1);
    let most = u64::try_from(BYTES_READ_MAX).unwrap_or(u64::MAX);
    let mut file = File::from(file).take(most);
    file.read_to_end(&mut bytes)
        .map_err(|error| refused(&format!("cannot be read: {error}")))?;
    Secret::from_bytes(bytes).map_err(SecretUnavailable::unfit(shown.to_string()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use bindery_screen::SecretFault;

    use super::*;

    fn file(folder: &Path, content: &str, mode: u32) -> PathBuf {
        let path = folder.join(format!("secret-{mode:o}-{}", content.len()));
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        path
    }

    fn unsafe_because(path: &Path, why: &str) {
        match read(path) {
            Err(SecretUnavailable::Unsafe(text)) => assert!(text.contains(why), "X64 {text}"),
            other => panic!("X64 {why}: {other:?}"),
        }
    }

    #[test]
    fn a_file_of_its_owner_alone_is_read_and_any_other_is_not() {
        let folder = tempfile::tempdir().unwrap();
        for mode in [0o600, 0o400] {
            let path = file(folder.path(), "CANARY-1\n", mode);
            assert_eq!(read(&path).unwrap().expose(), "CANARY-1");
        }
        for mode in [0o640, 0o604, 0o620, 0o644, 0o610, 0o601] {
            unsafe_because(&file(folder.path(), "CANARY-1\n", mode), "chmod 600");
        }
    }

    #[test]
    fn what_is_no_file_of_its_own_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(folder.path(), "CANARY-1\n", 0o600);
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        unsafe_because(&link, "is a link");
        unsafe_because(folder.path(), "is no regular file");
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
        unsafe_because(&fifo, "is no regular file");
        let absent = read(&folder.path().join("none"));
        assert!(matches!(absent, Err(SecretUnavailable::Absent(_))), "R-592");
    }

    #[test]
    fn a_file_of_another_user_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = match geteuid().is_root() {
            true => {
                let path = file(folder.path(), "CANARY-1\n", 0o600);
                std::os::unix::fs::chown(&path, Some(1), None).unwrap();
                path
            }
            false => PathBuf::from("/etc/passwd"),
        };
        unsafe_because(&path, "belongs to another user");
    }

    #[test]
    fn an_empty_file_is_missing_and_a_long_one_unfit() {
        let folder = tempfile::tempdir().unwrap();
        let empty = read(&file(folder.path(), "\n", 0o600));
        assert!(matches!(empty, Err(SecretUnavailable::Absent(_))), "R-592");
        let whole = "x".repeat(SECRET_BYTES_MAX);
        let with_break = format!("{whole}\r\n");
        assert!(read(&file(folder.path(), &with_break, 0o600)).is_ok());
        match read(&file(folder.path(), &"x".repeat(1 << 20), 0o600)) {
            Err(SecretUnavailable::Unfit { fault, .. }) => assert_eq!(fault, SecretFault::TooLong),
            other => panic!("{other:?}"),
        }
    }
}
