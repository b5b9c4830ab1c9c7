//! The credentials of one call, read: what goes on the wire, and what is searched for in
//! whatever comes back.
//!
//! Rule: read before the component starts; where one is missing
//! nothing of it starts.

use std::sync::Arc;

use bindery_screen::{Needles, Screen, Secret};
use bindery_types::{ErrorType, Refusal};
use http::{HeaderName, HeaderValue};
use zeroize::Zeroizing;

use super::grant::Credential;
use crate::endpoint::EndpointGrant;

/// A credential with its value, ready for the wire.
pub(crate) struct Armed {
    pub(crate) field: HeaderName,
    /// Marked as sensitive, so that the HTTP library does not show it.
    pub(crate) value: HeaderValue,
}

/// What a call that holds credentials searches for.
#[derive(Clone)]
pub(crate) struct Keyring {
    needles: Arc<Needles>,
}

impl Keyring {
    pub(crate) fn needles(&self) -> Arc<Needles> {
        Arc::clone(&self.needles)
    }

    /// Masks the credentials of the call in text that leaves it.
    pub(crate) fn screen(&self) -> Screen {
        Screen::known(Arc::clone(&self.needles))
    }
}

/// Reads the credentials that `endpoints` name and arms each of them; none when no grant
/// names one.
///
/// # Errors
///
/// `credential_missing`, naming the first that cannot be had.
pub(crate) async fn arm(endpoints: &mut [EndpointGrant]) -> Result<Option<Keyring>, Refusal> {
    let mut secrets: Vec<Secret> = Vec::new();
    for endpoint in endpoints {
        let Some(credential) = endpoint.credential_to_read() else {
            continue;
        };
        let secret = credential.read().await;
        let secret = secret.map_err(|why| missing(credential, &why.to_string()))?;
        let armed = ready(credential, &secret)?;
        endpoint.arm(Arc::new(armed));
        secrets.push(secret);
    }
    if secrets.is_empty() {
        return Ok(None);
    }
    let needles = Needles::new(&secrets)
        .map_err(|fault| Refusal::new(ErrorType::PolicyMalformed, fault.to_string()))?;
    Ok(Some(Keyring {
        needles: Arc::new(needles),
    }))
}

fn ready(credential: &Credential, secret: &Secret) -> Result<Armed, Refusal> {
    let (before, after) = &credential.form;
    let text = Zeroizing::new([before.as_str(), secret.expose(), after].concat());
    let visible = text
        .bytes()
        .all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let value = HeaderValue::from_str(&text).ok().filter(|_| visible);
    let why = "its value has characters that no header field can carry";
    let mut value = value.ok_or_else(|| missing(credential, why))?;
    value.set_sensitive(true);
    Ok(Armed {
        field: credential.field.clone(),
        value,
    })
}

/// The caller reads which credential it is; where it should be is for the operator.
fn missing(credential: &Credential, why: &str) -> Refusal {
    let name = credential.name.as_str();
    Refusal::new(
        ErrorType::CredentialMissing,
        format!("the credential `{name}` is not available"),
    )
    .for_operator(format!("the credential `{name}`: {why}"))
    .with("credential", name)
}
