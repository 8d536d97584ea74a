//! `attache batch`: many calls with one start, as JSON lines.
//!
//! Owns the lines that come in and go out. Lines that are no call become an ending of their own, so
//! that one bad line spoils itself only. What is read ahead and what waits for its turn is bounded.

mod lines;
mod printer;

use std::io::{IsTerminal as _, Read};
use std::path::PathBuf;
use std::sync::Arc;

use attache::host::config::ServerName;
use attache::protocol::{CallToolResult, Json, Payload};
use memchr::memchr2;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use self::lines::Lines;
use self::printer::{Ended, Place, Printer};
use super::{Context, Known, Typed, Verb};
use crate::args::ServerArgs;
use crate::caller::Caller;
use crate::failure::{Exit, Failure, Kind};
use crate::output::json::{self, ErrorBody};
use crate::selection::built_in;

/// How many bytes are read at once, and written while more is to come.
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
        if self.file.is_none() && std::io::stdin().is_terminal() {
            output.note("reading calls from the terminal, one per line; Ctrl-D ends them");
        }
        let selection = self.servers.selection()?.1.approved(self.yes);
        let session = context.open(selection).await?;
        let work = Arc::new(Work {
            caller: session.caller().await?,
            known: session.server_names().to_vec(),
            lines: Lines::of(input),
            printer: Mutex::new(Printer::new(output.clone(), self.unordered)),
            room: Notify::new(),
        });
        let mut callers: JoinSet<_> = (0..self.concurrency)
            .map(|_| make_calls(work.clone()))
            .collect();
        let stopped = loop {
            tokio::select! {
                done = callers.join_next() => match done {
                    Some(Ok(done)) => done?,
                    Some(Err(fell)) => break Some(Failure::unexpected(fell.to_string())),
                    None => break None,
                },
                () = session.interrupted() => break Some(session.cancelled()),
            }
        };
        drop(callers);
        let mut printer = work.printer.lock();
        if let Some(failure) = &stopped {
            printer.end_all(|place| failed(place, None, failure))?;
        }
        printer.prompt(true)?;
        match (stopped, printer.counts()) {
            (Some(failure), _) => Err(failure),
            (None, (_, 0)) => Ok(()),
            (None, (begun, 1)) => Err(not_all(format!("1 of {begun} calls failed"))),
            (None, (begun, count)) => Err(not_all(format!("{count} of {begun} calls failed"))),
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

/// What the callers share. As many of them as calls are made at a time take a line, make its call
/// and print its ending, so that a call costs no task of its own.
struct Work {
    caller: Caller,
    known: Vec<ServerName>,
    lines: Lines,
    printer: Mutex<Printer>,
    /// Told when endings that waited are printed.
    room: Notify,
}

async fn make_calls(work: Arc<Work>) -> Result<(), Failure> {
    loop {
        work.has_room().await;
        let Some((place, wanted)) = work.next().await? else {
            return Ok(());
        };
        let ended = match wanted {
            Ok(wanted) => call(&work.caller, place, wanted).await,
            Err(failure) => failed(place, None, &failure),
        };
        if work.printer.lock().end(place, ended)? {
            work.room.notify_waiters();
        }
    }
}

impl Work {
    /// Waits until fewer endings wait for an earlier one.
    async fn has_room(&self) {
        loop {
            let room = self.room.notified();
            if !self.printer.lock().is_full() {
                return;
            }
            room.await;
        }
    }

    /// The next call, or why its line is none. What is ready is written before anything is waited
    /// for.
    async fn next(&self) -> Result<Option<(Place, Result<Wanted, Failure>)>, Failure> {
        let waits = |waits| self.printer.lock().prompt(waits);
        while let Some((number, line)) = self.lines.next(waits).await? {
            let wanted = line.and_then(|line| wanted(&line, &self.known));
            if let Some(wanted) = wanted.transpose() {
                return Ok(Some((self.printer.lock().begin(number), wanted)));
            }
        }
        Ok(None)
    }
}

/// The call of a line; none if it is empty.
fn wanted(line: &[u8], known: &[ServerName]) -> Result<Option<Wanted>, Failure> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let line = std::str::from_utf8(line);
    let line = line.map_err(|_| Failure::usage("the line is not valid UTF-8"))?;
    let wanted: Wanted = serde_json::from_str(line).map_err(|error| {
        // Which line it is stands beside the message.
        let error = error.to_string().replace(" at line 1 ", " at ");
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

async fn call(caller: &Caller, place: Place, wanted: Wanted) -> Ended {
    let arguments = wanted.arguments.unwrap_or_else(empty_object);
    let payload = match caller.call(&wanted.tool, arguments).await {
        Ok(payload) => payload,
        Err(failure) => return failed(place, Some(&wanted.tool), &failure),
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
    let result = match memchr2(b'\n', b'\r', result.as_bytes()) {
        Some(_) => result.replace(['\n', '\r'], " ").into(),
        None => result,
    };
    let (number, tool) = (place.line.to_string(), json::write(&tool));
    let line = [
        "{\"line\":",
        &number,
        ",\"tool\":",
        &tool,
        ",\"result\":",
        &result,
        "}",
    ];
    Ok(Ended {
        line: line.concat(),
        is_result: !has_failed,
    })
}

fn empty_object() -> Json {
    Json::parse("{}").unwrap_or_default()
}

fn failed(place: Place, tool: Option<&str>, failure: &Failure) -> Ended {
    Ended {
        line: json::write(&Failed {
            line: place.line,
            tool,
            error: failure.into(),
        }),
        is_result: false,
    }
}
