//! Secrets, and the masking of them in whatever leaves: exact values, their common
//! encodings, and text that merely looks like a secret.
//!
//! Rule (H50, R-517, R-585 … R-591, case C9): a secret has one type, which cannot be
//! printed or serialised, and what is known to be secret is found in every form that one
//! step of a common encoding gives it. Every scan is linear in the text. What a guest or a
//! server splits, compresses, encrypts or encodes twice is out of reach, and no claim is
//! made for it.
//!
//! Pure: no input or output, no clock, no engine. The copies of a secret inside a search
//! automaton are freed with it, not wiped; the value itself is wiped.

mod encodings;
mod json;
mod needles;
mod patterns;
mod screen;
mod secret;

pub use needles::{Ending, Masker, Needles};
pub use screen::{MASK, Screen, Screened};
pub use secret::{SECRET_BYTES_MAX, SECRET_BYTES_MIN, Secret, SecretFault};
