//! JSON over HTTP to a granted endpoint, with every way to fail as a case of its own.
//!
//! Rule: nothing is repaired and nothing is followed. URL, headers and body go out as the
//! caller wrote them or not at all; a body is read under a bound and must be JSON.

mod answer;
mod failure;
mod message;
mod url;

/// What the component exports.
#[allow(missing_docs)]
mod bindings {
    wit_bindgen::generate!({ world: "http-json", path: "wit" });
    use super::HttpJson;
    export!(HttpJson);
}

use bindings::exports::bindery::http_json::http::{Failure, Guest, Header, Response};
use serde::de::IgnoredAny;
use wasip2::http::types::Method;

struct HttpJson;

impl Guest for HttpJson {
    fn get_json(url: String, headers: Option<Vec<Header>>) -> Result<Response, Failure> {
        let url = url::Url::parse(&url)?;
        let future = message::send(Method::Get, &url, &headers.unwrap_or_default(), None)?;
        answer::read(&future)
    }

    fn post_json(
        url: String,
        body_json: String,
        headers: Option<Vec<Header>>,
    ) -> Result<Response, Failure> {
        let url = url::Url::parse(&url)?;
        serde_json::from_str::<IgnoredAny>(&body_json)
            .map_err(|error| Failure::BadBody(error.to_string()))?;
        let body = Some(body_json.as_bytes());
        let future = message::send(Method::Post, &url, &headers.unwrap_or_default(), body)?;
        answer::read(&future)
    }
}
