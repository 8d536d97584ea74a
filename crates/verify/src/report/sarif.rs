//! SARIF 2.1.0, as code scanning reads it: a rule for each check, a result for each broken one.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::check::{Outcome, Verdict};
use crate::report::Report;

/// The report as SARIF.
pub fn sarif(report: &Report) -> String {
    let mut rules: BTreeMap<&str, Value> = BTreeMap::new();
    for outcome in &report.outcomes {
        rules.entry(&outcome.check).or_insert_with(|| rule(outcome));
    }
    let broken = report
        .outcomes
        .iter()
        .filter(|outcome| matches!(outcome.verdict, Verdict::Fail | Verdict::Warn));
    let results: Vec<Value> = broken.map(|outcome| result(report, outcome)).collect();
    let rules: Vec<Value> = rules.into_values().collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "attache verify",
                "version": report.attache,
                "rules": rules,
            }},
            "results": results,
        }],
    });
    document.to_string()
}

fn rule(outcome: &Outcome) -> Value {
    json!({
        "id": outcome.check,
        "shortDescription": {"text": outcome.question},
        "properties": {"duties": outcome.duties, "group": outcome.group.name()},
        "defaultConfiguration": {"level": level(outcome.level == crate::check::Level::Must)},
    })
}

fn level(is_error: bool) -> &'static str {
    match is_error {
        true => "error",
        false => "warning",
    }
}

fn result(report: &Report, outcome: &Outcome) -> Value {
    let mut result = json!({
        "ruleId": outcome.check,
        "level": level(outcome.verdict == Verdict::Fail),
        "message": {"text": format!("{} {}", outcome.question, outcome.found)},
        "locations": [{"logicalLocations": [{
            "fullyQualifiedName": report.target, "kind": "module",
        }]}],
        "partialFingerprints": {"check/v1": outcome.key()},
        "properties": {
            "revision": outcome.revision,
            "duties": outcome.duties,
            "sent": outcome.sent,
            "came": outcome.came,
            "reproduce": outcome.reproduce,
        },
    });
    if outcome.known {
        result["suppressions"] = json!([{"kind": "external", "justification": "in the baseline"}]);
    }
    result
}
