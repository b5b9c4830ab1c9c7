//! `glob-files`: the paths of files by a glob.

use crate::place::Grants;
use crate::problems::Problems;
use crate::rules::{Choice, globs};
use crate::walk::{Onward, Walk};
use crate::wit::{Error, Found, GlobOptions};

const PATHS_MAX: u32 = 1_000;

/// Finds files whose path below the grant matches.
pub(crate) fn glob(pattern: &str, options: Option<&GlobOptions>) -> Result<Found, Error> {
    let is = |pick: fn(&GlobOptions) -> Option<bool>| options.and_then(pick).unwrap_or(false);
    let choice = Choice {
        globs: globs(&[pattern.to_owned()])?,
        hidden: is(|options| options.hidden),
        no_ignore: is(|options| options.no_ignore),
    };
    let paths_max = options
        .and_then(|options| options.paths_max)
        .unwrap_or(PATHS_MAX);
    let kept = usize::try_from(paths_max).unwrap_or(usize::MAX);
    let grants = Grants::all();
    let mut problems = Problems::default();
    let mut found = Found {
        paths: Vec::new(),
        truncated: false,
        problems: Vec::new(),
    };
    for place in grants.places(options.and_then(|options| options.paths.as_deref()))? {
        let mut walk = Walk {
            place: &place,
            choice: &choice,
            depth_max: None,
            problems: &mut problems,
        };
        let onward = walk.run(&mut |file, _| {
            if found.paths.len() == kept {
                found.truncated = true;
                return Onward::Stop;
            }
            found.paths.push(file.shown.to_owned());
            Onward::Continue
        })?;
        if onward == Onward::Stop {
            break;
        }
    }
    found.problems = problems.told();
    Ok(found)
}
