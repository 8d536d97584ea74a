//! One HTTP request and the head of its answer: credentials, refusals, and the truth about whether
//! the request can have arrived.

use std::sync::atomic::{AtomicBool, Ordering};

use attache_auth::{AuthorizationError, Challenge, RequestLine, Verdict};
use attache_net::{Route, Unreachable, innermost};
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use reqwest::{Request, Response};
use url::Url;

use super::error::HttpError;
use super::target::HttpTarget;
use crate::connection::Failure;
use crate::error::CloseReason;
use crate::frames::ConnectionFrames;

/// How often one request is repeated because of its credentials.
const MAX_CHALLENGES: u32 = 5;

/// What every request of one connection needs.
pub(crate) struct Wire {
    client: reqwest::Client,
    target: HttpTarget,
    route: Route,
    pub(crate) url: Url,
    /// The user's headers.
    own: HeaderMap,
    frames: ConnectionFrames,
}

/// What a request is.
pub(crate) struct HttpRequest {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
}

impl HttpRequest {
    /// A message.
    pub(crate) fn post(mut headers: HeaderMap, body: Bytes) -> Self {
        const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
        const JSON: HeaderValue = HeaderValue::from_static("application/json");
        headers.insert(ACCEPT, BOTH);
        headers.insert(CONTENT_TYPE, JSON);
        Self {
            method: Method::POST,
            headers,
            body: Some(body),
        }
    }

    /// The wish to listen (C-SHL-16).
    pub(crate) fn listen(mut headers: HeaderMap) -> Self {
        const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
        headers.insert(ACCEPT, EVENTS);
        Self {
            method: Method::GET,
            headers,
            body: None,
        }
    }

    /// The end of a session (C-SHL-28).
    pub(crate) fn delete(headers: HeaderMap) -> Self {
        Self {
            method: Method::DELETE,
            headers,
            body: None,
        }
    }
}

impl Wire {
    pub(crate) fn new(target: &HttpTarget, frames: ConnectionFrames) -> Result<Self, String> {
        Ok(Self {
            client: target.client()?,
            route: target.route()?,
            url: target.url()?.clone(),
            own: target.headers()?.clone(),
            target: target.clone(),
            frames,
        })
    }

    /// The frames of the connection.
    pub(crate) fn frames(&self) -> &ConnectionFrames {
        &self.frames
    }

    pub(crate) fn target(&self) -> &HttpTarget {
        &self.target
    }

    /// Sends a request and waits for the head of the answer. `departed` is set before a byte of it
    /// can leave. A refusal for lack of credentials was certainly not executed, so the repeat with
    /// better ones is safe.
    pub(crate) async fn send(
        &self,
        url: &Url,
        outgoing: &HttpRequest,
        departed: &AtomicBool,
    ) -> Result<Response, Failure> {
        let line = RequestLine {
            method: &outgoing.method,
            url,
        };
        for attempt in 0.. {
            let request = self.request(line, outgoing).await?;
            let sent = request.headers().get(AUTHORIZATION).cloned();
            let (method, body) = (&outgoing.method, outgoing.body.as_ref());
            let exchange = self.frames.http_sent(method, request.headers(), body);
            departed.store(true, Ordering::Release);
            let response = self.client.execute(request).await;
            let response = response.map_err(|error| self.lost(&error))?;
            if let Some(exchange) = exchange {
                self.frames.http_received(exchange, method, &response);
            }
            if response.status() == StatusCode::PROXY_AUTHENTICATION_REQUIRED
                && let Some(unreachable) = Unreachable::for_want_of_credentials(&self.route)
            {
                return Err(Failure::NotSent(CloseReason::Unreachable(Box::new(
                    unreachable,
                ))));
            }
            if !matches!(response.status().as_u16(), 401 | 403) {
                if let Some(authorizer) = &self.target.authorizer {
                    authorizer.answered(line, response.headers());
                }
                return redirected(response);
            }
            if !self
                .challenged(line, sent.as_ref(), &response, attempt)
                .await?
            {
                return Ok(response);
            }
            departed.store(false, Ordering::Release);
        }
        Err(Failure::Protocol(
            "the server was asked without end".to_owned(),
        ))
    }

