//! One visit to a UI: start it, come to the tools, walk through them, look at its memory, leave.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use attache_testkit::chaos::Launch;
use attache_testkit::processes::{Process, children_of, is_running, look, usage};
use attache_testkit::scratch::Scratch;
use attache_testkit::terminal::{CommandBuilder, Terminal};

use crate::{Result, TOOLS};

const SIZE: (u16, u16) = (120, 40);
const DOWN: &str = "\u{1b}[B";
/// After so long without a drawing a UI has come to rest.
const REST: Duration = Duration::from_secs(1);
/// What runs so long after the key that quits stays.
const STAYS: Duration = Duration::from_secs(5);

/// One number for each row of the table.
pub(crate) type Numbers = [f64; 6];

/// How a person gets along in a UI.
pub(crate) struct Steps {
    pub(crate) name: &'static str,
    pub(crate) command: Vec<OsString>,
    /// A file in its home, and what is in it.
    pub(crate) config: Option<(&'static str, String)>,
    /// What is seen on the way from the start to the tools, and the key that is pressed then.
    pub(crate) to_the_tools: &'static [(&'static str, &'static str)],
    /// The key that makes the arrow keys move in the list of tools.
    pub(crate) to_the_list: &'static str,
    /// What stands before the tool that is chosen.
    pub(crate) cursor: char,
    pub(crate) quit: &'static str,
}

/// The name of a tool: none begins with the name of another.
pub(crate) fn tool(number: usize) -> String {
    format!("search_records_{number:02}")
}

pub(crate) fn visit(steps: &Steps, server: &Launch) -> Result<Numbers> {
    // A home of its own each time, so that no UI remembers anything.
    let home = Scratch::new("ui-beside")?;
    if let Some((file, text)) = &steps.config {
        home.write(file, text)?;
    }
    let command = CommandBuilder::from_argv(steps.command.clone());
    let mut terminal = Terminal::start(command, home.path(), SIZE)?;
    let started = terminal.started();
    let first = terminal.until("first frame", |rows| !rows.trim().is_empty())?;
    for (seen, key) in steps.to_the_tools {
        terminal.see(seen)?;
        terminal.key(key)?;
    }
    let at = |number: usize| format!("{} {}", steps.cursor, tool(number));
    let listed = terminal.until("the tools", |rows| {
        rows.contains(&at(0)) && rows.contains(&tool(TOOLS - 1))
    })?;
    terminal.settle(REST);
    let processes = tree(terminal.process())?;
    let servers = server.starts()?;
    let mut memory = 0;
    for process in &processes {
        if !servers.contains(&process.pid) {
            memory += usage(process.pid)?.proportional;
        }
    }
    if !steps.to_the_list.is_empty() {
        terminal.key(steps.to_the_list)?;
        terminal.settle(REST);
    }
    let mut moved = Vec::new();
    for number in 1..TOOLS {
        let pressed = terminal.key(DOWN)?;
        let mut drawn = terminal.frame()?;
        while !terminal.rows().contains(&at(number)) {
            drawn = terminal.frame()?;
        }
        moved.push(drawn.duration_since(pressed));
        // A UI may draw the same thing twice; the next key waits for that.
        terminal.settle(Duration::from_millis(100));
    }
    moved.sort_unstable();
    let quit = Instant::now();
    terminal.leave(steps.quit)?;
    let left = loop {
        let left = processes.iter().filter(|it| runs(it)).count();
        if left == 0 || quit.elapsed() > STAYS {
            break left;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    Ok([
        milliseconds(first - started),
        milliseconds(listed - started),
        milliseconds(moved[moved.len() / 2]),
        memory as f64 / f64::from(1 << 20),
        milliseconds(quit.elapsed()),
        left as f64,
    ])
}

/// A process and everything below it.
fn tree(process: u32) -> Result<Vec<Process>> {
    let mut found = vec![look(process)?];
    let mut next = 0;
    while let Some(parent) = found.get(next).map(|process| process.pid) {
        found.extend(children_of(parent)?);
        next += 1;
    }
    Ok(found)
}

/// Whether it is this process that runs, and not a later one with its id.
fn runs(process: &Process) -> bool {
    let same = look(process.pid).is_ok_and(|now| now.started == process.started);
    same && is_running(process.pid).unwrap_or(false)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
