//! Which field, case or label a name of the text is.
//!
//! Rule: finding a name costs the same for the last of a thousand as for the first, so
//! that a wide type and a long text do not multiply.

use std::collections::HashMap;

use bindery_types::TyId;

/// Names up to this number are compared one after the other.
const NARROW_MAX: usize = 24;

/// Tables of the wide types met so far; a call's parameters have no type id.
#[derive(Default)]
pub(super) struct Names<'a> {
    wide: HashMap<Option<TyId>, HashMap<&'a str, usize>>,
}

impl<'a> Names<'a> {
    /// The position of `name` among the `count` names of `owner`. `likely` is looked at
    /// first: members mostly come in order.
    pub(super) fn find(
        &mut self,
        owner: Option<TyId>,
        count: usize,
        name_at: impl Fn(usize) -> Option<&'a str>,
        name: &str,
        likely: usize,
    ) -> Option<usize> {
        if name_at(likely) == Some(name) {
            return Some(likely);
        }
        if count <= NARROW_MAX {
            return (0..count).find(|at| name_at(*at) == Some(name));
        }
        let table = self.wide.entry(owner).or_insert_with(|| {
            (0..count)
                .filter_map(|at| Some((name_at(at)?, at)))
                .collect()
        });
        table.get(name).copied()
    }
}
