//! One running rule: a request and the steps still to be taken for it.
//!
//! Owns the carrying out of actions. A play never blocks the reading of further
//! messages: it rests in the clock or in the engine's table, or goes on in a
//! thread of its own when it has much to say. Refuses to know rules and
//! well-behaved answers.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::action::{Action, AfterAsking, Ask, ProcessAct, Until};
use super::emit::{self, Emit, Stream, Times};
use super::engine::{Engine, Reading};
use super::grandchild;
use super::output::GATHER_LIMIT;
use super::platform;
use super::reply::{Body, Reply, ReplyId, RpcError};
use super::request::Request;
use super::usual::Usual;

/// How often an awaited gate is looked at.
const GATE_INTERVAL: Duration = Duration::from_millis(2);

/// A request and what is still to be done about it.
pub(super) struct Play {
    pub(super) request: Request,
    pub(super) steps: VecDeque<Step>,
    /// A well-behaved play ends when its request is cancelled; a scripted one
    /// does what the script says.
    pub(super) obeys_cancel: bool,
    pub(super) place: Place,
    /// The client's response to the last awaited ask.
    pub(super) answer: Option<Value>,
}

/// Where a play is being carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a thread that has other plays to carry on with.
    Shared,
    /// In a thread of its own.
    Alone,
    /// In the reading thread before anything is read: waits block.
    Start,
}

/// A step of a play: an action of a script, or one the server adds itself.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Act(Action),
    /// Hands the last answer to a task as input.
    GiveTaskInput {
        task: String,
        key: String,
    },
    /// Ends the process unless it ignores the end of input.
    EndOfInput,
}

impl Play {
    pub(super) fn scripted(request: Request, actions: &[Action]) -> Self {
        Self {
            request,
            steps: actions.iter().cloned().map(Step::Act).collect(),
            obeys_cancel: false,
            place: Place::Shared,
            answer: None,
        }
    }

    pub(super) fn well_behaved(request: Request, steps: Vec<Step>) -> Self {
        Self {
            request,
            steps: steps.into(),
            obeys_cancel: true,
            place: Place::Shared,
            answer: None,
        }
    }

    /// Takes steps until the play rests or ends.
    pub(super) fn go_on(mut self, engine: &Arc<Engine>) {
        while let Some(step) = self.steps.pop_front() {
            let action = match step {
                Step::Act(action) => action,
                Step::GiveTaskInput { task, key } => {
                    engine.give_task_input(&task, &key, self.answer.as_ref());
                    continue;
                }
                Step::EndOfInput => {
                    engine.end_unless_ignoring_eof();
                    continue;
                }
            };
            match action {
                Action::Reply(reply) => self.reply(engine, &reply),
                Action::Emit(emission) => {
                    if self.needs_thread_for(&emission) {
                        self.steps.push_front(Step::Act(Action::Emit(emission)));
                        return self.go_on_elsewhere(engine);
                    }
                    self.emit(engine, &emission);
                }
                Action::Write(writing) => engine.output().set_writing(writing),
                Action::Wait(until) => {
                    if !engine.holds(&until, &self.request) {
                        return self.rest(engine, until);
                    }
                }
                Action::Ask(ask) => {
                    if let Some(play) = self.ask(engine, ask) {
                        self = play;
                    } else {
                        return;
                    }
                }
                Action::Effect { argument } => self.record_effect(engine, &argument),
                Action::Process(act) => process(engine, act),
            }
        }
    }

    fn needs_thread_for(&self, emission: &Emit) -> bool {
        match self.place {
            Place::Shared => emission.times != Times::Count(1),
            Place::Alone => false,
            Place::Start => emission.times == Times::Forever,
        }
    }

    fn go_on_elsewhere(mut self, engine: &Arc<Engine>) {
        self.place = Place::Alone;
        if !engine.claim_thread() {
            return self.go_on(engine);
        }
        let shared = Arc::clone(engine);
        thread::spawn(move || {
            self.go_on(&shared);
            shared.output().flush();
            shared.release_thread();
        });
    }

