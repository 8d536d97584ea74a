//! The tab without a terminal: input and news in, requests and state out.

use std::time::{Duration, Instant};

use attache::host::config::ServerName;
use attache::host::events::{Event, EventKind};
use attache::protocol::{CallToolResult, Content, Json};
use attache_testkit::scratch::Scratch;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};

use super::*;
use crate::component::ToolCall;
use crate::keys::KeyMap;
use crate::theme::ColorMode;

struct Tab {
    pane: SpecsPane,
    keys: KeyMap,
    scratch: Scratch,
}

impl Tab {
    fn new(files: &[(&str, &str)]) -> Self {
        let scratch = Scratch::new("specs-tab").unwrap();
        std::fs::create_dir(scratch.path().join("specs")).unwrap();
        for (file, text) in files {
            scratch.write(&format!("specs/{file}"), text).unwrap();
        }
        let pane = SpecsPane::new(scratch.path().to_path_buf(), Waker::nothing());
        let mut tab = Self {
            pane,
            keys: KeyMap::default(),
            scratch,
        };
        let tools = Command::ALL.map(|it| {
            let tool = Tool::new(it.tool(), Json::from(json!({"type": "object"})));
            ("agent".to_owned(), tool)
        });
        tab.pane.offered(tools.to_vec());
        tab.pane.shown();
        tab.settle(|pane| pane.is_listed);
        tab
    }

