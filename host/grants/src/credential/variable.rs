//! A secret in an environment variable of the host, named in the configuration.
//!
//! Rule (C-63): the host reads it for itself; no guest has an environment. Whoever may
//! read the process's memory or `/proc` can read it too: a file or a helper is better.

use async_trait::async_trait;
use bindery_screen::Secret;

use super::provider::{SecretProvider, SecretUnavailable};

/// The value of an environment variable of the host.
#[derive(Clone, Debug)]
pub struct SecretVariable {
    name: String,
}

impl SecretVariable {
    /// The variable `name`, read at each call.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }
}

#[async_trait]
impl SecretProvider for SecretVariable {
    async fn secret(&self) -> Result<Secret, SecretUnavailable> {
        let origin = format!("the environment variable `{}`", self.name);
        // The standard library panics on names that no variable can have.
        let named = !self.name.is_empty() && !self.name.contains(['=', '\0']);
        let value = named.then(|| std::env::var_os(&self.name)).flatten();
        let Some(value) = value else {
            return Err(SecretUnavailable::Absent(format!("{origin} is not set")));
        };
        Secret::from_bytes(std::os::unix::ffi::OsStringExt::into_vec(value))
            .map_err(SecretUnavailable::unfit(origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_variable_is_read_and_one_that_is_not_set_is_missing() {
        // Set for every test by the tool that runs it.
        let secret = SecretVariable::new("CARGO_PKG_NAME")
            .secret()
            .await
            .unwrap();
        assert_eq!(secret.expose(), "bindery-grants");
        for name in ["BINDERY_NO_SUCH_VARIABLE", "", "A=B", "A\0"] {
            let missing = SecretVariable::new(name).secret().await.unwrap_err();
            assert!(
                matches!(missing, SecretUnavailable::Absent(_)),
                "R-592 {name}"
            );
        }
    }
}