    fn rest(mut self, engine: &Arc<Engine>, until: Until) {
        if self.place == Place::Start {
            engine.output().flush();
            block(engine, &until);
            return self.go_on(engine);
        }
        self.place = Place::Shared;
        match until {
            Until::Never => {}
            Until::Elapsed(time) => engine.clock.rest(self, time),
            Until::Gate(name) => {
                self.steps
                    .push_front(Step::Act(Action::Wait(Until::Gate(name))));
                engine.clock.rest(self, GATE_INTERVAL);
            }
            Until::Received { .. } | Until::Cancelled => engine.park(until, self),
        }
    }

    /// Returns the play when it goes on at once.
    fn ask(mut self, engine: &Arc<Engine>, ask: Ask) -> Option<Self> {
        let mut message = json!({"jsonrpc": "2.0", "method": ask.method});
        if !ask.params.is_null() {
            message["params"] = ask.params;
        }
        match ask.then {
            AfterAsking::GoOn => {
                engine.ask(message, None);
                Some(self)
            }
            AfterAsking::AwaitAnswer => {
                self.place = Place::Shared;
                engine.ask(message, Some(self));
                None
            }
        }
    }

    fn record_effect(&self, engine: &Arc<Engine>, argument: &str) {
        let line = match self.request.argument(argument) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => format!("(no argument {argument})"),
        };
        if let Err(error) = engine.journal.effect(&line) {
            engine.complain(&format!("the effect log cannot be written: {error}"));
        }
    }

    fn reply(&mut self, engine: &Arc<Engine>, reply: &Reply) {
        if self.request.id.is_none() {
            return;
        }
        match engine.evaluate(&reply.body, &self.request, self.answer.as_ref()) {
            Usual::Result(result) => self.say_reply(engine, reply, "result", result),
            Usual::Error(error) => self.say_reply(engine, reply, "error", error.to_value()),
            Usual::Silence => {}
            Usual::Steps(steps) => {
                // The usual answer takes several steps; they inherit the shape
                // this reply was to have.
                for step in steps.into_iter().rev() {
                    self.steps.push_front(step.shaped_like(reply));
                }
            }
        }
    }

    fn say_reply(&self, engine: &Arc<Engine>, reply: &Reply, key: &str, value: Value) {
        let mut message = json!({"jsonrpc": "2.0"});
        message[key] = value;
        if let Some(id) = reply.id.applied_to(self.request.id.as_ref()) {
            message["id"] = id;
        }
        if let Body::FrameOf(bytes) = reply.body {
            pad_frame(&mut message, bytes);
        }
        let mut output = engine.output();
        for _ in 0..reply.copies {
            output.message(&message);
        }
    }

    fn emit(&self, engine: &Arc<Engine>, emission: &Emit) {
        let line_end = engine.output().writing().line_end;
        let filled = emit::substitute(emission.template(line_end), "id", self.request.id.as_ref())
            .and_then(|bytes| emit::substitute(bytes, "token", self.request.progress_token()))
            .and_then(|bytes| emit::substitute(bytes, "answer", self.answer.as_ref()));
        let Some(bytes) = filled else { return };
        match emission.to {
            Stream::Stderr => repeat(emission, &bytes, |piece| {
                std::io::stderr().write_all(piece).is_ok()
            }),
            Stream::Stdout if emission.pause.is_zero() => {
                let mut output = engine.output();
                repeat(emission, &bytes, |piece| {
                    output.bytes(piece);
                    !output.is_broken()
                });
            }
            Stream::Stdout => repeat(emission, &bytes, |piece| {
                let mut output = engine.output();
                output.bytes(piece);
                output.flush();
                !output.is_broken()
            }),
        }
    }
}

