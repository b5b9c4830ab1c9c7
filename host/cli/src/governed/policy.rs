//! `bindery policy test`: the questions that an operator writes down, asked.

use bindery::policy::{KnownNames, Policy, TestResult, read_tests};
use bindery::{CapabilityId, ErrorType, Refusal};
use serde_json::json;

use super::args::{NamedCapability, PlaceArgs, PolicyArgs, PolicyVerb};
use super::dispatch::place;
use crate::answer::{Answer, Format};
use crate::operands;

/// Runs a table of tests; nothing for verbs that ask a host.
pub(crate) fn policy(args: &PolicyArgs) -> Option<Answer> {
    let PolicyVerb::Test {
        tests,
        capabilities,
        place,
    } = &args.verb
    else {
        return None;
    };
    let results = run(tests, capabilities, place);
    Some(match results {
        Ok(results) => shown(place.format, &results),
        Err(refusal) => Answer::refusal(place.format, &refusal, None),
    })
}

fn run(
    tests: &std::path::Path,
    capabilities: &[NamedCapability],
    args: &PlaceArgs,
) -> Result<Vec<TestResult>, Refusal> {
    let file = tests.display().to_string();
    let text = operands::arguments(&format!("@{file}"), &bindery::Budget::default())?;
    let tests = read_tests(&file, &text)?;
    let known: Vec<(&str, &CapabilityId)> = capabilities
        .iter()
        .map(|named| (named.name.as_str(), &named.id))
        .collect();
    let names: KnownNames = known.into_iter().collect();
    let policy = Policy::compile(place(args).document()?, &names)?;
    Ok(tests.iter().map(|test| test.run(&policy, &names)).collect())
}

fn shown(format: Format, results: &[TestResult]) -> Answer {
    let failed = results
        .iter()
        .filter(|result| result.failure.is_some())
        .count();
    let code = if failed == 0 {
        0
    } else {
        ErrorType::Internal.exit_code()
    };
    let answer = match format {
        Format::Json => {
            let rows = results.iter().map(|result| {
                json!({ "name": result.name, "line": result.line, "failure": result.failure })
            });
            let rows: Vec<_> = rows.collect();
            Answer::json(
                &json!({ "tests": rows, "passed": results.len() - failed, "failed": failed }),
            )
        }
        Format::Text => {
            let mut text = String::new();
            for result in results {
                match &result.failure {
                    None => text += &format!("ok      {}\n", result.name),
                    Some(why) => {
                        text += &format!("FAILED  {} (line {}): {why}\n", result.name, result.line);
                    }
                }
            }
            text += &format!("{} passed, {failed} failed\n", results.len() - failed);
            Answer::text(text)
        }
    };
    answer.with_code(code)
}
