//! `wasi:random`: seeded, or the operating system's when granted.
//!
//! Rule (R-010, H28, X14, B5): without a grant two runs draw the same numbers; one host
//! call gives at most the limit `random`, and what is asked is charged before it is made.

use bindery_types::{EffectKind, LimitHit, LimitName};
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};

use crate::call::CallGrants;
use crate::grants::Randomness;

/// Where the numbers of one call come from: the secure and the insecure interface each
/// have a sequence of their own, so drawing from one does not move the other.
pub(crate) enum Generators {
    Seeded {
        secure: Sequence,
        insecure: Sequence,
    },
    Real {
        effect: Option<Option<usize>>,
    },
}

impl Generators {
    pub(crate) fn new(randomness: Randomness) -> Self {
        match randomness {
            Randomness::Seeded => Generators::Seeded {
                secure: Sequence(0x6269_6e64_6572_7901),
                insecure: Sequence(0x6269_6e64_6572_7902),
            },
            Randomness::Real => Generators::Real { effect: None },
        }
    }
}

/// SplitMix64: a counter and a mixing function, enough for numbers that must only repeat.
pub(crate) struct Sequence(u64);

impl Sequence {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(8) {
            let drawn = self.next().to_le_bytes();
            piece
                .iter_mut()
                .zip(drawn)
                .for_each(|(to, from)| *to = from);
        }
    }
}

#[derive(Clone, Copy)]
enum Quality {
    Secure,
    Insecure,
}

impl CallGrants {
    fn draw(&mut self, len: u64, quality: Quality) -> wasmtime::Result<Vec<u8>> {
        self.enter()?;
        self.meter.work(len)?;
        let size = usize::try_from(len).ok();
        let size = size.filter(|_| self.random_max.allows(len));
        let size = size.ok_or(LimitHit {
            name: LimitName::Random,
            limit: self.random_max,
            used: len,
        })?;
        let mut bytes = vec![0; size];
        match (&mut self.generators, quality) {
            (Generators::Seeded { secure, .. }, Quality::Secure) => secure.fill(&mut bytes),
            (Generators::Seeded { insecure, .. }, Quality::Insecure) => insecure.fill(&mut bytes),
            (Generators::Real { effect }, _) => {
                getrandom::fill(&mut bytes)?;
                let meter = &mut self.meter;
                let slot =
                    *effect.get_or_insert_with(|| meter.note(EffectKind::Random, "random", 0));
                meter.moved(slot, len);
            }
        }
        Ok(bytes)
    }

    fn draw_u64(&mut self, quality: Quality) -> wasmtime::Result<u64> {
        let mut number = [0; 8];
        let drawn = self.draw(8, quality)?;
        number
            .iter_mut()
            .zip(drawn)
            .for_each(|(to, from)| *to = from);
        Ok(u64::from_le_bytes(number))
    }
}

impl random::Host for CallGrants {
    fn get_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        self.draw(len, Quality::Secure)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.draw_u64(Quality::Secure)
    }
}

impl insecure::Host for CallGrants {
    fn get_insecure_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        self.draw(len, Quality::Insecure)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.draw_u64(Quality::Insecure)
    }
}

impl insecure_seed::Host for CallGrants {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        let low = self.draw_u64(Quality::Insecure)?;
        let high = self.draw_u64(Quality::Insecure)?;
        Ok((low, high))
    }
}
