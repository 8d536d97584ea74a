//! Runs the official conformance suite and judges what it found.
//!
//! A client or server that lacks a feature can pass a scenario with no check made, so a scenario has
//! to make as many checks as a table says. Owns how the suite is started and what its report looks
//! like. Refuses to know the scenarios.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::real_servers::installed;
use crate::scratch::Scratch;

/// What precedes the results in a report.
const SUMMARY: &str = "SUMMARY ===";

/// What a run of the suite found.
#[derive(Debug)]
pub struct Findings {
    scenarios: BTreeMap<String, Counts>,
    verdict: Verdict,
    report: String,
}

/// What the suite says of the whole run, by its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing failed that counts.
    Passed,
    /// Something did.
    Failed,
}

/// How many checks of a scenario passed, and how many failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
}

/// Runs scenarios against a client, which the suite starts for each of them. `set` are the suite's
/// own options that select scenarios.
pub fn of_client(program: &Path, set: &[&str]) -> io::Result<Findings> {
    run(["client", "--command"], program.as_os_str(), set)
}

/// Runs scenarios against the server at an address.
pub fn of_server(url: &str, set: &[&str]) -> io::Result<Findings> {
    run(["server", "--url"], url.as_ref(), set)
}

fn run(mode: [&str; 2], who: &OsStr, set: &[&str]) -> io::Result<Findings> {
    let folder = Scratch::new("conformance")?;
    let suite = "@modelcontextprotocol/conformance/dist/index.js";
    let output = Command::new(installed("conformance/node_modules/node/bin/node"))
        .arg(installed(&format!("conformance/node_modules/{suite}")))
        .args(mode)
        .arg(who)
        .args(set)
        .args(["-o", "out"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let failures = failures(&folder.path().join("out"))?;
    let report = format!("{printed}{stderr}{failures}");
    let Some((_, summary)) = printed.rsplit_once(SUMMARY) else {
        return Err(io::Error::other(format!("no summary: {report}")));
    };
    Ok(Findings {
        scenarios: summary.lines().filter_map(result).collect(),
        verdict: match output.status.success() {
            true => Verdict::Passed,
            false => Verdict::Failed,
        },
        report,
    })
}

/// Why checks failed, which the suite writes into files only: a line for each. The folders of some
/// scenarios lie in others.
fn failures(folder: &Path) -> io::Result<String> {
    let mut lines = String::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            lines.push_str(&failures(&path)?);
        } else if path.ends_with("checks.json") {
            let checks: Vec<Value> = serde_json::from_slice(&fs::read(&path)?)?;
            for check in checks.iter().filter(|it| it["status"] == "FAILURE") {
                let (id, why) = (&check["id"], &check["errorMessage"]);
                lines.push_str(&format!("{}: {id}: {why}\n", folder.display()));
            }
        }
    }
    Ok(lines)
}

/// Reads a line like "✓ tools_call: 2 passed, 0 failed"; warnings may follow.
fn result(line: &str) -> Option<(String, Counts)> {
    let (name, counts) = line.trim_start_matches(['✓', '✗', ' ']).split_once(": ")?;
    let (passed, rest) = counts.split_once(" passed, ")?;
    let (failed, _) = rest.split_once(" failed")?;
    let counts = Counts {
        passed: passed.parse().ok()?,
        failed: failed.parse().ok()?,
    };
    (name != "Total").then(|| (name.to_owned(), counts))
}

impl Findings {
    /// How many scenarios were run.
    pub fn scenarios(&self) -> usize {
        self.scenarios.len()
    }

    /// How many checks passed in all of them.
    pub fn checks(&self) -> usize {
        self.scenarios.values().map(|counts| counts.passed).sum()
    }

    /// What the suite says of the whole run.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Everything that the suite printed.
    pub fn report(&self) -> &str {
        &self.report
    }

    /// Asserts that nothing failed and every scenario made its checks, at least; those that
    /// `excepted` names are not looked at.
    ///
    /// # Panics
    ///
    /// Also if a scenario is not in the table.
    #[track_caller]
    pub fn assert_at_least(&self, least: &[(&str, usize)], excepted: impl Fn(&str) -> bool) {
        let report = &self.report;
        for (name, Counts { passed, failed }) in &self.scenarios {
            if excepted(name) {
                continue;
            }
            let Some((_, least)) = least.iter().find(|(known, _)| known == name) else {
                panic!("{name} is not in the table; it made {passed} checks");
            };
            assert!(*failed == 0, "{name}: {failed} checks failed\n{report}");
            assert!(
                passed >= least,
                "{name}: only {passed} checks of {least}\n{report}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_report_are_read() {
        let check = |line: &str, expected: Option<(&str, usize, usize)>| {
            let expected = expected.map(|(name, passed, failed)| {
                let name = name.to_owned();
                (name, Counts { passed, failed })
            });
            assert_eq!(result(line), expected, "{line}");
        };
        check("✓ ping: 2 passed, 0 failed", Some(("ping", 2, 0)));
        check(
            "✗ auth/dpop: 11 passed, 3 failed, 1 warnings",
            Some(("auth/dpop", 11, 3)),
        );
        check("Total: 13 passed, 3 failed", None);
        check("- tasks: skipped", None);
        check("", None);
    }

    #[test]
    fn too_few_checks_failures_and_strangers_are_told() {
        let found = |passed, failed| Findings {
            scenarios: BTreeMap::from([("ping".to_owned(), Counts { passed, failed })]),
            verdict: Verdict::Passed,
            report: "the report".to_owned(),
        };
        let check = |found: Findings, table: &[(&str, usize)], words: &str| {
            let judged = std::panic::AssertUnwindSafe(|| found.assert_at_least(table, |_| false));
            let panic = std::panic::catch_unwind(judged).unwrap_err();
            assert_eq!(panic.downcast_ref::<String>().unwrap(), words);
        };
        let table = [("ping", 2)];
        found(2, 0).assert_at_least(&table, |_| false);
        found(3, 0).assert_at_least(&table, |_| false);
        found(0, 9).assert_at_least(&table, |name| name == "ping");
        check(found(1, 0), &table, "ping: only 1 checks of 2\nthe report");
        check(found(2, 1), &table, "ping: 1 checks failed\nthe report");
        check(
            found(2, 0),
            &[],
            "ping is not in the table; it made 2 checks",
        );
    }
}
