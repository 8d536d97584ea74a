//! The thread of a call log: masks what calls hand over, and has it written.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use attache_client::protocol::{CallTool, CallToolResult, Json, Method as _, Payload};
use attache_client::{CloseReason, ConnectError, Error as ClientError};
use memchr::memchr2;
use tokio::sync::oneshot;

use super::mask::mask;
use super::record::{
    Began, CallEnding, CallError, CalledServer, Ended, Line, ProgressNote, origin_word,
};
use super::recording::{BeganCall, EndedCall, Notes, Outcome, RecordedServer};
use super::store::{Appending, Aside, Number, Store};
use super::{Message, WriterState};
use crate::config::Origin;
use crate::error::Error;
use crate::redact::Redactor;

/// Arguments, results and details of errors up to this length stand in the line.
const LONGEST_INLINE: usize = 64 * 1024;
/// How many further messages are written under one lock.
const MOST_AT_ONCE: usize = 2048;
/// The longest text of a note of progress, of a message and of a name.
const LONGEST_TEXT: usize = 4 * 1024;

pub(super) struct Writer {
    store: Arc<Store>,
    state: Arc<WriterState>,
    /// The calls that have begun, by their keys.
    open: HashMap<u64, Open>,
    /// The server of the last call, which is likely that of the next.
    server: Option<Arc<LoggedServer>>,
    /// How many lost lines the log tells of already.
    told_lost: u64,
    /// The process that makes the calls, which the system is asked for once.
    process: u32,
}

/// What the log says of a server, with its secrets.
struct LoggedServer {
    server: RecordedServer,
    redactor: Arc<Redactor>,
    called: Arc<CalledServer>,
}

impl LoggedServer {
    fn new(server: RecordedServer) -> Self {
        let redactor = Redactor::for_servers([&*server.config]);
        let called = called(&server, &redactor);
        Self {
            server,
            redactor: Arc::new(redactor),
            called: Arc::new(called),
        }
    }

    fn is(&self, server: &RecordedServer) -> bool {
        Arc::ptr_eq(&self.server.config, &server.config) && self.server.is_typed == server.is_typed
    }
}

/// A call that has begun.
struct Open {
    method: &'static str,
    /// Knows the secrets of its server and those of its arguments.
    redactor: Arc<Redactor>,
    begun: Begun,
}

enum Begun {
    Written(u64),
    /// With its arguments. What is not written by then is written with its end.
    Unwritten(Box<Began>, Option<Json>),
}

/// Messages that are written together.
struct Batch<'a> {
    /// None if nothing can be written now.
    lines: Option<Appending<'a>>,
    /// The calls that have begun.
    begun: Vec<u64>,
    /// Those who wait for the lines to be written.
    flushed: Vec<oneshot::Sender<()>>,
    /// How many lost lines the log tells of then.
    told_lost: u64,
}

impl Writer {
    pub(super) fn new(store: Store, state: Arc<WriterState>) -> Self {
        Self {
            store: Arc::new(store),
            state,
            open: HashMap::new(),
            server: None,
            told_lost: 0,
            process: std::process::id(),
        }
    }

    /// Writes all messages, many under one lock.
    pub(super) fn write(&mut self, messages: &mut Vec<Message>) {
        while !messages.is_empty() {
            let most = messages.len().min(MOST_AT_ONCE);
            self.write_together(messages.drain(..most));
        }
    }

    fn write_together(&mut self, messages: impl Iterator<Item = Message>) {
        let store = self.store.clone();
        let mut batch = Batch {
            lines: self.noted(store.open()),
            begun: Vec::new(),
            flushed: Vec::new(),
            told_lost: self.told_lost,
        };
        for message in messages {
            self.add(message, &mut batch);
        }
        let begun = self.add_beginnings(&mut batch);
        if let Some(lines) = batch.lines {
            match self.noted(lines.finish()) {
                Some(()) => self.told_lost = batch.told_lost,
                None => self.take_back(begun),
            }
        }
        for done in batch.flushed {
            let _ = done.send(());
        }
    }

