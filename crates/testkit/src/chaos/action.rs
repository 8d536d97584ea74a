//! What a chaos server can be told to do: the vocabulary of a script.
//!
//! Owns the action types and their constructors. Refuses to know how an action
//! is carried out (`play`) and what a well-behaved answer contains (`usual`).
//!
//! There are seven kinds of action and each varies on its own: *reply* to the
//! request in hand, *emit* bytes, change how bytes are *written*, *wait* for a
//! condition, *ask* the client something, record a side *effect*, or do
//! something to the *process*. Every fault is a short list of these; the
//! constructors on [`Action`] only give common lists of one a name.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::emit::{Emit, Writing};
use super::reply::Reply;

/// One step of a rule.
///
/// Steps run in order. What a rule says between two waits leaves the server in
/// one write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Action {
    /// Answers the request in hand. Does nothing for a notification.
    Reply(Reply),
    /// Puts bytes on standard output or standard error.
    Emit(Emit),
    /// Changes how bytes leave from now on.
    Write(Writing),
    /// Holds this rule back. Other requests are served meanwhile.
    Wait(Until),
    /// Sends a request to the client.
    Ask(Ask),
    /// Appends one line to the synced side-effect log.
    Effect {
        /// The tool argument whose value is logged.
        argument: String,
    },
    /// Does something to the server's own process.
    Process(ProcessAct),
}

/// What a [`Action::Wait`] waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Until {
    /// This much time has passed.
    Elapsed(Duration),
    /// This process has received at least `count` messages of `method`.
    Received {
        /// The method of the awaited message.
        method: String,
        /// How many of them.
        count: u64,
    },
    /// The client has cancelled the request in hand.
    Cancelled,
    /// The test has called [`super::Launch::open_gate`] with this name.
    Gate(String),
    /// Never: the rest of the rule does not run.
    Never,
}

/// A request from the server to the client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The method, such as `roots/list`.
    pub method: String,
    /// The params, left out of the message when null.
    pub params: Value,
    /// Whether the rule goes on at once or with the answer.
    pub then: AfterAsking,
}

/// How a rule goes on after an [`Ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AfterAsking {
    /// The rule rests until the client's response arrives, which then stands
    /// for `"$answer"` and fills [`super::Body::ClientAnswer`].
    AwaitAnswer,
    /// The rule goes on at once.
    GoOn,
}

/// Something a server does to its own process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum ProcessAct {
    /// Writes out what was said so far and exits.
    Exit(i32),
    /// Dies by `abort`, with nothing written out.
    Abort,
    /// Sends itself a signal, after writing out what was said so far.
    Signal(Signal),
    /// Closes standard output and lives on.
    CloseStdout,
    /// Closes standard input and lives on, so that the client's next write
    /// breaks. Takes effect at once when no wait precedes it in its rule, and
    /// with the next received line otherwise. A process that is being started
    /// elsewhere in the test may hold a copy of the pipe for moments, so let the
    /// client write until it breaks.
    CloseStdin,
    /// Leaves standard input open and unread. Takes effect like `CloseStdin`.
    StopReading,
    /// Starts a process of its own and waits until it is ready.
    Spawn(Grandchild),
}

/// A signal a process sends to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are the signals' own")]
pub enum Signal {
    Hangup,
    Interrupt,
    Kill,
    SegmentationFault,
    Stop,
    Terminate,
}

/// A process started by the server, which lingers until it is killed.
///
/// It ends by itself after [`super::LINGER_LIMIT`], so that a failing test
/// leaves nothing behind for long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grandchild {
    /// It leads a session of its own.
    pub setsid: bool,
    /// It ignores the terminate and hang-up signals.
    pub ignore_term: bool,
    /// Its parent exits at once, so that it is handed to another ancestor.
    pub orphan: bool,
    /// It stops itself, as by job control.
    pub stopped: bool,
    /// It keeps the server's standard output open.
    pub hold_stdout: bool,
}

impl Action {
    /// Answers as a well-behaved server would.
    pub fn usual() -> Self {
        Reply::usual().into()
    }

    /// Answers with exactly this result.
    pub fn result(result: Value) -> Self {
        Reply::result(result).into()
    }

    /// Answers with a tool result of one text block, in the form of the era.
    pub fn text(text: impl Into<String>) -> Self {
        Reply::text(text).into()
    }

    /// Answers with an error without data.
    pub fn error(code: i64, message: impl Into<String>) -> Self {
        Reply::error(code, message).into()
    }

    /// Emits text as it is, after substitution (see [`Emit`]).
    pub fn raw(text: impl Into<String>) -> Self {
        Emit::text(text).into()
    }

    /// Emits text and a line end, after substitution (see [`Emit`]).
    pub fn line(text: impl Into<String>) -> Self {
        Emit::line(text).into()
    }

