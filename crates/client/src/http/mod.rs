//! MCP over HTTP: Streamable HTTP of both eras, the older HTTP+SSE, and WebSockets.
//!
//! Owns addresses, headers, sessions, event streams and the pace of reconnecting. It knows nothing
//! of the meaning of calls, and of authorization only its seam. A connection sees it as an
//! [`Outlet`](crate::connection::Outlet): messages go out one by one, and every call it carries
//! is brought to an end in the connection's own table.

mod content;
mod error;
mod events;
mod listening;
mod mirrors;
mod pace;
mod renewal;
mod send;
mod session;
mod sse;
mod streamable;
mod target;
mod unawaited;
mod websocket;

pub use error::HttpError;
pub(crate) use send::Wire;
pub(crate) use sse::{SseTransport, SseUnavailable};
pub(crate) use streamable::Streamable;
pub use target::HttpFlavor;
pub(crate) use target::HttpTarget;
pub(crate) use websocket::WebSocket;
