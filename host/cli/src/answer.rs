//! The answer of one command: what goes to which stream, and the exit code.
//!
//! Rule: with `-o json` exactly one JSON object goes to standard output, usage errors
//! included; a closed or broken stream never ends the process with a panic.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use bindery::{ErrorType, Outcome, Receipt, Refusal, Run};
use bindery_service::Rendered;
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::screen;

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One JSON object
    Json,
}

impl Format {
    /// What the raw words ask for, when they could not be parsed as a whole.
    pub(crate) fn asked_for(words: &[OsString]) -> Self {
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        let joined = ["-ojson", "-o=json", "--format=json"];
        let asked = words.iter().any(|word| joined.contains(word))
            || words
                .array_windows()
                .any(|[flag, value]| ["-o", "--format"].contains(flag) && *value == "json");
        if asked { Self::Json } else { Self::Text }
    }
}

/// What one command came to.
#[derive(Debug)]
pub(crate) struct Answer {
    stdout: String,
    stderr: String,
    code: u8,
}

impl Answer {
    /// Plain text, success.
    pub(crate) fn text(stdout: String) -> Self {
        Self {
            stdout,
            stderr: String::new(),
            code: 0,
        }
    }

    /// One JSON object, success.
    pub(crate) fn json(value: &Value) -> Self {
        Self::text(format!("{value}\n"))
    }

    /// The same with another exit code.
    #[must_use]
    pub(crate) fn with_code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// The command was not understood.
    pub(crate) fn usage(format: Format, message: String) -> Self {
        Self::refusal(format, &Refusal::new(ErrorType::Usage, message), None)
    }

    /// A refusal, with the receipt when something was started.
    pub(crate) fn refusal(format: Format, refusal: &Refusal, receipt: Option<&Receipt>) -> Self {
        let code = refusal.kind().exit_code();
        match format {
            Format::Json => Self::text(object(("error", &error_text(refusal, None)), &[], receipt))
                .with_code(code),
            Format::Text => Self {
                stdout: String::new(),
                stderr: refusal_text(refusal) + &receipt.map(receipt_text).unwrap_or_default(),
                code,
            },
        }
    }

    /// The outcome of a run. What its grants refused stands on standard error in both
    /// formats and among the members of the object, with the flag that would allow it:
    /// whoever reads that is the operator (case U1).
    pub(crate) fn run(format: Format, run: &Run) -> Self {
        let mut answer = match format {
            Format::Json => Self::outcome_json(run),
            Format::Text => Self::outcome_text(run),
        };
        for line in &run.denials {
            answer.stderr += &format!("denied: {line}\n");
        }
        answer
    }

    fn outcome_json(run: &Run) -> Self {
        let object = |name, text: &str| object((name, text), &run.denials, run.receipt.as_ref());
        let (text, code) = match &run.outcome {
            // The value is spliced in as text: a parser in between could round it.
            Outcome::Value(value) => (object("value", value), 0),
            Outcome::CapabilityError(value) => {
                let refusal = own_error();
                let error = error_text(&refusal, Some(value));
                (object("error", &error), refusal.kind().exit_code())
            }
            Outcome::Refused(refusal) => {
                let error = error_text(refusal, None);
                (object("error", &error), refusal.kind().exit_code())
            }
        };
        Self::text(text).with_code(code)
    }

    fn outcome_text(run: &Run) -> Self {
        let receipt = run.receipt.as_ref();
        let receipt_text = receipt.map(receipt_text).unwrap_or_default();
        match &run.outcome {
            Outcome::Value(value) => Self {
                stdout: format!("{value}\n"),
                stderr: receipt_text,
                code: 0,
            },
            Outcome::CapabilityError(value) => {
                let refusal = own_error();
                Self {
                    stdout: String::new(),
                    stderr: refusal_text(&refusal) + &format!("  value: {value}\n") + &receipt_text,
                    code: refusal.kind().exit_code(),
                }
            }
            Outcome::Refused(refusal) => Self::refusal(Format::Text, refusal, receipt),
        }
    }

    /// The same with one more member in its JSON object, or one more line beside its text.
    #[must_use]
    pub(crate) fn with_member(mut self, format: Format, name: &str, text: &str) -> Self {
        match format {
            Format::Json => {
                if let Some(open) = self.stdout.strip_suffix("}\n") {
                    self.stdout = format!("{open},{}:{}}}\n", json!(name), json!(text));
                }
            }
            Format::Text => self.stderr += &format!("    {name} {text}\n"),
        }
        self
    }

    /// What another process printed.
    pub(crate) fn rendered(rendered: Rendered) -> Self {
        let Rendered {
            stdout,
            stderr,
            code,
        } = rendered;
        Self {
            stdout,
            stderr,
            code,
        }
    }

    /// For another process to print.
    pub(crate) fn into_rendered(self) -> Rendered {
        Rendered {
            stdout: self.stdout,
            stderr: self.stderr,
            code: self.code,
        }
    }

    /// Whether it is no refusal.
    pub(crate) fn is_success(&self) -> bool {
        self.code == 0
    }

    /// Writes both streams and gives the exit code. A reader that went away is told
    /// nothing, and whoever looks at the code is.
    pub(crate) fn give(self) -> ExitCode {
        screen::write_stderr(&self.stderr);
        match screen::write_stdout(&self.stdout) {
            Ok(()) => ExitCode::from(self.code),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                ExitCode::from(self.code.max(ErrorType::Internal.exit_code()))
            }
            Err(error) => {
                screen::write_stderr(&format!(
                    "error: the answer could not be written: {error}\n"
                ));
                ExitCode::from(ErrorType::Internal.exit_code())
            }
        }
    }
}

