//! A text while it is typed.
//!
//! What is typed is drawn as it is, so it must be harmless (S13). A text with characters that are
//! not, which came from a server's default or by a paste, is edited as JSON writes it: exact, and
//! every character can be seen.

use attache_view::{Value, safe_text};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::{Modifier, Style};
use ratatui_textarea::{CursorMove, TextArea};

/// The longest line that is edited here. The text area counts columns in sixteen bits.
pub(crate) const MAX_LINE_CHARACTERS: usize = 20_000;
/// The most lines that are edited here.
pub(crate) const MAX_LINES: usize = 20_000;

/// How a text is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// In one line.
    Line,
    /// In one line that is not shown.
    Masked,
    /// In several lines.
    Lines,
}

/// A text while it is typed.
#[derive(Debug)]
pub(crate) struct TextInput {
    area: TextArea<'static>,
    shape: Shape,
    /// The area holds the text as JSON writes it.
    is_coded: bool,
}

/// A text is too large to be edited here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

impl TextInput {
    /// Begins with a text, the cursor behind it.
    pub(crate) fn new(text: &str, shape: Shape) -> Result<Self, TooLarge> {
        let is_coded = shape != Shape::Masked && !is_harmless(text, shape);
        let shown = if is_coded {
            coded(text)
        } else {
            text.to_owned()
        };
        let lines = shown.split('\n');
        if lines.clone().count() > MAX_LINES || lines.clone().any(is_too_long) {
            return Err(TooLarge);
        }
        let mut area = TextArea::new(lines.map(str::to_owned).collect());
        area.set_cursor_line_style(Style::new());
        area.set_max_histories(200);
        if shape == Shape::Masked {
            area.set_mask_char('*');
        }
        area.move_cursor(CursorMove::Bottom);
        area.move_cursor(CursorMove::End);
        if is_coded {
            // Before the closing quote.
            area.move_cursor(CursorMove::Back);
        }
        Ok(Self {
            area,
            shape,
            is_coded,
        })
    }

    /// Selects all of it, so that what is typed replaces it.
    pub(crate) fn selected(mut self) -> Self {
        if !self.is_coded && !self.area.is_empty() {
            self.area.select_all();
        }
        self
    }

    /// Puts the cursor at the beginning.
    pub(crate) fn at_top(mut self) -> Self {
        self.area.move_cursor(CursorMove::Top);
        self.area.move_cursor(CursorMove::Head);
        self
    }

    /// The text. While it is not complete JSON, a coded text is what was typed.
    pub(crate) fn text(&self) -> String {
        let shown = self.area.lines().join("\n");
        if self.is_coded
            && let Ok(Value::String(text)) = Value::parse(&shown)
        {
            return text;
        }
        shown
    }

    /// Whether it is shown as JSON writes it.
    pub(crate) fn is_coded(&self) -> bool {
        self.is_coded
    }

    /// Whether it takes line breaks.
    pub(crate) fn has_lines(&self) -> bool {
        self.shape == Shape::Lines
    }

    /// Moves what follows the cursor to the right.
    pub(crate) fn indent(&mut self) -> bool {
        self.area.insert_str("  ")
    }

    /// How many lines it has.
    pub(crate) fn line_count(&self) -> usize {
        self.area.lines().len()
    }

    /// The line and the column of the cursor, from zero.
    pub(crate) fn cursor(&self) -> (usize, usize) {
        let cursor = self.area.cursor();
        (cursor.0, cursor.1)
    }

    /// Takes a key; tells whether the text changed.
    pub(crate) fn key(&mut self, event: KeyEvent) -> bool {
        let is_typed = matches!(event.code, KeyCode::Char(_))
            && !event
                .modifiers
                .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match event.code {
            KeyCode::Enter if self.shape != Shape::Lines => return false,
            // A line break is a key of its own here; others are keys of the form.
            KeyCode::Tab | KeyCode::BackTab => return false,
            _ if is_typed && self.has_full_line() => return false,
            _ => {}
        }
        self.area.input(event)
    }

