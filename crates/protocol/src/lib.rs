//! MCP as data.
//!
//! This crate owns the JSON-RPC envelope, line framing, the methods and types of the five protocol
//! revisions, the table of what differs between them, and the table of calls in flight. It does no
//! I/O, reads no clock and starts no tasks; everything in it is tested as plain functions.
//!
//! Reading is tolerant: unknown fields, unknown content and numbers of any size survive, and a bad
//! entry spoils itself only. Writing is exact.

pub mod frame;

mod basics;
mod content;
mod entries;
mod envelope;
mod framing;
mod id;
mod in_flight;
mod json;
mod method;
mod peek;
mod record;
mod resources;
mod revision;
mod sampling;
mod tools;

pub use basics::*;
pub use content::*;
pub use entries::{Entries, Rejected};
pub use envelope::{ErrorObject, Line, Message, Outcome, parse_line, parse_message, shortened};
pub use framing::{DEFAULT_MAX_FRAME, FrameTooLong, LineFramer};
pub use id::RequestId;
pub use in_flight::{Closed, Ending, InFlight, Tally};
pub use json::{Json, MAX_DEPTH, Payload};
pub use method::{Method, Notification, Paged};
pub use record::Extra;
pub use resources::*;
pub use revision::{Era, Features, Revision, UnknownRevision};
pub use sampling::*;
pub use tools::*;
