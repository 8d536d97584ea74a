//! Which tools may be called, and who says so.
//!
//! Owns the decision about a call ([`decide`]), the answers that are remembered ([`Answers`]) and the
//! pinned definitions of tools ([`Pins`]). Where the user has to be asked, it puts a question to the
//! [queue](crate::questions). It knows neither how a question is shown nor how a call is made.
//!
//! # The order of decisions
//!
//! 1. A `deny` pattern, of the server or of all servers: **deny**. Nothing below can lift it.
//! 2. The server's own patterns, `ask` before `allow`.
//! 3. The patterns for all servers, `ask` before `allow`.
//! 4. The tool claims to be read-only, and the server's `read_only`, or else that of all servers,
//!    is `allow`: **allow**. A claim is a hint and counts only where the user has said so (S19).
//!    It is never believed if the tool also claims to be destructive.
//! 5. The server's `default`, else that of all servers, else **ask**.
//!
//! Where the outcome is *ask*, a remembered answer for this tool, or else for its whole server,
//! stands in for the question: first one for this session, then one for always. If there is none, everything is asked but a call that
//! a person typed and that no rule says to ask about: that is its own consent. A refusal that is
//! remembered does not bind the person who typed the call; they are asked again. An *ask* that
//! no person can be asked is a refusal.

mod answers;
mod consent;
mod decide;
mod definition;
mod gate;
mod lock;
mod pins;

pub use answers::{Answers, RememberedAnswer};
pub use consent::{Answer, Remember, Scope};
pub use decide::{Breadth, CallOrigin, Hints, Reason, Verdict, decide};
pub(crate) use definition::definition_digest;
pub use definition::{DiffLine, whole};
pub use gate::{Gate, Permit, Refused, WantedCall};
pub use lock::Lock;
pub use pins::{Drift, PinState, PinnedServer, Pins};
