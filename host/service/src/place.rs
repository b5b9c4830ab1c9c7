//! Where a host lives: its configuration file, and the folder with its data.
//!
//! Rule: nothing is searched for. The file is the one that was named, the folder is beside
//! it unless said; the folder is the owner's alone.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use bindery::policy::{Document, PROJECT_ALIAS, PROJECT_FILE, ProjectPolicy, STARTER};
use bindery::{ErrorType, Refusal};

use crate::private::{self, unwritable};

/// The configuration's name where none is said.
const CONFIG: &str = "bindery.toml";
/// The folder of data beside it where none is said.
const DATA: &str = ".bindery";
/// How long a log may have grown when a host is started.
const LOG_BYTES_MAX: u64 = 4 << 20;
/// Most bytes of a text that is read as configuration.
const TEXT_BYTES_MAX: u64 = 1 << 20;

/// Configuration and data of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    config: PathBuf,
    data: PathBuf,
}

impl Place {
    /// The place with this configuration file (`bindery.toml` here, when none is said) and
    /// this folder of data (`.bindery` beside the file).
    pub fn new(config: Option<PathBuf>, data: Option<PathBuf>) -> Self {
        let config = config.unwrap_or_else(|| PathBuf::from(CONFIG));
        let data = data.unwrap_or_else(|| beside(&config).join(DATA));
        Self { config, data }
    }

    /// The configuration file.
    pub fn config(&self) -> &Path {
        &self.config
    }

    /// The folder of data.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Paths in the configuration are relative to this.
    pub(crate) fn base(&self) -> PathBuf {
        beside(&self.config)
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.data.join("store")
    }

    pub(crate) fn components(&self) -> PathBuf {
        self.data.join("components")
    }

    /// What a host in the background prints.
    pub fn log(&self) -> PathBuf {
        self.data.join("host.log")
    }

    /// The same, to be written at its end: of two hosts that are started at once neither
    /// takes the other's words away. One that has grown long begins anew, unless a host
    /// runs.
    ///
    /// # Errors
    ///
    /// `store_unavailable` when it is no file of the host's own.
    pub fn open_log(&self) -> Result<File, Refusal> {
        let path = self.log();
        let opened = private::appended(&path).and_then(|file| {
            if file.metadata()?.len() > LOG_BYTES_MAX && self.is_free() {
                file.set_len(0)?;
            }
            Ok(file)
        });
        opened.map_err(|error| unwritable(&path, &error))
    }

    /// The log's text from the byte `from` on, as far as one wants to read at once.
    pub fn log_since(&self, from: u64) -> String {
        let read = || {
            let Some(mut file) = private::readable(&self.log())? else {
                return Ok(String::new());
            };
            file.seek(SeekFrom::Start(from))?;
            let mut bytes = Vec::new();
            file.take(TEXT_BYTES_MAX).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        read().unwrap_or_else(|error: std::io::Error| error.to_string())
    }

    /// The name of the socket in the folder of data.
    pub(crate) const SOCKET: &'static str = "host.sock";

    /// The configuration, read.
    ///
    /// # Errors
    ///
    /// `policy_malformed` with every fault; `usage` when there is no such file.
    pub fn document(&self) -> Result<Document, Refusal> {
        let name = self.config.display().to_string();
        let text = text(&self.config)?.ok_or_else(|| {
            let message = format!("there is no configuration `{name}`: `bindery init` writes one");
            Refusal::new(ErrorType::Usage, message)
        })?;
        Ok(Document::parse(&name, &text)?)
    }

    /// The project's own file beside the configuration, if there is one.
    ///
    /// # Errors
    ///
    /// `policy_malformed` when it cannot be read, or both of its names are there.
    pub fn project(&self) -> Result<Option<ProjectPolicy>, Refusal> {
        let base = self.base();
        let (own, alias) = (
            text(&base.join(PROJECT_FILE))?,
            text(&base.join(PROJECT_ALIAS))?,
        );
        Ok(ProjectPolicy::of_project(own.as_deref(), alias.as_deref())?)
    }

    /// Writes a commented configuration that denies everything, and makes the folder of
    /// data. What is there already is left as it is.
    ///
    /// # Errors
    ///
    /// `usage` when the configuration exists, `store_unavailable` when something cannot be
    /// written.
    pub fn init(&self) -> Result<(), Refusal> {
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            // Whoever can write it is the policy, whatever the umask says.
            .mode(0o644)
            .open(&self.config)
            .and_then(|mut file| {
                let written = file.write_all(STARTER.as_bytes());
                written.inspect_err(|_| {
                    // Half of it would be in the way of the next try.
                    drop(std::fs::remove_file(&self.config));
                })
            });
        match made {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let message = format!(
                    "`{}` is there already; it is left as it is",
                    self.config.display()
                );
                return Err(Refusal::new(ErrorType::Usage, message));
            }
            Err(error) => return Err(unwritable(&self.config, &error)),
        }
        self.make_data()
    }

