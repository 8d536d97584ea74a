//! The lines of a recording, and how each is written and read.
//!
//! Knows nothing of files, time and queues.

use std::collections::BTreeMap;

use attache_protocol::{Json, Line, parse_line};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The version of the format.
pub(crate) const FORMAT: u64 = 1;

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format: 1.
    pub format: u64,
    /// What wrote it.
    pub tool: String,
    /// When it began, in milliseconds since 1970.
    pub started_ms: u64,
    /// The server's name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// How the server was reached, with secrets hidden.
    #[serde(default)]
    pub target: String,
    /// How messages travelled.
    pub transport: Transport,
    /// What was done about secrets.
    #[serde(default)]
    pub redaction: Redaction,
}

impl Header {
    /// The header of a recording that begins now.
    pub fn new(transport: Transport, target: impl Into<String>, redaction: Redaction) -> Self {
        Self {
            format: FORMAT,
            tool: concat!("attache ", env!("CARGO_PKG_VERSION")).to_owned(),
            started_ms: now_ms(),
            server: None,
            target: target.into(),
            transport,
            redaction,
        }
    }
}

/// How messages travelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Lines over pipes.
    Stdio,
    /// HTTP.
    Http,
    /// Several servers, each in its own way.
    Mixed,
}

/// What was done about secrets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "lowercase")]
pub enum Redaction {
    /// Messages are as they were.
    #[default]
    None,
    /// What looks like a secret was replaced, and is marked.
    Secrets,
}

/// Which way something went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the client to the server.
    C2s,
    /// From the server to the client.
    S2c,
    /// The server's standard error.
    Stderr,
    /// Something happened to the connection or to the recording.
    State,
    /// The head of a request or an answer of HTTP.
    Http,
}

impl Direction {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::C2s => "c2s",
            Self::S2c => "s2c",
            Self::Stderr => "stderr",
            Self::State => "state",
            Self::Http => "http",
        }
    }
}

/// One line between header and footer.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its number: higher than that of the line before.
    pub seq: u64,
    /// When, in microseconds since the recording began.
    pub t_us: u64,
    /// Which way it went.
    pub dir: Direction,
    /// The connection, or the exchange of HTTP.
    pub conn: u32,
    /// How long it was.
    pub bytes: u64,
    /// What it was.
    pub body: Body,
    /// It was too long to be kept, and this is its beginning.
    pub shortened: bool,
    /// No line end followed it.
    pub unended: bool,
    /// Where something stands in for a secret.
    pub redacted: Vec<String>,
}

/// What a line holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A message, as it was written.
    Raw(Json),
    /// Text that is no message in one line.
    Text(String),
    /// What is not UTF-8.
    Binary(Vec<u8>),
    /// The head of a request or an answer.
    Http(HttpHead),
    /// Something happened: a word, and more about it.
    State(String, Option<String>),
    /// So much is missing here.
    Lost(Lost),
}

/// The head of a request (`method`, `path`) or of an answer (`status`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpHead {
    /// The method of a request.
    pub method: Option<String>,
    /// The path of a request, with its query.
    pub path: Option<String>,
    /// The status of an answer.
    pub status: Option<u16>,
    /// The headers, credentials replaced.
    pub headers: BTreeMap<String, String>,
}

/// What the recorder had to leave out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// How many pieces.
    pub frames: u64,
    /// How many bytes.
    pub bytes: u64,
}

impl Lost {
    /// Counts more. Numbers out of a file may be of any size.
    pub fn add(&mut self, more: Self) {
        self.frames = self.frames.saturating_add(more.frames);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

/// The last line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footer {
    /// When it ended, in milliseconds since 1970.
    pub ended_ms: u64,
    /// How many lines there are between header and footer.
    pub frames: u64,
    /// How many bytes they were on their way.
    pub bytes: u64,
    /// What is missing.
    #[serde(default)]
    pub lost: Lost,
    /// In how many places something stands in for a secret.
    #[serde(default)]
    pub redacted: u64,
    /// The revisions of the protocol that were spoken.
    #[serde(default)]
    pub revisions: Vec<String>,
}

impl Entry {
    /// The message as text, if this is one that was kept whole.
    pub fn message(&self) -> Option<&str> {
        match (&self.body, self.dir) {
            (_, Direction::Stderr | Direction::State | Direction::Http) => None,
            (Body::Raw(json), _) => Some(json.as_str()),
            (Body::Text(text), _) if !self.shortened => Some(text.trim()),
            _ => None,
        }
    }

    /// The message or messages, sorted.
    pub fn line(&self) -> Option<Line<'_>> {
        self.message().map(|text| parse_line(text.as_bytes()))
    }

