//! What stands behind the grants of a document, opened once.
//!
//! Rule (C4, R-595): a folder is opened here and held; whatever happens to its path later,
//! the grant is for what was opened. A grant that cannot be opened is an error where a host
//! starts, not a surprise in a call.

use std::path::Path;

use bindery::policy::document::grants::Resource;
use bindery::policy::{Access as Allowed, Document};
use bindery::{Access, DirectoryGrant, ErrorType, GrantName, Refusal, Resources};
use cap_std::AmbientAuthority;
use cap_std::fs::Dir;

/// Opens everything that `document` names; relative paths begin at `base`.
///
/// # Ambient Authority
///
/// Opens folders of the host by their paths.
pub(crate) fn open(
    document: &Document,
    base: &Path,
    authority: AmbientAuthority,
) -> Result<Resources, Refusal> {
    let mut resources = Resources::default();
    for (name, entry) in &document.grants {
        match &entry.resource {
            Resource::Directory {
                host,
                guest,
                access,
            } => {
                let dir = folder(name, &base.join(host), authority)?;
                let grant = directory(name, dir, guest, *access)?;
                resources = resources.directory(name.clone(), grant);
            }
            Resource::Endpoint { .. }
            | Resource::Store { .. }
            | Resource::Config { .. }
            | Resource::Secret { .. }
            | Resource::Clock
            | Resource::Random
            | Resource::Log
            | Resource::Binding { .. } => {}
        }
    }
    Ok(resources)
}

fn folder(name: &GrantName, host: &Path, authority: AmbientAuthority) -> Result<Dir, Refusal> {
    Dir::open_ambient_dir(host, authority)
        .map_err(|error| wrong(name, &format!("{}: {error}", host.display())))
}

fn directory(
    name: &GrantName,
    dir: Dir,
    guest: &str,
    access: Allowed,
) -> Result<DirectoryGrant, Refusal> {
    let access = match access {
        Allowed::ReadOnly => Access::ReadOnly,
        Allowed::ReadWrite => Access::ReadWrite,
    };
    DirectoryGrant::new(dir, guest, access).map_err(|error| wrong(name, &error.to_string()))
}

fn wrong(name: &GrantName, why: &str) -> Refusal {
    let text = "a folder that the configuration grants cannot be opened";
    Refusal::new(ErrorType::PolicyMalformed, text).for_operator(format!("grants.{name}: {why}"))
}
