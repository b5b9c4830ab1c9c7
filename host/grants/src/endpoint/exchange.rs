//! One request on its way: resolve, check, connect, TLS, send; straight down.
//!
//! Rule (H27): the name is resolved once, every address is checked, the connection goes to
//! a checked address. Nothing is followed: a redirect is a response like any other, and
//! what the guest makes of it is judged from the start. Each step ends with the request's
//! time; dropping the future closes the socket (case B1).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bindery_screen::Needles;
use bindery_types::LimitName;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderValue, TRANSFER_ENCODING};
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use wasmtime_wasi::runtime::{AbortOnDropJoinHandle, spawn};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody};

use super::address;
use super::body::{RequestBody, ResponseBody};
use super::decide::{Denial, asked, writable};
use super::fault;
use super::grant::Scheme;
use super::host::Host;
use super::ledger::{Request, Slot};
use super::network::Network;
use super::scrub::{self, ScrubbedBody};
use super::target::Target;
use super::tls;
use super::wire::Wire;
use crate::credential::Armed;

/// What a head may have beside its names and values: the first line, line ends.
const HEAD_FRAME_BYTES: usize = 8 << 10;
/// Bytes of the shortest field on the wire: `a:`, line end.
const FIELD_BYTES_MIN: usize = 4;
/// Addresses of one name that are tried.
const ADDRESSES_TRIED_MAX: usize = 4;

/// A request that policy let pass, with all it may use.
pub(super) struct Exchange {
    pub(super) target: Target,
    pub(super) network: Arc<dyn Network>,
    pub(super) request: Arc<Request>,
    pub(super) slot: Slot,
    pub(super) options: RequestOptions,
    /// The credential of the grant that let it pass.
    pub(super) credential: Option<Arc<Armed>>,
    /// What answers are searched for, in a call that holds credentials.
    pub(super) needles: Option<Arc<Needles>>,
}

/// A response and the task that keeps its connection moving.
pub(super) type Answer = (http::Response<WasiBody>, AbortOnDropJoinHandle<()>);

/// The times of a request.
#[derive(Clone, Copy)]
struct Times {
    started: Instant,
    until: Instant,
}

impl Times {
    fn start(request: &Request) -> Self {
        let started = Instant::now();
        let time = Duration::from_millis(request.limit(LimitName::HttpTime).or_max());
        Self {
            started,
            until: sooner(started, Some(time), None),
        }
    }

    /// The sooner of the request's end and the guest's own patience from now.
    fn within(&self, patience: Option<Duration>) -> Instant {
        sooner(Instant::now(), patience, Some(self.until))
    }
}

/// `from` plus `time`, at most `end`; without either, as good as never.
fn sooner(from: Instant, time: Option<Duration>, end: Option<Instant>) -> Instant {
    const NEVER: Duration = Duration::from_secs(30 * 365 * 86_400);
    let end = end.unwrap_or(from + NEVER);
    let at = time.and_then(|time| from.checked_add(time));
    at.map_or(end, |at| at.min(end))
}

impl Exchange {
    /// Sends `message` and gives its response, whose body streams.
    pub(super) async fn run(self, message: http::Request<WasiBody>) -> Result<Answer, Error> {
        let times = Times::start(&self.request);
        let connect_by = times.within(self.options.connect_timeout);
        let addresses = self.addresses(times, connect_by).await?;
        let socket = self.connect(&addresses, times, connect_by).await?;
        let wire = Wire::new(socket, Arc::clone(&self.request));
        match self.target.scheme {
            Scheme::Http => self.send(wire, message, times).await,
            Scheme::Https => {
                let handshake = tls::handshake(&self.target.host, self.network.as_ref(), wire)?;
                let secured = timeout_at(connect_by, handshake)
                    .await
                    .map_err(|_| self.late(times, Error::ConnectionTimeout))?
                    .map_err(|error| fault::of_tls(&self.request, &error))?;
                self.send(secured, message, times).await
            }
        }
    }

    /// The addresses that may be connected to. A literal was granted as it is.
    async fn addresses(&self, times: Times, by: Instant) -> Result<Vec<IpAddr>, Error> {
        let name = match &self.target.host {
            Host::Address(address) => return Ok(vec![*address]),
            Host::Localhost => {
                return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
            }
            Host::Name(name) => name,
        };
        let unknown = || Error::DnsError {
            rcode: Some("the name has no address".to_owned()),
            info_code: None,
        };
        let found = timeout_at(by, self.network.resolve(name))
            .await
            .map_err(|_| self.late(times, Error::DnsTimeout))?
            .map_err(|_| unknown())?;
        // Case C1: one bad address among good ones is a name that moves; none is used.
        for address in &found {
            if let Some(what) = address::special(*address) {
                self.request.refuse(self.denial(name, *address, what));
                return Err(Error::DestinationIpProhibited);
            }
        }
        match found.is_empty() {
            true => Err(unknown()),
            false => Ok(found),
        }
    }

    fn denial(&self, name: &str, address: IpAddr, what: &str) -> Denial {
        let literal = Target {
            host: Host::Address(address),
            ..self.target.clone()
        };
        Denial {
            asked: asked(&self.target),
            rule: format!(
                "`{name}` resolves to {address} ({what}); only the address itself can be granted"
            ),
            allow: writable(asked(&literal)),
        }
    }

