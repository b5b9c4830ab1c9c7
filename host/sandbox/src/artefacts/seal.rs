//! The statement that a file was checked and is unchanged, so that its hash can be skipped.
//!
//! Rule (architecture § 5): a seal names one entry and the identity, size and times of the
//! file that was checked, and carries a MAC. A file whose change is younger than the
//! clock's grain could change again unseen, so it is sealed only when it has rested.
//! A seal's own modification time says when the entry was last used.

use std::io::{self, Read as _, Write as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;

use super::directory::{Directory, Modes};
use super::entry::{EntryName, damaged, foreign};
use super::key::{Key, Purpose};

/// Longer than the coarsest time stamp of a file system in use (one second, ext3).
const REST: Duration = Duration::from_secs(2);
const MAGIC: [u8; 8] = *b"bndseal1";
/// More than any seal has.
const BYTES_MAX: u64 = 256;

/// Whether `directory` has a seal of `name` for exactly the file of `stat`.
pub(super) fn holds(directory: &Directory, key: &Key, name: EntryName, stat: &Stat) -> bool {
    // No seal, a foreign or damaged one: the file is hashed, which decides.
    read(directory, key, name).is_ok_and(|stated| stated == statement(name, stat))
}

/// Checks the seal of `name`, which should speak of the file of `stat`.
pub(super) fn check(
    directory: &Directory,
    key: &Key,
    name: EntryName,
    stat: &Stat,
) -> io::Result<()> {
    match read(directory, key, name)? == statement(name, stat) {
        true => Ok(()),
        // What was sealed was copied, moved or stored again since.
        false => Err(foreign(
            "it was made for the same entry in another place or at another time",
        )),
    }
}

/// What the seal of `name` states, if this key's MAC is under it.
fn read(directory: &Directory, key: &Key, name: EntryName) -> io::Result<Vec<u8>> {
    let (file, _) = directory.open_own(&name.seal(), Modes::ReadOnly)?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes)?;
    let (stated, mac) = bytes
        .split_last_chunk::<32>()
        .ok_or_else(|| damaged("it is too short"))?;
    let mut computed = key.mac(Purpose::Seal)?;
    computed.update(stated);
    match computed.is(mac) {
        true => Ok(stated.to_vec()),
        false => Err(damaged("its MAC is wrong")),
    }
}

/// Seals the file of `stat`, which was just checked, if it has rested.
pub(super) fn set(
    directory: &Directory,
    key: &Key,
    name: EntryName,
    stat: &Stat,
) -> io::Result<()> {
    if !has_rested(stat) {
        return Ok(());
    }
    let statement = statement(name, stat);
    let mut mac = key.mac(Purpose::Seal)?;
    mac.update(&statement);
    let mac = mac.finish();
    directory.create(&name.seal(), 0o400, |file| {
        file.write_all(&statement)?;
        file.write_all(&mac)
    })
}

fn has_rested(stat: &Stat) -> bool {
    let changed = u64::try_from(stat.st_ctime).unwrap_or(u64::MAX);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.is_ok_and(|now| now.as_secs() > changed.saturating_add(REST.as_secs()))
}

/// What is stated: the entry, and which file with which times was checked.
fn statement(name: EntryName, stat: &Stat) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(name.as_bytes());
    bytes.extend(stat.st_dev.to_le_bytes());
    bytes.extend(stat.st_ino.to_le_bytes());
    bytes.extend(stat.st_size.to_le_bytes());
    bytes.extend(stat.st_mtime.to_le_bytes());
    bytes.extend(stat.st_mtime_nsec.to_le_bytes());
    bytes.extend(stat.st_ctime.to_le_bytes());
    bytes.extend(stat.st_ctime_nsec.to_le_bytes());
    bytes
}
