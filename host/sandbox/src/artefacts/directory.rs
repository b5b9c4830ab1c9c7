//! The directory of a store: opened once, checked, and everything in it reached by handle.
//!
//! Rule (X63, X74, C4, D1): whatever is asked of the store goes through the descriptor
//! whose owner and mode were checked; a link is never followed; a file appears under its
//! name whole or not at all, written beside its target and renamed. `TMPDIR` is not used.

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};

use super::key;

/// What unfinished files begin with.
const UNFINISHED: &str = "unfinished-";
/// Flags of every descriptor opened here.
const SAFELY: OFlags = OFlags::NOFOLLOW
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK);

/// The handle.
pub(super) struct Directory {
    fd: OwnedFd,
    /// For messages to the operator only.
    path: PathBuf,
}

/// Which permission bits a file of the store may have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Modes {
    /// Nothing for group and others.
    Private,
    /// Exactly 0400: written once, never again.
    ReadOnly,
}

/// A lock on the whole store, given back when dropped or when the process dies.
pub(super) struct Lock<'a>(&'a Directory);

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // Unlocking can't fail on an open descriptor; closing it would unlock as well.
        let _unlocked = rustix::fs::flock(&self.0.fd, FlockOperation::Unlock);
    }
}

impl Directory {
    /// Opens `path`, making it (0700) when it is not there.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let made = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path);
        Self::opened(path, made)
    }

    /// Opens `path` if it is there, and makes nothing.
    pub(super) fn open_existing(path: &Path) -> io::Result<Option<Self>> {
        match Self::opened(path, Ok(())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    fn opened(path: &Path, made: io::Result<()>) -> io::Result<Self> {
        let flags = SAFELY | OFlags::RDONLY | OFlags::DIRECTORY;
        let opened = rustix::fs::open(path, flags, Mode::empty());
        let fd = match (opened, made) {
            (Ok(fd), _) => fd,
            // Why it couldn't be made says more than that it isn't there.
            (Err(rustix::io::Errno::NOENT), Err(error)) => return Err(error),
            (Err(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR), _) => {
                return Err(refuse("it is a symbolic link or no directory"));
            }
            (Err(error), _) => return Err(error.into()),
        };
        let stat = rustix::fs::fstat(&fd)?;
        if stat.st_uid != rustix::process::geteuid().as_raw() {
            return Err(refuse("it belongs to another user"));
        }
        if stat.st_mode & 0o022 != 0 {
            return Err(refuse("group or others may write to it"));
        }
        if is_network(rustix::fs::fstatfs(&fd)?.f_type) {
            return Err(refuse(
                "it is on a network file system, where other machines may change mapped code",
            ));
        }
        let path = path.to_owned();
        Ok(Self { fd, path })
    }

    /// Where it was when it was opened.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file of ours for reading: regular, our own, one name, the modes right.
    /// `NotFound` is a miss; every other error says what is wrong with the file.
    pub(super) fn open_own(&self, name: &str, modes: Modes) -> io::Result<(File, Stat)> {
        let flags = SAFELY | OFlags::RDONLY;
        let fd =
            rustix::fs::openat(&self.fd, name, flags, Mode::empty()).map_err(
                |errno| match errno {
                    rustix::io::Errno::LOOP => refuse("it is a symbolic link"),
                    errno => errno.into(),
                },
            )?;
        let stat = rustix::fs::fstat(&fd)?;
        check_own(&stat, modes)?;
        Ok((File::from(fd), stat))
    }

    /// What is there under `name`, links not followed.
    pub(super) fn stat(&self, name: &str) -> io::Result<Stat> {
        let stat = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.map_err(io::Error::from)
    }

    /// Marks `name` as used now.
    pub(super) fn touch(&self, name: &str) -> io::Result<()> {
        let now = rustix::fs::Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_NOW,
        };
        let times = rustix::fs::Timestamps {
            last_access: now,
            last_modification: now,
        };
        let touched = rustix::fs::utimensat(&self.fd, name, &times, AtFlags::SYMLINK_NOFOLLOW);
        touched.map_err(io::Error::from)
    }

    /// Removes `name`; whether it was there.
    pub(super) fn remove(&self, name: &str) -> io::Result<bool> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Every name in it that is text; nothing of ours is not.
    pub(super) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = entry.file_name().to_str().ok();
            names.extend(
                name.filter(|name| !matches!(*name, "." | ".."))
                    .map(str::to_owned),
            );
        }
        Ok(names)
    }

    /// Waits for the lock on the store.
    pub(super) fn lock(&self) -> io::Result<Lock<'_>> {
        rustix::fs::flock(&self.fd, FlockOperation::LockExclusive)?;
        Ok(Lock(self))
    }

    /// Makes the file `name`, whole and durable, replacing what has that name.
    pub(super) fn create(
        &self,
        name: &str,
        mode: u32,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let (unfinished, mut file) = self.unfinished()?;
        let done = fill(&mut file)
            .and_then(|()| Ok(rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?))
            .and_then(|()| file.sync_all())
            .and_then(|()| Ok(rustix::fs::renameat(&self.fd, &unfinished, &self.fd, name)?));
        match done {
            Ok(()) => Ok(rustix::fs::fsync(&self.fd)?),
            Err(error) => {
                // What remains after a failure to remove it is cleaned at the next start.
                let _removed = self.remove(&unfinished);
                let (from, to) = (self.path.join(&unfinished), self.path.join(name));
                let text = format!("{} as {}: {error}", from.display(), to.display());
                Err(io::Error::new(error.kind(), text))
            }
        }
    }

    /// A new file with a name of its own, locked for as long as this process writes it.
    fn unfinished(&self) -> io::Result<(String, File)> {
        loop {
            let mut number = [0; 16];
            key::random(&mut number)?;
            let mut name = UNFINISHED.to_owned();
            for byte in number {
                write!(name, "{byte:02x}").map_err(io::Error::other)?;
            }
            let flags = SAFELY | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            let fd = rustix::fs::openat(&self.fd, &name, flags, Mode::RUSR | Mode::WUSR)?;
            rustix::fs::flock(&fd, FlockOperation::LockExclusive)?;
            // A cleaner that came between the two steps has removed the name.
            if rustix::fs::fstat(&fd)?.st_nlink == 1 {
                return Ok((name, File::from(fd)));
            }
        }
    }

    /// Removes unfinished files whose writers are dead (D4); how many.
    pub(super) fn clean(&self) -> io::Result<u64> {
        let mut removed = 0;
        for name in self
            .names()?
            .iter()
            .filter(|name| name.starts_with(UNFINISHED))
        {
            let flags = SAFELY | OFlags::RDONLY;
            let Ok(fd) = rustix::fs::openat(&self.fd, name, flags, Mode::empty()) else {
                continue;
            };
            // A writer that lives holds the lock.
            if rustix::fs::flock(&fd, FlockOperation::NonBlockingLockExclusive).is_ok() {
                removed += u64::from(self.remove(name)?);
            }
        }
        Ok(removed)
    }
}

