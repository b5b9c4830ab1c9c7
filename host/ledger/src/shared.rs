//! A part of the state that can be held and changed at once: copied when it is both.
//!
//! Rule: a snapshot costs a few counters, not the state, so that a checkpoint or an
//! all-or-none batch never stops the calls.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value behind a counter; writing to it copies it first when somebody else holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shared<T>(Arc<T>);

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Shared<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|value| Self(Arc::new(value)))
    }
}

/// Maps whose keys are no strings, as JSON: a list of pairs in the order of the keys.
pub(crate) mod pairs {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Shared;

    pub(crate) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &Shared<BTreeMap<K, V>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map.iter())
    }

    pub(crate) fn deserialize<'de, K, V, D>(
        deserializer: D,
    ) -> Result<Shared<BTreeMap<K, V>>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let pairs = <Vec<(K, V)>>::deserialize(deserializer)?;
        Ok(Shared(Arc::new(pairs.into_iter().collect())))
    }
}
