//! Built outputs by the hash of their inputs: made once, complete or absent.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::key::Key;
use crate::lock::Lock;
use crate::place::built;

/// The component `name` made from `key`'s inputs; `make` returns its bytes and runs at most
/// once at a time for each `producer`.
pub(crate) fn component(
    producer: &str,
    name: &str,
    key: Key,
    make: impl FnOnce() -> Result<Vec<u8>>,
) -> Result<PathBuf> {
    let folder = built()?.join("components");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{producer}-{name}-{}.wasm", key.finish()));
    if path.is_file() {
        return Ok(path);
    }
    let _lock = Lock::hold(&built()?.join(format!("{producer}.lock")))?;
    if !path.is_file() {
        write_whole(&path, &make()?)?;
    }
    Ok(path)
}

/// The folder of a package environment: `make` fills it, and only a finished one is used.
pub(crate) fn environment(
    producer: &str,
    key: Key,
    make: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let folder = built()?.join(format!("{producer}-{}", key.finish()));
    let finished = folder.join(".finished");
    if finished.is_file() {
        return Ok(folder);
    }
    let _lock = Lock::hold(&built()?.join(format!("{producer}-packages.lock")))?;
    if !finished.is_file() {
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        make(&folder)?;
        std::fs::write(&finished, b"")?;
    }
    Ok(folder)
}

/// Writes beside the target and renames: a reader sees all of it or nothing.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let unfinished = path.with_extension(format!("unfinished-{}", std::process::id()));
    std::fs::write(&unfinished, bytes)
        .with_context(|| format!("cannot write {}", unfinished.display()))?;
    std::fs::rename(&unfinished, path)
        .with_context(|| format!("cannot rename to {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{Key, component};

    #[test]
    fn many_threads_that_want_one_component_build_it_once() {
        let builds = AtomicUsize::new(0);
        let own = format!("{}-{:?}", std::process::id(), std::thread::current().id());
        let paths: Vec<_> = std::thread::scope(|scope| {
            let ask = || {
                let key = Key::of("test").with("own", own.as_bytes());
                component("self-test", "once", key, || {
                    builds.fetch_add(1, Ordering::SeqCst);
                    Ok(b"whole".to_vec())
                })
                .expect("builds")
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().expect("joins"))
                .collect()
        });
        assert_eq!(builds.load(Ordering::SeqCst), 1);
        assert!(
            paths
                .iter()
                .all(|path| std::fs::read(path).expect("reads") == b"whole")
        );
        std::fs::remove_file(&paths[0]).expect("removes");
    }
}
