//! JUnit's XML, as CI systems read it: a suite for each group, a case for each outcome.

use crate::check::{Outcome, Verdict};
use crate::report::{Report, escaped};

/// The report as JUnit XML. Known failures and what could not be tested are skipped cases.
pub fn junit(report: &Report) -> String {
    let mut groups: Vec<(&str, Vec<&Outcome>)> = Vec::new();
    for outcome in &report.outcomes {
        let name = outcome.group.name();
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, outcomes)) => outcomes.push(outcome),
            None => groups.push((name, vec![outcome])),
        }
    }
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    xml.push_str(&format!(
        "<testsuites name=\"attache verify\" tests=\"{}\" failures=\"{}\" time=\"{:.3}\">\n",
        report.outcomes.len(),
        report.new_failures(),
        seconds(report.took_ms)
    ));
    for (name, outcomes) in groups {
        let failures = outcomes.iter().filter(|it| is_failure(it)).count();
        let skipped = outcomes
            .iter()
            .filter(|it| skip_reason(it).is_some())
            .count();
        xml.push_str(&format!(
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{failures}\" \
             skipped=\"{skipped}\">\n",
            outcomes.len()
        ));
        for outcome in outcomes {
            case(&mut xml, outcome);
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn is_failure(outcome: &Outcome) -> bool {
    outcome.verdict == Verdict::Fail && !outcome.known
}

fn skip_reason(outcome: &Outcome) -> Option<&'static str> {
    match outcome.verdict {
        Verdict::NotOffered | Verdict::NotTestable => Some(outcome.verdict.name()),
        Verdict::Fail if outcome.known => Some("known failure"),
        _ => None,
    }
}

fn case(xml: &mut String, outcome: &Outcome) {
    let name = escaped(&outcome.key());
    let time = seconds(outcome.took_ms);
    let group = outcome.group.name();
    xml.push_str(&format!(
        "    <testcase classname=\"attache.{group}\" name=\"{name}\" time=\"{time:.3}\">"
    ));
    let found = escaped(&outcome.found);
    if is_failure(outcome) {
        xml.push_str(&format!(
            "\n      <failure message=\"{found}\">{}</failure>\n    ",
            escaped(&details(outcome))
        ));
    } else if let Some(reason) = skip_reason(outcome) {
        xml.push_str(&format!(
            "\n      <skipped message=\"{reason}: {found}\"/>\n    "
        ));
    } else if outcome.verdict == Verdict::Warn {
        let details = escaped(&details(outcome));
        xml.push_str(&format!(
            "\n      <system-out>warning: {details}</system-out>\n    "
        ));
    }
    xml.push_str("</testcase>\n");
}

fn details(outcome: &Outcome) -> String {
    let mut text = format!(
        "{}\n{}\nduties: {} ({})\n",
        outcome.question,
        outcome.found,
        outcome.duties.join(", "),
        outcome.level.name()
    );
    for sent in &outcome.sent {
        text.push_str(&format!("> {sent}\n"));
    }
    for came in &outcome.came {
        text.push_str(&format!("< {came}\n"));
    }
    text.push_str(&format!("reproduce: {}\n", outcome.reproduce));
    text
}

#[expect(clippy::cast_precision_loss, reason = "a report shows milliseconds")]
fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}
