//! The rounds, and the table they give.

use std::io::Write as _;
use std::time::Duration;

use crate::Result;
use crate::http_load::{CONNECTIONS, HttpServer};
use crate::stdio_load::{IN_FLIGHT, StdioServer};

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Full,
    Quick,
}

/// The kits; every ratio is to the second one.
const KITS: [&str; 2] = ["attache", "rmcp"];

/// What a ratio must be.
enum Target {
    AtLeast(f64),
    AtMost(f64),
}

struct Row {
    title: String,
    unit: &'static str,
    target: Option<Target>,
    /// One number per round, per kit.
    rounds: [Vec<f64>; 2],
}

pub(crate) fn measure(extent: Extent) -> Result<()> {
    let (rounds, calls, batches) = match extent {
        Extent::Full => (11, 3000, 200),
        Extent::Quick => (5, 1000, 60),
    };
    let row = |title: String, unit: &'static str, target: Option<Target>| Row {
        title,
        unit,
        target,
        rounds: [Vec::new(), Vec::new()],
    };
    let mut rows = [
        // Waking the other end of a pipe on another core costs several times what either kit does
        // for a call, in time and in processor time. Both are shown and not judged.
        row("stdio, one call, p50".to_owned(), "µs", None),
        row("stdio, one call, CPU".to_owned(), "µs", None),
        row(
            format!("stdio, {IN_FLIGHT} in flight"),
            "k/s",
            Some(Target::AtLeast(2.0)),
        ),
        row(
            format!("stdio, {IN_FLIGHT}, CPU per call"),
            "µs",
            Some(Target::AtMost(0.5)),
        ),
        row(
            "HTTP, one call, p50".to_owned(),
            "µs",
            Some(Target::AtMost(1.0)),
        ),
        row(
            format!("HTTP, {CONNECTIONS} in flight"),
            "k/s",
            Some(Target::AtLeast(1.0)),
        ),
    ];
    let mut stdio = [StdioServer::start(KITS[0])?, StdioServer::start(KITS[1])?];
    let mut http = [HttpServer::start(KITS[0])?, HttpServer::start(KITS[1])?];
    for round in 0..=rounds {
        // Each round begins with another kit; the first one does not count.
        for turn in 0..KITS.len() {
            let kit = (round + turn) % KITS.len();
            let server = &mut stdio[kit];
            let before = server.processor_time()?;
            let one_call = server.sequential(calls)?;
            let between = server.processor_time()?;
            let rate = server.in_flight(batches)?;
            let after = server.processor_time()?;
            let numbers = [
                microseconds(one_call, 1),
                microseconds(between - before, calls),
                rate / 1e3,
                microseconds(after - between, batches * IN_FLIGHT),
                microseconds(http[kit].sequential(calls)?, 1),
                http[kit].concurrent(batches)? / 1e3,
            ];
            if round > 0 {
                for (row, number) in rows.iter_mut().zip(numbers) {
                    row.rounds[kit].push(number);
                }
            }
        }
    }
    print(&rows)
}

fn print(rows: &[Row]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:<26} {:>5} {:>10} {:>10} {:>8}  target",
        "", "", KITS[0], KITS[1], "ratio"
    )?;
    for row in rows {
        let [ours, theirs] = [median(&row.rounds[0]), median(&row.rounds[1])];
        let ratio = ours / theirs;
        let verdict = match row.target {
            Some(Target::AtLeast(limit)) => format!("≥ {limit}× {}", word(ratio >= limit)),
            Some(Target::AtMost(limit)) => format!("≤ {limit}× {}", word(ratio <= limit)),
            None => String::new(),
        };
        let (title, unit) = (&row.title, row.unit);
        writeln!(
            out,
            "{title:<26} {unit:>5} {ours:>10.1} {theirs:>10.1} {ratio:>7.2}×  {verdict}"
        )?;
    }
    Ok(())
}

fn microseconds(time: Duration, calls: usize) -> f64 {
    time.as_secs_f64() * 1e6 / calls as f64
}

fn word(holds: bool) -> &'static str {
    if holds { "reached" } else { "missed" }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "bench: {text}");
}