    fn add(&mut self, message: Message, batch: &mut Batch<'_>) {
        match message {
            Message::Began(began) => {
                let key = began.key;
                let open = self.opened(began);
                self.open.insert(key, open);
                batch.begun.push(key);
            }
            Message::Ended(mut ended) => {
                let began = ended.began.take().map(|began| self.opened(*began));
                // A beginning was handed over either before or with its end.
                if let Some(open) = began.or_else(|| self.open.remove(&ended.key)) {
                    self.add_end(open, &ended, batch);
                }
            }
            Message::Flush(done) => batch.flushed.push(done),
        }
    }

    fn opened(&mut self, mut call: BeganCall) -> Open {
        let server = call.server.take().map(|server| match &self.server {
            Some(known) if known.is(&server) => known.clone(),
            _ => {
                let known = Arc::new(LoggedServer::new(server));
                self.server.insert(known).clone()
            }
        });
        Open::new(call, server.as_deref(), self.process)
    }

    /// Adds the beginnings of calls that have not ended yet; the others have a line already. Gives
    /// what is needed to write them again.
    fn add_beginnings(&mut self, batch: &mut Batch<'_>) -> Vec<(u64, Begun)> {
        let mut begun = Vec::new();
        for key in std::mem::take(&mut batch.begun) {
            let Some(open) = self.open.get(&key) else {
                continue;
            };
            if let Some(number) = self.add_beginning(open, batch)
                && let Some(open) = self.open.get_mut(&key)
            {
                let unwritten = std::mem::replace(&mut open.begun, Begun::Written(number));
                begun.push((key, unwritten));
            }
        }
        begun
    }

    fn add_beginning(&self, open: &Open, batch: &mut Batch<'_>) -> Option<u64> {
        let Begun::Unwritten(began, arguments) = &open.begun else {
            return None;
        };
        let (began, arguments) = ((**began).clone(), arguments.clone());
        let added = batch.lines.as_mut()?.add(Number::Next, |number, aside| {
            Ok(Line {
                n: number,
                began: Some(with_arguments(began, arguments, aside)),
                ..Line::default()
            })
        });
        self.noted(added)
    }

    fn add_end(&self, mut open: Open, ended: &EndedCall, batch: &mut Batch<'_>) {
        let Some(lines) = &mut batch.lines else {
            self.state.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let lost = self.state.lost.load(Ordering::Relaxed);
        let newly_lost = lost.saturating_sub(batch.told_lost);
        let (number, began) = match std::mem::replace(&mut open.begun, Begun::Written(0)) {
            Begun::Written(number) => (Number::Of(number), None),
            Begun::Unwritten(began, arguments) => (Number::Next, Some((began, arguments))),
        };
        let added = lines.add(number, |number, aside| {
            let began = began.map(|(began, arguments)| with_arguments(*began, arguments, aside));
            Ok(Line {
                n: number,
                began,
                ended: Some(open.ended(ended, aside)),
                lost: newly_lost,
            })
        });
        if self.noted(added).is_some() {
            batch.told_lost = lost;
        }
    }

    /// Beginnings that turned out not to be written are tried again with their ends.
    fn take_back(&mut self, begun: Vec<(u64, Begun)>) {
        for (key, unwritten) in begun {
            if let Some(open) = self.open.get_mut(&key) {
                open.begun = unwritten;
            }
        }
    }

    /// Keeps the first reason why something was not written.
    fn noted<T>(&self, written: io::Result<T>) -> Option<T> {
        written
            .map_err(|error| {
                let mut problem = self.state.problem.lock();
                problem.get_or_insert_with(|| error.to_string());
            })
            .ok()
    }
}

impl Open {
    fn new(call: BeganCall, server: Option<&LoggedServer>, process: u32) -> Self {
        let BeganCall {
            at_ms,
            wanted,
            claims_read_only,
            ..
        } = call;
        let mut redactor = server.map_or_else(Arc::default, |it| it.redactor.clone());
        let (mut arguments, mut masked) = (None, Vec::new());
        if let Some(wanted) = wanted.arguments {
            let found = mask(wanted.as_str(), &redactor);
            if !found.secrets.is_empty() {
                let redactor = Arc::make_mut(&mut redactor);
                found.secrets.iter().for_each(|it| redactor.hide(it));
            }
            masked = found.places;
            arguments = match one_line(found.text) {
                Cow::Borrowed(_) => Some(wanted),
                Cow::Owned(text) => Json::parse(&text).ok(),
            };
            if arguments.is_none() {
                // Without them the call cannot be made again, which the pointer to the whole says.
                masked = vec![String::new()];
            }
        }
        let name = redactor.redact(&wanted.name);
        let began = Began {
            at_ms,
            method: wanted.method.into(),
            server: server.map(|it| it.server.config.name.to_string()),
            name_masked: *name != *wanted.name,
            name: cut(name),
            arguments: None,
            arguments_file: None,
            masked,
            origin: wanted.origin.map(|origin| origin_word(origin).into()),
            claims_read_only,
            process,
            target: server.map(|it| it.called.clone()),
        };
        Self {
            method: wanted.method,
            redactor,
            begun: Begun::Unwritten(Box::new(began), arguments),
        }
    }

