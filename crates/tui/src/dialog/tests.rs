//! What keys answer, and how questions look.

use attache::host::questions::Answerer;

use super::*;
use crate::component::Request;
use crate::testing::{ascii, colored, drawn, keys, text, without_colors};

fn dialog(kind: &str) -> QuestionDialog {
    let kind: QuestionKind = serde_json::from_str(kind).unwrap();
    let question = Question {
        id: 1,
        since_ms: 0,
        request: None,
        server: "notes".parse().unwrap(),
        who: Answerer::Person,
        kind,
    };
    QuestionDialog::new(Arc::new(question), Waker::nothing())
}

/// The answer that keys give; nothing if they give none.
fn answer(kind: &str, pressed: &str) -> String {
    let mut dialog = dialog(kind);
    drawn(&mut dialog, (60, 20), &colored());
    match keys(&mut dialog, pressed) {
        Outcome::Submit => serde_json::to_string(&dialog.answer()).unwrap(),
        Outcome::Close => "later".to_owned(),
        Outcome::Request(Request::OpenUrl(url)) => format!("open {url}"),
        _ => "open question".to_owned(),
    }
}

fn check(kind: &str, cases: &[(&str, &str)]) {
    for (pressed, expected) in cases {
        assert_eq!(answer(kind, pressed), *expected, "{pressed}");
    }
}

const APPROVAL: &str = r#"{"approval":{"tool":"delete","title":"Delete\u001b[2J","description":"Deletes.\nFor good.\u202e",
    "arguments":{"id":7,"why":"x\u009b2J"},"because":"the server's policy says to ask first"}}"#;
const DRIFT: &str = r#"{"drift":{"name":{"server":"notes","tool":"delete"},"paths":["description"],"lines":[
    {"kept":"{"},{"removed":"  \"description\": \"Deletes a note\""},{"added":"  \"description\": \"Deletes a note\u202e and mails it\""},"gap",{"kept":"}"}]}}"#;
const FORM: &str = r#"{"elicit_form":{"message":"Who are you?\u001b]0;x\u0007","requestedSchema":{"type":"object",
    "properties":{"name":{"type":"string","minLength":2},"sure":{"type":"boolean","default":true}},"required":["name"]}}}"#;
const URL: &str = r#"{"elicit_url":{"mode":"url","message":"Please log in","url":"https://login.example.org/start?state=1"}}"#;
const BAD_URL: &str =
    r#"{"elicit_url":{"mode":"url","message":"go","url":"https://bank.example@evil.example/"}}"#;
const SAMPLING: &str = r#"{"sampling":{"messages":[{"role":"user","content":{"type":"text","text":"Say hi\u001b[2J"}}],
    "systemPrompt":"Be kind.","maxTokens":9,"modelPreferences":{"hints":[{"name":"small"}],"speedPriority":0.5}}}"#;

