//! Credentials: named in a grant, read by the host when a call begins, put on the wire
//! after every check, never in a guest's hands.
//!
//! Rule (R-581, R-592 … R-596, H50, C9): a credential belongs to the one origin of its
//! grant. It is read anew for each call and dies with it, so what was taken back is gone
//! with the next call. Where there is none the call does not start, and says which one is
//! missing. Every answer of a call that holds one is searched for it, whoever sent it.

mod grant;
mod helper;
mod keyring;
mod provider;
mod secret_file;
mod variable;

pub use grant::{Credential, CredentialFault};
pub use helper::SecretHelper;
pub(crate) use keyring::{Armed, Keyring, arm};
pub use provider::{SecretProvider, SecretUnavailable, SecretWatch};
pub use secret_file::SecretFile;
pub use variable::SecretVariable;
