//! The steps of a governed host as an embedder sees them, each named, and fatal when told.
//!
//! Rule: a step is said before it is passed, so that whoever listens knows the last one.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use bindery::ledger::{Entry, Journal, JournalError, Kept, Query, Record, State};
use bindery::{Digest, Hook, HookAnswer, HookCall, HookRoute};
use bindery_store::Store;
use tracing_subscriber::registry::LookupSpan;

/// The number of the step to die at; 0 for none.
pub(crate) fn die_at(step: u64) {
    STEPS.at.store(step, Ordering::SeqCst);
}

pub(crate) fn say(text: &str) {
    // One write for each line, so that a kill leaves whole lines.
    let mut out = std::io::stdout();
    out.write_all(format!("{text}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// The steps so far, and the one to die at.
struct Steps {
    passed: AtomicU64,
    at: AtomicU64,
    /// What the script does, and how often each step was taken in it.
    verb: Mutex<(String, Vec<(String, u64)>)>,
}

static STEPS: Steps = Steps {
    passed: AtomicU64::new(0),
    at: AtomicU64::new(0),
    verb: Mutex::new((String::new(), Vec::new())),
};

pub(crate) fn verb(name: &str) {
    *STEPS.verb.lock().unwrap() = (name.to_owned(), Vec::new());
}

pub(crate) fn step(what: &str) {
    let named = {
        let mut verb = STEPS.verb.lock().unwrap();
        let place = match verb.1.iter().position(|(known, _)| known == what) {
            Some(place) => place,
            None => {
                verb.1.push((what.to_owned(), 0));
                verb.1.len() - 1
            }
        };
        verb.1[place].1 += 1;
        match verb.1[place].1 {
            1 => format!("{}: {what}", verb.0),
            more => format!("{}: {what} ({more})", verb.0),
        }
    };
    say(&format!("step {named}"));
    let passed = STEPS.passed.fetch_add(1, Ordering::SeqCst) + 1;
    if passed == STEPS.at.load(Ordering::SeqCst) {
        die();
    }
}

fn die() -> ! {
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::KILL).unwrap();
    loop {
        std::thread::park();
    }
}

/// The store, each way into it a step.
pub(crate) struct Watched(pub(crate) Store);

/// What a batch is about: the event that it begins with, but for the run that moves with it.
fn kind(batch: &[Entry]) -> &'static str {
    let mut kinds = batch.iter().map(|entry| entry.event.kind());
    kinds.find(|kind| *kind != "run_moved").unwrap_or("nothing")
}

impl Journal for Watched {
    fn append(&self, batch: Vec<Entry>, kept: Vec<Kept>) -> Result<u64, JournalError> {
        let kind = kind(&batch);
        step(&format!("{kind} asked for"));
        let sequence = self.0.append(batch, kept)?;
        step(&format!("{kind} durable"));
        Ok(sequence)
    }

    fn append_lazy(&self, batch: Vec<Entry>) -> Result<u64, JournalError> {
        let kind = kind(&batch);
        step(&format!("{kind} asked for"));
        let sequence = self.0.append_lazy(batch)?;
        step(&format!("{kind} accepted"));
        Ok(sequence)
    }

    fn has_recovered(&self) -> bool {
        self.0.has_recovered()
    }

    fn look(&self, see: &mut dyn FnMut(&State)) {
        step("the state looked at");
        self.0.look(see);
    }

    fn records(&self, query: &Query) -> Result<Vec<Record>, JournalError> {
        step("records read");
        self.0.records(query)
    }

    fn kept(&self, digest: Digest) -> Result<Option<String>, JournalError> {
        step("a kept result read");
        self.0.kept(digest)
    }
}

/// Both halves of every hook.
pub(crate) struct Hooked;

impl Hook for Hooked {
    fn name(&self) -> &str {
        "steps"
    }

    fn before<'a>(&'a self, about: HookCall<'a>) -> HookAnswer<'a> {
        step(match about.route {
            HookRoute::Bind => "the hook before a binding",
            HookRoute::Call | HookRoute::Nested => "the hook before a call",
        });
        Box::pin(std::future::ready(Ok(())))
    }

    fn after<'a>(&'a self, _: HookCall<'a>) -> HookAnswer<'a> {
        step("the hook after a call");
        Box::pin(std::future::ready(Ok(())))
    }
}

/// What the sandbox says of itself.
pub(crate) struct Spans;

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> tracing_subscriber::Layer<S> for Spans {
    fn on_new_span(
        &self,
        attributes: &tracing::span::Attributes<'_>,
        _: &tracing::span::Id,
        _: tracing_subscriber::layer::Context<'_, S>,
    ) {
        if attributes.metadata().target().starts_with("bindery") {
            step(&format!("`{}` begun", attributes.metadata().name()));
        }
    }

    fn on_close(&self, id: tracing::span::Id, context: tracing_subscriber::layer::Context<'_, S>) {
        let metadata = context.metadata(&id);
        if let Some(metadata) = metadata.filter(|m| m.target().starts_with("bindery")) {
            step(&format!("`{}` ended", metadata.name()));
        }
    }
}