    fn ended(&self, call: &EndedCall, aside: &Aside<'_>) -> Ended {
        let ended = Ended {
            at_ms: call.at_ms,
            took_ms: u64::try_from(call.took.as_millis()).unwrap_or(u64::MAX),
            progress: call
                .notes
                .as_deref()
                .map_or_else(Vec::new, |notes| self.progress(notes)),
            progress_omitted: call.notes.as_ref().map_or(0, |notes| notes.omitted),
            ..Ended::default()
        };
        match &call.outcome {
            Outcome::Result { result, cached } => Ended {
                ending: match self.method == CallTool::NAME
                    && CallToolResult::says_failed(result).unwrap_or(false)
                {
                    true => CallEnding::ToolFailed,
                    false => CallEnding::Result,
                },
                cached: *cached,
                ..self.with_result(ended, result, aside)
            },
            Outcome::Task => Ended {
                ending: CallEnding::Task,
                ..ended
            },
            Outcome::Omitted => Ended {
                ending: CallEnding::Result,
                result_omitted: Some("results came too fast to be written".to_owned()),
                ..ended
            },
            Outcome::Error(error) => Ended {
                ending: CallEnding::of(error),
                error: Some(self.error(error)),
                ..ended
            },
            Outcome::Dropped => Ended {
                ending: CallEnding::Cancelled,
                ..ended
            },
        }
    }

    fn with_result(&self, ended: Ended, result: &Payload, aside: &Aside<'_>) -> Ended {
        let bytes = result.as_bytes();
        let mut ended = Ended {
            result_bytes: bytes.len() as u64,
            ..ended
        };
        let Ok(text) = std::str::from_utf8(bytes) else {
            ended.result_omitted = Some("it is not text".to_owned());
            return ended;
        };
        match kept(mask(text, &self.redactor).text, aside) {
            Kept::Inline(json) => ended.result = Some(json),
            Kept::File(name) => ended.result_file = Some(name),
            Kept::Not(because) => ended.result_omitted = Some(because),
        }
        ended
    }

    fn progress(&self, notes: &Notes) -> Vec<ProgressNote> {
        let note = |(after, progress): &(std::time::Duration, _)| {
            let progress: &attache_client::protocol::ProgressParams = progress;
            let message = progress.message.as_deref();
            ProgressNote {
                after_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
                progress: progress.progress,
                total: progress.total,
                message: message.map(|message| self.text(message)),
            }
        };
        notes.kept.iter().map(note).collect()
    }

