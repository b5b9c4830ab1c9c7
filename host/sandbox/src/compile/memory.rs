//! The components this process has loaded, least recently used ones let go.
//!
//! Rule (U5): bounded in number and in bytes of code, so a host that serves many
//! components grows to a known size. What is let go is loaded again from the store.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bindery_types::Digest;
use wasmtime::component::Component;

/// Components kept at most.
const COMPONENTS_MAX: usize = 256;
/// Bytes of code images kept at most (most of them shared with the store's files).
const CODE_BYTES_MAX: u64 = 2 << 30;

/// Loaded components by digest.
#[derive(Default)]
pub(super) struct Loaded {
    /// Guards the shelf as a whole; held for map operations only, never over an await.
    shelf: Mutex<Shelf>,
}

#[derive(Default)]
struct Shelf {
    entries: HashMap<Digest, Entry>,
    clock: u64,
}

struct Entry {
    component: Component,
    code_bytes: u64,
    last_used: u64,
}

impl Loaded {
    /// The component of `digest`, if it is here.
    pub(super) fn get(&self, digest: Digest) -> Option<Component> {
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let now = shelf.tick();
        let entry = shelf.entries.get_mut(&digest)?;
        entry.last_used = now;
        Some(entry.component.clone())
    }

    /// Keeps `component`, letting go of the least recently used beyond the bounds.
    pub(super) fn keep(&self, digest: Digest, component: Component) {
        let image = component.image_range();
        let code_bytes = (image.end as usize).saturating_sub(image.start as usize);
        let mut shelf = self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = Entry {
            component,
            code_bytes: u64::try_from(code_bytes).unwrap_or(u64::MAX),
            last_used: shelf.tick(),
        };
        shelf.entries.insert(digest, entry);
        shelf.shrink(COMPONENTS_MAX, CODE_BYTES_MAX);
    }
}

impl Shelf {
    fn tick(&mut self) -> u64 {
        self.clock = self.clock.saturating_add(1);
        self.clock
    }

    fn shrink(&mut self, count_max: usize, bytes_max: u64) {
        while self.entries.len() > count_max || self.code_bytes() > bytes_max {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.last_used);
            let Some(digest) = oldest.map(|(digest, _)| *digest) else {
                return;
            };
            self.entries.remove(&digest);
        }
    }

    fn code_bytes(&self) -> u64 {
        let sizes = self.entries.values().map(|entry| entry.code_bytes);
        sizes.fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::code::{Threads, compile};
    use crate::engine::code_config;

    #[test]
    fn the_least_recently_used_component_goes_first_by_count_and_by_bytes() {
        let engine = wasmtime::Engine::new(&code_config()).unwrap();
        let code = compile(&wat::parse_str("(component)").unwrap(), Threads::One).unwrap();
        let loaded = Loaded::default();
        let digests: Vec<Digest> = (0..3u8).map(|n| Digest::of(&[n])).collect();
        for digest in &digests {
            loaded.keep(*digest, code.load(&engine).unwrap());
        }
        assert!(loaded.get(digests[0]).is_some());
        loaded.shelf.lock().unwrap().shrink(2, u64::MAX);
        assert!(
            loaded.get(digests[1]).is_none(),
            "it was used least recently"
        );
        assert!(loaded.get(digests[0]).is_some() && loaded.get(digests[2]).is_some());
        let one = loaded.shelf.lock().unwrap().entries[&digests[0]].code_bytes;
        assert!(one > 0);
        loaded.shelf.lock().unwrap().shrink(2, one);
        assert!(loaded.get(digests[0]).is_none());
        assert!(loaded.get(digests[2]).is_some());
    }
}
