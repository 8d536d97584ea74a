//! Whether the terminal's background is light: asked by OSC 11, and never waited for.
//!
//! The answer comes among the keys, when it pleases the terminal or never. The library that reads
//! keys does not know it and takes its letters for keys, so [`AnswerFilter`] takes it out again,
//! however late it comes and wherever it is cut.

#![cfg_attr(not(unix), allow(dead_code, reason = "other terminals are not asked"))]

use std::time::{Duration, Instant};

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

/// The question.
pub(crate) const QUESTION: &str = "\u{1b}]11;?\u{1b}\\";

/// How long after the question an Esc may be the first byte of an answer that was cut behind it.
const AWAITED: Duration = Duration::from_secs(1);
/// How long a key is held back that may belong to an answer.
const HELD: Duration = Duration::from_millis(30);
/// How long the rest of an answer may take that has begun.
const REST: Duration = Duration::from_secs(5);
/// The longest answer that is looked at; what is longer is dropped like any other.
const LONGEST: usize = 64;

/// Whether this terminal can be asked. Some show the question, or nothing comes of it.
pub(crate) fn can_be_asked() -> bool {
    let term = std::env::var("TERM").unwrap_or_default();
    let is_screen = term.starts_with("screen") && std::env::var_os("TMUX").is_none();
    cfg!(unix) && !is_screen && !matches!(term.as_str(), "" | "dumb" | "linux")
}

/// What some terminals say in `COLORFGBG`: numbers of the palette, the background's last.
pub(crate) fn is_hinted_light() -> bool {
    std::env::var("COLORFGBG").is_ok_and(|colors| is_light_in_palette(&colors))
}

fn is_light_in_palette(colors: &str) -> bool {
    matches!(colors.rsplit(';').next(), Some("7" | "15"))
}

/// What is left when the terminal's answers are taken out.
#[derive(Debug, PartialEq)]
pub(crate) enum Input {
    /// A person did this.
    Event(Event),
    /// The terminal has answered.
    Background {
        /// Whether it is light.
        is_light: bool,
    },
}

/// Takes the terminal's answers out of what is typed. A key is held back only where an answer may
/// begin, and for [`HELD`] at most.
#[derive(Debug, Default)]
pub(crate) struct AnswerFilter {
    state: State,
    /// Keys that are an answer's beginning or a person's.
    held: Vec<Event>,
    /// What an answer says.
    text: String,
    /// When the last key came that is held, when an answer began, or when an Esc went through.
    last: Option<Instant>,
    asked: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Keys,
    /// Esc was held back, or was let through just now.
    Escape,
    /// The introducer, then a number.
    Number,
    /// An answer until its end.
    Text,
    /// An Esc in it, which is half of its end.
    TextEscape,
}

impl AnswerFilter {
    /// The terminal was asked.
    pub(crate) fn ask(&mut self, now: Instant) {
        self.asked = Some(now);
    }

    /// When [`AnswerFilter::expire`] has something to do.
    pub(crate) fn expires(&self) -> Option<Instant> {
        let patience = match self.state {
            State::Keys => return None,
            State::Escape | State::Number => HELD,
            State::Text | State::TextEscape => REST,
        };
        self.last.map(|last| last + patience)
    }

    /// Time has passed: what was held back is a person's, an answer without end is over.
    pub(crate) fn expire(&mut self, now: Instant, into: &mut Vec<Input>) {
        if self.expires().is_some_and(|at| at <= now) {
            self.let_go(into);
        }
    }

    /// Takes what was read.
    pub(crate) fn take(&mut self, event: Event, now: Instant, into: &mut Vec<Input>) {
        self.expire(now, into);
        let Event::Key(key) = event else {
            return into.push(Input::Event(event));
        };
        match self.state {
            State::Keys => self.begin(key, now, into),
            State::Escape if is_plain(key, ']') => self.hold(State::Number, event, now),
            State::Number => match key.code {
                KeyCode::Char(digit @ '0'..='9') if key.modifiers.is_empty() => {
                    self.text.push(digit);
                    self.hold(State::Number, event, now);
                }
                KeyCode::Char(';') if !self.text.is_empty() => {
                    self.text.push(';');
                    self.held.clear();
                    (self.state, self.last) = (State::Text, Some(now));
                }
                _ => self.begin_anew(key, now, into),
            },
            State::TextEscape if is_plain(key, '\\') => self.end(into),
            State::Escape | State::TextEscape => self.begin_anew(key, now, into),
            State::Text => self.go_on(key, now, into),
        }
    }