    /// A connection to the first address that answers, each with its share of the time.
    async fn connect(
        &self,
        addresses: &[IpAddr],
        times: Times,
        by: Instant,
    ) -> Result<TcpStream, Error> {
        let mut failure = Error::ConnectionRefused;
        let tried = addresses.len().min(ADDRESSES_TRIED_MAX);
        for (before, address) in addresses.iter().take(tried).enumerate() {
            let share = u32::try_from(tried - before).unwrap_or(u32::MAX);
            let now = Instant::now();
            let by = now + by.saturating_duration_since(now) / share;
            let address = SocketAddr::new(*address, self.target.port);
            match timeout_at(by, self.network.connect(address)).await {
                Ok(Ok(socket)) => {
                    // Without it, small requests wait for acknowledgements.
                    let _ = socket.set_nodelay(true);
                    return Ok(socket);
                }
                Ok(Err(_)) => failure = Error::ConnectionRefused,
                Err(_) => failure = self.late(times, Error::ConnectionTimeout),
            }
        }
        Err(failure)
    }

    /// Sends over an open connection.
    async fn send<S>(
        self,
        stream: S,
        message: http::Request<WasiBody>,
        times: Times,
    ) -> Result<Answer, Error>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let message = self.origin_form(message)?;
        // Read with room for the frame, so that a head that is too large for the reader is
        // too large for its limit, too; fields are counted when they are read.
        let head_bytes = self.request.limit(LimitName::HttpHead).or_max_usize();
        let head_bytes = head_bytes.saturating_add(HEAD_FRAME_BYTES);
        let (mut sender, connection) = http1::Builder::new()
            .max_headers(head_bytes / FIELD_BYTES_MIN)
            .max_buf_size(head_bytes)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| fault::of_protocol(&self.request, &error))?;
        // The task ends with the request's time even if nobody reads the body.
        let worker = spawn(async move {
            let _ = timeout_at(times.until, connection).await;
        });
        let answer_by = times.within(self.options.first_byte_timeout);
        let response = timeout_at(answer_by, sender.send_request(message))
            .await
            .map_err(|_| self.late(times, Error::ConnectionReadTimeout))?
            .map_err(|error| self.failed(times, &error))?;
        let (mut parts, incoming) = response.into_parts();
        check_head(&parts)?;
        self.check_head_size(&parts.headers)?;
        if let Some(needles) = &self.needles {
            scrub::head(&mut parts, needles)?;
        }
        let needles = self.needles;
        let body = ResponseBody::new(incoming, self.request, self.slot).timed(
            times.started,
            times.until,
            self.options.between_bytes_timeout,
        );
        let body = match needles {
            Some(needles) => ScrubbedBody::new(body, needles).boxed_unsync(),
            None => body.boxed_unsync(),
        };
        Ok((http::Response::from_parts(parts, body), worker))
    }

    /// The message as it goes on the wire: the path that was checked, the host that was
    /// checked, a connection for this request alone.
    fn origin_form(
        &self,
        message: http::Request<WasiBody>,
    ) -> Result<http::Request<RequestBody>, Error> {
        let (mut parts, body) = message.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |both| both.as_str());
        let path = match path.starts_with('/') {
            true => path.to_owned(),
            false => format!("/{path}"),
        };
        parts.uri = path.parse().map_err(|_| Error::HttpRequestUriInvalid)?;
        let host = HeaderValue::try_from(self.target.authority());
        parts
            .headers
            .insert(HOST, host.map_err(|_| Error::HttpRequestUriInvalid)?);
        parts
            .headers
            .insert(CONNECTION, HeaderValue::from_static("close"));
        if self.needles.is_some() {
            scrub::request(&mut parts.headers);
        }
        // H50: here and nowhere before: the destination is connected and was checked, and
        // what a guest may have put in this field is replaced.
        if let Some(credential) = &self.credential {
            parts
                .headers
                .insert(credential.field.clone(), credential.value.clone());
        }
        let body = RequestBody::new(body, Arc::clone(&self.request));
        Ok(http::Request::from_parts(parts, body))
    }

    /// Case U5, X36: how large a head is and how many fields it has are limits with names.
    fn check_head_size(&self, fields: &http::HeaderMap) -> Result<(), Error> {
        let bytes = fields
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len());
        let rows = [
            (LimitName::HttpHead, bytes.sum()),
            (LimitName::HttpHeadFields, fields.len()),
        ];
        for (name, used) in rows {
            let used = u64::try_from(used).unwrap_or(u64::MAX);
            if !self.request.limit(name).allows(used) {
                return Err(fault::of_limit(self.request.stop(name, used)));
            }
        }
        Ok(())
    }

    /// `error`, noting the limit when the request's own time is over.
    fn late(&self, times: Times, error: Error) -> Error {
        if Instant::now() < times.until {
            return error;
        }
        let used = u64::try_from(times.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        fault::of_limit(self.request.stop(LimitName::HttpTime, used))
    }

    /// The task that moves the connection ends it on time, which looks like a failure.
    fn failed(&self, times: Times, error: &hyper::Error) -> Error {
        self.late(times, fault::of_protocol(&self.request, error))
    }
}

/// Heads that say two things about where the message ends, or that end HTTP (X35).
fn check_head(parts: &http::response::Parts) -> Result<(), Error> {
    if parts.status == http::StatusCode::SWITCHING_PROTOCOLS {
        return Err(Error::HttpUpgradeFailed);
    }
    let fields = &parts.headers;
    match fields.contains_key(CONTENT_LENGTH) && fields.contains_key(TRANSFER_ENCODING) {
        true => Err(Error::HttpProtocolError),
        false => Ok(()),
    }
}
