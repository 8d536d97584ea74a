//! Real misbehaving parts for tests, the other side of the wire; and what the tests of several crates
//! need alike.
//!
//! This crate shares no code with the protocol and client crates, so that a
//! fault of theirs cannot hide in it. It is a dev-dependency only.
//!
//! | Module | What it gives |
//! |---|---|
//! | [`chaos`] | a scripted MCP server, started as a real process |
//! | [`http`] | a scripted HTTP server over real sockets, and a proxy for tunnels |
//! | [`model`] | a scripted language model over HTTP, in both wire formats |
//! | `tls` | a private root, and a door that speaks TLS and HTTP/2 before any plain server |
//! | [`proxy`] | a TCP proxy that slows, slices, cuts and resets |
//! | [`processes`] | who survived a test, and what a process uses |
//! | `terminal` | a program in a pseudo-terminal, its screen, and when it showed what |
//! | [`transcript`] | conversations as text files, and a server that plays them |
//! | [`schema`] | messages checked against the official schema of their revision |
//! | [`real_servers`] | what others wrote and `scripts/install-test-servers` installs, also behind a URL |
//! | [`real_model`] | a small language model that others made, behind a server that others wrote |
//! | [`conformance`] | runs of the official conformance suite, and their judgement |
//! | [`guard`] | waiting that ends: what hangs fails by its name |
//! | [`harness`] | the standard harness, for test binaries with a `main` of their own |
//! | [`binaries`] | paths of this workspace's binaries, built when stale |
//! | [`scratch`] | folders that vanish with the test |
//!
//! # A fault test
//!
//! Describe the server, start it with what is being tested, look at what it was
//! told. Here a raw pipe stands for the client (FAULTS 38: the server dies after
//! the side effect, and the effect is there exactly once):
//!
//! ```
//! # if cfg!(not(target_os = "linux")) { return Ok(()); }
//! use attache_testkit::chaos::{Action, Script, When};
//! use std::io::Write;
//! use std::process::Stdio;
//! use std::time::Duration;
//!
//! let launch = Script::legacy("2025-06-18")
//!     .on(When::tool("pay").nth(1), [Action::effect(), Action::exit(1)])
//!     .launch()?;
//! let mut server = launch.command().stdin(Stdio::piped()).spawn()?;
//! let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":
//!     {"name":"pay","arguments":{"key":"order-7"}}}"#;
//! writeln!(server.stdin.take().unwrap(), "{}", call.replace('\n', " "))?;
//! assert_eq!(server.wait()?.code(), Some(1));
//!
//! assert_eq!(launch.effects()?, ["order-7"]);
//! assert_eq!(launch.received_of("tools/call")?.len(), 1);
//! launch.tag().wait_until_gone(Duration::from_secs(5))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `launch.program`, `launch.args` and `launch.env` are plain values for a
//! client that starts the server itself.
//!
//! # Recipes
//!
//! | Fault | Rule |
//! |---|---|
//! | answer in two writes | `Script::writing(Writing::chunks(1))` |
//! | junk before the answer | `[Action::line("starting"), Action::usual()]` |
//! | invalid UTF-8 in an answer | `[Action::raw_bytes(*b"{\"id\":\"$id\",\xff}\n")]` |
//! | both result and error | `[Action::line(r#"{"jsonrpc":"2.0","id":"$id","result":{},"error":{}}"#)]` |
//! | wrong id, then the right one | `[Reply::text("a").with_id(ReplyId::Fixed(json!(99))).into(), Action::usual()]` |
//! | answer after the cancel | `[Action::wait_cancelled(), Action::text("late")]` |
//! | silent on the probe | `.on("server/discover", [Action::never()])` |
//! | probe answered after `initialize` | `.on("server/discover", [Action::wait_received("initialize"), Action::usual()])` |
//! | exits unless `initialize` is first | `.before_initialize(BeforeInitialize::Exit(1))` |
//! | 10 MB of standard error first | `[Emit::line("x".repeat(999)).times(10_000).on_stderr().into(), Action::usual()]` |
//! | progress for ever | `[Emit::message(&progress).forever().every(Duration::from_millis(5)).into()]` |
//! | half a frame, then dead | `[Action::raw("{\"jsonrpc\":"), Action::exit(0)]` |
//! | stops reading | `[Action::usual(), Action::stop_reading()]` |
//! | a server that asks | `[Action::ask("roots/list", Value::Null), Reply::client_answer().into()]` |
//! | a grandchild in a session of its own | `[Action::spawn(Grandchild { setsid: true, ..Default::default() }), Action::usual()]` |

pub mod binaries;
pub mod chaos;
pub mod conformance;
pub mod guard;
pub mod harness;
pub mod http;
pub mod model;
pub mod processes;
pub mod proxy;
mod random;
pub mod real_model;
pub mod real_servers;
pub mod schema;
pub mod scratch;
#[cfg(feature = "terminal")]
pub mod terminal;
#[cfg(feature = "tls")]
pub mod tls;
pub mod transcript;