    fn error(&self, error: &Error) -> CallError {
        let server_error = match error.client_error() {
            Some(
                ClientError::Server(error) | ClientError::Connect(ConnectError::Refused(error)),
            ) => Some(error),
            _ => None,
        };
        let data = server_error.and_then(|error| error.data.as_ref());
        let data = data.map(|data| mask(data.as_str(), &self.redactor).text);
        CallError {
            message: self.text(&error.to_string()),
            code: server_error.map(|error| error.code),
            data: data.map(|data| match data.len() <= LONGEST_INLINE {
                true => Json::parse(&data).unwrap_or_default(),
                false => Json::from(serde_json::Value::from(cut(data))),
            }),
            stderr: stderr_of(error)
                .iter()
                .map(|line| self.text(line))
                .collect(),
        }
    }

    /// A text of the server as it is kept.
    fn text(&self, text: &str) -> String {
        cut(self.redactor.redact(text))
    }
}

/// What became of a text that may be long.
enum Kept {
    Inline(Json),
    File(String),
    /// Why it is not kept.
    Not(String),
}

fn kept(text: Cow<'_, str>, aside: &Aside<'_>) -> Kept {
    if text.len() > LONGEST_INLINE {
        return match aside.put("result", &text) {
            Ok(name) => Kept::File(name),
            Err(error) => Kept::Not(error.to_string()),
        };
    }
    match Json::parse(&one_line(text)) {
        Ok(json) => Kept::Inline(json),
        Err(_) => Kept::Not("it is not JSON".to_owned()),
    }
}

/// JSON that fits into a line: a line break can only be between its parts.
fn one_line(text: Cow<'_, str>) -> Cow<'_, str> {
    match memchr2(b'\n', b'\r', text.as_bytes()) {
        Some(_) => text.replace(['\n', '\r'], " ").into(),
        None => text,
    }
}

fn with_arguments(mut began: Began, arguments: Option<Json>, aside: &Aside<'_>) -> Began {
    match arguments {
        Some(long) if long.as_str().len() > LONGEST_INLINE => {
            match aside.put("arguments", long.as_str()) {
                Ok(name) => began.arguments_file = Some(name),
                // As where they cannot be masked.
                Err(_) => began.masked = vec![String::new()],
            }
        }
        short => began.arguments = short,
    }
    began
}

/// How the server is found again.
fn called(server: &RecordedServer, redactor: &Redactor) -> CalledServer {
    let config = &server.config;
    if !server.is_typed {
        let source = &config.source;
        return match &source.file {
            Some(file) => CalledServer::Configured {
                file: file.display().to_string(),
                named: source.origin == Origin::Named,
            },
            None => CalledServer::BuiltIn,
        };
    }
    let transport = config.server.transport();
    let words: Vec<String> = transport.words().iter().map(ToString::to_string).collect();
    // An option and its value are two words, and looked at together.
    let masked = redactor.redact(&words.join(" ")) != words.join(" ");
    let words = match masked {
        true => redactor
            .redact(&words.join(" "))
            .split(' ')
            .map(str::to_owned)
            .collect(),
        false => words,
    };
    let folder = match transport.folder() {
        Some(folder) => Some(folder.to_path_buf()),
        None => transport
            .launch()
            .and_then(|_| std::env::current_dir().ok()),
    };
    CalledServer::Typed {
        words,
        folder: folder.map(|folder| folder.display().to_string()),
        masked,
    }
}

fn stderr_of(error: &Error) -> &[String] {
    match error {
        Error::Parked { failure, .. } | Error::Unreachable { failure, .. } => &failure.stderr,
        Error::Request {
            error:
                ClientError::NotSent {
                    reason: CloseReason::Exited { stderr, .. },
                    ..
                }
                | ClientError::OutcomeUnknown {
                    reason: CloseReason::Exited { stderr, .. },
                    ..
                },
            ..
        } => stderr,
        _ => &[],
    }
}

fn cut(text: Cow<'_, str>) -> String {
    if text.len() <= LONGEST_TEXT {
        return text.into_owned();
    }
    let mut end = LONGEST_TEXT;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}
