//! The interfaces of `wasi:http` as a guest of Bindery sees them: wasmtime's own
//! implementation, every call counted first.
//!
//! Rule (H7): no import is free. Field lists are charged for their bytes; bodies are
//! charged where their streams are read and written. Every request asked is one effect,
//! whatever became of it.

use bindery_types::{LimitHit, LimitName};
use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream};
use wasmtime_wasi_http::p2::bindings::http::{outgoing_handler, types};
use wasmtime_wasi_http::p2::body::{HostFutureTrailers, HostIncomingBody, HostOutgoingBody};
use wasmtime_wasi_http::p2::types::{
    HostFutureIncomingResponse, HostIncomingRequest, HostIncomingResponse, HostOutgoingRequest,
    HostOutgoingResponse, HostResponseOutparam,
};
use wasmtime_wasi_http::p2::{HeaderError, HeaderResult, HttpError, HttpResult};
use wasmtime_wasi_http::{Error, FieldMap, FieldMapError, WasiHttpCtxView};

use super::fault;
use super::grant::Scheme;
use super::state::EndpointState;
use super::target::Target;
use crate::Meter;

/// What a call to `wasi:http` works on, borrowed from the store of the call.
pub struct EndpointView<'a> {
    /// Counts and bounds the host's work.
    pub meter: &'a mut Meter,
    /// The resources of the call.
    pub table: &'a mut ResourceTable,
    /// Grants and requests of the call.
    pub state: &'a mut EndpointState,
}

struct Endpoint;

impl HasData for Endpoint {
    type Data<'a> = EndpointView<'a>;
}

/// Links `wasi:http/types`; `view` finds the state of the call in the store.
///
/// # Errors
///
/// As the linker: the interface is linked already.
pub fn link_types<T: Send + 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> EndpointView<'_>,
) -> wasmtime::Result<()> {
    types::add_to_linker::<T, Endpoint>(linker, &types::LinkOptions::default(), view)
}

/// Links `wasi:http/outgoing-handler`; `view` finds the state of the call in the store.
///
/// # Errors
///
/// As the linker: the interface is linked already.
pub fn link_handler<T: Send + 'static>(
    linker: &mut Linker<T>,
    view: fn(&mut T) -> EndpointView<'_>,
) -> wasmtime::Result<()> {
    outgoing_handler::add_to_linker::<T, Endpoint>(linker, view)
}

impl EndpointView<'_> {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            hooks: &mut self.state.sender,
            table: self.table,
            ctx: &mut self.state.ctx,
        }
    }

    /// Case U5: a list of fields that is too large ends the call by the name of its limit,
    /// which the engine tells without a name.
    fn too_large(&self, error: HeaderError) -> HeaderError {
        let error = match error.downcast() {
            Ok(told) => return told.into(),
            Err(error) => error,
        };
        match error.downcast_ref::<FieldMapError>() {
            Some(FieldMapError::TotalSizeTooBig | FieldMapError::TooManyFields) => {
                let limit = self.state.limit(LimitName::HttpFields);
                HeaderError::trap(LimitHit {
                    name: LimitName::HttpFields,
                    limit,
                    used: limit.or_max().saturating_add(1),
                })
            }
            _ => HeaderError::trap(error),
        }
    }

    /// One call that moves `bytes` of fields.
    fn enter_with(&mut self, bytes: usize) -> Result<(), LimitHit> {
        self.meter.enter()?;
        self.meter.work(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

/// A limit that ends the call, as each kind of result carries a trap.
trait EndsCall {
    fn ends_call(hit: LimitHit) -> Self;
}

impl<T> EndsCall for wasmtime::Result<T> {
    fn ends_call(hit: LimitHit) -> Self {
        Err(wasmtime::Error::from(hit))
    }
}

impl<T> EndsCall for HttpResult<T> {
    fn ends_call(hit: LimitHit) -> Self {
        Err(HttpError::trap(hit))
    }
}

impl<T> EndsCall for HeaderResult<T> {
    fn ends_call(hit: LimitHit) -> Self {
        Err(HeaderError::trap(hit))
    }
}

/// Implements an interface's resource by counting the call and handing it on.
macro_rules! counted {
    ($interface:ident: $( $name:ident($($arg:ident: $ty:ty),*) -> $result:ty; )*) => {
        impl types::$interface for EndpointView<'_> {
            $(
                fn $name(&mut self, $($arg: $ty),*) -> $result {
                    match self.meter.enter() {
                        Ok(()) => types::$interface::$name(&mut self.http(), $($arg),*),
                        Err(hit) => EndsCall::ends_call(hit),
                    }
                }
            )*
        }
    };
}

impl outgoing_handler::Host for EndpointView<'_> {
    fn handle(
        &mut self,
        request: Resource<HostOutgoingRequest>,
        options: Option<Resource<types::RequestOptions>>,
    ) -> HttpResult<Resource<HostFutureIncomingResponse>> {
        self.meter.enter().map_err(HttpError::trap)?;
        let resource = resource(self.table.get(&request)?);
        let noted = self.state.begin(self.meter, resource);
        let handled = outgoing_handler::Host::handle(&mut self.http(), request, options);
        if self.state.was_refused_before() {
            noted.withhold();
        }
        handled
    }
}

