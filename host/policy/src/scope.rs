//! Scopes: what a binding may touch, grant by grant, each as it is granted or narrower.
//!
//! Rule (I4, R-493, R-495): scopes are a lattice. `meet` is the greatest scope within both,
//! `narrow` never leaves what it narrows, and there is no scope that means everything: a
//! scope lists what it holds, the empty one holds nothing.

use std::collections::{BTreeMap, BTreeSet};

use bindery_types::{Digest, GrantName, Limit, LimitName, canonical_digest};
use serde::{Deserialize, Serialize, Serializer};

use crate::url::UrlPrefix;
use crate::words::{Access, GrantKind};

mod path;
mod wish;

pub use path::{SubPath, SubPathError};
pub use wish::{NarrowError, ScopeRequest, Wish};

/// One grant as a scope holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Slice {
    /// A folder below the granted one.
    Directory {
        /// What may be done.
        access: Access,
        /// Where, seen from the granted folder.
        path: SubPath,
    },
    /// Requests below a URL.
    Endpoint {
        /// With these methods.
        methods: BTreeSet<Box<str>>,
        /// To URLs that begin so.
        url: UrlPrefix,
    },
    /// A key-value store.
    Store {
        /// What may be done.
        access: Access,
        /// With which keys.
        keys: Keys,
    },
    /// Configuration values with these names.
    Config {
        /// The names.
        keys: BTreeSet<Box<str>>,
    },
    /// A credential added to requests.
    Secret,
    /// The real clock.
    Clock,
    /// Real randomness.
    Random,
    /// The host's log.
    Log,
    /// Another capability.
    Binding,
}

/// Which keys of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keys {
    /// Those of the granted store.
    Granted,
    /// Only these.
    Only(BTreeSet<Box<str>>),
}

impl Keys {
    fn meet(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Granted, keys) | (keys, Self::Granted) => Some(keys.clone()),
            (Self::Only(a), Self::Only(b)) => common(a, b).map(Self::Only),
        }
    }
}

/// What is in both sets, when anything is.
fn common<T: Ord + Clone>(a: &BTreeSet<T>, b: &BTreeSet<T>) -> Option<BTreeSet<T>> {
    let both: BTreeSet<T> = a.intersection(b).cloned().collect();
    (!both.is_empty()).then_some(both)
}

impl Slice {
    /// What kind of grant it is of.
    pub fn kind(&self) -> GrantKind {
        match self {
            Self::Directory { .. } => GrantKind::Directory,
            Self::Endpoint { .. } => GrantKind::Endpoint,
            Self::Store { .. } => GrantKind::Store,
            Self::Config { .. } => GrantKind::Config,
            Self::Secret => GrantKind::Secret,
            Self::Clock => GrantKind::Clock,
            Self::Random => GrantKind::Random,
            Self::Log => GrantKind::Log,
            Self::Binding => GrantKind::Binding,
        }
    }

    /// The greatest slice within both; nothing when they have nothing in common.
    pub fn meet(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Directory { access: a, path: p }, Self::Directory { access: b, path: q }) => {
                Some(Self::Directory {
                    access: *a.min(b),
                    path: p.meet(q)?,
                })
            }
            (Self::Endpoint { methods: m, url: u }, Self::Endpoint { methods: n, url: v }) => {
                Some(Self::Endpoint {
                    methods: common(m, n)?,
                    url: u.meet(v)?,
                })
            }
            (Self::Store { access: a, keys: k }, Self::Store { access: b, keys: l }) => {
                Some(Self::Store {
                    access: *a.min(b),
                    keys: k.meet(l)?,
                })
            }
            (Self::Config { keys: k }, Self::Config { keys: l }) => {
                common(k, l).map(|keys| Self::Config { keys })
            }
            (a, b) => (a == b).then(|| a.clone()),
        }
    }

    /// Whether `other` is within this one; allocates nothing.
    pub fn contains(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Directory { access: a, path: p }, Self::Directory { access: b, path: q }) => {
                a >= b && p.contains(q)
            }
            (Self::Endpoint { methods: m, url: u }, Self::Endpoint { methods: n, url: v }) => {
                n.is_subset(m) && u.covers(v)
            }
            (Self::Store { access: a, keys: k }, Self::Store { access: b, keys: l }) => {
                let keys = match (k, l) {
                    (Keys::Granted, _) => true,
                    (Keys::Only(_), Keys::Granted) => false,
                    (Keys::Only(k), Keys::Only(l)) => l.is_subset(k),
                };
                a >= b && keys
            }
            (Self::Config { keys: k }, Self::Config { keys: l }) => l.is_subset(k),
            (a, b) => a == b,
        }
    }

    /// The same without the right to change anything.
    #[must_use]
    pub(crate) fn read_only(self) -> Self {
        match self {
            Self::Directory { path, .. } => Self::Directory {
                access: Access::ReadOnly,
                path,
            },
            Self::Store { keys, .. } => Self::Store {
                access: Access::ReadOnly,
                keys,
            },
            other => other,
        }
    }
}

