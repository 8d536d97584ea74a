//! The same call again and again: how long it takes, and how it ends.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use attache::host::names::ToolName;
use attache::protocol::{CallToolResult, Json};
use serde::Serialize;
use tokio::task::JoinSet;

use crate::command_host::CommandHost;
use crate::failure::{Exit, Failure, Kind};
use crate::output::{Format, Output, Style, Text, json};

/// The most calls that can be asked for, so that their times fit in memory.
const MOST_CALLS: u32 = 10_000_000;
/// The most calls that are under way at once.
const MOST_AT_ONCE: u16 = 1024;

/// How often a call is made.
#[derive(Debug, clap::Args)]
pub(super) struct Load {
    /// Call it so often and print how long it takes
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=MOST_CALLS as i64)
    )]
    repeat: Option<u32>,
    /// So many calls at a time
    #[arg(
        long,
        value_name = "M",
        requires = "repeat",
        default_value_t = 1,
        hide_default_value = true,
        value_parser = clap::value_parser!(u16).range(1..=MOST_AT_ONCE as i64)
    )]
    concurrency: u16,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    tool: String,
    calls: usize,
    concurrency: u16,
    seconds: f64,
    per_second: f64,
    endings: &'a BTreeMap<String, usize>,
    latency_ms: Latency,
}

/// How long calls take, in milliseconds: each value is not exceeded by its share of them.
#[derive(Serialize)]
struct Latency {
    min: f64,
    p50: f64,
    p90: f64,
    p95: f64,
    p99: f64,
    max: f64,
}

impl Load {
    pub(super) fn is_wanted(&self) -> bool {
        self.repeat.is_some()
    }

    /// Makes the calls and tells how long they took.
    pub(super) async fn run(
        &self,
        tool: &ToolName,
        arguments: &Json,
        session: &CommandHost,
        output: &Output,
    ) -> Result<(), Failure> {
        let wanted = self.repeat.unwrap_or(1) as usize;
        // The start of the server is not the call's.
        if session.attached().is_none() {
            let ready = session.host()?.ready(tool.server.as_str());
            session.run(ready).await?;
        }
        let caller = session.caller().await?;
        let (mut times, mut endings) = (Vec::with_capacity(wanted), BTreeMap::new());
        let mut under_way: JoinSet<(Duration, String)> = JoinSet::new();
        let (began, mut begun, mut stopped) = (Instant::now(), 0, false);
        while times.len() < wanted {
            while begun < wanted && under_way.len() < usize::from(self.concurrency) {
                begun += 1;
                let (caller, tool) = (caller.clone(), tool.to_string());
                let arguments = arguments.clone();
                under_way.spawn(async move {
                    let began = Instant::now();
                    let ending = match caller.call(&tool, arguments).await {
                        Ok(payload) => match payload.decode::<CallToolResult>() {
                            Ok(result) if result.is_error => "tool_failed".to_owned(),
                            Ok(_) => "result".to_owned(),
                            Err(_) => "protocol_error".to_owned(),
                        },
                        Err(failure) => kind(&failure),
                    };
                    (began.elapsed(), ending)
                });
            }
            tokio::select! {
                biased;
                Some(Ok((time, ending))) = under_way.join_next() => {
                    times.push(time);
                    *endings.entry(ending).or_insert(0_usize) += 1;
                }
                () = session.interrupted() => {
                    stopped = true;
                    break;
                }
                else => break,
            }
        }
        let took = began.elapsed();
        drop(under_way);
        times.sort_unstable();
        if times.is_empty() {
            return Err(session.cancelled());
        }
        let document = Document {
            tool: tool.to_string(),
            calls: times.len(),
            concurrency: self.concurrency,
            seconds: took.as_secs_f64(),
            per_second: times.len() as f64 / took.as_secs_f64(),
            endings: &endings,
            latency_ms: Latency::of(&times),
        };
        match output.format {
            Format::Json => output.document(&json::write(&document))?,
            Format::Human => output.text(&document.text())?,
        }
        let failed: usize = endings
            .iter()
            .filter(|(ending, _)| *ending != "result")
            .map(|(_, count)| count)
            .sum();
        match (stopped, failed) {
            (true, _) => Err(session.cancelled()),
            (false, 0) => Ok(()),
            (false, failed) => Err(Failure::new(
                Kind::ToolFailed,
                Exit::Failed,
                format!("{failed} of {} calls failed", times.len()),
            )),
        }
    }
}

/// The kind of a failure in a word.
fn kind(failure: &Failure) -> String {
    let kind = serde_json::to_value(failure.kind).unwrap_or_default();
    kind.as_str().unwrap_or("unexpected").to_owned()
}

impl Latency {
    /// Of times in order, of which there is at least one.
    fn of(times: &[Duration]) -> Self {
        let at = |share: f64| {
            // Shares are between 0 and 1, so the place is within the times.
            let place = (times.len() as f64 * share).ceil() as usize;
            let place = place.clamp(1, times.len()) - 1;
            times[place].as_secs_f64() * 1000.0
        };
        Self {
            min: at(0.0),
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            max: at(1.0),
        }
    }
}

impl Document<'_> {
    fn text(&self) -> Text {
        let mut text = Text::new();
        text.add(Style::Name, &self.tool)
            .plain(&format!(
                ": {} calls, {} at a time, in {:.2} s: {:.0} per second",
                self.calls, self.concurrency, self.seconds, self.per_second
            ))
            .end_line();
        let endings = self.endings.iter();
        let endings =
            endings.map(|(ending, count)| format!("{count} {}", ending.replace('_', " ")));
        text.plain("  ended: ")
            .hang()
            .plain(&endings.collect::<Vec<_>>().join(", "))
            .end_line();
        let latency = &self.latency_ms;
        text.plain("  in ms: ").hang();
        for (name, value) in [
            ("fastest", latency.min),
            ("median", latency.p50),
            ("90 %", latency.p90),
            ("95 %", latency.p95),
            ("99 %", latency.p99),
            ("slowest", latency.max),
        ] {
            text.faint(&format!("{name}\u{a0}"))
                .plain(&format!("{value:.2}  "));
        }
        text.end_line();
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_few_and_many_calls() {
        let times: Vec<Duration> = (1..=100).map(Duration::from_millis).collect();
        let latency = Latency::of(&times);
        let all = [
            latency.min,
            latency.p50,
            latency.p90,
            latency.p99,
            latency.max,
        ];
        assert_eq!(all, [1.0, 50.0, 90.0, 99.0, 100.0]);
        let one = Latency::of(&times[..1]);
        assert_eq!([one.min, one.p50, one.p99, one.max], [1.0; 4]);
    }
}