/// `METHOD scheme://host[:port]` of a request, as its effect is reported.
fn resource(request: &HostOutgoingRequest) -> String {
    const METHOD_CHARS_MAX: usize = 32;
    let method: Result<http::Method, _> = request.method.clone().try_into();
    let method = method.as_ref().map_or("?", http::Method::as_str);
    let method: String = method.chars().take(METHOD_CHARS_MAX).collect();
    let scheme = match &request.scheme {
        Some(types::Scheme::Http) => Scheme::Http.as_str(),
        Some(types::Scheme::Https) | None => Scheme::Https.as_str(),
        Some(types::Scheme::Other(other)) => other,
    };
    let authority = request.authority.as_deref().unwrap_or_default();
    let uri: Option<http::Uri> = format!("{scheme}://{authority}/").parse().ok();
    let target = uri.and_then(|uri| Target::read(&method, &uri).ok());
    match target {
        Some(target) => format!("{method} {}", target.origin()),
        None => format!("{method} of a malformed address"),
    }
}

impl types::Host for EndpointView<'_> {
    fn convert_error_code(&mut self, error: HttpError) -> wasmtime::Result<types::ErrorCode> {
        error.downcast()
    }

    fn convert_header_error(&mut self, error: HeaderError) -> wasmtime::Result<types::HeaderError> {
        error.downcast()
    }

    fn http_error_code(
        &mut self,
        error: Resource<types::IoError>,
    ) -> wasmtime::Result<Option<types::ErrorCode>> {
        self.meter.enter()?;
        let error = self.table.get(&error)?;
        let code = error.downcast_ref::<types::ErrorCode>().cloned();
        // A body's stream ends with the error of this crate, not with the guest's.
        Ok(code.or_else(|| error.downcast_ref::<Error>().and_then(fault::code_of_body)))
    }
}

