//! Every duty, fault, promise, security requirement and seed row that the code cites is written down
//! in `docs/`.

#![expect(
    clippy::unwrap_used,
    reason = "a page or source that cannot be read fails the test"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs").join(name)).unwrap()
}

/// Every Rust source of the workspace, this file aside.
fn sources() -> Vec<(PathBuf, String)> {
    let mut folders = vec![root().join("crates"), root().join("fuzz")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" {
                    folders.push(path);
                }
            } else if name.ends_with(".rs") && name != "citations.rs" {
                found.push((path.clone(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(found.len() > 300, "the sources are found: {}", found.len());
    found
}

/// The words of a text, where a word holds letters, digits, dashes and underscores.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !(character.is_ascii_alphanumeric() || "-_".contains(character)))
}

/// A word such as `C-MRTR-12`.
fn is_duty(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    matches!(parts.as_slice(), [role, group, number]
        if matches!(*role, "C" | "H" | "S" | "G" | "X")
            && (2..=5).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_uppercase())
            && number.len() == 2 && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The number after a prefix, if nothing else follows it.
fn numbered(word: &str, prefix: &str) -> Option<u32> {
    word.strip_prefix(prefix)?.parse().ok()
}

/// The number that a test's name begins with: `fault_26_…`, `promise_3_…`.
fn named_after(word: &str, prefix: &str) -> Option<u32> {
    word.strip_prefix(prefix)?.split('_').next()?.parse().ok()
}

/// The numbers after a word: `fault 26`, `faults 26 and 27`, `row 2`.
fn numbers_after(text: &str, word: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(word) {
        // "default 0" cites no fault.
        if text[..at].ends_with(char::is_alphanumeric) {
            continue;
        }
        let rest = text[at + word.len()..].trim_start_matches('s');
        for piece in rest.split_whitespace() {
            let digits = piece.trim_matches(|character: char| !character.is_ascii_digit());
            match digits.parse() {
                Ok(number) => found.push(number),
                Err(_) if matches!(piece, "and" | "to") => {}
                Err(_) => break,
            }
            if piece.ends_with([')', '.', ':', ';']) {
                break;
            }
        }
    }
    found
}

fn check(page: &str, known: &BTreeSet<String>, cited: impl Fn(&str) -> Vec<String>) {
    let mut count = 0;
    for (path, text) in sources() {
        for id in cited(&text) {
            count += 1;
            let name = path.display();
            assert!(
                known.contains(&id),
                "{name} cites {id}, which docs/{page} does not have"
            );
        }
    }
    assert!(count > 5, "ids of docs/{page} are cited: {count}");
}

#[test]
fn every_cited_duty_exists() {
    let known: BTreeSet<String> = words(&page("duties.md"))
        .filter(|word| is_duty(word))
        .map(str::to_owned)
        .collect();
    assert_eq!(known.len(), 433);
    check("duties.md", &known, |text| {
        words(text)
            .filter(|word| is_duty(word))
            .map(str::to_owned)
            .collect()
    });
}

#[test]
fn every_cited_fault_and_promise_exists() {
    let text = page("faults.md");
    let mut known: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.split_once(". "))
        .filter_map(|(number, _)| number.parse::<u32>().ok())
        .map(|number| format!("fault {number}"))
        .collect();
    known.extend(
        words(&text)
            .filter_map(|word| numbered(word, "P"))
            .map(|number| format!("promise {number}")),
    );
    check("faults.md", &known, |text| {
        let faults = words(text)
            .filter_map(|word| named_after(word, "fault_"))
            .chain(numbers_after(text, "fault"))
            .map(|number| format!("fault {number}"));
        let promises = words(text)
            .filter_map(|word| numbered(word, "P").or_else(|| named_after(word, "promise_")))
            .filter(|number| *number < 100)
            .map(|number| format!("promise {number}"));
        faults.chain(promises).collect()
    });
}

#[test]
fn every_cited_security_requirement_exists() {
    let known: BTreeSet<String> = page("security.md")
        .lines()
        .filter_map(|line| line.strip_prefix("| S")?.split_once(' '))
        .map(|(number, _)| format!("S{number}"))
        .collect();
    assert_eq!(known.len(), 28);
    check("security.md", &known, |text| {
        words(text)
            .filter_map(|word| numbered(word, "S"))
            .filter(|number| *number < 100)
            .map(|number| format!("S{number}"))
            .collect()
    });
}

#[test]
fn every_cited_seed_row_exists() {
    let known: BTreeSet<String> = page("seeds.md")
        .lines()
        .filter_map(|line| {
            line.strip_prefix("| ")?
                .split_once(' ')?
                .0
                .parse::<u32>()
                .ok()
        })
        .map(|number| format!("row {number}"))
        .collect();
    check("seeds.md", &known, |text| {
        numbers_after(text, "seeds row")
            .into_iter()
            .map(|number| format!("row {number}"))
            .collect()
    });
}
