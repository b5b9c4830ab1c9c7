//! What a guest does to a store, each operation counted, bounded and reported.
//!
//! Rule (H7, H25, G5, R-581): the meter is asked first; keys and values are held against
//! their limits before the backend sees them; the effect is noted before it happens and
//! taken back when it did not. The backend may block, so it works on a thread that may.

use std::collections::BTreeSet;
use std::sync::Arc;

use bindery_types::{EffectKind, LimitHit, LimitName};
use wasmtime::component::{ComponentType, Lower, Resource};

use super::backend::{Change, KeyValueStore, Keys, StoreFault};
use crate::blocking::Act;
use crate::call::CallGrants;
use crate::directory::Access;
use crate::text::one_line;

/// Bytes of a key that the trace keeps.
const KEY_BYTES_KEPT: usize = 128;
/// Keys in one page.
const PAGE_KEYS: usize = 256;

/// An open store: what a guest holds a handle to.
#[derive(Clone)]
pub(crate) struct Bucket {
    name: String,
    backend: Arc<dyn KeyValueStore>,
    access: Access,
    /// The keys it is for; none when it is for all.
    keys: Option<Arc<BTreeSet<String>>>,
}

/// The error of the interface.
#[derive(Clone, Debug, PartialEq, Eq, ComponentType, Lower)]
#[component(variant)]
pub(crate) enum StoreError {
    #[component(name = "no-such-store")]
    NoSuchStore,
    #[component(name = "access-denied")]
    AccessDenied,
    #[component(name = "other")]
    Other(String),
}

impl From<LimitHit> for StoreError {
    fn from(hit: LimitHit) -> Self {
        StoreError::Other(hit.to_string())
    }
}

/// A page of those of `only` that the store has.
fn present(
    backend: &dyn KeyValueStore,
    only: &BTreeSet<String>,
    skip: u64,
) -> Result<Keys, StoreFault> {
    let mut keys = Vec::new();
    for key in only {
        if backend.exists(key)? {
            keys.push(key.clone());
        }
    }
    let mut rest = keys
        .into_iter()
        .skip(usize::try_from(skip).unwrap_or(usize::MAX));
    let keys = rest.by_ref().take(PAGE_KEYS).collect();
    Ok(Keys {
        keys,
        more: rest.next().is_some(),
    })
}

/// What the guest gets, or what ends its call.
pub(crate) type Answer<V> = wasmtime::Result<Result<V, StoreError>>;

