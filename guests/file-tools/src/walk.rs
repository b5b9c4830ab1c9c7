//! Walks the files below a place in the order of their names, without following links.

use std::rc::Rc;

use wasip2::filesystem::types::{Descriptor, DescriptorType, ErrorCode, PathFlags};

use crate::fault;
use crate::place::{Place, open_directory};
use crate::problems::Problems;
use crate::rules::{Choice, Level};
use crate::wit::Error;

/// A directory deeper than this is passed over and told: every level holds a handle.
const DEPTH_MAX: usize = 256;

/// What the visitor wants next.
#[derive(PartialEq, Eq)]
pub(crate) enum Onward {
    Continue,
    Stop,
}

/// A file on the way.
pub(crate) struct Visit<'a> {
    pub(crate) directory: &'a Descriptor,
    /// Below `directory`.
    pub(crate) name: &'a str,
    /// As the caller may write it.
    pub(crate) shown: &'a str,
    /// Named by the caller, not found by the walk.
    pub(crate) is_explicit: bool,
}

/// One open directory of the walk.
struct Frame {
    directory: Descriptor,
    /// Below the grant.
    path: String,
    rules: Rc<Level>,
    /// Still to do, last one first.
    entries: Vec<(String, DescriptorType)>,
}

/// A walk below one place.
pub(crate) struct Walk<'a> {
    pub(crate) place: &'a Place<'a>,
    pub(crate) choice: &'a Choice,
    /// How many directories deep, the place itself being the first.
    pub(crate) depth_max: Option<u32>,
    pub(crate) problems: &'a mut Problems,
}

impl Walk<'_> {
    /// Shows every file to the visitor.
    pub(crate) fn run(
        &mut self,
        visit: &mut dyn FnMut(&Visit<'_>, &mut Problems) -> Onward,
    ) -> Result<Onward, Error> {
        let shown = self.place.shown();
        if self.place.kind()? != DescriptorType::Directory {
            let directory = &self.place.grant.descriptor;
            let file = Visit {
                directory,
                name: &self.place.path,
                shown: &shown,
                is_explicit: true,
            };
            return Ok(visit(&file, self.problems));
        }
        let depth_max = self
            .depth_max
            .and_then(|depth| usize::try_from(depth).ok())
            .unwrap_or(usize::MAX);
        let mut frames = Vec::new();
        if depth_max > 0 {
            frames.push(self.top().map_err(|code| fault::of(code, &shown))?);
        }
        while let Some(frame) = frames.last_mut() {
            let Some((name, kind)) = frame.entries.pop() else {
                frames.pop();
                continue;
            };
            if self.visit_entry(frame, &name, kind, visit) == Onward::Stop {
                return Ok(Onward::Stop);
            }
            if kind == DescriptorType::Directory && frames.len() < depth_max {
                self.enter(&mut frames, &name);
            }
        }
        Ok(Onward::Continue)
    }

    fn visit_entry(
        &mut self,
        frame: &Frame,
        name: &str,
        kind: DescriptorType,
        visit: &mut dyn FnMut(&Visit<'_>, &mut Problems) -> Onward,
    ) -> Onward {
        let path = join(&frame.path, name);
        if kind != DescriptorType::RegularFile
            || frame.rules.excludes(self.choice, &path, name, false)
        {
            return Onward::Continue;
        }
        let shown = self.shown(&path);
        visit(
            &Visit {
                directory: &frame.directory,
                name,
                shown: &shown,
                is_explicit: false,
            },
            self.problems,
        )
    }

    /// Opens a directory of the last frame as the next frame, unless a rule excludes it.
    fn enter(&mut self, frames: &mut Vec<Frame>, name: &str) {
        let Some(frame) = frames.last() else { return };
        let path = join(&frame.path, name);
        if frame.rules.excludes(self.choice, &path, name, true) {
            return;
        }
        let shown = self.shown(&path);
        if frames.len() >= DEPTH_MAX {
            self.problems
                .add(format!("{shown}: deeper than {DEPTH_MAX} directories"));
            return;
        }
        let opened = open_directory(&frame.directory, name, PathFlags::empty());
        let above = Some(Rc::clone(&frame.rules));
        match opened.and_then(|directory| self.frame(directory, path, above)) {
            Ok(next) => frames.push(next),
            Err(code) => self.problems.add(fault::words(code, &shown)),
        }
    }

    /// The first frame, under the rules of the directories between the grant and the place.
    fn top(&mut self) -> Result<Frame, ErrorCode> {
        let grant = &self.place.grant.descriptor;
        let mut above = None;
        let parts: Vec<&str> = self
            .place
            .path
            .split('/')
            .filter(|part| !part.is_empty())
            .collect();
        // With `..` in it, what lies between is the host's to resolve: no rules are taken.
        if !parts.contains(&"..") {
            for count in 0..parts.len() {
                let path = parts[..count].join("/");
                let directory = open_directory(grant, &path, PathFlags::SYMLINK_FOLLOW)?;
                above = Some(self.frame(directory, path, above)?.rules);
            }
        }
        let directory = open_directory(grant, &self.place.path, PathFlags::SYMLINK_FOLLOW)?;
        self.frame(directory, parts.join("/"), above)
    }

    /// Lists a directory and reads its rules.
    fn frame(
        &mut self,
        directory: Descriptor,
        path: String,
        above: Option<Rc<Level>>,
    ) -> Result<Frame, ErrorCode> {
        let stream = directory.read_directory()?;
        let mut entries = Vec::new();
        loop {
            match stream.read_directory_entry() {
                Ok(Some(entry)) => entries.push((entry.name, entry.type_)),
                Ok(None) => break,
                // A name that is not UTF-8 cannot be said through WASI; the others can.
                Err(ErrorCode::IllegalByteSequence) => {
                    self.problems
                        .add(format!("{}: a name that is not UTF-8", self.shown(&path)));
                }
                Err(code) => return Err(code),
            }
        }
        drop(stream);
        entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let names: Vec<&str> = entries.iter().map(|(name, _)| name.as_str()).collect();
        let rules = Level::read(above, &directory, &path, &names, self.choice);
        entries.reverse();
        Ok(Frame {
            directory,
            path,
            rules,
            entries,
        })
    }

    fn shown(&self, path: &str) -> String {
        format!("{}/{path}", self.place.grant.name)
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}/{name}")
    }
}
