//! What a run touched: a closed set of kinds, in the order it happened, bounded.
//!
//! Every host import that reaches outside the store reports one effect. The trace keeps
//! the first thousand and counts the rest, so a guest cannot grow it.

use serde::{Deserialize, Serialize};

/// The kinds of effect a run can have. Closed: a new import needs a new row here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// Bytes or names read through a directory grant.
    Read,
    /// Bytes, names or times changed through a directory grant.
    Write,
    /// A request asked of an endpoint grant, sent or refused.
    Request,
    /// A value read from a store or configuration grant.
    StoreRead,
    /// A value changed in a store grant.
    StoreWrite,
    /// The real clock read.
    Clock,
    /// Real randomness drawn.
    Random,
    /// Text given to the log of the call.
    Log,
    /// Another capability called.
    Nested,
}

/// One thing a run did to the world outside its store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// What was done.
    pub kind: EffectKind,
    /// What it was done to: a path relative to its grant, `GET https://host`, a key.
    /// Never a path of the host, never a query string.
    pub resource: String,
    /// Bytes moved by it.
    pub bytes: u64,
    /// Fuel used by the call when the guest asked for it.
    pub at_fuel: u64,
}

/// The bounded list of effects of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectTrace {
    effects: Vec<Effect>,
    dropped: u64,
}

impl EffectTrace {
    /// Entries kept; later ones are only counted.
    pub const KEPT_MAX: usize = 1_000;

    /// Adds one effect and gives its place, or counts it when the trace is full.
    pub fn push(&mut self, effect: Effect) -> Option<usize> {
        let place = self.effects.len();
        if place < Self::KEPT_MAX {
            self.effects.push(effect);
            Some(place)
        } else {
            self.dropped += 1;
            None
        }
    }

    /// The effect at `place`, for what is known of it only later.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut Effect> {
        self.effects.get_mut(place)
    }

    /// What each effect was done to, for masking.
    pub fn resources_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.effects.iter_mut().map(|effect| &mut effect.resource)
    }

    /// Takes the effect at `place` out again, if it is the last: it was noted before it was
    /// tried, and did not happen.
    pub fn retract(&mut self, place: usize) {
        if place + 1 == self.effects.len() {
            self.effects.pop();
        }
    }

    /// The effects kept, in order.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// How many were counted but not kept.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The parts: effects kept, number dropped.
    pub fn into_parts(self) -> (Vec<Effect>, u64) {
        (self.effects, self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_keeps_a_thousand_effects_and_counts_the_rest() {
        let mut trace = EffectTrace::default();
        for at_fuel in 0..1_002 {
            trace.push(Effect {
                kind: EffectKind::Log,
                resource: String::new(),
                bytes: 0,
                at_fuel,
            });
        }
        assert_eq!(trace.effects().len(), 1_000);
        assert_eq!(trace.dropped(), 2);
        trace.retract(0);
        assert_eq!(
            trace.effects().len(),
            1_000,
            "only the last can be taken back"
        );
        trace.retract(999);
        assert_eq!(trace.effects().len(), 999);
    }
}
