//! `list-dir`: the entries of one directory.

use wasip2::filesystem::types::{Descriptor, DescriptorType, PathFlags};

use crate::fault;
use crate::place::{Grants, open_directory};
use crate::wit::{Entry, Error, Kind, ListOptions, Listing};

const ENTRIES_MAX: u32 = 1_000;

/// Lists a directory in the order of names.
pub(crate) fn list(path: &str, options: Option<&ListOptions>) -> Result<Listing, Error> {
    let grants = Grants::all();
    let place = grants.place(path)?;
    let shown = place.shown();
    let directory = open_directory(
        &place.grant.descriptor,
        &place.path,
        PathFlags::SYMLINK_FOLLOW,
    )
    .map_err(|code| fault::of(code, &shown))?;
    let hidden = options.and_then(|options| options.hidden).unwrap_or(true);
    let entries_max = options
        .and_then(|options| options.entries_max)
        .unwrap_or(ENTRIES_MAX);
    let stream = directory
        .read_directory()
        .map_err(|code| fault::of(code, &shown))?;
    let mut names = Vec::new();
    while let Some(entry) = stream
        .read_directory_entry()
        .map_err(|code| fault::of(code, &shown))?
    {
        if hidden || !entry.name.starts_with('.') {
            names.push((entry.name, entry.type_));
        }
    }
    names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let kept = usize::try_from(entries_max).unwrap_or(usize::MAX);
    let truncated = names.len() > kept;
    names.truncate(kept);
    let entries = names
        .into_iter()
        .map(|(name, kind)| entry(&directory, name, kind))
        .collect();
    Ok(Listing { entries, truncated })
}

/// A file that is gone by the time it is measured is listed without a size.
fn entry(directory: &Descriptor, name: String, kind: DescriptorType) -> Entry {
    let kind = match kind {
        DescriptorType::RegularFile => Kind::File,
        DescriptorType::Directory => Kind::Directory,
        DescriptorType::SymbolicLink => Kind::Link,
        _ => Kind::Other,
    };
    let size = match kind {
        Kind::File => directory
            .stat_at(PathFlags::empty(), &name)
            .ok()
            .map(|stat| stat.size),
        Kind::Directory | Kind::Link | Kind::Other => None,
    };
    Entry { name, kind, size }
}
