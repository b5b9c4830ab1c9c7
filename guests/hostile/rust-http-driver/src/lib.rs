//! A guest that asks of `wasi:http` whatever its caller says (C1–C3, X33–X36): the tests
//! of endpoint grants hold the pen.

/// What the component exports.
#[allow(missing_docs)]
mod bindings {
    wit_bindgen::generate!({ world: "http-driver", path: "wit" });
    use super::Driver;
    export!(Driver);
}

use bindings::exports::hostile::http_driver::driver::{Answer, Field, Guest, Order, Wait};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    Fields, FutureIncomingResponse, IncomingResponse, Method, OutgoingBody, OutgoingRequest,
    RequestOptions, Scheme, http_error_code,
};
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::StreamError;

struct Driver;

impl Guest for Driver {
    fn send(order: Order) -> Result<Answer, String> {
        let response = wait(&start(&order)?)?;
        let (body, broken) = read(&response);
        let fields = response.headers().entries().into_iter();
        Ok(Answer {
            status: response.status(),
            fields: fields.map(|(name, value)| Field { name, value }).collect(),
            body,
            broken,
        })
    }

    fn send_all(orders: Vec<Order>) -> Vec<Result<u16, String>> {
        let started: Vec<_> = orders.iter().map(start).collect();
        let waited = started
            .iter()
            .map(|future| wait(future.as_ref().map_err(Clone::clone)?));
        let answers: Vec<Result<IncomingResponse, String>> = waited.collect();
        answers
            .iter()
            .map(|answer| Ok(answer.as_ref().map_err(Clone::clone)?.status()))
            .collect()
    }

    fn poll(order: Order, what: Wait) -> Result<Vec<u32>, String> {
        let future = start(&order)?;
        let input = wasip2::cli::stdin::get_stdin();
        let at_input = input.subscribe();
        let beside = what.contains(Wait::STANDARD_INPUT).then_some(&at_input);
        if !what.contains(Wait::BODY) {
            return Ok(ready(&future.subscribe(), beside));
        }
        let response = wait(&future)?;
        let body = response.consume().map_err(|()| "taken twice")?;
        let stream = body.stream().map_err(|()| "taken twice")?;
        Ok(ready(&stream.subscribe(), beside))
    }

    fn hoard_fields(fields: u32, bytes: u32) -> Result<u32, String> {
        let list = Fields::new();
        let value = vec![b'x'; bytes as usize];
        for number in 0..fields {
            let appended = list.append(&format!("f{number}"), &value);
            appended.map_err(|error| format!("{error} after {number}"))?;
        }
        Ok(fields)
    }

    fn drop_parent() {
        let request = OutgoingRequest::new(Fields::new());
        if let Ok(body) = request.body() {
            let _stream = body.write();
            drop(body);
        }
    }

    fn abandon(order: Order) {
        let _started = start(&order);
        loop {
            std::hint::spin_loop();
        }
    }
}

/// Waits for either; which of the two were ready.
fn ready(first: &Pollable, second: Option<&Pollable>) -> Vec<u32> {
    let list: Vec<&Pollable> = std::iter::once(first).chain(second).collect();
    poll(&list)
}

fn start(order: &Order) -> Result<FutureIncomingResponse, String> {
    let fields = Fields::new();
    for field in &order.fields {
        let appended = fields.append(&field.name, &field.value);
        appended.map_err(|error| format!("field {}: {error}", field.name))?;
    }
    let request = OutgoingRequest::new(fields);
    let unset = |part: &'static str| move |()| format!("{part} refused");
    request
        .set_method(&method(&order.method))
        .map_err(unset("method"))?;
    let scheme = order.scheme.as_deref().map(scheme);
    request
        .set_scheme(scheme.as_ref())
        .map_err(unset("scheme"))?;
    request
        .set_authority(order.authority.as_deref())
        .map_err(unset("authority"))?;
    request
        .set_path_with_query(order.path.as_deref())
        .map_err(unset("path"))?;
    let body = match &order.body {
        Some(_) => Some(request.body().map_err(unset("body"))?),
        None => None,
    };
    let future =
        handle(request, Some(options(order))).map_err(|code| format!("handle: {code:?}"))?;
    if let (Some(body), Some(parts)) = (body, &order.body) {
        // The error, if any, is the answer's.
        let _ = write(body, parts, order.finish);
    }
    Ok(future)
}

fn options(order: &Order) -> RequestOptions {
    let options = RequestOptions::new();
    let nanos = |ms: Option<u64>| ms.map(|ms| ms.saturating_mul(1_000_000));
    let _ = options.set_connect_timeout(nanos(order.connect_timeout_ms));
    let _ = options.set_first_byte_timeout(nanos(order.first_byte_timeout_ms));
    let _ = options.set_between_bytes_timeout(nanos(order.between_bytes_timeout_ms));
    options
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "CONNECT" => Method::Connect,
        "OPTIONS" => Method::Options,
        "TRACE" => Method::Trace,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

fn scheme(name: &str) -> Scheme {
    match name {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    }
}

fn write(body: OutgoingBody, parts: &[Vec<u8>], finish: bool) -> Result<(), StreamError> {
    let stream = body.write().map_err(|()| StreamError::Closed)?;
    for part in parts {
        for chunk in part.chunks(4_096) {
            stream.blocking_write_and_flush(chunk)?;
        }
    }
    drop(stream);
    if finish {
        OutgoingBody::finish(body, None).map_err(|_| StreamError::Closed)?;
    }
    Ok(())
}

fn wait(future: &FutureIncomingResponse) -> Result<IncomingResponse, String> {
    future.subscribe().block();
    match future.get() {
        Some(Ok(answer)) => answer.map_err(|code| format!("{code:?}")),
        Some(Err(())) | None => Err("taken twice".to_owned()),
    }
}

fn read(response: &IncomingResponse) -> (Vec<u8>, Option<String>) {
    let mut bytes = Vec::new();
    let Ok(body) = response.consume() else {
        return (bytes, Some("taken twice".to_owned()));
    };
    let Ok(stream) = body.stream() else {
        return (bytes, Some("taken twice".to_owned()));
    };
    loop {
        match stream.blocking_read(65_536) {
            Ok(part) => bytes.extend_from_slice(&part),
            Err(StreamError::Closed) => return (bytes, None),
            Err(StreamError::LastOperationFailed(error)) => {
                return (bytes, Some(format!("{:?}", http_error_code(&error))));
            }
        }
    }
}
