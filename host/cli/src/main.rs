//! The `bindery` command: words of an operator in, one answer out.
//!
//! Rule: this is a front. It turns flags into values and outcomes into text and an exit
//! code; it decides nothing. The process's own authority (files, the network, the clock)
//! becomes grants here and nowhere else.

mod answer;
mod args;
mod cache_dir;
mod command;
mod ending;
mod governed;
mod operands;
mod screen;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use serde_json::json;

use answer::{Answer, Format};
use args::{Cli, Command};

fn main() -> ExitCode {
    // Started as the compiling child: nothing else may happen before.
    if let Some(code) = bindery::compile_worker_main() {
        return code;
    }
    let words: Vec<OsString> = std::env::args_os().collect();
    let answer = match Cli::try_parse_from(&words) {
        Ok(cli) => run(cli),
        Err(error) => refuse_usage(&words, &error),
    };
    answer.give()
}

fn run(cli: Cli) -> Answer {
    screen::start_log();
    match cli.command {
        Command::Inspect(args) => command::inspect::run(args),
        Command::Run(args) => command::run::run(*args),
        Command::Cache(args) => command::cache::run(args),
        Command::Limits(args) => command::limits::run(args.format.format),
        Command::Init(args) => governed::init(&args),
        Command::Host(args) => governed::host(&args),
        Command::Config(args) => {
            governed::config(&args).unwrap_or_else(|| governed::run(Command::Config(args)))
        }
        Command::Policy(args) => {
            governed::policy(&args).unwrap_or_else(|| governed::run(Command::Policy(args)))
        }
        command => governed::run(command),
    }
}

/// Help and version are answers; everything else clap says is a usage error. Each is one
/// JSON object when JSON was asked for.
fn refuse_usage(words: &[OsString], error: &clap::Error) -> Answer {
    match (error.kind(), Format::asked_for(words)) {
        (ErrorKind::DisplayHelp, Format::Json) => {
            Answer::json(&json!({ "help": error.render().to_string() }))
        }
        (ErrorKind::DisplayVersion, Format::Json) => {
            Answer::json(&json!({ "version": env!("CARGO_PKG_VERSION") }))
        }
        (ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, Format::Text) => {
            Answer::text(error.render().to_string())
        }
        (_, format) => {
            let rendered = error.render().to_string();
            let message = rendered
                .strip_prefix("error: ")
                .unwrap_or(&rendered)
                .trim_end()
                .to_owned();
            Answer::usage(format, message)
        }
    }
}
