//! Names in lists become ids when the policy is loaded (C-49).
//!
//! Rule: a denial covers every match; a permission with several matches or none is a fault
//! that names the ids. Decisions use ids alone, so nothing is re-pointed later (case C8).

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bindery_types::CapabilityId;

use crate::words::Missing;

/// Public names with the ids they stand for; one name may stand for several.
#[derive(Clone, Debug, Default)]
pub struct KnownNames {
    ids: BTreeMap<String, BTreeSet<CapabilityId>>,
}

impl<'a> FromIterator<(&'a str, &'a CapabilityId)> for KnownNames {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a CapabilityId)>>(pairs: I) -> Self {
        let mut names = Self::default();
        for (name, id) in pairs {
            names
                .ids
                .entry(name.to_owned())
                .or_default()
                .insert(id.clone());
        }
        names
    }
}

/// A set of capabilities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IdSet(HashSet<CapabilityId>);

impl IdSet {
    pub(crate) fn has(&self, id: &CapabilityId) -> bool {
        self.0.contains(id)
    }

    /// In order, for digests.
    pub(crate) fn sorted(&self) -> BTreeSet<&CapabilityId> {
        self.0.iter().collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &CapabilityId> {
        self.0.iter()
    }
}

/// What a list is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// It permits: each name has to mean one capability.
    Permits(Missing),
    /// It forbids: each name means every match.
    Forbids,
}

/// What came of a list: its ids, what is wrong with it, and what is only worth a warning.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    pub(crate) ids: IdSet,
    pub(crate) faults: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

impl KnownNames {
    /// Reads a list of ids and public names.
    pub(crate) fn resolve(&self, list: &[String], kind: ListKind) -> Resolved {
        let mut resolved = Resolved::default();
        for item in list {
            self.resolve_one(item, kind, &mut resolved);
        }
        resolved
    }

    fn resolve_one(&self, item: &str, kind: ListKind, resolved: &mut Resolved) {
        if item.contains('#') {
            match item.parse::<CapabilityId>() {
                Ok(id) => {
                    resolved.ids.0.insert(id);
                }
                Err(error) => resolved.faults.push(format!("`{item}`: {error}")),
            }
            return;
        }
        let matches: Vec<&CapabilityId> = self.ids.get(item).into_iter().flatten().collect();
        match (kind, matches.as_slice()) {
            (ListKind::Forbids, matches) => resolved.ids.0.extend(matches.iter().copied().cloned()),
            (ListKind::Permits(_), [one]) => {
                resolved.ids.0.insert((*one).clone());
            }
            (ListKind::Permits(Missing::Warning), []) => {
                resolved
                    .warnings
                    .push(format!("`{item}` names no capability"));
            }
            (ListKind::Permits(Missing::Error), []) => {
                resolved.faults.push(format!(
                    "`{item}` names no capability; write its id (`namespace:package#function`), or `[names] missing = \"warning\"`"
                ));
            }
            (ListKind::Permits(_), several) => {
                let ids: Vec<&str> = several.iter().map(|id| id.as_str()).collect();
                resolved.faults.push(format!(
                    "`{item}` names several capabilities, write the id that is meant: {}",
                    ids.join(", ")
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> (KnownNames, Vec<CapabilityId>) {
        let ids: Vec<CapabilityId> = ["a:p#go", "b:p#go", "a:p#stop"]
            .iter()
            .map(|id| id.parse().unwrap())
            .collect();
        let names = ["go", "go", "stop"].into_iter().zip(&ids).collect();
        (names, ids)
    }

    fn list(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    #[test]
    fn a_denial_covers_every_match_and_a_permission_only_a_single_one() {
        let (known, ids) = known();
        let denied = known.resolve(&list(&["go", "nothing"]), ListKind::Forbids);
        assert!(
            denied.ids.has(&ids[0]) && denied.ids.has(&ids[1]) && !denied.ids.has(&ids[2]),
            "C-49"
        );
        assert!(denied.faults.is_empty());
        let allowed = known.resolve(&list(&["go", "stop"]), ListKind::Permits(Missing::Error));
        assert!(
            allowed.faults[0].contains("a:p#go, b:p#go"),
            "C-49: {:?}",
            allowed.faults
        );
        assert!(allowed.ids.has(&ids[2]));
    }

    #[test]
    fn a_permission_for_nothing_is_a_fault_unless_the_host_says_a_warning() {
        let (known, _) = known();
        let fault = known.resolve(&list(&["gone"]), ListKind::Permits(Missing::Error));
        assert_eq!(fault.faults.len(), 1, "C-49");
        let warned = known.resolve(&list(&["gone"]), ListKind::Permits(Missing::Warning));
        assert!(
            warned.faults.is_empty() && warned.warnings.len() == 1,
            "C-49"
        );
    }

    #[test]
    fn an_id_needs_no_name() {
        let resolved =
            KnownNames::default().resolve(&list(&["x:y#z"]), ListKind::Permits(Missing::Error));
        assert!(resolved.ids.has(&"x:y#z".parse().unwrap()) && resolved.faults.is_empty());
        let wrong = KnownNames::default().resolve(&list(&["x:#z"]), ListKind::Forbids);
        assert_eq!(wrong.faults.len(), 1);
    }
}
