//! A store in memory: for tests, probes and scratch data. It ends with the process.
//!
//! Rule (case G5): one lock around each operation makes it one step.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::backend::{Change, KeyValueStore, Keys, Room, StoreFault, Swap};

/// Keys and values in memory.
#[derive(Default)]
pub struct MemoryStore(
    /// Held for one operation; every change is complete when it is released.
    Mutex<Contents>,
);

#[derive(Default)]
struct Contents {
    values: BTreeMap<String, Vec<u8>>,
    bytes: u64,
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryStore(…)")
    }
}

fn size(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn entry_bytes(key: &str, value: &[u8]) -> u64 {
    size(key.len()).saturating_add(size(value.len()))
}

impl MemoryStore {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Contents {
    fn put(&mut self, key: &str, value: Option<&[u8]>) {
        let before = match value {
            Some(value) => {
                self.bytes = self.bytes.saturating_add(entry_bytes(key, value));
                self.values.insert(key.to_owned(), value.to_vec())
            }
            None => self.values.remove(key),
        };
        if let Some(before) = before {
            self.bytes = self.bytes.saturating_sub(entry_bytes(key, &before));
        }
    }

    /// Puts all of `changes`, the last one of a key, unless there is no room for what
    /// they add. A store that is too large already may still shrink.
    fn put_all(
        &mut self,
        changes: &BTreeMap<&str, Option<&[u8]>>,
        room: Room,
    ) -> Result<(), StoreFault> {
        let (mut entries, mut bytes) = (size(self.values.len()), self.bytes);
        for (key, value) in changes {
            if let Some(before) = self.values.get(*key) {
                entries = entries.saturating_sub(1);
                bytes = bytes.saturating_sub(entry_bytes(key, before));
            }
            if let Some(value) = value {
                entries = entries.saturating_add(1);
                bytes = bytes.saturating_add(entry_bytes(key, value));
            }
        }
        if entries > room.entries_max && entries > size(self.values.len()) {
            return Err(StoreFault::Entries { entries });
        }
        if bytes > room.bytes_max && bytes > self.bytes {
            return Err(StoreFault::Full { bytes });
        }
        for (key, value) in changes {
            self.put(key, *value);
        }
        Ok(())
    }
}

impl KeyValueStore for MemoryStore {
    fn get(&self, keys: &[String], bytes_max: u64) -> Result<Vec<Option<Vec<u8>>>, StoreFault> {
        let contents = self.contents();
        let mut bytes = 0_u64;
        let mut values = Vec::with_capacity(keys.len());
        for key in keys {
            let value = contents.values.get(key);
            bytes = bytes.saturating_add(value.map_or(0, |value| size(value.len())));
            if bytes > bytes_max {
                return Err(StoreFault::Long { bytes });
            }
            values.push(value.cloned());
        }
        Ok(values)
    }

    fn exists(&self, key: &str) -> Result<bool, StoreFault> {
        Ok(self.contents().values.contains_key(key))
    }

    fn keys(&self, skip: u64, max: usize) -> Result<Keys, StoreFault> {
        let contents = self.contents();
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let mut rest = contents.values.keys().skip(skip);
        Ok(Keys {
            keys: rest.by_ref().take(max).cloned().collect(),
            more: rest.next().is_some(),
        })
    }

    fn apply(&self, changes: &[Change], room: Room) -> Result<(), StoreFault> {
        let last_of_each = changes.iter().map(|change| match change {
            Change::Set(key, value) => (key.as_str(), Some(value.as_slice())),
            Change::Delete(key) => (key.as_str(), None),
        });
        self.contents().put_all(&last_of_each.collect(), room)
    }

    fn increment(&self, key: &str, by: u64, room: Room) -> Result<u64, StoreFault> {
        let mut contents = self.contents();
        let before = match contents.values.get(key) {
            Some(value) => std::str::from_utf8(value)
                .ok()
                .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|text| text.parse::<u64>().ok())
                .ok_or(StoreFault::NotANumber)?,
            None => 0,
        };
        let after = before.checked_add(by).ok_or(StoreFault::Overflow)?;
        let text = after.to_string();
        contents.put_all(&BTreeMap::from([(key, Some(text.as_bytes()))]), room)?;
        Ok(after)
    }

    fn swap(
        &self,
        key: &str,
        expected: Option<&[u8]>,
        value: &[u8],
        room: Room,
    ) -> Result<Swap, StoreFault> {
        let mut contents = self.contents();
        let current = contents.values.get(key);
        if current.map(Vec::as_slice) != expected {
            return Ok(Swap::Differs(current.cloned()));
        }
        contents.put_all(&BTreeMap::from([(key, Some(value))]), room)?;
        Ok(Swap::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: Room = Room {
        entries_max: u64::MAX,
        bytes_max: u64::MAX,
    };

    fn set(key: &str, value: &str) -> Change {
        Change::Set(key.to_owned(), value.as_bytes().to_vec())
    }

    fn value(store: &MemoryStore, key: &str) -> Option<String> {
        let values = store.get(&[key.to_owned()], u64::MAX).unwrap();
        values[0]
            .clone()
            .map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_batch_that_does_not_fit_changes_nothing() {
        let store = MemoryStore::default();
        let room = Room {
            entries_max: 2,
            bytes_max: 8,
        };
        store.apply(&[set("a", "1"), set("b", "2")], room).unwrap();
        let three = store.apply(&[set("a", "9"), set("c", "3")], room);
        assert_eq!(three, Err(StoreFault::Entries { entries: 3 }), "G5");
        let long = store.apply(&[set("a", "123456"), set("b", "9")], room);
        assert_eq!(long, Err(StoreFault::Full { bytes: 9 }), "G5");
        assert_eq!(
            value(&store, "a").as_deref(),
            Some("1"),
            "G5: all or nothing"
        );
        store
            .apply(&[set("a", "12345"), set("b", "9")], room)
            .unwrap();
        let exchanged = [Change::Delete("a".to_owned()), set("c", "3")];
        store.apply(&exchanged, room).unwrap();
        assert_eq!(value(&store, "a"), None);
    }

    #[test]
    fn a_store_above_its_room_may_shrink_and_not_grow() {
        let store = MemoryStore::default();
        let changes: Vec<Change> = ["a", "b", "c"].map(|key| set(key, "12345")).into();
        store.apply(&changes, WIDE).unwrap();
        let none = Room {
            entries_max: 0,
            bytes_max: 0,
        };
        store.apply(&[set("a", "1")], none).unwrap();
        store
            .apply(&[Change::Delete("b".to_owned())], none)
            .unwrap();
        assert!(store.apply(&[set("a", "12")], none).is_err());
        assert!(store.apply(&[set("d", "")], none).is_err());
    }

    #[test]
    fn pages_of_keys_are_in_order_and_say_whether_more_follow() {
        let store = MemoryStore::default();
        let changes: Vec<Change> = ["b", "../x", "a", "é"].map(|key| set(key, "")).into();
        store.apply(&changes, WIDE).unwrap();
        let page = |skip, max| store.keys(skip, max).unwrap();
        assert_eq!(page(0, 3).keys, ["../x", "a", "b"]);
        assert!(page(0, 3).more);
        assert_eq!(page(3, 3).keys, ["é"]);
        assert!(!page(3, 3).more && !page(0, 4).more);
        assert_eq!(page(u64::MAX, 3), Keys::default());
    }

    #[test]
    fn only_decimal_numbers_are_incremented_and_never_past_their_width() {
        let store = MemoryStore::default();
        assert_eq!(store.increment("n", 5, WIDE), Ok(5));
        assert_eq!(store.increment("n", 0, WIDE), Ok(5));
        assert_eq!(value(&store, "n").as_deref(), Some("5"));
        assert_eq!(
            store.increment("n", u64::MAX, WIDE),
            Err(StoreFault::Overflow)
        );
        for odd in ["", "+5", "-1", "5 ", "x", "18446744073709551616"] {
            store.apply(&[set("odd", odd)], WIDE).unwrap();
            assert_eq!(
                store.increment("odd", 1, WIDE),
                Err(StoreFault::NotANumber),
                "{odd}"
            );
        }
    }

    #[test]
    fn a_swap_happens_only_from_the_value_that_was_expected() {
        let store = MemoryStore::default();
        let swap = |expected: Option<&str>, to: &str| {
            store.swap("k", expected.map(str::as_bytes), to.as_bytes(), WIDE)
        };
        assert_eq!(swap(Some("1"), "2"), Ok(Swap::Differs(None)));
        assert_eq!(swap(None, "1"), Ok(Swap::Done));
        assert_eq!(swap(None, "2"), Ok(Swap::Differs(Some(b"1".to_vec()))));
        assert_eq!(swap(Some("1"), "2"), Ok(Swap::Done));
        assert_eq!(value(&store, "k").as_deref(), Some("2"));
    }

    #[test]
    fn swaps_that_are_tried_again_lose_nothing() {
        let store = MemoryStore::default();
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| add_by_swapping(&store, 50));
            }
        });
        assert_eq!(value(&store, "n").as_deref(), Some("1000"), "G5");
    }

    fn add_by_swapping(store: &MemoryStore, times: u64) {
        for _ in 0..times {
            let mut known: Option<Vec<u8>> = None;
            loop {
                let text = known.as_ref().map(|bytes| String::from_utf8_lossy(bytes));
                let next = text.map_or(0, |text| text.parse::<u64>().unwrap()) + 1;
                let next = next.to_string();
                match store
                    .swap("n", known.as_deref(), next.as_bytes(), WIDE)
                    .unwrap()
                {
                    Swap::Done => break,
                    Swap::Differs(current) => known = current,
                }
            }
        }
    }

    #[test]
    fn reading_stops_at_its_bound() {
        let store = MemoryStore::default();
        store.apply(&[set("a", "12345")], WIDE).unwrap();
        let twice = ["a".to_owned(), "a".to_owned()];
        assert!(store.get(&twice, 10).is_ok());
        assert_eq!(store.get(&twice, 9), Err(StoreFault::Long { bytes: 10 }));
    }
}
