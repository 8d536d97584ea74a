//! `attache batch`: many calls with one start, as JSON lines.
//!
//! Owns the lines that come in and go out. Lines that are no call become an ending of their own, so
//! that one bad line spoils itself only. What is read ahead and what waits for its turn is bounded.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

use attache::host::Host;
use attache::host::config::ServerName;
use attache::host::policy::CallOrigin;
use attache::protocol::{CallToolResult, Json, Payload};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Context, Known, Typed, Verb};
use crate::args::ServerArgs;
use crate::failure::{Exit, Failure, Kind, cancelled};
use crate::output::Output;
use crate::output::json::{self, ErrorBody};
use crate::selection::built_in;

/// The longest line.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;
/// How many lines are handed over at once, if so many are there, and how often that is done ahead.
const LINES_AT_ONCE: usize = 64;
const READ_AHEAD: usize = 4;
/// How many endings wait for an earlier one.
const MOST_WAITING: usize = 4096;
/// How many bytes are written at once while more is to come.
const CHUNK: usize = 64 * 1024;

/// Make many calls with one start: JSON lines in, one JSON line per ending out
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A line is {\"tool\":\"SERVER/TOOL\",\"arguments\":{...}}; a plain tool name will do while no other
server has it. Each call gives a line {\"line\":N,\"tool\":...,\"result\":...}, or \"error\" in place of
\"result\", in the order of the calls unless --unordered. It is done, with exit code 0, if every
call has a result.

Example:
  attache batch calls.jsonl
  generate-calls | attache batch --concurrency 64 --unordered -- my-server")]
pub(crate) struct Batch {
    /// The file with the calls; stdin if there is none
    file: Option<PathBuf>,
    /// So many calls at a time
    #[arg(
        long,
        value_name = "M",
        default_value_t = 16,
        value_parser = clap::value_parser!(u16).range(1..=1024)
    )]
    concurrency: u16,
    /// Print each ending as it comes
    #[arg(long)]
    unordered: bool,
    /// Call without asking where the policy says to ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    servers: ServerArgs,
}

/// A call as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    tool: String,
    #[serde(default)]
    arguments: Option<Json>,
}

/// The place of a call among the others, and the line it came from.
#[derive(Clone, Copy)]
struct Place {
    number: usize,
    line: usize,
}

/// One call's ending.
struct Ended {
    number: usize,
    line: String,
    is_result: bool,
}

#[derive(Serialize)]
struct Failed<'a> {
    line: usize,
    tool: Option<&'a str>,
    error: ErrorBody<'a>,
}

impl Verb for Batch {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let input: Box<dyn Read + Send> = match &self.file {
            Some(file) => Box::new(std::fs::File::open(file).map_err(|error| {
                Failure::usage(format!("cannot read {}: {error}", file.display()))
            })?),
            None => Box::new(std::io::stdin()),
        };
        if self.file.is_none() && std::io::IsTerminal::is_terminal(&std::io::stdin()) {
            output.note("reading calls from the terminal, one per line; Ctrl-D ends them");
        }
        let selection = self.servers.selection()?.1.approved(self.yes);
        let session = context.open(selection).await?;
        let known = session.host.server_names();
        let mut lines = Lines::of(input);
        let concurrency = usize::from(self.concurrency);
        let mut under_way: JoinSet<Ended> = JoinSet::new();
        // The calls under way, with the lines they came from.
        let mut open: BTreeMap<usize, usize> = BTreeMap::new();
        let mut printer = Printer::new(output, self.unordered);
        let (mut begun, mut at, mut is_open) = (0, 0, true);
        let stopped = loop {
            let has_room = under_way.len() < concurrency && printer.waiting() < MOST_WAITING;
            if !is_open && under_way.is_empty() {
                break false;
            }
            tokio::select! {
                biased;
                Some(ended) = under_way.join_next(), if !under_way.is_empty() => {
                    let mut next = Some(ended);
                    while let Some(ended) = next {
                        if let Ok(ended) = ended {
                            open.remove(&ended.number);
                            printer.take(ended)?;
                        }
                        next = under_way.try_join_next();
                    }
                }
                line = lines.next(), if is_open && has_room => match line {
                    Some(line) => {
                        at += 1;
                        match line.and_then(|line| wanted(&line, &known)) {
                            Ok(None) => {}
                            Ok(Some(wanted)) => {
                                begun += 1;
                                open.insert(begun, at);
                                let place = Place { number: begun, line: at };
                                under_way.spawn(call(session.host.clone(), place, wanted));
                            }
                            Err(failure) => {
                                begun += 1;
                                let place = Place { number: begun, line: at };
                                printer.take(failed(place, None, &failure))?;
                            }
                        }
                        continue;
                    }
                    None => is_open = false,
                },
                () = session.interrupted() => break true,
            }
            // What is ready is written before anything is waited for.
            printer.flush_if(under_way.is_empty() || lines.is_empty())?;
        };
        drop(under_way);
        if stopped {
            for (number, line) in open {
                printer.take(failed(Place { number, line }, None, &cancelled()))?;
            }
        }
        printer.finish()?;
        match (stopped, printer.failed) {
            (true, _) => Err(session.cancelled()),
            (false, 0) => Ok(()),
            (false, 1) => Err(not_all(format!("1 of {begun} calls failed"))),
            (false, count) => Err(not_all(format!("{count} of {begun} calls failed"))),
        }
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}

