//! What is measured from outside a client: the middle of many rounds, and the
//! memory and processor time of a process as the kernel counts them.
//!
//! Refuses to know which client or work the numbers belong to. The readings
//! come from `/proc`; on a system without it they are errors, and the rows that
//! need them stay empty.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::Result;

/// The middle of some rounds and the range of their middle half.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) rounds: usize,
}

impl Summary {
    /// Nothing is said about no rounds at all.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        Some(Self {
            median: quantile(values, 0.5)?,
            low: quantile(values, 0.25)?,
            high: quantile(values, 0.75)?,
            rounds: values.len(),
        })
    }

    /// Half the width of the middle half, as a share of the median.
    pub(crate) fn spread(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.median
    }
}

/// The value below which this share of the values lies, between neighbours in
/// proportion.
pub(crate) fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let position = share * (sorted.len().checked_sub(1)?) as f64;
    let below = *sorted.get(position.floor() as usize)?;
    let above = *sorted.get(position.ceil() as usize)?;
    Some(below + (above - below) * position.fract())
}

/// Makes the kernel forget the largest resident size so far.
pub(crate) fn reset_peak_memory(process: u32) -> Result<()> {
    const RESET_PEAK: &str = "5";
    Ok(fs::write(proc_file(process, "clear_refs"), RESET_PEAK)?)
}

/// The largest resident size since the last reset, in bytes.
pub(crate) fn peak_memory(process: u32) -> Result<u64> {
    kilobytes(&proc_file(process, "status"), "VmHWM")
}

/// The resident size now, in bytes, counted page by page.
pub(crate) fn resident_memory(process: u32) -> Result<u64> {
    kilobytes(&proc_file(process, "smaps_rollup"), "Rss")
}

/// What the processes below this one take, in bytes, pages that several share
/// divided among them. Processes that run `except` are left out.
pub(crate) fn memory_of_helpers(process: u32, except: &str) -> Result<u64> {
    let except = fs::canonicalize(except)?;
    let mut sum = 0;
    for helper in descendants(process)? {
        // A process may end between being found and being read.
        let Ok(program) = fs::read_link(proc_file(helper, "exe")) else {
            continue;
        };
        if program != except {
            sum += kilobytes(&proc_file(helper, "smaps_rollup"), "Pss")?;
        }
    }
    Ok(sum)
}

/// The processor time of all threads of a process so far, in nanoseconds.
pub(crate) fn processor_time(process: u32) -> Result<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(proc_file(process, "task"))? {
        let counters = fs::read_to_string(thread?.path().join("schedstat"))?;
        let spent = counters.split(' ').next().unwrap_or_default();
        sum += spent.parse::<u64>()?;
    }
    Ok(sum)
}

fn descendants(ancestor: u32) -> Result<Vec<u32>> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let Some(process) = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let Ok(stat) = fs::read_to_string(proc_file(process, "stat")) else {
            continue;
        };
        // The name in parentheses may hold anything; the parent comes two
        // fields after it.
        let parent = stat
            .rsplit_once(')')
            .and_then(|(_, fields)| fields.split_whitespace().nth(1))
            .and_then(|parent| parent.parse::<u32>().ok());
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        let below = children.remove(&parent).unwrap_or_default();
        found.extend_from_slice(&below);
        parents.extend(below);
    }
    Ok(found)
}

fn proc_file(process: u32, name: &str) -> std::path::PathBuf {
    Path::new("/proc").join(process.to_string()).join(name)
}

fn kilobytes(file: &Path, field: &str) -> Result<u64> {
    let text = fs::read_to_string(file)?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .and_then(|value| value.trim().strip_suffix(" kB"))
        .ok_or_else(|| format!("{} has no {field}", file.display()))?;
    Ok(value.trim().parse::<u64>()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        let cases: [(&[f64], f64, Option<f64>); 6] = [
            (&[], 0.5, None),
            (&[7.0], 0.99, Some(7.0)),
            (&[3.0, 1.0, 2.0], 0.5, Some(2.0)),
            (&[4.0, 1.0, 3.0, 2.0], 0.5, Some(2.5)),
            (&[4.0, 1.0, 3.0, 2.0], 0.0, Some(1.0)),
            (&[4.0, 1.0, 3.0, 2.0], 1.0, Some(4.0)),
        ];
        for (values, share, expected) in cases {
            assert_eq!(quantile(values, share), expected, "{values:?} at {share}");
        }
    }

    #[test]
    fn the_spread_is_half_the_middle_half() {
        let summary = Summary::of(&[80.0, 90.0, 100.0, 110.0, 120.0]).unwrap();
        assert_eq!(
            (summary.median, summary.low, summary.high),
            (100.0, 90.0, 110.0)
        );
        assert!((summary.spread() - 0.1).abs() < 1e-9);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_and_time_of_this_process_are_read() {
        let process = std::process::id();
        assert!(resident_memory(process).unwrap() > 100 * 1024);
        assert!(peak_memory(process).unwrap() >= 100 * 1024);
        assert!(processor_time(process).unwrap() > 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn helpers_are_counted_and_the_server_is_not() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let program = fs::read_link(proc_file(child.id(), "exe")).unwrap();
        let with = memory_of_helpers(std::process::id(), "/proc/self/exe").unwrap();
        let without = memory_of_helpers(std::process::id(), program.to_str().unwrap()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(with > 0);
        assert!(without < with);
    }
}
