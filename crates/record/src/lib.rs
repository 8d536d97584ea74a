//! MCP conversations as files.
//!
//! Owns the format of recordings, writing them off the hot path, reading them when they are cut or
//! hostile, and what can be done with one: pairing requests with answers, comparing two of them,
//! and serving one in place of its server. It also owns the tap, which stands between a client and
//! a server and passes every byte on before it looks at it. Knows nothing of configurations,
//! processes and terminals.
//!
//! # The format
//!
//! A recording (`.mcprec`, or `.mcprec.gz` for the same compressed) is a text of JSON lines:
//!
//! ```text
//! {"format":1,"tool":"attache 0.1.0","started_ms":1790000000000,"server":"time","target":"mcp-server-time","transport":"stdio","redaction":{"policy":"none"}}
//! {"seq":1,"t_us":812,"dir":"c2s","conn":1,"bytes":152,"raw":{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}}
//! {"seq":2,"t_us":2961,"dir":"stderr","conn":1,"bytes":8,"text":"starting"}
//! {"seq":3,"t_us":9120,"dir":"s2c","conn":1,"bytes":97,"raw":{"jsonrpc":"2.0","id":0,"result":{}}}
//! {"seq":4,"t_us":9300,"dir":"state","conn":1,"state":"exited","text":"exited with code 0"}
//! {"footer":{"ended_ms":1790000000010,"frames":4,"bytes":257,"lost":{"frames":0,"bytes":0},"redacted":0,"revisions":["2025-06-18"]}}
//! ```
//!
//! `dir` is `c2s`, `s2c`, `stderr`, `state` or `http`. A message that is one line of JSON stands as
//! `raw`, byte for byte; anything else as `text`, and what is not UTF-8 as `base64`. Over stdio a
//! line feed follows each message unless it says `"unended":true`, so the streams can be put
//! together again. A message that was too long to keep says `"shortened":true` and keeps its
//! beginning. `http` lines hold `method`, `path` and `headers` of a request, or `status` and
//! `headers` of an answer; credentials in headers are never written. A line with `redacted` lists
//! the places, as JSON pointers, where something stands in for a secret.
//!
//! A file may hold several recordings, one behind the other, each with its header; a recorder adds to
//! a file that holds some. A recording without a footer was cut, and is readable up to there. What the recorder had to leave
//! out is counted where it is missing, as a `state` line `lost`, and in the footer.

mod conversation;
mod cut;
mod diff;
mod difference;
mod error;
mod file;
mod follow;
mod format;
mod matching;
pub mod mock;
mod normalise;
mod queue;
mod reader;
mod recorder;
mod redaction;
pub mod tap;

/// For the fuzzer, which has no other way to what cuts streams into messages.
#[doc(hidden)]
pub mod fuzzing {
    use bytes::Bytes;

    use crate::cut::{Cutter, Framing};

    /// A piece: its content, its length, whether it is shortened, whether it has no end.
    pub type Piece = (Bytes, u64, bool, bool);

    /// The pieces of a stream that came in these chunks.
    pub fn pieces<'a>(framing: Framing, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Piece> {
        let mut cutter = Cutter::new(framing);
        let mut found = Vec::new();
        for chunk in chunks {
            cutter.push(&Bytes::copy_from_slice(chunk), &mut found);
        }
        found.extend(cutter.finish());
        let parts = |it: crate::cut::Piece| (it.content, it.length, it.shortened, it.unended);
        found.into_iter().map(parts).collect()
    }
}

pub use conversation::{Answer, Conversation, Exchange, Step, StepKind};
pub use diff::{
    CallChange, Change, Diff, Slower, Thresholds, Timing, Took, answer_differences, diff,
};
pub use difference::{Difference, DifferenceKind, differences};
pub use error::RecordError;
pub use format::{Body, Direction, Entry, Footer, Header, HttpHead, Lost, Redaction, Transport};
pub use matching::{Round, Signature, VOLATILE_META};
pub use normalise::Normaliser;
pub use reader::{Completeness, Reader, Recording};
pub use recorder::{Existing, Framing, Limits, Recorder, Summary, Tape};
pub use redaction::{Policy, SecretRules, redact_json};
