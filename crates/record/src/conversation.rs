//! A recording as requests with their answers, and with what was said in between.
//!
//! Requests and answers belong together by connection and id; over HTTP an answer may come on
//! another exchange, and is taken if only one open request has its id. What cannot be attributed is
//! counted, not guessed.

use std::collections::{BTreeSet, HashMap};

use attache_protocol::{
    Era, ErrorObject, Initialize, Json, Line, Message, Method as _, Outcome, RequestId, meta,
    nests_too_deep, parse_message,
};
use attache_schema::Value;

use crate::format::{Direction, Entry, Header};
use crate::reader::Recording;

/// A recording as requests with their answers.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The first line.
    pub header: Header,
    /// What the client asked, in order.
    pub exchanges: Vec<Exchange>,
    /// How many messages belong to no request, or cannot be read.
    pub unpaired: usize,
    /// Whether the recording has its end.
    pub is_whole: bool,
}

/// A request of the client, and what became of it.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The number of the request's line.
    pub seq: u64,
    /// The connection.
    pub conn: u32,
    /// When it was asked, in microseconds since the recording began.
    pub at_us: u64,
    /// The era of the request.
    pub era: Era,
    /// Its id.
    pub id: RequestId,
    /// Its method.
    pub method: String,
    /// Its params; an empty object if it has none.
    pub params: Value,
    /// What the server said and asked before it answered, and before the next request.
    pub steps: Vec<Step>,
    /// The answer, unless there was none.
    pub answer: Option<Answer>,
    /// The client took the request back.
    pub is_cancelled: bool,
    /// Something in the request or its answer stands in for a secret.
    pub is_redacted: bool,
}

/// Something the server said or asked.
#[derive(Clone, Debug)]
pub struct Step {
    /// When, in microseconds since the recording began.
    pub at_us: u64,
    /// What.
    pub kind: StepKind,
    /// Its method.
    pub method: String,
    /// Its params.
    pub params: Option<Json>,
}

/// What kind of step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// A notification while the request ran.
    Notification,
    /// A request of the server, which waited for the client's answer.
    Question,
    /// A notification after the answer.
    Later,
}

/// How a request was answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The number of its line.
    pub seq: u64,
    /// When, in microseconds since the recording began.
    pub at_us: u64,
    /// The result, or the error.
    pub outcome: Result<Json, ErrorObject>,
}

impl Exchange {
    /// What the request is about: the tool, the prompt, the resource.
    pub fn about(&self) -> Option<&str> {
        let member = match self.method.as_str() {
            "tools/call" | "prompts/get" => "name",
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
            _ => return None,
        };
        self.params.get(member)?.as_str()
    }

    /// The request in words: its method, what it is about, its arguments.
    pub fn what(&self) -> String {
        in_words(&self.method, &self.params)
    }

    /// How long the answer took, in microseconds.
    pub fn duration_us(&self) -> Option<u64> {
        Some(self.answer.as_ref()?.at_us.saturating_sub(self.at_us))
    }

    /// The result as a tree, if there is one that can be read.
    pub fn result(&self) -> Option<Value> {
        let result = self.answer.as_ref()?.outcome.as_ref().ok()?;
        Value::of_json(result).ok()
    }

    /// How it ended, in a word.
    pub fn ending(&self) -> &'static str {
        match &self.answer {
            Some(Answer {
                outcome: Err(_), ..
            }) => "error",
            Some(_) => match self.result() {
                Some(result) if result.get("isError") == Some(&Value::Bool(true)) => "tool failed",
                Some(result)
                    if result.get("resultType").and_then(Value::as_str)
                        == Some("input_required") =>
                {
                    "input required"
                }
                _ => "result",
            },
            None if self.is_cancelled => "cancelled",
            None => "unanswered",
        }
    }
}

impl Conversation {
    /// Finds what belongs together.
    pub fn of(recording: &Recording) -> Self {
        let mut pairing = Pairing::default();
        for entry in &recording.entries {
            pairing.take(entry);
        }
        Self {
            header: recording.header.clone(),
            exchanges: pairing.exchanges,
            unpaired: pairing.unpaired,
            is_whole: recording.footer.is_some(),
        }
    }
}

