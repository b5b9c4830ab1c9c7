//! `bindery cache`: list, clear or verify the store of compiled code.

use std::path::{Path, PathBuf};

use bindery::{ArtefactStore, BadFile, Cleared, EngineId, ErrorType, Refusal, Verified};
use serde_json::{Value, json};

use crate::answer::{Answer, Format};
use crate::args::{CacheArgs, CacheVerb};
use crate::{cache_dir, ending};

/// Does one thing with the store.
pub(crate) fn run(args: CacheArgs) -> Answer {
    let format = args.format;
    let done = ending::drive(async move |cancel| {
        ending::unless_ended(&cancel, move || answer(&args)).await
    });
    done.unwrap_or_else(|refusal| Answer::refusal(format, &refusal, None))
}

fn answer(args: &CacheArgs) -> Result<Answer, Refusal> {
    let format = args.format;
    directory(args).and_then(|directory| match args.verb {
        CacheVerb::List => list(format, &directory),
        CacheVerb::Clear => clear(format, &directory),
        CacheVerb::Verify => verify(format, &directory),
    })
}

fn directory(args: &CacheArgs) -> Result<PathBuf, Refusal> {
    args.cache
        .clone()
        .or_else(cache_dir::default_dir)
        .ok_or_else(|| {
            Refusal::new(
                ErrorType::Usage,
                "there is no home directory to keep compiled code in: say --cache DIR",
            )
        })
}

/// The store, for looking and clearing: none is made where none is.
fn existing(directory: &Path) -> Result<Option<ArtefactStore>, Refusal> {
    ArtefactStore::open_existing(directory)
}

fn list(format: Format, directory: &Path) -> Result<Answer, Refusal> {
    let engine = EngineId::current().map_err(|cause| {
        Refusal::new(
            ErrorType::EnvironmentUnavailable,
            "the engine does not start on this machine",
        )
        .for_operator(cause)
    })?;
    let store = existing(directory)?;
    let present = store.is_some();
    let entries = store.map_or_else(|| Ok(Vec::new()), |store| store.list(&engine))?;
    Ok(match format {
        Format::Json => {
            let rows: Vec<_> = entries
                .iter()
                .map(|entry| {
                    json!({
                        "component_digest": entry.component,
                        "bytes": entry.bytes,
                        "created_s": entry.created_s,
                        "fits_this_engine": entry.fits_this_engine,
                    })
                })
                .collect();
            Answer::json(&json!({ "directory": directory, "present": present, "entries": rows }))
        }
        Format::Text => {
            let mut text = String::new();
            for entry in &entries {
                let note = if entry.fits_this_engine {
                    ""
                } else {
                    "  (made for another engine or processor)"
                };
                text += &format!("{}  {:>12} bytes{note}\n", entry.component, entry.bytes);
            }
            let total: u64 = entries.iter().map(|entry| entry.bytes).sum();
            let absent = if present {
                ""
            } else {
                " (there is no store yet)"
            };
            Answer::text(
                text + &format!(
                    "{} entries, {total} bytes in {}{absent}\n",
                    entries.len(),
                    directory.display()
                ),
            )
        }
    })
}

fn clear(format: Format, directory: &Path) -> Result<Answer, Refusal> {
    let store = existing(directory)?;
    let cleared = store.map_or_else(|| Ok(Cleared::default()), |store| store.clear())?;
    Ok(match format {
        Format::Json => {
            Answer::json(&json!({ "entries": cleared.entries, "bytes": cleared.bytes }))
        }
        Format::Text => Answer::text(format!(
            "{} entries removed, {} bytes\n",
            cleared.entries, cleared.bytes
        )),
    })
}

fn verify(format: Format, directory: &Path) -> Result<Answer, Refusal> {
    let store = existing(directory)?;
    let present = store.is_some();
    let verified = store.map_or_else(|| Ok(Verified::default()), |store| store.verify())?;
    let code = if verified.bad.is_empty() {
        0
    } else {
        ErrorType::IntegrityFailed.exit_code()
    };
    let answer = match format {
        Format::Json => Answer::json(&json!({
            "present": present,
            "sound": verified.sound,
            "bad": rows(&verified.bad),
            "foreign": rows(&verified.foreign),
        })),
        Format::Text => Answer::text(verified_text(&verified, present)),
    };
    Ok(answer.with_code(code))
}

fn rows(files: &[BadFile]) -> Vec<Value> {
    let row = |file: &BadFile| json!({ "file": file.name, "reason": file.reason });
    files.iter().map(row).collect()
}

fn verified_text(verified: &Verified, present: bool) -> String {
    let mut text = String::new();
    for (what, files) in [("damaged", &verified.bad), ("foreign", &verified.foreign)] {
        for file in files {
            text += &format!("{what}: {}: {}\n", file.name, file.reason);
        }
    }
    text += &format!(
        "{} files sound, {} damaged, {} foreign{}\n",
        verified.sound,
        verified.bad.len(),
        verified.foreign.len(),
        if present {
            ""
        } else {
            " (there is no store yet)"
        },
    );
    if !verified.foreign.is_empty() {
        text += "foreign files came with a copied or moved folder: nothing is loaded on their word, \
                 a run makes them anew, `bindery cache clear` removes them\n";
    }
    text
}
