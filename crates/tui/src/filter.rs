//! The line in which a filter is typed, and what it says.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::fuzzy::Pattern;
use crate::text;

/// The longest filter that can be typed.
const LONGEST: usize = 512;

/// A line of text that is typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineInput {
    text: String,
    /// Before which byte the cursor stands.
    at: usize,
}

impl LineInput {
    pub(crate) fn with(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            at: text.len(),
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The column of the cursor.
    pub(crate) fn column(&self) -> usize {
        text::width(&self.text[..self.at])
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.at = 0;
    }

    /// Takes a key; false if it means nothing here.
    pub(crate) fn key(&mut self, event: KeyEvent) -> bool {
        let is_control = event.modifiers.contains(KeyModifiers::CONTROL);
        match event.code {
            KeyCode::Char('u') if is_control => {
                self.text.drain(..self.at);
                self.at = 0;
            }
            KeyCode::Char('w') if is_control => {
                let head = self.text[..self.at].trim_end();
                let start = head.rfind(' ').map_or(0, |space| space + 1);
                self.text.drain(start..self.at);
                self.at = start;
            }
            KeyCode::Char('a') if is_control => self.at = 0,
            KeyCode::Char('e') if is_control => self.at = self.text.len(),
            KeyCode::Char(character) if !is_control => self.insert(&character.to_string()),
            KeyCode::Backspace => {
                if let Some(character) = self.text[..self.at].chars().next_back() {
                    self.at -= character.len_utf8();
                    self.text.remove(self.at);
                }
            }
            KeyCode::Delete if self.at < self.text.len() => {
                self.text.remove(self.at);
            }
            KeyCode::Left => {
                let before = self.text[..self.at].chars().next_back();
                self.at -= before.map_or(0, char::len_utf8);
            }
            KeyCode::Right => {
                let after = self.text[self.at..].chars().next();
                self.at += after.map_or(0, char::len_utf8);
            }
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.text.len(),
            _ => return false,
        }
        true
    }

    /// Inserts text, such as what was pasted; line breaks become spaces and controls go.
    pub(crate) fn insert(&mut self, text: &str) {
        let clean: String = text
            .chars()
            .map(|character| if character == '\n' { ' ' } else { character })
            .filter(|character| !character.is_control())
            .collect();
        if self.text.len() + clean.len() <= LONGEST {
            self.text.insert_str(self.at, &clean);
            self.at += clean.len();
        }
    }
}

/// A filter of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) input: LineInput,
    pub(crate) is_typing: bool,
}

impl Filter {
    pub(crate) fn is_empty(&self) -> bool {
        self.input.text().trim().is_empty()
    }

    pub(crate) fn query(&self, keys: &[&str]) -> Query {
        Query::parse(self.input.text(), keys)
    }
}

/// What a filter says: tokens such as `server:notes`, and letters of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    pub(crate) tokens: Vec<(String, String)>,
    pub(crate) pattern: Pattern,
    /// The words that are no tokens, as they were typed.
    pub(crate) words: String,
}

impl Query {
    /// Words of the form `key:value` are tokens, if the list knows the key.
    pub(crate) fn parse(typed: &str, keys: &[&str]) -> Self {
        let mut tokens = Vec::new();
        let mut words = Vec::new();
        for word in typed.split_whitespace() {
            match word.split_once(':') {
                Some((key, value)) if keys.contains(&key) => {
                    if !value.is_empty() {
                        tokens.push((key.to_owned(), value.to_lowercase()));
                    }
                }
                _ => words.push(word),
            }
        }
        let words = words.join(" ");
        Self {
            tokens,
            pattern: Pattern::new(&words),
            words,
        }
    }

    /// Whether every token says yes.
    pub(crate) fn tokens_fit(&self, mut fits: impl FnMut(&str, &str) -> bool) -> bool {
        self.tokens.iter().all(|(key, value)| fits(key, value))
    }
}

/// Whether a number is what a token says: `500`, `>500`, `<20`.
pub(crate) fn number_fits(value: &str, number: u64) -> bool {
    let (wanted, compare): (&str, fn(&u64, &u64) -> bool) = match value.as_bytes().first() {
        Some(b'>') => (&value[1..], u64::gt),
        Some(b'<') => (&value[1..], u64::lt),
        _ => (value, u64::eq),
    };
    wanted.parse().is_ok_and(|wanted| compare(&number, &wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_told_from_words() {
        let query = Query::parse("server:Notes sea ms:>500 http://x", &["server", "ms"]);
        assert_eq!(
            query.tokens,
            [
                ("server".to_owned(), "notes".to_owned()),
                ("ms".to_owned(), ">500".to_owned())
            ]
        );
        assert_eq!(query.words, "sea http://x");
        assert!(number_fits(">500", 501) && !number_fits(">500", 500));
        assert!(number_fits("<5", 4) && number_fits("7", 7) && !number_fits("x", 7));
    }

    #[test]
    fn a_line_is_edited_by_characters() {
        let mut line = LineInput::with("ab ü");
        let press = |line: &mut LineInput, code| line.key(KeyEvent::new(code, KeyModifiers::NONE));
        press(&mut line, KeyCode::Backspace);
        line.insert("x\ny\u{1b}");
        assert_eq!(line.text(), "ab x y");
        press(&mut line, KeyCode::Left);
        press(&mut line, KeyCode::Delete);
        assert_eq!((line.text(), line.column()), ("ab x ", 5));
        line.key(KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL));
        assert_eq!(line.text(), "ab ");
        assert!(!press(&mut line, KeyCode::F(5)));
        line.insert(&"x".repeat(LONGEST));
        assert_eq!(line.text(), "ab ");
    }
}