#[derive(Default)]
struct Pairing {
    exchanges: Vec<Exchange>,
    open: HashMap<(u32, RequestId), usize>,
    /// The same by connection, and by id: a recording may hold very many.
    open_on: BTreeSet<(u32, usize)>,
    open_by_id: HashMap<RequestId, BTreeSet<usize>>,
    last_on: HashMap<u32, usize>,
    /// Who asked for progress under which token.
    tokens: HashMap<(u32, String), usize>,
    unpaired: usize,
}

impl Pairing {
    fn take(&mut self, entry: &Entry) {
        if !matches!(entry.dir, Direction::C2s | Direction::S2c) {
            return;
        }
        let is_deep = entry
            .message()
            .is_some_and(|text| nests_too_deep(text.as_bytes()));
        match entry.line() {
            Some(Line::Message(message)) if !is_deep => self.message(entry, message),
            Some(Line::Batch(items)) if !is_deep => {
                for item in items {
                    match parse_message(item.get()) {
                        Line::Message(message) => self.message(entry, message),
                        _ => self.unpaired += 1,
                    }
                }
            }
            _ => self.unpaired += 1,
        }
    }

    fn message(&mut self, entry: &Entry, message: Message<'_>) {
        match (entry.dir, message) {
            (Direction::C2s, Message::Request { id, method, params }) => {
                let params = params.and_then(|raw| Value::of_json(&raw.into()).ok());
                let params = params.unwrap_or_else(|| Value::Object(Default::default()));
                self.request(entry, id, method.into_owned(), params);
            }
            (
                Direction::S2c,
                Message::Response {
                    id: Some(id),
                    outcome,
                },
            ) => {
                self.answer(entry, &id, outcome);
            }
            (Direction::S2c, Message::Request { method, params, .. }) => {
                self.step(entry, StepKind::Question, &method, params.map(Json::from));
            }
            (Direction::S2c, Message::Notification { method, params }) => {
                self.step(
                    entry,
                    StepKind::Notification,
                    &method,
                    params.map(Json::from),
                );
            }
            (Direction::C2s, Message::Notification { method, params }) => {
                if method == "notifications/cancelled" {
                    let id = params.and_then(|raw| cancelled_id(raw.get()));
                    let found = id.and_then(|id| self.find_open(entry.conn, &id));
                    if let Some(index) = found {
                        self.exchanges[index].is_cancelled = true;
                    }
                }
            }
            // An answer to a question of the server.
            (Direction::C2s, Message::Response { .. }) => {}
            _ => self.unpaired += 1,
        }
    }

    fn request(&mut self, entry: &Entry, id: RequestId, method: String, params: Value) {
        let index = self.exchanges.len();
        let meta = params.get("_meta");
        let is_modern = meta.is_some_and(|it| it.get(meta::PROTOCOL_VERSION).is_some());
        if let Some(token) = meta.and_then(|it| it.get(meta::PROGRESS_TOKEN)) {
            self.tokens.insert((entry.conn, token.to_string()), index);
        }
        let former = self.open.insert((entry.conn, id.clone()), index);
        if let Some(former) = former {
            // An id that is used twice: the newer request gets the answer.
            self.close(former);
            self.open.insert((entry.conn, id.clone()), index);
        }
        self.open_on.insert((entry.conn, index));
        self.open_by_id.entry(id.clone()).or_default().insert(index);
        self.last_on.insert(entry.conn, index);
        self.exchanges.push(Exchange {
            seq: entry.seq,
            conn: entry.conn,
            at_us: entry.t_us,
            era: match is_modern && method != Initialize::NAME {
                true => Era::Modern,
                false => Era::Legacy,
            },
            id,
            method,
            params,
            steps: Vec::new(),
            answer: None,
            is_cancelled: false,
            is_redacted: !entry.redacted.is_empty(),
        });
    }

