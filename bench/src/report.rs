//! The report: a table on standard output, the same numbers as JSON, and a line
//! on standard error for what is being done.
//!
//! Refuses to know how a number came about.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::batch::Batches;
use crate::clients::ClientKind;
use crate::kept::KeptCalls;
use crate::measure::Summary;
use crate::one_shot::OneShots;
use crate::rows::{Bound, Row, Unit, Verdict};

/// What a one-shot call may add to the server's own time, in milliseconds.
const ONE_SHOT_MUST: f64 = 15.0;
const ONE_SHOT_AIM: f64 = 5.0;
/// What share of the library's calls per second a batch from a shell reaches.
const BATCH_MUST: f64 = 0.5;
const BATCH_AIM: f64 = 0.8;
/// What a command adds to the answer of a server that is kept, in milliseconds.
const KEPT_MUST: f64 = 5.0;
const EMPTY: &str = "–";

/// Everything a run has found out.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    pub(crate) one_shots: Option<OneShots>,
    pub(crate) batches: Option<Batches>,
    pub(crate) kept: Option<KeptCalls>,
    /// Who is missing and why, and from which works.
    absences: BTreeMap<(String, String), Vec<&'static str>>,
}

/// Says what is being done. A terminal that went away is no reason to stop.
pub(crate) fn progress(activity: &str) {
    let _ = writeln!(io::stderr(), "bench: {activity}");
}

impl Report {
    pub(crate) fn new(rows: Vec<Row>) -> Self {
        Self {
            rows,
            ..Self::default()
        }
    }

    /// Notes that a work has no number for someone, and why.
    pub(crate) fn missing(&mut self, who: &str, work: &'static str, why: &str) {
        let works = self
            .absences
            .entry((who.to_owned(), why.to_owned()))
            .or_default();
        if !works.contains(&work) {
            works.push(work);
        }
    }

    pub(crate) fn print(&self, output: &mut impl Write) -> io::Result<()> {
        if !self.rows.is_empty() {
            write_table(output, &self.main_table())?;
        }
        if let Some(one_shots) = &self.one_shots {
            writeln!(output)?;
            write_table(output, &one_shot_table(one_shots))?;
        }
        if let Some(batches) = &self.batches {
            writeln!(output)?;
            write_table(output, &batch_table(batches))?;
        }
        if let Some(kept) = &self.kept {
            writeln!(output)?;
            write_table(output, &kept_table(kept))?;
        }
        if !self.absences.is_empty() {
            writeln!(output, "\nMissing:")?;
            for ((who, why), works) in &self.absences {
                writeln!(output, "  {who} ({}): {why}", works.join(", "))?;
            }
        }
        Ok(())
    }

    /// Two lines per row: the numbers, and below them the ratio to rmcp with
    /// the spread of the rounds. A second target stands on the second line.
    fn main_table(&self) -> Vec<Vec<String>> {
        let mut heading = vec!["work".to_owned()];
        heading.extend(ClientKind::ALL.map(|kind| kind.name().to_owned()));
        heading.extend(["must reach", "aim", "verdict"].map(str::to_owned));
        let mut table = vec![heading];
        for row in &self.rows {
            let mut numbers = vec![row.title.to_owned()];
            let mut ratios = vec![String::new()];
            for kind in ClientKind::ALL {
                let cell = row.cells.get(&kind);
                numbers.push(cell.map_or(EMPTY.to_owned(), |cell| number(cell.median, row.unit)));
                ratios.push(cell.map_or(String::new(), |cell| ratio(row.ratio(kind), cell)));
            }
            for (line, position) in [(&mut numbers, 0), (&mut ratios, 1)] {
                match row.targets.get(position) {
                    Some(target) => line.extend([
                        format!(
                            "{} {}",
                            short_name(target.judged),
                            bound(target.must, row.unit)
                        ),
                        bound(target.aim, row.unit),
                        row.verdict(target).text().to_owned(),
                    ]),
                    None => line.extend([const { String::new() }; 3]),
                }
            }
            table.extend([numbers, ratios]);
        }
        table
    }

