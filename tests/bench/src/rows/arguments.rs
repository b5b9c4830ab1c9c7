//! Reading and checking arguments, and refusing wrong ones.

use std::fmt::Write as _;
use std::hint::black_box;

use anyhow::{Result, anyhow, ensure};
use bindery_json::{input_schema, read_arguments};
use bindery_types::{Budget, Outcome};
use serde_json::Value;

use super::ROUNDS;
use super::bytes::tape;
use crate::goal::Goal;
use crate::measure::in_turns;
use crate::raw::Raw;
use crate::rig::{ASK, Rig, explain, run, sandbox};
use crate::row::Row;

const INTERFACE: &str = "bench:crossing/crossing@0.1.0";

/// Name of a size, and bytes of argument text.
const SIZES: [(&str, usize); 3] = [("200b", 200), ("2k", 2 << 10), ("200k", 200 << 10)];

/// The rows: reading and checking, and the same with lowering and the call, warm.
pub(super) fn rows(rig: &Rig) -> Result<Vec<Row>> {
    let shape = rig.crossing.loaded.shape();
    let function = shape.resolve("order")?;
    let schema = input_schema(function, &shape.types);
    let validator = jsonschema::draft202012::new(&schema).map_err(|error| anyhow!("{error}"))?;
    let raw = Raw::ours(&rig.crossing.bytes)?;
    let mut rows = Vec::new();
    for (name, bytes) in SIZES {
        let text = lines(bytes);
        let budget = Budget::default();
        let read = |count: u32| -> Result<()> {
            for _ in 0..count {
                let tape = read_arguments(&text, function, &shape.types, &budget);
                black_box(tape.map_err(explain)?);
            }
            Ok(())
        };
        let validate = |count: u32| -> Result<()> {
            for _ in 0..count {
                let document: Value = serde_json::from_str(&text)?;
                ensure!(validator.is_valid(&document), "the schema says no");
                black_box(document);
            }
            Ok(())
        };
        let mut warm = raw.warm(INTERFACE, "order")?;
        let call = |count: u32| -> Result<()> {
            for _ in 0..count {
                let tape = tape(&rig.crossing, "order", &text)?;
                rig.runtime.block_on(warm.call(&tape, 1))?;
            }
            Ok(())
        };
        let against = "serde_json DOM + jsonschema";
        rows.push(
            Row::new(
                &format!("read-{name}"),
                &format!("read and check {name} of arguments"),
                against,
            )
            .goal(Goal::AtMost(0.5))
            .ratio(&in_turns(rig.pace.rounds(ROUNDS), read, validate)?),
        );
        rows.push(
            Row::new(
                &format!("lower-{name}"),
                &format!("the same, lowered and called, {name}"),
                against,
            )
            .ratio(&in_turns(rig.pace.rounds(ROUNDS), call, validate)?),
        );
    }
    Ok(rows)
}

/// Argument text of at least so many bytes.
fn lines(bytes: usize) -> String {
    let mut text = String::from(r#"{"lines": ["#);
    let mut number = 0;
    while text.len() < bytes {
        let comma = if number == 0 { "" } else { ", " };
        let note = match number % 3 {
            0 => "null".to_owned(),
            _ => format!("\"as agreed on day {number}\""),
        };
        // A `String` takes every write.
        let _ = write!(
            text,
            r#"{comma}{{"count": {number}, "article": "hex bolt M{number}", "price": {number}.25, "note": {note}}}"#
        );
        number += 1;
    }
    text.push_str("]}");
    text
}

/// The row: wrong arguments against a call, in a sandbox that counts what it starts.
pub(super) fn refused(rig: &Rig) -> Result<Vec<Row>> {
    let sandbox = sandbox(&Budget::default())?;
    let loading = sandbox.load(rig.answer.bytes.clone());
    let component = rig.runtime.block_on(loading).map_err(explain)?;
    let budget = Budget::default();
    let refuse = |count: u32| -> Result<()> {
        rig.runtime.block_on(async {
            for _ in 0..count {
                let run = run(
                    &sandbox,
                    &component,
                    "answer",
                    r#"{"question": 7}"#,
                    &budget,
                )
                .await;
                ensure!(matches!(run.outcome, Outcome::Refused(_)), "7 is no text");
            }
            Ok(())
        })
    };
    let call = |count| rig.call(&rig.answer, "answer", ASK, count);
    let pair = in_turns(rig.pace.rounds(ROUNDS), refuse, call)?;
    let started = sandbox.started();
    ensure!(
        started == 0,
        "{started} instances were made for refused arguments"
    );
    let row = Row::new("refused", "arguments that are refused", "run");
    let row = row.note("stores made by the sandbox that refused them: 0, by its own counter");
    Ok(vec![row.goal(Goal::AtMost(0.3)).ratio(&pair)])
}
