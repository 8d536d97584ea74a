//! A scripted HTTP server that misbehaves on request, over real sockets.
//!
//! Speaks HTTP/1.1 by hand, so that it can break it: stalled heads, bodies in slices, connections
//! that are cut or reset after any byte, wrong content types, storms of statuses. It counts
//! connections and keeps every request. Refuses to know what a client should make of it.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! use attache_testkit::http::{Answer, HttpScript, On};
//!
//! let server = HttpScript::legacy("2025-11-25")
//!     .on(On::rpc("tools/call").nth(1), Answer::status(503))
//!     .start()
//!     .await?;
//! // A client connects to server.url() …
//! assert_eq!(server.count_of("tools/call"), 0);
//! # Ok::<_, std::io::Error>(()) })?;
//! # Ok::<_, std::io::Error>(())
//! ```
//!
//! # Recipes
//!
//! | Fault | Answer |
//! |---|---|
//! | no answer at all | `Answer::silence()` |
//! | head that never ends | `Answer::stalled()` |
//! | wrong content type | `Answer::usual().content_type("text/html")` |
//! | one byte at a time | `Answer::usual().sliced(1)` |
//! | cut in the middle | `Answer::usual().cut_after(40)` |
//! | reset before any answer | `Answer::reset()` |
//! | a stream without an answer | `Answer::events().comment("hello")` |
//! | a stream that stays open | `Answer::events().message(&note).hold()` |
//! | slow | `Answer::usual().after(Duration::from_millis(300))` |

mod answer;
mod request;
mod script;
mod server;
mod tunnel;
mod usual;

pub use answer::Answer;
pub use request::HttpRequest;
pub use script::{HttpScript, On};
pub use server::HttpServer;
pub use tunnel::{Tunnel, TunnelProxy};
