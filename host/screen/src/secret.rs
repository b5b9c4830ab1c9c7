//! A secret: held once, shown nowhere, wiped when it is dropped.
//!
//! Rule (R-581, H47): no `Display`, no `Serialize`, a `Debug` that says nothing, an
//! equality that takes as long for unequal values as for equal ones.

use std::fmt;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Fewest bytes of a secret. A shorter one could not be masked without masking half of any
/// text, and could be guessed.
pub const SECRET_BYTES_MIN: usize = 8;
/// Most bytes of a secret: every encoding of it is searched for in every answer.
pub const SECRET_BYTES_MAX: usize = 4 << 10;

/// A value that must not be seen.
///
/// ```
/// let secret = bindery_screen::Secret::new("CANARY-1".to_owned())?;
/// assert_eq!(format!("{secret:?}"), "Secret(…)");
/// # Ok::<(), bindery_screen::SecretFault>(())
/// ```
pub struct Secret(Zeroizing<String>);

/// Why a text is no secret. The text is not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretFault {
    /// Nothing at all.
    #[error("the value is empty")]
    Empty,
    /// Too short to be masked where it comes back.
    #[error("the value has fewer than {SECRET_BYTES_MIN} bytes, so it could not be masked")]
    TooShort,
    /// Longer than any credential needs to be.
    #[error("the value has more than {SECRET_BYTES_MAX} bytes")]
    TooLong,
    /// A line break or another control character inside.
    #[error("the value has a control character or is no UTF-8 text")]
    Character,
    /// More secrets at once than can be searched for.
    #[error("more than {} secrets at once", crate::needles::SECRETS_MAX)]
    TooMany,
}

impl Secret {
    /// Takes the value; one line break at its end, as files and programs put it there, is
    /// no part of it.
    ///
    /// # Errors
    ///
    /// [`SecretFault`] when the value is empty, too short, too long or no line of text.
    pub fn new(value: String) -> Result<Self, SecretFault> {
        let value = Zeroizing::new(value);
        let line = value.strip_suffix('\n').unwrap_or(&value);
        let line = line.strip_suffix('\r').unwrap_or(line);
        match line.len() {
            0 => Err(SecretFault::Empty),
            bytes if bytes < SECRET_BYTES_MIN => Err(SecretFault::TooShort),
            bytes if bytes > SECRET_BYTES_MAX => Err(SecretFault::TooLong),
            _ if line.chars().any(char::is_control) => Err(SecretFault::Character),
            _ => Ok(Self(Zeroizing::new(line.to_owned()))),
        }
    }

    /// The same from bytes.
    ///
    /// # Errors
    ///
    /// As [`Secret::new`]; bytes that are not UTF-8 are [`SecretFault::Character`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, SecretFault> {
        String::from_utf8(bytes)
            .map_err(|error| {
                drop(Zeroizing::new(error.into_bytes()));
                SecretFault::Character
            })
            .and_then(Self::new)
    }

    /// The value, for whoever puts it on the wire. Nothing that is printed, stored or
    /// handed to a guest may be made of it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl Eq for Secret {}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(value: &str) -> SecretFault {
        Secret::new(value.to_owned()).unwrap_err()
    }

    #[test]
    fn a_secret_says_nothing_of_itself() {
        let secret = Secret::new("CANARY-1".to_owned()).unwrap();
        assert!(!format!("{secret:?} {:#?}", Some(&secret)).contains("CANARY"));
        for value in ["CANARY", "CANARY-1\nx", "\u{1b}CANARY-1"] {
            let told = format!("{:?} {}", fault(value), fault(value));
            assert!(!told.contains("CANARY"), "{told}");
        }
    }

    #[test]
    fn a_line_break_at_the_end_is_no_part_of_it() {
        for value in ["CANARY-1", "CANARY-1\n", "CANARY-1\r\n"] {
            let secret = Secret::new(value.to_owned()).unwrap();
            assert_eq!(secret.expose(), "CANARY-1");
        }
        assert_eq!(fault("CANARY-1\n\n"), SecretFault::Character);
    }

    #[test]
    fn bounds_hold_on_both_sides() {
        assert_eq!(fault(""), SecretFault::Empty);
        assert_eq!(fault("\n"), SecretFault::Empty);
        assert_eq!(
            fault(&"x".repeat(SECRET_BYTES_MIN - 1)),
            SecretFault::TooShort
        );
        assert!(Secret::new("x".repeat(SECRET_BYTES_MIN)).is_ok());
        assert!(Secret::new("x".repeat(SECRET_BYTES_MAX)).is_ok());
        assert_eq!(
            fault(&"x".repeat(SECRET_BYTES_MAX + 1)),
            SecretFault::TooLong
        );
        assert_eq!(
            Secret::from_bytes(b"\xffCANARY-1".to_vec()).unwrap_err(),
            SecretFault::Character
        );
    }

    #[test]
    fn equal_values_are_equal_and_others_are_not() {
        let secret = |value: &str| Secret::new(value.to_owned()).unwrap();
        assert_eq!(secret("CANARY-1"), secret("CANARY-1\n"));
        assert_ne!(secret("CANARY-1"), secret("CANARY-2"));
        assert_ne!(secret("CANARY-1"), secret("CANARY-11"));
    }
}
