//! Text for people, harmless by construction.
//!
//! Whatever goes into a [`Text`] is made safe on the way in, and nothing else can be printed, so no
//! command can forget it. Owns styles, columns and how lines fold where there is a width to fold at;
//! knows nothing of what is shown.

use unicode_width::UnicodeWidthStr as _;

use super::{columns, safe_text};

/// The least room that is worth a column of its own. Where less is left, what stands in it begins a
/// line of its own.
const LEAST_ROOM: usize = 24;
/// How far such a line is indented.
const NARROW_INDENT: usize = 4;

/// Text with styles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    spans: Vec<Span>,
}

#[derive(Clone, Debug)]
enum Span {
    /// Words of a line, which may fold.
    Words(Style, String),
    /// What stays as it is, whatever the width.
    Verbatim(Style, String),
    /// A command to copy: where it folds, the shell is told that it goes on.
    Command(String),
    /// Where the lines begin that go on with this one.
    Hang,
    End,
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

impl Span {
    /// A block of many lines is one piece that ends its last line itself.
    fn ends_line(&self) -> bool {
        match self {
            Self::End => true,
            Self::Verbatim(_, text) => text.ends_with('\n'),
            Self::Words(..) | Self::Command(_) | Self::Hang => false,
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
        let text = safe_text::one_line(text).into_owned();
        self.spans.push(Span::Words(style, text));
        self
    }

    pub(crate) fn plain(&mut self, text: &str) -> &mut Self {
        self.add(Style::Plain, text)
    }

    pub(crate) fn faint(&mut self, text: &str) -> &mut Self {
        self.add(Style::Faint, text)
    }

    /// Adds a command for a shell, to copy.
    pub(crate) fn command(&mut self, words: &str) -> &mut Self {
        let words = safe_text::one_line(words).into_owned();
        self.spans.push(Span::Command(words));
        self
    }

    /// Adds text in one line that is never folded.
    pub(crate) fn verbatim(&mut self, style: Style, text: &str) -> &mut Self {
        let text = safe_text::one_line(text).into_owned();
        self.spans.push(Span::Verbatim(style, text));
        self
    }

    /// Adds text and fills it up to a column's width.
    pub(crate) fn column(&mut self, style: Style, text: &str, width: usize) -> &mut Self {
        let text = safe_text::one_line(text).into_owned();
        let taken = text.width();
        self.spans.push(Span::Words(style, text));
        self.plain(&" ".repeat(width.saturating_sub(taken)))
    }

    /// From here on the line has a column of its own: where it folds, it goes on below this place.
    /// Without this a line goes on below its first word.
    pub(crate) fn hang(&mut self) -> &mut Self {
        self.spans.push(Span::Hang);
        self
    }

    pub(crate) fn end_line(&mut self) -> &mut Self {
        self.spans.push(Span::End);
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
            self.spans.push(Span::Verbatim(style, text));
            return self;
        }
        for line in text.lines() {
            self.spans.push(Span::Verbatim(style, line.to_owned()));
            self.end_line();
        }
        self
    }

