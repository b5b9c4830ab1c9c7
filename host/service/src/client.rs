//! Asking a host that runs.

use bindery::{ErrorType, Refusal};
use tokio::net::UnixStream;

use crate::frame;
use crate::place::Place;
use crate::request::Envelope;
use crate::server::{Rendered, short};

/// Asks the host of `place`, when one runs. Dropping the future ends the call that was
/// asked for.
///
/// # Errors
///
/// `environment_unavailable` when the host goes away before it answers.
pub async fn ask(place: &Place, envelope: &Envelope) -> Result<Option<Rendered>, Refusal> {
    // A socket that nobody listens at is what a killed host left.
    let Some(mut stream) = connect(place).await else {
        return Ok(None);
    };
    let lost = |error: std::io::Error| {
        let text = "the host went away before it answered";
        Refusal::new(ErrorType::EnvironmentUnavailable, text).for_operator(error.to_string())
    };
    frame::write(&mut stream, envelope).await.map_err(lost)?;
    frame::read(&mut stream).await.map(Some).map_err(lost)
}

async fn connect(place: &Place) -> Option<UnixStream> {
    let (_folder, name) = short(place).ok()?;
    UnixStream::connect(name).await.ok()
}
