//! An MCP client that speaks to every server, of any revision, and never hangs, leaks, or lies
//! about what happened.
//!
//! # A first call
//!
//! [`Server`] describes a server; [`Server::connect`] starts it, finds out which of the five
//! revisions it speaks, and gives a [`Client`] with the verbs of MCP.
//!
//! ```no_run
//! use attache::{Server, json};
//!
//! # async fn run() -> Result<(), attache::Error> {
//! let fetch = Server::stdio("uvx", ["mcp-server-fetch"]).connect().await?;
//! let tools = fetch.list_tools().await?;
//! let tool = tools.by_name("fetch").expect("listed");
//! println!("{}: {}", tool.name, tool.schema());
//!
//! let answer = fetch
//!     .call("fetch", json!({"url": "https://example.org"}))
//!     .await?;
//! println!("{}", answer.text());
//! fetch.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # No process stays behind
//!
//! Call [`guardian::enable`](process::guardian::enable) first thing in `main`, before any thread
//! or runtime exists. Servers then run under a small helper that takes their whole process tree
//! down when this process closes the connection, exits, or is killed outright. Without it servers
//! run in a process group of their own, which is a weaker promise; the
//! [`process`] module says how weak.
//!
//! ```no_run
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     attache::process::guardian::enable();
//!     tokio::runtime::Runtime::new()?.block_on(run())
//! }
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> { Ok(()) }
//! ```
//!
//! # How a call ends
//!
//! Every call ends exactly once. Awaiting it gives the result, or an [`Error`] that tells the rest
//! apart:
//!
//! | Error | What happened | Repeat it? |
//! |---|---|---|
//! | [`Error::Server`] | the server answered with an error | as its [`Meaning`] says |
//! | [`Error::TimedOut`] | no answer in time; the server was told to stop | if it is harmless |
//! | [`Error::Cancelled`] | you cancelled it; the server was told to stop | |
//! | [`Error::NotSent`] | the connection was lost before it was written | yes |
//! | [`Error::OutcomeUnknown`] | written, then the connection was lost | only if harmless |
//! | [`Error::Http`] | the server refused at the level of HTTP | as [`HttpError`] says |
//! | [`Error::Protocol`] | the answer breaks the protocol | no |
//!
//! A tool that ran and failed is a result with `is_error`, not an error;
//! [`CallToolResult::into_result`](protocol::CallToolResult::into_result) turns it into one.
//! Dropping a call cancels it. [`Client::statistics`] shows that the books balance.
//!
//! ```no_run
//! # async fn run(server: attache::Client) {
//! use attache::{Error, json};
//! use std::time::Duration;
//!
//! let call = server
//!     .call("deploy", json!({"to": "staging"}))
//!     .timeout(Duration::from_secs(5))
//!     .on_progress(|note| println!("{} of {:?}", note.progress, note.total));
//! match call.await {
//!     Ok(answer) => println!("{}", answer.text()),
//!     Err(Error::OutcomeUnknown { reason, .. }) => println!("look before repeating: {reason}"),
//!     Err(error) => println!("{error}"),
//! }
//! # }
//! ```
//!
//! # What a server may ask
//!
//! Servers can ask for folders to work in, for the use of a model, or ask the user something.
//! Supply handlers and the matching capabilities are declared; the same handlers serve both eras
//! of the protocol.
//!
//! ```no_run
//! # async fn run() -> Result<(), attache::Error> {
//! use attache::protocol::{ElicitResult, Root};
//! use attache::{ElicitationModes, Server};
//!
//! let server = Server::stdio("node", ["server.js"])
//!     .roots([Root::new("file:///home/me/project")])
//!     .on_elicitation(ElicitationModes::Form, |question| async move {
//!         println!("{}", question.message);
//!         ElicitResult::decline()
//!     })
//!     .connect()
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Nothing is lost on the way
//!
//! Unknown fields, unknown content and numbers of any size survive: records keep what they have
//! no name for, and [`Request::raw`] gives a result as it was sent. One malformed tool in a list
//! costs that tool only; it is kept under
//! [`Entries::rejected`](protocol::Entries::rejected).
//!
//! # Many servers as one
//!
//! A [`Host`] offers the same verbs over many servers: started on first use, restarted after a
//! crash, with names, policy and caches. [`host`] has everything that belongs to it.
//!
//! ```no_run
//! use attache::host::policy::CallOrigin;
//! use attache::{Host, Server, json};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let host = Host::builder()
//!     .server("fetch", Server::stdio("uvx", ["mcp-server-fetch"]))
//!     .server("notes", Server::http("https://example.org/mcp"))
//!     .start();
//! let answer = host
//!     .call("fetch/fetch", json!({"url": "https://example.org"}))
//!     .origin(CallOrigin::Person)
//!     .await?;
//! println!("{}", answer.text());
//! host.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! What most programs need is at the root. [`client`] has the rest of one connection, [`protocol`]
//! the types of MCP, [`host`] everything about many servers, [`process`] and [`authorization`] what
//! their names say.
//!
//! # Writing a server
//!
//! With the feature `server` the kit for servers is at hand as `attache::server`.
#![cfg_attr(
    feature = "server",
    doc = "[`server`] begins with a server in one page; it names its own kind of server \
           [`server::Server`]."
)]

pub use attache_client as client;
pub use attache_client::authorization::{self, Secret};
pub use attache_client::process;
pub use attache_client::protocol::{self, Revision};
pub use attache_client::{
    Change, Client, CloseReason, ConnectError, ElicitationModes, EraChoice, Error, Event, Events,
    HttpError, HttpFlavor, HttpServer, Limits, Meaning, Proxy, Quirks, Refusal, Request,
    ResponseFuture, SamplingTools, Server, ServerError, Settings, Statistics, TaskHandle,
    TaskStart, Timeouts, Transport, Watch,
};
pub use attache_host as host;
pub use attache_host::Host;
#[cfg(feature = "server")]
pub use attache_server as server;
pub use serde_json::json;

/// The programs of the front page, compiled as a reader would.
#[cfg(all(doctest, feature = "server"))]
#[doc = include_str!("../../../README.md")]
struct FrontPage;