    fn answer(&mut self, entry: &Entry, id: &RequestId, outcome: Outcome<'_>) {
        let outcome = match outcome {
            Outcome::Result(text) => Json::parse(text).map_err(|error| {
                ErrorObject::new(attache_protocol::codes::INTERNAL_ERROR, error.to_string())
            }),
            Outcome::Error(error) => Err(error),
            Outcome::Malformed(_) => {
                self.unpaired += 1;
                return;
            }
        };
        let Some(index) = self.find_open(entry.conn, id) else {
            self.unpaired += 1;
            return;
        };
        let exchange = &mut self.exchanges[index];
        exchange.is_redacted |= !entry.redacted.is_empty();
        exchange.answer = Some(Answer {
            seq: entry.seq,
            at_us: entry.t_us,
            outcome,
        });
        self.close(index);
    }

    /// A request is not open any more.
    fn close(&mut self, index: usize) {
        let exchange = &self.exchanges[index];
        let key = (exchange.conn, exchange.id.clone());
        self.open_on.remove(&(exchange.conn, index));
        if let Some(of_id) = self.open_by_id.get_mut(&exchange.id) {
            of_id.remove(&index);
        }
        self.open.remove(&key);
    }

    /// The open request of that id: on its own connection, or the only one on any.
    fn find_open(&self, conn: u32, id: &RequestId) -> Option<usize> {
        if let Some(index) = self.open.get(&(conn, id.clone())) {
            return Some(*index);
        }
        let mut others = self.open_by_id.get(id)?.iter();
        match (others.next(), others.next()) {
            (Some(index), None) => Some(*index),
            _ => None,
        }
    }

    /// Finds the request that a message of the server belongs to: the one it names, or the newest
    /// that is open on the connection, or the last one that was answered there.
    fn step(&mut self, entry: &Entry, kind: StepKind, method: &str, params: Option<Json>) {
        let read = params
            .as_ref()
            .and_then(|params| Value::of_json(params).ok());
        let token = read.as_ref().and_then(|it| it.get(meta::PROGRESS_TOKEN));
        let by_token = token.and_then(|it| self.tokens.get(&(entry.conn, it.to_string())).copied());
        // What a client listens to names the request that listens (S-SUBM-04).
        let listens = || {
            let id = read.as_ref()?.get("_meta")?.get(meta::SUBSCRIPTION_ID)?;
            let id = serde_json::from_str(&id.to_string()).ok()?;
            self.open.get(&(entry.conn, id)).copied()
        };
        let conn = entry.conn;
        let newest_open = || {
            let mut on_conn = self.open_on.range((conn, 0)..=(conn, usize::MAX));
            on_conn.next_back().map(|(_, index)| *index)
        };
        let last = || self.last_on.get(&conn).copied();
        let found = by_token.or_else(listens).or_else(newest_open).or_else(last);
        let Some(index) = found else {
            self.unpaired += 1;
            return;
        };
        let exchange = &mut self.exchanges[index];
        let kind = match (kind, &exchange.answer) {
            (StepKind::Notification, Some(_)) => StepKind::Later,
            (StepKind::Question, Some(_)) => {
                self.unpaired += 1;
                return;
            }
            (kind, _) => kind,
        };
        exchange.is_redacted |= !entry.redacted.is_empty();
        exchange.steps.push(Step {
            at_us: entry.t_us,
            kind,
            method: method.to_owned(),
            params,
        });
    }
}

/// A request in words: its method, what it is about, its arguments.
pub(crate) fn in_words(method: &str, params: &Value) -> String {
    const LONGEST: usize = 160;
    let about = ["name", "uri"]
        .iter()
        .find_map(|member| params.get(member)?.as_str());
    let arguments = params.get("arguments").map(Value::to_string);
    let mut text = method.to_owned();
    for part in [about.map(str::to_owned), arguments].into_iter().flatten() {
        text.push(' ');
        text.push_str(&part);
    }
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The id that a cancellation names.
pub(crate) fn cancelled_id(params: &str) -> Option<RequestId> {
    #[derive(serde::Deserialize)]
    struct Cancelled {
        #[serde(rename = "requestId")]
        id: RequestId,
    }
    serde_json::from_str::<Cancelled>(params)
        .ok()
        .map(|it| it.id)
}
