//! A binding, as it stands.

use bindery_types::{BindingHandle, BindingStatus, SessionId};
use serde::{Deserialize, Serialize};

use crate::event::Pins;
use crate::words::{Lifecycle, Route, Trigger};

/// A binding of an open session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// Whose.
    pub session: SessionId,
    /// What it was narrowed from.
    pub parent: Option<BindingHandle>,
    /// How it came about.
    pub route: Route,
    /// What it rests on now.
    pub pins: Pins,
    /// How it ended, once it has.
    pub ended: Option<Ended>,
    /// The record that opened it.
    pub opened_by: u64,
    /// The record that pinned it last.
    pub pinned_by: u64,
}

/// The end of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// Stale, revoked, unavailable or released.
    pub to: Lifecycle,
    /// Why.
    pub trigger: Trigger,
    /// The record that ended it.
    pub by: u64,
}

impl Binding {
    /// Where it stands, of the last five words of [`Lifecycle`].
    pub fn lifecycle(&self) -> Lifecycle {
        self.ended.map_or(Lifecycle::Bound, |ended| ended.to)
    }

    /// the five words that the outside knows; released is unbound (C-21).
    pub fn status(&self) -> BindingStatus {
        match self.lifecycle() {
            Lifecycle::Bound => BindingStatus::Bound,
            Lifecycle::Stale => BindingStatus::Stale,
            Lifecycle::Revoked => BindingStatus::Revoked,
            Lifecycle::Unavailable => BindingStatus::Unavailable,
            Lifecycle::Released
            | Lifecycle::Discovered
            | Lifecycle::Described
            | Lifecycle::StructurallyValid
            | Lifecycle::Probed
            | Lifecycle::Bindable
            | Lifecycle::Rejected => BindingStatus::Unbound,
        }
    }
}
