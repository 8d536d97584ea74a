//! Instructions and allocations per call, counted by valgrind.
//!
//! Every client makes sequential calls in two different numbers; the difference
//! of the counts divided by the difference of the numbers is the cost of one
//! call, free of start-up and connection. The server is not counted.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command as Process;

use crate::Result;
use crate::clients::ClientKind;
use crate::control::{Command, Worker};
use crate::measure::Summary;
use crate::report::progress;
use crate::rows::{Bound, Row, Target, Unit};
use crate::workloads::{Bench, Extent, open};

const COUNTED: [ClientKind; 6] = [
    ClientKind::RawPipe,
    ClientKind::Blocking,
    ClientKind::Rmcp,
    ClientKind::AttacheRaw,
    ClientKind::AttacheTyped,
    ClientKind::AttacheObserved,
];

#[derive(Clone, Copy, Debug)]
enum Tool {
    Callgrind,
    Dhat,
}

/// The two rows, and why a client is missing from them.
pub(crate) fn count(bench: &Bench) -> Result<(Vec<Row>, BTreeMap<ClientKind, String>)> {
    let few_and_many = match bench.extent {
        Extent::Full => [1000, 6000],
        Extent::Quick => [200, 1200],
    };
    let folder = std::env::temp_dir().join(format!("attache-bench-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let mut failures = BTreeMap::new();
    let mut rows = vec![
        Row {
            title: "instructions per call",
            unit: Unit::ThousandInstructions,
            cells: BTreeMap::new(),
            targets: vec![Target {
                judged: ClientKind::AttacheTyped,
                must: Bound::AtMost(20.0),
                aim: Bound::AtMost(14.0),
            }],
        },
        Row {
            title: "allocations per call",
            unit: Unit::Allocations,
            cells: BTreeMap::new(),
            targets: Vec::new(),
        },
    ];
    for kind in COUNTED {
        progress(&format!("counting {}", kind.name()));
        let counted = [Tool::Callgrind, Tool::Dhat].map(|tool| {
            let [few, many] = few_and_many;
            let less = run(bench, kind, tool, few, &folder)?;
            let more = run(bench, kind, tool, many, &folder)?;
            Result::Ok((more - less) / (many - few) as f64)
        });
        for ((row, count), scale) in rows.iter_mut().zip(counted).zip([1e3, 1.0]) {
            match count {
                Ok(count) => row
                    .cells
                    .extend(Summary::of(&[count / scale]).map(|summary| (kind, summary))),
                Err(cause) => drop(failures.insert(kind, cause.to_string())),
            }
        }
    }
    fs::remove_dir_all(&folder)?;
    Ok((rows, failures))
}

/// The count of a whole worker that makes this many calls.
fn run(bench: &Bench, kind: ClientKind, tool: Tool, calls: usize, folder: &Path) -> Result<f64> {
    let counts = folder.join("counts");
    let log = folder.join("log");
    let mut launch = Process::new("valgrind");
    match tool {
        Tool::Callgrind => launch
            .arg("--tool=callgrind")
            .arg(format!("--callgrind-out-file={}", counts.display())),
        Tool::Dhat => launch
            .arg("--tool=dhat")
            .arg(format!("--dhat-out-file={}", counts.display())),
    };
    let worker = bench.peers.launch(kind)?;
    launch
        .arg(format!("--log-file={}", log.display()))
        .arg(worker.get_program())
        .args(worker.get_args());
    let mut worker = Worker::start(launch)?;
    worker.perform(&open(&bench.server(2), 1))?;
    worker.perform(&Command::Sequential { calls })?;
    worker.finish()?;
    let found = match tool {
        Tool::Callgrind => instructions(&fs::read_to_string(&counts)?),
        Tool::Dhat => allocations(&fs::read_to_string(&log)?),
    };
    found.ok_or_else(|| format!("valgrind left no count for {}", kind.name()).into())
}

/// Callgrind ends its file with the sum of all instructions.
fn instructions(counts: &str) -> Option<f64> {
    counts
        .lines()
        .find_map(|line| {
            line.strip_prefix("totals:")
                .or(line.strip_prefix("summary:"))
        })?
        .trim()
        .parse()
        .ok()
}

/// DHAT logs a line such as `==1== Total: 1,234 bytes in 56 blocks`.
fn allocations(log: &str) -> Option<f64> {
    let (_, totals) = log.split_once("Total:")?;
    let (_, blocks) = totals.split_once(" in ")?;
    let (blocks, _) = blocks.split_once(" blocks")?;
    blocks.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_in_valgrinds_own_words() {
        assert_eq!(
            instructions("fn=(1)\n1 2\n\ntotals: 123456\n"),
            Some(123_456.0)
        );
        assert_eq!(instructions("fn=(1)\n"), None);
        assert_eq!(
            allocations(
                "==9== \n==9== Total:     1,234,567 bytes in 8,901 blocks\n==9== At t-gmax"
            ),
            Some(8901.0)
        );
        assert_eq!(allocations("==9== Killed"), None);
    }
}
