//! The guest `answer` as a program: what a process per call starts behind its wall.

use std::io::Write;

fn main() -> std::process::ExitCode {
    let question = std::env::args().nth(1).unwrap_or_default();
    if question.is_empty() {
        return std::process::ExitCode::FAILURE;
    }
    match writeln!(std::io::stdout(), "you asked: {question}") {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(_) => std::process::ExitCode::FAILURE,
    }
}
