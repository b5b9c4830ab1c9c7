//! Asking a host that runs.

use bindery::{ErrorType, Refusal};
use tokio::net::UnixStream;

use crate::frame;
use crate::place::Place;
use crate::private;
use crate::request::{Envelope, Request};
use crate::server::{Rendered, short};

/// Asks the host of `place`, when one runs. Dropping the future ends the call that was
/// asked for.
///
/// # Errors
///
/// `store_unavailable` when the folder can be written by others, `not_authenticated` when
/// somebody else listens; `environment_unavailable` when the host goes away before it answers; for a call
/// `uncertain_side_effect`, since it may have begun.
pub async fn ask(place: &Place, envelope: &Envelope) -> Result<Option<Rendered>, Refusal> {
    // A socket that nobody listens at is what a killed host left.
    let Some(mut stream) = connect(place).await? else {
        return Ok(None);
    };
    let lost = |error: std::io::Error| {
        let text = "the host went away before it answered";
        Refusal::new(ErrorType::EnvironmentUnavailable, text).for_operator(error.to_string())
    };
    let unknown = |error: std::io::Error| match &envelope.request {
        Request::Call { .. } => {
            let text = "the host went away in the middle of the call: whether it had an effect is not known";
            Refusal::new(ErrorType::UncertainSideEffect, text).for_operator(format!(
                "{error}; start the host again: `bindery trace` lists the call, `bindery reconcile` settles it if it is uncertain, and a call that was made with an idempotency key can be repeated with the same key"
            ))
        }
        _ => lost(error),
    };
    frame::write(&mut stream, envelope).await.map_err(lost)?;
    frame::read(&mut stream).await.map(Some).map_err(unknown)
}

async fn connect(place: &Place) -> Result<Option<UnixStream>, Refusal> {
    // Whoever can write the folder could listen in the host's place (X63).
    private::checked(place.data())?;
    let Ok((_folder, name)) = short(place) else {
        return Ok(None);
    };
    let Ok(stream) = UnixStream::connect(name).await else {
        return Ok(None);
    };
    let own = rustix::process::geteuid().as_raw();
    match stream.peer_cred() {
        Ok(peer) if peer.uid() == own => Ok(Some(stream)),
        Ok(_) | Err(_) => {
            let text = "another user listens at the socket of this host";
            Err(Refusal::new(ErrorType::NotAuthenticated, text)
                .for_operator(format!("{} is not to be trusted", place.data().display())))
        }
    }
}
