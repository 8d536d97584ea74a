//! Answers of HTTP: bodies, types and statuses.

use attache_protocol::{ErrorObject, RequestId, codes};
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;

use crate::incoming::refusal;
use crate::service::Answer;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
/// Keeps proxies from collecting events (S-SHM-26).
const NO_BUFFERING: (HeaderName, HeaderValue) = (
    HeaderName::from_static("x-accel-buffering"),
    HeaderValue::from_static("no"),
);

/// An answer without a body.
pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// An error that the face itself gives.
pub(super) fn refuse(status: StatusCode, error: &ErrorObject, id: Option<&RequestId>) -> Response {
    json(status, refusal(error, id, None))
}

/// A JSON body. The line end of the frame is not part of it.
pub(super) fn json(status: StatusCode, mut frame: Vec<u8>) -> Response {
    frame.truncate(frame.trim_ascii_end().len());
    let mut response = Response::new(Body::from(frame));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// A stream of events.
pub(super) fn events(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, EVENTS);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(NO_BUFFERING.0, NO_BUFFERING.1);
    response
}

/// The answer of a modern request, with the status its error asks for (S-SHM-10, S-MOD-04).
pub(super) fn modern(answer: Answer) -> Response {
    let status = match answer.error_code {
        Some(codes::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(
            codes::INVALID_PARAMS
            | codes::INVALID_REQUEST
            | codes::PARSE_ERROR
            | codes::HEADER_MISMATCH
            | codes::MISSING_CAPABILITY
            | codes::UNSUPPORTED_VERSION,
        ) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    };
    json(status, answer.frame)
}

/// Too much is going on.
pub(super) fn busy(id: Option<&RequestId>) -> Response {
    let error = ErrorObject::new(
        codes::INTERNAL_ERROR,
        "the server is busy; send the request again later",
    );
    refuse(StatusCode::SERVICE_UNAVAILABLE, &error, id)
}
