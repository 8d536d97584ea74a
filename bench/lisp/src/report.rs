//! The report: a table on standard output and the same numbers as JSON.
//!
//! Refuses to know how a number came about.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::engines::Engine;

/// No program may take longer than this many times the better of the two judges.
const WORST: f64 = 2.0;
/// Those the verdicts compare with.
const JUDGES: [Engine; 2] = [Engine::Gambit, Engine::Steel];
const EMPTY: &str = "–";

/// Everything a run has found out, in milliseconds of processor time.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// What each engine takes for an empty program.
    pub(crate) starts: BTreeMap<Engine, f64>,
    /// What each program takes beyond that.
    pub(crate) programs: Vec<(String, BTreeMap<Engine, f64>)>,
    absences: BTreeSet<(Engine, String)>,
}

impl Report {
    /// Notes that an engine has no number, and why.
    pub(crate) fn missing(&mut self, engine: Engine, why: &str) {
        self.absences.insert((engine, why.to_owned()));
    }

    /// The geometric mean over the programs that the engine and this evaluator both ran, of each.
    fn means(&self, engine: Engine) -> Option<(f64, f64)> {
        let pairs: Vec<(f64, f64)> = self
            .programs
            .iter()
            .filter_map(|(_, times)| Some((*times.get(&engine)?, *times.get(&Engine::Attache)?)))
            .collect();
        let mean = |numbers: &mut dyn Iterator<Item = f64>| {
            (numbers.map(f64::ln).sum::<f64>() / pairs.len() as f64).exp()
        };
        (!pairs.is_empty()).then(|| {
            (
                mean(&mut pairs.iter().map(|pair| pair.0)),
                mean(&mut pairs.iter().map(|pair| pair.1)),
            )
        })
    }

    fn verdicts(&self) -> Vec<(String, bool)> {
        let mut verdicts = Vec::new();
        for judge in JUDGES {
            if let Some((theirs, ours)) = self.means(judge) {
                let ratio = ours / theirs;
                let text = format!(
                    "geometric mean {ratio:.2}× of {}, must be ≤ 1",
                    judge.name()
                );
                verdicts.push((text, ratio <= 1.0));
            }
        }
        for (name, times) in &self.programs {
            let best = JUDGES.iter().filter_map(|judge| times.get(judge));
            let best = best.copied().fold(f64::INFINITY, f64::min);
            let Some(ours) = times.get(&Engine::Attache).filter(|_| best.is_finite()) else {
                continue;
            };
            let ratio = ours / best;
            if ratio > WORST {
                let text = format!("{name} {ratio:.2}× of the better judge, must be ≤ {WORST}");
                verdicts.push((text, false));
            }
        }
        verdicts
    }

    pub(crate) fn print(&self, output: &mut impl Write) -> io::Result<()> {
        let mut heading = vec!["program, ms of CPU".to_owned()];
        heading.extend(Engine::ALL.map(|engine| engine.name().to_owned()));
        let mut table = vec![heading];
        for (name, times) in &self.programs {
            table.push(row(name, times));
            let ours = times.get(&Engine::Attache).copied();
            table.push(ratios(ours, |engine| times.get(&engine).copied()));
        }
        let mut means = vec!["geometric mean".to_owned()];
        means.extend(Engine::ALL.map(|engine| number(self.means(engine).map(|mean| mean.0))));
        table.push(means);
        let mut line = vec!["  ratio".to_owned()];
        line.extend(Engine::ALL.map(|engine| {
            self.means(engine)
                .map_or(EMPTY.to_owned(), |(theirs, ours)| {
                    format!("{:.2}×", theirs / ours)
                })
        }));
        table.push(line);
        table.push(row("start, left out above", &self.starts));
        write_table(output, &table)?;
        writeln!(output)?;
        for (text, good) in self.verdicts() {
            writeln!(output, "{}  {text}", if good { "met   " } else { "MISSED" })?;
        }
        for (engine, why) in &self.absences {
            writeln!(output, "missing  {}: {why}", engine.name())?;
        }
        Ok(())
    }

    pub(crate) fn json(&self) -> Value {
        let named = |times: &BTreeMap<Engine, f64>| -> Value {
            let entries = times.iter();
            entries
                .map(|(engine, time)| (engine.name().to_owned(), json!(time)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        json!({
            "unit": "ms of processor time, less the start",
            "programs": self.programs.iter().map(|(name, times)| {
                json!({"name": name, "times": named(times)})
            }).collect::<Vec<_>>(),
            "starts": named(&self.starts),
            "means": Engine::ALL.iter().filter_map(|&engine| {
                let (theirs, ours) = self.means(engine)?;
                Some(json!({"engine": engine.name(), "mean": theirs, "ratio": theirs / ours}))
            }).collect::<Vec<_>>(),
            "verdicts": self.verdicts().iter().map(|(text, good)| {
                json!({"text": text, "met": good})
            }).collect::<Vec<_>>(),
            "missing": self.absences.iter().map(|(engine, why)| {
                json!({"engine": engine.name(), "why": why})
            }).collect::<Vec<_>>(),
        })
    }
}

fn row(name: &str, times: &BTreeMap<Engine, f64>) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    row.extend(Engine::ALL.map(|engine| number(times.get(&engine).copied())));
    row
}

/// How many times as long as this evaluator each engine takes.
fn ratios(ours: Option<f64>, time: impl Fn(Engine) -> Option<f64>) -> Vec<String> {
    let mut row = vec!["  ratio".to_owned()];
    row.extend(Engine::ALL.map(|engine| match (ours, time(engine)) {
        (Some(ours), Some(time)) => format!("{:.2}×", time / ours),
        _ => EMPTY.to_owned(),
    }));
    row
}

fn number(number: Option<f64>) -> String {
    number.map_or(EMPTY.to_owned(), |number| format!("{number:.1}"))
}

fn write_table(output: &mut impl Write, table: &[Vec<String>]) -> io::Result<()> {
    let columns = table.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = table.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in table {
        let mut line = String::new();
        for (index, cell) in row.iter().enumerate() {
            let width = widths[index];
            if index == 0 {
                line.push_str(&format!("{cell:<width$}"));
            } else {
                line.push_str(&format!("  {cell:>width$}"));
            }
        }
        writeln!(output, "{}", line.trim_end())?;
    }
    Ok(())
}
