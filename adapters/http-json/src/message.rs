//! A request from its parts to the host, its body streamed.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    Fields, FutureIncomingResponse, HeaderError, Method, OutgoingBody, OutgoingRequest,
};
use wasip2::io::streams::StreamError;

use crate::bindings::exports::bindery::http_json::http::{Failure, Header};
use crate::failure;
use crate::url::Url;

/// Hands the request to the host, then its body; the answer comes through the future.
pub(crate) fn send(
    method: Method,
    url: &Url<'_>,
    headers: &[Header],
    body: Option<&[u8]>,
) -> Result<FutureIncomingResponse, Failure> {
    let request = OutgoingRequest::new(fields(headers, body)?);
    let bad = |part: &str| Failure::BadUrl(format!("the {part} cannot be sent as it is written"));
    request.set_method(&method).map_err(|()| bad("method"))?;
    request
        .set_scheme(Some(&url.scheme))
        .map_err(|()| bad("scheme"))?;
    request
        .set_authority(Some(url.authority))
        .map_err(|()| bad("host"))?;
    request
        .set_path_with_query(Some(url.path))
        .map_err(|()| bad("path"))?;
    let outgoing = match body {
        Some(_) => request.body().ok(),
        None => None,
    };
    let future = handle(request, None).map_err(failure::of_code)?;
    if let (Some(outgoing), Some(body)) = (outgoing, body) {
        // A server may answer before it has read all, and the host may refuse: what went
        // wrong is in the answer, so a body that cannot be finished is not an error here.
        let _ = write(outgoing, body);
    }
    Ok(future)
}

fn fields(headers: &[Header], body: Option<&[u8]>) -> Result<Fields, Failure> {
    let fields = Fields::new();
    for header in headers {
        let appended = fields.append(&header.name, header.value.as_bytes());
        appended.map_err(|error| bad_header(&header.name, error))?;
    }
    let mut own = vec![("accept", "application/json".to_owned())];
    if let Some(body) = body {
        own.push(("content-type", "application/json".to_owned()));
        own.push(("content-length", body.len().to_string()));
    }
    for (name, value) in own {
        if !fields.has(name) {
            let set = fields.set(name, &[value.into_bytes()]);
            set.map_err(|error| bad_header(name, error))?;
        }
    }
    Ok(fields)
}

fn bad_header(name: &str, error: HeaderError) -> Failure {
    let why = match error {
        HeaderError::InvalidSyntax => "is malformed",
        HeaderError::Forbidden => "belongs to the host",
        HeaderError::Immutable => "cannot be changed",
    };
    Failure::BadHeader(format!("`{name}` {why}"))
}

fn write(outgoing: OutgoingBody, mut body: &[u8]) -> Result<(), StreamError> {
    let stream = outgoing.write().map_err(|()| StreamError::Closed)?;
    let ready = stream.subscribe();
    while !body.is_empty() {
        match usize::try_from(stream.check_write()?).unwrap_or(usize::MAX) {
            0 => ready.block(),
            room => {
                let (now, later) = body.split_at(room.min(body.len()));
                stream.write(now)?;
                body = later;
            }
        }
    }
    drop(ready);
    drop(stream);
    OutgoingBody::finish(outgoing, None).map_err(|_| StreamError::Closed)
}
