//! One store grant: the name a guest opens, the backend behind it, a mode.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::backend::KeyValueStore;
use crate::directory::Access;
use crate::text::one_line;

/// Bytes of a name at most.
const NAME_BYTES_MAX: usize = 64;

/// A store of keys and values under the name by which the guest opens it.
///
/// ```
/// use std::sync::Arc;
/// use bindery_grants::{Access, MemoryStore, StoreGrant};
///
/// let grant = StoreGrant::new("notes", Arc::new(MemoryStore::default()), Access::ReadOnly)?;
/// assert_eq!(grant.name(), "notes");
/// # Ok::<(), bindery_grants::StoreGrantError>(())
/// ```
#[derive(Clone)]
pub struct StoreGrant {
    name: String,
    backend: Arc<dyn KeyValueStore>,
    access: Access,
    /// The keys it is for; none when it is for all.
    keys: Option<Arc<BTreeSet<String>>>,
}

/// A text that is no name of a store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no name of a store: 1 to 64 of `a-z`, `0-9`, `-` and `_` are")]
pub struct StoreGrantError {
    /// The text, on one line.
    pub name: String,
}

impl StoreGrant {
    /// A grant of `backend` as `name`. Whoever gives two grants the same backend lets them
    /// share its data; nothing else does.
    ///
    /// # Errors
    ///
    /// [`StoreGrantError`] when `name` is no name.
    pub fn new(
        name: &str,
        backend: Arc<dyn KeyValueStore>,
        access: Access,
    ) -> Result<Self, StoreGrantError> {
        let letter =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        match (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(letter) {
            true => Ok(Self {
                name: name.to_owned(),
                backend,
                access,
                keys: None,
            }),
            false => Err(StoreGrantError {
                name: one_line(name, NAME_BYTES_MAX),
            }),
        }
    }

    /// The same, for these keys and no others: a guest neither reads, changes nor lists
    /// another.
    #[must_use]
    pub fn only(mut self, keys: impl IntoIterator<Item = String>) -> Self {
        self.keys = Some(Arc::new(keys.into_iter().collect()));
        self
    }

    /// The name that a guest opens.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a guest may write.
    pub fn access(&self) -> Access {
        self.access
    }

    pub(super) fn keys(&self) -> Option<Arc<BTreeSet<String>>> {
        self.keys.clone()
    }

    pub(super) fn backend(&self) -> Arc<dyn KeyValueStore> {
        Arc::clone(&self.backend)
    }
}

impl fmt::Debug for StoreGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreGrant")
            .field("name", &self.name)
            .field("access", &self.access)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[test]
    fn a_name_is_a_plain_word_and_never_a_path() {
        let named =
            |name: &str| StoreGrant::new(name, Arc::new(MemoryStore::default()), Access::ReadOnly);
        assert!(named("notes-2_a").is_ok() && named(&"x".repeat(64)).is_ok());
        for name in ["", "../x", "a/b", "A", "a b", "a\nb", &"x".repeat(65)] {
            assert!(named(name).is_err(), "G5 {name}");
        }
    }
}
