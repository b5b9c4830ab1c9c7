//! The bytes of a component together with their digest.
//!
//! Rule (I9): the digest of a loaded component is computed here from the very bytes that
//! are compiled, never taken from whoever brings them.

use std::sync::Arc;

use bindery_types::Digest;

/// Component bytes and their SHA-256; cheap to clone.
#[derive(Clone)]
pub struct ComponentBytes {
    bytes: Arc<[u8]>,
    digest: Digest,
}

impl ComponentBytes {
    /// Takes `bytes` and hashes them.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let digest = Digest::of(&bytes);
        Self { bytes, digest }
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// Their digest.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Their number.
    pub fn len_bytes(&self) -> u64 {
        u64::try_from(self.bytes.len()).unwrap_or(u64::MAX)
    }
}
