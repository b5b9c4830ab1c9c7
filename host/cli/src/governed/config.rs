//! `bindery init`, `bindery config check|show`: the configuration, without a host.

use bindery::Refusal;
use bindery::policy::Document;
use serde_json::{Value, json};

use super::args::{ConfigArgs, ConfigVerb, InitArgs, PlaceArgs};
use super::dispatch::place;
use crate::answer::{Answer, Format};

/// Writes a commented configuration that denies everything.
pub(crate) fn init(args: &InitArgs) -> Answer {
    let (place, format) = (place(&args.place), args.place.format);
    match place.init() {
        Ok(()) if format == Format::Json => Answer::json(&json!({
            "config": place.config(), "data": place.data(),
        })),
        Ok(()) => Answer::text(format!(
            "{} is written: it denies everything until you say otherwise\n\
             {} holds the host's data\n\
             next: `bindery admit COMPONENT --namespace NAME`, a rule in the configuration, \
             `bindery host start`\n",
            place.config().display(),
            place.data().display()
        )),
        Err(refusal) => Answer::refusal(format, &refusal, None),
    }
}

/// Checks or shows it; nothing for verbs that ask a host.
pub(crate) fn config(args: &ConfigArgs) -> Option<Answer> {
    match &args.verb {
        ConfigVerb::Check(place) => Some(given(place, check(place))),
        ConfigVerb::Show { origin, place } => Some(given(place, show(place, *origin))),
        ConfigVerb::Reload(_) | ConfigVerb::AcceptWrites { .. } => None,
    }
}

fn given(args: &PlaceArgs, answer: Result<Answer, Refusal>) -> Answer {
    answer.unwrap_or_else(|refusal| Answer::refusal(args.format, &refusal, None))
}

fn check(args: &PlaceArgs) -> Result<Answer, Refusal> {
    let place = place(args);
    let document = place.document()?;
    let project = place.project()?;
    let (rules, grants) = (document.policy.rules.len(), document.grants.len());
    let idle = document.limits.idle();
    Ok(match args.format {
        Format::Json => Answer::json(&json!({
            "config": place.config(),
            "well_formed": true,
            "rules": rules,
            "grants": grants,
            "idle_limits": idle,
            "project_file": project.as_ref().map(|project| project.file()),
        })),
        Format::Text => {
            let project = match &project {
                Some(project) => format!("{} is well-formed too\n", project.file()),
                None => String::new(),
            };
            let idle: String = idle
                .iter()
                .map(|key| format!("`{key}` holds nothing: this host does no such thing yet\n"))
                .collect();
            Answer::text(format!(
                "{}: well-formed, {rules} rules, {grants} grants\n{project}{idle}",
                place.config().display()
            ))
        }
    })
}

fn show(args: &PlaceArgs, origin: bool) -> Result<Answer, Refusal> {
    let document = place(args).document()?;
    Ok(match (args.format, origin) {
        (Format::Json, false) => Answer::json(&serde_json::to_value(&document).unwrap_or_default()),
        (Format::Json, true) => Answer::json(&json!({ "settings": settings(&document) })),
        (Format::Text, _) => {
            let rows = document.origin().into_iter().map(|setting| {
                let origin = match (origin, setting.line) {
                    (false, _) => String::new(),
                    (true, Some(line)) => format!("    # {}:{line}", document.file),
                    (true, None) => "    # default".to_owned(),
                };
                format!("{} = {}{origin}\n", setting.key, setting.value)
            });
            Answer::text(rows.collect())
        }
    })
}

fn settings(document: &Document) -> Vec<Value> {
    let rows = document.origin().into_iter().map(|setting| {
        json!({
            "key": setting.key,
            "value": setting.value,
            "file": setting.line.map(|_| &document.file),
            "line": setting.line,
        })
    });
    rows.collect()
}
