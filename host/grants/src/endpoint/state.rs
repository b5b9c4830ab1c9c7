//! The endpoint grants of one call, as the hooks that `wasi:http` asks.
//!
//! Rule (H27): this is the only sender. A request is read, judged and counted here before
//! any task of it exists; without a grant nothing of it leaves the host. The state moves
//! into the store of the call and dies with it.

use std::sync::Arc;

use bindery_types::{Budget, LimitName};
use http::header::{CONTENT_LENGTH, HeaderName};
use wasmtime_wasi::runtime::AbortOnDropJoinHandle;
use wasmtime_wasi_http::{
    Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpHooks,
};

use super::decide::{Denial, asked, decide};
use super::exchange::Exchange;
use super::fault;
use super::grant::EndpointGrant;
use super::ledger::{EndpointReport, Ledger, Request};
use super::network::{Network, System};
use super::target::Target;
use crate::Meter;
use crate::credential::{Armed, Keyring};
use crate::shared::Shared;

/// Bytes a guest may write to a body at once (H27).
const CHUNK_BYTES_MAX: usize = 64 << 10;

/// Fields a guest never sets: they belong to the connection, carry credentials, or make a
/// server believe another origin, method or path (C3, H27, X35).
const FORBIDDEN_FIELDS: &[&str] = &[
    "host",
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
    "te",
    "trailer",
    "expect",
    "proxy-authenticate",
    "proxy-authorization",
    "authorization",
    "cookie",
    "forwarded",
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
    "x-real-ip",
];

fn is_forbidden(name: &HeaderName) -> bool {
    FORBIDDEN_FIELDS.contains(&name.as_str()) || name.as_str().starts_with("x-forwarded-")
}

/// The endpoint grants of one call and what became of its requests.
pub struct EndpointState {
    pub(super) ctx: WasiHttpCtx,
    pub(super) sender: Sender,
    /// Requests whose effect is in the trace, with their place there.
    noted: Vec<(usize, Arc<Request>)>,
}

/// Judges and sends; what `wasi:http` calls back.
pub(super) struct Sender {
    grants: Vec<EndpointGrant>,
    budget: Budget,
    /// What the requests of the call used; made with the first of them.
    ledger: Shared<Ledger>,
    /// What answers are searched for, in a call that holds credentials.
    keyring: Option<Keyring>,
    /// The request being handed over; taken by the hook, which proves that it got there.
    next: Option<Arc<Request>>,
}

impl EndpointState {
    /// The state of a call that may use `grants` under `budget`.
    pub fn new(grants: Vec<EndpointGrant>, budget: &Budget) -> Self {
        let mut ctx = WasiHttpCtx::new();
        ctx.set_field_size_limit(budget.get(LimitName::HttpFields).or_max_usize());
        Self {
            ctx,
            sender: Sender {
                grants,
                budget: budget.clone(),
                ledger: Shared::new(),
                keyring: None,
                next: None,
            },
            noted: Vec::new(),
        }
    }

    /// The limit `name` of the call.
    pub(super) fn limit(&self, name: LimitName) -> bindery_types::Limit {
        self.sender.budget.get(name)
    }

    /// The credentials of the call were read: answers are searched for them.
    pub(crate) fn search_for(&mut self, keyring: Keyring) {
        self.sender.keyring = Some(keyring);
    }

    /// A request is handed over next; its effect is noted as `resource`.
    pub(super) fn begin(&mut self, meter: &mut Meter, resource: String) -> Arc<Request> {
        let request = Request::new(self.sender.ledger());
        let entry = meter.note(bindery_types::EffectKind::Request, resource, 0);
        if let Some(entry) = entry {
            self.noted.push((entry, Arc::clone(&request)));
        }
        self.sender.next = Some(Arc::clone(&request));
        request
    }

    /// Whether the request handed over last never reached the hook.
    pub(super) fn was_refused_before(&mut self) -> bool {
        self.sender.next.take().is_some()
    }

    /// Ends the call: no request of it moves another byte, the effects get the bytes they
    /// moved and the mark of those that never left.
    pub fn settle(&mut self, meter: &mut Meter) -> EndpointReport {
        let ledger = self.sender.ledger.made();
        let report = ledger.map(Ledger::settle).unwrap_or_default();
        for (entry, request) in self.noted.drain(..) {
            if let Some(effect) = meter.noted(entry) {
                effect.bytes = request.bytes();
                if request.is_refused() {
                    effect.resource.push_str(" (refused)");
                }
            }
        }
        report
    }
}

impl Sender {
    fn ledger(&self) -> &Arc<Ledger> {
        self.ledger.get(|| Ledger::new(&self.budget))
    }

