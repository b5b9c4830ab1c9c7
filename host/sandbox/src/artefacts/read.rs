//! From a stored file to a component: opened once, checked, loaded from what was checked.
//!
//! Rule (H14, H40, X74): the descriptor that is opened is the one whose owner, mode, link
//! count and MAC are checked and the one that is mapped; there is no second look at a path.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;

use rustix::fs::Stat;
use wasmtime::Engine;
use wasmtime::component::Component;

use super::directory::{Directory, Modes};
use super::entry::{EntryName, TRAILER_BYTES, Trailer, damaged, trailer_bytes};
use super::key::{Key, Purpose};
use super::{Check, seal};

/// How much is hashed at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// Loads the entry `name`. `NotFound` is a miss; any other error says why what is there is
/// not loaded.
pub(super) fn load(
    directory: &Directory,
    key: &Key,
    engine: &Engine,
    name: EntryName,
    check: Check,
) -> io::Result<Component> {
    let (file, stat) = directory.open_own(&name.file(), Modes::ReadOnly)?;
    let component = match check {
        Check::Strict => copied(&file, key, engine, name)?,
        Check::Unchanged => {
            if !seal::holds(directory, key, name, &stat) {
                check_mac(&file, &stat, key, name)?;
                // Without its seal the file is hashed again next time, no more.
                if let Err(error) = seal::set(directory, key, name, &stat) {
                    tracing::debug!(%error, "an entry of the artefact store is not sealed");
                }
            }
            // Without /proc the code is copied instead of mapped.
            mapped(&file, engine).or_else(|_| copied(&file, key, engine, name))?
        }
    };
    // How recently it was used decides only what is evicted first.
    let _touched = directory.touch(&name.seal());
    Ok(component)
}

/// Maps the code of `file`, whose content the caller has checked.
fn mapped(file: &File, engine: &Engine) -> wasmtime::Result<Component> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    #[allow(
        unsafe_code,
        reason = "loading code is the purpose; its origin is proven"
    )]
    // SAFETY: the contract is that the file holds what `precompile_component` made and
    // does not change while it is mapped. Content: `load` has found it authentic, by its
    // MAC over all bytes or by a sealed statement that this very inode, unchanged since,
    // had been. The MAC is made in `write` alone, over `CompiledCode`. The path names the
    // open descriptor, so it is the same inode. Change: the file is ours alone, 0400, with
    // one name in a directory only we can write; this program writes a file before it has
    // this name and never after, and replaces or evicts by name, which leaves the inode.
    // Another program of the same user could change it: it could as well change this one.
    unsafe {
        Component::deserialize_file(engine, path)
    }
}

/// Reads the whole of `file`, checks it, and loads the copy.
fn copied(file: &File, key: &Key, engine: &Engine, name: EntryName) -> io::Result<Component> {
    let mut bytes = Vec::new();
    let mut from_start = file;
    io::Seek::rewind(&mut from_start)?;
    from_start.read_to_end(&mut bytes)?;
    let parts = bytes.split_last_chunk::<TRAILER_BYTES>();
    let (code, end) = parts.ok_or_else(|| damaged("it is too short"))?;
    let (trailer, mac) = Trailer::parse(end).ok_or_else(|| damaged("it has no trailer"))?;
    trailer.fits(name, u64::try_from(bytes.len()).unwrap_or(u64::MAX), key)?;
    let mut computed = key.mac(Purpose::Entry)?;
    computed.update(code);
    computed.update(&trailer.to_bytes());
    if !computed.is(&mac) {
        return Err(damaged("its MAC is wrong"));
    }
    #[allow(
        unsafe_code,
        reason = "loading code is the purpose; its origin is proven"
    )]
    // SAFETY: `code` is a copy in our memory that nothing changes, and its MAC, just
    // checked, is made in `write` alone, over `CompiledCode`, which comes from
    // `precompile_component`.
    let component = unsafe { Component::deserialize(engine, code) };
    component.map_err(|error| damaged(&format!("{error:#}")))
}

/// Checks length, name and MAC of an open entry, through its descriptor.
pub(super) fn check_mac(file: &File, stat: &Stat, key: &Key, name: EntryName) -> io::Result<()> {
    let (trailer, mac) = read_trailer(file, stat)?;
    trailer.fits(name, size(stat), key)?;
    let mut computed = key.mac(Purpose::Entry)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut at = 0;
    while at < trailer.code_bytes {
        let left = usize::try_from(trailer.code_bytes - at).unwrap_or(CHUNK_BYTES);
        let wanted = chunk.len().min(left);
        let part = chunk.get_mut(..wanted).unwrap_or_default();
        file.read_exact_at(part, at)?;
        computed.update(part);
        at = at.saturating_add(u64::try_from(wanted).unwrap_or(u64::MAX));
    }
    computed.update(&trailer.to_bytes());
    if computed.is(&mac) {
        Ok(())
    } else {
        Err(damaged("its MAC is wrong"))
    }
}

/// The trailer of an open entry and its MAC; nothing is checked but its form.
pub(super) fn read_trailer(file: &File, stat: &Stat) -> io::Result<(Trailer, [u8; 32])> {
    let at = size(stat)
        .checked_sub(trailer_bytes())
        .ok_or_else(|| damaged("it is too short"))?;
    let mut end = [0; TRAILER_BYTES];
    file.read_exact_at(&mut end, at)?;
    Trailer::parse(&end).ok_or_else(|| damaged("it has no trailer"))
}

pub(super) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}
