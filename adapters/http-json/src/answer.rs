//! An answer from its future to JSON, read as it comes and under a bound.

use serde::de::IgnoredAny;
use wasip2::http::types::{
    FutureIncomingResponse, IncomingBody, IncomingResponse, http_error_code,
};
use wasip2::io::streams::StreamError;

use crate::bindings::exports::bindery::http_json::http::{Failure, Header, NotJson, Response};
use crate::failure;

/// Most bytes of a body that are kept, whatever the host would allow.
const BODY_BYTES_MAX: usize = 8 << 20;
/// Bytes asked of the stream at once.
const READ_BYTES: u64 = 64 << 10;
/// Characters shown of a body that is no JSON.
const BEGINNING_CHARS: usize = 512;

/// Waits for the answer and reads it.
pub(crate) fn read(future: &FutureIncomingResponse) -> Result<Response, Failure> {
    future.subscribe().block();
    let answer = match future.get() {
        Some(Ok(answer)) => answer.map_err(failure::of_code)?,
        Some(Err(())) | None => {
            return Err(Failure::Connection("the answer was taken twice".to_owned()));
        }
    };
    let status = answer.status();
    let headers = headers(&answer);
    let is_redirect = (300..400).contains(&status) && status != 304;
    let body = match is_redirect {
        true => Vec::new(),
        false => body(&answer)?,
    };
    Ok(Response {
        body_json: json(status, &headers, body)?,
        status,
        headers,
    })
}

fn headers(answer: &IncomingResponse) -> Vec<Header> {
    let entries = answer.headers().entries().into_iter();
    entries
        .map(|(name, value)| Header {
            name,
            value: String::from_utf8_lossy(&value).into_owned(),
        })
        .collect()
}

fn body(answer: &IncomingResponse) -> Result<Vec<u8>, Failure> {
    let taken = || Failure::Connection("the body was taken twice".to_owned());
    let body: IncomingBody = answer.consume().map_err(|()| taken())?;
    let stream = body.stream().map_err(|()| taken())?;
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(READ_BYTES) {
            Ok(part) => bytes.extend_from_slice(&part),
            Err(StreamError::Closed) => return Ok(bytes),
            Err(StreamError::LastOperationFailed(error)) => {
                return Err(match http_error_code(&error) {
                    Some(code) => failure::of_code(code),
                    None => Failure::Connection("the body broke off".to_owned()),
                });
            }
        }
        if bytes.len() > BODY_BYTES_MAX {
            return Err(Failure::TooLarge(u64::try_from(BODY_BYTES_MAX).ok()));
        }
    }
}

fn json(status: u16, headers: &[Header], body: Vec<u8>) -> Result<Option<String>, Failure> {
    if body.is_empty() {
        return Ok(None);
    }
    let fault = match String::from_utf8(body) {
        Ok(text) => match serde_json::from_str::<IgnoredAny>(&text) {
            Ok(IgnoredAny) => return Ok(Some(text)),
            Err(error) => (error.to_string(), text),
        },
        Err(error) => {
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            (format!("it is no UTF-8: {}", error.utf8_error()), text)
        }
    };
    let content_type = headers.iter().find(|header| header.name == "content-type");
    Err(Failure::BadJson(NotJson {
        status,
        content_type: content_type.map(|header| header.value.clone()),
        fault: fault.0,
        beginning: fault.1.chars().take(BEGINNING_CHARS).collect(),
    }))
}
