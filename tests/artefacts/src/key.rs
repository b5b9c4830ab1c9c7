//! The hash of everything an output is made from: if it is equal, so is the output.

use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// Collects inputs; each is framed by its name and length, so two lists cannot collide.
pub(crate) struct Key(Sha256);

impl Key {
    /// An empty list for one kind of output.
    pub(crate) fn of(kind: &str) -> Self {
        Self(Sha256::new()).with("kind", kind.as_bytes())
    }

    /// Adds one named input.
    pub(crate) fn with(mut self, name: &str, bytes: &[u8]) -> Self {
        for part in [name.as_bytes(), bytes] {
            self.0
                .update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            self.0.update(part);
        }
        self
    }

    /// Adds a file by its name below `base`.
    pub(crate) fn with_file(self, base: &Path, path: &Path) -> Result<Self> {
        let bytes =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let name = path.strip_prefix(base).unwrap_or(path);
        Ok(self.with(&name.to_string_lossy(), &bytes))
    }

    /// Adds every file below a folder, in the order of their names.
    pub(crate) fn with_tree(mut self, base: &Path, folder: &Path) -> Result<Self> {
        let listing = std::fs::read_dir(folder)
            .with_context(|| format!("cannot list {}", folder.display()))?;
        let mut entries = listing.collect::<std::io::Result<Vec<_>>>()?;
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            self = if entry.file_type()?.is_dir() {
                self.with_tree(base, &path)?
            } else {
                self.with_file(base, &path)?
            };
        }
        Ok(self)
    }

    /// Sixteen hexadecimal digits: enough to keep builds apart, short enough for a name.
    pub(crate) fn finish(self) -> String {
        self.0
            .finalize()
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn inputs_are_framed_so_that_neighbours_cannot_trade_bytes() {
        let one = Key::of("k").with("ab", b"c").finish();
        assert_eq!(one, Key::of("k").with("ab", b"c").finish());
        assert_ne!(one, Key::of("k").with("a", b"bc").finish());
        assert_ne!(one, Key::of("kab").with("", b"c").finish());
    }
}
