//! MCP as data.
//!
//! This crate owns the JSON-RPC envelope, line framing, the methods and types of the five protocol
//! revisions, the table of what differs between them, and the table of calls in flight. It does no
//! I/O, reads no clock and starts no tasks; everything in it is tested as plain functions.
//!
//! Reading is tolerant: unknown fields, unknown content and numbers of any size survive, and a bad
//! entry spoils itself only. Writing is exact.

pub mod codes;
pub mod frame;
pub mod meta;

mod basics;
mod capabilities;
mod completion;
mod content;
mod dialect;
mod elicitation;
mod entries;
mod envelope;
mod form;
mod formats;
mod framing;
mod id;
mod in_flight;
mod json;
mod lifecycle;
mod logging;
mod method;
mod mirrored;
mod peek;
mod plain_result;
mod progress;
mod prompts;
mod record;
mod resources;
mod revision;
mod roots;
mod rounds;
mod sampling;
mod scan;
mod sse;
mod subscriptions;
mod task_extension;
mod tasks;
mod tools;
mod unescape;

pub use basics::*;
pub use capabilities::*;
pub use completion::*;
pub use content::*;
pub use dialect::*;
pub use elicitation::*;
pub use entries::{Entries, Rejected};
pub use envelope::{ErrorObject, Line, Message, Outcome, parse_line, parse_message, shortened};
pub use form::*;
pub use framing::{DEFAULT_MAX_FRAME, FrameTooLong, LineFramer};
pub use id::RequestId;
pub use in_flight::{Closed, Ending, InFlight, Tally};
pub use json::{Json, MAX_DEPTH, Payload, nests_too_deep};
pub use lifecycle::*;
pub use logging::*;
pub use method::{Method, Notification, Paged};
pub use mirrored::{InvalidAnnotation, MirroredParams, header_text, mirrored_name};
pub use progress::*;
pub use prompts::*;
pub use record::Extra;
pub use resources::*;
pub use revision::{Era, Features, Revision, UnknownRevision};
pub use roots::*;
pub use rounds::*;
pub use sampling::*;
pub use sse::{EventTooLong, SseEvent, SseParser};
pub use subscriptions::*;
pub use task_extension::*;
pub use tasks::*;
pub use tools::*;