fn not_all(message: String) -> Failure {
    Failure::new(Kind::ToolFailed, Exit::Failed, message)
        .hint("the lines with \"error\" or \"isError\" say why")
}

/// A line that was read, or why there is none.
type Line = Result<String, Failure>;

/// Lines that are read on a thread of their own, because a terminal or a pipe can only be waited
/// for. As many are handed over at once as are there.
struct Lines {
    ahead: std::vec::IntoIter<Line>,
    further: mpsc::Receiver<Vec<Line>>,
}

impl Lines {
    fn of(input: Box<dyn Read + Send>) -> Self {
        let (tell, further) = mpsc::channel(READ_AHEAD);
        std::thread::spawn(move || read_all(input, &tell));
        Self {
            ahead: Vec::new().into_iter(),
            further,
        }
    }

    /// The next line. None is lost if this is dropped before it is done.
    async fn next(&mut self) -> Option<Line> {
        loop {
            if let Some(line) = self.ahead.next() {
                return Some(line);
            }
            self.ahead = self.further.recv().await?.into_iter();
        }
    }

    /// Whether none is at hand.
    fn is_empty(&self) -> bool {
        self.ahead.as_slice().is_empty() && self.further.is_empty()
    }
}

fn read_all(input: Box<dyn Read + Send>, tell: &mpsc::Sender<Vec<Line>>) {
    let mut input = BufReader::with_capacity(CHUNK, input);
    let mut lines = Vec::new();
    loop {
        let is_last = match read_line(&mut input) {
            Ok(Some(line)) => {
                lines.push(line);
                false
            }
            Ok(None) => true,
            Err(error) => {
                lines.push(Err(Failure::usage(format!("cannot read on: {error}"))));
                true
            }
        };
        let is_full = lines.len() == LINES_AT_ONCE || !input.buffer().contains(&b'\n');
        if is_last || is_full {
            let told = tell.blocking_send(std::mem::take(&mut lines));
            if told.is_err() || is_last {
                return;
            }
        }
    }
}

fn read_line(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let length = input.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    Ok(match length as u64 {
        0 => None,
        LONGEST_LINE => {
            let message = format!("a line is longer than {LONGEST_LINE} bytes");
            Some(Err(Failure::usage(message)))
        }
        _ => {
            let line = String::from_utf8(line);
            Some(line.map_err(|_| Failure::usage("the line is not valid UTF-8")))
        }
    })
}

