//! The measuring: rounds over all engines, the processor time of each process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::resource::{UsageWho, getrusage};

use crate::engines::{Engine, OWN_TIME};
use crate::report::Report;
use crate::{Result, progress};

/// Measures every program with every engine that is there.
pub(crate) fn run(
    engines: &[Engine],
    files: &[(String, PathBuf)],
    rounds: usize,
    report: &mut Report,
) -> Result<()> {
    let scratch = std::env::temp_dir().join(format!("bench-lisp-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let result = measure(engines, files, rounds, report, &scratch);
    // What is left there harms nobody.
    let _ = std::fs::remove_dir_all(&scratch);
    result
}

fn measure(
    engines: &[Engine],
    files: &[(String, PathBuf)],
    rounds: usize,
    report: &mut Report,
    scratch: &Path,
) -> Result<()> {
    let mut present = Vec::new();
    for &engine in engines {
        match engine.absence() {
            Some(why) => report.missing(engine, &why),
            None => present.push(engine),
        }
    }
    let empty = scratch.join("empty.scm");
    std::fs::write(&empty, "\n")?;
    progress("starting with an empty program");
    let starts = rounds_of(&present, &empty, rounds, scratch, report)?.0;
    report.starts = starts
        .into_iter()
        .map(|(engine, time)| (engine, time.total))
        .collect();
    for (name, path) in files {
        progress(name);
        let (times, outputs) = rounds_of(&present, path, rounds, scratch, report)?;
        let expected = outputs.get(&Engine::Attache);
        for (engine, output) in &outputs {
            if Some(output) != expected {
                let why = format!("{name} gives {output:?}, not {expected:?}");
                report.missing(*engine, &why);
            }
        }
        let own: BTreeMap<Engine, f64> = times
            .into_iter()
            .filter(|(engine, _)| outputs.get(engine) == expected)
            .map(|(engine, time)| (engine, time.of_program(report.starts.get(&engine))))
            .collect();
        report.programs.push((name.clone(), own));
    }
    Ok(())
}

/// Milliseconds of processor time.
#[derive(Clone, Copy, Debug)]
struct Time {
    /// Of the whole process.
    total: f64,
    /// Of the program alone, from an engine that tells it.
    own: Option<f64>,
}

impl Time {
    /// The time of the program; at least a tenth of a millisecond, which is as fine as it gets.
    fn of_program(self, start: Option<&f64>) -> f64 {
        let rest = self.total - start.copied().unwrap_or(0.0);
        self.own.unwrap_or(rest).max(0.1)
    }
}

type Times = BTreeMap<Engine, Time>;
type Outputs = BTreeMap<Engine, String>;

/// The median milliseconds of each engine, and what each printed.
fn rounds_of(
    engines: &[Engine],
    program: &Path,
    rounds: usize,
    scratch: &Path,
    report: &mut Report,
) -> Result<(Times, Outputs)> {
    let mut commands = Vec::new();
    for &engine in engines {
        match engine.prepare(program, scratch) {
            Ok(command) => commands.push((engine, command)),
            Err(why) => report.missing(engine, &why.to_string()),
        }
    }
    let mut times: BTreeMap<Engine, Vec<Time>> = BTreeMap::new();
    let mut outputs = BTreeMap::new();
    for round in 0..=rounds {
        // Each round begins with another engine.
        let count = commands.len();
        for index in 0..count {
            let (engine, command) = &mut commands[(index + round) % count];
            match once(command) {
                // The first round only warms the caches.
                Ok((time, output)) => {
                    if round > 0 {
                        times.entry(*engine).or_default().push(time);
                    }
                    outputs.insert(*engine, output);
                }
                Err(why) => {
                    report.missing(*engine, &format!("{}: {why}", program.display()));
                    times.remove(engine);
                }
            }
        }
    }
    let medians = times
        .into_iter()
        .map(|(engine, mut times)| {
            let key = |time: &Time| time.own.unwrap_or(time.total);
            times.sort_by(|a, b| key(a).total_cmp(&key(b)));
            (engine, times[times.len() / 2])
        })
        .collect();
    Ok((medians, outputs))
}

/// The time of one run, and its output.
fn once(command: &mut Command) -> Result<(Time, String)> {
    let before = cpu_ms(UsageWho::RUSAGE_CHILDREN)?;
    let output = command.stdin(Stdio::null()).output()?;
    let total = cpu_ms(UsageWho::RUSAGE_CHILDREN)? - before;
    let words = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let words = words.lines().next().unwrap_or_default();
        return Err(format!("{}: {words}", output.status).into());
    }
    let own = words
        .lines()
        .find_map(|line| line.strip_prefix(OWN_TIME)?.parse().ok());
    // One engine writes the long names of booleans.
    let text = String::from_utf8(output.stdout)?;
    let text = text.trim().replace("#true", "#t").replace("#false", "#f");
    Ok((Time { total, own }, text))
}

/// Milliseconds of user and system time.
pub(crate) fn cpu_ms(who: UsageWho) -> Result<f64> {
    let usage = getrusage(who)?;
    let (user, system) = (usage.user_time(), usage.system_time());
    let seconds = (user.tv_sec() + system.tv_sec()) as f64;
    let micros = (user.tv_usec() + system.tv_usec()) as f64;
    Ok(seconds * 1e3 + micros / 1e3)
}
