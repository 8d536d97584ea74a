//! The one seam through which authorization talks to the network.
//!
//! Owns what an OAuth request and its answer look like; knows nothing of their meaning. Everything
//! about addresses, redirects, time and size is for the implementation, [`HttpFetch`] in the
//! product.
//!
//! [`HttpFetch`]: super::HttpFetch

use attache_net::quoted;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use serde_json::Value;
use url::Url;

use super::BoxFuture;
use super::address::shown;
use super::error::AuthorizationError;

/// The longest answer that is read. The largest metadata documents in the wild have some 10 kB.
pub const MAX_BODY: usize = 256 * 1024;

/// Makes a request and reads the whole, bounded answer.
pub trait Fetch: Send + Sync {
    /// Any answer is a success, whatever its status.
    fn fetch(
        &self,
        request: FetchRequest,
    ) -> BoxFuture<'_, Result<FetchResponse, AuthorizationError>>;
}

/// A request to an authorization server, or for metadata.
#[derive(Clone)]
pub struct FetchRequest {
    /// The method.
    pub method: Method,
    /// Where to.
    pub url: Url,
    /// Headers beside those of the body.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What is sent.
    pub body: FetchBody,
}

/// The body of a [`FetchRequest`]. It may hold secrets, so it is not `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub enum FetchBody {
    /// Nothing.
    Empty,
    /// A form, `application/x-www-form-urlencoded`.
    Form(Vec<(&'static str, String)>),
    /// A JSON document.
    Json(String),
}

impl FetchRequest {
    /// A request for a metadata document.
    pub fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: vec![(
                http::header::ACCEPT,
                HeaderValue::from_static("application/json"),
            )],
            body: FetchBody::Empty,
        }
    }

    /// A request that sends something. It never follows a redirect: what it sends is meant for
    /// this address alone (S8).
    pub fn post(url: Url, body: FetchBody) -> Self {
        Self {
            method: Method::POST,
            body,
            ..Self::get(url)
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The media type and the bytes of the body.
    pub fn encoded_body(&self) -> Option<(HeaderValue, String)> {
        match &self.body {
            FetchBody::Empty => None,
            FetchBody::Form(fields) => {
                let mut form = url::form_urlencoded::Serializer::new(String::new());
                form.extend_pairs(fields);
                let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
                Some((form_type, form.finish()))
            }
            FetchBody::Json(text) => {
                Some((HeaderValue::from_static("application/json"), text.clone()))
            }
        }
    }
}

/// An answer, read to its end.
#[derive(Clone)]
pub struct FetchResponse {
    /// The address that answered, after redirects.
    pub url: Url,
    /// The status.
    pub status: StatusCode,
    /// All headers.
    pub headers: HeaderMap,
    /// At most [`MAX_BODY`] bytes.
    pub body: Bytes,
}

impl FetchResponse {
    /// The body as a JSON object.
    pub(crate) fn json_object(&self) -> Result<Value, AuthorizationError> {
        let problem = match serde_json::from_slice::<Value>(&self.body) {
            Ok(value) if value.is_object() => return Ok(value),
            Ok(_) => "the answer is no JSON object".to_owned(),
            Err(error) => format!("the answer is no JSON: {}", quoted(&error.to_string())),
        };
        Err(AuthorizationError::Fetch {
            address: shown(&self.url),
            problem,
        })
    }
}

/// Fields of JSON from outside. A field of the wrong type counts as absent, so that it spoils
/// itself only.
pub(crate) trait Fields {
    fn text(&self, name: &str) -> Option<&str>;
    fn texts(&self, name: &str) -> Option<Vec<String>>;
    fn flag(&self, name: &str) -> bool;
}

impl Fields for Value {
    fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    fn texts(&self, name: &str) -> Option<Vec<String>> {
        let entries = self.get(name)?.as_array()?;
        let texts = entries.iter().filter_map(Value::as_str).map(str::to_owned);
        Some(texts.collect())
    }

    fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or_default()
    }
}
