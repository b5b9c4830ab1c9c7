//! Where the value of a credential comes from.

use async_trait::async_trait;
use bindery_screen::{Secret, SecretFault};
use bindery_types::CredentialName;

/// Reads one secret of the host, whenever it is asked.
///
/// A provider remembers nothing: a call gets what there is when it begins.
#[async_trait]
pub trait SecretProvider: Send + Sync + 'static {
    /// The secret, as it is now.
    ///
    /// # Errors
    ///
    /// [`SecretUnavailable`]: for the operator, and without the value.
    async fn secret(&self) -> Result<Secret, SecretUnavailable>;
}

/// Is told of every value that is read, so that it can be masked wherever it may come up.
pub trait SecretWatch: Send + Sync + 'static {
    /// The credential `name` has this value now.
    fn seen(&self, name: &CredentialName, secret: &Secret);
}

/// Why there is no secret. The text is for the operator; no part of a value is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretUnavailable {
    /// Nothing is configured where it should be.
    #[error("{0}")]
    Absent(String),
    /// Something is there that must not be used.
    #[error("{0}")]
    Unsafe(String),
    /// It was read and is no credential.
    #[error("{origin}: {fault}")]
    Unfit {
        /// where it was read
        origin: String,
        /// what is wrong with it
        fault: SecretFault,
    },
}

impl SecretUnavailable {
    pub(super) fn unfit(origin: String) -> impl FnOnce(SecretFault) -> Self {
        move |fault| match fault {
            SecretFault::Empty => Self::Absent(format!("{origin} is empty")),
            fault => Self::Unfit { origin, fault },
        }
    }
}