impl Step {
    /// A reply takes the id and the number of copies of `shape`.
    fn shaped_like(self, shape: &Reply) -> Self {
        match self {
            Self::Act(Action::Reply(reply)) => Self::Act(Action::Reply(Reply {
                body: reply.body,
                id: shape.id.clone(),
                copies: shape.copies,
            })),
            other => other,
        }
    }
}

impl ReplyId {
    fn applied_to(&self, id: Option<&Value>) -> Option<Value> {
        match self {
            Self::Same => id.cloned(),
            Self::AsString => Some(match id {
                Some(Value::String(text)) => Value::String(text.clone()),
                Some(other) => Value::String(other.to_string()),
                None => Value::Null,
            }),
            Self::Null => Some(Value::Null),
            Self::Fixed(value) => Some(value.clone()),
            Self::Missing => None,
        }
    }
}

impl RpcError {
    pub(super) fn to_value(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if !self.data.is_null() {
            error["data"] = self.data.clone();
        }
        error
    }
}

/// Blocks until the condition holds. What only a message could make true
/// never does before anything is read.
fn block(engine: &Engine, until: &Until) {
    match until {
        Until::Elapsed(time) => thread::sleep(*time),
        Until::Gate(_) => {
            while !engine.holds(until, &Request::none()) {
                thread::sleep(GATE_INTERVAL);
            }
        }
        Until::Received { .. } | Until::Cancelled | Until::Never => engine.linger(),
    }
}

/// Hands out `bytes` as often as asked, in pieces of a sensible size, until
/// `say` refuses.
fn repeat(emission: &Emit, bytes: &[u8], mut say: impl FnMut(&[u8]) -> bool) {
    let mut number = 0_u64;
    let counting = emit::counts_repetitions(bytes);
    // A small unit that is always the same is gathered into larger pieces.
    let mut per_piece = 1;
    let mut piece = bytes.to_vec();
    if !counting && emission.pause.is_zero() && !bytes.is_empty() {
        per_piece = (GATHER_LIMIT / 4 / bytes.len()).max(1) as u64;
        if let Times::Count(count) = emission.times {
            per_piece = per_piece.min(count);
        }
        piece = bytes.repeat(usize::try_from(per_piece).unwrap_or(1));
    }
    loop {
        let left = match emission.times {
            Times::Count(count) => count - number,
            Times::Forever => u64::MAX,
        };
        if left == 0 {
            return;
        }
        let said = if counting {
            let numbered = emit::substitute(bytes.to_vec(), "n", Some(&json!(number)));
            say(numbered.as_deref().unwrap_or(bytes))
        } else if left < per_piece {
            let length = usize::try_from(left).unwrap_or(1) * bytes.len();
            say(&piece[..length])
        } else {
            say(&piece)
        };
        if !said {
            return;
        }
        number += per_piece.min(left);
        if !emission.pause.is_zero() {
            thread::sleep(emission.pause);
        }
    }
}

/// Pads the text of a tool result until the frame has the wanted length.
fn pad_frame(message: &mut Value, bytes: usize) {
    let missing = bytes.saturating_sub(message.to_string().len());
    if let Some(text) = message.pointer_mut("/result/content/0/text") {
        *text = Value::String("x".repeat(missing));
    }
}

fn process(engine: &Arc<Engine>, act: ProcessAct) {
    let done = match act {
        ProcessAct::Exit(code) => engine.exit(code),
        ProcessAct::Abort => std::process::abort(),
        ProcessAct::Signal(signal) => {
            engine.output().flush();
            platform::signal_self(signal)
        }
        ProcessAct::CloseStdout => engine.output().close(),
        ProcessAct::CloseStdin => {
            engine.set_reading(Reading::Closed);
            platform::close_stdin()
        }
        ProcessAct::StopReading => {
            engine.set_reading(Reading::Stopped);
            Ok(())
        }
        ProcessAct::Spawn(grandchild) => grandchild::spawn(&grandchild),
    };
    if let Err(error) = done {
        engine.complain(&error.to_string());
    }
}
