//! The shelf: admitted components, kept by digest, with what was said at their admission.
//!
//! Rule (R-375, I9, D1): what is on it is there whole or not at all, and is checked against
//! its digest whenever it is taken down; the list is replaced by a rename.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use bindery::policy::Registration;
use bindery::{
    Admission, Budget, Contract, Digest, ErrorType, Namespace, Refusal, TrustStatus, read_component,
};
use serde::{Deserialize, Serialize};

use crate::place::Place;
use crate::private::{self, unwritable};

/// The list's name.
const LIST: &str = "admitted.json";
/// Most bytes of the list that are read.
const LIST_BYTES_MAX: u64 = 64 << 20;

/// One component on the shelf.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shelved {
    /// SHA-256 of its bytes.
    pub(crate) digest: Digest,
    /// Who publishes it.
    pub(crate) namespace: Namespace,
    /// The package in its ids, where one was said.
    pub(crate) package: Option<String>,
    /// The name of the file it was taken from.
    pub(crate) origin: String,
    /// Who vouches for it.
    pub(crate) trust: TrustStatus,
    /// What is declared of its functions.
    pub(crate) contract: Contract,
    /// How sessions come to it.
    pub(crate) registration: Registration,
}

impl Shelved {
    pub(crate) fn of(digest: Digest, admission: &Admission) -> Self {
        Self {
            digest,
            namespace: admission.namespace.clone(),
            package: admission.package.clone(),
            origin: admission.origin.clone(),
            trust: admission.trust,
            contract: admission.contract.clone(),
            registration: admission.registration,
        }
    }

    pub(crate) fn admission(&self) -> Admission {
        Admission {
            namespace: self.namespace.clone(),
            package: self.package.clone(),
            origin: self.origin.clone(),
            trust: self.trust,
            contract: self.contract.clone(),
            registration: self.registration,
        }
    }
}

/// The shelf of one place.
#[derive(Debug)]
pub(crate) struct Shelf(PathBuf);

impl Shelf {
    pub(crate) fn of(place: &Place) -> Self {
        Self(place.components())
    }

    /// What is on it, in the order in which it was put there.
    pub(crate) fn list(&self) -> Result<Vec<Shelved>, Refusal> {
        let path = self.0.join(LIST);
        let damaged = |why: String| {
            Refusal::new(
                ErrorType::IntegrityFailed,
                "the list of admitted components cannot be read",
            )
            .for_operator(format!("{}: {why}", path.display()))
        };
        private::checked(&self.0)?;
        let text = private::text(&path, LIST_BYTES_MAX);
        let Some(text) = text.map_err(|error| damaged(error.to_string()))? else {
            return Ok(Vec::new());
        };
        serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))
    }

    /// Puts a component on it. One of the same namespace, package and file name is
    /// replaced by it.
    pub(crate) fn put(&self, bytes: &[u8], shelved: Shelved) -> Result<(), Refusal> {
        private::folder(&self.0)?;
        self.write(&name_of(shelved.digest), bytes)?;
        let mut list = self.list()?;
        list.retain(|other| {
            (&other.namespace, &other.package, &other.origin)
                != (&shelved.namespace, &shelved.package, &shelved.origin)
        });
        list.push(shelved);
        let text = serde_json::to_vec_pretty(&list).map_err(|error| {
            Refusal::new(ErrorType::Internal, "the list cannot be written")
                .for_operator(error.to_string())
        })?;
        self.write(LIST, &text)
    }

    /// The bytes of a component, exactly those that were admitted.
    pub(crate) fn bytes(&self, digest: Digest, budget: &Budget) -> Result<Vec<u8>, Refusal> {
        let path = self.0.join(name_of(digest));
        let bytes = read_component(&path, budget)?;
        if Digest::of(&bytes) == digest {
            return Ok(bytes);
        }
        Err(Refusal::new(
            ErrorType::IntegrityFailed,
            "an admitted component is not what was admitted",
        )
        .for_operator(format!(
            "{} has another digest than its name: admit the component again",
            path.display()
        )))
    }

    /// Whole or not at all: written under another name, made durable, then renamed.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), Refusal> {
        let path = self.0.join(name);
        let draft = self.0.join(format!("{name}.{}.new", std::process::id()));
        let written = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)
            .and_then(|mut file| {
                file.write_all(bytes)?;
                file.sync_all()
            })
            .and_then(|()| std::fs::rename(&draft, &path))
            .and_then(|()| File::open(&self.0)?.sync_all());
        written.map_err(|error| {
            // A draft that stays behind is nobody's; the next one replaces it.
            drop(std::fs::remove_file(&draft));
            unwritable(&path, &error)
        })
    }
}

fn name_of(digest: Digest) -> String {
    let text = digest.to_string();
    let hex = text.rsplit(':').next().unwrap_or(&text);
    format!("{hex}.wasm")
}
