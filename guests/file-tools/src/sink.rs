//! Takes the lines that the searcher finds, within the bounds of the whole result.

use std::io;

use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use crate::wit::{FileLines, GrepOptions, Line, Matches};

const MATCHES_MAX: u64 = 500;
const BYTES_MAX: u64 = 64 * 1024;
const LINE_BYTES_MAX: u32 = 500;

/// What is left of the bounds, and what was found so far.
pub(crate) struct Collected {
    pub(crate) matches: Matches,
    bytes_left: usize,
    matches_left: u64,
    line_bytes_max: usize,
    files_only: bool,
}

impl Collected {
    /// Nothing yet.
    pub(crate) fn new(options: Option<&GrepOptions>) -> Self {
        let bytes = options
            .and_then(|options| options.bytes_max)
            .unwrap_or(BYTES_MAX);
        let line_bytes = options
            .and_then(|options| options.line_bytes_max)
            .unwrap_or(LINE_BYTES_MAX);
        Self {
            matches: Matches {
                files: Vec::new(),
                count: 0,
                searched: 0,
                truncated: false,
                problems: Vec::new(),
            },
            bytes_left: usize::try_from(bytes).unwrap_or(usize::MAX),
            matches_left: options
                .and_then(|options| options.matches_max)
                .unwrap_or(MATCHES_MAX),
            line_bytes_max: usize::try_from(line_bytes).unwrap_or(usize::MAX),
            files_only: options
                .and_then(|options| options.files_only)
                .unwrap_or(false),
        }
    }

    /// A sink for one file.
    pub(crate) fn file(&mut self, path: &str) -> FileSink<'_> {
        self.matches.searched += 1;
        FileSink {
            path: path.to_owned(),
            lines: Vec::new(),
            found: false,
            context: Vec::new(),
            collected: self,
        }
    }
}

/// The lines of one file.
pub(crate) struct FileSink<'a> {
    path: String,
    lines: Vec<Line>,
    found: bool,
    /// Context before a match that may not fit: kept only with its match.
    context: Vec<Line>,
    collected: &'a mut Collected,
}

impl FileSink<'_> {
    /// Adds what was found to the result, also after a search that ended early.
    pub(crate) fn close(self) {
        if self.found {
            self.collected.matches.files.push(FileLines {
                path: self.path,
                lines: self.lines,
            });
        }
    }

    fn line(&self, number: Option<u64>, bytes: &[u8], matched: bool) -> Line {
        let text = without_ending(bytes);
        let cut = text.len() > self.collected.line_bytes_max;
        let kept = if cut {
            whole_characters(text, self.collected.line_bytes_max)
        } else {
            text
        };
        Line {
            number: number.unwrap_or(0),
            text: String::from_utf8_lossy(kept).into_owned(),
            matched,
            cut,
        }
    }

    /// Takes the line's bytes from what is left; false when they do not fit.
    fn admit(&mut self, line: Line) -> bool {
        if line.text.len() > self.collected.bytes_left {
            self.collected.matches.truncated = true;
            return false;
        }
        self.collected.bytes_left -= line.text.len();
        self.lines.push(line);
        true
    }
}

impl Sink for FileSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.collected.matches_left == 0 {
            self.collected.matches.truncated = true;
            return Ok(false);
        }
        let mut first = found.line_number();
        if self.collected.files_only {
            self.found = true;
            self.collected.matches_left -= 1;
            self.collected.matches.count += 1;
            return Ok(false);
        }
        for bytes in found.lines() {
            let line = self.line(first, bytes, true);
            let before = std::mem::take(&mut self.context);
            if !before
                .into_iter()
                .chain([line])
                .all(|line| self.admit(line))
            {
                return Ok(false);
            }
            self.found = true;
            first = first.map(|number| number + 1);
        }
        self.collected.matches_left -= 1;
        self.collected.matches.count += 1;
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let line = self.line(context.line_number(), context.bytes(), false);
        match context.kind() {
            grep_searcher::SinkContextKind::Before => {
                self.context.push(line);
                Ok(true)
            }
            _ => Ok(self.admit(line)),
        }
    }

    fn finish(&mut self, _: &Searcher, _: &SinkFinish) -> io::Result<()> {
        Ok(())
    }
}

fn without_ending(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The first bytes of a line, without the beginning of a character that is cut (B4).
fn whole_characters(line: &[u8], bytes_max: usize) -> &[u8] {
    let is_inside = |place: usize| {
        line.get(place)
            .is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000)
    };
    let mut end = bytes_max;
    while end > 0 && bytes_max - end < 3 && is_inside(end) {
        end -= 1;
    }
    &line[..end]
}
