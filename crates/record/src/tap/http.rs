//! A server behind a URL, passed on.
//!
//! A client reaches the server under this tap's origin instead of the server's own; paths, queries,
//! headers and bodies are the same. Events are passed on as they come. What changes is what has to:
//! `Host` is the server's, headers about one connection stay on it, and answers are asked for
//! uncompressed, so that they can be read.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use attache_net::{Proxy, tls};
use attache_server::http::{HttpSettings, Plain, admit, serve_router};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, LOCATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version};
use axum::response::Response;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use reqwest::redirect::Policy;
use tokio::net::TcpListener;
use url::Url;

use super::Lane;
use crate::cut::Framing;
use crate::format::{Direction, HttpHead};
use crate::recorder::Tape;

/// The longest body of a request: as long as the longest message.
const LONGEST_BODY: usize = attache_protocol::DEFAULT_MAX_FRAME;
/// How long reaching the server may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(30);
/// Headers that are about one connection, besides those that `Connection` names.
const HOP_BY_HOP: [HeaderName; 8] = [
    CONNECTION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("proxy-authenticate"),
];

/// A tap before a server behind a URL.
pub struct HttpTap {
    target: Url,
    client: reqwest::Client,
    tape: Option<Tape>,
    /// The origin under which clients come.
    origin: String,
    settings: HttpSettings,
    exchanges: AtomicU32,
}

impl HttpTap {
    /// A tap before `target`, which clients reach at `origin`, such as `http://127.0.0.1:8080`.
    pub fn new(
        target: Url,
        origin: String,
        proxy: &Proxy,
        tape: Option<Tape>,
    ) -> Result<Self, String> {
        let route = proxy.route_to(&target)?;
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls::settings(&route, None)?)
            .redirect(Policy::none())
            .referer(false)
            .no_gzip()
            .connect_timeout(CONNECT_PATIENCE)
            .tcp_nodelay(true);
        let client = proxy.apply(builder)?.build();
        Ok(Self {
            target,
            client: client.map_err(|error| format!("HTTP cannot be set up: {error}"))?,
            tape,
            origin,
            settings: HttpSettings::default(),
            exchanges: AtomicU32::new(0),
        })
    }

    /// Passes requests on until `shutdown` ends, then lets open ones end.
    pub async fn serve(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let settings = self.settings.clone();
        let router = Router::new().fallback(receive).with_state(Arc::new(self));
        serve_router(listener, router, &settings, Plain, shutdown).await;
    }

    async fn pass(&self, request: Request) -> Response {
        // The server is told its own name, so whether this one was addressed has to be seen to
        // here, or a page could reach a server on this machine through a name of its own (S1).
        if let Err(refusal) = admit(&self.settings, request.headers()) {
            return *refusal;
        }
        let (parts, body) = request.into_parts();
        let Ok(body) = to_bytes(body, LONGEST_BODY).await else {
            let text = format!("the body is longer than {LONGEST_BODY} bytes, or broke off");
            return refusal(StatusCode::PAYLOAD_TOO_LARGE, &text);
        };
        let path = parts.uri.path_and_query().map_or("/", |it| it.as_str());
        let mut url = self.target.clone();
        url.set_path(parts.uri.path());
        url.set_query(parts.uri.query());
        let conn = self
            .exchanges
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_add(1);
        let mut headers = end_to_end(&parts.headers);
        headers.remove(HOST);
        headers.remove(CONTENT_LENGTH);
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let answer = self
            .client
            .request(parts.method.clone(), url)
            .headers(headers)
            .body(body.clone())
            .send();
        self.record_request(conn, parts.method.as_str(), path, &parts.headers, body);
        match answer.await {
            Ok(answer) => self.answer(conn, answer),
            Err(error) => {
                if let Some(tape) = &self.tape {
                    tape.state(conn, "unreachable", Some(attache_net::innermost(&error)));
                }
                let reason = attache_net::innermost(&error);
                let text = format!(
                    "the tap cannot reach {}: {reason}",
                    self.target.origin().ascii_serialization()
                );
                refusal(StatusCode::BAD_GATEWAY, &text)
            }
        }
    }

    fn answer(&self, conn: u32, answer: reqwest::Response) -> Response {
        let answer: axum::http::Response<reqwest::Body> = answer.into();
        let (mut parts, body) = answer.into_parts();
        parts.headers = end_to_end(&parts.headers);
        parts.version = Version::HTTP_11;
        self.stay_here(&mut parts.headers);
        let kind = parts
            .headers
            .get(CONTENT_TYPE)
            .and_then(|it| it.to_str().ok());
        let is_stream = kind.is_some_and(|it| it.starts_with("text/event-stream"));
        let lane = self.tape.clone().map(|tape| {
            tape.http(
                conn,
                HttpHead {
                    status: Some(parts.status.as_u16()),
                    headers: shown(&parts.headers),
                    ..HttpHead::default()
                },
            );
            let framing = match is_stream {
                true => Framing::Events,
                false => Framing::Whole,
            };
            Lane::new(tape, conn, Direction::S2c, framing)
        });
        Response::from_parts(parts, Body::new(Passing { body, lane }))
    }

    /// A redirect to another path of the server leads to the same path here.
    fn stay_here(&self, headers: &mut HeaderMap) {
        let Some(place) = headers.get(LOCATION).and_then(|it| it.to_str().ok()) else {
            return;
        };
        let theirs = self.target.origin().ascii_serialization();
        if let Some(path) = place.strip_prefix(&theirs)
            && let Ok(here) = HeaderValue::from_str(&format!("{}{path}", self.origin))
        {
            headers.insert(LOCATION, here);
        }
    }

    fn record_request(
        &self,
        conn: u32,
        method: &str,
        path: &str,
        headers: &HeaderMap,
        body: Bytes,
    ) {
        let Some(tape) = &self.tape else { return };
        tape.http(
            conn,
            HttpHead {
                method: Some(method.to_owned()),
                path: Some(path.to_owned()),
                headers: shown(headers),
                ..HttpHead::default()
            },
        );
        if !body.is_empty() {
            tape.bytes(conn, Direction::C2s, Framing::Whole, body);
            tape.end(conn, Direction::C2s);
        }
    }
}

