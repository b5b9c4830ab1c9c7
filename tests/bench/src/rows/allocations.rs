//! What a small call allocates: a count, the same on every machine.

use std::process::Command;

use anyhow::{Context, Result};

use crate::rig::Rig;
use crate::row::{Row, Unit};
use crate::tools::{Tool, said};

/// The rows.
pub(super) fn rows(_rig: &Rig) -> Result<Vec<Row>> {
    let text = said(&mut Command::new(Tool::Allocations.find()?))?;
    let figures: Vec<f64> = text
        .split_ascii_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let [
        calls,
        bytes,
        floor_calls,
        floor_bytes,
        governed,
        governed_bytes,
    ] = figures.try_into().ok().context("six numbers")?;
    let row = |id: &str, what: &str, value: f64, floor: f64| {
        Row::new(id, what, &format!("F2: {floor:.0}")).samples(Unit::Count, &[value])
    };
    Ok(vec![
        row("allocations", "allocations of a run", calls, floor_calls),
        row("allocated", "bytes allocated by a run", bytes, floor_bytes),
        row(
            "governed-allocations",
            "allocations of a governed call",
            governed,
            floor_calls,
        ),
        row(
            "governed-allocated",
            "bytes allocated by a governed call",
            governed_bytes,
            floor_bytes,
        ),
    ])
}
