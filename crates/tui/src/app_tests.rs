//! Messages in, state and screens out; no terminal, no host.

use std::fmt::Write as _;

use attache::host::catalog::{Aggregate, Offered, Outcome, ServerAnswer};
use attache::host::config::ServerName;
use attache::host::events::{Event, EventKind, StateChange};
use attache::host::snapshot::{FailureSnapshot, Offers, ServerSnapshot, ServerState};
use attache::protocol::{Json, Prompt, Resource, ResourceTemplate, Tool};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{Event as TerminalEvent, KeyCode, KeyEvent, KeyModifiers};

use super::*;
use crate::message::{Connected, Failed, JobEnd, JobNews, Listed, Order, PinWord, WatchNews};
use crate::panes::catalog::Row as _;
use crate::theme::ColorMode;

pub(super) const NOW: u64 = 1_700_000_000_000;

fn app_with(theme: Theme) -> App {
    let settings = Settings {
        theme,
        keys: KeyMap::default(),
        has_mouse: true,
        folder: PathBuf::from("/nowhere"),
        can_panic: false,
    };
    App::new(settings, Waker::nothing(), NOW)
}

pub(super) fn app() -> App {
    app_with(Theme::new(ColorMode::Palette, false))
}

fn name(name: &str) -> ServerName {
    ServerName::new(name).unwrap()
}

fn server(text: &str, state: ServerState) -> ServerSnapshot {
    let is_bad = matches!(state, ServerState::Parked | ServerState::BackingOff);
    ServerSnapshot {
        name: name(text),
        state,
        since_ms: NOW - 3_000,
        target: format!("uvx mcp-server-{text}"),
        starts: 1,
        process_id: Some(4711),
        era: Some("legacy".to_owned()),
        revision: Some("2025-11-25".to_owned()),
        calls_itself: Some(format!("{text}-server 1.2")),
        offers: Offers {
            tools: Some(3),
            ..Offers::default()
        },
        requests: None,
        last_failure: is_bad.then(|| FailureSnapshot {
            cause: "uvx was not found on PATH; install it, or give its whole path".to_owned(),
            stderr: vec!["line of stderr \u{1b}[2J".to_owned()],
        }),
    }
}

fn connect(app: &mut App, servers: Vec<ServerSnapshot>) {
    let snapshot = Snapshot {
        started_ms: NOW - 10_000,
        seq: 10,
        at_ms: NOW,
        servers,
        ..Snapshot::default()
    };
    let about = About {
        logs: Some(PathBuf::from("/home/me/.local/state/attache/log")),
        ..About::default()
    };
    app.on(Message::Connected(Box::new(Connected { snapshot, about })));
    app.take_effects();
}

fn offered<T>(server: &str, own: &str, entry: T) -> Offered<T> {
    Offered {
        server: name(server),
        qualified: format!("{server}/{own}"),
        plain: None,
        provider: own.to_owned(),
        entry,
    }
}

pub(super) fn answer(server: &str, outcome: Outcome) -> ServerAnswer {
    ServerAnswer {
        name: name(server),
        outcome,
        error: None,
        rejected: Vec::new(),
    }
}

fn tool(text: &str) -> Tool {
    serde_json::from_str(text).unwrap()
}

pub(super) fn some_tools(server: &str) -> Vec<Offered<Tool>> {
    let schema = r#"{"type":"object","properties":{"query":{"type":"string","description":"What to look for"},"limit":{"type":"integer"}},"required":["query"]}"#;
    let texts = [
        format!(
            r#"{{"name":"search_notes","title":"Search the notes","description":"Finds notes.\n\nBy words, tags or dates.","inputSchema":{schema},"annotations":{{"readOnlyHint":true}}}}"#
        ),
        format!(
            r#"{{"name":"sync_repository","description":"Fetches and pushes.","inputSchema":{schema},"annotations":{{"destructiveHint":true,"openWorldHint":true}}}}"#
        ),
        r#"{"name":"count","inputSchema":{"type":"object"}}"#.to_owned(),
    ];
    let tools = texts.iter().map(|text| tool(text));
    tools
        .map(|tool| offered(server, &tool.name.clone(), tool))
        .collect()
}