    /// Takes a paste; tells whether the text changed, or that it is too large.
    pub(crate) fn paste(&mut self, pasted: &str) -> Result<bool, TooLarge> {
        let pasted = pasted.replace("\r\n", "\n").replace('\r', "\n");
        let lines = pasted.split('\n');
        let most = MAX_LINES.saturating_sub(self.line_count());
        if lines.clone().count() > most || lines.clone().any(is_too_long) || self.has_full_line() {
            return Err(TooLarge);
        }
        if self.is_coded {
            let coded = coded(&pasted);
            let inside = coded
                .strip_prefix('"')
                .and_then(|rest| rest.strip_suffix('"'));
            return Ok(self.area.insert_str(inside.unwrap_or_default()));
        }
        if self.shape == Shape::Masked || is_harmless(&pasted, self.shape) {
            return Ok(self.area.insert_str(pasted));
        }
        // From here on the text is written as JSON does.
        let mut whole = self.area.clone();
        whole.insert_str(&pasted);
        *self = Self::new(&whole.lines().join("\n"), self.shape)?;
        Ok(true)
    }

    /// Takes back the last change; tells whether there was one.
    pub(crate) fn undo(&mut self) -> bool {
        self.area.undo()
    }

    /// Replaces all by a text.
    pub(crate) fn replace(&mut self, text: &str) -> Result<(), TooLarge> {
        *self = Self::new(text, self.shape)?;
        Ok(())
    }

    /// The widget to draw, in these styles.
    pub(crate) fn widget(&mut self, style: Style) -> &TextArea<'static> {
        self.area.set_style(style);
        let reversed = Style::new().add_modifier(Modifier::REVERSED);
        self.area.set_cursor_style(reversed);
        self.area.set_selection_style(reversed);
        &self.area
    }

    fn has_full_line(&self) -> bool {
        let (line, _) = self.cursor();
        let line = self.area.lines().get(line);
        line.is_some_and(|line| is_too_long(line))
    }
}

fn is_too_long(line: &str) -> bool {
    line.len() >= MAX_LINE_CHARACTERS && line.chars().count() >= MAX_LINE_CHARACTERS
}

/// Whether a text can be drawn as it is and read back from what is drawn.
fn is_harmless(text: &str, shape: Shape) -> bool {
    let safe = match shape {
        Shape::Lines => safe_text::block(text),
        Shape::Line | Shape::Masked => safe_text::one_line(text),
    };
    safe == text
}

/// A text as JSON writes it, with every character that is not harmless escaped.
fn coded(text: &str) -> String {
    let json = Value::String(text.to_owned()).to_string();
    safe_text::json(&json).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    #[test]
    fn text_with_hidden_characters_is_edited_as_json() {
        let attack = "a\u{202e}b\nc";
        for shape in [Shape::Line, Shape::Lines] {
            let mut input = TextInput::new(attack, shape).unwrap();
            assert!(input.is_coded());
            assert_eq!(input.area.lines(), [r#""a\u202eb\nc""#]);
            assert_eq!(input.text(), attack);
            input.key(key(KeyCode::Char('d')));
            assert_eq!(input.text(), "a\u{202e}b\ncd");
        }
    }

    #[test]
    fn a_paste_is_text_and_nothing_of_it_is_lost() {
        let mut input = TextInput::new("x", Shape::Line).unwrap();
        assert_eq!(input.paste("a\r\nb"), Ok(true));
        assert_eq!((input.text().as_str(), input.is_coded()), ("xa\nb", true));
        assert_eq!(input.paste("\u{1b}\"q\""), Ok(true));
        assert_eq!(input.text(), "xa\nb\u{1b}\"q\"");
        let mut input = TextInput::new("x", Shape::Lines).unwrap();
        assert_eq!(input.paste("a\r\nb"), Ok(true));
        assert_eq!((input.text().as_str(), input.is_coded()), ("xa\nb", false));
        let long = "y".repeat(MAX_LINE_CHARACTERS);
        assert_eq!(input.paste(&long), Err(TooLarge));
        assert_eq!(input.paste(&"\n".repeat(MAX_LINES)), Err(TooLarge));
        assert_eq!(input.text(), "xa\nb");
    }

    #[test]
    fn a_selected_text_is_replaced_by_what_is_typed() {
        let mut input = TextInput::new("0", Shape::Line).unwrap().selected();
        assert!(input.key(key(KeyCode::Char('7'))));
        assert!(input.key(key(KeyCode::Char('1'))));
        assert_eq!(input.text(), "71");
        let mut input = TextInput::new("0", Shape::Line).unwrap().selected();
        assert!(!input.key(key(KeyCode::End)));
        assert!(input.key(key(KeyCode::Char('7'))));
        assert_eq!(input.text(), "07");
    }
}
