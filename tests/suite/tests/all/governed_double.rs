//! A store that is watched: what calls add to it is an effect, noted with its time, held up
//! or let through as a test wants. The other side of calls that run while things change.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use bindery::{Change, KeyValueStore, Keys, Room, StoreFault, Swap};

/// Adds, and writes down when.
#[derive(Default)]
pub(crate) struct Double {
    /// When each effect began, with its key.
    log: Mutex<Vec<(Instant, String)>>,
    /// How long each takes.
    pub(crate) takes: Duration,
    inside: AtomicUsize,
    most: AtomicUsize,
    /// While it is shut, effects wait inside.
    shut: Mutex<bool>,
    opened: Condvar,
}

impl Double {
    pub(crate) fn taking(takes: Duration) -> Arc<Self> {
        Arc::new(Self {
            takes,
            ..Self::default()
        })
    }

    /// One whose effects wait until it is opened.
    pub(crate) fn shut() -> Arc<Self> {
        let double = Self::default();
        *double.shut.lock().unwrap() = true;
        Arc::new(double)
    }

    pub(crate) fn open(&self) {
        *self.shut.lock().unwrap() = false;
        self.opened.notify_all();
    }

    /// How many effects have begun.
    pub(crate) fn begun(&self) -> usize {
        self.log.lock().unwrap().len()
    }

    /// How many began after this.
    pub(crate) fn begun_after(&self, moment: Instant) -> usize {
        let log = self.log.lock().unwrap();
        log.iter().filter(|(at, _)| *at > moment).count()
    }

    /// How often `key` was added to.
    pub(crate) fn of(&self, key: &str) -> usize {
        let log = self.log.lock().unwrap();
        log.iter().filter(|(_, added)| added == key).count()
    }

    /// How many are inside now, and the most there ever were.
    pub(crate) fn inside(&self) -> (usize, usize) {
        (
            self.inside.load(Ordering::SeqCst),
            self.most.load(Ordering::SeqCst),
        )
    }

    /// Waits until so many effects have begun.
    pub(crate) async fn until_begun(&self, count: usize) {
        let began = Instant::now();
        while self.begun() < count {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "they never began"
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

impl KeyValueStore for Double {
    fn get(&self, keys: &[String], _: u64) -> Result<Vec<Option<Vec<u8>>>, StoreFault> {
        Ok(keys
            .iter()
            .map(|key| Some(self.of(key).to_string().into_bytes()))
            .collect())
    }

    fn exists(&self, key: &str) -> Result<bool, StoreFault> {
        Ok(self.of(key) > 0)
    }

    fn keys(&self, _: u64, _: usize) -> Result<Keys, StoreFault> {
        Ok(Keys::default())
    }

    fn apply(&self, _: &[Change], _: Room) -> Result<(), StoreFault> {
        Err(StoreFault::Unavailable("it only adds".to_owned()))
    }

    fn increment(&self, key: &str, _: u64, _: Room) -> Result<u64, StoreFault> {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
        let count = {
            let mut log = self.log.lock().unwrap();
            log.push((Instant::now(), key.to_owned()));
            log.iter().filter(|(_, added)| added == key).count()
        };
        {
            let mut shut = self.shut.lock().unwrap();
            while *shut {
                shut = self.opened.wait(shut).unwrap();
            }
        }
        std::thread::sleep(self.takes);
        self.inside.fetch_sub(1, Ordering::SeqCst);
        Ok(u64::try_from(count).unwrap())
    }

    fn swap(&self, _: &str, _: Option<&[u8]>, _: &[u8], _: Room) -> Result<Swap, StoreFault> {
        Err(StoreFault::Unavailable("it only adds".to_owned()))
    }
}