impl types::HostFields for EndpointView<'_> {
    fn new(&mut self) -> wasmtime::Result<Resource<FieldMap>> {
        self.meter.enter()?;
        types::HostFields::new(&mut self.http())
    }

    fn from_list(&mut self, entries: Vec<(String, Vec<u8>)>) -> HeaderResult<Resource<FieldMap>> {
        let bytes = entries
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum();
        self.enter_with(bytes).map_err(HeaderError::trap)?;
        let made = self.http().from_list(entries);
        made.map_err(|error| self.too_large(error))
    }

    fn drop(&mut self, fields: Resource<FieldMap>) -> wasmtime::Result<()> {
        self.meter.enter()?;
        types::HostFields::drop(&mut self.http(), fields)
    }

    fn get(&mut self, fields: Resource<FieldMap>, name: String) -> wasmtime::Result<Vec<Vec<u8>>> {
        let values = types::HostFields::get(&mut self.http(), fields, name)?;
        self.enter_with(values.iter().map(Vec::len).sum())?;
        Ok(values)
    }

    fn has(&mut self, fields: Resource<FieldMap>, name: String) -> wasmtime::Result<bool> {
        self.meter.enter()?;
        self.http().has(fields, name)
    }

    fn set(
        &mut self,
        fields: Resource<FieldMap>,
        name: String,
        values: Vec<Vec<u8>>,
    ) -> HeaderResult<()> {
        let bytes = values.iter().map(Vec::len).sum();
        self.enter_with(bytes).map_err(HeaderError::trap)?;
        let set = self.http().set(fields, name, values);
        set.map_err(|error| self.too_large(error))
    }

    fn delete(&mut self, fields: Resource<FieldMap>, name: String) -> HeaderResult<()> {
        self.meter.enter().map_err(HeaderError::trap)?;
        types::HostFields::delete(&mut self.http(), fields, name)
    }

    fn append(
        &mut self,
        fields: Resource<FieldMap>,
        name: String,
        value: Vec<u8>,
    ) -> HeaderResult<()> {
        self.enter_with(value.len()).map_err(HeaderError::trap)?;
        let appended = self.http().append(fields, name, value);
        appended.map_err(|error| self.too_large(error))
    }

    fn entries(&mut self, fields: Resource<FieldMap>) -> wasmtime::Result<Vec<(String, Vec<u8>)>> {
        let entries = self.http().entries(fields)?;
        self.enter_with(
            entries
                .iter()
                .map(|(name, value)| name.len() + value.len())
                .sum(),
        )?;
        Ok(entries)
    }

    fn clone(&mut self, fields: Resource<FieldMap>) -> wasmtime::Result<Resource<FieldMap>> {
        self.meter.enter()?;
        types::HostFields::clone(&mut self.http(), fields)
    }
}

counted! { HostOutgoingRequest:
    new(fields: Resource<FieldMap>) -> wasmtime::Result<Resource<HostOutgoingRequest>>;
    body(request: Resource<HostOutgoingRequest>) -> wasmtime::Result<Result<Resource<HostOutgoingBody>, ()>>;
    drop(request: Resource<HostOutgoingRequest>) -> wasmtime::Result<()>;
    method(request: Resource<HostOutgoingRequest>) -> wasmtime::Result<types::Method>;
    set_method(request: Resource<HostOutgoingRequest>, method: types::Method) -> wasmtime::Result<Result<(), ()>>;
    path_with_query(request: Resource<HostOutgoingRequest>) -> wasmtime::Result<Option<String>>;
    set_path_with_query(request: Resource<HostOutgoingRequest>, path: Option<String>) -> wasmtime::Result<Result<(), ()>>;
    scheme(request: Resource<HostOutgoingRequest>) -> wasmtime::Result<Option<types::Scheme>>;
    set_scheme(request: Resource<HostOutgoingRequest>, scheme: Option<types::Scheme>) -> wasmtime::Result<Result<(), ()>>;
    authority(request: Resource<HostOutgoingRequest>) -> wasmtime::Result<Option<String>>;
    set_authority(request: Resource<HostOutgoingRequest>, authority: Option<String>) -> wasmtime::Result<Result<(), ()>>;
    headers(request: Resource<HostOutgoingRequest>) -> wasmtime::Result<Resource<FieldMap>>;
}

counted! { HostOutgoingBody:
    write(body: Resource<HostOutgoingBody>) -> wasmtime::Result<Result<Resource<DynOutputStream>, ()>>;
    finish(body: Resource<HostOutgoingBody>, trailers: Option<Resource<FieldMap>>) -> HttpResult<()>;
    drop(body: Resource<HostOutgoingBody>) -> wasmtime::Result<()>;
}

counted! { HostRequestOptions:
    new() -> wasmtime::Result<Resource<types::RequestOptions>>;
    connect_timeout(options: Resource<types::RequestOptions>) -> wasmtime::Result<Option<types::Duration>>;
    set_connect_timeout(options: Resource<types::RequestOptions>, time: Option<types::Duration>) -> wasmtime::Result<Result<(), ()>>;
    first_byte_timeout(options: Resource<types::RequestOptions>) -> wasmtime::Result<Option<types::Duration>>;
    set_first_byte_timeout(options: Resource<types::RequestOptions>, time: Option<types::Duration>) -> wasmtime::Result<Result<(), ()>>;
    between_bytes_timeout(options: Resource<types::RequestOptions>) -> wasmtime::Result<Option<types::Duration>>;
    set_between_bytes_timeout(options: Resource<types::RequestOptions>, time: Option<types::Duration>) -> wasmtime::Result<Result<(), ()>>;
    drop(options: Resource<types::RequestOptions>) -> wasmtime::Result<()>;
}

