//! Screening: what a call leaves, without secrets, before anybody sees or records it.
//!
//! Rule (R-174, R-517, R-585 … R-591, C9): the result, the call's own error, the text of a
//! refusal, captured output and what was touched are searched for every secret that the
//! host knows and for what looks like one. What cannot be screened is withheld; whatever
//! the call did is settled all the same.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bindery_policy::Screening as Setting;
use bindery_screen::Screen;
use bindery_types::{Outcome, Receipt, Run};

/// An embedder's own screening of results, after the host's.
pub trait Screening: Send + Sync + 'static {
    /// The result without what must not be seen; JSON in, JSON out.
    ///
    /// # Errors
    ///
    /// When it cannot say: the result is then withheld.
    fn screen(&self, json: &str) -> Result<String, ScreeningFailed>;
}

/// Why a result could not be screened; for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScreeningFailed(pub String);

/// Why a result is not given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Withheld {
    /// So many secrets were in it, and the document says that none may be.
    Found(u64),
    /// It could not be screened.
    Failed(String),
}

/// A run as it may be recorded and, unless something is withheld, shown.
pub(crate) struct Screened {
    pub(crate) run: Run,
    pub(crate) masked: u64,
    pub(crate) withheld: Option<Withheld>,
}

/// Screens everything that `run` left.
pub(crate) fn screened(
    mut run: Run,
    screen: &Screen,
    own: Option<&Arc<dyn Screening>>,
    setting: Setting,
) -> Screened {
    let mut masked = 0;
    masked += match &mut run.outcome {
        Outcome::Value(json) | Outcome::CapabilityError(json) => replace_json(json, screen),
        Outcome::Refused(refusal) => {
            *refusal = refusal
                .clone()
                .map_text(|text| screen.screen(text).text.into_owned());
            0
        }
    };
    if let Some(receipt) = &mut run.receipt {
        each_text(receipt, |text| {
            let screened = screen.screen(text);
            if screened.masked > 0 {
                *text = screened.text.into_owned();
            }
        });
    }
    for line in &mut run.denials {
        *line = screen.screen(line).text.into_owned();
    }
    let withheld = match (setting, masked) {
        (Setting::Withhold, 1..) => Some(Withheld::Found(masked)),
        (Setting::Withhold | Setting::Redact, _) => own_screening(&mut run, own),
    };
    Screened {
        run,
        masked,
        withheld,
    }
}

/// What an embedder makes of the result; nothing when it brings no screening.
fn own_screening(run: &mut Run, own: Option<&Arc<dyn Screening>>) -> Option<Withheld> {
    let own = own?;
    let (Outcome::Value(json) | Outcome::CapabilityError(json)) = &mut run.outcome else {
        return None;
    };
    let made = std::panic::catch_unwind(AssertUnwindSafe(|| own.screen(json)));
    let why = match made {
        Ok(Ok(made)) if serde_json::from_str::<serde::de::IgnoredAny>(&made).is_ok() => {
            *json = made;
            return None;
        }
        Ok(Ok(_)) => "it made something of the result that is no JSON".to_owned(),
        Ok(Err(ScreeningFailed(why))) => why,
        Err(_) => "it panicked".to_owned(),
    };
    Some(Withheld::Failed(why))
}

fn replace_json(json: &mut String, screen: &Screen) -> u64 {
    let screened = screen.screen_json(json);
    let masked = u64::try_from(screened.masked).unwrap_or(u64::MAX);
    if masked > 0 {
        *json = screened.text.into_owned();
    }
    masked
}

fn each_text(receipt: &mut Receipt, mut each: impl FnMut(&mut String)) {
    for captured in [&mut receipt.stdout, &mut receipt.stderr, &mut receipt.log] {
        each(&mut captured.text);
    }
    for effect in &mut receipt.effects {
        each(&mut effect.resource);
    }
}

/// A receipt that says what was used and shows nothing that was said.
pub(crate) fn silenced(receipt: &mut Receipt) {
    for captured in [&mut receipt.stdout, &mut receipt.stderr, &mut receipt.log] {
        let kept = u64::try_from(captured.text.len()).unwrap_or(u64::MAX);
        captured.dropped_bytes = captured.dropped_bytes.saturating_add(kept);
        captured.truncated |= kept > 0;
        captured.text.clear();
    }
}
