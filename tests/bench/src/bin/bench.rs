//! `bindery-bench [--quick] [--json FILE] [ROWS]`: measures, prints the table, writes it as
//! JSON. ROWS is a part of the names of the groups to measure; `--quick` makes few rounds.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use bindery_bench::pace::Pace;
use bindery_bench::rows::{self, memory, opening};
use bindery_bench::table;

#[expect(
    clippy::print_stdout,
    reason = "the table and the errors go to who started this"
)]
fn main() -> ExitCode {
    match run() {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<String> {
    let mut words = std::env::args().skip(1);
    let (mut json, mut pace) = (None, Pace::Full);
    let mut wanted = String::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            // What the row about memory starts as a process of its own.
            memory::VERB => return memory::child(),
            memory::GOVERNED => return memory::governed_child(),
            opening::VERB => return opening::child(&words.next().unwrap_or_default()),
            "--quick" => pace = Pace::Quick,
            "--json" => json = words.next().map(PathBuf::from),
            _ => wanted = word,
        }
    }
    let rows = rows::measure(&wanted, pace)?;
    if let Some(path) = json {
        table::write_json(&rows, pace, &path)?;
    }
    Ok(table::text(&rows))
}
