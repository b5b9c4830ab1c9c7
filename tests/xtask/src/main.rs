//! Tasks of the project: `cargo xtask --help`.
//!
//! The two that a newcomer needs, `demo` and `test`, get whatever is missing themselves.

#![expect(
    clippy::print_stdout,
    reason = "a task talks to the person who started it"
)]

mod bench;
mod cases;
mod demo;
mod guests;
mod lifecycle;
mod lint;
mod setup;
mod step;
mod test;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
Tasks of the project.

usage: cargo xtask TASK

  demo                 builds everything and shows the main job on real input
  test                 gets what is missing, builds, passes every test
  guests [ROUTE]       gets the guests' toolchain and builds every guest; ROUTE is one of
                       present, rustup, debian (default: the first that works)
  bench [--quick] [ROWS]
                       builds as shipped, gets the peers, measures, prints one table of ratios;
                       ROWS is a part of the names of the groups to measure, --quick makes
                       few rounds, to see that every row has a figure
  lint                 formatting, clippy, documentation: warnings are errors
  cases [ID…] [-o json]
                       which test answers which case, attack, rule or requirement, and
                       what is required and answered by none
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        ["demo"] => demo::demo(),
        ["test"] => test::test(),
        ["guests"] => guests::guests(None),
        ["guests", route] => guests::guests(Some(route)),
        ["bench", words @ ..] => bench::bench(words),
        ["lint"] => lint::lint(),
        ["cases", words @ ..] => cases::cases(words),
        [task, ..] => bail!("no task `{task}` with these arguments\n\n{HELP}"),
    }
}
