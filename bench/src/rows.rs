//! The rows of the table: which number a work gives, and what it must reach.
//!
//! Owns the targets and the verdicts. Refuses to know how a row is printed.

use std::collections::BTreeMap;

use crate::clients::ClientKind;
use crate::measure::Summary;
use crate::workloads::{Measurement, Round, Work};

/// The unit of a row's numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unit {
    Microseconds,
    Milliseconds,
    ThousandCallsPerSecond,
    MegabytesPerSecond,
    Megabytes,
    Kilobytes,
    ThousandInstructions,
    Allocations,
}

impl Unit {
    pub(crate) const fn symbol(self) -> &'static str {
        match self {
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::ThousandCallsPerSecond => "k/s",
            Self::MegabytesPerSecond => "MB/s",
            Self::Megabytes => "MB",
            Self::Kilobytes => "kB",
            Self::ThousandInstructions => "k",
            Self::Allocations => "",
        }
    }
}

/// A number to stay below or to reach, as a ratio to rmcp or in the row's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    RatioAtMost(f64),
    RatioAtLeast(f64),
    AtMost(f64),
}

impl Bound {
    fn holds(self, value: f64, ratio: Option<f64>) -> Option<bool> {
        match self {
            Self::RatioAtMost(limit) => ratio.map(|ratio| ratio <= limit),
            Self::RatioAtLeast(limit) => ratio.map(|ratio| ratio >= limit),
            Self::AtMost(limit) => Some(value <= limit),
        }
    }
}

/// What one column of a row must reach, and what it aims at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) judged: ClientKind,
    pub(crate) must: Bound,
    pub(crate) aim: Bound,
}

/// How a column stands against its target.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    AimReached,
    Reached,
    Missed,
    NotMeasured,
}

impl Verdict {
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::AimReached => "aim reached",
            Self::Reached => "reached",
            Self::Missed => "missed",
            Self::NotMeasured => "not measured",
        }
    }
}

/// One row: a number per client.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) title: &'static str,
    pub(crate) unit: Unit,
    pub(crate) cells: BTreeMap<ClientKind, Summary>,
    pub(crate) targets: Vec<Target>,
}

impl Row {
    /// A client's number as a multiple of rmcp's.
    pub(crate) fn ratio(&self, kind: ClientKind) -> Option<f64> {
        let anchor = self.cells.get(&ClientKind::Rmcp)?.median;
        Some(self.cells.get(&kind)?.median / anchor)
    }

    pub(crate) fn verdict(&self, target: &Target) -> Verdict {
        let Some(cell) = self.cells.get(&target.judged) else {
            return Verdict::NotMeasured;
        };
        let ratio = self.ratio(target.judged);
        match (
            target.must.holds(cell.median, ratio),
            target.aim.holds(cell.median, ratio),
        ) {
            (_, Some(true)) => Verdict::AimReached,
            (Some(true), _) => Verdict::Reached,
            (Some(false), _) => Verdict::Missed,
            (None, _) => Verdict::NotMeasured,
        }
    }
}

/// The rows that the measurements of a work give.
pub(crate) fn rows(work: Work, measurements: &[Measurement]) -> Vec<Row> {
    columns(work)
        .into_iter()
        .filter_map(|column| {
            let rounds = &measurements.get(column.measurement)?.rounds;
            Some(Row {
                title: column.title,
                unit: column.unit,
                cells: rounds
                    .iter()
                    .filter_map(|(kind, rounds)| {
                        let values: Option<Vec<f64>> = rounds.iter().map(column.value).collect();
                        Some((*kind, Summary::of(&values?)?))
                    })
                    .collect(),
                targets: column.targets,
            })
        })
        .collect()
}

/// How one row is drawn from the rounds of a work.
struct Column {
    title: &'static str,
    unit: Unit,
    /// Which of the work's measurements.
    measurement: usize,
    value: fn(&Round) -> Option<f64>,
    targets: Vec<Target>,
}

const fn column(title: &'static str, unit: Unit, value: fn(&Round) -> Option<f64>) -> Column {
    Column {
        title,
        unit,
        measurement: 0,
        value,
        targets: Vec::new(),
    }
}

impl Column {
    fn of_measurement(mut self, measurement: usize) -> Self {
        self.measurement = measurement;
        self
    }

    fn target(mut self, judged: ClientKind, must: Bound, aim: Bound) -> Self {
        self.targets.push(Target { judged, must, aim });
        self
    }
}

