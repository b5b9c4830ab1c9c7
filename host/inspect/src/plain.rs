//! Plain files of the operator's: opened without waiting, refused by what they are.
//!
//! Rule (D2, H14): what is not a plain file is refused without being opened for reading;
//! what was opened is checked again, so a file that is swapped for a pipe between the two
//! looks does not hang anything.

use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use bindery_types::{Budget, ErrorType, LimitName, Refusal};
use rustix::fs::{Mode, OFlags};

/// Why there is no plain file to read.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Something else is there.
    Kind {
        /// For machines.
        kind: &'static str,
        /// For people, with its article.
        what: &'static str,
    },
    /// The system says no.
    System(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// The plain file at `path`, and its size in bytes.
pub(crate) fn open(path: &Path) -> Result<(File, u64), Fault> {
    plain(&std::fs::metadata(path)?)?;
    // O_NONBLOCK: should a pipe have taken the file's place, opening it must not wait.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from)?;
    let file = File::from(opened);
    let metadata = file.metadata()?;
    plain(&metadata)?;
    Ok((file, metadata.len()))
}

fn plain(metadata: &Metadata) -> Result<(), Fault> {
    let file_type = metadata.file_type();
    let (kind, what) = match () {
        () if file_type.is_file() => return Ok(()),
        () if file_type.is_dir() => ("directory", "a directory"),
        () if file_type.is_fifo() => ("fifo", "a named pipe"),
        () if file_type.is_socket() => ("socket", "a socket"),
        () => ("device", "a device"),
    };
    Err(Fault::Kind { kind, what })
}

/// The bytes of the arguments file at `path`, up to limit `arguments` and one byte more:
/// whoever reads them as arguments refuses what is too long.
///
/// # Errors
///
/// [`ErrorType::Usage`] when there is no readable plain file; it names the path, and what
/// is there instead as `kind`.
pub fn read_arguments(path: &Path, budget: &Budget) -> Result<Vec<u8>, Refusal> {
    let limit = budget.get(LimitName::Arguments).or_max();
    let read = || {
        let mut bytes = Vec::new();
        let (file, _) = open(path)?;
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|fault| {
        let path = path.display();
        let refuse = |message| Refusal::new(ErrorType::Usage, message);
        match fault {
            Fault::Kind { kind, what } => refuse(format!(
                "the arguments `{path}` are {what}, a plain file was expected; say `-` to read standard input"
            ))
            .with("kind", kind),
            Fault::System(error) => refuse(format!("cannot read the arguments `{path}`: {error}")),
        }
    })
}
