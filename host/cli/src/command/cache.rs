//! `bindery cache`: list, clear or verify the store of compiled code.

use std::path::PathBuf;

use bindery::{ArtefactStore, EngineId, ErrorType, Refusal, StoreOptions};
use serde_json::json;

use crate::answer::{Answer, Format};
use crate::args::{CacheArgs, CacheVerb};
use crate::cache_dir;

/// Does one thing with the store.
pub(crate) fn run(args: &CacheArgs) -> Answer {
    let format = args.format;
    let done = directory(args).and_then(|directory| match args.verb {
        CacheVerb::List => list(format, &directory),
        CacheVerb::Clear => clear(format, &directory),
        CacheVerb::Verify => verify(format, &directory),
    });
    done.unwrap_or_else(|refusal| Answer::refusal(format, &refusal, None))
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

fn open(directory: &std::path::Path) -> Result<ArtefactStore, Refusal> {
    ArtefactStore::open(directory, StoreOptions::default())
}

fn list(format: Format, directory: &std::path::Path) -> Result<Answer, Refusal> {
    let engine = EngineId::current().map_err(|cause| {
        Refusal::new(
            ErrorType::EnvironmentUnavailable,
            "the engine does not start on this machine",
        )
        .for_operator(cause)
    })?;
    let entries = open(directory)?.list(&engine)?;
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
            Answer::json(&json!({ "directory": directory, "entries": rows }))
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
            Answer::text(
                text + &format!(
                    "{} entries, {total} bytes in {}\n",
                    entries.len(),
                    directory.display()
                ),
            )
        }
    })
}

fn clear(format: Format, directory: &std::path::Path) -> Result<Answer, Refusal> {
    let cleared = open(directory)?.clear()?;
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

fn verify(format: Format, directory: &std::path::Path) -> Result<Answer, Refusal> {
    let verified = open(directory)?.verify()?;
    let code = if verified.bad.is_empty() {
        0
    } else {
        ErrorType::IntegrityFailed.exit_code()
    };
    let answer = match format {
        Format::Json => {
            let bad: Vec<_> = verified
                .bad
                .iter()
                .map(|file| json!({ "file": file.name, "reason": file.reason }))
                .collect();
            Answer::json(&json!({ "sound": verified.sound, "bad": bad }))
        }
        Format::Text => {
            let mut text: String = verified
                .bad
                .iter()
                .map(|file| format!("damaged: {}: {}\n", file.name, file.reason))
                .collect();
            text += &format!(
                "{} files sound, {} damaged\n",
                verified.sound,
                verified.bad.len()
            );
            Answer::text(text)
        }
    };
    Ok(answer.with_code(code))
}
