//! The official JSON Schema test suite: the check agrees with it, in every dialect that is known,
//! wherever it does not say that it cannot tell.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use std::collections::BTreeMap;

use attache_schema::{Schema, Value, Verdict};

struct Case {
    file: String,
    name: String,
    schema: Value,
    instance: Value,
    is_valid: bool,
}

/// The required cases of a dialect, or those of one of its optional files.
fn cases(dialect: &str, address: &str) -> Vec<Case> {
    let folder = attache_testkit::real_servers::installed(&format!("json-schema/tests/{dialect}"));
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let groups = Value::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        for group in groups.as_array().unwrap() {
            let mut schema = group.get("schema").unwrap().clone();
            if let Value::Object(words) = &mut schema
                && words.get("$schema").is_none()
            {
                words.insert("$schema", Value::String(address.to_owned()));
            }
            for test in group.get("tests").unwrap().as_array().unwrap() {
                let word = |part: &Value| part.get("description").unwrap().plain();
                cases.push(Case {
                    file: file.clone(),
                    name: format!("{file}: {}: {}", word(group), word(test)),
                    schema: schema.clone(),
                    instance: test.get("data").unwrap().clone(),
                    is_valid: test.get("valid") == Some(&Value::Bool(true)),
                });
            }
        }
    }
    cases
}

/// Checks all cases of a dialect, and tells how many it agrees on and how many it cannot tell, by
/// file.
fn judged(dialect: &str, address: &str) -> (usize, BTreeMap<String, usize>) {
    let mut wrong = Vec::new();
    let mut untold: BTreeMap<String, usize> = BTreeMap::new();
    let mut agreed = 0;
    for case in cases(dialect, address) {
        let report = Schema::of(Ok(case.schema)).validate(&case.instance);
        match (report.verdict(), case.is_valid) {
            (Verdict::Holds, true) | (Verdict::Fails, false) => agreed += 1,
            (Verdict::Unknown, _) => *untold.entry(case.file).or_default() += 1,
            _ => wrong.push(format!("{}: {report:?}", case.name)),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    (agreed, untold)
}

/// What cannot be told: references to other documents, which are never fetched (S14), and dialects
/// that are defined in them.
#[test]
fn the_check_agrees_with_the_newest_dialect() {
    let (agreed, untold) = judged(
        "draft2020-12",
        "https://json-schema.org/draft/2020-12/schema",
    );
    let files: Vec<&str> = untold.keys().map(String::as_str).collect();
    assert_eq!(
        files,
        [
            "defs.json",
            "dynamicRef.json",
            "ref.json",
            "refRemote.json",
            "vocabulary.json"
        ],
        "{untold:?}"
    );
    assert!(agreed >= 1_190, "agreed on {agreed} only");
}

#[test]
fn the_check_agrees_with_older_dialects() {
    for (dialect, address, least) in [
        (
            "draft2019-09",
            "https://json-schema.org/draft/2019-09/schema",
            1_150,
        ),
        ("draft7", "http://json-schema.org/draft-07/schema#", 850),
        ("draft6", "http://json-schema.org/draft-06/schema#", 780),
        ("draft4", "http://json-schema.org/draft-04/schema#", 580),
    ] {
        let (agreed, untold) = judged(dialect, address);
        for file in untold.keys() {
            let is_remote = matches!(
                file.as_str(),
                "definitions.json"
                    | "defs.json"
                    | "ref.json"
                    | "refRemote.json"
                    | "vocabulary.json"
                    | "recursiveRef.json"
            );
            assert!(is_remote, "{dialect}: {untold:?}");
        }
        assert!(agreed >= least, "{dialect}: agreed on {agreed} only");
    }
}