fn size(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// Takes an inner error out to the guest, and goes on with the value.
macro_rules! given {
    ($answer:expr) => {
        match $answer {
            Ok(value) => value,
            Err(error) => return Ok(Err(StoreError::from(error))),
        }
    };
}

impl CallGrants {
    pub(super) fn open_bucket(&mut self, name: &str) -> Answer<Resource<Bucket>> {
        self.enter()?;
        self.work(name.len())?;
        let Some(grant) = self.stores.named(name) else {
            let asked = format!("the store `{}`", one_line(name, KEY_BYTES_KEPT));
            self.stores
                .deny(asked, "no store grant has this name".to_owned());
            return Ok(Err(StoreError::NoSuchStore));
        };
        let bucket = Bucket {
            name: name.to_owned(),
            backend: grant.backend(),
            access: grant.access(),
            keys: grant.keys(),
        };
        let pushed = self.table.push(bucket);
        Ok(Ok(pushed.map_err(|error| self.handles(error.into()))?))
    }

    pub(super) fn close_bucket(&mut self, rep: u32) -> wasmtime::Result<()> {
        self.table.delete(Resource::<Bucket>::new_own(rep))?;
        Ok(())
    }

    pub(super) async fn read_values(
        &mut self,
        this: Resource<Bucket>,
        keys: Vec<String>,
    ) -> Answer<Vec<Option<Vec<u8>>>> {
        let bucket = self.enter_bucket(&this, keys.iter().map(String::len).sum())?;
        for key in &keys {
            given!(self.stores.check_key(key));
            given!(self.may_touch(&bucket, key));
        }
        let places: Vec<Option<usize>> = keys
            .iter()
            .map(|key| self.note(EffectKind::StoreRead, &bucket, key))
            .collect();
        let (backend, most) = (Arc::clone(&bucket.backend), self.stores.read_max());
        let values = self
            .blocking(&bucket, Act::Read, move || backend.get(&keys, most))
            .await;
        let values = given!(values);
        for (place, value) in places.iter().zip(&values) {
            let bytes = value.as_ref().map_or(0, Vec::len);
            self.meter.moved(*place, size(bytes));
            self.work(bytes)?;
        }
        Ok(Ok(values))
    }

    pub(super) async fn has_value(&mut self, this: Resource<Bucket>, key: String) -> Answer<bool> {
        let bucket = self.enter_bucket(&this, key.len())?;
        given!(self.stores.check_key(&key));
        given!(self.may_touch(&bucket, &key));
        self.note(EffectKind::StoreRead, &bucket, &key);
        let backend = Arc::clone(&bucket.backend);
        let exists = self.blocking(&bucket, Act::Read, move || backend.exists(&key));
        Ok(exists.await)
    }

    /// A page of keys, and where the next one begins. The place is a number of keys: what
    /// is written between two pages may show a key twice or not at all, as the interface
    /// allows.
    pub(super) async fn list_keys(
        &mut self,
        this: Resource<Bucket>,
        cursor: Option<u64>,
    ) -> Answer<(Vec<String>, Option<u64>)> {
        let bucket = self.enter_bucket(&this, 0)?;
        let place = self.note(EffectKind::StoreRead, &bucket, "*");
        let (backend, skip) = (Arc::clone(&bucket.backend), cursor.unwrap_or(0));
        let only = bucket.keys.clone();
        let page = self.blocking(&bucket, Act::Read, move || match only {
            Some(only) => present(&*backend, &only, skip),
            None => backend.keys(skip, PAGE_KEYS),
        });
        let Keys { keys, more } = given!(page.await);
        let bytes = keys.iter().map(String::len).sum();
        self.meter.moved(place, size(bytes));
        self.work(bytes)?;
        let next = more.then(|| skip.saturating_add(size(keys.len())));
        Ok(Ok((keys, next)))
    }

    pub(super) async fn write_values(
        &mut self,
        this: Resource<Bucket>,
        changes: Vec<Change>,
    ) -> Answer<()> {
        let sizes = changes.iter().map(|change| match change {
            Change::Set(key, value) => (key, value.len()),
            Change::Delete(key) => (key, 0),
        });
        let bytes = sizes.clone().map(|(key, value)| key.len() + value).sum();
        let bucket = self.enter_bucket(&this, bytes)?;
        for change in &changes {
            let (key, value) = match change {
                Change::Set(key, value) => (key, value.as_slice()),
                Change::Delete(key) => (key, [].as_slice()),
            };
            given!(self.stores.check_key(key));
            given!(self.stores.check_value(value));
            given!(self.may_touch(&bucket, key));
        }
        given!(self.may_write(&bucket));
        let mut places = Vec::with_capacity(changes.len());
        for (key, bytes) in sizes {
            let place = self.note(EffectKind::StoreWrite, &bucket, key);
            self.meter.moved(place, size(bytes));
            places.push(place);
        }
        let (backend, room) = (Arc::clone(&bucket.backend), self.stores.room());
        let written = self
            .blocking(&bucket, Act::Write, move || backend.apply(&changes, room))
            .await;
        if written.is_err() {
            self.take_back(places);
        }
        Ok(written)
    }

    pub(super) async fn add(
        &mut self,
        this: Resource<Bucket>,
        key: String,
        by: u64,
    ) -> Answer<u64> {
        let bucket = self.enter_bucket(&this, key.len())?;
        given!(self.stores.check_key(&key));
        given!(self.may_touch(&bucket, &key));
        given!(self.may_write(&bucket));
        let place = self.note(EffectKind::StoreWrite, &bucket, &key);
        let (backend, room) = (Arc::clone(&bucket.backend), self.stores.room());
        let sum = self
            .blocking(&bucket, Act::Write, move || {
                backend.increment(&key, by, room)
            })
            .await;
        match &sum {
            Ok(sum) => self.meter.moved(place, size(sum.to_string().len())),
            Err(_) => self.take_back(vec![place]),
        }
        Ok(sum)
    }

    /// One operation on the store that `this` is, given `bytes` by the guest.
    fn enter_bucket(&mut self, this: &Resource<Bucket>, bytes: usize) -> wasmtime::Result<Bucket> {
        self.enter()?;
        self.work(bytes)?;
        Ok(self.table.get(this)?.clone())
    }

    /// a narrowed grant is for its keys.
    fn may_touch(&mut self, bucket: &Bucket, key: &str) -> Result<(), StoreError> {
        if bucket.keys.as_ref().is_none_or(|keys| keys.contains(key)) {
            return Ok(());
        }
        let key = one_line(key, KEY_BYTES_KEPT);
        let asked = format!("the key `{key}` of the store `{}`", bucket.name);
        self.stores
            .deny(asked, "its grant is for other keys".to_owned());
        Err(StoreError::AccessDenied)
    }

    fn may_write(&mut self, bucket: &Bucket) -> Result<(), StoreError> {
        match bucket.access {
            Access::ReadWrite => Ok(()),
            Access::ReadOnly => {
                let asked = format!("to write to the store `{}`", bucket.name);
                self.stores.deny(asked, "its grant is read-only".to_owned());
                Err(StoreError::AccessDenied)
            }
        }
    }

    fn note(&mut self, kind: EffectKind, bucket: &Bucket, key: &str) -> Option<usize> {
        let key = one_line(key, KEY_BYTES_KEPT);
        self.meter.note(kind, format!("{} {key}", bucket.name), 0)
    }

    /// What was announced did not happen: the effects noted last, last first.
    fn take_back(&mut self, places: Vec<Option<usize>>) {
        for place in places.into_iter().rev() {
            self.meter.retract(place);
        }
    }

    async fn blocking<R: Send + 'static>(
        &mut self,
        bucket: &Bucket,
        act: Act,
        body: impl FnOnce() -> Result<R, StoreFault> + Send + 'static,
    ) -> Result<R, StoreError> {
        let in_flight = self.in_flight.clone();
        let ended = in_flight.run(act, body).await;
        ended
            .unwrap_or_else(|lost| Err(StoreFault::Unavailable(lost.to_string())))
            .map_err(|fault| self.told(bucket, fault))
    }

    /// A fault of the backend as the guest is told.
    fn told(&mut self, bucket: &Bucket, fault: StoreFault) -> StoreError {
        match fault {
            StoreFault::Entries { entries } => {
                self.stores.met(LimitName::StoreEntries, entries).into()
            }
            StoreFault::Full { bytes } => self.stores.met(LimitName::StoreBytes, bytes).into(),
            StoreFault::Long { bytes } => self.stores.met(LimitName::StoreRead, bytes).into(),
            StoreFault::NotANumber | StoreFault::Overflow => StoreError::Other(fault.to_string()),
            StoreFault::Unavailable(why) => {
                let asked = format!("the store `{}`", bucket.name);
                self.stores.deny(asked, format!("it cannot be used: {why}"));
                StoreError::Other("the store cannot be used".to_owned())
            }
        }
    }
}
