//! What a call may reach, as plain values.
//!
//! Rule (H24, C-63): the default of every field grants nothing, and no field can bring in
//! the host's environment, arguments or standard streams.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::directory::DirectoryGrant;
use crate::endpoint::EndpointGrant;
use crate::nested::Nested;
use crate::store::StoreGrant;

/// Everything granted to one call. The default is no directory, no endpoint, no
/// store, no configuration, virtual time and seeded randomness.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// Directories, under the paths by which the guest knows them.
    pub directories: Vec<DirectoryGrant>,
    /// Where HTTP requests may go.
    pub endpoints: Vec<EndpointGrant>,
    /// Stores of keys and values, under the names by which the guest opens them.
    pub stores: Vec<StoreGrant>,
    /// Configuration values; `None` is no grant, an empty map is a grant of nothing.
    pub config: Option<BTreeMap<String, String>>,
    /// Which time the guest sees.
    pub clock: Clock,
    /// Which randomness the guest draws.
    pub randomness: Randomness,
    /// What answers imports that are interfaces of other components.
    pub nested: Option<Arc<dyn Nested>>,
}

/// Which time a guest sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// Starts at fixed values, moves with each reading and to the instant of each timer
    /// that is awaited (C-64).
    #[default]
    Virtual,
    /// The host's, monotonic in steps of a millisecond (H28).
    Real,
}

/// Which randomness a guest draws.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Randomness {
    /// From a fixed seed: two runs draw the same.
    #[default]
    Seeded,
    /// The operating system's.
    Real,
}

/// A text or a directory that is no grant.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum GrantError {
    /// A guest path that names nothing a guest could open.
    #[error("`{path}` is no path for a guest: {why}")]
    GuestPath {
        /// the path, on one line
        path: String,
        /// what is wrong with it
        why: &'static str,
    },
    /// Two grants under one name, or one directory under two modes.
    #[error("the grants `{first}` and `{second}` clash: {why}")]
    Clash {
        /// name or guest path of the first
        first: String,
        /// name or guest path of the second
        second: String,
        /// how
        why: &'static str,
    },
    /// The host cannot use the handle.
    #[error("the directory for `{path}` cannot be used: {why}")]
    Directory {
        /// guest path
        path: String,
        /// the operating system's words
        why: String,
    },
}
