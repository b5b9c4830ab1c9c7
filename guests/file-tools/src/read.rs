//! `read-file`: some lines of a text file.

use std::io::{BufRead, BufReader};

use wasip2::filesystem::types::{DescriptorType, PathFlags};

use crate::fault;
use crate::place::{Grants, open_file};
use crate::source::Source;
use crate::wit::{Content, Error, ReadOptions};

const LINES_MAX: u64 = 2_000;
const BYTES_MAX: u64 = 64 * 1024;

/// Reads the lines that the options ask for.
pub(crate) fn read(path: &str, options: Option<&ReadOptions>) -> Result<Content, Error> {
    let grants = Grants::all();
    let place = grants.place(path)?;
    let shown = place.shown();
    let file = open_file(
        &place.grant.descriptor,
        &place.path,
        PathFlags::SYMLINK_FOLLOW,
    )
    .map_err(|code| fault::of(code, &shown))?;
    let stat = file.stat().map_err(|code| fault::of(code, &shown))?;
    if stat.type_ != DescriptorType::RegularFile {
        return Err(Error::WrongKind(shown));
    }
    let mut lines = Lines::new(options);
    lines.fill(BufReader::new(Source::new(&file)), &shown)?;
    Ok(lines.content(stat.size))
}

/// The lines that are kept, and where reading stopped.
struct Lines {
    first: u64,
    lines_max: u64,
    bytes_max: usize,
    kept: Vec<u8>,
    count: u64,
    more: bool,
    cut: bool,
}

impl Lines {
    fn new(options: Option<&ReadOptions>) -> Self {
        let bytes_max = options
            .and_then(|options| options.bytes_max)
            .unwrap_or(BYTES_MAX);
        Self {
            first: options
                .and_then(|options| options.first_line)
                .unwrap_or(1)
                .max(1),
            lines_max: options
                .and_then(|options| options.lines_max)
                .unwrap_or(LINES_MAX),
            bytes_max: usize::try_from(bytes_max).unwrap_or(usize::MAX),
            kept: Vec::new(),
            count: 0,
            more: false,
            cut: false,
        }
    }

    /// Reads line by line; a line is never held whole unless it is kept.
    fn fill(&mut self, mut reader: impl BufRead, shown: &str) -> Result<(), Error> {
        let mut number = 1;
        let mut at_start = true;
        loop {
            let chunk = reader
                .fill_buf()
                .map_err(|error| Error::Other(format!("{shown}: {error}")))?;
            if chunk.is_empty() {
                return Ok(());
            }
            let end = chunk
                .iter()
                .position(|byte| *byte == b'\n')
                .map(|place| place + 1);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            if part.contains(&0) {
                return Err(Error::Binary(shown.to_owned()));
            }
            if number >= self.first && !self.keep(part, at_start) {
                self.more = true;
                return Ok(());
            }
            let taken = part.len();
            reader.consume(taken);
            at_start = end.is_some();
            number += u64::from(at_start);
        }
    }

    /// Keeps a line or a part of one; false when there is no room for a further line.
    fn keep(&mut self, part: &[u8], starts_line: bool) -> bool {
        let room = self.bytes_max - self.kept.len();
        if starts_line {
            if self.count == self.lines_max || (self.count > 0 && part.len() > room) {
                return false;
            }
            self.count += 1;
        }
        self.cut |= part.len() > room;
        self.kept.extend_from_slice(&part[..part.len().min(room)]);
        true
    }

    fn content(self, size: u64) -> Content {
        Content {
            text: String::from_utf8_lossy(&self.kept).into_owned(),
            first_line: self.first,
            lines: self.count,
            size,
            next_line: self.more.then(|| self.first + self.count),
            truncated: self.cut,
        }
    }
}