    /// The lines of it, each ended by a line break.
    pub(crate) fn into_lines(self) -> Vec<Self> {
        let mut lines = vec![Self::new()];
        for span in self.spans {
            let ends_line = span.ends_line();
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

    /// Writes it without folding.
    pub(crate) fn render(&self, colour: Colour) -> String {
        let mut rendered = String::new();
        for span in &self.spans {
            match span {
                Span::Words(style, text) | Span::Verbatim(style, text) => {
                    styled(*style, text, colour, &mut rendered);
                }
                Span::Command(words) => rendered.push_str(words),
                Span::Hang => {}
                Span::End => rendered.push('\n'),
            }
        }
        rendered
    }

    /// Writes it with lines of at most this many columns, as far as words allow.
    pub(crate) fn render_within(&self, colour: Colour, width: usize) -> String {
        let mut rendered = String::new();
        for line in self.spans.split_inclusive(Span::ends_line) {
            let is_whole = matches!(line.last(), Some(Span::End));
            let line = &line[..line.len() - usize::from(is_whole)];
            let is_verbatim = line.iter().any(|span| matches!(span, Span::Verbatim(..)));
            // A question that waits for its answer stays as it is written.
            if is_verbatim || !is_whole {
                let whole = Self {
                    spans: line.to_vec(),
                };
                rendered.push_str(&whole.render(colour));
            } else {
                Folding::new(line, width).write(line, colour, &mut rendered);
            }
            if is_whole {
                rendered.push('\n');
            }
        }
        rendered
    }
}

fn styled(style: Style, text: &str, colour: Colour, rendered: &mut String) {
    let code = style.code();
    if colour == Colour::Off || code.is_empty() || text.is_empty() {
        rendered.push_str(text);
    } else {
        rendered.push_str(&format!("\u{1b}[{code}m{text}\u{1b}[0m"));
    }
}

/// How one line folds.
struct Folding {
    width: usize,
    /// Where further lines begin.
    indent: usize,
    /// What stands behind the hang has no room there, and begins a line of its own.
    breaks_at_hang: bool,
}

impl Folding {
    fn new(line: &[Span], width: usize) -> Self {
        let mut at = 0;
        let mut hang = None;
        let mut first_word = None;
        for span in line {
            match span {
                Span::Hang => {
                    hang = Some(at);
                    break;
                }
                Span::Words(_, text) => {
                    let before = text.len() - text.trim_start().len();
                    if first_word.is_none() && before < text.len() {
                        first_word = Some(at + before);
                    }
                    at += text.width();
                }
                Span::Command(_) => {
                    first_word.get_or_insert(at);
                }
                Span::Verbatim(..) | Span::End => {}
            }
        }
        let wanted = hang.or(first_word).unwrap_or(0);
        let fits = wanted == 0 || wanted + LEAST_ROOM <= width;
        Self {
            width,
            indent: match fits {
                true => wanted,
                false => NARROW_INDENT,
            },
            breaks_at_hang: !fits && hang.is_some(),
        }
    }

    fn write(&self, line: &[Span], colour: Colour, rendered: &mut String) {
        // Spaces are kept back until a word follows on the same line.
        let (mut column, mut gap, mut has_words) = (0, String::new(), false);
        for span in line {
            let (style, text) = match span {
                Span::Words(style, text) => (*style, text),
                Span::Hang if self.breaks_at_hang && has_words => {
                    self.next_line(rendered, &mut column);
                    (gap, has_words) = (String::new(), false);
                    continue;
                }
                Span::Command(words) => {
                    rendered.push_str(&std::mem::take(&mut gap));
                    self.write_command(words, rendered, &mut column);
                    continue;
                }
                _ => continue,
            };
            let mut run = String::new();
            for piece in pieces(text) {
                if piece.starts_with(' ') {
                    gap.push_str(piece);
                    continue;
                }
                let wide = piece.width();
                let is_over = column + gap.len() + wide > self.width;
                if has_words && is_over && column > self.indent && !gap.is_empty() {
                    styled(style, &run, colour, rendered);
                    run.clear();
                    self.next_line(rendered, &mut column);
                    gap.clear();
                }
                if !has_words && gap.len() > self.indent {
                    // A line that begins deeper than there is room for.
                    gap.truncate(self.indent.max(column) - column);
                }
                column += gap.len() + wide;
                // Spaces are ASCII, so that a style need not stand on them.
                if run.is_empty() {
                    rendered.push_str(&gap);
                } else {
                    run.push_str(&gap);
                }
                gap.clear();
                run.push_str(piece);
                has_words = true;
            }
            styled(style, &run, colour, rendered);
        }
    }

    /// Spaces before a command have been written, and count.
    fn write_command(&self, words: &str, rendered: &mut String, column: &mut usize) {
        let begins = rendered.lines().next_back().map_or(0, visible_width);
        *column = begins;
        let words = shell_words(words);
        let last = words.len().saturating_sub(1);
        for (at, word) in words.iter().enumerate() {
            // Room for the mark that the command goes on.
            let mark = if at == last { 0 } else { 2 };
            if at > 0 {
                if *column + 1 + word.width() + mark > self.width {
                    rendered.push_str(" \\");
                    self.next_line(rendered, column);
                    rendered.push_str("  ");
                    *column += 2;
                } else {
                    rendered.push(' ');
                    *column += 1;
                }
            }
            rendered.push_str(word);
            *column += word.width();
        }
    }

    fn next_line(&self, rendered: &mut String, column: &mut usize) {
        rendered.push('\n');
        rendered.extend(std::iter::repeat_n(' ', self.indent));
        *column = self.indent;
    }
}

/// The width of a line without its styles.
fn visible_width(line: &str) -> usize {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().map_or(0, str::width);
    let styled = parts.map(|part| part.split_once('m').map_or(0, |(_, text)| text.width()));
    first + styled.sum::<usize>()
}

/// The words of a command; spaces in single quotes part none.
fn shell_words(command: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let words = command.split(|it: char| {
        is_quoted ^= it == '\'';
        it == ' ' && !is_quoted
    });
    words.filter(|word| !word.is_empty()).collect()
}

/// Words and the spaces between them, alternating.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = match first {
            ' ' => rest.find(|it| it != ' '),
            _ => rest.find(' '),
        };
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(piece)
    })
}

