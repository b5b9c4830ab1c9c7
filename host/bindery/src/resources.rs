//! What stands behind the grants of a document: opened by whoever has the authority.
//!
//! Rule: a document names things, it opens nothing. A directory is a handle that the
//! embedder opened; whatever is not here is not granted, whatever the document says. A
//! scope becomes grants at each call and only within itself (I4).

use std::collections::BTreeMap;
use std::sync::Arc;

use bindery_grants::{
    Access, Clock, Credential, DirectoryGrant, EndpointGrant, Grants, KeyValueStore, Randomness,
    StoreGrant,
};
use bindery_policy::document::grants::Resource;
use bindery_policy::{Access as Allowed, Document, Keys, Scope, Slice, SubPath};
use bindery_screen::Screen;
use bindery_types::{CredentialName, ErrorType, GrantName, Refusal};

use crate::known::Known;

/// Opened resources by grant name, stores and credentials by their own. Empty unless
/// something is put in.
#[derive(Clone, Default)]
pub struct Resources {
    directories: BTreeMap<GrantName, DirectoryGrant>,
    stores: BTreeMap<String, Arc<dyn KeyValueStore>>,
    credentials: BTreeMap<CredentialName, Credential>,
    /// The names of the credentials, as decisions read them.
    names: Vec<CredentialName>,
    known: Arc<Known>,
    /// What an operator grants to one command, whole: no scope is cut from it.
    whole: Option<Grants>,
}

impl std::fmt::Debug for Resources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resources")
            .field("directories", &self.directories)
            .field("stores", &self.stores.keys())
            .field("credentials", &self.names)
            .finish()
    }
}

/// The grants of one scope under way: a credential is added to an endpoint by name.
#[derive(Default)]
struct Made {
    grants: Grants,
    endpoints: BTreeMap<GrantName, EndpointGrant>,
    secrets: Vec<(GrantName, CredentialName, GrantName)>,
}

impl Resources {
    /// Exactly these grants, for a scope that names all of them.
    pub(crate) fn whole(grants: Grants) -> Self {
        Self {
            whole: Some(grants),
            ..Self::default()
        }
    }

    /// Puts in the directory that stands behind the directory grant `name`.
    #[must_use]
    pub fn directory(mut self, name: GrantName, directory: DirectoryGrant) -> Self {
        self.directories.insert(name, directory);
        self
    }

    /// Puts in what keeps the store that store grants call `store`. A guest opens it by the
    /// name of the grant.
    #[must_use]
    pub fn store(mut self, store: impl Into<String>, backend: Arc<dyn KeyValueStore>) -> Self {
        self.stores.insert(store.into(), backend);
        self
    }

    /// Puts in the credential that endpoint and secret grants name. Its value is read when
    /// a call begins that holds such a grant, and is masked in whatever leaves any call.
    #[must_use]
    pub fn credential(mut self, credential: Credential) -> Self {
        let name = credential.name().clone();
        let watch = Arc::clone(&self.known);
        self.credentials.insert(name, credential.watched_by(watch));
        self.names = self.credentials.keys().cloned().collect();
        self
    }

    /// The credentials there are, by name.
    pub(crate) fn credentials(&self) -> &[CredentialName] {
        &self.names
    }

    /// What masks every secret that is known, read first where nobody read it lately.
    ///
    /// # Errors
    ///
    /// `policy_malformed` when they cannot all be searched for.
    pub(crate) async fn screen(&self) -> Result<Arc<Screen>, Refusal> {
        self.known.screen(&self.credentials).await
    }

    /// The same, as things are after a call: what it read is known.
    ///
    /// # Errors
    ///
    /// As [`Resources::screen`].
    pub(crate) fn screen_now(&self) -> Result<Arc<Screen>, Refusal> {
        self.known.made()
    }

    /// The grants that `scope` comes to under `document`.
    ///
    /// # Errors
    ///
    /// `capability_unavailable` when something the scope names is not opened or not there
    /// any more, `credential_missing` when a credential is not; the operator's text says
    /// what.
    pub(crate) fn grants(&self, document: &Document, scope: &Scope) -> Result<Grants, Refusal> {
        if let Some(whole) = &self.whole {
            let named = scope.slices().count();
            return if named == document.grants.len() {
                Ok(whole.clone())
            } else {
                let text = "only a part of what the operator granted is in the scope";
                Err(Refusal::new(ErrorType::Internal, text))
            };
        }
        let mut made = Made::default();
        for (name, slice) in scope.slices() {
            let entry = document
                .grants
                .get(name)
                .ok_or_else(|| gone(name, "the document has no such grant"))?;
            self.add(&mut made, name, slice, &entry.resource)?;
        }
        self.finished(made)
    }

