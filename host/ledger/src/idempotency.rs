//! Idempotency keys: at most one start for each, whatever happens to the answers.
//!
//! Rule (I16, I17, case G1, C-56): the key is claimed in the record that starts the call;
//! equal canonical arguments get the recorded outcome, others a conflict; what failed
//! before any effect may run again, what nobody knows may not.

use bindery_types::{CallId, Digest, Moment};

use crate::key::EffectKey;
use crate::rejection::Rejection;
use crate::state::{EffectEntry, EffectStanding, State};

impl State {
    /// What a key stands for at `now`; a known outcome whose time is over is forgotten.
    pub fn effect(&self, key: &EffectKey, now: Moment) -> Option<&EffectEntry> {
        let entry = self.effects.get(key)?;
        match entry.standing {
            EffectStanding::Ended { .. } | EffectStanding::FailedBeforeEffect => {
                (now < entry.expires_at).then_some(entry)
            }
            EffectStanding::InProgress | EffectStanding::Unknown => Some(entry),
        }
    }

    /// Whether a call with this key and these arguments may start.
    ///
    /// # Errors
    ///
    /// What the key stands for instead: another request, a call that runs, an outcome, or
    /// a doubt.
    pub fn check_key(
        &self,
        key: &EffectKey,
        arguments: Digest,
        now: Moment,
    ) -> Result<(), Rejection> {
        let Some(entry) = self.effect(key, now) else {
            return Ok(());
        };
        if entry.arguments != arguments {
            return Err(Rejection::KeyConflict);
        }
        let call = entry.call;
        match &entry.standing {
            EffectStanding::InProgress => Err(Rejection::InProgress { call }),
            EffectStanding::Ended { end, .. } => Err(Rejection::AlreadyDone { call, end: *end }),
            EffectStanding::Unknown => Err(Rejection::OutcomeUnknown { call }),
            EffectStanding::FailedBeforeEffect => Ok(()),
        }
    }

    pub(crate) fn hold_key(
        &mut self,
        key: EffectKey,
        call: CallId,
        arguments: Digest,
        expires_at: Moment,
    ) {
        let entry = EffectEntry {
            arguments,
            call,
            standing: EffectStanding::InProgress,
            expires_at,
        };
        if let Some(old) = self.effects.insert(key.clone(), entry) {
            self.forgettable.remove(&(old.expires_at, key));
        }
    }

    /// Writes down how the key's call ended; only what is known can be forgotten.
    pub(crate) fn settle_key(&mut self, key: &EffectKey, standing: EffectStanding) {
        let Some(entry) = self.effects.get_mut(key) else {
            return;
        };
        let known = match standing {
            EffectStanding::Ended { .. } | EffectStanding::FailedBeforeEffect => true,
            EffectStanding::InProgress | EffectStanding::Unknown => false,
        };
        entry.standing = standing;
        let expires_at = entry.expires_at;
        if known {
            self.forgettable.insert((expires_at, key.clone()));
        }
    }

    /// Forgets what may be forgotten at `now`.
    pub(crate) fn forget(&mut self, now: Moment) {
        while self.forgettable.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, key)) = self.forgettable.pop_first() {
                self.effects.remove(&key);
            }
        }
    }
}
