//! What stands behind the grants of a document, opened once.
//!
//! Rule (C4, R-595): a folder is opened here and held; whatever happens to its path later,
//! the grant is for what was opened. A grant that cannot be opened is an error where a host
//! starts, not a surprise in a call. The value of a credential is not read here: each call
//! reads it when it begins.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bindery::policy::document::grants::{CredentialEntry, CredentialSource, Resource};
use bindery::policy::{Access as Allowed, Document};
use bindery::{
    Access, Credential, CredentialName, DirectoryGrant, ErrorType, GrantName, KeyValueStore,
    Refusal, Resources, SecretFile, SecretHelper, SecretProvider, SecretVariable,
};
use bindery_values::DiskStore;
use cap_std::AmbientAuthority;
use cap_std::fs::Dir;

use crate::place::Place;

/// What a desk opens, now and at each reload: the same store is the same store.
pub(crate) struct Opener {
    authority: AmbientAuthority,
    /// Guards the map only.
    stores: Mutex<HashMap<String, Arc<DiskStore>>>,
}

impl Opener {
    pub(crate) fn new(authority: AmbientAuthority) -> Self {
        Self {
            authority,
            stores: Mutex::default(),
        }
    }

    /// Opens everything that `document` names; relative paths begin beside it.
    ///
    /// # Ambient Authority
    ///
    /// Opens folders of the host by their paths.
    pub(crate) fn open(&self, document: &Document, place: &Place) -> Result<Resources, Refusal> {
        let base = place.base();
        let mut resources = Resources::default();
        for (name, entry) in &document.grants {
            match &entry.resource {
                Resource::Directory {
                    host,
                    guest,
                    access,
                } => {
                    let dir = self.folder(name, &base.join(host))?;
                    let grant = directory(name, dir, guest, *access)?;
                    resources = resources.directory(name.clone(), grant);
                }
                Resource::Store { store, .. } => {
                    let backend = self.store(name, store, place)?;
                    resources = resources.store(store.clone(), backend);
                }
                Resource::Endpoint { .. }
                | Resource::Config { .. }
                | Resource::Secret { .. }
                | Resource::Clock
                | Resource::Random
                | Resource::Log
                | Resource::Binding { .. } => {}
            }
        }
        for (name, entry) in &document.credentials {
            resources = resources.credential(credential(name, entry, &base)?);
        }
        Ok(resources)
    }

    fn folder(&self, name: &GrantName, host: &Path) -> Result<Dir, Refusal> {
        Dir::open_ambient_dir(host, self.authority)
            .map_err(|error| wrong("grants", name, &format!("{}: {error}", host.display())))
    }

    fn store(
        &self,
        grant: &GrantName,
        store: &str,
        place: &Place,
    ) -> Result<Arc<dyn KeyValueStore>, Refusal> {
        // Its name is the name of a file: a label has nothing in it that a path could mean.
        if store.parse::<GrantName>().is_err() {
            let why = format!("store `{store}`: a name is 1 to 64 of `a-z`, `0-9`, `-` and `_`");
            return Err(wrong("grants", grant, &why));
        }
        let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = stores.get(store) {
            return Ok(Arc::clone(open) as Arc<dyn KeyValueStore>);
        }
        let folder = place.make_values()?;
        let opened = DiskStore::open(&folder.join(format!("{store}.sqlite")))
            .map_err(|error| wrong("grants", grant, &error.to_string()))?;
        let opened = Arc::new(opened);
        stores.insert(store.to_owned(), Arc::clone(&opened));
        Ok(opened)
    }
}

fn directory(
    name: &GrantName,
    dir: Dir,
    guest: &str,
    access: Allowed,
) -> Result<DirectoryGrant, Refusal> {
    let access = match access {
        Allowed::ReadOnly => Access::ReadOnly,
        Allowed::ReadWrite => Access::ReadWrite,
    };
    DirectoryGrant::new(dir, guest, access)
        .map_err(|error| wrong("grants", name, &error.to_string()))
}

fn credential(
    name: &CredentialName,
    entry: &CredentialEntry,
    base: &Path,
) -> Result<Credential, Refusal> {
    let unfit = |why: &dyn std::fmt::Display| wrong("credentials", name, &why.to_string());
    let provider: Arc<dyn SecretProvider> = match &entry.source {
        CredentialSource::Env(variable) => Arc::new(SecretVariable::new(variable)),
        CredentialSource::File(path) => Arc::new(SecretFile::new(base.join(path))),
        CredentialSource::Exec(words) => {
            let (program, arguments) = words
                .split_first()
                .ok_or_else(|| unfit(&"`exec` names a program"))?;
            let helper =
                SecretHelper::new(PathBuf::from(program)).map_err(|error| unfit(&error))?;
            let helper = arguments
                .iter()
                .fold(helper, |helper, word| helper.argument(word));
            Arc::new(helper)
        }
    };
    let credential = Credential::new(name.clone(), provider);
    let credential = if entry.in_the_clear {
        credential.even_in_the_clear()
    } else {
        credential
    };
    if entry.field.is_none() && entry.form.is_none() {
        return Ok(credential);
    }
    let field = entry.field.as_deref().unwrap_or("authorization");
    let form = entry.form.as_deref().unwrap_or("Bearer {}");
    credential
        .in_field(field, form)
        .map_err(|error| unfit(&error))
}

fn wrong(table: &str, name: &dyn std::fmt::Display, why: &str) -> Refusal {
    let text = "something that the configuration grants cannot be opened";
    Refusal::new(ErrorType::PolicyMalformed, text).for_operator(format!("{table}.{name}: {why}"))
}
