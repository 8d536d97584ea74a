//! The UI beside that of the MCP Inspector: one server, one size, one run, a pseudo-terminal each.
//!
//! `bench/run --ui` installs the Inspector, builds, and starts this with the attache binary, the
//! folder of the peers and how often everything is done. A UI that cannot be started leaves its
//! column empty.

mod visit;

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use attache_testkit::chaos::{Launch, Script};
use serde_json::json;

use visit::{Steps, visit};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How many tools the server has: all of them fit on the screen.
const TOOLS: usize = 20;

/// What is measured, in the order of [`visit::Numbers`].
const ROWS: [(&str, &str); 6] = [
    ("start to first frame", "ms"),
    ("start to the list of tools", "ms"),
    ("arrow key to frame", "ms"),
    ("memory, all processes but the server", "MB"),
    ("key to the end of all processes", "ms"),
    ("processes left", ""),
];

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [program, peers, rounds] = words.as_slice() else {
        return Err("usage: beside ATTACHE PEERS ROUNDS".into());
    };
    let server = server()?;
    let steps = [
        ours(std::fs::canonicalize(program)?, &server)?,
        inspectors(Path::new(peers), &server)?,
    ];
    let mut taken: [Vec<visit::Numbers>; 2] = [Vec::new(), Vec::new()];
    let mut failures = [const { None }; 2];
    for round in 0..=rounds.parse::<usize>()? {
        // Each round begins with another UI; the first one only warms the system's caches.
        for turn in 0..steps.len() {
            let which = (round + turn) % steps.len();
            if failures[which].is_some() {
                continue;
            }
            match visit(&steps[which], &server) {
                Ok(numbers) if round > 0 => taken[which].push(numbers),
                Ok(_) => {}
                Err(cause) => failures[which] = Some(cause),
            }
        }
    }
    print(&steps, &taken)?;
    for (steps, failure) in steps.iter().zip(failures) {
        if let Some(cause) = failure {
            let name = steps.name;
            writeln!(std::io::stdout(), "\nMissing:\n  {name}: {cause}")?;
        }
    }
    Ok(())
}

fn print(steps: &[Steps; 2], taken: &[Vec<visit::Numbers>; 2]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let [ours, theirs] = steps.each_ref().map(|steps| steps.name);
    let rounds = taken.each_ref().map(Vec::len);
    writeln!(out, "{:<38} {ours:>12} {theirs:>12} {:>8}", "", "ratio")?;
    for (at, (title, unit)) in ROWS.iter().enumerate() {
        let [ours, theirs] = taken.each_ref().map(|rounds| median(rounds, at));
        let cell = |value: Option<f64>| match value {
            Some(count) if unit.is_empty() => format!("{count:.0}"),
            Some(value) => format!("{value:.1} {unit}"),
            None => "–".to_owned(),
        };
        let ratio = match (ours, theirs) {
            (Some(ours), Some(theirs)) if theirs > 0.0 => format!("{:.3}×", ours / theirs),
            _ => "–".to_owned(),
        };
        let (ours, theirs) = (cell(ours), cell(theirs));
        writeln!(out, "{title:<38} {ours:>12} {theirs:>12} {ratio:>8}")?;
    }
    writeln!(out, "medians of {} and {} rounds", rounds[0], rounds[1])?;
    Ok(())
}

fn median(rounds: &[visit::Numbers], at: usize) -> Option<f64> {
    let mut values: Vec<f64> = rounds.iter().map(|numbers| numbers[at]).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn server() -> Result<Launch> {
    let tools = (0..TOOLS).map(|number| {
        json!({
            "name": visit::tool(number),
            "description": format!("Searches the records of collection {number}."),
            "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
        })
    });
    Ok(Script::legacy("2025-11-25").tools(tools).launch()?)
}

/// Ours connects by itself and begins with the tools.
fn ours(program: PathBuf, server: &Launch) -> Result<Steps> {
    let words = server.args.iter().map(|word| format!("{word:?}"));
    let config = format!(
        "[servers.one]\ncommand = {:?}\nargs = [{}]\n",
        server.program,
        words.collect::<Vec<_>>().join(", ")
    );
    Ok(Steps {
        name: "attache",
        command: vec![program.into(), "ui".into()],
        config: Some((".config/attache/attache.toml", config)),
        to_the_tools: &[],
        to_the_list: "",
        cursor: '▌',
        quit: "q",
    })
}

/// The Inspector is told to connect and to show the tools, each as soon as it can be.
fn inspectors(peers: &Path, server: &Launch) -> Result<Steps> {
    let packages = peers.join("node_commands/node_modules");
    let launcher = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";
    let mut command = vec![
        packages.join("node/bin/node").into(),
        packages.join(launcher).into(),
        "--tui".into(),
        server.program.clone().into(),
    ];
    command.extend(server.args.iter().cloned());
    Ok(Steps {
        name: "inspector",
        command,
        config: None,
        to_the_tools: &[("[Connect]", "c"), ("[Disconnect]", "t")],
        to_the_list: "\t",
        cursor: '▶',
        quit: "\u{1b}",
    })
}
