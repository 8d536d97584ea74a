//! One connection to one MCP server.
//!
//! This crate owns negotiation, the life of a call, transports and child processes. It knows
//! nothing of other servers, configuration files or terminals; it neither prints nor exits.
//!
//! Begin with [`Server`]: it describes a server, and [`Server::connect`] gives a [`Client`] with
//! the verbs of MCP. Every call ends exactly once, in one of the ways [`Error`] and
//! [`attache_protocol::Ending`] name, and [`Client::statistics`] proves it.

mod client;
mod coalescing;
mod connect;
mod connection;
mod error;
mod events;
mod fanout;
pub mod frames;
mod handlers;
mod http;
mod keep_alive;
mod listen;
mod meaning;
mod negotiate;
mod question_clock;
mod request;
pub mod ring;
mod rounds;
mod server;
mod server_requests;
mod settings;
mod stderr;
mod tasks;
mod telling_line;
mod transport;
mod watch;

pub use attache_auth as authorization;
pub use attache_net::{Proxy, Unreachable, UnreachableKind};
pub use attache_process as process;
pub use attache_process::{ExitReason, Guardianship, SpawnError};
pub use attache_protocol as protocol;
pub use client::Client;
pub use connection::Statistics;
pub use error::{CloseReason, ConnectError, Error, Meaning, ServerError};
pub use events::{Event, Events};
pub use handlers::{ElicitationModes, Refusal, SamplingTools};
pub use http::{HttpError, HttpFlavor};
pub use request::{Request, ResponseFuture};
pub use server::Server;
pub use settings::{
    CancelForm, EraChoice, ErrorAlias, InitializedNotice, Limits, MissingInputSchema,
    ProgressTokenForm, Quirks, Settings, ShutdownForm, TasksExtension, Timeouts,
    UndeclaredRequests,
};
pub use stderr::{Stderr, StderrLines};
pub use tasks::{TaskHandle, TaskStart, TaskState};
pub use telling_line::{complaint, telling_line};
pub use transport::{HttpServer, Streams, Transport};
pub use watch::{Change, Follow, Followed, Watch};
