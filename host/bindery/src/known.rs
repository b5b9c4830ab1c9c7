//! What the host knows to be secret: every value of a credential that was read, for as long
//! as it may still turn up somewhere.
//!
//! Rule (C9, R-586 … R-591, G6): what leaves a governed call is masked with all of them,
//! whoever's call it is. A value that was replaced is still a secret, so the one before it
//! is kept, too. Masking remembers; authenticating does not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bindery_grants::{Credential, SecretWatch};
use bindery_screen::{Screen, Secret};
use bindery_types::{CredentialName, ErrorType, Refusal};

/// How long a value that nobody used counts as the current one.
const FRESH_FOR: Duration = Duration::from_secs(60);
/// How long one of them may take to be read.
const READ_WITHIN: Duration = Duration::from_secs(5);

/// The values that were seen, and what masks them.
#[derive(Default)]
pub(crate) struct Known {
    /// Held while a value is put in or the screen is made; never over an await.
    seen: Mutex<Seen>,
    /// One reading of all at a time: whoever comes second finds them read.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Seen {
    values: BTreeMap<CredentialName, Values>,
    screen: Option<Arc<Screen>>,
}

#[derive(Default)]
struct Values {
    current: Option<Secret>,
    before: Option<Secret>,
    tried: Option<Instant>,
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Known(…)")
    }
}

impl SecretWatch for Known {
    fn seen(&self, name: &CredentialName, secret: &Secret) {
        let mut seen = self.lock();
        let values = seen.values.entry(name.clone()).or_default();
        values.tried = Some(Instant::now());
        if values.current.as_ref() == Some(secret) {
            return;
        }
        // Copied out of a secret, so it is one.
        let Ok(copy) = Secret::new(secret.expose().to_owned()) else {
            return;
        };
        values.before = values.current.replace(copy);
        seen.screen = None;
    }
}

impl Known {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What masks everything that is known now, `credentials` read first where nobody read
    /// them lately. One that cannot be read has nothing to be masked.
    ///
    /// # Errors
    ///
    /// `policy_malformed` when there are more values than one search can hold: what cannot
    /// be masked must not run.
    pub(crate) async fn screen(
        &self,
        credentials: &BTreeMap<CredentialName, Credential>,
    ) -> Result<Arc<Screen>, Refusal> {
        if credentials.keys().any(|name| self.is_stale(name)) {
            let _turn = self.turn.lock().await;
            for credential in credentials.values() {
                if self.is_stale(credential.name()) {
                    self.lock()
                        .values
                        .entry(credential.name().clone())
                        .or_default()
                        .tried = Some(Instant::now());
                    // The watch of the credential is this: it is told when there is a value.
                    let _read = tokio::time::timeout(READ_WITHIN, credential.read()).await;
                }
            }
        }
        self.made()
    }

    fn is_stale(&self, name: &CredentialName) -> bool {
        let seen = self.lock();
        let tried = seen.values.get(name).and_then(|values| values.tried);
        tried.is_none_or(|tried| tried.elapsed() > FRESH_FOR)
    }

    /// What masks everything that is known now; what a call read meanwhile is in it.
    ///
    /// # Errors
    ///
    /// As [`Known::screen`].
    pub(crate) fn made(&self) -> Result<Arc<Screen>, Refusal> {
        let mut seen = self.lock();
        if let Some(screen) = &seen.screen {
            return Ok(Arc::clone(screen));
        }
        let values = seen.values.values();
        let secrets = values.flat_map(|values| values.current.iter().chain(&values.before));
        let screen = Screen::new(secrets).map_err(|fault| {
            Refusal::new(
                ErrorType::PolicyMalformed,
                "there are more credentials than results can be searched for; configure fewer",
            )
            .for_operator(fault.to_string())
        })?;
        let screen = Arc::new(screen);
        seen.screen = Some(Arc::clone(&screen));
        Ok(screen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(value: &str) -> Secret {
        Secret::new(value.to_owned()).unwrap()
    }

    #[test]
    fn a_value_that_was_replaced_is_masked_with_the_one_that_replaced_it() {
        let (known, name) = (Known::default(), "token".parse().unwrap());
        for value in ["CANARY-one", "CANARY-two", "CANARY-two", "CANARY-three"] {
            known.seen(&name, &secret(value));
        }
        let screen = known.made().unwrap();
        let text = "CANARY-two and CANARY-three and CANARY-one";
        assert_eq!(
            screen.screen(text).text,
            "[masked] and [masked] and CANARY-one"
        );
    }

    #[test]
    fn more_values_than_can_be_searched_for_are_a_refusal_and_not_silence() {
        let known = Known::default();
        for number in 0..65 {
            let name = format!("token-{number}").parse().unwrap();
            known.seen(&name, &secret(&format!("CANARY-{number}")));
        }
        let refusal = known.made().unwrap_err();
        assert_eq!(refusal.kind(), ErrorType::PolicyMalformed);
    }
}