    /// Appends the line under a number, with its end.
    pub(crate) fn write(&self, seq: u64, out: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        let mut line = Written {
            seq,
            t_us: self.t_us,
            dir: self.dir,
            conn: self.conn,
            bytes: self.bytes,
            unended: self.unended,
            shortened: self.shortened,
            redacted: &self.redacted,
            ..Written::default()
        };
        let encoded;
        match &self.body {
            Body::Raw(json) => line.raw = Some(json),
            Body::Text(text) => line.text = Some(text),
            Body::Binary(bytes) => {
                encoded = STANDARD.encode(bytes);
                line.base64 = Some(&encoded);
            }
            Body::Http(head) => {
                line.method = head.method.as_deref();
                line.path = head.path.as_deref();
                line.status = head.status;
                line.headers = Some(&head.headers);
            }
            Body::State(word, text) => {
                line.state = Some(word);
                line.text = text.as_deref();
            }
            Body::Lost(lost) => {
                line.state = Some("lost");
                line.lost = Some(lost);
            }
        }
        serde_json::to_writer(&mut *out, &line)?;
        out.push(b'\n');
        Ok(())
    }
}

/// What a line between header and footer is found to be.
pub(crate) enum Parsed {
    Entry(Box<Entry>),
    Footer(Footer),
    /// Another recording was added here.
    Header,
}

/// Reads one line. The error says what is wrong with it.
pub(crate) fn parse(line: &str) -> Result<Parsed, String> {
    let found: Found = serde_json::from_str(line).map_err(|error| {
        let text = error.to_string();
        let reason = text.split(" at line ").next().unwrap_or_default();
        format!("it is no line of a recording: {reason}")
    })?;
    if let Some(footer) = found.footer {
        return Ok(Parsed::Footer(footer));
    }
    if found.format.is_some() {
        return Ok(Parsed::Header);
    }
    let missing = |name: &str| format!("\"{name}\" is missing");
    let dir = found.dir.ok_or_else(|| missing("dir"))?;
    let body = match dir {
        Direction::Http => Body::Http(HttpHead {
            method: found.method,
            path: found.path,
            status: found.status,
            headers: found.headers.unwrap_or_default(),
        }),
        Direction::State => match (found.state, found.lost) {
            (_, Some(lost)) => Body::Lost(lost),
            (Some(word), None) => Body::State(word, found.text),
            (None, None) => return Err(missing("state")),
        },
        Direction::C2s | Direction::S2c | Direction::Stderr => {
            match (found.raw, found.text, found.base64) {
                (Some(raw), None, None) => Body::Raw(raw.into()),
                (None, Some(text), None) => Body::Text(text),
                (None, None, Some(encoded)) => Body::Binary(
                    STANDARD
                        .decode(encoded)
                        .map_err(|error| format!("\"base64\" cannot be decoded: {error}"))?,
                ),
                (None, None, None) => return Err("it holds no message".to_owned()),
                _ => return Err("it holds more than one message".to_owned()),
            }
        }
    };
    Ok(Parsed::Entry(Box::new(Entry {
        seq: found.seq.ok_or_else(|| missing("seq"))?,
        t_us: found.t_us.ok_or_else(|| missing("t_us"))?,
        dir,
        conn: found.conn,
        bytes: found.bytes,
        body,
        shortened: found.shortened,
        unended: found.unended,
        redacted: found.redacted,
    })))
}

/// A line as it is written.
#[derive(Serialize)]
struct Written<'a> {
    seq: u64,
    t_us: u64,
    dir: Direction,
    conn: u32,
    #[serde(skip_serializing_if = "is_zero")]
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<&'a Lost>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shortened: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    unended: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    redacted: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<&'a Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<&'a str>,
}

impl Default for Written<'_> {
    fn default() -> Self {
        Self {
            seq: 0,
            t_us: 0,
            dir: Direction::State,
            conn: 0,
            bytes: 0,
            method: None,
            path: None,
            status: None,
            headers: None,
            state: None,
            lost: None,
            shortened: false,
            unended: false,
            redacted: &[],
            raw: None,
            text: None,
            base64: None,
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A line as it may be found. Members that are not known are skipped: a later version may add some.
#[derive(Deserialize)]
struct Found<'a> {
    #[serde(default)]
    format: Option<u64>,
    #[serde(default)]
    footer: Option<Footer>,
    #[serde(default)]
    seq: Option<u64>,
    #[serde(default)]
    t_us: Option<u64>,
    #[serde(default)]
    dir: Option<Direction>,
    #[serde(default)]
    conn: u32,
    #[serde(default)]
    bytes: u64,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    status: Option<u16>,
    #[serde(default)]
    headers: Option<BTreeMap<String, String>>,
    #[serde(default)]
    state: Option<String>,
    #[serde(default)]
    lost: Option<Lost>,
    #[serde(default)]
    shortened: bool,
    #[serde(default)]
    unended: bool,
    #[serde(default)]
    redacted: Vec<String>,
    #[serde(default, borrow)]
    raw: Option<&'a RawValue>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    base64: Option<String>,
}

/// The last line as it is written.
#[derive(Serialize)]
pub(crate) struct WrittenFooter<'a> {
    pub(crate) footer: &'a Footer,
}

/// The time in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