    pub(crate) fn json(&self, mode: &str) -> Value {
        json!({
            "mode": mode,
            "machine": {
                "os": std::env::consts::OS,
                "architecture": std::env::consts::ARCH,
                "cores": std::thread::available_parallelism().map_or(0, usize::from),
            },
            "rows": self.rows.iter().map(row_json).collect::<Vec<_>>(),
            "one_shot": self.one_shots.as_ref().map(one_shot_json),
            "batch": self.batches.as_ref().map(|it| json!({
                "client_per_second": it.client, "host_per_second": it.host,
                "batch_per_second": it.batch,
                "share_of_client": it.share_of(&it.client), "share_of_host": it.share_of(&it.host),
            })),
            "up": self.kept.as_ref().map(|it| json!({
                "server_ms": it.server, "command_ms": it.command, "slowest_ms": it.slowest,
            })),
            "missing": self.absences.iter().map(|((who, why), works)| {
                json!({"who": who, "why": why, "works": works})
            }).collect::<Vec<_>>(),
        })
    }
}

fn row_json(row: &Row) -> Value {
    let cells: BTreeMap<_, _> = row
        .cells
        .iter()
        .map(|(kind, cell)| {
            let cell = json!({
                "median": cell.median, "low": cell.low, "high": cell.high,
                "rounds": cell.rounds, "ratio": row.ratio(*kind),
            });
            (kind.name(), cell)
        })
        .collect();
    let targets: Vec<_> = row
        .targets
        .iter()
        .map(|target| {
            json!({
                "judged": target.judged.name(),
                "must": bound(target.must, row.unit),
                "aim": bound(target.aim, row.unit),
                "verdict": row.verdict(target).text(),
            })
        })
        .collect();
    json!({
        "work": row.title, "unit": row.unit.symbol(), "clients": cells, "targets": targets,
    })
}

fn one_shot_json(one_shots: &OneShots) -> Value {
    let clients: BTreeMap<_, _> = one_shots
        .clients
        .iter()
        .filter_map(|client| {
            let time = client.time.as_ref().ok()?;
            let above = one_shots.above_server(client);
            Some((
                client.name,
                json!({"total_ms": time, "above_server_ms": above}),
            ))
        })
        .collect();
    json!({"server_ms": one_shots.server, "clients": clients})
}

fn one_shot_table(one_shots: &OneShots) -> Vec<Vec<String>> {
    let mut table = vec![
        [
            "one-shot call",
            "total",
            "above the server's own time",
            "must reach",
            "aim",
            "verdict",
        ]
        .map(str::to_owned)
        .to_vec(),
        vec![
            "the server itself".to_owned(),
            number(one_shots.server.median, Unit::Milliseconds),
        ],
    ];
    for client in &one_shots.clients {
        let mut line = vec![client.name.to_owned()];
        let above = one_shots.above_server(client);
        match &client.time {
            Ok(time) => line.extend([
                number(time.median, Unit::Milliseconds),
                above.map_or(EMPTY.to_owned(), |above| number(above, Unit::Milliseconds)),
            ]),
            Err(_) => line.extend([EMPTY.to_owned(), EMPTY.to_owned()]),
        }
        if client.name == "attache" {
            let verdict = match above {
                Some(above) if above <= ONE_SHOT_AIM => Verdict::AimReached,
                Some(above) if above <= ONE_SHOT_MUST => Verdict::Reached,
                Some(_) => Verdict::Missed,
                None => Verdict::NotMeasured,
            };
            line.extend([
                bound(Bound::AtMost(ONE_SHOT_MUST), Unit::Milliseconds),
                bound(Bound::AtMost(ONE_SHOT_AIM), Unit::Milliseconds),
                verdict.text().to_owned(),
            ]);
        }
        table.push(line);
    }
    table
}

fn batch_table(batches: &Batches) -> Vec<Vec<String>> {
    let rate = |calls: f64| number(calls / 1000.0, Unit::ThousandCallsPerSecond);
    let line = |what: &str, library: &Summary| {
        let share = batches.share_of(library);
        let verdict = match share {
            share if share >= BATCH_AIM => Verdict::AimReached,
            share if share >= BATCH_MUST => Verdict::Reached,
            _ => Verdict::Missed,
        };
        vec![
            what.to_owned(),
            rate(library.median),
            rate(batches.batch.median),
            format!("{share:.2} ±{:.0} %", batches.batch.spread() * 100.0),
            format!("≥ {BATCH_MUST}"),
            format!("≥ {BATCH_AIM}"),
            verdict.text().to_owned(),
        ]
    };
    let head = [
        "10,000 calls",
        "library",
        "attache batch",
        "ratio",
        "must reach",
        "aim",
        "verdict",
    ];
    vec![
        head.map(str::to_owned).to_vec(),
        line("a host with its call log", &batches.host),
        line("a client alone", &batches.client),
    ]
}

