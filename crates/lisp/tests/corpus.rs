//! The language by chapters of R7RS: every line of `corpus/` is an expression and its value.
//!
//! A case is `expression ⇒ written value`, or `expression ⇒ !kind` for a failure; it may span
//! lines, the last of which has the arrow. A file is one session. Lines that begin with `;` are
//! comments.

use std::fs;
use std::path::Path;

use attache_lisp::{Limits, Session, Uninterrupted};

/// The least number of cases, so that a corpus that is not found cannot pass.
const LEAST_CASES: usize = 1_780;

#[test]
fn every_case_has_its_value() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut cases = 0;
    let mut wrong = Vec::new();
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).unwrap();
        let mut session = Session::new(Limits::default());
        let mut pending = String::new();
        for (index, line) in text.lines().enumerate() {
            if line.starts_with(';') || (line.trim().is_empty() && pending.is_empty()) {
                continue;
            }
            let Some((last, expected)) = line.split_once(" ⇒ ") else {
                pending.push_str(line);
                pending.push('\n');
                continue;
            };
            pending.push_str(last);
            let found = match session.evaluate(&pending, None, &Uninterrupted) {
                Ok(outcome) => format!("{}{}", outcome.output, outcome.value),
                Err(failure) => {
                    let kind = format!("!{}", failure.kind);
                    if kind == expected.trim() {
                        kind
                    } else {
                        format!("{kind} {failure}")
                    }
                }
            };
            cases += 1;
            if found != expected.trim() {
                wrong.push(format!(
                    "{name}:{}: {pending}\n  expected {}\n  found    {found}",
                    index + 1,
                    expected.trim()
                ));
            }
            pending.clear();
        }
        assert!(
            pending.trim().is_empty(),
            "{name} ends inside a case: {pending}"
        );
    }
    assert!(
        wrong.is_empty(),
        "{} of {cases} cases:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(cases >= LEAST_CASES, "only {cases} cases");
}
