//! The running chaos server: reads lines, finds the rule, keeps the tables.
//!
//! Owns everything shared between the reading thread, the clock thread and
//! plays in threads of their own. Refuses to know what an action does (`play`)
//! and what a well-behaved server says (`usual`).

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde_json::{Value, json};

use super::LINGER_LIMIT;
use super::action::Until;
use super::clock::Clock;
use super::journal::Journal;
use super::output::Output;
use super::platform::Stdin;
use super::play::{Place, Play, Step};
use super::reply::Body;
use super::request::{Incoming, Request, Wire};
use super::script::{BeforeInitialize, EndOfInput, Era, Script, Trigger};
use super::session::Session;
use super::usual::{self, Usual};

/// Plays that may run in threads of their own; further ones run in the thread
/// that has them in hand.
const THREAD_LIMIT: usize = 64;
/// Bytes read at once.
const READ_BUFFER: usize = 256 * 1024;

/// A chaos server at work.
pub(super) struct Engine {
    pub(super) script: Script,
    pub(super) journal: Arc<Journal>,
    pub(super) clock: Clock,
    rules: RuleIndex,
    folder: PathBuf,
    output: Mutex<Output>,
    state: Mutex<State>,
    reading: AtomicU8,
    threads: AtomicUsize,
}

/// Everything that messages change.
#[derive(Default)]
struct State {
    session: Session,
    received: HashMap<String, u64>,
    rule_matches: HashMap<usize, u64>,
    cancelled: HashSet<String>,
    parked: Vec<(Until, Play)>,
    asked: HashMap<String, Option<Play>>,
    asks: u64,
}

/// Rules by method, so that messages without rules cost one look-up.
type RuleIndex = HashMap<String, Vec<usize>>;

/// What the server does with its standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    On = 0,
    Stopped = 1,
    Closed = 2,
}

/// Runs a script until the process exits. Returns only when standard input or
/// a log fails.
pub(super) fn serve(script: Script, folder: &Path) -> io::Result<Infallible> {
    let journal = Arc::new(Journal::open(folder)?);
    let engine = Arc::new(Engine {
        output: Mutex::new(Output::new(script.writing, Arc::clone(&journal))),
        rules: index(&script),
        script,
        journal,
        clock: Clock::default(),
        folder: folder.to_owned(),
        state: Mutex::default(),
        reading: AtomicU8::new(Reading::On as u8),
        threads: AtomicUsize::new(0),
    });
    let clock_engine = Arc::clone(&engine);
    thread::spawn(move || clock_engine.run_clock());
    engine.start();
    engine.read_all()
}

fn index(script: &Script) -> RuleIndex {
    let mut rules = RuleIndex::new();
    for (number, rule) in script.rules.iter().enumerate() {
        if let Trigger::Message { method, .. } = &rule.when.trigger {
            rules.entry(method.clone()).or_default().push(number);
        }
    }
    rules
}

impl Engine {
    fn start(self: &Arc<Self>) {
        for rule in &self.script.rules {
            if rule.when.trigger == Trigger::Start {
                let mut play = Play::scripted(Request::none(), &rule.actions);
                play.place = Place::Start;
                play.go_on(self);
            }
        }
        self.flush_unless_flooding();
    }

    fn read_all(self: &Arc<Self>) -> io::Result<Infallible> {
        let mut input = BufReader::with_capacity(READ_BUFFER, Stdin);
        let mut line = Vec::new();
        loop {
            if self.reading.load(Ordering::Acquire) != Reading::On as u8 {
                self.flush_unless_flooding();
                self.linger();
            }
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 {
                self.end_of_input();
            }
            self.journal.received(&line)?;
            self.receive_line(&line);
            // Answers leave together, when nothing more is at hand to answer.
            if !input.buffer().contains(&b'\n') {
                self.flush_unless_flooding();
            }
        }
    }

    fn end_of_input(self: &Arc<Self>) -> ! {
        let rule = self
            .script
            .rules
            .iter()
            .find(|rule| rule.when.trigger == Trigger::EndOfInput);
        let mut play = Play::scripted(Request::none(), rule.map_or(&[], |rule| &rule.actions));
        play.steps.push_back(Step::EndOfInput);
        play.go_on(self);
        self.flush_unless_flooding();
        self.linger()
    }

