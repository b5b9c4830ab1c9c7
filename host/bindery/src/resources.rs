//! What stands behind the grants of a document: opened by whoever has the authority.
//!
//! Rule: a document names things, it opens nothing. A directory is a handle that the
//! embedder opened; whatever is not here is not granted, whatever the document says. A
//! scope becomes grants at each call and only within itself (I4).

use std::collections::BTreeMap;

use bindery_grants::{Access, Clock, DirectoryGrant, EndpointGrant, Grants, Randomness};
use bindery_policy::document::grants::Resource;
use bindery_policy::{Access as Allowed, Document, Scope, Slice};
use bindery_types::{ErrorType, GrantName, Refusal};

/// Opened resources by grant name. Empty unless something is put in.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    directories: BTreeMap<GrantName, DirectoryGrant>,
}

impl Resources {
    /// Puts in the directory that stands behind the directory grant `name`.
    #[must_use]
    pub fn directory(mut self, name: GrantName, directory: DirectoryGrant) -> Self {
        self.directories.insert(name, directory);
        self
    }

    /// The grants that `scope` comes to under `document`.
    ///
    /// # Errors
    ///
    /// `capability_unavailable` when something the scope names is not opened or not there
    /// any more; the operator's text says what.
    pub(crate) fn grants(&self, document: &Document, scope: &Scope) -> Result<Grants, Refusal> {
        let mut grants = Grants::default();
        for (name, slice) in scope.slices() {
            let entry = document
                .grants
                .get(name)
                .ok_or_else(|| gone(name, "the document has no such grant"))?;
            self.add(&mut grants, name, slice, &entry.resource)?;
        }
        Ok(grants)
    }

    fn add(
        &self,
        grants: &mut Grants,
        name: &GrantName,
        slice: &Slice,
        resource: &Resource,
    ) -> Result<(), Refusal> {
        match (slice, resource) {
            (Slice::Directory { access, path }, Resource::Directory { .. }) => {
                let whole = self
                    .directories
                    .get(name)
                    .ok_or_else(|| gone(name, "its folder is not opened"))?;
                let access = match access {
                    Allowed::ReadOnly => Access::ReadOnly,
                    Allowed::ReadWrite => Access::ReadWrite,
                };
                let grant = whole
                    .narrowed(path.as_str(), access)
                    .map_err(|error| gone(name, &error.to_string()))?;
                grants.directories.push(grant);
            }
            (Slice::Endpoint { methods, url }, Resource::Endpoint { .. }) => {
                let methods: Vec<&str> = methods.iter().map(|method| &**method).collect();
                let grant = EndpointGrant::parse(&format!("{} {url}", methods.join(",")))
                    .map_err(|error| gone(name, &error.to_string()))?;
                grants.endpoints.push(grant);
            }
            (Slice::Config { keys }, Resource::Config { values }) => {
                let values = values.iter().filter(|(key, _)| keys.contains(key.as_str()));
                let config = grants.config.get_or_insert_default();
                config.extend(values.map(|(key, value)| (key.clone(), value.clone())));
            }
            (Slice::Clock, Resource::Clock) => grants.clock = Clock::Real,
            (Slice::Random, Resource::Random) => grants.randomness = Randomness::Real,
            (Slice::Log, Resource::Log) => {}
            (slice, _) => {
                let kind = slice.kind();
                return Err(gone(name, &format!("this host gives no `{kind}` grant")));
            }
        }
        Ok(())
    }
}

fn gone(name: &GrantName, why: &str) -> Refusal {
    Refusal::new(
        ErrorType::CapabilityUnavailable,
        "something that it was granted is not available",
    )
    .for_operator(format!("grant `{name}`: {why}"))
}
