//! One operation on one slot; nothing is checked here that the host should check.

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, ErrorCode};

use crate::bindings::exports::hostile::fs_driver::driver::{Answer, OpenAt, Operation, SetTimesAt};
use crate::convert;
use crate::many;
use crate::stream;

/// The open descriptors of one `drive`. A closed slot keeps its number.
pub(crate) struct Slots {
    preopen_names: Vec<String>,
    descriptors: Vec<Option<Descriptor>>,
}

type Answered = Result<Answer, String>;

impl Slots {
    /// The preopens, in their order.
    pub(crate) fn preopened() -> Self {
        let (descriptors, preopen_names) = get_directories()
            .into_iter()
            .map(|(descriptor, name)| (Some(descriptor), name))
            .unzip();
        Self {
            preopen_names,
            descriptors,
        }
    }

    /// The descriptor in a slot.
    pub(crate) fn get(&self, slot: u32) -> Result<&Descriptor, String> {
        let found = usize::try_from(slot)
            .ok()
            .and_then(|slot| self.descriptors.get(slot));
        found
            .and_then(Option::as_ref)
            .ok_or_else(|| "no-slot".to_owned())
    }

    /// Does one operation.
    pub(crate) fn operate(&mut self, operation: Operation) -> Answered {
        match operation {
            Operation::Preopens => Ok(Answer::Names(self.preopen_names.clone())),
            Operation::OpenAt(open) => self.open_at(&open),
            Operation::Close(slot) => self.close(slot),
            other => self.on_files(other),
        }
    }

    fn open_at(&mut self, open: &OpenAt) -> Answered {
        let opened = self
            .get(open.slot)?
            .open_at(
                convert::path_flags(open.path_flags),
                &open.path,
                convert::open_flags(open.open_flags),
                convert::descriptor_flags(open.flags),
            )
            .map_err(name)?;
        self.descriptors.push(Some(opened));
        let slot = self.descriptors.len().saturating_sub(1);
        u32::try_from(slot)
            .map(Answer::Slot)
            .map_err(|_| "no-slot".to_owned())
    }

    fn close(&mut self, slot: u32) -> Answered {
        self.get(slot)?;
        let place = usize::try_from(slot)
            .ok()
            .and_then(|slot| self.descriptors.get_mut(slot));
        if let Some(place) = place {
            *place = None;
        }
        Ok(Answer::Done)
    }

    /// Contents and streams; paths and attributes go on to the next method.
    fn on_files(&self, operation: Operation) -> Answered {
        match operation {
            Operation::Read(region) => {
                let (data, _) = self
                    .get(region.slot)?
                    .read(region.length, region.offset)
                    .map_err(name)?;
                Ok(Answer::Data(data))
            }
            Operation::Write(write) => {
                let written = self.get(write.slot)?.write(&write.data, write.offset);
                written.map(Answer::Count).map_err(name)
            }
            Operation::StreamRead(region) => {
                stream::read(self.get(region.slot)?, region.offset, region.length)
            }
            Operation::StreamWrite(write) => {
                stream::write(self.get(write.slot)?, write.offset, &write.data)
            }
            Operation::StreamAppend(append) => stream::append(self.get(append.slot)?, &append.data),
            Operation::StreamZeroes(zeroes) => {
                stream::zeroes(self.get(zeroes.slot)?, zeroes.offset, zeroes.length)
            }
            Operation::StreamSplice(splice) => stream::splice(
                self.get(splice.from_slot)?,
                self.get(splice.to_slot)?,
                splice.length,
            ),
            Operation::ReadDirectory(listing) => {
                self.read_directory(listing.slot, listing.entries_max)
            }
            Operation::CountEntries(slot) => many::count(self.get(slot)?),
            Operation::CreateMany(files) => many::create(self.get(files.slot)?, &files),
            Operation::OpenMany(files) => many::open(self.get(files.slot)?, &files),
            Operation::SetSize(size) => done(self.get(size.slot)?.set_size(size.size)),
            Operation::Sync(slot) => done(self.get(slot)?.sync()),
            Operation::SyncData(slot) => done(self.get(slot)?.sync_data()),
            Operation::Advise(advise) => {
                let descriptor = self.get(advise.slot)?;
                done(descriptor.advise(
                    advise.offset,
                    advise.length,
                    convert::advice(advise.advice),
                ))
            }
            other => self.on_names(other),
        }
    }

