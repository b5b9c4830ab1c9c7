//! Files and folders of the host's own: opened without waiting, never through a link, and
//! only while nobody else can write them.
//!
//! Rule (X63, X71, H14): what is not ours alone is refused with what to do about it; what
//! is no plain file is refused without being opened for long.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use bindery::{ErrorType, Refusal};
use rustix::fs::OFlags;

/// Neither waits for a pipe's other end nor follows a link.
const CAREFULLY: i32 = OFlags::NONBLOCK
    .union(OFlags::NOFOLLOW)
    .bits()
    .cast_signed();

/// A folder, made 0700 when it is not there; whether it was made. One that is there must be
/// a folder and no link, ours, and closed to the writing of others.
pub(crate) fn folder(path: &Path) -> Result<bool, Refusal> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => return Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(unwritable(path, &error)),
    }
    checked(path)?;
    Ok(false)
}

/// Refuses the folder at `path` unless it is ours alone; one that is not there is nobody's.
pub(crate) fn checked(path: &Path) -> Result<(), Refusal> {
    match path.symlink_metadata() {
        Ok(found) if !found.is_dir() => Err(not_ours(path, "is no folder (a link is none)")),
        Ok(found) => owned(path, &found, "chmod go-w"),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(unwritable(path, &error)),
    }
}

/// The file at `path`, to be read; nothing when there is none.
pub(crate) fn readable(path: &Path) -> Result<Option<File>, Error> {
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(CAREFULLY)
        .open(path);
    match opened {
        Ok(file) => plain(&file).map(|()| Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether somebody else could write it: anybody, or a group that is not the one of this
/// process.
pub(crate) fn is_open_to_others(found: &Metadata) -> bool {
    let foreign_group = found.gid() != rustix::process::getegid().as_raw();
    found.mode() & 0o002 != 0 || (found.mode() & 0o020 != 0 && foreign_group)
}

/// The text at `path`, which has at most `bytes_max` bytes; nothing when there is none.
pub(crate) fn text(path: &Path, bytes_max: u64) -> Result<Option<String>, Error> {
    let Some(file) = readable(path)? else {
        return Ok(None);
    };
    let length = file.metadata()?.len();
    if length > bytes_max {
        let text = format!("it has {length} bytes, at most {bytes_max} are read");
        return Err(Error::other(text));
    }
    let mut text = String::new();
    file.take(bytes_max).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// The file at `path`, made 0600 when it is not there; what is written goes to its end.
pub(crate) fn appended(path: &Path) -> Result<File, Error> {
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(CAREFULLY)
        .open(path)?;
    plain(&file)?;
    Ok(file)
}

fn plain(file: &File) -> Result<(), Error> {
    if file.metadata()?.is_file() {
        return Ok(());
    }
    Err(Error::other("it is no regular file"))
}

fn owned(path: &Path, found: &Metadata, cure: &str) -> Result<(), Refusal> {
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(not_ours(path, "belongs to somebody else"));
    }
    if found.mode() & 0o022 != 0 {
        return Err(not_ours(
            path,
            &format!("can be written by others; `{cure}` it"),
        ));
    }
    Ok(())
}

fn not_ours(path: &Path, what: &str) -> Refusal {
    let text = "the host's data is not its own alone";
    Refusal::new(ErrorType::StoreUnavailable, text)
        .for_operator(format!("{} {what}", path.display()))
}

/// The refusal for what the system says of writing `path`.
pub(crate) fn unwritable(path: &Path, error: &Error) -> Refusal {
    let text = "the host's data cannot be written";
    Refusal::new(ErrorType::StoreUnavailable, text)
        .for_operator(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_folder_that_others_can_write_or_that_is_a_link_is_refused_x63() {
        let place = tempfile::tempdir().unwrap();
        let own = place.path().join("own");
        assert!(folder(&own).unwrap(), "made");
        assert!(!folder(&own).unwrap(), "found");
        std::fs::set_permissions(&own, Permissions::from_mode(0o777)).unwrap();
        let refusal = folder(&own).unwrap_err();
        assert_eq!(refusal.kind(), ErrorType::StoreUnavailable);
        assert!(refusal.operator().unwrap().contains("chmod go-w"), "X71");
        std::fs::set_permissions(&own, Permissions::from_mode(0o700)).unwrap();
        let link = place.path().join("link");
        symlink(&own, &link).unwrap();
        assert!(
            folder(&link)
                .unwrap_err()
                .operator()
                .unwrap()
                .contains("link")
        );
        assert!(checked(&place.path().join("none")).is_ok());
    }

    #[test]
    fn a_pipe_is_not_waited_for_and_a_link_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_bits_truncate(0o600),
            0,
        )
        .unwrap();
        assert!(text(&pipe, 10).is_err(), "H14");
        assert!(appended(&pipe).is_err(), "H14");
        let (victim, link) = (place.path().join("victim"), place.path().join("link"));
        std::fs::write(&victim, "kept").unwrap();
        symlink(&victim, &link).unwrap();
        assert!(appended(&link).is_err() && text(&link, 10).is_err());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "kept");
        assert_eq!(text(&victim, 4).unwrap().as_deref(), Some("kept"));
        assert!(text(&victim, 3).is_err(), "more than may be read");
        assert_eq!(text(&place.path().join("none"), 3).unwrap(), None);
    }
}
