//! Measures how long frames take: of a 10 MB answer and of a large form, at 200×60.
//!
//! `cargo run --release -p attache-tui --example frames`

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "an example prints and may fail"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use attache::protocol::{CallToolResult, Json};
use attache_tui::answer::AnswerView;
use attache_tui::component::{Component, Input, Waker};
use attache_tui::editor::{EditorOptions, FormEditor};
use attache_tui::keys::{Context, KeyMap};
use attache_tui::theme::{ColorMode, Theme};
use attache_view::document::Document;
use attache_view::form::Form;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;

const SIZE: Rect = Rect::new(0, 0, 200, 60);

fn main() {
    let line = "the quick brown fox jumps over the lazy dog and runs away from it ".repeat(2);
    let words =
        serde_json::to_string(&format!("{line}\n").repeat(10_000_000 / line.len())).unwrap();
    let raw = format!(r#"{{"content":[{{"type":"text","text":{words}}}]}}"#);
    let result: CallToolResult = serde_json::from_str(&raw).unwrap();
    let began = Instant::now();
    let document = Arc::new(Document::of_call(&result, None));
    println!(
        "document of 10 MB: {:?}, made off the loop",
        began.elapsed()
    );
    let began = Instant::now();
    let mut view = AnswerView::new(
        document,
        attache::protocol::Json::parse(&raw).unwrap().into(),
        Waker::nothing(),
    );
    let mut screen = Terminal::new(TestBackend::new(SIZE.width, SIZE.height)).unwrap();
    draw(&mut screen, &mut view);
    println!("first frame of it: {:?}", began.elapsed());
    measure("a page further", &mut screen, &mut view, KeyCode::PageDown);
    let began = Instant::now();
    press(&mut view, KeyCode::Char('G'));
    draw(&mut screen, &mut view);
    println!("to its end: {:?}", began.elapsed());
    measure("a page back", &mut screen, &mut view, KeyCode::PageUp);

    let field = |at: usize| {
        format!(r#""field{at}":{{"type":"string","description":"Field {at}","minLength":2}}"#)
    };
    let fields: Vec<String> = (0..500).map(field).collect();
    let schema = format!(
        r#"{{"type":"object","properties":{{{}}}}}"#,
        fields.join(",")
    );
    let form = Arc::new(Form::new(&Json::parse(&schema).unwrap()));
    let mut editor = FormEditor::new(form, None, EditorOptions::default());
    draw(&mut screen, &mut editor);
    measure(
        "a line further in a form of 500 fields",
        &mut screen,
        &mut editor,
        KeyCode::Down,
    );
    press(&mut editor, KeyCode::Enter);
    measure(
        "a letter typed into it",
        &mut screen,
        &mut editor,
        KeyCode::Char('x'),
    );
}

fn draw(screen: &mut Terminal<TestBackend>, component: &mut dyn Component) {
    let theme = Theme::new(ColorMode::Palette, false);
    screen
        .draw(|frame| component.draw(frame, SIZE, &theme))
        .unwrap();
}

fn press(component: &mut dyn Component, code: KeyCode) {
    let event = KeyEvent::new(code, KeyModifiers::NONE);
    let mut contexts = component.contexts();
    contexts.push(Context::Global);
    let action = KeyMap::default().action(&contexts, event);
    component.input(Input::Key { event, action });
}

fn measure(
    what: &str,
    screen: &mut Terminal<TestBackend>,
    component: &mut dyn Component,
    code: KeyCode,
) {
    let mut times: Vec<Duration> = (0..300)
        .map(|_| {
            let began = Instant::now();
            press(component, code);
            draw(screen, component);
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    println!("{what}: p50 {:?}, p99 {:?}", times[150], times[297]);
}
