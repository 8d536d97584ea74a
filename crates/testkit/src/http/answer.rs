//! What the server does with a request: a head, a body, and how badly both are delivered.

use std::time::Duration;

use serde_json::Value;

/// How a request is answered.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(super) status: u16,
    pub(super) content_type: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Body,
    /// A pause before the first byte.
    pub(super) delay: Duration,
    /// How many bytes are written at once.
    pub(super) slice: Option<usize>,
    pub(super) ending: Ending,
}

/// What a body is made of.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// What the era's usual server would say.
    Usual,
    /// The given bytes; `"$id"` in them stands for the request's id, `$host` for where it was sent.
    Bytes(Vec<u8>),
    /// A stream of events.
    Events(Vec<Piece>),
    /// Bytes without end.
    Endless(Vec<u8>),
}

/// A piece of a stream of events.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// Text as it goes over the wire; `"$id"` in it stands for the request's id.
    Text(String),
    /// What the era's usual server would answer, as an event.
    Usual,
    /// A pause.
    Pause(Duration),
    /// A pause until a message of this method has come.
    Until(String),
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// In order; the connection may be used again.
    Orderly,
    /// The connection is closed after so many bytes.
    CutAfter(usize),
    /// The connection is reset after so many bytes.
    ResetAfter(usize),
    /// Not at all: everything written, the connection stays as it is.
    Hold,
    /// The beginning of a head, then nothing.
    Stall,
}

impl Answer {
    fn new(status: u16, content_type: Option<&str>, body: Body) -> Self {
        Self {
            status,
            content_type: content_type.map(str::to_owned),
            headers: Vec::new(),
            body,
            delay: Duration::ZERO,
            slice: None,
            ending: Ending::Orderly,
        }
    }

    /// What the usual server of the era would answer.
    pub fn usual() -> Self {
        Self::new(200, Some("application/json"), Body::Usual)
    }

    /// A status with an empty body.
    pub fn status(status: u16) -> Self {
        Self::new(status, None, Body::Bytes(Vec::new()))
    }

    /// A JSON body; the text `"$id"` in it stands for the request's id, `$host` for the host it was
    /// sent to.
    pub fn json(body: &Value) -> Self {
        let body = body.to_string().into_bytes();
        Self::new(200, Some("application/json"), Body::Bytes(body))
    }

    /// A body of any type.
    pub fn text(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, Some(content_type), Body::Bytes(body.into()))
    }

    /// A stream of events, to be filled.
    pub fn events() -> Self {
        Self::new(200, Some("text/event-stream"), Body::Events(Vec::new()))
    }

    /// A body of the given type that never ends.
    pub fn endless(content_type: &str, pattern: impl Into<Vec<u8>>) -> Self {
        Self::new(200, Some(content_type), Body::Endless(pattern.into()))
    }

    /// No answer: the connection is closed.
    pub fn close() -> Self {
        let mut answer = Self::status(200);
        answer.ending = Ending::CutAfter(0);
        answer
    }

    /// No answer: the connection is reset.
    pub fn reset() -> Self {
        let mut answer = Self::status(200);
        answer.ending = Ending::ResetAfter(0);
        answer
    }

    /// Not a byte, ever.
    pub fn silence() -> Self {
        Self::status(200).after(Duration::MAX)
    }

    /// The beginning of a head, and then nothing, ever.
    pub fn stalled() -> Self {
        let mut answer = Self::status(200);
        answer.ending = Ending::Stall;
        answer
    }

    /// With this status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// With this content type.
    #[must_use]
    pub fn content_type(mut self, content_type: &str) -> Self {
        self.content_type = Some(content_type.to_owned());
        self
    }

    /// Without a content type.
    #[must_use]
    pub fn no_content_type(mut self) -> Self {
        self.content_type = None;
        self
    }

    /// With a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// After a pause.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// So many bytes at a time.
    #[must_use]
    pub fn sliced(mut self, bytes: usize) -> Self {
        self.slice = Some(bytes.max(1));
        self
    }

    /// Only so many bytes, head included, then the connection is closed.
    #[must_use]
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.ending = Ending::CutAfter(bytes);
        self
    }

    /// Only so many bytes, head included, then the connection is reset.
    #[must_use]
    pub fn reset_after(mut self, bytes: usize) -> Self {
        self.ending = Ending::ResetAfter(bytes);
        self
    }

    /// All of it, but without an end.
    #[must_use]
    pub fn hold(mut self) -> Self {
        self.ending = Ending::Hold;
        self
    }

    /// Adds a message to a stream of events.
    #[must_use]
    pub fn message(self, message: &Value) -> Self {
        self.piece(Piece::Text(format!("data: {message}\n\n")))
    }

    /// Adds the usual answer to a stream of events.
    #[must_use]
    pub fn usual_message(self) -> Self {
        self.piece(Piece::Usual)
    }

    /// Adds text to a stream of events as it is.
    #[must_use]
    pub fn raw(self, text: &str) -> Self {
        self.piece(Piece::Text(text.to_owned()))
    }

    /// Adds a comment to a stream of events.
    #[must_use]
    pub fn comment(self, text: &str) -> Self {
        self.piece(Piece::Text(format!(": {text}\n\n")))
    }

    /// Adds a pause to a stream of events.
    #[must_use]
    pub fn pause(self, pause: Duration) -> Self {
        self.piece(Piece::Pause(pause))
    }

    /// Adds a pause to a stream of events that ends when a message of this method has come.
    #[must_use]
    pub fn until(self, method: &str) -> Self {
        self.piece(Piece::Until(method.to_owned()))
    }

    fn piece(mut self, piece: Piece) -> Self {
        if let Body::Events(pieces) = &mut self.body {
            pieces.push(piece);
        }
        self
    }
}