    /// Makes what a host needs that is not there yet.
    ///
    /// # Errors
    ///
    /// `store_unavailable` when it cannot be made.
    pub fn prepare(&self) -> Result<(), Refusal> {
        self.make_data()
    }

    /// The folder of key-value stores, made if it is not there.
    pub(crate) fn make_values(&self) -> Result<PathBuf, Refusal> {
        self.make_data()?;
        let folder = self.data.join("values");
        private::folder(&folder)?;
        Ok(folder)
    }

    /// Whether no process owns the store.
    pub fn is_free(&self) -> bool {
        !bindery_store::is_owned(&self.store())
    }

    /// Makes the folder of data, its owner's alone, kept out of version control but for the
    /// project's policy.
    pub(crate) fn make_data(&self) -> Result<(), Refusal> {
        if !private::folder(&self.data)? {
            return Ok(());
        }
        let ignore = self.data.join(".gitignore");
        std::fs::write(&ignore, "*\n!.gitignore\n!tool-policy.json\n")
            .map_err(|error| unwritable(&ignore, &error))
    }
}

fn beside(config: &Path) -> PathBuf {
    match config.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

/// A text file, whole, or nothing when it is not there. A pipe or a device is not waited
/// for.
fn text(path: &Path) -> Result<Option<String>, Refusal> {
    let malformed = |why: String| {
        Refusal::new(
            ErrorType::PolicyMalformed,
            "the configuration cannot be read",
        )
        .for_operator(format!("{}: {why}", path.display()))
    };
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(nonblocking)
        .open(path);
    let file: File = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(malformed(error.to_string())),
    };
    let found = file
        .metadata()
        .map_err(|error| malformed(error.to_string()))?;
    if !found.is_file() {
        return Err(malformed("it is no regular file".to_owned()));
    }
    if private::is_open_to_others(&found) {
        return Err(malformed(
            "others can write it, and whoever can is the policy; `chmod o-w` it, and `chmod g-w` unless the group is yours alone".to_owned(),
        ));
    }
    if found.len() > TEXT_BYTES_MAX {
        return Err(malformed(format!(
            "it has {} bytes, at most {TEXT_BYTES_MAX} are read",
            found.len()
        )));
    }
    let mut text = String::new();
    file.take(TEXT_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(|error| malformed(error.to_string()))?;
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn init_writes_what_denies_everything_and_never_over_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(Some(folder.path().join("bindery.toml")), None);
        assert_eq!(place.document().unwrap_err().kind(), ErrorType::Usage);
        place.init().unwrap();
        let document = place.document().unwrap();
        assert!(document.policy.rules.is_empty());
        assert!(document.grants.is_empty());
        let mode = place.data().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "X71");
        std::fs::write(place.config(), "# mine").unwrap();
        assert_eq!(place.init().unwrap_err().kind(), ErrorType::Usage);
        assert_eq!(std::fs::read_to_string(place.config()).unwrap(), "# mine");
    }

    #[test]
    fn a_configuration_that_is_no_file_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(Some(folder.path().to_owned()), None);
        let refusal = place.document().unwrap_err();
        assert_eq!(refusal.kind(), ErrorType::PolicyMalformed);
        assert!(refusal.operator().unwrap().contains("no regular file"));
    }

    #[test]
    fn a_project_file_that_cannot_be_read_refuses_the_session_r_313() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(Some(folder.path().join("bindery.toml")), None);
        assert_eq!(place.project().unwrap(), None);
        place.init().unwrap();
        let file = folder.path().join(PROJECT_FILE);
        std::fs::write(&file, "{\"allow\": []}").unwrap();
        assert_eq!(place.project().unwrap().unwrap().allow, Some(Vec::new()));
        std::fs::write(&file, "{\"allow\": 1}").unwrap();
        let refusal = place.project().unwrap_err();
        assert_eq!(refusal.kind(), ErrorType::PolicyMalformed, "R-313");
    }
}