/// What a binding may touch, for how long, under which limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Scope {
    slices: BTreeMap<GrantName, Slice>,
    #[serde(serialize_with = "by_name")]
    limits: BTreeMap<LimitName, Limit>,
    ttl_ms: Option<u64>,
}

fn by_name<S: Serializer>(limits: &BTreeMap<LimitName, Limit>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(limits.iter().map(|(name, limit)| (name.as_str(), limit)))
}

impl Scope {
    /// The scope of these slices, with no limit of its own and no end of its own.
    pub fn of(slices: impl IntoIterator<Item = (GrantName, Slice)>) -> Self {
        Self {
            slices: slices.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The same, with `limit` for `name` at most.
    #[must_use]
    pub fn limited(mut self, name: LimitName, limit: Limit) -> Self {
        let least = self.limits.get(&name).map_or(limit, |own| limit.min(*own));
        self.limits.insert(name, least);
        self
    }

    /// The same, for at most `ttl_ms`.
    #[must_use]
    pub fn lasting(mut self, ttl_ms: u64) -> Self {
        self.ttl_ms = Some(self.ttl_ms.map_or(ttl_ms, |own| own.min(ttl_ms)));
        self
    }

    /// What it holds, by grant.
    pub fn slices(&self) -> impl Iterator<Item = (&GrantName, &Slice)> {
        self.slices.iter()
    }

    /// What it holds of `grant`.
    pub fn slice(&self, grant: &GrantName) -> Option<&Slice> {
        self.slices.get(grant)
    }

    /// The limits it sets.
    pub fn limits(&self) -> impl Iterator<Item = (LimitName, Limit)> + '_ {
        self.limits.iter().map(|(name, limit)| (*name, *limit))
    }

    /// How long it lasts at most, when it says so.
    pub fn ttl_ms(&self) -> Option<u64> {
        self.ttl_ms
    }

    /// The greatest scope within both.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Self {
        let shared = self
            .slices
            .iter()
            .filter_map(|(name, slice)| Some((name.clone(), slice.meet(other.slices.get(name)?)?)));
        let mut met = Self {
            slices: shared.collect(),
            ..self.clone()
        };
        for (name, limit) in other.limits() {
            met = met.limited(name, limit);
        }
        match other.ttl_ms {
            Some(ttl_ms) => met.lasting(ttl_ms),
            None => met,
        }
    }

    /// Whether `other` is within this one.
    pub fn contains(&self, other: &Self) -> bool {
        let slices = other
            .slices
            .iter()
            .all(|(name, slice)| self.slices.get(name).is_some_and(|own| own.contains(slice)));
        let limits = self
            .limits
            .iter()
            .all(|(name, own)| other.limits.get(name).is_some_and(|limit| limit <= own));
        let ttl = self
            .ttl_ms
            .is_none_or(|own| other.ttl_ms.is_some_and(|ttl_ms| ttl_ms <= own));
        slices && limits && ttl
    }

    /// The digest that approvals and records know it by.
    pub fn digest(&self) -> Digest {
        canonical_digest(&serde_json::to_value(self).unwrap_or_default())
    }
}