    fn add(
        &self,
        made: &mut Made,
        name: &GrantName,
        slice: &Slice,
        resource: &Resource,
    ) -> Result<(), Refusal> {
        let grants = &mut made.grants;
        match (slice, resource) {
            (Slice::Directory { access, path }, Resource::Directory { .. }) => {
                let grant = self.folder(name, *access, path)?;
                grants.directories.push(grant);
            }
            (Slice::Endpoint { methods, url }, Resource::Endpoint { credential, .. }) => {
                let methods: Vec<&str> = methods.iter().map(|method| &**method).collect();
                let grant = EndpointGrant::parse(&format!("{} {url}", methods.join(",")))
                    .map_err(|error| gone(name, &error.to_string()))?;
                made.endpoints.insert(name.clone(), grant);
                let secret = credential.clone();
                let secret = secret.map(|credential| (name.clone(), credential, name.clone()));
                made.secrets.extend(secret);
            }
            (
                Slice::Secret,
                Resource::Secret {
                    credential,
                    endpoint,
                },
            ) => {
                let secret = (name.clone(), credential.clone(), endpoint.clone());
                made.secrets.push(secret);
            }
            (Slice::Store { access, keys }, Resource::Store { store, .. }) => {
                grants.stores.push(self.kept(name, store, *access, keys)?);
            }
            (Slice::Config { keys }, Resource::Config { values }) => {
                let values = values.iter().filter(|(key, _)| keys.contains(key.as_str()));
                let config = grants.config.get_or_insert_default();
                config.extend(values.map(|(key, value)| (key.clone(), value.clone())));
            }
            (Slice::Clock, Resource::Clock) => grants.clock = Clock::Real,
            (Slice::Random, Resource::Random) => grants.randomness = Randomness::Real,
            // A binding is put in where it was opened, not where it is named.
            (Slice::Log, Resource::Log) | (Slice::Binding, Resource::Binding { .. }) => {}
            (slice, _) => {
                let kind = slice.kind();
                return Err(gone(name, &format!("this host gives no `{kind}` grant")));
            }
        }
        Ok(())
    }

    fn folder(
        &self,
        name: &GrantName,
        access: Allowed,
        path: &SubPath,
    ) -> Result<DirectoryGrant, Refusal> {
        let whole = self.directories.get(name);
        whole
            .ok_or_else(|| gone(name, "its folder is not opened"))?
            .narrowed(path.as_str(), allowed(access))
            .map_err(|error| gone(name, &error.to_string()))
    }

    fn kept(
        &self,
        name: &GrantName,
        store: &str,
        access: Allowed,
        keys: &Keys,
    ) -> Result<StoreGrant, Refusal> {
        let backend = self.stores.get(store).map(Arc::clone);
        let backend =
            backend.ok_or_else(|| gone(name, &format!("no store `{store}` is opened")))?;
        let grant = StoreGrant::new(name.as_str(), backend, allowed(access))
            .map_err(|error| gone(name, &error.to_string()))?;
        Ok(match keys {
            Keys::Granted => grant,
            Keys::Only(keys) => grant.only(keys.iter().map(|key| String::from(&**key))),
        })
    }

    /// Every credential goes to the endpoint that it is named for, and nowhere else.
    fn finished(&self, made: Made) -> Result<Grants, Refusal> {
        let Made {
            mut grants,
            mut endpoints,
            secrets,
        } = made;
        for (name, credential, endpoint) in secrets {
            let target = endpoints
                .remove(&endpoint)
                .ok_or_else(|| gone(&name, &format!("its endpoint `{endpoint}` is not granted")))?;
            if target.credential().is_some() {
                return Err(gone(&name, "its endpoint has another credential"));
            }
            let found = self.credentials.get(&credential).cloned();
            let found = found.ok_or_else(|| missing(&credential))?;
            let armed = target
                .with_credential(found)
                .map_err(|fault| gone(&name, &fault.to_string()))?;
            endpoints.insert(endpoint, armed);
        }
        grants.endpoints.extend(endpoints.into_values());
        Ok(grants)
    }
}

fn allowed(access: Allowed) -> Access {
    match access {
        Allowed::ReadOnly => Access::ReadOnly,
        Allowed::ReadWrite => Access::ReadWrite,
    }
}

fn missing(credential: &CredentialName) -> Refusal {
    Refusal::new(
        ErrorType::CredentialMissing,
        format!("the credential `{credential}` is not available"),
    )
    .for_operator(format!("the credential `{credential}` is not opened"))
    .with("credential", credential.as_str())
}

fn gone(name: &GrantName, why: &str) -> Refusal {
    Refusal::new(
        ErrorType::CapabilityUnavailable,
        "something that it was granted is not available",
    )
    .for_operator(format!("grant `{name}`: {why}"))
}
