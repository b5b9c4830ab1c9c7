//! What somebody asks for within a scope, and what is left of it.
//!
//! Rule (I4): whatever is asked, what comes out is within what was narrowed.

use std::collections::{BTreeMap, BTreeSet};

use bindery_types::{GrantName, Limit, LimitName, LimitValueError};
use serde::Deserialize;

use super::{Keys, Scope, Slice, SubPath};
use crate::url::UrlPrefix;
use crate::words::Access;

/// How one grant is wanted; what is left out is wanted as it is granted.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wish {
    /// Of a directory or a store.
    pub access: Option<Access>,
    /// Of a directory.
    pub path: Option<SubPath>,
    /// Of an endpoint.
    pub methods: Option<BTreeSet<Box<str>>>,
    /// Of an endpoint.
    pub url: Option<String>,
    /// Of a store or the configuration.
    pub keys: Option<BTreeSet<Box<str>>>,
}

/// A scope that is asked for: grants by name, limits, a time.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScopeRequest {
    /// The grants, each as it is wanted. Left out: the least that the capability needs.
    pub grants: Option<BTreeMap<GrantName, Wish>>,
    /// Limits by name, such as `{"fuel": "5e7"}`.
    pub budget: BTreeMap<String, String>,
    /// How long, in milliseconds.
    pub ttl_ms: Option<u64>,
}

/// Why nothing is left of what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NarrowError {
    /// The grant is not there to be narrowed.
    #[error("no grant `{0}` is available for this")]
    NoSuchGrant(GrantName),
    /// Nothing of the grant is within the wish, or the wish speaks of another kind of grant.
    #[error("nothing of grant `{0}` is left within what was asked for")]
    NothingLeft(GrantName),
    /// A limit is misspelt.
    #[error(transparent)]
    Limit(#[from] LimitValueError),
}

impl Scope {
    /// What is within this scope and within `request`.
    ///
    /// # Errors
    ///
    /// [`NarrowError`] when a grant that is asked for is not there, or nothing of it is left.
    pub fn narrow(&self, request: &ScopeRequest) -> Result<Self, NarrowError> {
        let mut narrowed = self.clone();
        if let Some(grants) = &request.grants {
            let mut slices = BTreeMap::new();
            for (name, wish) in grants {
                let own = self
                    .slice(name)
                    .ok_or_else(|| NarrowError::NoSuchGrant(name.clone()))?;
                let left = wish
                    .of(own)
                    .ok_or_else(|| NarrowError::NothingLeft(name.clone()))?;
                slices.insert(name.clone(), left);
            }
            narrowed.slices = slices;
        }
        for (name, limit) in request.limits()? {
            narrowed = narrowed.limited(name, limit);
        }
        Ok(match request.ttl_ms {
            Some(ttl_ms) => narrowed.lasting(ttl_ms),
            None => narrowed,
        })
    }
}

impl ScopeRequest {
    /// The limits, read.
    ///
    /// # Errors
    ///
    /// [`LimitValueError`] when a name or a value is none.
    pub fn limits(&self) -> Result<Vec<(LimitName, Limit)>, LimitValueError> {
        let read = |(name, value): (&String, &String)| {
            let name = LimitName::parse(name)?;
            Ok((name, name.parse_value(value)?))
        };
        self.budget.iter().map(read).collect()
    }
}

impl Wish {
    /// What is left of `own` within the wish; a word that the kind does not know leaves
    /// nothing.
    fn of(&self, own: &Slice) -> Option<Slice> {
        let Self {
            access,
            path,
            methods,
            url,
            keys,
        } = self;
        let (places, requests) = (path.is_some(), methods.is_some() || url.is_some());
        let wanted = match own {
            Slice::Directory {
                access: granted, ..
            } if !requests && keys.is_none() => Slice::Directory {
                access: access.unwrap_or(*granted),
                path: path.clone().unwrap_or_default(),
            },
            Slice::Endpoint {
                methods: all,
                url: granted,
            } if access.is_none() && !places && keys.is_none() => {
                let url = url.as_ref().map(|url| url.parse::<UrlPrefix>());
                Slice::Endpoint {
                    methods: methods.clone().unwrap_or_else(|| all.clone()),
                    url: url.transpose().ok()?.unwrap_or_else(|| granted.clone()),
                }
            }
            Slice::Store {
                access: granted, ..
            } if !places && !requests => Slice::Store {
                access: access.unwrap_or(*granted),
                keys: keys.clone().map_or(Keys::Granted, Keys::Only),
            },
            Slice::Config { keys: all } if access.is_none() && !places && !requests => {
                Slice::Config {
                    keys: keys.clone().unwrap_or_else(|| all.clone()),
                }
            }
            other if *self == Self::default() => return Some(other.clone()),
            _ => return None,
        };
        own.meet(&wanted)
    }
}

impl ScopeRequest {
    /// Whether `scope` gives everything that is asked for, uncut.
    pub(crate) fn is_met_by(&self, scope: &Scope) -> bool {
        self.grants
            .iter()
            .flatten()
            .all(|(name, wish)| scope.slice(name).is_some_and(|slice| wish.is_met_by(slice)))
    }
}

impl Wish {
    fn is_met_by(&self, slice: &Slice) -> bool {
        let Self {
            access,
            path,
            methods,
            url,
            keys,
        } = self;
        match slice {
            Slice::Directory {
                access: given,
                path: at,
            } => {
                access.is_none_or(|wanted| wanted <= *given)
                    && path.as_ref().is_none_or(|path| path == at)
            }
            Slice::Endpoint {
                methods: given,
                url: at,
            } => {
                let url = url.as_ref().and_then(|url| url.parse::<UrlPrefix>().ok());
                methods.as_ref().is_none_or(|wanted| wanted == given)
                    && url.is_none_or(|url| url == *at)
            }
            Slice::Store {
                access: given,
                keys: of,
            } => {
                let wanted = keys.clone().map_or(Keys::Granted, Keys::Only);
                access.is_none_or(|wanted| wanted <= *given) && (keys.is_none() || wanted == *of)
            }
            Slice::Config { keys: given } => keys.as_ref().is_none_or(|wanted| wanted == given),
            Slice::Secret | Slice::Clock | Slice::Random | Slice::Log | Slice::Binding => true,
        }
    }
}