    /// Lives on without reading, but not for ever.
    pub(super) fn linger(&self) -> ! {
        thread::sleep(LINGER_LIMIT);
        self.exit(0)
    }

    pub(super) fn end_unless_ignoring_eof(&self) {
        if self.script.end_of_input == EndOfInput::Exit {
            self.exit(0);
        }
    }

    fn run_clock(self: Arc<Self>) {
        loop {
            let play = self.clock.next_due();
            if play.obeys_cancel && self.is_cancelled(&play.request) {
                continue;
            }
            play.go_on(&self);
            self.output().flush();
        }
    }

    fn receive_line(self: &Arc<Self>, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        match serde_json::from_slice(line) {
            // A batch of 2025-03-26: each message is served as if it had come
            // alone, and answered alone.
            Ok(Value::Array(messages)) => {
                for message in messages {
                    self.receive(message);
                }
            }
            Ok(message) => self.receive(message),
            Err(error) => self.refuse_message(-32700, &format!("Parse error: {error}")),
        }
    }

    fn refuse_message(&self, code: i64, message: &str) {
        self.output().message(&json!({
            "jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message},
        }));
    }

    fn receive(self: &Arc<Self>, message: Value) {
        match Incoming::from_message(message) {
            Incoming::Request(request) => self.receive_request(request),
            Incoming::Response(id, message) => self.receive_answer(&id, message),
            Incoming::Invalid => self.refuse_message(-32600, "Invalid request"),
        }
    }