/// The call of a line; none if it is empty.
fn wanted(line: &str, known: &[ServerName]) -> Result<Option<Wanted>, Failure> {
    if line.trim().is_empty() {
        return Ok(None);
    }
    let wanted: Wanted = serde_json::from_str(line).map_err(|error| {
        Failure::usage(format!("the line is no call: {error}"))
            .hint("a line is like {\"tool\":\"SERVER/TOOL\",\"arguments\":{}}")
    })?;
    match wanted.tool.split_once('/') {
        // Which servers there are was decided before the first line was read.
        Some((server, _)) if is_left_out(server, known) => Err(Failure::usage(format!(
            "{server} is built in and not among your servers"
        ))
        .hint(format!(
            "`attache batch --server {server}` makes the calls of that one"
        ))),
        _ => Ok(Some(wanted)),
    }
}

fn is_left_out(server: &str, known: &[ServerName]) -> bool {
    built_in(server).is_some() && !known.iter().any(|name| name.as_str() == server)
}

async fn call(host: Host, place: Place, wanted: Wanted) -> Ended {
    let arguments = wanted.arguments.unwrap_or_else(empty_object);
    let call = host.call(wanted.tool.as_str(), arguments);
    let payload = match call.origin(CallOrigin::Person).raw().await {
        Ok(payload) => payload,
        Err(error) => return failed(place, Some(&wanted.tool), &error.into()),
    };
    match ending(place, &wanted.tool, &payload) {
        Ok(ended) => ended,
        Err(error) => {
            let failure = crate::failure::unreadable("tools/call", &error);
            failed(place, Some(&wanted.tool), &failure)
        }
    }
}

/// The line of a result, which stays as the server sent it.
fn ending(place: Place, tool: &str, payload: &Payload) -> Result<Ended, serde_json::Error> {
    let has_failed = CallToolResult::says_failed(payload)?;
    let result = payload.text();
    // Line ends in JSON stand between values only, so they may go.
    let result = match result.contains(['\n', '\r']) {
        true => result.replace(['\n', '\r'], " ").into(),
        false => result,
    };
    let (line, tool) = (place.line, json::write(&tool));
    Ok(Ended {
        number: place.number,
        line: format!("{{\"line\":{line},\"tool\":{tool},\"result\":{result}}}"),
        is_result: !has_failed,
    })
}

fn empty_object() -> Json {
    Json::parse("{}").unwrap_or_default()
}

fn failed(place: Place, tool: Option<&str>, failure: &Failure) -> Ended {
    Ended {
        number: place.number,
        line: json::write(&Failed {
            line: place.line,
            tool,
            error: failure.into(),
        }),
        is_result: false,
    }
}

/// Puts endings in order and writes many at once.
struct Printer<'a> {
    output: &'a Output,
    is_unordered: bool,
    next: usize,
    early: BTreeMap<usize, String>,
    lines: String,
    failed: usize,
}

impl<'a> Printer<'a> {
    fn new(output: &'a Output, is_unordered: bool) -> Self {
        Self {
            output,
            is_unordered,
            next: 1,
            early: BTreeMap::new(),
            lines: String::new(),
            failed: 0,
        }
    }

    /// How many endings wait for an earlier one.
    fn waiting(&self) -> usize {
        self.early.len()
    }

    fn take(&mut self, ended: Ended) -> Result<(), Failure> {
        self.failed += usize::from(!ended.is_result);
        if self.is_unordered {
            self.add(&ended.line);
        } else {
            self.early.insert(ended.number, ended.line);
            while let Some(line) = self.early.remove(&self.next) {
                self.next += 1;
                self.add(&line);
            }
        }
        self.flush_if(self.lines.len() >= CHUNK)
    }

    fn add(&mut self, line: &str) {
        self.lines.push_str(line);
        self.lines.push('\n');
    }

    fn flush_if(&mut self, is_time: bool) -> Result<(), Failure> {
        if is_time && !self.lines.is_empty() {
            self.output.documents(&self.lines)?;
            self.lines.clear();
        }
        Ok(())
    }

    /// Writes what is left, also what waits for an ending that will not come.
    fn finish(&mut self) -> Result<(), Failure> {
        for line in std::mem::take(&mut self.early).into_values() {
            self.add(&line);
        }
        self.flush_if(true)
    }
}