fn columns(work: Work) -> Vec<Column> {
    use Bound::{AtMost, RatioAtLeast, RatioAtMost};
    use ClientKind::{AttacheRaw, AttacheTyped};
    match work {
        Work::Sequential => vec![
            column("sequential call, p50", Unit::Microseconds, |round| {
                Some(round.quantile(0.5)? / 1e3)
            })
            .target(AttacheTyped, RatioAtMost(0.45), RatioAtMost(0.35)),
            column("sequential call, p99", Unit::Microseconds, |round| {
                Some(round.quantile(0.99)? / 1e3)
            }),
            column(
                "sequential call, client's processor time",
                Unit::Microseconds,
                |round| Some(round.processor_time? / round.values.len() as f64 / 1e3),
            ),
        ],
        Work::InFlight => vec![
            column(
                "64 calls in flight, calls/s",
                Unit::ThousandCallsPerSecond,
                |round| Some(per_nanosecond(round)? * 1e6),
            )
            .target(AttacheTyped, RatioAtLeast(5.0), RatioAtLeast(8.0)),
        ],
        Work::LargeResult => vec![
            column("1 MB result", Unit::MegabytesPerSecond, |round| {
                Some(per_nanosecond(round)? * 1e3)
            })
            .target(AttacheRaw, RatioAtLeast(3.0), RatioAtLeast(4.0))
            .target(AttacheTyped, RatioAtLeast(2.2), RatioAtLeast(3.0)),
        ],
        Work::PeakMemory => vec![
            column("10 MB result, peak memory", Unit::Megabytes, |round| {
                Some(round.values.first()? / 1e6)
            })
            .target(AttacheTyped, RatioAtMost(0.35), RatioAtMost(0.25)),
        ],
        Work::LongList => vec![
            column("list 1,000 tools", Unit::Milliseconds, |round| {
                Some(round.quantile(0.5)? / 1e6)
            })
            .target(AttacheTyped, RatioAtMost(0.45), RatioAtMost(0.3)),
        ],
        Work::IdleMemory => vec![
            column(
                "idle memory per connected server",
                Unit::Kilobytes,
                |round| Some(round.values.first()? / 1e3),
            )
            .target(AttacheTyped, AtMost(32.0), AtMost(16.0)),
            column("the same with helper processes", Unit::Kilobytes, |round| {
                Some(round.values.iter().sum::<f64>() / 1e3)
            }),
        ],
        Work::RealServer => vec![
            column(
                "sequential call behind server-everything, p50",
                Unit::Microseconds,
                |round| Some(round.quantile(0.5)? / 1e3),
            ),
            column(
                "64 in flight behind server-everything",
                Unit::ThousandCallsPerSecond,
                |round| Some(per_nanosecond(round)? * 1e6),
            )
            .of_measurement(1),
        ],
        Work::Http => vec![
            column(
                "sequential call over HTTP, p50",
                Unit::Microseconds,
                |round| Some(round.quantile(0.5)? / 1e3),
            )
            .target(AttacheTyped, RatioAtMost(0.67), RatioAtMost(0.5)),
            column(
                "sequential call over HTTP, client's processor time",
                Unit::Microseconds,
                |round| Some(round.processor_time? / round.values.len() as f64 / 1e3),
            ),
            column(
                "64 calls in flight over HTTP, calls/s",
                Unit::ThousandCallsPerSecond,
                |round| Some(per_nanosecond(round)? * 1e6),
            )
            .of_measurement(1)
            .target(AttacheTyped, RatioAtLeast(1.5), RatioAtLeast(2.0)),
        ],
    }
}

fn per_nanosecond(round: &Round) -> Option<f64> {
    Some(round.amount / round.quantile(0.5)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_follows_the_bounds() {
        let row = |value: f64| Row {
            title: "row",
            unit: Unit::Microseconds,
            cells: [(ClientKind::Rmcp, 100.0), (ClientKind::AttacheTyped, value)]
                .into_iter()
                .filter_map(|(kind, value)| Some((kind, Summary::of(&[value])?)))
                .collect(),
            targets: Vec::new(),
        };
        let lower = (Bound::RatioAtMost(0.45), Bound::RatioAtMost(0.35));
        let higher = (Bound::RatioAtLeast(5.0), Bound::RatioAtLeast(8.0));
        let absolute = (Bound::AtMost(32.0), Bound::AtMost(16.0));
        let cases = [
            (35.0, lower, Verdict::AimReached),
            (36.0, lower, Verdict::Reached),
            (45.0, lower, Verdict::Reached),
            (46.0, lower, Verdict::Missed),
            (499.0, higher, Verdict::Missed),
            (500.0, higher, Verdict::Reached),
            (800.0, higher, Verdict::AimReached),
            (16.0, absolute, Verdict::AimReached),
            (32.0, absolute, Verdict::Reached),
            (33.0, absolute, Verdict::Missed),
        ];
        for (value, (must, aim), expected) in cases {
            let judged = ClientKind::AttacheTyped;
            let target = Target { judged, must, aim };
            assert_eq!(
                row(value).verdict(&target),
                expected,
                "{value} against {must:?}"
            );
            let absent = Target {
                judged: ClientKind::AttacheRaw,
                ..target
            };
            assert_eq!(row(value).verdict(&absent), Verdict::NotMeasured);
        }
    }
}
