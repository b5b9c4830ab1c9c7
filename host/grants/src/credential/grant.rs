//! One credential of an endpoint grant: its name, the field it goes into, its form, and
//! where its value comes from.
//!
//! Rule (R-595): everything here may be shown; the value is not here.

use std::fmt;
use std::sync::Arc;

use bindery_screen::Secret;
use bindery_types::CredentialName;
use http::HeaderName;
use http::header::AUTHORIZATION;

use super::provider::{SecretProvider, SecretUnavailable, SecretWatch};

/// Where the value stands in the form.
const PLACE: &str = "{}";

/// Fields that belong to the connection or the message, not to whoever asks.
const UNFIT_FIELDS: &[&str] = &[
    "host",
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "content-length",
    "upgrade",
    "te",
    "trailer",
    "expect",
    "range",
    "if-range",
    "accept-encoding",
];

/// A credential that an endpoint grant carries to its origin.
///
/// ```
/// use std::sync::Arc;
/// use bindery_grants::{Credential, EndpointGrant, SecretVariable};
///
/// let token = Arc::new(SecretVariable::new("WEATHER_TOKEN"));
/// let credential = Credential::new("weather".parse()?, token);
/// let grant = EndpointGrant::parse("GET https://api.example.com/v1/")?.with_credential(credential)?;
/// assert_eq!(grant.credential().map(|name| name.as_str()), Some("weather"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Credential {
    pub(super) name: CredentialName,
    pub(super) field: HeaderName,
    /// What stands before and after the value.
    pub(super) form: (String, String),
    provider: Arc<dyn SecretProvider>,
    watch: Option<Arc<dyn SecretWatch>>,
    in_the_clear: bool,
}

/// Why a credential cannot be had in this way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialFault {
    /// No name of a field, or one that is not for credentials.
    #[error("`{0}` is no field for a credential")]
    Field(String),
    /// The form has no place, several, or characters that no field has.
    #[error("`{0}` is no form: visible characters with one `{{}}` where the value goes are")]
    Form(String),
    /// A grant for many hosts: each of them would get the credential.
    #[error("a credential is for one origin, and `{0}` grants many")]
    ManyOrigins(String),
    /// The value would cross a network where everybody can read it.
    #[error("`{0}` would carry the credential in the clear: grant https, or say that it may")]
    InTheClear(String),
}

impl Credential {
    /// A bearer token: `authorization: Bearer VALUE`, the value from `provider`.
    pub fn new(name: CredentialName, provider: Arc<dyn SecretProvider>) -> Self {
        Self {
            name,
            field: AUTHORIZATION,
            form: ("Bearer ".to_owned(), String::new()),
            provider,
            watch: None,
            in_the_clear: false,
        }
    }

    /// In the header field `field` and in this form, such as `x-api-key` and `{}`.
    ///
    /// # Errors
    ///
    /// [`CredentialFault`] when either cannot carry a credential.
    pub fn in_field(mut self, field: &str, form: &str) -> Result<Self, CredentialFault> {
        let shown = |text: &str| text.chars().take(64).collect::<String>();
        self.field = HeaderName::try_from(field)
            .ok()
            .filter(|name| !UNFIT_FIELDS.contains(&name.as_str()))
            .ok_or_else(|| CredentialFault::Field(shown(field)))?;
        let visible = form
            .bytes()
            .all(|byte| byte == b' ' || byte.is_ascii_graphic());
        self.form = form
            .split_once(PLACE)
            .filter(|(_, after)| visible && !after.contains(PLACE))
            .map(|(before, after)| (before.to_owned(), after.to_owned()))
            .ok_or_else(|| CredentialFault::Form(shown(form)))?;
        Ok(self)
    }

    /// Also over plain http to another machine, where the network between can read it.
    #[must_use]
    pub fn even_in_the_clear(mut self) -> Self {
        self.in_the_clear = true;
        self
    }

    /// Tells `watch` every value that is read, for whoever masks it in other places, too.
    #[must_use]
    pub fn watched_by(mut self, watch: Arc<dyn SecretWatch>) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Reads the value as it is now.
    ///
    /// # Errors
    ///
    /// The provider's, when there is none.
    pub async fn read(&self) -> Result<Secret, SecretUnavailable> {
        let secret = self.provider.secret().await?;
        if let Some(watch) = &self.watch {
            watch.seen(&self.name, &secret);
        }
        Ok(secret)
    }

    /// The name that records and refusals know it by.
    pub fn name(&self) -> &CredentialName {
        &self.name
    }

    pub(crate) fn field(&self) -> &HeaderName {
        &self.field
    }

    pub(crate) fn may_go_in_the_clear(&self) -> bool {
        self.in_the_clear
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("name", &self.name.as_str())
            .field("field", &self.field)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credential::SecretVariable;
    use crate::endpoint::EndpointGrant;

    fn credential() -> Credential {
        let provider = Arc::new(SecretVariable::new("X"));
        Credential::new("token".parse().unwrap(), provider)
    }

    #[test]
    fn fields_of_the_connection_and_forms_without_one_place_are_refused() {
        assert!(credential().in_field("X-Api-Key", "{}").is_ok());
        assert!(credential().in_field("cookie", "session={}; a=b").is_ok());
        for field in ["", "a b", "host", "Content-Length", "range", "x\n"] {
            let fault = credential().in_field(field, "{}").unwrap_err();
            assert!(matches!(fault, CredentialFault::Field(_)), "X35 {field}");
        }
        for form in ["", "Bearer", "{}{}", "{}\r\nx: y", "é {}"] {
            let fault = credential().in_field("x-api-key", form).unwrap_err();
            assert!(matches!(fault, CredentialFault::Form(_)), "X35 {form}");
        }
    }

    #[test]
    fn a_credential_is_for_one_origin_and_not_in_the_clear_unless_said() {
        let with = |text: &str, credential: Credential| {
            EndpointGrant::parse(text)
                .unwrap()
                .with_credential(credential)
        };
        for text in [
            "https://a.test",
            "http://localhost:1",
            "http://127.0.0.2",
            "http://[::1]",
        ] {
            assert!(with(text, credential()).is_ok(), "{text}");
        }
        let many = with("https://*.example.com", credential()).unwrap_err();
        assert!(matches!(many, CredentialFault::ManyOrigins(_)), "H50");
        for text in ["http://a.test", "http://10.0.0.5"] {
            let clear = with(text, credential()).unwrap_err();
            assert!(
                matches!(clear, CredentialFault::InTheClear(_)),
                "H50 {text}"
            );
            assert!(with(text, credential().even_in_the_clear()).is_ok());
        }
    }

    #[test]
    fn a_grant_shows_the_name_of_its_credential_and_no_more() {
        let grant = EndpointGrant::parse("https://a.test").unwrap();
        let grant = grant.with_credential(credential()).unwrap();
        assert_eq!(grant.credential().unwrap().as_str(), "token", "R-595");
        assert!(format!("{:?}", credential()).contains("token"));
    }
}
