//! What a connection is made of, and why one cannot go on.

use std::fmt;

use reqwest::header::HeaderMap;

use crate::http::HttpWire;
use crate::sse::SseWire;
use crate::stdio::StdioWire;

/// Something that happened on a wire.
pub(crate) enum WireEvent {
    /// A line of stdout, the JSON body of a response, or an event of a stream.
    Message { bytes: Vec<u8>, post: Option<usize> },
    /// A response began.
    Head {
        post: usize,
        status: u16,
        headers: Box<HeaderMap>,
    },
    /// A body that is no JSON.
    OtherBody { post: usize, bytes: Vec<u8> },
    /// A response ended, or never came.
    PostEnded { post: usize, failed: Option<String> },
    /// The server's stdout, or its stream of events, has ended.
    Closed,
}

/// Why a check could not go on: the server's doing, and so a finding.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// It could not be started or reached at all.
    NotStarted(String),
    /// It is gone.
    Ended(String),
    /// It does not answer in time.
    Silent(String),
    /// It refused to be opened.
    Refused(String),
    /// It wants a login first.
    LoginNeeded(String),
    /// It did not answer its opening request in time, which a busy machine may be the reason for.
    SlowStart(String),
    /// No time is left for any check.
    TimeIsUp,
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(text)
            | Self::Ended(text)
            | Self::Silent(text)
            | Self::SlowStart(text) => formatter.write_str(text),
            Self::LoginNeeded(text) => write!(formatter, "the server wants a login: {text}"),
            Self::Refused(text) => write!(formatter, "the opening was refused: {text}"),
            Self::TimeIsUp => formatter.write_str("the time for all checks is up"),
        }
    }
}

/// The way that messages travel.
pub(super) enum Wire {
    Stdio(Option<StdioWire>),
    Http(HttpWire),
    Sse(SseWire),
}
