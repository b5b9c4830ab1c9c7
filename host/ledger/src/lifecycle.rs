//! The one table of transitions over the eleven words of [`Lifecycle`].
//!
//! Rule (R-360 … R-371): S0's eleven moves, C-22's three and C-60's one; everything else
//! is refused, `stale → bound` included.

use crate::rejection::Rejection;
use crate::words::Lifecycle::{
    self, Bindable, Bound, Described, Discovered, Probed, Rejected, Released, Revoked, Stale,
    StructurallyValid, Unavailable,
};

impl Lifecycle {
    /// Where it may go from here.
    pub fn next(self) -> &'static [Lifecycle] {
        match self {
            Discovered => &[Described],
            Described => &[StructurallyValid],
            StructurallyValid => &[Probed, Bindable, Rejected],
            Probed => &[Bindable, Rejected],
            Bindable => &[Bound, Rejected],
            Bound => &[Stale, Revoked, Unavailable, Released],
            Stale | Unavailable => &[StructurallyValid],
            Rejected | Revoked | Released => &[],
        }
    }

    /// Whether the table has this move.
    pub fn may_become(self, next: Self) -> bool {
        self.next().contains(&next)
    }

    /// Refuses a move that the table does not have.
    pub(crate) fn check(self, next: Self) -> Result<(), Rejection> {
        if self.may_become(next) {
            return Ok(());
        }
        Err(Rejection::Transition {
            from: self,
            to: next,
        })
    }
}
