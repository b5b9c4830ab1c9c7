//! From compiled code to a stored file, and which files go when the store is full.
//!
//! Rule (D1, D4): an entry is written once under a name nobody knows, made durable, and
//! renamed; two processes that store the same code replace each other's equal file.

use std::io::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use bindery_types::Digest;

use super::directory::Directory;
use super::engine_id::EngineId;
use super::entry::{EntryName, Trailer};
use super::key::{Key, Purpose};
use super::read::size;
use crate::compile::CompiledCode;

/// Stores `code` as what `component` compiles to for `engine`.
pub(super) fn put(
    directory: &Directory,
    key: &Key,
    engine: &EngineId,
    component: Digest,
    code: &CompiledCode,
) -> io::Result<()> {
    let trailer = Trailer {
        component,
        engine: *engine,
        key: key.id(),
        code_bytes: u64::try_from(code.as_slice().len()).map_err(io::Error::other)?,
        created_s: now_s(),
    };
    let fields = trailer.to_bytes();
    let mut mac = key.mac(Purpose::Entry)?;
    mac.update(code.as_slice());
    mac.update(&fields);
    let mac = mac.finish();
    let name = EntryName::of(component, engine);
    directory.create(&name.file(), 0o400, |file| {
        file.write_all(code.as_slice())?;
        file.write_all(&fields)?;
        file.write_all(&mac)
    })
}

/// Removes the least recently used entries until the store holds at most `bytes_max`.
pub(super) fn evict(directory: &Directory, bytes_max: u64) -> io::Result<()> {
    let mut entries = Vec::new();
    let mut total = 0_u64;
    for name in directory
        .names()?
        .iter()
        .filter_map(|file| EntryName::of_file(file))
    {
        // One that vanished meanwhile takes no room.
        let Ok(stat) = directory.stat(&name.file()) else {
            continue;
        };
        total = total.saturating_add(size(&stat));
        let used = directory.stat(&name.seal()).unwrap_or(stat);
        entries.push(((used.st_mtime, used.st_mtime_nsec), size(&stat), name));
    }
    entries.sort_by_key(|(used, _, _)| *used);
    for (_, bytes, name) in entries {
        if total <= bytes_max {
            break;
        }
        directory.remove(&name.seal())?;
        directory.remove(&name.file())?;
        total = total.saturating_sub(bytes);
    }
    Ok(())
}

fn now_s() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}
