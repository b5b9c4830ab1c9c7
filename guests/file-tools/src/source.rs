//! A file as a reader: large reads, straight from the descriptor.

use std::io;

use wasip2::filesystem::types::Descriptor;

/// Bytes of one host call: large enough to be rare, small enough to stay in cache.
const CHUNK_BYTES: u64 = 64 * 1024;

/// Reads from the start to the end of a file.
pub(crate) struct Source<'a> {
    file: &'a Descriptor,
    offset: u64,
    chunk: Vec<u8>,
    taken: usize,
    ended: bool,
}

impl<'a> Source<'a> {
    /// At the start of the file.
    pub(crate) fn new(file: &'a Descriptor) -> Self {
        Self {
            file,
            offset: 0,
            chunk: Vec::new(),
            taken: 0,
            ended: false,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let read = self.file.read(CHUNK_BYTES, self.offset);
        let (chunk, ended) = read.map_err(|code| io::Error::other(code.name()))?;
        self.offset += chunk.len() as u64;
        self.ended = ended || chunk.is_empty();
        self.chunk = chunk;
        self.taken = 0;
        Ok(())
    }
}

impl io::Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.chunk.len() && !self.ended {
            self.fill()?;
        }
        let mut left = &self.chunk[self.taken..];
        let read = left.read(buffer)?;
        self.taken += read;
        Ok(read)
    }
}
