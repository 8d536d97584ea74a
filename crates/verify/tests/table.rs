//! The tables of checks against the ledger of duties.

#![expect(
    clippy::unwrap_used,
    reason = "a page that cannot be read fails the test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use attache_verify::client::CLIENT_CHECKS;
use attache_verify::report::coverage;
use attache_verify::{Level, checks};

/// Each duty with its level.
fn duties() -> BTreeMap<String, String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/duties.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page.lines().filter_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [id, _, _, level, ..] = cells.as_slice() else {
            return None;
        };
        let is_duty = id.split('-').count() == 3 && id.as_bytes()[1] == b'-';
        is_duty.then(|| ((*id).to_owned(), (*level).to_owned()))
    });
    rows.collect()
}

/// Every row of both tables: its name, level and duties.
fn rows() -> Vec<(&'static str, Level, &'static [&'static str])> {
    let servers = checks::all().map(|it| (it.id, it.level, it.duties));
    let clients = CLIENT_CHECKS.iter().map(|it| (it.id, it.level, it.duties));
    servers.chain(clients).collect()
}

#[test]
fn every_duty_of_a_check_is_in_the_ledger() {
    let known = duties();
    assert!(known.len() > 400, "the ledger is read: {}", known.len());
    for (check, _, duties) in rows() {
        assert!(!duties.is_empty(), "{check} names no duty");
        for duty in duties {
            assert!(known.contains_key(*duty), "{check} names {duty}");
        }
    }
}

#[test]
fn a_check_that_can_fail_stands_on_a_must() {
    let known = duties();
    for (check, level, duties) in rows() {
        let is_must = |duty: &&&str| matches!(known[**duty].as_str(), "M" | "MN");
        if level == Level::Must {
            assert!(duties.iter().find(is_must).is_some(), "{check}: {duties:?}");
        }
    }
}

#[test]
fn names_are_unique_and_begin_with_their_group() {
    let mut seen = BTreeSet::new();
    for (check, ..) in rows() {
        assert!(seen.insert(check), "{check} is there twice");
    }
    for check in checks::all() {
        let group = check.id.split('.').next().unwrap();
        assert_eq!(group, check.group.name(), "{}", check.id);
        assert!(check.question.ends_with('?'), "{}", check.question);
    }
    let (count, duties) = coverage();
    assert!(
        count > 100 && duties > 100,
        "{count} checks, {duties} duties"
    );
}

#[test]
fn the_page_states_how_much_is_covered() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/verify.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (count, duties) = coverage();
    let of_clients: BTreeSet<&str> = CLIENT_CHECKS
        .iter()
        .flat_map(|it| it.duties)
        .copied()
        .collect();
    let stated = format!(
        "{count} checks of servers look at {duties} duties, {} of clients at {}",
        CLIENT_CHECKS.len(),
        of_clients.len()
    );
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&page).contains(&stated), "{stated}");
}
