//! `cases`: which test answers which case, attack, hardening rule or requirement.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, anyhow, bail};
use bindery_artefacts::repository;
use bindery_cases::{Id, Place, Required, ids, required, table};
use serde_json::{Value, json};

/// The list of what must be answered.
const LIST: &str = "tests/suite/data/required-ids.txt";

/// Prints the table, or the rows of the ids asked for; fails when a required id is neither
/// cited by a test nor excused.
pub(crate) fn cases(words: &[&str]) -> Result<()> {
    let (asked, as_json) = asked(words)?;
    let table = table(repository()).context("the sources cannot be read")?;
    let text = std::fs::read_to_string(repository().join(LIST))?;
    let list = required(&text).map_err(|error| anyhow!("{LIST}: {error}"))?;
    let wanted = |id: &Id| asked.is_empty() || asked.contains(id);
    let rows: BTreeMap<Id, BTreeSet<Place>> =
        table.into_iter().filter(|(id, _)| wanted(id)).collect();
    let list: Vec<Required> = list.into_iter().filter(|row| wanted(&row.id)).collect();
    let missing: Vec<Id> = unanswered(&rows, &list);
    match as_json {
        true => println!("{}", document(&rows, &list, &missing)),
        false => print!("{}", page(&rows, &list, &missing)),
    }
    match missing.is_empty() {
        true => Ok(()),
        false => bail!("{} required ids are cited by no test", missing.len()),
    }
}

fn asked(words: &[&str]) -> Result<(Vec<Id>, bool)> {
    let (words, as_json) = match words {
        [words @ .., "-o", "json"] => (words, true),
        [words @ .., "-o", "text"] => (words, false),
        words => (words, false),
    };
    let mut asked = Vec::new();
    for word in words {
        let found = ids(word);
        if found.is_empty() {
            bail!("`{word}` is no id (expected one such as A1, X33, H7, R-019)");
        }
        asked.extend(found);
    }
    Ok((asked, as_json))
}

/// Required ids that no single test cites and no reason excuses.
fn unanswered(rows: &BTreeMap<Id, BTreeSet<Place>>, list: &[Required]) -> Vec<Id> {
    let cited = |id: &Id| {
        let places = rows.get(id);
        places.is_some_and(|places| places.iter().any(|place| place.test.is_some()))
    };
    let open = list.iter().filter(|row| row.reason.is_none());
    open.map(|row| row.id).filter(|id| !cited(id)).collect()
}

fn document(rows: &BTreeMap<Id, BTreeSet<Place>>, list: &[Required], missing: &[Id]) -> Value {
    let place = |place: &Place| json!({ "file": place.file, "test": place.test });
    let rows: serde_json::Map<String, Value> = rows
        .iter()
        .map(|(id, places)| (id.to_string(), places.iter().map(place).collect()))
        .collect();
    let elsewhere: serde_json::Map<String, Value> = list
        .iter()
        .filter_map(|row| Some((row.id.to_string(), row.reason.clone()?.into())))
        .collect();
    let required: Vec<String> = list.iter().map(|row| row.id.to_string()).collect();
    let missing: Vec<String> = missing.iter().map(Id::to_string).collect();
    json!({ "cases": rows, "required": required, "elsewhere": elsewhere, "missing": missing })
}

fn page(rows: &BTreeMap<Id, BTreeSet<Place>>, list: &[Required], missing: &[Id]) -> String {
    let mut text = String::new();
    for (id, places) in rows {
        for place in places {
            let test = place.test.as_deref().unwrap_or("(the whole file)");
            text += &format!("{:<6} {} {test}\n", id.to_string(), place.file);
        }
    }
    for row in list {
        if let Some(reason) = &row.reason {
            text += &format!("{:<6} no test here: {reason}\n", row.id.to_string());
        }
    }
    for id in missing {
        text += &format!("{:<6} REQUIRED, and cited by no test\n", id.to_string());
    }
    text + &format!(
        "{} ids with tests, {} required, {} of them answered elsewhere, {} missing\n",
        rows.len(),
        list.len(),
        list.iter().filter(|row| row.reason.is_some()).count(),
        missing.len()
    )
}
