//! `LANGUAGE.md` against the implementation: every identifier of the report is bound or not, as the
//! page says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use attache_lisp::{ErrorKind, Limits, Session, Uninterrupted};

const PAGE: &str = include_str!("../LANGUAGE.md");

/// How many identifiers each library of R7RS-small exports, by its appendix A.
const EXPORTED: [(&str, usize); 15] = [
    ("(scheme base)", 238),
    ("(scheme case-lambda)", 1),
    ("(scheme char)", 22),
    ("(scheme complex)", 6),
    ("(scheme cxr)", 24),
    ("(scheme eval)", 2),
    ("(scheme file)", 10),
    ("(scheme inexact)", 12),
    ("(scheme lazy)", 5),
    ("(scheme load)", 1),
    ("(scheme process-context)", 5),
    ("(scheme read)", 1),
    ("(scheme repl)", 1),
    ("(scheme time)", 3),
    ("(scheme write)", 4),
];

/// What the page says of a library.
struct Row<'a> {
    bound: Vec<&'a str>,
    unbound: Vec<&'a str>,
}

fn rows() -> BTreeMap<&'static str, Row<'static>> {
    PAGE.lines()
        .filter(|line| line.starts_with("| `(scheme "))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').collect();
            let [_, library, bound, unbound, _] = cells[..] else {
                panic!("not a row of three cells: {line}");
            };
            let [library] = quoted(library)[..] else {
                panic!("not a row of one library: {line}");
            };
            let row = Row {
                bound: quoted(bound),
                unbound: quoted(unbound),
            };
            (library, row)
        })
        .collect()
}

/// What stands between backquotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn is_bound(session: &mut Session, name: &str) -> bool {
    // A keyword is bound, though not to a value: it is a syntax error, not an unbound variable.
    match session.evaluate(name, None, &Uninterrupted) {
        Ok(_) => true,
        Err(failure) => failure.kind != ErrorKind::Unbound,
    }
}

#[test]
fn the_page_lists_every_identifier_of_the_report_once() {
    let listed: BTreeMap<&str, usize> = rows()
        .into_iter()
        .map(|(library, row)| {
            let names: Vec<&str> = [row.bound, row.unbound].concat();
            let once: BTreeSet<&str> = names.iter().copied().collect();
            assert_eq!(once.len(), names.len(), "{library} lists a name twice");
            (library, names.len())
        })
        .collect();
    assert_eq!(listed, BTreeMap::from(EXPORTED));
}

#[test]
fn what_the_page_says_of_an_identifier_holds() {
    let session = &mut Session::new(Limits::default());
    let mut wrong = Vec::new();
    for (library, row) in rows() {
        for name in row.bound {
            if !is_bound(session, name) {
                wrong.push(format!("{library}: {name} is not bound"));
            }
        }
        for name in row.unbound {
            if is_bound(session, name) {
                wrong.push(format!("{library}: {name} is bound"));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn every_bound_identifier_has_a_case_in_the_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut words = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let cases = text.lines().filter(|line| !line.starts_with(';'));
        let delimiter = |c: char| c.is_whitespace() || "()'`,\"".contains(c);
        words.extend(cases.flat_map(|line| line.split(delimiter).map(str::to_owned)));
    }
    let missing: Vec<&str> = rows()
        .into_values()
        .flat_map(|row| row.bound)
        .filter(|name| !words.contains(*name))
        .collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn a_library_without_gaps_can_be_imported() {
    let session = &mut Session::new(Limits::default());
    for (library, row) in rows() {
        let imported = session.evaluate(&format!("(import {library})"), None, &Uninterrupted);
        let whole = row.unbound.is_empty() || library == "(scheme base)";
        assert_eq!(imported.is_ok(), whole, "{library}");
    }
}