async fn receive(State(tap): State<Arc<HttpTap>>, request: Request) -> Response {
    tap.pass(request).await
}

fn refusal(status: StatusCode, text: &str) -> Response {
    let mut response = Response::new(Body::from(text.to_owned()));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}

/// The headers that are not about one connection only.
fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let mut kept = HeaderMap::new();
    for (name, value) in headers {
        if !HOP_BY_HOP.contains(name) && !named.iter().any(|it| it == name.as_str()) {
            kept.append(name.clone(), value.clone());
        }
    }
    kept
}

/// Headers as they are recorded. Of one that is repeated the values are joined.
fn shown(headers: &HeaderMap) -> std::collections::BTreeMap<String, String> {
    let mut shown = std::collections::BTreeMap::<String, String>::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        shown
            .entry(name.as_str().to_owned())
            .and_modify(|all| {
                all.push_str(", ");
                all.push_str(&value);
            })
            .or_insert_with(|| value.into_owned());
    }
    shown
}

/// The body of an answer on its way. Dropping it, because the client left, drops the server's.
struct Passing {
    body: reqwest::Body,
    lane: Option<Lane>,
}

impl HttpBody for Passing {
    type Data = Bytes;
    type Error = reqwest::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, reqwest::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let (Poll::Ready(Some(Ok(frame))), Some(lane)) = (&polled, &self.lane)
            && let Some(bytes) = frame.data_ref()
        {
            lane.passed(bytes.clone());
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        if let Some(lane) = &self.lane {
            lane.ended();
        }
    }
}
