//! MCP over a WebSocket: one message in each frame, as a stream of lines to the rest of this crate.
//!
//! The socket is opened by the HTTP client, so that the proxy, TLS, headers and credentials are what
//! they are for every other address.

use std::io;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes, BytesMut};
use futures_core::Stream as _;
use futures_sink::Sink as _;
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use reqwest::{Response, Upgraded};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_tungstenite::tungstenite::error::Error as SocketError;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig};

use super::error::HttpError;
use super::send::{HttpRequest, Wire};
use crate::connection::Failure;
use crate::error::ConnectError;

/// The name of this protocol among those that a WebSocket can carry.
const SUBPROTOCOL: &str = "mcp";

/// An open socket, read and written as lines.
pub(crate) struct WebSocket {
    socket: WebSocketStream<Upgraded>,
    /// What was received and not read yet.
    received: Bytes,
    /// The beginning of a line that is not complete.
    unsent: BytesMut,
}

impl WebSocket {
    /// Asks for a socket in which no message is longer than `max_message`.
    pub(crate) async fn open(wire: &Wire, max_message: usize) -> Result<Self, ConnectError> {
        let key = generate_key();
        let departed = AtomicBool::new(false);
        let sent = wire.send(&wire.url, &opening(&key)?, &departed).await;
        let response = sent.map_err(unopened)?;
        check(&response, &key)?;
        let upgraded = response.upgrade().await.map_err(|error| {
            no_socket(format!("the connection could not be taken over: {error}"))
        })?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(max_message))
            .max_frame_size(Some(max_message));
        let socket = WebSocketStream::from_raw_socket(upgraded, Role::Client, Some(config));
        Ok(Self {
            socket: socket.await,
            received: Bytes::new(),
            unsent: BytesMut::new(),
        })
    }

    /// Hands every complete line to the socket, one message each.
    fn poll_send_lines(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(end) = memchr::memchr(b'\n', &self.unsent) {
            ready!(Pin::new(&mut self.socket).poll_ready(context)).map_err(broken)?;
            let line = self.unsent.split_to(end).freeze();
            self.unsent.advance(1);
            let line = Utf8Bytes::try_from(line).map_err(io::Error::other)?;
            let sent = Pin::new(&mut self.socket).start_send(Message::Text(line));
            sent.map_err(broken)?;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for WebSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.received.is_empty() {
            let message = ready!(Pin::new(&mut self.socket).poll_next(context));
            match message.transpose().map_err(broken)? {
                Some(Message::Text(text)) => self.received = line_of(text.into()),
                Some(Message::Binary(bytes)) => self.received = line_of(bytes),
                // The socket answers pings by itself.
                Some(_) => {}
                None => return Poll::Ready(Ok(())),
            }
        }
        let length = self.received.len().min(buffer.remaining());
        buffer.put_slice(&self.received.split_to(length));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for WebSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // What was taken before has to leave first, so that no more than one write waits here.
        ready!(self.poll_send_lines(context))?;
        self.unsent.extend_from_slice(bytes);
        match self.poll_send_lines(context) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Ready(Ok(bytes.len())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send_lines(context))?;
        Pin::new(&mut self.socket)
            .poll_flush(context)
            .map_err(broken)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send_lines(context))?;
        Pin::new(&mut self.socket)
            .poll_close(context)
            .map_err(broken)
    }
}

/// The request that opens a socket.
fn opening(key: &str) -> Result<HttpRequest, ConnectError> {
    let key = HeaderValue::from_str(key).map_err(|error| no_socket(error.to_string()))?;
    let headers = [
        (CONNECTION, HeaderValue::from_static("Upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13")),
        (
            SEC_WEBSOCKET_PROTOCOL,
            HeaderValue::from_static(SUBPROTOCOL),
        ),
        (SEC_WEBSOCKET_KEY, key),
    ];
    Ok(HttpRequest {
        method: Method::GET,
        headers: HeaderMap::from_iter(headers),
        body: None,
    })
}

/// Whether the answer opens the socket that was asked for.
fn check(response: &Response, key: &str) -> Result<(), ConnectError> {
    let header = |name| response.headers().get(name).map(HeaderValue::as_bytes);
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(ConnectError::Http(HttpError::Status {
            status: response.status().as_u16(),
            text: "it was asked for a WebSocket".to_owned(),
        }));
    }
    if header(SEC_WEBSOCKET_ACCEPT) != Some(derive_accept_key(key.as_bytes()).as_bytes()) {
        return Err(no_socket("the answer belongs to no WebSocket".to_owned()));
    }
    match header(SEC_WEBSOCKET_PROTOCOL) {
        // Servers that speak one protocol only may leave it unnamed.
        None => Ok(()),
        Some(name) if name == SUBPROTOCOL.as_bytes() => Ok(()),
        Some(name) => Err(no_socket(format!(
            "the WebSocket is for {:?}, not for \"{SUBPROTOCOL}\"",
            String::from_utf8_lossy(name)
        ))),
    }
}

/// A message as a line. A line break in JSON that is not escaped is a space.
fn line_of(message: Bytes) -> Bytes {
    let mut line = BytesMut::from(message);
    for byte in line.iter_mut() {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    line.extend_from_slice(b"\n");
    line.freeze()
}

fn unopened(failure: Failure) -> ConnectError {
    match failure {
        Failure::Http(error) => ConnectError::Http(error),
        Failure::NotSent(reason) | Failure::OutcomeUnknown(reason) => ConnectError::Lost(reason),
        _ => no_socket("no answer".to_owned()),
    }
}

fn no_socket(problem: String) -> ConnectError {
    ConnectError::NoServer {
        answers: vec![format!("GET: {problem}")],
    }
}

fn broken(error: SocketError) -> io::Error {
    match error {
        SocketError::Io(error) => error,
        other => io::Error::other(other),
    }
}
