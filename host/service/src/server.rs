//! The socket of a host: 0600 in a 0700 folder, and only its own user is answered.
//!
//! Rule (C-50, X-operator): who is at the other end is what the system says of the
//! connection. A connection that says nothing, says too much or does not listen is closed;
//! whoever goes away ends the call that was made for him.

use std::fs::Permissions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bindery::{Cancel, ErrorType, Refusal, Rights};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use crate::desk::{Caller, Desk};
use crate::frame;
use crate::place::Place;
use crate::private::unwritable;
use crate::reply::Reply;
use crate::request::{Envelope, Request};

/// Most connections that are open at once; what is beyond waits in the listener's queue.
const CONNECTIONS_MAX: usize = 256;
/// Most requests of sessions that are worked on at once. An operator's need no such place,
/// so that calls that run do not keep a revocation waiting.
const WORKING_MAX: usize = 64;
/// How long a request waits for such a place before it is told that the host is busy.
const QUEUE_MAX: Duration = Duration::from_secs(10);
/// How long a request may take to arrive.
const REQUEST_MAX: Duration = Duration::from_secs(10);
/// How long an answer may take to be read.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// How long nothing is taken after the system could not give a connection.
const BREATH: Duration = Duration::from_millis(20);
/// How long calls that run are waited for when the host ends.
const GRACE: Duration = Duration::from_secs(5);

/// An answer, printed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rendered {
    /// For standard output.
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

/// How answers are printed: as JSON or as text.
type Render = fn(Reply, bool) -> Rendered;

/// Serves requests until somebody asks the host to stop, or `ended` comes true; then ends
/// what runs. `ready` is called once requests are taken.
///
/// # Errors
///
/// `store_unavailable` when there can be no socket.
pub async fn serve(
    desk: Arc<Desk>,
    render: Render,
    ended: impl Future<Output = ()>,
    ready: impl FnOnce(),
) -> Result<(), Refusal> {
    let (listener, path) = listen(&desk.place)?;
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let places = Arc::new(Semaphore::new(WORKING_MAX));
    let stopping = Cancel::new();
    let mut connections = tokio::task::JoinSet::new();
    let mut ended = std::pin::pin!(ended);
    ready();
    loop {
        tokio::select! {
            () = &mut ended => break,
            () = desk.stop.notified() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            (stream, slot) = accept(&listener, &slots) => {
                let (desk, stopping) = (Arc::clone(&desk), stopping.clone());
                let places = Arc::clone(&places);
                connections.spawn(async move {
                    let _slot = slot;
                    if let Err(error) = connection((&desk, &places), stream, render, &stopping).await {
                        tracing::debug!(%error, "a connection ended early");
                    }
                });
            }
        }
    }
    drop(std::fs::remove_file(&path));
    drop(listener);
    // Those that were only told of the end are still answered; calls are ended.
    let finish = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE / 10, finish).await.is_err() {
        stopping.cancel();
        let finish = async { while connections.join_next().await.is_some() {} };
        drop(tokio::time::timeout(GRACE, finish).await);
    }
    Ok(())
}

/// The next connection, once there is room for it: beyond the most, connections wait in the
/// listener's own queue. Dropping the future loses none.
async fn accept(
    listener: &UnixListener,
    slots: &Arc<Semaphore>,
) -> (UnixStream, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed, so there is always a permit.
    let slot = Arc::clone(slots).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, slot),
            // Out of descriptors, say: the connection stays in the queue meanwhile.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

/// Writes an answer to somebody who reads it in time.
async fn answer(to: &mut (impl AsyncWrite + Unpin), rendered: &Rendered) -> std::io::Result<()> {
    let written = tokio::time::timeout(ANSWER_MAX, frame::write(to, rendered)).await;
    written.map_err(|_| std::io::ErrorKind::TimedOut)?
}

/// Takes the place of a socket that an ended host left: this one owns the store.
fn listen(place: &Place) -> Result<(UnixListener, PathBuf), Refusal> {
    let path = place.data().join(Place::SOCKET);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(unwritable(&path, &error));
        }
        Ok(()) | Err(_) => {}
    }
    let listener = short(place)
        .and_then(|(folder, name)| {
            let listener = UnixListener::bind(&name)?;
            drop(folder);
            Ok(listener)
        })
        .map_err(|error| unwritable(&path, &error))?;
    std::fs::set_permissions(&path, Permissions::from_mode(0o600))
        .map_err(|error| unwritable(&path, &error))?;
    Ok((listener, path))
}

/// The socket's address in few bytes, however deep the folder is: addresses have 108.
pub(crate) fn short(place: &Place) -> std::io::Result<(std::fs::File, PathBuf)> {
    let folder = std::fs::File::open(place.data())?;
    let name = format!("/proc/self/fd/{}/{}", folder.as_raw_fd(), Place::SOCKET);
    Ok((folder, PathBuf::from(name)))
}

/// A place to work at, for requests that need one.
async fn place_for<'a>(
    request: &Request,
    places: &'a Semaphore,
) -> Result<Option<SemaphorePermit<'a>>, Refusal> {
    if request.rights() == Rights::Operator {
        return Ok(None);
    }
    match tokio::time::timeout(QUEUE_MAX, places.acquire()).await {
        Ok(place) => Ok(place.ok()),
        Err(_) => Err(Refusal::new(ErrorType::Busy, "the host has enough to do")
            .with("limit", WORKING_MAX)
            .for_operator(format!(
                "{WORKING_MAX} requests are worked on, and none ended within {} s",
                QUEUE_MAX.as_secs()
            ))),
    }
}

async fn connection(
    (desk, places): (&Desk, &Semaphore),
    mut stream: UnixStream,
    render: Render,
    stopping: &Cancel,
) -> std::io::Result<()> {
    let peer = stream.peer_cred()?.uid();
    if peer != rustix::process::geteuid().as_raw() {
        let text = "this host answers its own user only";
        let refused = Refusal::new(ErrorType::NotAuthenticated, text);
        return answer(&mut stream, &render(Reply::Refused(refused), true)).await;
    }
    let envelope = tokio::time::timeout(REQUEST_MAX, frame::read::<Envelope>(&mut stream)).await;
    let envelope = match envelope.map_err(|_| std::io::ErrorKind::TimedOut)? {
        Ok(envelope) => envelope,
        Err(error) => {
            let refused = Refusal::new(ErrorType::Usage, format!("this is no request: {error}"));
            return answer(&mut stream, &render(Reply::Refused(refused), true)).await;
        }
    };
    let user = match Caller::local(peer) {
        Ok(user) => user,
        Err(refusal) => {
            let rendered = render(Reply::Refused(refusal), envelope.json);
            return answer(&mut stream, &rendered).await;
        }
    };
    let cancel = Cancel::new();
    let (mut from, mut to) = stream.split();
    let reply = {
        let answer = async {
            match place_for(&envelope.request, places).await {
                Ok(_place) => desk.answer(&user, &envelope, &cancel).await,
                Err(refusal) => Reply::Refused(refusal),
            }
        };
        let mut reply = std::pin::pin!(answer);
        let mut byte = [0];
        let mut gone = std::pin::pin!(from.read(&mut byte));
        tokio::select! {
            biased;
            reply = &mut reply => reply,
            // Nothing more is said by who waits: the end, or a word too many.
            _ = &mut gone => { cancel.cancel(); reply.await }
            () = stopping.cancelled() => { cancel.cancel(); reply.await }
        }
    };
    let rendered = render(reply, envelope.json);
    answer(&mut to, &rendered).await
}