    async fn request(
        &self,
        line: RequestLine<'_>,
        outgoing: &HttpRequest,
    ) -> Result<Request, Failure> {
        let mut request = Request::new(outgoing.method.clone(), line.url.clone());
        let headers = request.headers_mut();
        headers.clone_from(&outgoing.headers);
        for (name, value) in &self.own {
            // What the protocol says about a header counts for more.
            if !headers.contains_key(name) {
                headers.insert(name.clone(), value.clone());
            }
        }
        if let Some(authorizer) = &self.target.authorizer {
            let credentials = authorizer.headers(line).await.map_err(refused)?;
            for (name, mut value) in credentials {
                value.set_sensitive(true);
                headers.insert(name, value);
            }
        }
        if headers.contains_key(AUTHORIZATION) && !self.target.may_carry_credentials(line.url) {
            return Err(unencrypted(line.url));
        }
        *request.body_mut() = outgoing.body.clone().map(Into::into);
        Ok(request)
    }

    /// What to do about a 401 or 403: true to repeat the request, false to report it as it is.
    async fn challenged(
        &self,
        line: RequestLine<'_>,
        sent: Option<&HeaderValue>,
        response: &Response,
        attempt: u32,
    ) -> Result<bool, Failure> {
        let Some(authorizer) = &self.target.authorizer else {
            return match response.status().as_u16() {
                401 => Err(refused(AuthorizationError::Required {
                    problem: without_credentials(response.headers()),
                })),
                _ => Ok(false),
            };
        };
        if !self.target.may_carry_credentials(line.url) {
            // The user need not log in for a token that will not be sent.
            return Err(unencrypted(line.url));
        }
        if attempt == MAX_CHALLENGES {
            return Err(refused(AuthorizationError::Required {
                problem: format!(
                    "it refused {MAX_CHALLENGES} times what this client got to show; log in again"
                ),
            }));
        }
        let challenge = Challenge {
            request: line,
            sent,
            status: response.status(),
            headers: response.headers(),
            attempt,
        };
        // A person may have to log in, and takes the time it takes (P6).
        let _asking = self.target.asked.begin();
        let verdict = authorizer.challenged(challenge).await.map_err(refused)?;
        Ok(verdict == Verdict::Retry)
    }

    /// A request that got no answer: not sent if there never was a connection, unknown otherwise.
    fn lost(&self, error: &reqwest::Error) -> Failure {
        if error.is_connect() || error.is_builder() {
            let unreachable = Unreachable::from_error(error, &self.route);
            Failure::NotSent(CloseReason::Unreachable(Box::new(unreachable)))
        } else {
            Failure::OutcomeUnknown(CloseReason::ReadFailed(innermost(error)))
        }
    }
}

fn refused(error: AuthorizationError) -> Failure {
    Failure::Http(error.into())
}

fn unencrypted(url: &Url) -> Failure {
    refused(AuthorizationError::Unencrypted {
        server: url.origin().ascii_serialization(),
    })
}

/// The remedy for a 401 that nobody can answer.
fn without_credentials(headers: &HeaderMap) -> String {
    let scheme = headers
        .get(WWW_AUTHENTICATE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_ascii_whitespace().next())
        .unwrap_or("no scheme");
    format!(
        "it answered 401 and names {scheme}; configure a login for it or an Authorization header"
    )
}

/// A redirect that was not followed is an answer of its own kind.
fn redirected(response: Response) -> Result<Response, Failure> {
    let status = response.status();
    let location = response.headers().get(LOCATION);
    match location.filter(|_| status.is_redirection()) {
        None => Ok(response),
        Some(location) => Err(Failure::Http(HttpError::Redirected {
            status: status.as_u16(),
            location: String::from_utf8_lossy(location.as_bytes()).into_owned(),
        })),
    }
}
