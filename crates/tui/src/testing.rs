//! Keys and screens for tests, without a terminal.

use std::fmt::Write as _;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use crate::component::{Component, Input, Outcome};
use crate::keys::{Chord, Context, KeyMap};
use crate::theme::{ColorMode, Theme};

/// A key by its name in the key table.
pub(crate) fn key(name: &str) -> KeyEvent {
    assert!(Chord::parse(name).is_some(), "{name} is no key");
    let mut modifiers = KeyModifiers::NONE;
    let mut rest = name;
    while let Some((modifier, after)) = [
        ("ctrl-", KeyModifiers::CONTROL),
        ("alt-", KeyModifiers::ALT),
        ("shift-", KeyModifiers::SHIFT),
    ]
    .into_iter()
    .find_map(|(prefix, modifier)| Some((modifier, rest.strip_prefix(prefix)?)))
    {
        modifiers |= modifier;
        rest = after;
    }
    let code = match rest {
        "esc" => KeyCode::Esc,
        "enter" => KeyCode::Enter,
        "tab" => KeyCode::Tab,
        "space" => KeyCode::Char(' '),
        "backspace" => KeyCode::Backspace,
        "delete" => KeyCode::Delete,
        "up" => KeyCode::Up,
        "down" => KeyCode::Down,
        "left" => KeyCode::Left,
        "right" => KeyCode::Right,
        "home" => KeyCode::Home,
        "end" => KeyCode::End,
        "pageup" => KeyCode::PageUp,
        "pagedown" => KeyCode::PageDown,
        "f2" => KeyCode::F(2),
        other => KeyCode::Char(other.chars().next().unwrap()),
    };
    KeyEvent::new(code, modifiers)
}

/// Presses a key as the app does: with what it means by the key table.
pub(crate) fn press(component: &mut dyn Component, event: KeyEvent) -> Outcome {
    let mut contexts = component.contexts();
    contexts.push(Context::Global);
    let action = KeyMap::default().action(&contexts, event);
    component.input(Input::Key { event, action })
}

/// Presses keys one after the other; what begins with `=` is typed. Gives the last outcome.
pub(crate) fn keys(component: &mut dyn Component, names: &str) -> Outcome {
    let mut last = Outcome::Ignored;
    for name in names.split_whitespace() {
        match name.strip_prefix('=').filter(|typed| !typed.is_empty()) {
            Some(typed) => {
                for character in typed.chars() {
                    let character = if character == '_' { ' ' } else { character };
                    let event = KeyEvent::new(KeyCode::Char(character), KeyModifiers::NONE);
                    last = press(component, event);
                }
            }
            None => last = press(component, key(name)),
        }
    }
    last
}

pub(crate) fn colored() -> Theme {
    Theme::new(ColorMode::Palette, false)
}

pub(crate) fn without_colors() -> Theme {
    Theme::new(ColorMode::Never, false)
}

pub(crate) fn ascii() -> Theme {
    Theme::new(ColorMode::Never, true)
}

/// The screen after drawing a component all over it.
pub(crate) fn drawn(component: &mut dyn Component, size: (u16, u16), theme: &Theme) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    let area = Rect::new(0, 0, size.0, size.1);
    terminal
        .draw(|frame| component.draw(frame, area, theme))
        .unwrap();
    terminal.backend().buffer().clone()
}

/// The text of a screen.
pub(crate) fn text(buffer: &Buffer) -> String {
    let mut text = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut skipped = 0;
        for x in 0..buffer.area.width {
            if skipped > 0 {
                skipped -= 1;
                continue;
            }
            let symbol = buffer[(x, y)].symbol();
            skipped = crate::measure::width(symbol).saturating_sub(1);
            line.push_str(symbol);
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// The texts of a screen that are not plain, with their styles.
pub(crate) fn styles(buffer: &Buffer) -> String {
    let mut styles = String::new();
    for y in 0..buffer.area.height {
        let mut runs: Vec<(String, String)> = Vec::new();
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let style = style(cell.fg, cell.modifier);
            match runs.last_mut() {
                Some((last, text)) if *last == style => text.push_str(cell.symbol()),
                _ => runs.push((style, cell.symbol().to_owned())),
            }
        }
        for (style, text) in runs {
            if !style.is_empty() && !text.trim().is_empty() {
                let _ = writeln!(styles, "{y:>2} {style}: {}", text.trim());
            }
        }
    }
    styles
}

fn style(color: Color, modifier: Modifier) -> String {
    let mut words = Vec::new();
    if color != Color::Reset {
        words.push(format!("{color:?}").to_lowercase());
    }
    words.extend(modifier.iter_names().map(|(name, _)| name.to_lowercase()));
    words.join(" ")
}
