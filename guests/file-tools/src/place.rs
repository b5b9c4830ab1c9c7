//! From a path as the caller writes it to a descriptor and a path below it.
//!
//! Nothing here decides what is allowed: `..`, links and the rest go to the host as they
//! are, and the host refuses what leaves the grant.

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};

use crate::fault;
use crate::wit::Error;

/// The directories that were granted.
pub(crate) struct Grants(Vec<Grant>);

/// One of them.
pub(crate) struct Grant {
    pub(crate) descriptor: Descriptor,
    /// Its name in the guest's tree, without a slash at the end; the root is empty.
    pub(crate) name: String,
}

/// A path below a grant.
pub(crate) struct Place<'a> {
    pub(crate) grant: &'a Grant,
    /// Relative, without `.` parts; empty for the grant itself.
    pub(crate) path: String,
}

impl Grants {
    /// All of them.
    pub(crate) fn all() -> Self {
        let named = |(descriptor, name): (Descriptor, String)| Grant {
            descriptor,
            name: name.trim_end_matches('/').to_owned(),
        };
        Self(get_directories().into_iter().map(named).collect())
    }

    /// The places of the given paths, or every grant's root.
    pub(crate) fn places(&self, paths: Option<&[String]>) -> Result<Vec<Place<'_>>, Error> {
        match paths {
            Some(paths) => paths.iter().map(|path| self.place(path)).collect(),
            None => Ok(self
                .0
                .iter()
                .map(|grant| Place {
                    grant,
                    path: String::new(),
                })
                .collect()),
        }
    }

    /// The grant with the longest name that covers the path.
    pub(crate) fn place(&self, path: &str) -> Result<Place<'_>, Error> {
        if !path.starts_with('/') {
            return match self.0.as_slice() {
                [grant] => Ok(Place {
                    grant,
                    path: tidy(path),
                }),
                _ => Err(Error::NotFound(format!(
                    "{path}: a relative path needs exactly one granted directory"
                ))),
            };
        }
        let below = |grant: &Grant| {
            let rest = path.strip_prefix(grant.name.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| tidy(rest))
        };
        let covering = self
            .0
            .iter()
            .filter_map(|grant| below(grant).map(|path| Place { grant, path }));
        covering
            .max_by_key(|place| place.grant.name.len())
            .ok_or_else(|| Error::NotFound(format!("{path}: no granted directory covers it")))
    }
}

impl Place<'_> {
    /// The path as the caller may write it.
    pub(crate) fn shown(&self) -> String {
        match self.path.as_str() {
            "" if self.grant.name.is_empty() => "/".to_owned(),
            "" => self.grant.name.clone(),
            path => format!("{}/{path}", self.grant.name),
        }
    }

    /// What the path is, links followed.
    pub(crate) fn kind(&self) -> Result<DescriptorType, Error> {
        let stat = self
            .grant
            .descriptor
            .stat_at(PathFlags::SYMLINK_FOLLOW, or_dot(&self.path));
        stat.map(|stat| stat.type_)
            .map_err(|code| fault::of(code, &self.shown()))
    }
}

/// Opens a file below a directory for reading.
pub(crate) fn open_file(
    directory: &Descriptor,
    path: &str,
    follow: PathFlags,
) -> Result<Descriptor, ErrorCode> {
    directory.open_at(follow, path, OpenFlags::empty(), DescriptorFlags::READ)
}

/// Opens a directory below a directory for reading.
pub(crate) fn open_directory(
    directory: &Descriptor,
    path: &str,
    follow: PathFlags,
) -> Result<Descriptor, ErrorCode> {
    directory.open_at(
        follow,
        or_dot(path),
        OpenFlags::DIRECTORY,
        DescriptorFlags::READ,
    )
}

fn or_dot(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

/// Without empty and `.` parts; `..` stays for the host to judge.
fn tidy(path: &str) -> String {
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    parts.join("/")
}