fn check_own(stat: &Stat, modes: Modes) -> io::Result<()> {
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(refuse("it is no regular file"));
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(refuse("it belongs to another user"));
    }
    if stat.st_nlink != 1 {
        return Err(refuse("it has not exactly one name"));
    }
    let mode = stat.st_mode & 0o7777;
    let right = match modes {
        Modes::Private => mode & 0o7077 == 0,
        Modes::ReadOnly => mode == 0o400,
    };
    if right {
        Ok(())
    } else {
        Err(refuse(&format!("its mode is {mode:o}")))
    }
}

fn refuse(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// Whether the magic number of a file system is that of one shared between machines.
fn is_network(magic: impl TryInto<u64>) -> bool {
    /// NFS, SMB, CIFS, SMB2, Ceph, AFS, Coda.
    const SHARED: [u64; 7] = [
        0x6969,
        0x517b,
        0xff53_4d42,
        0xfe53_4d42,
        0x00c3_6400,
        0x5346_414f,
        0x7375_7245,
    ];
    magic.try_into().is_ok_and(|magic| SHARED.contains(&magic))
}

#[cfg(test)]
mod tests {
    use super::is_network;

    #[test]
    fn x63_a_network_file_system_is_known_by_its_number_and_a_local_one_is_not_taken_for_it() {
        assert!(is_network(0x6969_i64) && is_network(0xff53_4d42_u32));
        let (ext4, tmpfs, overlay) = (0xef53_i64, 0x0102_1994_i64, 0x794c_7630_i64);
        assert!(!is_network(ext4) && !is_network(tmpfs) && !is_network(overlay));
    }
}
