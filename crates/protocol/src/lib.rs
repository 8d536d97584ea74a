//! MCP as data.
//!
//! This crate owns the JSON-RPC envelope, line framing, the methods and types of the five protocol
//! revisions, the table of what differs between them, and the table of calls in flight. It does no
//! I/O, reads no clock and starts no tasks; everything in it is tested as plain functions.
//!
//! Reading is tolerant: unknown fields, unknown content and numbers of any size survive, and a bad
//! entry spoils itself only. Writing is exact.

mod dialect;
mod ending;
mod in_flight;
mod mcp;
mod revision;
pub mod safe_text;
mod wire;

pub use dialect::*;
pub use ending::Ending;
pub use in_flight::{Closed, InFlight, Tally};
pub use mcp::basics::*;
pub use mcp::capabilities::*;
pub use mcp::completion::*;
pub use mcp::content::*;
pub use mcp::elicitation::*;
pub use mcp::entries::{Entries, Rejected};
pub use mcp::lifecycle::*;
pub use mcp::logging::*;
pub use mcp::method::{Method, Notification, Paged};
pub use mcp::progress::*;
pub use mcp::prompts::*;
pub use mcp::resources::*;
pub use mcp::roots::*;
pub use mcp::rounds::*;
pub use mcp::sampling::*;
pub use mcp::subscriptions::*;
pub use mcp::task_extension::*;
pub use mcp::tasks::*;
pub use mcp::tools::*;
pub use revision::{Era, Features, Revision, UnknownRevision};
pub use wire::envelope::{
    ErrorObject, Line, Message, Outcome, parse_line, parse_message, shortened,
};
pub use wire::framing::{DEFAULT_MAX_FRAME, FrameTooLong, LineFramer};
pub use wire::id::RequestId;
pub use wire::json::{Json, MAX_DEPTH, Payload, nests_too_deep};
pub use wire::mirrored::{InvalidAnnotation, MirroredParams, header_text, mirrored_name};
pub use wire::record::Extra;
pub use wire::sse::{EventTooLong, SseEvent, SseParser};
pub use wire::{codes, frame, meta};
