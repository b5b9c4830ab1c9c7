//! What compiled code fits: the compiler, its settings, the processor, our own format.
//!
//! Rule (H40, X73): code made for another engine, another configuration or another
//! processor has another name in the store, so it is never even opened.

use std::hash::{Hash as _, Hasher};

use bindery_types::Digest;
use sha2::{Digest as _, Sha256};
use wasmtime::Engine;

/// Bumped when the layout of a stored file changes.
const FORMAT: &[u8] = b"bindery artefact 2\0";

/// Identity of everything besides the component that determines compiled code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineId(Digest);

impl EngineId {
    /// That of `engine`.
    pub(crate) fn of(engine: &Engine) -> Self {
        let mut hasher = ShaHasher(Sha256::new());
        hasher.write(FORMAT);
        // Compiler version, target, settings and configuration (every tunable).
        engine.precompile_compatibility_hash().hash(&mut hasher);
        hasher.write(processor().as_bytes());
        Self(Digest::from_bytes(hasher.0.finalize().into()))
    }

    /// That of the configuration this build compiles and runs with, for the maintenance
    /// commands of a store, which have no engine.
    ///
    /// # Errors
    ///
    /// The text says why this processor has no such engine.
    pub fn current() -> Result<Self, String> {
        let engine = Engine::new(&crate::engine::compile_config());
        engine
            .map(|engine| Self::of(&engine))
            .map_err(|error| format!("{error:#}"))
    }

    /// From its bytes in a stored file.
    pub(super) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Digest::from_bytes(bytes))
    }

    pub(super) fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

/// A SHA-256 behind the standard hashing interface.
struct ShaHasher(Sha256);

impl Hasher for ShaHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// A prefix of the digest; the whole of it is taken from the field instead.
    fn finish(&self) -> u64 {
        let digest: [u8; 32] = self.0.clone().finalize().into();
        digest
            .first_chunk()
            .map_or(0, |head| u64::from_le_bytes(*head))
    }
}

/// The features of this processor that generated code may use.
#[cfg(target_arch = "x86_64")]
fn processor() -> String {
    macro_rules! features {
        ($($feature:tt)*) => {
            [ $( ($feature, std::arch::is_x86_feature_detected!($feature)), )* ]
        };
    }
    let known = features! {
        "sse3" "ssse3" "sse4.1" "sse4.2" "cmpxchg16b" "popcnt" "lzcnt" "bmi1" "bmi2" "avx"
        "avx2" "fma" "avx512f" "avx512dq" "avx512vl" "avx512bitalg" "avx512vbmi"
    };
    let here = known.into_iter().filter(|(_, here)| *here);
    here.map(|(name, _)| name).collect::<Vec<_>>().join(" ")
}

/// Elsewhere the compatibility hash, which contains the target's settings, has to do.
#[cfg(not(target_arch = "x86_64"))]
fn processor() -> String {
    std::env::consts::ARCH.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{code_config, compile_config};

    #[test]
    fn x73_equal_configurations_have_one_id_and_another_one_has_another() {
        let id = |config: &wasmtime::Config| EngineId::of(&Engine::new(config).unwrap());
        assert_eq!(id(&code_config()), id(&compile_config()));
        assert_eq!(EngineId::current().unwrap(), id(&code_config()));
        let mut other = code_config();
        other.consume_fuel(false);
        assert_ne!(id(&other), id(&code_config()));
    }
}