counted! { HostFutureIncomingResponse:
    drop(future: Resource<HostFutureIncomingResponse>) -> wasmtime::Result<()>;
    get(future: Resource<HostFutureIncomingResponse>) -> wasmtime::Result<Option<Result<Result<Resource<HostIncomingResponse>, types::ErrorCode>, ()>>>;
    subscribe(future: Resource<HostFutureIncomingResponse>) -> wasmtime::Result<Resource<DynPollable>>;
}

counted! { HostIncomingResponse:
    drop(response: Resource<HostIncomingResponse>) -> wasmtime::Result<()>;
    status(response: Resource<HostIncomingResponse>) -> wasmtime::Result<types::StatusCode>;
    headers(response: Resource<HostIncomingResponse>) -> wasmtime::Result<Resource<FieldMap>>;
    consume(response: Resource<HostIncomingResponse>) -> wasmtime::Result<Result<Resource<HostIncomingBody>, ()>>;
}

counted! { HostIncomingBody:
    stream(body: Resource<HostIncomingBody>) -> wasmtime::Result<Result<Resource<DynInputStream>, ()>>;
    finish(body: Resource<HostIncomingBody>) -> wasmtime::Result<Resource<HostFutureTrailers>>;
    drop(body: Resource<HostIncomingBody>) -> wasmtime::Result<()>;
}

counted! { HostFutureTrailers:
    drop(trailers: Resource<HostFutureTrailers>) -> wasmtime::Result<()>;
    subscribe(trailers: Resource<HostFutureTrailers>) -> wasmtime::Result<Resource<DynPollable>>;
    get(trailers: Resource<HostFutureTrailers>) -> wasmtime::Result<Option<Result<Result<Option<Resource<FieldMap>>, types::ErrorCode>, ()>>>;
}

// The server's side of the interface: a guest can make some of these, and nobody takes them.

counted! { HostIncomingRequest:
    method(request: Resource<HostIncomingRequest>) -> wasmtime::Result<types::Method>;
    path_with_query(request: Resource<HostIncomingRequest>) -> wasmtime::Result<Option<String>>;
    scheme(request: Resource<HostIncomingRequest>) -> wasmtime::Result<Option<types::Scheme>>;
    authority(request: Resource<HostIncomingRequest>) -> wasmtime::Result<Option<String>>;
    headers(request: Resource<HostIncomingRequest>) -> wasmtime::Result<Resource<FieldMap>>;
    consume(request: Resource<HostIncomingRequest>) -> wasmtime::Result<Result<Resource<HostIncomingBody>, ()>>;
    drop(request: Resource<HostIncomingRequest>) -> wasmtime::Result<()>;
}

counted! { HostResponseOutparam:
    drop(out: Resource<HostResponseOutparam>) -> wasmtime::Result<()>;
    set(out: Resource<HostResponseOutparam>, response: Result<Resource<HostOutgoingResponse>, types::ErrorCode>) -> wasmtime::Result<()>;
    send_informational(out: Resource<HostResponseOutparam>, status: u16, fields: Resource<FieldMap>) -> HttpResult<()>;
}

counted! { HostOutgoingResponse:
    new(fields: Resource<FieldMap>) -> wasmtime::Result<Resource<HostOutgoingResponse>>;
    body(response: Resource<HostOutgoingResponse>) -> wasmtime::Result<Result<Resource<HostOutgoingBody>, ()>>;
    status_code(response: Resource<HostOutgoingResponse>) -> wasmtime::Result<types::StatusCode>;
    set_status_code(response: Resource<HostOutgoingResponse>, status: types::StatusCode) -> wasmtime::Result<Result<(), ()>>;
    headers(response: Resource<HostOutgoingResponse>) -> wasmtime::Result<Resource<FieldMap>>;
    drop(response: Resource<HostOutgoingResponse>) -> wasmtime::Result<()>;
}
