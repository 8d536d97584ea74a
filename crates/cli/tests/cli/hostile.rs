//! S13: nothing a server says reaches a terminal unescaped.

use crate::harness::{hostile, run_on};

/// Characters that control a terminal or reorder text.
fn dangerous(text: &str) -> Vec<char> {
    text.chars()
        .filter(|character| {
            (character.is_control() && !"\n\t".contains(*character))
                || ('\u{202a}'..='\u{202e}').contains(character)
        })
        .collect()
}

// C-ELIC-14.
#[test]
fn s13_nothing_a_server_says_reaches_a_terminal_unescaped() {
    for words in [
        &["ls"][..],
        &["tools"],
        &["ls", "--verbose"],
        &["call", "attack"],
        &["call", "attack", "--verbose"],
        &["call", "nothing"],
        &["call", "hang\u{7}", "--timeout", "200ms"],
        &["read", "x:y", "--timeout", "200ms", "--verbose"],
    ] {
        let outcome = run_on(&hostile(), words);
        for stream in [&outcome.stdout, &outcome.stderr] {
            assert_eq!(
                dangerous(stream),
                Vec::<char>::new(),
                "{words:?}: {outcome:?}"
            );
        }
    }
}

#[test]
fn fault_18_fault_54_sloppiness_is_mentioned_and_costs_nothing_else() {
    let outcome = run_on(&hostile(), &["tools"]).expect(0);
    insta::assert_snapshot!(outcome.stdout, @r"
    attack     does \u{1b}[1A\u{1b}[2K\u{9b}2J\u{202e}it
    hang\u{7}
               [\u{1b}]0;x\u{7}=<string>]
    ");
    insta::assert_snapshot!(outcome.stderr, @r#"
    note: sh lists a tool that cannot be read (missing field `name` at line 1 column 17): {"nameless":true}
    note: sh wrote a line to stdout that is no message; it was skipped
    "#);
    let document = run_on(&hostile(), &["tools", "--json"])
        .expect(0)
        .document();
    assert_eq!(document["tools"].as_array().unwrap().len(), 2);
    assert_eq!(
        document["servers"][0]["rejected"][0]["raw"],
        serde_json::json!({"nameless": true})
    );
}