/// The capability ran and has an error of its own to tell, which is no failure of a call.
fn own_error() -> Refusal {
    let message = "the capability ran and answered with its own error";
    Refusal::new(ErrorType::CapabilityError, message)
}

/// The one object of an answer: its value or error, what was denied when something was,
/// the receipt.
fn object((name, text): (&str, &str), denials: &[String], receipt: Option<&Receipt>) -> String {
    let denied = match denials {
        [] => String::new(),
        lines => format!("\"denials\":{},", json!(lines)),
    };
    format!(
        "{{\"{name}\":{text},{denied}\"receipt\":{}}}\n",
        json!(receipt)
    )
}

/// An error as JSON text; `own` is the value of a capability's own error, spliced in among
/// the details exactly as it was lifted.
fn error_text(refusal: &Refusal, own: Option<&str>) -> String {
    let error = operator_json(refusal);
    let member = |(name, value): (&String, &Value)| match (name.as_str(), own) {
        ("details", Some(own)) => {
            let others = value.as_object().into_iter().flatten();
            let others: String = others
                .map(|(name, value)| format!(",{}:{value}", json!(name)))
                .collect();
            format!("\"details\":{{\"value\":{own}{others}}}")
        }
        _ => format!("{}:{value}", json!(name)),
    };
    let members: Vec<String> = error
        .as_object()
        .into_iter()
        .flatten()
        .map(member)
        .collect();
    format!("{{{}}}", members.join(","))
}

/// The wire form; whoever runs this command is the operator, so the operator's text is
/// among the details.
fn operator_json(refusal: &Refusal) -> Value {
    let mut error = refusal.to_json();
    if let (Some(operator), Some(details)) = (
        refusal.operator(),
        error.get_mut("details").and_then(Value::as_object_mut),
    ) {
        details.insert("operator".to_owned(), operator.into());
    }
    error
}

fn refusal_text(refusal: &Refusal) -> String {
    let mut text = format!("error: {}: {}\n", refusal.kind(), refusal.message());
    if let Some(operator) = refusal.operator() {
        for line in operator.lines() {
            text += &format!("  {line}\n");
        }
    }
    for (key, value) in refusal.details() {
        text += &format!("  {key}: {}\n", detail_text(value));
    }
    let next: Vec<String> = refusal
        .next_actions()
        .iter()
        .map(|action| json!(action).to_string())
        .collect();
    text + &format!(
        "  next: {}\n",
        next.join(", ").replace('"', "").replace('_', " ")
    )
}

fn detail_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The receipt in a few lines; `-o json` has all of it.
fn receipt_text(receipt: &Receipt) -> String {
    let mut text = String::new();
    for (name, captured) in [
        ("stdout", &receipt.stdout),
        ("stderr", &receipt.stderr),
        ("log", &receipt.log),
    ] {
        if captured.text.is_empty() && captured.dropped_bytes == 0 {
            continue;
        }
        text += &format!("--- {name} of the component\n{}", captured.text);
        if !captured.text.ends_with('\n') {
            text.push('\n');
        }
        if captured.truncated {
            text += &format!("--- {} more bytes were dropped\n", captured.dropped_bytes);
        }
    }
    text += &format!(
        "--- {} of {}\n    fuel {} of {}, wall {} µs (guest {}, host {}), memory peak {} bytes, {} bytes in, {} out, {} host calls, {} compiled\n",
        receipt.function,
        receipt.component_digest,
        receipt.fuel_used,
        receipt.fuel_limit,
        receipt.wall_us,
        receipt.guest_us,
        receipt.host_us,
        receipt.memory_peak_bytes,
        receipt.bytes_in,
        receipt.bytes_out,
        receipt.host_calls,
        receipt.compiles,
    );
    const SHOWN: usize = 10;
    for effect in receipt.effects.iter().take(SHOWN) {
        let kind = json!(effect.kind);
        text += &format!(
            "    effect {} {} ({} bytes, at fuel {})\n",
            kind.as_str().unwrap_or_default(),
            effect.resource,
            effect.bytes,
            effect.at_fuel,
        );
    }
    let hidden = receipt.effects.len().saturating_sub(SHOWN) as u64 + receipt.effects_dropped;
    if hidden > 0 {
        text += &format!("    and {hidden} more effects (-o json lists them)\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn json_is_found_in_words_that_could_not_be_parsed() {
        for line in [
            "bindery run -o json",
            "bindery -ojson x",
            "bindery x --format=json",
            "bindery --format json",
        ] {
            assert_eq!(Format::asked_for(&words(line)), Format::Json, "{line}");
        }
        for line in [
            "bindery run",
            "bindery run --output json",
            "bindery -o text",
            "bindery json -o",
        ] {
            assert_eq!(Format::asked_for(&words(line)), Format::Text, "{line}");
        }
    }

    #[test]
    fn the_operator_reads_the_operators_text_and_the_wire_form_alone_has_none() {
        let refusal =
            Refusal::new(ErrorType::PermissionDenied, "not granted").for_operator("add --dir");
        assert_eq!(operator_json(&refusal)["details"]["operator"], "add --dir");
        assert!(!refusal.to_json().to_string().contains("add --dir"));
    }
}