fn kept_table(kept: &KeptCalls) -> Vec<Vec<String>> {
    let ms = |value: f64| number(value, Unit::Milliseconds);
    let (middle, slowest) = kept.above_server();
    let verdict = match slowest <= KEPT_MUST {
        true => Verdict::Reached,
        false => Verdict::Missed,
    };
    vec![
        [
            "20 calls through `attache up`",
            "server",
            "command",
            "above",
            "slowest above",
            "must reach",
            "verdict",
        ]
        .map(str::to_owned)
        .to_vec(),
        vec![
            "a Python server".to_owned(),
            ms(kept.server.median),
            ms(kept.command.median),
            ms(middle),
            ms(slowest),
            bound(Bound::AtMost(KEPT_MUST), Unit::Milliseconds),
            verdict.text().to_owned(),
        ],
    ]
}

/// The first column to the left, all others to the right.
fn write_table(output: &mut impl Write, table: &[Vec<String>]) -> io::Result<()> {
    let columns = table.iter().map(Vec::len).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = table.iter().filter_map(|line| line.get(column));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or_default()
        })
        .collect();
    for line in table {
        let mut text = String::new();
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            if column == 0 {
                text.push_str(&format!("{cell:<width$}"));
            } else {
                text.push_str(&format!("  {cell:>width$}"));
            }
        }
        writeln!(output, "{}", text.trim_end())?;
    }
    Ok(())
}

/// Three digits that matter, then the unit.
fn number(value: f64, unit: Unit) -> String {
    format!("{} {}", three_digits(value), unit.symbol())
        .trim_end()
        .to_owned()
}

fn three_digits(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn ratio(ratio: Option<f64>, cell: &Summary) -> String {
    let ratio = ratio.map_or(EMPTY.to_owned(), |ratio| {
        format!("{}×", three_digits(ratio))
    });
    if cell.rounds > 1 && cell.median > 0.0 {
        format!("{ratio} ±{:.0}%", cell.spread() * 100.0)
    } else {
        ratio
    }
}

fn bound(bound: Bound, unit: Unit) -> String {
    match bound {
        Bound::RatioAtMost(limit) => format!("≤ {limit}×"),
        Bound::RatioAtLeast(limit) => format!("≥ {limit}×"),
        Bound::AtMost(limit) => format!("≤ {limit} {}", unit.symbol()),
    }
}

fn short_name(kind: ClientKind) -> &'static str {
    kind.name().trim_start_matches("attache ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Target;

    #[test]
    fn a_row_shows_numbers_ratios_and_verdicts() {
        let cells = [
            (ClientKind::Rmcp, vec![100.0]),
            (ClientKind::AttacheRaw, vec![390.0, 400.0, 410.0]),
            (ClientKind::AttacheTyped, vec![200.0]),
        ];
        let mut report = Report::new(vec![Row {
            title: "1 MB result",
            unit: Unit::MegabytesPerSecond,
            cells: cells
                .into_iter()
                .filter_map(|(kind, values)| Some((kind, Summary::of(&values)?)))
                .collect(),
            targets: [ClientKind::AttacheRaw, ClientKind::AttacheTyped]
                .map(|judged| Target {
                    judged,
                    must: Bound::RatioAtLeast(3.0),
                    aim: Bound::RatioAtLeast(4.0),
                })
                .to_vec(),
        }]);
        report.missing("python", "sequential", "not installed");
        report.missing("python", "in-flight", "not installed");
        report.missing("python", "in-flight", "not installed");
        let mut text = Vec::new();
        report.print(&mut text).unwrap();
        let expected = "\
work         raw pipe  blocking      rmcp  typescript  python  attache raw  attache typed  must reach   aim      verdict
1 MB result         –         –  100 MB/s           –       –     400 MB/s       200 MB/s    raw ≥ 3×  ≥ 4×  aim reached
                                    1.00×                        4.00× ±1%          2.00×  typed ≥ 3×  ≥ 4×       missed

Missing:
  python (sequential, in-flight): not installed
";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        let json = report.json("full");
        assert_eq!(json["rows"][0]["clients"]["attache raw"]["ratio"], 4.0);
        assert_eq!(json["rows"][0]["targets"][1]["verdict"], "missed");
    }
}
