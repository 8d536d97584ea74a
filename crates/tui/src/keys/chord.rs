//! A key as it is pressed and as it is written down.

use std::fmt;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// One key with its modifiers, in one spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chord {
    pub(super) code: KeyCode,
    pub(super) modifiers: KeyModifiers,
}

impl Chord {
    /// The chord of a key event. Shift is part of the character, where there is one.
    pub fn of(event: KeyEvent) -> Self {
        let mut modifiers =
            event.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT);
        let code = match event.code {
            KeyCode::Char(character) => {
                modifiers -= KeyModifiers::SHIFT;
                KeyCode::Char(character)
            }
            KeyCode::BackTab => {
                modifiers |= KeyModifiers::SHIFT;
                KeyCode::Tab
            }
            other => other,
        };
        Self { code, modifiers }
    }

    /// Reads a chord as the table and the configuration write it: `ctrl-p`, `shift-tab`, `G`, `f2`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = text;
        loop {
            let (modifier, length) = match rest {
                _ if rest.starts_with("ctrl-") => (KeyModifiers::CONTROL, 5),
                _ if rest.starts_with("alt-") => (KeyModifiers::ALT, 4),
                _ if rest.starts_with("shift-") => (KeyModifiers::SHIFT, 6),
                _ => break,
            };
            modifiers |= modifier;
            rest = &rest[length..];
        }
        let mut characters = rest.chars();
        let code = match (characters.next()?, characters.next()) {
            (character, None) => KeyCode::Char(character),
            _ => NAMED.iter().find(|(name, _)| *name == rest)?.1,
        };
        if matches!(code, KeyCode::Char(_)) && modifiers.contains(KeyModifiers::SHIFT) {
            return None;
        }
        Some(Self { code, modifiers })
    }

    /// Whether it is a character that is typed, rather than a command.
    pub fn is_typed(self) -> bool {
        matches!(self.code, KeyCode::Char(_)) && self.modifiers.is_empty()
    }
}

const NAMED: &[(&str, KeyCode)] = &[
    ("esc", KeyCode::Esc),
    ("enter", KeyCode::Enter),
    ("tab", KeyCode::Tab),
    ("space", KeyCode::Char(' ')),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("f1", KeyCode::F(1)),
    ("f2", KeyCode::F(2)),
    ("f3", KeyCode::F(3)),
    ("f4", KeyCode::F(4)),
    ("f5", KeyCode::F(5)),
    ("f6", KeyCode::F(6)),
    ("f7", KeyCode::F(7)),
    ("f8", KeyCode::F(8)),
    ("f9", KeyCode::F(9)),
    ("f10", KeyCode::F(10)),
    ("f11", KeyCode::F(11)),
    ("f12", KeyCode::F(12)),
];

impl fmt::Display for Chord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, name) in [
            (KeyModifiers::CONTROL, "ctrl-"),
            (KeyModifiers::ALT, "alt-"),
            (KeyModifiers::SHIFT, "shift-"),
        ] {
            if self.modifiers.contains(modifier) {
                formatter.write_str(name)?;
            }
        }
        match NAMED.iter().find(|(_, code)| *code == self.code) {
            Some((name, _)) => formatter.write_str(name),
            None => match self.code {
                KeyCode::Char(character) => write!(formatter, "{character}"),
                other => write!(formatter, "{other:?}"),
            },
        }
    }
}
