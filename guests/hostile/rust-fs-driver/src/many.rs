//! The same thing very often, in one operation: what a test cannot write down one by one.

use wasip2::filesystem::types::{Descriptor, DescriptorFlags, OpenFlags, PathFlags};

use crate::bindings::exports::hostile::fs_driver::driver::{Answer, Many};
use crate::operate::name;

type Answered = Result<Answer, String>;

/// How many entries a directory has, each read and forgotten.
pub(crate) fn count(directory: &Descriptor) -> Answered {
    let stream = directory.read_directory().map_err(name)?;
    let mut count = 0;
    while stream.read_directory_entry().map_err(name)?.is_some() {
        count += 1;
    }
    Ok(Answer::Count(count))
}

/// Makes files until one is refused; how many there are then.
pub(crate) fn create(directory: &Descriptor, files: &Many) -> Answered {
    let flags = OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
    for number in 0..files.times {
        let path = format!("{}{number}", files.name);
        let made = directory.open_at(PathFlags::empty(), &path, flags, DescriptorFlags::WRITE);
        made.map_err(|code| format!("{} after {number}", name(code)))?;
    }
    Ok(Answer::Count(files.times))
}

/// Opens a file until it is refused, holding every descriptor.
pub(crate) fn open(directory: &Descriptor, files: &Many) -> Answered {
    let mut held = Vec::new();
    for number in 0..files.times {
        let opened = directory.open_at(
            PathFlags::empty(),
            &files.name,
            OpenFlags::empty(),
            DescriptorFlags::READ,
        );
        held.push(opened.map_err(|code| format!("{} after {number}", name(code)))?);
    }
    Ok(Answer::Count(files.times))
}