pub(super) fn list_tools(app: &mut App, entries: Vec<Offered<Tool>>, servers: Vec<ServerAnswer>) {
    let (rows, servers) = ToolRow::all(Aggregate { entries, servers });
    app.on(Message::Listed(Listed::Tools(rows, servers)));
}

pub(super) fn key(code: KeyCode) -> Message {
    Message::Terminal(TerminalEvent::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn control(character: char) -> Message {
    let event = KeyEvent::new(KeyCode::Char(character), KeyModifiers::CONTROL);
    Message::Terminal(TerminalEvent::Key(event))
}

pub(super) fn type_in(app: &mut App, keys: &str) {
    for character in keys.chars() {
        app.on(match character {
            '\n' => key(KeyCode::Enter),
            '\u{1b}' => key(KeyCode::Esc),
            '\t' => key(KeyCode::Tab),
            other => key(KeyCode::Char(other)),
        });
    }
}

fn buffer(app: &mut App, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| app.draw(frame)).unwrap();
    terminal.backend().buffer().clone()
}

fn rows(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let mut text = String::new();
    for row in buffer.content.chunks(width) {
        let mut skipped = 0;
        let mut line = String::new();
        for cell in row {
            if skipped == 0 {
                line.push_str(cell.symbol());
                skipped = text::width(cell.symbol()).saturating_sub(1);
            } else {
                skipped -= 1;
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

pub(super) fn screen(app: &mut App, width: u16, height: u16) -> String {
    rows(&buffer(app, width, height))
}

/// The same on several sizes, one under the other.
fn screens(app: &mut App) -> String {
    let mut all = String::new();
    for (width, height) in [(39, 9), (40, 10), (59, 14), (80, 24), (120, 30), (200, 24)] {
        let _ = writeln!(all, "=== {width}x{height}\n{}", screen(app, width, height));
    }
    all
}

pub(super) fn ready(app: &mut App) {
    let servers = vec![
        server("git", ServerState::Parked),
        server("notes", ServerState::Ready),
        server("time", ServerState::Starting),
    ];
    connect(app, servers);
    let failure = FailureSnapshot {
        cause: "uvx was not found on PATH".to_owned(),
        stderr: Vec::new(),
    };
    list_tools(
        app,
        some_tools("notes"),
        vec![
            answer("git", Outcome::Parked(failure)),
            answer("notes", Outcome::Ok),
            answer("time", Outcome::Starting),
        ],
    );
}

fn begin_call(app: &mut App) -> JobId {
    let call = Work::Call {
        server: "notes".to_owned(),
        tool: "sync_repository".to_owned(),
        arguments: Json::parse(r#"{"query":"x"}"#).unwrap(),
        timeout: None,
        meta: Vec::new(),
        as_task: false,
        output_schema: None,
    };
    app.begin(call, false)
}

#[test]
fn the_first_frame_needs_nothing() {
    let mut app = app();
    let shown = screens(&mut app);
    assert!(shown.contains("reading the configuration"), "{shown}");
    insta::assert_snapshot!("first_frame", shown);
}

#[test]
fn tools_in_every_state() {
    let mut app = app();
    ready(&mut app);
    let pin = |name: &str, word| {
        let tool = Arc::new(Tool::new(name, Json::default()));
        ("notes".to_owned(), tool, word)
    };
    app.on(Message::Pins(vec![
        pin("count", PinWord::Drifted),
        pin("search_notes", PinWord::Same),
        pin("sync_repository", PinWord::New),
    ]));
    insta::assert_snapshot!("tools_partial_and_failed", screens(&mut app));
    type_in(&mut app, "/syr");
    insta::assert_snapshot!("tools_filtered", screens(&mut app));
    type_in(&mut app, "zzz");
    insta::assert_snapshot!("tools_filtered_to_nothing", screens(&mut app));
}

#[test]
fn tools_that_are_remembered_stale_or_not_offered() {
    let mut all = String::new();
    for (label, state, outcome, tools) in [
        ("starting", ServerState::Starting, None, Vec::new()),
        ("none", ServerState::Ready, Some(Outcome::Ok), Vec::new()),
        (
            "not offered",
            ServerState::Ready,
            Some(Outcome::NotOffered),
            Vec::new(),
        ),
        (
            "stale",
            ServerState::BackingOff,
            Some(Outcome::Ok),
            some_tools("notes"),
        ),
        (
            "off",
            ServerState::Disabled,
            Some(Outcome::Disabled),
            Vec::new(),
        ),
        (
            "remembered",
            ServerState::Starting,
            Some(Outcome::Remembered {
                saved_ms: NOW - 7_200_000,
                because: "it is still starting".to_owned(),
            }),
            some_tools("notes"),
        ),
    ] {
        let mut app = app();
        connect(&mut app, vec![server("notes", state)]);
        if let Some(outcome) = outcome {
            list_tools(&mut app, tools, vec![answer("notes", outcome)]);
        }
        let _ = writeln!(all, "=== {label}\n{}", screen(&mut app, 100, 14));
    }
    let mut nothing = app();
    connect(&mut nothing, Vec::new());
    let _ = writeln!(all, "=== no server\n{}", screen(&mut nothing, 80, 12));
    insta::assert_snapshot!("tools_of_one_server", all);
}

#[test]
fn resources_and_prompts() {
    let mut app = app();
    ready(&mut app);
    let resource: Resource = serde_json::from_str(
        r#"{"uri":"notes://2024/tea","name":"tea","title":"Tea","mimeType":"text/markdown","size":1234,"description":"About tea"}"#,
    )
    .unwrap();
    let template: ResourceTemplate = serde_json::from_str(
        r#"{"uriTemplate":"notes://{year}/{slug}","name":"note","description":"Any note"}"#,
    )
    .unwrap();
    let prompt: Prompt = serde_json::from_str(
        r#"{"name":"summarize","description":"Sums up","arguments":[{"name":"topic","required":true,"description":"About what"},{"name":"tone"}]}"#,
    )
    .unwrap();
    app.on(Message::Listed(Listed::Resources(Box::new(Aggregate {
        entries: vec![offered("notes", "tea", resource)],
        servers: vec![answer("notes", Outcome::Ok)],
    }))));
    app.on(Message::Listed(Listed::Templates(Box::new(Aggregate {
        entries: vec![offered("notes", "note", template)],
        servers: vec![answer("notes", Outcome::Ok)],
    }))));
    app.on(Message::Listed(Listed::Prompts(Box::new(Aggregate {
        entries: vec![offered("notes", "summarize", prompt)],
        servers: vec![answer("notes", Outcome::Ok)],
    }))));
    type_in(&mut app, "2w");
    let effects = app.take_effects();
    assert!(
        matches!(&effects[..], [Effect::Watch { uri, is_wanted: true, .. }] if uri == "notes://2024/tea"),
        "{effects:?}"
    );
    let watched = |news| Message::Watched {
        server: "notes".to_owned(),
        uri: "notes://2024/tea".to_owned(),
        news,
    };
    app.on(watched(WatchNews::Began));
    app.on(watched(WatchNews::Gap));
    insta::assert_snapshot!("resources", screens(&mut app));
    // What is looked at is read again when it changes.
    type_in(&mut app, "\n");
    let id = app.shown_job().unwrap();
    end_call(
        &mut app,
        id,
        r#"{"contents":[{"uri":"notes://2024/tea","text":"green"}]}"#,
    );
    app.take_effects();
    app.on(watched(WatchNews::Changed));
    let effects = app.take_effects();
    assert!(
        matches!(&effects[..], [Effect::Begin(_, Work::Read { .. })]),
        "{effects:?}"
    );
    type_in(&mut app, "3");
    insta::assert_snapshot!("prompts", screens(&mut app));
}

fn end_call(app: &mut App, id: JobId, raw: &str) {
    let result: attache::protocol::CallToolResult =
        serde_json::from_str(r#"{"content":[{"type":"text","text":"42 notes"}]}"#).unwrap();
    let document = attache_view::document::Document::of_call(&result, None);
    let end = JobEnd::Answered {
        document: Arc::new(document),
        raw: attache::protocol::Json::parse(raw).unwrap().into(),
    };
    app.on(Message::Job(id, JobNews::Ended(end)));
}

#[test]
fn several_calls_run_and_one_is_cancelled() {
    let mut app = app();
    ready(&mut app);
    let first = begin_call(&mut app);
    app.now_ms += 1_200;
    let second = begin_call(&mut app);
    app.take_effects();
    let progress = |progress: f64, message: &str| JobNews::Progress {
        progress,
        total: Some(100.0),
        message: Some(message.to_owned()),
    };
    app.on(Message::Job(
        first,
        progress(62.0, "fetching\u{1b}]0;owned\u{7}"),
    ));
    app.on(Message::Job(second, progress(7.0, "beginning")));
    insta::assert_snapshot!("running", screens(&mut app));
    // The last one has the focus where none is selected.
    type_in(&mut app, "4");
    type_in(&mut app, "j");
    let _ = screen(&mut app, 120, 30);
    type_in(&mut app, "x");
    let effects = app.take_effects();
    assert!(
        matches!(&effects[..], [Effect::History, Effect::Cancel(id)] if *id == second || *id == first),
        "{effects:?}"
    );
    let Some(Effect::Cancel(cancelled)) = effects.last() else {
        panic!("{effects:?}");
    };
    let failed = Failed {
        cause: "you cancelled it; the server was told".to_owned(),
        word: "cancelled",
        ..Failed::default()
    };
    app.on(Message::Job(
        *cancelled,
        JobNews::Ended(JobEnd::Failed(failed)),
    ));
    let other = if *cancelled == first { second } else { first };
    end_call(
        &mut app,
        other,
        r#"{"content":[{"type":"text","text":"42 notes"}]}"#,
    );
    app.on(Message::History(Ok(Vec::new())));
    insta::assert_snapshot!("calls", screens(&mut app));
}

/// Texts of any length are drawn by their beginning: a frame never costs what a server sends.
#[test]
fn a_cause_of_ten_megabytes_costs_no_more_than_a_screen() {
    let mut app = app();
    connect(&mut app, vec![server("notes", ServerState::Ready)]);
    let id = begin_call(&mut app);
    let failed = Failed {
        cause: format!("so it began {}", "x".repeat(10_000_000)),
        word: "server error",
        ..Failed::default()
    };
    app.on(Message::Job(id, JobNews::Ended(JobEnd::Failed(failed))));
    type_in(&mut app, "4");
    let _ = screen(&mut app, 120, 40);
    type_in(&mut app, "\n");
    let shown = rows(&buffer(&mut app, 120, 40));
    assert!(shown.contains("so it began"), "{shown}");
    assert!(shown.contains(&"x".repeat(40)), "{shown}");
}

#[test]
fn a_call_that_may_have_had_an_effect_is_repeated_only_after_a_question() {
    let mut app = app();
    ready(&mut app);
    let id = begin_call(&mut app);
    end_call(&mut app, id, "{}");
    app.take_effects();
    type_in(&mut app, "4");
    let _ = screen(&mut app, 120, 30);
    type_in(&mut app, "r");
    assert!(
        app.take_effects()
            .iter()
            .all(|effect| !matches!(effect, Effect::Begin(..)))
    );
    type_in(&mut app, "run\n");
    let effects = app.take_effects();
    assert!(matches!(&effects[..], [Effect::Begin(2, _)]), "{effects:?}");
    // One that claims to change nothing is repeated at once.
    if let Some(job) = app.jobs.get_mut(2) {
        job.is_harmless = true;
    }
    end_call(&mut app, 2, "{}");
    type_in(&mut app, "r");
    let effects = app.take_effects();
    assert!(matches!(&effects[..], [Effect::Begin(3, _)]), "{effects:?}");
}

#[test]
fn esc_never_quits_and_quitting_asks_while_calls_run() {
    let mut app = app();
    ready(&mut app);
    for _ in 0..10 {
        type_in(&mut app, "\u{1b}");
    }
    assert!(app.take_effects().is_empty());
    begin_call(&mut app);
    app.take_effects();
    type_in(&mut app, "q");
    assert!(app.take_effects().is_empty());
    type_in(&mut app, "\n");
    assert!(app.take_effects().is_empty());
    type_in(&mut app, "qcancel\n");
    assert!(matches!(app.take_effects()[..], [Effect::Quit]));
}

/// Over a slow line Esc and the next key arrive together, which looks like Alt.
#[test]
fn esc_and_a_letter_in_one_piece_are_two_keys() {
    let mut app = app();
    ready(&mut app);
    type_in(&mut app, "?");
    let event = KeyEvent::new(KeyCode::Char('q'), KeyModifiers::ALT);
    app.on(Message::Terminal(TerminalEvent::Key(event)));
    assert!(matches!(app.take_effects()[..], [Effect::Quit]));
}

#[test]
fn ctrl_c_cancels_and_twice_within_a_second_leaves() {
    let mut app = app();
    ready(&mut app);
    let id = begin_call(&mut app);
    app.take_effects();
    app.on(control('c'));
    let effects = app.take_effects();
    assert!(
        matches!(&effects[..], [Effect::Cancel(it)] if *it == id),
        "{effects:?}"
    );
    app.now_ms += 1_500;
    app.on(control('c'));
    assert!(app.take_effects().is_empty());
    app.now_ms += 500;
    app.on(control('c'));
    assert!(matches!(app.take_effects()[..], [Effect::Quit]));
}

#[test]
fn servers_are_started_stopped_and_looked_at() {
    let mut app = app();
    ready(&mut app);
    let _ = screen(&mut app, 120, 30);
    type_in(&mut app, "0jS");
    type_in(&mut app, "jSR");
    let orders: Vec<(String, Order)> = app
        .take_effects()
        .into_iter()
        .map(|effect| match effect {
            Effect::Server(server, order) => (server, order),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        orders,
        [
            ("git".to_owned(), Order::Restart),
            ("notes".to_owned(), Order::Stop),
            ("notes".to_owned(), Order::Restart),
        ]
    );
    type_in(&mut app, "k\n");
    insta::assert_snapshot!("server_sheet", screen(&mut app, 120, 30));
}

#[test]
fn the_log_shows_gaps_and_hostile_text_harmlessly() {
    let mut app = app();
    ready(&mut app);
    let kinds = [
        EventKind::Stderr {
            line: "starting\tup \u{1b}[2J\u{1b}]0;owned\u{7} \u{202e}txt.exe".to_owned(),
        },
        EventKind::Log {
            level: "warning".to_owned(),
            logger: Some("core".to_owned()),
            data: Json::parse(r#""disk is nearly full""#).unwrap(),
        },
        EventKind::State(StateChange {
            state: ServerState::BackingOff,
            starts: 2,
            cause: Some("it ended with code 1".to_owned()),
            stderr: Vec::new(),
            connection: attache::host::snapshot::ConnectionSnapshot::default(),
        }),
        EventKind::Missed { count: 234 },
    ];
    let events = (11..).zip(kinds).map(|(seq, kind)| {
        Arc::new(Event {
            seq,
            at_ms: NOW,
            server: Some(name("notes")),
            kind,
        })
    });
    app.on(Message::Events(events.collect()));
    // Of those that are gone, some were read after the gap.
    let mut snapshot = Box::new(app.snapshot.clone());
    snapshot.seq += 1_000;
    let after_the_gap = Event {
        seq: snapshot.seq,
        at_ms: NOW,
        server: Some(name("notes")),
        kind: EventKind::Stderr {
            line: "after the gap".to_owned(),
        },
    };
    app.on(Message::Events(vec![Arc::new(after_the_gap)]));
    app.on(Message::Resynced(snapshot));
    app.take_effects();
    type_in(&mut app, "6");
    let shown = screens(&mut app);
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'));
    insta::assert_snapshot!("log", shown);
}

#[test]
fn activity_pairs_requests_with_answers() {
    let mut app = app();
    ready(&mut app);
    type_in(&mut app, "5");
    let empty = screen(&mut app, 80, 12);
    let frame = |seq: u64, kind: &str| -> attache::host::frames::Frame {
        let at = NOW * 1000 + seq * 1_500;
        let text = format!(
            r#"{{"seq":{seq},"at_us":{at},"server":"notes","connection":1,"kind":{kind}}}"#
        );
        serde_json::from_str(&text).unwrap()
    };
    let message = |way: &str, payload: &str| {
        let payload = serde_json::to_string(payload).unwrap();
        format!(r#"{{"{way}":{{"bytes":120,"payload":{payload}}}}}"#)
    };
    app.on(Message::Frames(vec![
        frame(1, &message("sent", r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_notes"}}"#)),
        frame(2, &message("sent", r#"{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"notes://tea"}}"#)),
        frame(3, &message("received", r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}"#)),
        frame(4, &message("received", r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#)),
        frame(5, r#"{"missed":{"count":7}}"#),
        frame(6, &message("received", r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"x"}}"#)),
    ]));
    let full = screens(&mut app);
    type_in(&mut app, "/status:error\n");
    let filtered = screen(&mut app, 80, 12);
    assert_eq!(app.activity.count(), 1);
    type_in(&mut app, "\n");
    assert!(matches!(app.detail(), Some(Detail::View(..))));
    insta::assert_snapshot!("activity", format!("{empty}\n{full}\n{filtered}"));
}

#[test]
fn palette_help_and_copy_menu() {
    let mut app = app();
    ready(&mut app);
    let _ = screen(&mut app, 120, 30);
    type_in(&mut app, ":sea");
    let palette = screen(&mut app, 120, 30);
    type_in(&mut app, "\u{1b}?");
    let help = screen(&mut app, 120, 60);
    type_in(&mut app, "\u{1b}y");
    let copy = screen(&mut app, 120, 24);
    insta::assert_snapshot!("overlays", format!("{palette}\n{help}\n{copy}"));
    type_in(&mut app, "command\n");
    let effects = app.take_effects();
    assert!(
        matches!(&effects[..], [Effect::Clipboard { text, .. }] if text == "attache call notes/search_notes"),
        "{effects:?}"
    );
    type_in(&mut app, ":sync\n");
    assert!(matches!(app.detail(), Some(Detail::Form(_))));
}

/// S13: nothing that a server names can reach the terminal as anything but text.
#[test]
fn hostile_names_everywhere_are_only_text() {
    let hostile = "a\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}1A\u{202e}b\u{200b}\r\n\u{8}";
    let text = serde_json::to_string(hostile).unwrap();
    let mut app = app();
    connect(&mut app, vec![server("notes", ServerState::Ready)]);
    let tool = tool(&format!(
        r#"{{"name":{text},"title":{text},"description":{text},"inputSchema":{{"type":"object","properties":{{{text}:{{"type":"string","description":{text}}}}}}}}}"#
    ));
    let entries = vec![offered("notes", "x", tool)];
    list_tools(&mut app, entries, vec![answer("notes", Outcome::Ok)]);
    let resource: Resource = serde_json::from_str(&format!(
        r#"{{"uri":{text},"name":{text},"mimeType":{text},"description":{text}}}"#
    ))
    .unwrap();
    app.on(Message::Listed(Listed::Resources(Box::new(Aggregate {
        entries: vec![offered("notes", "x", resource)],
        servers: vec![answer("notes", Outcome::Ok)],
    }))));
    let prompt: Prompt = serde_json::from_str(&format!(
        r#"{{"name":{text},"title":{text},"arguments":[{{"name":{text},"description":{text}}}]}}"#
    ))
    .unwrap();
    app.on(Message::Listed(Listed::Prompts(Box::new(Aggregate {
        entries: vec![offered("notes", "x", prompt)],
        servers: vec![answer("notes", Outcome::Ok)],
    }))));
    for keys in [
        "1",
        "\u{1b}2",
        "\u{1b}3",
        "\u{1b}:owned",
        "\u{1b}4",
        "\u{1b}1\n",
        "y",
        "\u{1b}",
    ] {
        type_in(&mut app, keys);
        for size in [(120, 30), (50, 20)] {
            let shown = screen(&mut app, size.0, size.1);
            let dangerous = |character: char| {
                character != '\n'
                    && (character.is_control() || matches!(character, '\u{202e}' | '\u{200b}'))
            };
            assert!(!shown.contains(dangerous), "{keys:?}: {shown:?}");
        }
    }
}

#[test]
fn without_colours_attributes_carry_the_meaning_and_ascii_is_ascii() {
    let mut plain = app_with(Theme::new(ColorMode::Never, true));
    ready(&mut plain);
    let drawn = buffer(&mut plain, 120, 24);
    for cell in &drawn.content {
        assert!(cell.symbol().is_ascii(), "{:?}", cell.symbol());
        assert_eq!((cell.fg, cell.bg), Default::default());
    }
    insta::assert_snapshot!("ascii_without_colours", rows(&drawn));
    // The same screen in colours has the same words.
    let mut coloured = app_with(Theme::new(ColorMode::Palette, true));
    ready(&mut coloured);
    assert_eq!(rows(&drawn), screen(&mut coloured, 120, 24));
}

#[test]
fn ten_thousand_tools_are_filtered_as_they_are_typed() {
    let mut app = app();
    connect(&mut app, vec![server("many", ServerState::Ready)]);
    let tools = (0..10_000).map(|number| {
        let tool = tool(&format!(
            r#"{{"name":"tool_{number:05}","inputSchema":{{"type":"object"}}}}"#
        ));
        offered("many", &tool.name.clone(), tool)
    });
    list_tools(&mut app, tools.collect(), vec![answer("many", Outcome::Ok)]);
    type_in(&mut app, "/09999");
    assert_eq!(app.tools.count(), 1);
    app.on(key(KeyCode::Backspace));
    assert_eq!(app.tools.count(), 37);
    type_in(&mut app, "\u{1b}");
    assert_eq!(app.tools.count(), 10_000);
}

#[test]
fn the_selected_tool_stays_selected_when_lists_change() {
    let mut app = app();
    ready(&mut app);
    type_in(&mut app, "j");
    assert_eq!(
        app.tools.selected().map(|row| row.name()),
        Some("sync_repository")
    );
    let mut more = some_tools("notes");
    more.insert(0, offered("notes", "new", tool(r#"{"name":"a_new_one"}"#)));
    list_tools(&mut app, more, vec![answer("notes", Outcome::Ok)]);
    assert_eq!(
        app.tools.selected().map(|row| row.name()),
        Some("sync_repository")
    );
}

#[test]
fn pastes_are_text_and_never_keys() {
    let mut app = app();
    ready(&mut app);
    app.on(Message::Terminal(TerminalEvent::Paste("qq\nq".to_owned())));
    assert!(app.take_effects().is_empty());
    type_in(&mut app, "/");
    app.on(Message::Terminal(TerminalEvent::Paste(
        "sync\nq".to_owned(),
    )));
    assert_eq!(app.tools.filter.input.text(), "sync q");
    assert!(app.take_effects().is_empty());
}

#[test]
fn nothing_moves_when_nothing_happens() {
    let mut app = app();
    assert!(app.wakes_after().is_some());
    connect(&mut app, vec![server("notes", ServerState::Ready)]);
    assert_eq!(app.wakes_after(), None);
    let id = begin_call(&mut app);
    assert!(app.wakes_after().is_some());
    end_call(&mut app, id, "{}");
    app.at(NOW + NOTICE_MS + 1);
    assert_eq!(app.wakes_after(), None);
}

#[test]
fn a_host_that_has_ended_is_said_to_have_until_the_end() {
    let mut app = app();
    ready(&mut app);
    app.on(Message::HostEnded);
    app.at(NOW + 60_000);
    let shown = screen(&mut app, 120, 30);
    assert!(
        shown.contains("the host has ended; q leaves, and attache ui starts anew"),
        "{shown}"
    );
    assert!(
        shown.contains("stopped") && !shown.contains("ready, 3 tools"),
        "{shown}"
    );
}
