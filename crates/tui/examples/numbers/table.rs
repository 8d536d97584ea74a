//! One line for each number: what must hold, what is aimed at, what was measured.

use std::io::Write as _;
use std::time::Duration;

use crate::Result;

/// What a number must not exceed, and what it should not.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) unit: &'static str,
    pub(crate) must: f64,
    pub(crate) aim: f64,
}

impl Limit {
    pub(crate) const fn ms(must: f64, aim: f64) -> Self {
        let unit = "ms";
        Self { unit, must, aim }
    }

    pub(crate) const fn mb(must: f64, aim: f64) -> Self {
        let unit = "MB";
        Self { unit, must, aim }
    }

    fn verdict(self, value: f64) -> &'static str {
        match value {
            value if value <= self.aim => "aim reached",
            value if value <= self.must => "holds",
            _ => "TOO MUCH",
        }
    }
}

/// Prints a line of the table.
pub(crate) fn row(what: &str, limit: Limit, value: f64, more: &str) -> Result<()> {
    let Limit { unit, must, aim } = limit;
    let verdict = limit.verdict(value);
    let (must, aim) = (format!("{must} {unit}"), format!("{aim} {unit}"));
    let value = format!("{value:.2} {unit}");
    writeln!(
        std::io::stdout(),
        "{what:<44} must {must:<8} aim {aim:<8} is {value:<10} {verdict:<11} {more}"
    )?;
    Ok(())
}

/// The same for many times, of which one in a hundred may be longer.
pub(crate) fn times(what: &str, limit: Limit, mut times: Vec<Duration>) -> Result<()> {
    times.sort_unstable();
    let at = |share: usize| milliseconds(times[(times.len() * share / 100).min(times.len() - 1)]);
    let (median, worst, count) = (at(50), at(100), times.len());
    let more = format!("p99; p50 {median:.2}, worst {worst:.2}, n = {count}");
    row(what, limit, at(99), &more)
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