/// The width of a column for these texts, between two limits.
pub(crate) fn width<'a>(texts: impl Iterator<Item = &'a str>, most: usize) -> usize {
    let longest = texts.map(|text| columns::width(&safe_text::one_line(text)));
    longest.max().unwrap_or(0).min(most)
}

/// The first sentence of a text, in one line: what there is room for in a list.
pub(crate) fn first_sentence(text: &str) -> String {
    /// Longer sentences are cut in lists.
    const LONGEST: usize = 200;
    let paragraph = text.trim().split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    let mut sentence = String::new();
    for (at, word) in words.iter().enumerate() {
        if sentence.chars().count() + word.chars().count() > LONGEST && at > 0 {
            sentence.push('\u{2026}');
            break;
        }
        if at > 0 {
            sentence.push(' ');
        }
        sentence.push_str(word);
        let begins = words.get(at + 1).and_then(|next| next.chars().next());
        let begins = begins.is_some_and(|it| !it.is_lowercase() && !it.is_numeric());
        let is_abbreviation = word.ends_with("e.g.") || word.ends_with("i.e.");
        if word.ends_with(['.', '!', '?']) && begins && !is_abbreviation {
            break;
        }
    }
    sentence
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

    #[test]
    fn lines_fold_below_their_hang_and_blocks_do_not() {
        let mut text = Text::new();
        text.column(Style::Name, "echo", 6)
            .hang()
            .plain("Says the message back, word for word, as it came.")
            .end_line();
        text.plain("    deeper lines go on below their first word, too")
            .end_line();
        text.block(Style::Plain, "contents stay as they are, however wide");
        insta::assert_snapshot!(text.render_within(Colour::Off, 34), @r"
        echo  Says the message back, word
              for word, as it came.
            deeper lines go on below their
            first word, too
        contents stay as they are, however wide
        ");
        // Where there is no room for the column, it stands below the name.
        insta::assert_snapshot!(text.render_within(Colour::Off, 28), @r"
        echo
            Says the message back,
            word for word, as it
            came.
            deeper lines go on below
            their first word, too
        contents stay as they are, however wide
        ");
    }

    #[test]
    fn words_that_do_not_fit_stay_whole_and_wide_characters_count_twice() {
        let mut text = Text::new();
        text.plain("see https://example.org/a/very/long/path for more")
            .end_line();
        assert_eq!(
            text.render_within(Colour::Off, 30),
            "see\nhttps://example.org/a/very/long/path\nfor more\n"
        );
        let mut text = Text::new();
        text.plain("日本語 日本語 日本語 日本語 日本語").end_line();
        assert_eq!(
            text.render_within(Colour::Off, 28),
            "日本語 日本語 日本語 日本語\n日本語\n"
        );
    }

    #[test]
    fn a_folded_command_can_be_pasted() {
        let mut text = Text::new();
        text.faint("try: ")
            .command("attache call lisp/evaluate-lisp code='(expt 2 200)' limit=1")
            .end_line();
        assert_eq!(
            text.render_within(Colour::On, 40),
            "\u{1b}[2mtry:\u{1b}[0m attache call lisp/evaluate-lisp \\\n  code='(expt 2 200)' limit=1\n"
        );
        assert!(text.render(Colour::Off).starts_with("try: attache call"));
    }

    #[test]
    fn a_question_keeps_the_space_before_its_answer() {
        let mut text = Text::new();
        text.add(Style::Name, "answer: ");
        assert_eq!(text.render_within(Colour::Off, 80), "answer: ");
    }

    #[test]
    fn styles_go_on_over_the_fold() {
        let mut text = Text::new();
        text.add(Style::Bad, "one two").end_line();
        assert_eq!(
            text.render_within(Colour::On, 5),
            "\u{1b}[31mone\u{1b}[0m\n\u{1b}[31mtwo\u{1b}[0m\n"
        );
    }

    #[test]
    fn a_list_shows_the_first_sentence() {
        for (text, expected) in [
            ("Adds two numbers.", "Adds two numbers."),
            ("\nReads a\nfile. Returns text.", "Reads a file."),
            ("Tells, e.g. Monday. Then ends", "Tells, e.g. Monday."),
            ("Version 1.2 of it\n\nMore", "Version 1.2 of it"),
            ("", ""),
        ] {
            assert_eq!(first_sentence(text), expected);
        }
        let long = first_sentence(&"word ".repeat(100));
        assert!(long.ends_with("word…") && long.len() < 210, "{long}");
    }
}