    /// Emits bytes as they are, after substitution (see [`Emit`]).
    pub fn raw_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Emit::bytes(bytes).into()
    }

    /// Emits text and a line end on standard error.
    pub fn stderr_line(text: impl Into<String>) -> Self {
        Emit::line(text).on_stderr().into()
    }

    /// Sends a notification.
    pub fn notify(method: &str, params: Value) -> Self {
        Emit::message(&notification(method, params)).into()
    }

    /// Sends the same notification many times.
    pub fn flood(count: u64, method: &str, params: Value) -> Self {
        Emit::message(&notification(method, params))
            .times(count)
            .into()
    }

    /// Sends one progress notification per value, with the request's token.
    /// Says nothing when the request carries no token.
    pub fn progress(values: impl IntoIterator<Item = f64>) -> Self {
        let lines = values.into_iter().map(|value| {
            let params = json!({"progressToken": "$token", "progress": value});
            let mut line = notification("notifications/progress", params).to_string();
            line.push('\n');
            line
        });
        Emit::text(lines.collect::<String>()).into()
    }

    /// Sends a log message.
    pub fn log(level: &str, text: &str) -> Self {
        let params = json!({"level": level, "logger": "chaos", "data": text});
        Self::notify("notifications/message", params)
    }

    /// Sends frames as one batch array.
    pub fn batch(frames: impl IntoIterator<Item = Value>) -> Self {
        Emit::message(&Value::Array(frames.into_iter().collect())).into()
    }

    /// Starts a line that never ends.
    pub fn endless_line() -> Self {
        Emit::text("x".repeat(1024)).forever().into()
    }

    /// Answers with a result that nests `depth` arrays.
    pub fn deep_result(depth: usize) -> Self {
        let mut text = String::with_capacity(2 * depth + 96);
        text.push_str(r#"{"jsonrpc":"2.0","id":"$id","result":{"content":[],"deep":"#);
        text.extend(std::iter::repeat_n('[', depth));
        text.extend(std::iter::repeat_n(']', depth));
        text.push_str("}}");
        Self::line(text)
    }

    /// Waits for a time.
    pub fn wait(time: Duration) -> Self {
        Self::Wait(Until::Elapsed(time))
    }

    /// Waits for a time in milliseconds.
    pub fn wait_ms(milliseconds: u64) -> Self {
        Self::wait(Duration::from_millis(milliseconds))
    }

    /// Waits until a message of this method has been received.
    pub fn wait_received(method: impl Into<String>) -> Self {
        Self::Wait(Until::Received {
            method: method.into(),
            count: 1,
        })
    }

    /// Waits until the client has cancelled the request in hand.
    pub fn wait_cancelled() -> Self {
        Self::Wait(Until::Cancelled)
    }

    /// Waits until the test opens the gate of this name.
    pub fn wait_gate(name: impl Into<String>) -> Self {
        Self::Wait(Until::Gate(name.into()))
    }

    /// Ends the rule without an answer.
    pub fn never() -> Self {
        Self::Wait(Until::Never)
    }

    /// Asks the client and goes on with its answer.
    pub fn ask(method: impl Into<String>, params: Value) -> Self {
        Self::Ask(Ask {
            method: method.into(),
            params,
            then: AfterAsking::AwaitAnswer,
        })
    }

    /// Asks the client and goes on without its answer.
    pub fn ask_and_go_on(method: impl Into<String>, params: Value) -> Self {
        Self::Ask(Ask {
            method: method.into(),
            params,
            then: AfterAsking::GoOn,
        })
    }

    /// Logs the tool argument `key` as a side effect.
    pub fn effect() -> Self {
        Self::Effect {
            argument: "key".to_owned(),
        }
    }

    /// Writes out what was said and exits.
    pub fn exit(code: i32) -> Self {
        Self::Process(ProcessAct::Exit(code))
    }

    /// Dies by `abort` with nothing written out.
    pub fn abort() -> Self {
        Self::Process(ProcessAct::Abort)
    }

    /// Sends the server's own process a signal.
    pub fn signal(signal: Signal) -> Self {
        Self::Process(ProcessAct::Signal(signal))
    }

    /// Closes standard output and lives on.
    pub fn close_stdout() -> Self {
        Self::Process(ProcessAct::CloseStdout)
    }

    /// Closes standard input and lives on.
    pub fn close_stdin() -> Self {
        Self::Process(ProcessAct::CloseStdin)
    }

    /// Leaves standard input open and unread.
    pub fn stop_reading() -> Self {
        Self::Process(ProcessAct::StopReading)
    }

    /// Starts a lingering process.
    pub fn spawn(grandchild: Grandchild) -> Self {
        Self::Process(ProcessAct::Spawn(grandchild))
    }
}

impl From<Reply> for Action {
    fn from(reply: Reply) -> Self {
        Self::Reply(reply)
    }
}

impl From<Emit> for Action {
    fn from(emit: Emit) -> Self {
        Self::Emit(emit)
    }
}

impl From<Writing> for Action {
    fn from(writing: Writing) -> Self {
        Self::Write(writing)
    }
}

/// A notification as a message, without `params` when they are null.
pub(super) fn notification(method: &str, params: Value) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "method": method});
    if !params.is_null() {
        message["params"] = params;
    }
    message
}
