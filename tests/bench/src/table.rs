//! The table as text and as JSON.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use crate::pace::Pace;
use crate::row::{Row, Unit};

const HEAD: [&str; 8] = [
    "row", "what", "against", "goal", "median", "min-max", "n", "met",
];
const SIDES: [&str; 2] = ["ours", "theirs"];

/// The table for a reader; notes follow it.
#[must_use]
pub fn text(rows: &[Row]) -> String {
    let mut lines = vec![
        HEAD.iter()
            .chain(&SIDES)
            .map(|cell| (*cell).to_owned())
            .collect(),
    ];
    lines.extend(rows.iter().map(cells));
    let widths = widths(&lines);
    let mut text = String::new();
    for line in &lines {
        let padded: Vec<String> = line
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        text.push_str(padded.join("  ").trim_end());
        text.push('\n');
    }
    for row in rows {
        if let Some(note) = &row.note {
            // A `String` takes every write.
            let _ = write!(text, "\n{}: {note}", row.id);
        }
    }
    text.push('\n');
    text
}

/// Writes the rows to `path` as one JSON object.
///
/// # Errors
///
/// When the file cannot be written.
pub fn write_json(rows: &[Row], pace: Pace, path: &Path) -> Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let text = serde_json::to_string_pretty(&serde_json::json!({ "pace": pace, "rows": rows }))?;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn widths(lines: &[Vec<String>]) -> Vec<usize> {
    let columns = lines.first().map_or(0, Vec::len);
    let cell = |line: &Vec<String>, at: usize| line.get(at).map_or(0, |cell| cell.chars().count());
    (0..columns)
        .map(|at| lines.iter().map(|line| cell(line, at)).max().unwrap_or(0))
        .collect()
}

fn cells(row: &Row) -> Vec<String> {
    let figure = |value: f64| figure(row.unit, value);
    let (median, spread, count) = match &row.figure {
        Some(found) => (
            figure(found.median),
            format!("{}-{}", figure(found.min), figure(found.max)),
            found.count.to_string(),
        ),
        None => ("none".to_owned(), String::new(), String::new()),
    };
    let side = |side: Option<crate::stats::Summary>| side.map_or(String::new(), |s| time(s.median));
    vec![
        row.id.clone(),
        row.what.clone(),
        row.against.clone(),
        row.goal.map_or(String::new(), |goal| goal.to_string()),
        median,
        spread,
        count,
        match row.met {
            Some(true) => "yes".to_owned(),
            Some(false) => "NO".to_owned(),
            None => "-".to_owned(),
        },
        side(row.ours_ns),
        side(row.theirs_ns),
    ]
}

fn figure(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Ratio if value >= 100.0 => format!("{value:.0}x"),
        Unit::Ratio => format!("{value:.3}x"),
        Unit::Ms => format!("{value:.2} ms"),
        Unit::Us => format!("{value:.3} us"),
        Unit::Count => format!("{value:.0}"),
    }
}

/// Nanoseconds in the unit that reads best.
fn time(ns: f64) -> String {
    match ns {
        0.0..1e3 => format!("{ns:.0} ns"),
        1e3..1e6 => format!("{:.2} us", ns / 1e3),
        1e6..1e9 => format!("{:.2} ms", ns / 1e6),
        _ => format!("{:.2} s", ns / 1e9),
    }
}