    /// Names in directories.
    fn on_names(&self, operation: Operation) -> Answered {
        match operation {
            Operation::CreateDirectoryAt(at) => {
                done(self.get(at.slot)?.create_directory_at(&at.path))
            }
            Operation::RemoveDirectoryAt(at) => {
                done(self.get(at.slot)?.remove_directory_at(&at.path))
            }
            Operation::UnlinkFileAt(at) => done(self.get(at.slot)?.unlink_file_at(&at.path)),
            Operation::RenameAt(pair) => {
                let to = self.get(pair.new_slot)?;
                done(
                    self.get(pair.slot)?
                        .rename_at(&pair.path, to, &pair.new_path),
                )
            }
            Operation::LinkAt(link) => {
                let to = self.get(link.new_slot)?;
                let flags = convert::path_flags(link.path_flags);
                done(
                    self.get(link.slot)?
                        .link_at(flags, &link.path, to, &link.new_path),
                )
            }
            Operation::SymlinkAt(link) => {
                done(self.get(link.slot)?.symlink_at(&link.target, &link.path))
            }
            Operation::ReadlinkAt(at) => self
                .get(at.slot)?
                .readlink_at(&at.path)
                .map(Answer::Text)
                .map_err(name),
            other => self.on_attributes(other),
        }
    }

    /// What is known about files.
    fn on_attributes(&self, operation: Operation) -> Answered {
        match operation {
            Operation::Stat(slot) => self.get(slot)?.stat().map(convert::stat).map_err(name),
            Operation::StatAt(at) => {
                let found = self
                    .get(at.slot)?
                    .stat_at(convert::path_flags(at.path_flags), &at.path);
                found.map(convert::stat).map_err(name)
            }
            Operation::SetTimes(times) => {
                let descriptor = self.get(times.slot)?;
                done(descriptor.set_times(
                    convert::timestamp(times.access),
                    convert::timestamp(times.modification),
                ))
            }
            Operation::SetTimesAt(times) => self.set_times_at(&times),
            Operation::GetFlags(slot) => self
                .get(slot)?
                .get_flags()
                .map(|flags| Answer::Flags(convert::answered_flags(flags)))
                .map_err(name),
            Operation::GetType(slot) => self
                .get(slot)?
                .get_type()
                .map(|kind| Answer::Text(convert::kind(kind).to_owned()))
                .map_err(name),
            Operation::IsSameObject(two) => Ok(Answer::YesNo(
                self.get(two.slot)?.is_same_object(self.get(two.other)?),
            )),
            Operation::MetadataHash(slot) => self
                .get(slot)?
                .metadata_hash()
                .map(convert::hash)
                .map_err(name),
            Operation::MetadataHashAt(at) => {
                let hash = self
                    .get(at.slot)?
                    .metadata_hash_at(convert::path_flags(at.path_flags), &at.path);
                hash.map(convert::hash).map_err(name)
            }
            _ => Err("unknown-operation".to_owned()),
        }
    }

    fn set_times_at(&self, times: &SetTimesAt) -> Answered {
        done(self.get(times.slot)?.set_times_at(
            convert::path_flags(times.path_flags),
            &times.path,
            convert::timestamp(times.access),
            convert::timestamp(times.modification),
        ))
    }

    fn read_directory(&self, slot: u32, entries_max: u32) -> Answered {
        let stream = self.get(slot)?.read_directory().map_err(name)?;
        let mut entries = Vec::new();
        for _ in 0..entries_max {
            match stream.read_directory_entry().map_err(name)? {
                Some(entry) => entries.push(convert::entry(entry)),
                None => break,
            }
        }
        Ok(Answer::Entries(entries))
    }
}

fn done(result: Result<(), ErrorCode>) -> Answered {
    result.map(|()| Answer::Done).map_err(name)
}

/// The error as WASI spells it.
pub(crate) fn name(code: ErrorCode) -> String {
    code.name().to_owned()
}