#[test]
fn approvals_need_a_choice_and_nothing_is_chosen_by_itself() {
    check(
        APPROVAL,
        &[
            ("enter", "open question"),
            ("f2", "open question"),
            ("space", "open question"),
            ("q", "open question"),
            ("esc", "later"),
            ("y", r#"{"allow":{"remember":"once","scope":"tool"}}"#),
            (
                "down enter",
                r#"{"allow":{"remember":"once","scope":"tool"}}"#,
            ),
            ("t", r#"{"allow":{"remember":"session","scope":"tool"}}"#),
            ("T", r#"{"allow":{"remember":"always","scope":"tool"}}"#),
            ("s", r#"{"allow":{"remember":"session","scope":"server"}}"#),
            ("S", r#"{"allow":{"remember":"always","scope":"server"}}"#),
            (
                "tab tab f2",
                r#"{"allow":{"remember":"session","scope":"tool"}}"#,
            ),
            ("n", r#"{"deny":{"remember":"once","scope":"tool"}}"#),
            ("D", r#"{"deny":{"remember":"always","scope":"tool"}}"#),
            ("v", "open question"),
        ],
    );
}

// S4.
#[test]
fn drift_is_approved_or_not() {
    check(
        DRIFT,
        &[
            ("y", r#"{"accept":{}}"#),
            ("n", r#""decline""#),
            ("esc", "later"),
            ("enter", "open question"),
        ],
    );
}

// C-ELIC-09.
#[test]
fn forms_are_filled_in_declined_or_left() {
    check(
        FORM,
        &[
            ("f2", "open question"),
            (
                "enter =Ada f2",
                r#"{"accept":{"content":{"sure":true,"name":"Ada"}}}"#,
            ),
            ("enter =A f2", "open question"),
            ("n", r#""decline""#),
            ("c", r#""cancel""#),
            ("esc", "later"),
            // While a text is typed, letters are text and Escape ends typing.
            ("enter =nc esc", "open question"),
            ("enter =nc esc esc", "later"),
        ],
    );
}

// C-ELIC-12, C-ELIC-13.
#[test]
fn pages_are_opened_on_a_key_only_and_never_by_a_trick() {
    check(
        URL,
        &[
            ("enter", "open question"),
            ("o", "open https://login.example.org/start?state=1"),
            ("o enter", r#"{"accept":{}}"#),
            ("y", r#"{"accept":{}}"#),
            ("n", r#""decline""#),
            ("x", r#""cancel""#),
        ],
    );
    check(
        BAD_URL,
        &[
            ("o", "open question"),
            ("y", "open question"),
            ("n", r#""decline""#),
        ],
    );
}

// The person sees the whole conversation before anything is sent, and may say no.
#[test]
fn a_person_answers_for_a_model_or_says_why_not() {
    check(
        SAMPLING,
        &[
            ("f2", "open question"),
            (
                "e =hello f2",
                r#"{"message":{"role":"assistant","content":{"type":"text","text":"hello"},"model":"person-at-terminal"}}"#,
            ),
            (
                "enter =a enter =b esc f2",
                r#"{"message":{"role":"assistant","content":{"type":"text","text":"a\nb"},"model":"person-at-terminal"}}"#,
            ),
            ("n enter", r#"{"refuse":{"reason":"the user declined"}}"#),
            ("n =not_now enter", r#"{"refuse":{"reason":"not now"}}"#),
            ("n esc esc", "later"),
            ("e =x esc esc", "later"),
            // What was written is still there after a second thought.
            (
                "e =hello esc n esc f2",
                r#"{"message":{"role":"assistant","content":{"type":"text","text":"hello"},"model":"person-at-terminal"}}"#,
            ),
        ],
    );
}

#[cfg(unix)]
#[test]
fn folders_are_listed_or_refused() {
    check(
        r#""roots""#,
        &[
            ("f2", r#"{"roots":[]}"#),
            (
                "+ =/srv/my_notes f2",
                r#"{"roots":[{"uri":"file:///srv/my%20notes"}]}"#,
            ),
            ("+ =notes f2", "open question"),
            ("n enter", r#"{"refuse":{"reason":"the user declined"}}"#),
        ],
    );
}

#[test]
fn a_misfit_is_told_and_the_dialog_stays() {
    let mut dialog = dialog(FORM);
    keys(&mut dialog, "enter =Ada esc");
    dialog.refused("\"name\" must be\u{1b} longer");
    let shown = text(&drawn(&mut dialog, (70, 20), &colored()));
    assert!(shown.contains("\"name\" must be\\u{1b} longer"), "{shown}");
    assert!(shown.contains("Ada"), "{shown}");
    assert!(matches!(keys(&mut dialog, "f2"), Outcome::Submit));
}

#[test]
fn what_an_editor_wrote_is_the_answer() {
    let mut dialog = dialog(SAMPLING);
    let Outcome::Request(Request::Edit { text, .. }) = keys(&mut dialog, "e =x ctrl-e") else {
        panic!("no editor");
    };
    assert_eq!(text, "x");
    dialog.input(Input::Edited("long\nanswer\n"));
    assert!(matches!(keys(&mut dialog, "f2"), Outcome::Submit));
    let answer = serde_json::to_string(&dialog.answer()).unwrap();
    assert!(answer.contains(r#""text":"long\nanswer""#), "{answer}");
}

// S13: whatever a server puts into a question, the screen shows it as text.
#[test]
fn questions_look_like_this() {
    let tool: Tool = serde_json::from_str(
        r#"{"name":"delete","inputSchema":{},"annotations":{"destructiveHint":true,"openWorldHint":false}}"#,
    )
    .unwrap();
    let mut screens = String::new();
    for (name, kind, pressed, size, theme) in [
        ("approval", APPROVAL, "", (80, 24), colored()),
        ("approval, raw", APPROVAL, "down v", (40, 10), ascii()),
        ("drift", DRIFT, "", (60, 16), colored()),
        ("drift, wide", DRIFT, "down", (120, 14), without_colors()),
        ("form", FORM, "", (70, 16), colored()),
        ("page", URL, "", (80, 16), colored()),
        ("page, not plain", BAD_URL, "", (60, 12), colored()),
        ("sampling", SAMPLING, "", (80, 20), colored()),
        ("sampling, writing", SAMPLING, "e =hello", (40, 10), ascii()),
        ("sampling, refusing", SAMPLING, "n", (60, 14), colored()),
        ("folders", r#""roots""#, "+ =/srv", (70, 14), colored()),
    ] {
        let mut dialog = dialog(kind);
        if kind == APPROVAL {
            dialog = dialog.with_tool(&tool, "same as approved");
        }
        keys(&mut dialog, pressed);
        let shown = text(&drawn(&mut dialog, size, &theme));
        let line = headline(dialog.question());
        screens += &format!("== {name}: {line}\n{shown}\n");
    }
    // The folder of the test is an example in the form.
    let here = std::env::current_dir().unwrap().display().to_string();
    assert!(!screens.contains('\u{1b}') && !screens.contains('\u{202e}'));
    insta::assert_snapshot!(screens.replace(&here, "HERE"));
}

#[test]
fn any_size_can_be_drawn_and_asked_for() {
    for kind in [APPROVAL, DRIFT, FORM, URL, BAD_URL, SAMPLING, r#""roots""#] {
        for size in [(1, 1), (2, 3), (5, 2), (20, 5), (200, 60)] {
            let mut dialog = dialog(kind);
            for pressed in ["", "down", "pagedown", "enter", "tab", "n", "esc"] {
                let (width, height) = dialog.size(Rect::new(0, 0, size.0, size.1));
                assert!(width >= 1 && height >= 1);
                keys(&mut dialog, pressed);
                drawn(&mut dialog, size, &colored());
            }
        }
    }
}
