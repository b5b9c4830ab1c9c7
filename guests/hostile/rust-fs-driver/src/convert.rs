//! The driver's own types to WASI's and back: equal shapes, other names.

use wasip2::clocks::wall_clock::Datetime as WasiDatetime;
use wasip2::filesystem::types as wasi;

use crate::bindings::exports::hostile::fs_driver::driver::{
    Advice, Answer, Datetime, DescriptorFlags, Entry, NewTimestamp, OpenFlags, PathFlags, Stat,
};

pub(crate) fn path_flags(flags: PathFlags) -> wasi::PathFlags {
    wasi::PathFlags::from_bits_truncate(flags.bits())
}

pub(crate) fn open_flags(flags: OpenFlags) -> wasi::OpenFlags {
    wasi::OpenFlags::from_bits_truncate(flags.bits())
}

pub(crate) fn descriptor_flags(flags: DescriptorFlags) -> wasi::DescriptorFlags {
    wasi::DescriptorFlags::from_bits_truncate(flags.bits())
}

pub(crate) fn answered_flags(flags: wasi::DescriptorFlags) -> DescriptorFlags {
    DescriptorFlags::from_bits_truncate(flags.bits())
}

pub(crate) fn advice(advice: Advice) -> wasi::Advice {
    match advice {
        Advice::Normal => wasi::Advice::Normal,
        Advice::Sequential => wasi::Advice::Sequential,
        Advice::Random => wasi::Advice::Random,
        Advice::WillNeed => wasi::Advice::WillNeed,
        Advice::DontNeed => wasi::Advice::DontNeed,
        Advice::NoReuse => wasi::Advice::NoReuse,
    }
}

pub(crate) fn timestamp(time: NewTimestamp) -> wasi::NewTimestamp {
    match time {
        NewTimestamp::NoChange => wasi::NewTimestamp::NoChange,
        NewTimestamp::Now => wasi::NewTimestamp::Now,
        NewTimestamp::Timestamp(Datetime {
            seconds,
            nanoseconds,
        }) => wasi::NewTimestamp::Timestamp(WasiDatetime {
            seconds,
            nanoseconds,
        }),
    }
}

pub(crate) fn stat(stat: wasi::DescriptorStat) -> Answer {
    Answer::Stat(Stat {
        kind: kind(stat.type_).to_owned(),
        link_count: stat.link_count,
        size: stat.size,
        accessed: stat.data_access_timestamp.map(datetime),
        modified: stat.data_modification_timestamp.map(datetime),
        changed: stat.status_change_timestamp.map(datetime),
    })
}

pub(crate) fn entry(entry: wasi::DirectoryEntry) -> Entry {
    Entry {
        kind: kind(entry.type_).to_owned(),
        name: entry.name,
    }
}

pub(crate) fn hash(hash: wasi::MetadataHashValue) -> Answer {
    Answer::Text(format!("{:016x}{:016x}", hash.upper, hash.lower))
}

pub(crate) fn kind(kind: wasi::DescriptorType) -> &'static str {
    match kind {
        wasi::DescriptorType::Unknown => "unknown",
        wasi::DescriptorType::BlockDevice => "block-device",
        wasi::DescriptorType::CharacterDevice => "character-device",
        wasi::DescriptorType::Directory => "directory",
        wasi::DescriptorType::Fifo => "fifo",
        wasi::DescriptorType::SymbolicLink => "symbolic-link",
        wasi::DescriptorType::RegularFile => "regular-file",
        wasi::DescriptorType::Socket => "socket",
    }
}

fn datetime(time: WasiDatetime) -> Datetime {
    Datetime {
        seconds: time.seconds,
        nanoseconds: time.nanoseconds,
    }
}
