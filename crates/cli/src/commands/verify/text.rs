//! A report for people: what is broken in full, the rest as numbers.

use std::collections::BTreeSet;

use attache_verify::client::CLIENT_CHECKS;
use attache_verify::report::coverage;
use attache_verify::{Group, Outcome, Report, Verdict, checks};

use crate::output::{Style, Text, Verbosity};

/// How much of a message is shown.
const MOST_SHOWN: usize = 160;
/// How many messages of each direction are shown.
const MOST_MESSAGES: usize = 3;

/// The report.
pub(super) fn report(report: &Report, verbosity: Verbosity) -> Text {
    let mut text = Text::new();
    text.add(
        Style::Name,
        report.server.as_deref().unwrap_or(&report.target),
    );
    text.faint("  ").faint(report.transport);
    for era in &report.eras {
        match (&era.revision, &era.why_not) {
            (Some(revision), _) => text.faint(&format!(", {} {revision}", era.era)),
            (None, _) => text.faint(&format!(", {} not spoken", era.era)),
        };
    }
    text.end_line().end_line();
    let is_broken = |outcome: &&Outcome| matches!(outcome.verdict, Verdict::Fail | Verdict::Warn);
    for verdict in [Verdict::Fail, Verdict::Warn] {
        for outcome in report.outcomes.iter().filter(is_broken) {
            if outcome.verdict == verdict {
                broken(&mut text, outcome);
            }
        }
    }
    match verbosity {
        Verbosity::Verbose => every_outcome(&mut text, report),
        Verbosity::Normal => groups(&mut text, report),
    }
    text.end_line();
    summary(&mut text, report);
    text
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Fail => Style::Bad,
        Verdict::Warn => Style::Warning,
        Verdict::Pass => Style::Good,
        Verdict::NotOffered | Verdict::NotTestable => Style::Faint,
    }
}

fn broken(text: &mut Text, outcome: &Outcome) {
    let word = match outcome.known {
        true => "known",
        false => outcome.verdict.name(),
    };
    text.column(style(outcome.verdict), word, 6)
        .add(Style::Name, &outcome.check);
    if let Some(revision) = outcome.revision {
        text.faint(&format!(" {revision}"));
    }
    text.faint(&format!("  {}", outcome.duties.join(" ")))
        .end_line();
    text.plain("      ").plain(&outcome.question).end_line();
    text.plain("      ")
        .add(style(outcome.verdict), &outcome.found)
        .end_line();
    messages(text, "> ", &outcome.sent);
    messages(text, "< ", &outcome.came);
    text.faint("      $ ")
        .plain(&outcome.reproduce)
        .end_line()
        .end_line();
}

fn messages(text: &mut Text, mark: &str, lines: &[String]) {
    for line in lines.iter().take(MOST_MESSAGES) {
        let mut shown: String = line.chars().take(MOST_SHOWN).collect();
        if shown.len() < line.len() {
            shown.push('…');
        }
        text.faint("      ").faint(mark).faint(&shown).end_line();
    }
    if lines.len() > MOST_MESSAGES {
        let more = format!("      {mark}… {} more", lines.len() - MOST_MESSAGES);
        text.faint(&more).end_line();
    }
}

fn every_outcome(text: &mut Text, report: &Report) {
    for outcome in &report.outcomes {
        if matches!(outcome.verdict, Verdict::Fail | Verdict::Warn) {
            continue;
        }
        text.column(style(outcome.verdict), outcome.verdict.name(), 13);
        text.column(Style::Plain, &outcome.key(), 44)
            .plain("  ")
            .faint(&outcome.found)
            .end_line();
    }
}

/// One line for each group.
fn groups(text: &mut Text, report: &Report) {
    let groups: BTreeSet<Group> = report.outcomes.iter().map(|it| it.group).collect();
    for group in groups {
        let count = |verdict: Verdict| {
            let of_group = report.outcomes.iter().filter(|it| it.group == group);
            of_group.filter(|it| it.verdict == verdict).count()
        };
        text.column(Style::Plain, group.name(), 16);
        for verdict in [
            Verdict::Pass,
            Verdict::Fail,
            Verdict::Warn,
            Verdict::NotOffered,
            Verdict::NotTestable,
        ] {
            match count(verdict) {
                0 => {}
                number => {
                    let said = format!("{number} {}  ", verdict.name());
                    text.add(style(verdict), &said);
                }
            }
        }
        text.end_line();
    }
}

fn summary(text: &mut Text, report: &Report) {
    let counts = report.counts;
    let failed = match counts.known {
        0 => format!("{} failed", counts.fail),
        known => format!("{} failed ({known} known)", counts.fail),
    };
    let failed_style = match report.new_failures() {
        0 => Style::Good,
        _ => Style::Bad,
    };
    text.add(failed_style, &failed)
        .plain(&format!(
            ", {} warnings, {} passed, {} not offered, {} not testable",
            counts.warn, counts.pass, counts.not_offered, counts.not_testable
        ))
        .faint(&format!(
            "  {} checks of {} duties in {}.{} s",
            report.checks,
            report.duties,
            report.took_ms / 1000,
            report.took_ms % 1000 / 100
        ))
        .end_line();
}

/// The checks there are.
pub(super) fn list() -> Text {
    let mut text = Text::new();
    for check in checks::all() {
        text.column(Style::Name, check.id, 36)
            .column(Style::Faint, check.level.name(), 8)
            .column(Style::Faint, check.over.name(), 7)
            .plain(check.question)
            .faint(&format!("  {}", check.duties.join(" ")))
            .end_line();
    }
    text.end_line();
    for check in CLIENT_CHECKS {
        text.column(Style::Name, check.id, 36)
            .column(Style::Faint, check.level.name(), 8)
            .column(Style::Faint, "client", 7)
            .plain(check.question)
            .faint(&format!("  {}", check.duties.join(" ")))
            .end_line();
    }
    let (count, duties) = coverage();
    let clients: BTreeSet<&str> = CLIENT_CHECKS
        .iter()
        .flat_map(|it| it.duties)
        .copied()
        .collect();
    text.end_line();
    text.plain(&format!(
        "{count} checks of servers look at {duties} duties, {} of clients at {}",
        CLIENT_CHECKS.len(),
        clients.len()
    ))
    .end_line();
    text
}
