//! Text for people, harmless by construction.
//!
//! Whatever goes into a [`Text`] is made safe on the way in, and nothing else can be printed, so no
//! command can forget it. Owns styles and columns; knows nothing of what is shown.

use super::{columns, safe_text};

/// Text with styles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    spans: Vec<(Style, String)>,
}

/// How a piece of text looks, where colours are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Name,
    Faint,
    Good,
    Warning,
    Bad,
    Heading,
    Emphasis,
    Code,
    Link,
}

/// Whether styles are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    On,
    Off,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Name => "1",
            Self::Faint => "2",
            Self::Good => "32",
            Self::Warning => "33",
            Self::Bad => "31",
            Self::Heading => "1;4",
            Self::Emphasis => "3",
            Self::Code => "36",
            Self::Link => "4",
        }
    }
}

impl Text {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// One plain line.
    pub(crate) fn line(text: &str) -> Self {
        let mut line = Self::new();
        line.plain(text).end_line();
        line
    }

    /// Adds text that must not break the line.
    pub(crate) fn add(&mut self, style: Style, text: &str) -> &mut Self {
        self.spans
            .push((style, safe_text::one_line(text).into_owned()));
        self
    }

    pub(crate) fn plain(&mut self, text: &str) -> &mut Self {
        self.add(Style::Plain, text)
    }

    pub(crate) fn faint(&mut self, text: &str) -> &mut Self {
        self.add(Style::Faint, text)
    }

    /// Adds text and fills it up to a column's width.
    pub(crate) fn column(&mut self, style: Style, text: &str, width: usize) -> &mut Self {
        self.add(style, text);
        let taken = self
            .spans
            .last()
            .map_or(0, |(_, text)| columns::width(text));
        self.plain(&" ".repeat(width.saturating_sub(taken)))
    }

    pub(crate) fn end_line(&mut self) -> &mut Self {
        self.spans.push((Style::Plain, "\n".to_owned()));
        self
    }

    /// Adds text of several lines, ended by a line break.
    pub(crate) fn block(&mut self, style: Style, text: &str) -> &mut Self {
        let mut text = safe_text::block(text).into_owned();
        if style == Style::Plain {
            // A large answer is one piece.
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            self.spans.push((style, text));
            return self;
        }
        for line in text.lines() {
            self.spans.push((style, line.to_owned()));
            self.end_line();
        }
        self
    }

    /// The lines of it, each ended by a line break.
    pub(crate) fn into_lines(self) -> Vec<Self> {
        let mut lines = vec![Self::new()];
        for span in self.spans {
            let ends_line = span.1.ends_with('\n');
            if let Some(line) = lines.last_mut() {
                line.spans.push(span);
            }
            if ends_line {
                lines.push(Self::new());
            }
        }
        lines.retain(|line| !line.spans.is_empty());
        lines
    }

    pub(crate) fn append(&mut self, mut other: Self) -> &mut Self {
        self.spans.append(&mut other.spans);
        self
    }

    pub(crate) fn render(&self, colour: Colour) -> String {
        let mut rendered = String::new();
        for (style, text) in &self.spans {
            if colour == Colour::Off || style.code().is_empty() || text.is_empty() {
                rendered.push_str(text);
            } else {
                let code = style.code();
                rendered.push_str(&format!("\u{1b}[{code}m{text}\u{1b}[0m"));
            }
        }
        rendered
    }
}

/// The width of a column for these texts, between two limits.
pub(crate) fn width<'a>(texts: impl Iterator<Item = &'a str>, most: usize) -> usize {
    let longest = texts.map(|text| columns::width(&safe_text::one_line(text)));
    longest.max().unwrap_or(0).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_are_ours_and_content_cannot_bring_its_own() {
        let mut text = Text::new();
        text.add(Style::Name, "a\u{1b}[2J")
            .plain(" b\nc")
            .end_line();
        assert_eq!(text.render(Colour::Off), "a\\u{1b}[2J b\\nc\n");
        assert_eq!(
            text.render(Colour::On),
            "\u{1b}[1ma\\u{1b}[2J\u{1b}[0m b\\nc\n"
        );
    }

    #[test]
    fn columns_are_filled_and_blocks_end_their_line() {
        let mut text = Text::new();
        text.column(Style::Name, "ab", 4).plain("x").end_line();
        text.block(Style::Plain, "one\r\ntwo");
        assert_eq!(text.render(Colour::Off), "ab  x\none\ntwo\n");
        assert_eq!(width(["a", "abc"].into_iter(), 2), 2);
    }
}
