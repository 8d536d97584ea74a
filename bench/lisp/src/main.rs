//! The Lisp benchmark: the same programs through the product's evaluator, with its limits on, and
//! through its peers. `bench/run --lisp` builds and starts it; `README.md` says how to read what it
//! prints.

mod engines;
mod measure;
mod report;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use engines::Engine;
use report::Report;

/// Whatever goes wrong here is told to a person, so words are enough.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Rounds of a full and of a quick run.
const ROUNDS: usize = 9;
const QUICK_ROUNDS: usize = 3;

const USAGE: &str = "usage: bench-lisp --programs FOLDER [--quick] [--only PROGRAM] [--json FILE]";

fn main() -> ExitCode {
    match start() {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            progress(&cause.to_string());
            ExitCode::FAILURE
        }
    }
}

/// Says what is being done. A terminal that went away is no reason to stop.
pub(crate) fn progress(activity: &str) {
    let _ = writeln!(io::stderr(), "bench: {activity}");
}

fn start() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, engine, program] = arguments.as_slice()
        && mode == engines::EVALUATE
    {
        return engines::evaluate(engine, program);
    }
    let mut programs = None;
    let mut json = None;
    let mut rounds = ROUNDS;
    let mut only = Vec::new();
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--lisp" => {}
            "--quick" => rounds = QUICK_ROUNDS,
            "--programs" => programs = Some(PathBuf::from(value()?)),
            "--json" => json = Some(PathBuf::from(value()?)),
            "--only" => only.push(value()?),
            "--help" => return Ok(writeln!(io::stdout(), "{USAGE}")?),
            _ => return Err(format!("{argument} is unknown; {USAGE}").into()),
        }
    }
    let folder = programs.ok_or(USAGE)?;
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|stem| stem.to_str());
        let Some(name) = name.filter(|_| path.extension().is_some_and(|it| it == "scm")) else {
            continue;
        };
        if only.is_empty() || only.iter().any(|wanted| wanted == name) {
            files.push((name.to_owned(), path));
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(format!("no program in {}", folder.display()).into());
    }
    let mut report = Report::default();
    measure::run(&Engine::ALL, &files, rounds, &mut report)?;
    report.print(&mut io::stdout().lock())?;
    if let Some(path) = json {
        std::fs::write(path, format!("{:#}\n", report.json()))?;
    }
    Ok(())
}