    fn receive_request(self: &Arc<Self>, mut request: Request) {
        request.wire = self.wire_of(&request);
        let initialized = self.note_received(&request);
        if let Some(rule) = self.matching_rule(&request) {
            return Play::scripted(request, &self.script.rules[rule].actions).go_on(self);
        }
        if !initialized && self.refuses_early(&request) {
            return;
        }
        let usual = usual::answer(self, &request);
        let Some(id) = &request.id else {
            return;
        };
        match usual {
            Usual::Result(result) => self
                .output()
                .message(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
            Usual::Error(error) => self
                .output()
                .message(&json!({"jsonrpc": "2.0", "id": id, "error": error.to_value()})),
            Usual::Steps(steps) => Play::well_behaved(request, steps).go_on(self),
            Usual::Silence => {}
        }
    }

    fn wire_of(&self, request: &Request) -> Wire {
        match &self.script.era {
            Era::Legacy { .. } => Wire::Legacy,
            Era::Modern { .. } => Wire::Modern,
            Era::Dual { .. } if request.version().is_some() => Wire::Modern,
            Era::Dual { .. } => Wire::Legacy,
        }
    }

    /// Counts the message, lets plays go on that waited for it, and returns
    /// whether `initialize` has been received by now.
    fn note_received(self: &Arc<Self>, request: &Request) -> bool {
        let mut state = self.state();
        *state.received.entry(request.method.clone()).or_default() += 1;
        if request.method == "notifications/cancelled"
            && let Some(id) = request.params.get("requestId")
        {
            state.cancelled.insert(id.to_string());
            state.session.close_listen(id);
        }
        let initialized = state.received.contains_key("initialize");
        if state.parked.is_empty() {
            return initialized;
        }
        let (woken, parked) = std::mem::take(&mut state.parked)
            .into_iter()
            .partition::<Vec<_>, _>(|(until, play)| state.holds(until, &play.request));
        state.parked = parked;
        drop(state);
        for (_, play) in woken {
            play.go_on(self);
        }
        initialized
    }

    fn matching_rule(&self, request: &Request) -> Option<usize> {
        let candidates = self.rules.get(&request.method)?;
        let mut state = self.state();
        let mut chosen = None;
        for &number in candidates {
            let when = &self.script.rules[number].when;
            let Trigger::Message { tool, .. } = &when.trigger else {
                continue;
            };
            if tool.is_some() && tool.as_deref() != request.tool() {
                continue;
            }
            let matches = state.rule_matches.entry(number).or_default();
            *matches += 1;
            if chosen.is_none() && when.occurrence.includes(*matches) {
                chosen = Some(number);
            }
        }
        chosen
    }

    /// Treats a message that came before `initialize`, if the script has a
    /// say in that.
    fn refuses_early(&self, request: &Request) -> bool {
        let Era::Legacy { before, .. } = &self.script.era else {
            return false;
        };
        match before {
            BeforeInitialize::Serve => false,
            BeforeInitialize::Refuse(_) if request.method == "ping" => false,
            BeforeInitialize::Refuse(code) => {
                if let Some(id) = &request.id {
                    self.output()
                        .message(&json!({"jsonrpc": "2.0", "id": id, "error": {
                            "code": code, "message": "Not initialized",
                        }}));
                }
                true
            }
            BeforeInitialize::Ignore => true,
            BeforeInitialize::Exit(code) => self.exit(*code),
        }
    }

    fn receive_answer(self: &Arc<Self>, id: &Value, message: Value) {
        let asked = self.state().asked.remove(&id.to_string());
        if let Some(Some(mut play)) = asked {
            play.answer = Some(message);
            play.go_on(self);
        }
    }

    /// Sends a request to the client. With a play, it goes on with the answer.
    pub(super) fn ask(&self, mut message: Value, play: Option<Play>) {
        let mut state = self.state();
        state.asks += 1;
        let id = json!(format!("chaos-{}", state.asks));
        state.asked.insert(id.to_string(), play);
        drop(state);
        message["id"] = id;
        self.output().message(&message);
    }

    /// Keeps a play until a message makes the condition hold.
    pub(super) fn park(self: &Arc<Self>, until: Until, play: Play) {
        let mut state = self.state();
        if state.holds(&until, &play.request) {
            drop(state);
            play.go_on(self);
        } else {
            state.parked.push((until, play));
        }
    }

    pub(super) fn holds(&self, until: &Until, request: &Request) -> bool {
        match until {
            Until::Gate(name) => super::gate_path(&self.folder, name).exists(),
            other => self.state().holds(other, request),
        }
    }

    fn is_cancelled(&self, request: &Request) -> bool {
        self.state().holds(&Until::Cancelled, request)
    }

    /// What a reply with this body says now.
    pub(super) fn evaluate(&self, body: &Body, request: &Request, answer: Option<&Value>) -> Usual {
        usual::evaluate(self, body, request, answer)
    }

    pub(super) fn give_task_input(&self, task: &str, key: &str, answer: Option<&Value>) {
        let result = answer.and_then(|answer| answer.get("result"));
        let given = result.cloned().unwrap_or(Value::Null);
        self.session(|session| session.tasks.give_input(task, key, given));
    }

    /// Works on the session with nothing else going on in it.
    pub(super) fn session<T>(&self, work: impl FnOnce(&mut Session) -> T) -> T {
        work(&mut self.state().session)
    }

    /// Writes out what was said, unless another thread is saying something:
    /// that one writes out everything when it is done, and may never be.
    fn flush_unless_flooding(&self) {
        if let Ok(mut output) = self.output.try_lock() {
            output.flush();
        }
    }

    pub(super) fn output(&self) -> MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_reading(&self, reading: Reading) {
        self.reading.store(reading as u8, Ordering::Release);
    }

    pub(super) fn claim_thread(&self) -> bool {
        let claimed = self
            .threads
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |threads| {
                (threads < THREAD_LIMIT).then_some(threads + 1)
            });
        claimed.is_ok()
    }

    pub(super) fn release_thread(&self) {
        self.threads.fetch_sub(1, Ordering::AcqRel);
    }

    /// Writes out what was said and ends the process. A flood that another
    /// thread is still saying is not waited for.
    pub(super) fn exit(&self, code: i32) -> ! {
        self.flush_unless_flooding();
        if let Err(error) = self.journal.sync_effects() {
            self.complain(&format!("the effect log cannot be synced: {error}"));
        }
        std::process::exit(code)
    }

    /// Tells whoever reads standard error that the script cannot be followed.
    pub(super) fn complain(&self, message: &str) {
        let _ = writeln!(io::stderr(), "chaos-server: {message}");
    }
}

impl State {
    fn holds(&self, until: &Until, request: &Request) -> bool {
        match until {
            Until::Elapsed(_) | Until::Gate(_) | Until::Never => false,
            Until::Received { method, count } => {
                self.received.get(method).is_some_and(|seen| seen >= count)
            }
            Until::Cancelled => request
                .id
                .as_ref()
                .is_some_and(|id| self.cancelled.contains(&id.to_string())),
        }
    }
}
