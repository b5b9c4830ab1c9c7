//! What a call shares with the streams, timers and tasks that it starts.
//!
//! Rule: made when it is first shared. Most calls start none of them, and a call that uses
//! nothing pays for nothing.

use std::sync::{Arc, OnceLock};

/// A value behind a counter, made when first asked for.
#[derive(Debug)]
pub(crate) struct Shared<T>(OnceLock<Arc<T>>);

impl<T> Shared<T> {
    /// One that is not made yet.
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// One that has been made.
    pub(crate) fn of(value: Arc<T>) -> Self {
        Self(OnceLock::from(value))
    }

    /// The value; `make` makes it when nobody asked before.
    pub(crate) fn get(&self, make: impl FnOnce() -> T) -> &Arc<T> {
        self.0.get_or_init(|| Arc::new(make()))
    }

    /// The value, if anybody asked for it.
    pub(crate) fn made(&self) -> Option<&T> {
        self.0.get().map(Arc::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asks_gets_the_value_that_was_made_first() {
        let shared = Shared::new();
        assert_eq!(shared.made(), None);
        let first = Arc::clone(shared.get(|| 1));
        assert!(Arc::ptr_eq(&first, shared.get(|| 2)));
        assert_eq!(shared.made(), Some(&1));
    }
}
