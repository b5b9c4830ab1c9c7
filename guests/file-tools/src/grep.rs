//! `grep-files`: lines that match a pattern, by the crates that ripgrep is made of.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use wasip2::filesystem::types::PathFlags;

use crate::fault;
use crate::place::{Grants, open_file};
use crate::problems::Problems;
use crate::rules::{Choice, globs};
use crate::sink::Collected;
use crate::source::Source;
use crate::walk::{Onward, Visit, Walk};
use crate::wit::{Error, GrepOptions, Matches};

/// Searches the places that the options name.
pub(crate) fn grep(pattern: &str, options: Option<&GrepOptions>) -> Result<Matches, Error> {
    let is = |pick: fn(&GrepOptions) -> Option<bool>| options.and_then(pick).unwrap_or(false);
    let matcher = matcher(pattern, options)?;
    let choice = Choice {
        globs: globs(
            options
                .and_then(|options| options.globs.as_deref())
                .unwrap_or_default(),
        )?,
        hidden: is(|options| options.hidden),
        no_ignore: is(|options| options.no_ignore),
    };
    let mut searcher = searcher(options);
    let mut collected = Collected::new(options);
    let mut problems = Problems::default();
    let grants = Grants::all();
    for place in grants.places(options.and_then(|options| options.paths.as_deref()))? {
        let depth_max = options.and_then(|options| options.max_depth);
        let mut walk = Walk {
            place: &place,
            choice: &choice,
            depth_max,
            problems: &mut problems,
        };
        let onward = walk.run(&mut |file, problems| {
            search(&mut searcher, &matcher, file, &mut collected, problems);
            if collected.matches.truncated {
                Onward::Stop
            } else {
                Onward::Continue
            }
        })?;
        if onward == Onward::Stop {
            break;
        }
    }
    let mut matches = collected.matches;
    matches.problems = problems.told();
    Ok(matches)
}

fn matcher(pattern: &str, options: Option<&GrepOptions>) -> Result<RegexMatcher, Error> {
    let is = |pick: fn(&GrepOptions) -> Option<bool>| options.and_then(pick).unwrap_or(false);
    RegexMatcherBuilder::new()
        .case_insensitive(is(|options| options.ignore_case))
        .case_smart(is(|options| options.smart_case))
        .fixed_strings(is(|options| options.fixed_strings))
        .word(is(|options| options.word))
        .whole_line(is(|options| options.whole_line))
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .build(pattern)
        .map_err(|error| Error::BadPattern(error.to_string()))
}

fn searcher(options: Option<&GrepOptions>) -> Searcher {
    let context = options.and_then(|options| options.context).unwrap_or(0);
    let context = usize::try_from(context).unwrap_or(usize::MAX);
    SearcherBuilder::new()
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .invert_match(options.and_then(|options| options.invert).unwrap_or(false))
        .max_matches(options.and_then(|options| options.max_count))
        .build()
}

/// Searches one file. A file found by the walk is dropped at its first NUL byte; in one
/// that the caller named, NUL ends a line.
fn search(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    visit: &Visit<'_>,
    collected: &mut Collected,
    problems: &mut Problems,
) {
    let (detection, follow) = match visit.is_explicit {
        true => (BinaryDetection::convert(0), PathFlags::SYMLINK_FOLLOW),
        false => (BinaryDetection::quit(0), PathFlags::empty()),
    };
    searcher.set_binary_detection(detection);
    let file = match open_file(visit.directory, visit.name, follow) {
        Ok(file) => file,
        Err(code) => return problems.add(fault::words(code, visit.shown)),
    };
    let mut sink = collected.file(visit.shown);
    if let Err(error) = searcher.search_reader(matcher, Source::new(&file), &mut sink) {
        problems.add(format!("{}: {error}", visit.shown));
    }
    sink.close();
}
