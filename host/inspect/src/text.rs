//! A shape as text for people: what `bindery inspect` prints.
//!
//! Rule (X29): everything that comes from the component is one printable line a piece, so
//! it cannot pass for this host's own words.

use std::fmt::{self, Write};

use bindery_types::{Import, Satisfier, Shape};

use super::invalid::printable;
use super::missing::flag;
use super::notation;

/// Lines of documentation shown for one thing; the document has all of them.
const DOCS_LINES_MAX: usize = 6;

/// Everything known of a component, for reading.
pub fn shape_text(shape: &Shape) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_shape(&mut text, shape);
    text
}

fn write_shape(text: &mut String, shape: &Shape) -> fmt::Result {
    writeln!(text, "component  sha256:{}", shape.digest)?;
    writeln!(text, "size       {} bytes", shape.size_bytes)?;
    for producer in &shape.producers {
        let [field, name, version] =
            [&producer.field, &producer.name, &producer.version].map(|part| printable(part));
        let gap = if version.is_empty() { "" } else { " " };
        writeln!(text, "made by    {name}{gap}{version} ({field})")?;
    }
    if let Some(docs) = &shape.docs {
        writeln!(text)?;
        write_docs(text, docs, "")?;
    }
    write_functions(text, shape)?;
    write_types(text, shape)?;
    write_imports(text, shape)
}

fn write_functions(text: &mut String, shape: &Shape) -> fmt::Result {
    let count = shape.functions.len();
    writeln!(
        text,
        "\nfunctions{}",
        if count == 0 { "  none" } else { "" }
    )?;
    for function in &shape.functions {
        writeln!(text, "  {}", notation::signature(function, &shape.types))?;
        if let Some(docs) = &function.docs {
            write_docs(text, docs, "      ")?;
        }
        if let Some(reason) = &function.uncallable {
            writeln!(
                text,
                "      not callable: {}",
                printable(&reason.to_string())
            )?;
        }
    }
    Ok(())
}

fn write_types(text: &mut String, shape: &Shape) -> fmt::Result {
    let definitions: Vec<String> = shape
        .types
        .iter()
        .filter_map(|(_, ty)| notation::definition(ty, &shape.types))
        .collect();
    if !definitions.is_empty() {
        writeln!(text, "\ntypes")?;
    }
    definitions
        .iter()
        .try_for_each(|definition| writeln!(text, "  {definition}"))
}

fn write_imports(text: &mut String, shape: &Shape) -> fmt::Result {
    let count = shape.imports.len();
    writeln!(text, "\nimports{}", if count == 0 { "  none" } else { "" })?;
    let width = shape.imports.iter().map(|i| i.name.as_str().len());
    let width = width.max().unwrap_or(0).min(48);
    shape.imports.iter().try_for_each(|import| {
        writeln!(
            text,
            "  {:width$}  {}",
            import.name.as_str(),
            satisfied(import)
        )
    })
}

/// What satisfies an import, in words.
fn satisfied(import: &Import) -> String {
    match &import.satisfier {
        Satisfier::Linked { grant: None } => "there".to_owned(),
        Satisfier::Linked { grant: Some(grant) } => match flag(grant) {
            Some(flag) => format!("there, inert unless `{flag}` is given"),
            None => format!("there, inert: nothing gives {grant} yet"),
        },
        Satisfier::Grant { grant } => match flag(grant) {
            Some(flag) => format!("refused unless `{flag}` is given"),
            None => format!("refused: nothing gives {grant} yet"),
        },
        Satisfier::Version { offered } => {
            format!("refused: this host has {}", offered.join(", "))
        }
        Satisfier::Functions { missing } => {
            format!(
                "refused: known here without {}",
                printable(&missing.join(", "))
            )
        }
        Satisfier::Unknown { nearest: None } => "refused: unknown here".to_owned(),
        Satisfier::Unknown {
            nearest: Some(nearest),
        } => format!(
            "refused: unknown here, the nearest name is {}",
            printable(nearest)
        ),
    }
}

fn write_docs(text: &mut String, docs: &str, indent: &str) -> fmt::Result {
    let mut lines = docs.lines();
    for line in lines.by_ref().take(DOCS_LINES_MAX) {
        writeln!(text, "{indent}| {}", printable(line))?;
    }
    match lines.next() {
        Some(_) => writeln!(text, "{indent}| …"),
        None => Ok(()),
    }
}