    /// Takes what threads bring until something holds.
    #[track_caller]
    fn settle(&mut self, mut holds: impl FnMut(&SpecsPane) -> bool) -> Vec<Outcome> {
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut outcomes = Vec::new();
        loop {
            outcomes.push(self.pane.poll());
            if holds(&self.pane) {
                return outcomes;
            }
            assert!(
                Instant::now() < deadline,
                "it does not settle: {:?}",
                self.pane
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Outcome {
        let event = KeyEvent::new(code, modifiers);
        let mut contexts = self.pane.contexts();
        contexts.push(Context::Global);
        let action = self.keys.action(&contexts, event);
        self.pane.input(Input::Key { event, action })
    }

    fn key(&mut self, key: char) -> Outcome {
        self.press(KeyCode::Char(key), KeyModifiers::NONE)
    }

    fn code(&mut self, code: KeyCode) -> Outcome {
        self.press(code, KeyModifiers::NONE)
    }

    fn types(&mut self, text: &str) {
        for character in text.chars() {
            self.key(character);
        }
    }

    fn save(&mut self) -> Outcome {
        self.press(KeyCode::Char('s'), KeyModifiers::CONTROL)
    }

    fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.scratch.path().join("specs").join(file)).unwrap()
    }

    /// What is on a screen of that size.
    fn screen(&mut self, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let theme = Theme::new(ColorMode::Never, true);
        let pane = &mut self.pane;
        let drawn = terminal
            .draw(|frame| pane.draw(frame, frame.area(), &theme))
            .unwrap();
        let mut text = String::new();
        for (at, cell) in drawn.buffer.content().iter().enumerate() {
            if at > 0 && at % usize::from(width) == 0 {
                text.push('\n');
            }
            text.push_str(cell.symbol());
        }
        text
    }
}

#[track_caller]
fn call(outcome: Outcome) -> (ToolCall, Value) {
    match outcome {
        Outcome::Request(Request::Call(call)) => {
            let arguments = serde_json::from_str(call.arguments.as_str()).unwrap();
            (call, arguments)
        }
        other => panic!("{other:?}"),
    }
}

fn answer(text: &str, is_error: bool) -> CallNews {
    CallNews::Answered(CallToolResult {
        content: vec![Content::text(text)],
        is_error,
        ..CallToolResult::default()
    })
}

fn progress(progress: f64, message: &str) -> CallNews {
    CallNews::Progress {
        progress,
        total: Some(100.0),
        message: Some(message.to_owned()),
    }
}

const CHAIN: [(&str, &str); 5] = [
    (
        "001-old/spec.md",
        "# Old\n\n**Feature Branch**: `old-branch`\n",
    ),
    ("001-old/plan.md", "# Plan\n"),
    ("001-old/tasks.md", "- [x] T001 a\n- [ ] T002 b\n"),
    ("002-bare/notes.txt", ""),
    ("003-spec/spec.md", "# Spec\n[NEEDS CLARIFICATION: who?]\n"),
];

#[test]
fn specs_are_listed_with_their_phases() {
    let mut tab = Tab::new(&CHAIN);
    tab.settle(|pane| pane.opened.is_some());
    let screen = tab.screen(120, 30);
    for line in [
        "> 001-old",
        "implement 1/2",
        "002-bare               specify",
        "003-spec               clarify or plan",
        "branch old-branch",
    ] {
        assert!(screen.contains(line), "{line} in\n{screen}");
    }
    // Narrow screens show one part at a time, and no size is too small to draw.
    let narrow = tab.screen(60, 20);
    assert!(
        narrow.contains("001-old") && !narrow.contains("branch old-branch"),
        "{narrow}"
    );
    tab.code(KeyCode::Enter);
    assert!(tab.screen(60, 20).contains("branch old-branch"));
    for (width, height) in [(1, 1), (3, 2), (40, 10)] {
        tab.screen(width, height);
    }
}

/// Prerequisites are said, and any command is within three keys of any other tab.
#[test]
fn the_menu_says_what_can_run_and_why_not() {
    let mut tab = Tab::new(&CHAIN);
    tab.code(KeyCode::Down);
    tab.key('r');
    let screen = tab.screen(120, 30);
    assert!(
        screen.contains("there is no spec.md yet; run specify first"),
        "{screen}"
    );
    assert!(
        screen.contains("there is no tasks.md yet; run tasks first"),
        "{screen}"
    );
    assert!(
        matches!(tab.key('i'), Outcome::Used),
        "what cannot run does not"
    );
    tab.code(KeyCode::Esc);
    tab.code(KeyCode::Up);
    for (key, tool) in [
        ('c', "speckit.clarify"),
        ('p', "speckit.plan"),
        ('t', "speckit.tasks"),
        ('i', "speckit.implement"),
    ] {
        tab.key('r');
        let (call, arguments) = call(tab.key(key));
        assert_eq!((call.tool.as_str(), call.server.as_str()), (tool, "agent"));
        let folder = tab
            .scratch
            .path()
            .canonicalize()
            .unwrap()
            .join("specs/001-old");
        assert_eq!(arguments, json!({"spec_directory": folder}));
        tab.pane.on_call(call.tag, answer("done", false));
    }
    tab.key('r');
    tab.key('f');
    tab.types("T002");
    let (_, arguments) = call(tab.code(KeyCode::Enter));
    assert_eq!(arguments["task_filter"], "T002");
}

#[test]
fn a_new_spec_gets_the_next_number_and_a_short_name() {
    let mut tab = Tab::new(&CHAIN);
    tab.key('n');
    tab.code(KeyCode::Enter);
    tab.types("Users can search notes ");
    tab.pane.input(Input::Paste("by\ntag"));
    tab.code(KeyCode::Enter);
    assert!(tab.screen(120, 30).contains("004-search-notes-tag"));
    let (call, arguments) = call(tab.code(KeyCode::Enter));
    assert_eq!(call.tool, "speckit.specify");
    let root = tab.scratch.path().canonicalize().unwrap();
    assert_eq!(
        arguments,
        json!({
            "feature_description": "Users can search notes by tag",
            "spec_directory": root.join("specs/004-search-notes-tag"),
        })
    );
    tab.scratch
        .write("specs/004-search-notes-tag/spec.md", "# New\n")
        .unwrap();
    tab.pane
        .on_call(call.tag, answer("Specification created", false));
    tab.settle(|pane| pane.specs.len() == 4 && pane.opened.is_some());
    assert_eq!(tab.pane.spec().unwrap().name, "004-search-notes-tag");
}

/// Seed 003: bar and message in the output panel, streams labelled, partial output kept.
#[test]
fn output_streams_and_survives_a_cancel() {
    let mut tab = Tab::new(&CHAIN);
    tab.pane.set_log("/state/calls".into());
    tab.key('r');
    let (call, _) = call(tab.key('p'));
    tab.pane.on_call(call.tag, CallNews::Started { request: 7 });
    tab.pane.on_call(
        call.tag,
        progress(50.0, "Analyzing\u{1b}[2J requirements..."),
    );
    let event = |kind| Event {
        seq: 1,
        at_ms: 1,
        server: Some(ServerName::from_any("agent")),
        kind,
    };
    let line = "a warning".to_owned();
    tab.pane.on_event(&event(EventKind::Stderr { line }));
    let screen = tab.screen(120, 30);
    for words in [
        "50 %",
        "requirements...",
        "stderr   a warning",
        "x cancels",
        "log /state/calls",
    ] {
        assert!(screen.contains(words), "{words} in\n{screen}");
    }
    assert!(!screen.contains('\u{1b}'));
    assert!(tab.pane.is_moving());
    match tab.key('x') {
        Outcome::Request(Request::Cancel { tag }) => assert_eq!(tag, call.tag),
        other => panic!("{other:?}"),
    }
    let failed = CallNews::Failed {
        cause: "Operation was cancelled".to_owned(),
        code: Some(-32002),
        is_cancelled: false,
        can_retry: false,
    };
    tab.pane.on_call(call.tag, failed);
    let screen = tab.screen(120, 30);
    assert!(
        screen.contains("plan cancelled") && screen.contains("a warning"),
        "{screen}"
    );
    assert!(!tab.pane.is_moving());
}

/// Seed 003: −32000 and −32001 by name, and a retry after them.
#[test]
fn recoverable_failures_are_named_and_tried_again() {
    for (code, name) in [
        (-32000, "Tool execution error (-32000): overloaded"),
        (-32001, "Timeout (-32001): overloaded"),
    ] {
        let mut tab = Tab::new(&CHAIN);
        tab.key('r');
        let (first, _) = call(tab.key('p'));
        let failed = CallNews::Failed {
            cause: "overloaded".to_owned(),
            code: Some(code),
            is_cancelled: false,
            can_retry: false,
        };
        tab.pane.on_call(first.tag, failed);
        let screen = tab.screen(120, 30);
        assert!(
            screen.contains(name) && screen.contains("R tries again"),
            "{screen}"
        );
        let (second, _) = call(tab.key('R'));
        assert_ne!(second.tag, first.tag);
        assert_eq!(second.tool, "speckit.plan");
        // Late news of the first call are not the second's.
        tab.pane.on_call(first.tag, answer("late", true));
        assert!(tab.pane.is_moving());
        tab.pane.on_call(second.tag, answer("Plan created", false));
        assert!(tab.screen(120, 30).contains("plan done"));
    }
}

#[test]
fn the_editor_saves_whole_and_sees_what_others_wrote() {
    let mut tab = Tab::new(&[("001-a/spec.md", "# One\n\ntext\n")]);
    tab.settle(|pane| pane.opened.is_some());
    tab.key('e');
    tab.types("New ");
    assert!(tab.screen(120, 20).contains("modified"));
    assert_eq!(tab.text("001-a/spec.md"), "# One\n\ntext\n");
    tab.save();
    tab.settle(|pane| !pane.opened.as_ref().unwrap().is_modified());
    assert_eq!(tab.text("001-a/spec.md"), "New # One\n\ntext\n");

    // Somebody else writes while the person edits: the first save says so, the second overwrites.
    tab.types("X");
    tab.scratch
        .write("specs/001-a/spec.md", "theirs, and longer\n")
        .unwrap();
    tab.save();
    let saving = |pane: &SpecsPane| {
        pane.opened
            .as_ref()
            .unwrap()
            .editor
            .as_ref()
            .unwrap()
            .is_saving
    };
    let outcomes = tab.settle(|pane| !saving(pane));
    let told = outcomes
        .iter()
        .any(|it| matches!(it, Outcome::Request(Request::Notice(_))));
    assert!(told, "{outcomes:?}");
    assert_eq!(tab.text("001-a/spec.md"), "theirs, and longer\n");
    assert!(tab.screen(120, 20).contains("changed on disk"));
    tab.save();
    tab.settle(|pane| !saving(pane));
    assert_eq!(tab.text("001-a/spec.md"), "New X# One\n\ntext\n");

    // Leaving with unsaved text takes two keys, and brings back what is on the disk.
    tab.types("Y");
    assert!(matches!(
        tab.code(KeyCode::Esc),
        Outcome::Request(Request::Notice(_))
    ));
    tab.code(KeyCode::Esc);
    assert!(!tab.pane.is_editing());
    assert_eq!(tab.text("001-a/spec.md"), "New X# One\n\ntext\n");
}

/// What a terminal must not show is not edited in one.
#[test]
fn hostile_documents_are_shown_safely_and_not_edited() {
    let mut tab = Tab::new(&[("001-a/spec.md", "# One\u{1b}]0;title\u{7} \u{202e}\n")]);
    tab.settle(|pane| pane.opened.is_some());
    assert!(matches!(tab.key('e'), Outcome::Request(Request::Notice(_))));
    assert!(!tab.pane.is_editing());
    let screen = tab.screen(120, 20);
    assert!(
        !screen.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{screen}"
    );
}

#[test]
fn empty_states_say_what_to_do() {
    let mut tab = Tab::new(&[]);
    assert!(tab.screen(120, 20).contains("No specs in specs/ yet."));
    assert!(tab.screen(120, 20).contains("n describes the"));
    tab.pane.offered(Vec::new());
    assert!(tab.screen(120, 20).contains("No server offers"));
    assert!(matches!(tab.key('n'), Outcome::Request(Request::Notice(_))));
}

#[test]
fn output_is_bounded() {
    let mut output = Output::default();
    for number in 0..run::MOST_LINES + 10 {
        output.add(Source::Stdout, &number.to_string());
    }
    assert_eq!((output.lines.len(), output.dropped), (run::MOST_LINES, 10));
}
