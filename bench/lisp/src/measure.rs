//! The measuring: rounds over all engines, the processor time of each process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::resource::{UsageWho, getrusage};

use crate::engines::Engine;
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
    report.starts = rounds_of(&present, &empty, rounds, scratch, report)?.0;
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
            .map(|(engine, time)| {
                let start = report.starts.get(&engine).copied().unwrap_or(0.0);
                // A program that costs next to nothing still costs a tenth of a millisecond.
                (engine, (time - start).max(0.1))
            })
            .collect();
        report.programs.push((name.clone(), own));
    }
    Ok(())
}

type Times = BTreeMap<Engine, f64>;
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
    let mut times: BTreeMap<Engine, Vec<f64>> = BTreeMap::new();
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
            times.sort_by(f64::total_cmp);
            (engine, times[times.len() / 2])
        })
        .collect();
    Ok((medians, outputs))
}

/// Milliseconds of processor time of one run, and its output.
fn once(command: &mut Command) -> Result<(f64, String)> {
    let before = children_ms()?;
    let output = command.stdin(Stdio::null()).output()?;
    let after = children_ms()?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let words = words.lines().next().unwrap_or_default().to_owned();
        return Err(format!("{}: {words}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?.trim().to_owned();
    Ok((after - before, text))
}

fn children_ms() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let (user, system) = (usage.user_time(), usage.system_time());
    let seconds = (user.tv_sec() + system.tv_sec()) as f64;
    let micros = (user.tv_usec() + system.tv_usec()) as f64;
    Ok(seconds * 1e3 + micros / 1e3)
}