    /// Judges `message`: what it may use, or the error the guest gets.
    fn admit(
        &self,
        request: &Arc<Request>,
        message: &http::Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<Exchange, Error> {
        let method = message.method().as_str();
        let stopped = |hit| {
            request.withhold();
            fault::of_limit(hit)
        };
        check_url(request, message.uri()).map_err(stopped)?;
        let target = Target::read(method, message.uri()).map_err(|fault| {
            request.refuse(Denial {
                asked: format!("{method} of a malformed address"),
                rule: fault.to_string(),
                allow: None,
            });
            Error::HttpRequestUriInvalid
        })?;
        let grant = decide(&self.grants, &target).map_err(|denial| {
            request.refuse(denial);
            Error::HttpRequestDenied
        })?;
        let credential = credential(grant, &target).map_err(|denial| {
            request.refuse(denial);
            Error::HttpRequestDenied
        })?;
        let network: Option<Arc<dyn Network>> = grant.network().cloned();
        check_declared_size(request, message).map_err(stopped)?;
        Ok(Exchange {
            network: network.unwrap_or_else(|| Arc::new(System)),
            slot: request.take_off().map_err(stopped)?,
            request: Arc::clone(request),
            options: options.unwrap_or_default(),
            credential,
            needles: self.keyring.as_ref().map(Keyring::needles),
            target,
        })
    }

    /// The fields that credentials go into: the host's alone, in every request (H27).
    fn credential_fields(&self) -> Vec<HeaderName> {
        let fields = self
            .grants
            .iter()
            .filter_map(EndpointGrant::credential_field);
        fields.cloned().collect()
    }
}

/// What goes with a request that `grant` lets pass.
fn credential(grant: &EndpointGrant, target: &Target) -> Result<Option<Arc<Armed>>, Denial> {
    let denial = |rule: String| Denial {
        asked: asked(target),
        rule,
        allow: None,
    };
    match (grant.credential(), grant.armed()) {
        (None, _) => Ok(None),
        (Some(name), None) => Err(denial(format!("the credential `{name}` was not read"))),
        // `localhost` covers two addresses; the credential was given for what was written.
        (Some(name), Some(_)) if !grant.is_origin_of(target) => Err(denial(format!(
            "the credential `{name}` is for the origin as `{grant}` spells it"
        ))),
        (Some(_), Some(armed)) => Ok(Some(Arc::clone(armed))),
    }
}

/// Servers and logs between us and them cut an address anywhere beyond their own limits.
fn check_url(request: &Request, uri: &http::Uri) -> Result<(), bindery_types::LimitHit> {
    let sent = uri.path_and_query().map_or(0, |both| both.as_str().len());
    let bytes = u64::try_from(sent).unwrap_or(u64::MAX);
    match request.limit(LimitName::HttpUrl).allows(bytes) {
        true => Ok(()),
        false => Err(request.stop(LimitName::HttpUrl, bytes)),
    }
}

/// A body that says it will be too large need not be begun.
fn check_declared_size(
    request: &Request,
    message: &http::Request<WasiBody>,
) -> Result<(), bindery_types::LimitHit> {
    let declared = message.headers().get(CONTENT_LENGTH);
    let declared = declared.and_then(|value| value.to_str().ok()?.parse().ok());
    match declared {
        Some(bytes) if !request.limit(LimitName::HttpRequestBody).allows(bytes) => {
            Err(request.stop(LimitName::HttpRequestBody, bytes))
        }
        _ => Ok(()),
    }
}

type Sent = Result<
    (
        http::Response<WasiBody>,
        Box<dyn Future<Output = Result<(), Error>> + Send>,
    ),
    Error,
>;

impl WasiHttpHooks for Sender {
    fn is_forbidden_header(&mut self, name: &HeaderName) -> bool {
        is_forbidden(name) || self.credential_fields().contains(name)
    }

    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        let fields = self.credential_fields();
        Arc::new(move |name: &HeaderName| is_forbidden(name) || fields.contains(name))
    }

    /// The host writes it from what was checked.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK_BYTES_MAX
    }

    fn send_request(
        &mut self,
        message: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _heard: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let request = self
            .next
            .take()
            .unwrap_or_else(|| Request::new(self.ledger()));
        let exchange = self.admit(&request, &message, options);
        Box::new(async move {
            let (response, worker) = exchange?.run(message).await?;
            let connection = async move {
                let worker: AbortOnDropJoinHandle<()> = worker;
                worker.await;
                Ok(())
            };
            Ok((
                response,
                Box::new(connection) as Box<dyn Future<Output = _> + Send>,
            ))
        })
    }
}