    fn begin(&mut self, key: KeyEvent, now: Instant, into: &mut Vec<Input>) {
        let event = Event::Key(key);
        let is_awaited = |asked: Instant| now.duration_since(asked) < AWAITED;
        if key == KeyEvent::new(KeyCode::Char(']'), KeyModifiers::ALT) {
            self.hold(State::Number, event, now);
        } else if key.code == KeyCode::Esc && self.asked.is_some_and(is_awaited) {
            self.hold(State::Escape, event, now);
        } else {
            if key.code == KeyCode::Esc && self.asked.is_some() {
                (self.state, self.last) = (State::Escape, Some(now));
            }
            into.push(Input::Event(event));
        }
    }

    fn begin_anew(&mut self, key: KeyEvent, now: Instant, into: &mut Vec<Input>) {
        self.let_go(into);
        self.begin(key, now, into);
    }

    /// Within an answer.
    fn go_on(&mut self, key: KeyEvent, now: Instant, into: &mut Vec<Input>) {
        let is_control = |letter| {
            key.code == KeyCode::Char(letter) && key.modifiers.contains(KeyModifiers::CONTROL)
        };
        if is_control('g') || key == KeyEvent::new(KeyCode::Char('\\'), KeyModifiers::ALT) {
            return self.end(into);
        }
        match key.code {
            KeyCode::Esc => self.state = State::TextEscape,
            // A person who wants out is heard.
            _ if is_control('c') => self.begin_anew(key, now, into),
            KeyCode::Char(_) if key.modifiers.contains(KeyModifiers::ALT) => {
                self.begin_anew(key, now, into);
            }
            KeyCode::Char(letter) if self.text.len() < LONGEST => self.text.push(letter),
            KeyCode::Char(_) | KeyCode::Enter | KeyCode::Tab | KeyCode::Backspace => {}
            // Another sequence has begun.
            _ => self.begin_anew(key, now, into),
        }
    }

    fn hold(&mut self, state: State, event: Event, now: Instant) {
        self.held.push(event);
        (self.state, self.last) = (state, Some(now));
    }

    fn let_go(&mut self, into: &mut Vec<Input>) {
        into.extend(self.held.drain(..).map(Input::Event));
        self.text.clear();
        self.state = State::Keys;
    }

    fn end(&mut self, into: &mut Vec<Input>) {
        if let Some(is_light) = is_light(&self.text)
            && self.asked.take().is_some()
        {
            into.push(Input::Background { is_light });
        }
        self.let_go(into);
    }
}

fn is_plain(key: KeyEvent, letter: char) -> bool {
    key == KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE)
}

