//! One request to the API, read: its path, its query, its body.

use attache::protocol::nests_too_deep;
use attache::server::http::Serving;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;

use crate::error::ApiError;
use crate::routes::Route;

/// A request that may be answered.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) path: Vec<(String, String)>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Keeps the connection from making room for others.
    pub(crate) serving: Option<Serving>,
}

impl Asked {
    /// A part of the path, decoded.
    pub(crate) fn part(&self, name: &str) -> &str {
        let found = self.path.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value)
    }

    /// A part of the path that is a number.
    pub(crate) fn number(&self, name: &str) -> Result<u64, ApiError> {
        let part = self.part(name);
        let number = part.parse();
        number.map_err(|_| ApiError::not_found(&format!("\"{part}\" is not a number")))
    }

    /// A value of the query; an empty one counts as none.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(key, _)| key == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|it| !it.is_empty())
    }

    /// A value of the query that is a number.
    pub(crate) fn query_number(&self, name: &str) -> Result<Option<u64>, ApiError> {
        let Some(text) = self.query(name) else {
            return Ok(None);
        };
        let number = text.parse();
        let complain = |_| ApiError::bad(&format!("{name} must be a whole number, not \"{text}\""));
        number.map(Some).map_err(complain)
    }

    /// The body. An empty one says the same as `{}`.
    pub(crate) fn body<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        let text: &[u8] = match self.body.trim_ascii() {
            [] => b"{}",
            text => text,
        };
        if nests_too_deep(text) {
            return Err(ApiError::bad("the body nests too deep"));
        }
        serde_json::from_slice(text).map_err(|error| {
            let message = error.to_string();
            let mut refused = ApiError::bad(&format!("the body cannot be read: {message}"));
            if message.starts_with("unknown field") || message.starts_with("unknown variant") {
                refused.kind = "unknown_field";
            }
            refused
        })
    }
}

/// Reads a query. Names that a route does not know are refused, so that a slip is not ignored.
pub(crate) fn query(text: Option<&str>, route: &Route) -> Result<Vec<(String, String)>, ApiError> {
    let pairs = url::form_urlencoded::parse(text.unwrap_or_default().as_bytes()).into_owned();
    let pairs: Vec<(String, String)> = pairs.collect();
    let is_known = |name: &str| route.query.iter().any(|known| known.name == name);
    if let Some((name, _)) = pairs.iter().find(|(name, _)| !is_known(name)) {
        let mut refused = ApiError::bad(&format!("the query \"{name}\" is not known here"));
        refused.kind = "unknown_field";
        return Err(refused);
    }
    Ok(pairs)
}

/// Browsers send other types across origins without asking first.
pub(crate) fn is_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let kind = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let kind = kind
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    match kind.trim().eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => Err(ApiError::console(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "Content-Type must be application/json",
        )),
    }
}