/// Whether an answer tells of a light background; none if it does not tell of one.
fn is_light(answer: &str) -> Option<bool> {
    let color = answer.strip_prefix("11;rgb")?;
    let color = color.strip_prefix('a').unwrap_or(color);
    let mut parts = color.strip_prefix(':')?.split('/').map(|part| {
        let most = match part.len() {
            1..=4 => (1_u32 << (4 * part.len())) - 1,
            _ => return None,
        };
        let value = u32::from_str_radix(part, 16).ok()?;
        Some(f64::from(value) / f64::from(most))
    });
    let mut next = || parts.next().flatten();
    let (red, green, blue) = (next()?, next()?, next()?);
    // As bright as it looks.
    Some(0.299 * red + 0.587 * green + 0.114 * blue > 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<Event> {
        let mut letters = text.chars().peekable();
        let mut keys = Vec::new();
        // As the library reads them, for what is read at once.
        while let Some(letter) = letters.next() {
            let (letter, alt) = match letter {
                '\u{1b}' => match letters.next() {
                    Some(letter) => (letter, KeyModifiers::ALT),
                    None => {
                        keys.push(Event::Key(KeyCode::Esc.into()));
                        continue;
                    }
                },
                letter => (letter, KeyModifiers::NONE),
            };
            let key = match letter {
                '\r' => KeyCode::Enter.into(),
                '\u{1}'..='\u{1a}' => {
                    let letter = char::from(b'a' + u8::try_from(letter).unwrap() - 1);
                    KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)
                }
                letter => KeyEvent::new(KeyCode::Char(letter), alt),
            };
            keys.push(Event::Key(key));
        }
        keys
    }

    /// Reads parts, each so many milliseconds after the question; an underscore in `expected` stands
    /// for Esc, a plus for Alt with the next key, `<light>` and `<dark>` for the answer.
    fn check(parts: &[(u64, &str)], expected: &str) {
        let began = Instant::now();
        let mut filter = AnswerFilter::default();
        filter.ask(began);
        let mut seen = Vec::new();
        for (at, part) in parts {
            let now = began + Duration::from_millis(*at);
            for key in keys(part) {
                filter.take(key, now, &mut seen);
            }
        }
        filter.expire(began + Duration::from_secs(3600), &mut seen);
        let seen = seen.iter().map(|input| match input {
            Input::Background { is_light: true } => "<light>".to_owned(),
            Input::Background { is_light: false } => "<dark>".to_owned(),
            Input::Event(Event::Key(key)) => {
                let alt = match key.modifiers.contains(KeyModifiers::ALT) {
                    true => "+",
                    false => "",
                };
                match key.code {
                    KeyCode::Esc => "_".to_owned(),
                    KeyCode::Enter => "\r".to_owned(),
                    KeyCode::Char(letter) if key.modifiers.contains(KeyModifiers::CONTROL) => {
                        format!("^{letter}")
                    }
                    KeyCode::Char(letter) => format!("{alt}{letter}"),
                    other => format!("{other:?}"),
                }
            }
            Input::Event(other) => format!("{other:?}"),
        });
        assert_eq!(seen.collect::<String>(), expected, "{parts:?}");
    }

    const WHITE: &str = "\u{1b}]11;rgb:ffff/ffff/ffff\u{1b}\\";

    #[test]
    fn an_answer_is_no_key_wherever_it_is_cut() {
        check(&[(5, WHITE)], "<light>");
        check(&[(5, "\u{1b}]11;rgb:1d/1f/21\u{7}")], "<dark>");
        check(&[(5, "\u{1b}]11;rgba:fff/fff/eee/fff\u{7}")], "<light>");
        check(&[(600_000, &format!("ab{WHITE}cd"))], "ab<light>cd");
        for cut in 1..WHITE.len() {
            let (first, second) = WHITE.split_at(cut);
            check(&[(5, first), (20, second)], "<light>");
            check(
                &[(5, &format!("q{first}")), (20, &format!("{second}j"))],
                "q<light>j",
            );
        }
        // An Esc that is the beginning of a late answer went through, and nothing after it.
        check(&[(5000, "\u{1b}"), (5010, &WHITE[1..])], "_<light>");
    }

    #[test]
    fn what_is_typed_stays() {
        check(&[(5, "quit\r")], "quit\r");
        check(&[(5, "\u{1b}")], "_");
        check(&[(5, "\u{1b}"), (15, "j")], "_j");
        check(&[(5, "\u{1b}"), (500, "]1")], "_]1");
        check(&[(5000, "\u{1b}"), (5001, "]]")], "_]]");
        check(&[(5, "\u{1b}]")], "+]");
        check(&[(5, "\u{1b}]q")], "+]q");
        check(&[(5, "\u{1b}]1"), (400, "1;")], "+]11;");
        check(&[(5, "\u{1b}];x")], "+];x");
        check(&[(5, "]11;rgb")], "]11;rgb");
    }

    #[test]
    fn garbage_is_dropped_to_its_end() {
        check(&[(5, "j\u{1b}]11;quit\r\u{4}yes\u{7}k")], "jk");
        check(
            &[(5, "\u{1b}]52;c;x\u{1b}\\\u{1b}]11;rgb:0/0/0\u{7}k")],
            "<dark>k",
        );
        check(&[(5, "\u{1b}]11;rgb:zz/00/00\u{7}"), (9, WHITE)], "<light>");
        check(&[(5, "\u{1b}]11;rgb:\u{7}\u{1b}]11;\u{7}")], "");
        check(
            &[(5, &format!("\u{1b}]11;{}\u{7}k", "x".repeat(9000)))],
            "k",
        );
        // It never ends: a pause or Ctrl-C does.
        check(&[(5, "\u{1b}]11;rgb:ff"), (5100, "j")], "j");
        check(&[(5, "\u{1b}]11;rgb:ff\u{3}j")], "^cj");
        check(&[(5, "\u{1b}]11;rgb:ff\u{1b}xj")], "+xj");
        check(&[(5, "\u{1b}]11;rgb:ff\u{1b}"), (6, "j")], "j");
    }

    #[test]
    fn an_answer_that_was_not_asked_for_says_nothing() {
        let mut filter = AnswerFilter::default();
        let mut seen = Vec::new();
        for key in keys(WHITE) {
            filter.take(key, Instant::now(), &mut seen);
        }
        assert_eq!(seen, []);
        check(&[(5, WHITE), (9, "\u{1b}]11;rgb:0/0/0\u{7}")], "<light>");
    }

    #[test]
    fn terminals_hint() {
        for (colors, is_light) in [
            ("", false),
            ("15;0", false),
            ("0;15", true),
            ("0;default;15", true),
            ("0;7", true),
            ("garbage", false),
        ] {
            assert_eq!(is_light_in_palette(colors), is_light, "{colors:?}");
        }
    }
}
