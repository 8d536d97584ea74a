//! Markdown as a tree of a few kinds of nodes.
//!
//! HTML in it is text. Images in it are links: showing them would tell a stranger that they are
//! looked at. All texts are made safe after parsing, because Markdown can write any character as an
//! entity.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};
use serde::Serialize;

use crate::safe_text;

/// The largest text that is read as Markdown.
pub const MAX_MARKDOWN_BYTES: usize = 1024 * 1024;
/// How deep its parts nest; what is deeper loses its frame, not its text.
pub const MAX_MARKDOWN_DEPTH: usize = 32;

/// A text in Markdown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Markdown {
    /// Its parts, in order.
    pub parts: Vec<MarkdownBlock>,
    /// The text itself, for a face that shows it as text.
    pub text: String,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "part", rename_all = "snake_case")]
pub enum MarkdownBlock {
    /// A heading.
    Heading {
        /// From 1, the highest, to 6.
        level: u8,
        /// Its words.
        words: Vec<Inline>,
    },
    /// A paragraph.
    Paragraph {
        /// Its words.
        words: Vec<Inline>,
    },
    /// Code, or HTML, which is shown like it.
    Code {
        /// The language, if it is told.
        language: Option<String>,
        /// The code.
        text: String,
    },
    /// A quotation.
    Quote {
        /// What is quoted.
        parts: Vec<MarkdownBlock>,
    },
    /// A list.
    List {
        /// The number of the first item, if they are numbered.
        start: Option<u64>,
        /// The items.
        items: Vec<ListItem>,
    },
    /// A table.
    Table {
        /// How the columns are aligned.
        alignments: Vec<Alignment>,
        /// The rows, the head first; a cell has words.
        rows: Vec<Vec<Vec<Inline>>>,
    },
    /// A line across.
    Rule,
}

/// An item of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ListItem {
    /// Whether its task is done, if it is a task.
    pub done: Option<bool>,
    /// What it consists of.
    pub parts: Vec<MarkdownBlock>,
}

/// How a column is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Alignment {
    /// As the face likes.
    None,
    /// To the left.
    Left,
    /// To the middle.
    Center,
    /// To the right.
    Right,
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "inline", rename_all = "snake_case")]
pub enum Inline {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// Code.
    Code {
        /// The code.
        text: String,
    },
    /// Stressed.
    Emphasis {
        /// What is stressed.
        words: Vec<Inline>,
    },
    /// Strongly stressed.
    Strong {
        /// What is stressed.
        words: Vec<Inline>,
    },
    /// Struck out.
    Strikethrough {
        /// What is struck out.
        words: Vec<Inline>,
    },
    /// A link, or an image, which is shown like one.
    Link {
        /// Where it leads.
        url: String,
        /// It leads to `http`, `https` or `mailto`; a face opens nothing else.
        can_be_opened: bool,
        /// It is an image; a face never fetches it unasked.
        is_image: bool,
        /// Its words.
        words: Vec<Inline>,
    },
    /// The end of a line.
    Break,
}

impl Markdown {
    /// Reads a text; `None` if it is longer than is read.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_MARKDOWN_BYTES {
            return None;
        }
        let options =
            Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        let mut builder = Builder::default();
        for event in Parser::new_ext(text, options) {
            builder.take(event);
        }
        Some(Self {
            parts: builder.finish(),
            text: safe_text::block(text).into_owned(),
        })
    }

    /// Whether a text without a media type is likely to be Markdown: it has a heading, a fence, a
    /// table, or at least two items or stressed words.
    pub(super) fn is_likely(text: &str) -> bool {
        let mut hints = 0;
        for line in text.lines() {
            let line = line.trim_start();
            let level = line.bytes().take_while(|byte| *byte == b'#').count();
            let is_heading = (1..=6).contains(&level) && line[level..].starts_with(' ');
            let is_rule_of_table = line.contains('|')
                && line.contains("---")
                && line.bytes().all(|byte| b"|-: \t".contains(&byte));
            if is_heading || line.starts_with("```") || is_rule_of_table {
                return true;
            }
            let is_item = line.starts_with("- ") || line.starts_with("* ");
            let is_stressed = line.matches("**").count() >= 2 || line.contains("](");
            hints += usize::from(is_item) + usize::from(is_stressed);
        }
        hints >= 2
    }
}

/// What is open while events come.
enum Open {
    Root,
    Paragraph,
    Heading(u8),
    Quote,
    Code(Option<String>),
    List(Option<u64>, Vec<ListItem>),
    Item(Option<bool>),
    Table(Vec<Alignment>, Vec<Vec<Vec<Inline>>>),
    Row(Vec<Vec<Inline>>),
    Cell,
    Emphasis,
    Strong,
    Strikethrough,
    Link { url: String, is_image: bool },
}

struct Frame {
    open: Open,
    parts: Vec<MarkdownBlock>,
    words: Vec<Inline>,
}

impl Frame {
    fn new(open: Open) -> Self {
        Self {
            open,
            parts: Vec::new(),
            words: Vec::new(),
        }
    }

    /// Words that stand in no paragraph, as in short list items, are one.
    fn settle(&mut self) {
        if !self.words.is_empty() {
            let mut words = std::mem::take(&mut self.words);
            make_safe(&mut words);
            self.parts.push(MarkdownBlock::Paragraph { words });
        }
    }

    fn push(&mut self, part: MarkdownBlock) {
        self.settle();
        self.parts.push(part);
    }
}

struct Builder {
    frames: Vec<Frame>,
    /// Parts that are open beyond the greatest depth.
    beyond: usize,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            frames: vec![Frame::new(Open::Root)],
            beyond: 0,
        }
    }
}

impl Builder {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(_) if self.frames.len() >= MAX_MARKDOWN_DEPTH => self.beyond += 1,
            Event::Start(tag) => self.frames.push(Frame::new(opened(tag))),
            Event::End(_) if self.beyond > 0 => self.beyond -= 1,
            Event::End(_) => self.close(),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                let text = safe_text::one_line(&text).into_owned();
                self.word(Inline::Code { text });
            }
            Event::FootnoteReference(label) => self.text(&format!("[{label}]")),
            Event::SoftBreak => self.text("\n"),
            Event::HardBreak => self.word(Inline::Break),
            Event::Rule => {
                if let Some(frame) = self.frames.last_mut() {
                    frame.push(MarkdownBlock::Rule);
                }
            }
            Event::TaskListMarker(is_done) => {
                let item = self
                    .frames
                    .iter_mut()
                    .rev()
                    .find_map(|frame| match &mut frame.open {
                        Open::Item(done) => Some(done),
                        _ => None,
                    });
                if let Some(done) = item {
                    *done = Some(is_done);
                }
            }
        }
    }

    /// Adds text; pieces of one text that the parser cut become one again, so that no sequence
    /// slips through in parts.
    fn text(&mut self, piece: &str) {
        if let Some(frame) = self.frames.last_mut() {
            match frame.words.last_mut() {
                Some(Inline::Text { text }) => text.push_str(piece),
                _ => frame.words.push(Inline::Text {
                    text: piece.to_owned(),
                }),
            }
        }
    }

    fn word(&mut self, word: Inline) {
        if let Some(frame) = self.frames.last_mut() {
            frame.words.push(word);
        }
    }

    fn close(&mut self) {
        // Events are balanced, so the root stays.
        if self.frames.len() < 2 {
            return;
        }
        let Some(mut frame) = self.frames.pop() else {
            return;
        };
        let Some(parent) = self.frames.last_mut() else {
            return;
        };
        match frame.open {
            Open::Quote | Open::Item(_) | Open::Root => frame.settle(),
            // Code is made safe as a whole.
            Open::Code(_) => {}
            _ => make_safe(&mut frame.words),
        }
        let Frame { open, parts, words } = frame;
        match open {
            Open::Root => parent.parts.extend(parts),
            Open::Paragraph => parent.push(MarkdownBlock::Paragraph { words }),
            Open::Heading(level) => parent.push(MarkdownBlock::Heading { level, words }),
            Open::Quote => parent.push(MarkdownBlock::Quote { parts }),
            Open::Code(language) => parent.push(MarkdownBlock::Code {
                language,
                text: code(words),
            }),
            Open::List(start, items) => parent.push(MarkdownBlock::List { start, items }),
            Open::Item(done) => match &mut parent.open {
                Open::List(_, items) => items.push(ListItem { done, parts }),
                _ => parent.parts.extend(parts),
            },
            Open::Table(alignments, rows) => parent.push(MarkdownBlock::Table { alignments, rows }),
            Open::Row(cells) => {
                if let Open::Table(_, rows) = &mut parent.open {
                    rows.push(cells);
                }
            }
            Open::Cell => match &mut parent.open {
                Open::Row(cells) => cells.push(words),
                _ => parent.words.extend(words),
            },
            Open::Emphasis => parent.words.push(Inline::Emphasis { words }),
            Open::Strong => parent.words.push(Inline::Strong { words }),
            Open::Strikethrough => parent.words.push(Inline::Strikethrough { words }),
            Open::Link { url, is_image } => {
                let scheme = url
                    .split_once(':')
                    .map(|(scheme, _)| scheme.to_ascii_lowercase());
                let can_be_opened = matches!(scheme.as_deref(), Some("http" | "https" | "mailto"));
                parent.words.push(Inline::Link {
                    url,
                    can_be_opened,
                    is_image,
                    words,
                });
            }
        }
    }

    fn finish(mut self) -> Vec<MarkdownBlock> {
        while self.frames.len() > 1 {
            self.close();
        }
        let Some(mut root) = self.frames.pop() else {
            return Vec::new();
        };
        root.settle();
        root.parts
    }
}

fn opened(tag: Tag<'_>) -> Open {
    let safe = |text: &str| safe_text::one_line(text).into_owned();
    match tag {
        Tag::Heading { level, .. } => Open::Heading(level as u8),
        Tag::BlockQuote(_) | Tag::FootnoteDefinition(_) => Open::Quote,
        Tag::CodeBlock(CodeBlockKind::Fenced(language)) => {
            let language = language.split_whitespace().next().map(safe);
            Open::Code(language)
        }
        Tag::CodeBlock(CodeBlockKind::Indented) => Open::Code(None),
        Tag::HtmlBlock => Open::Code(Some("html".to_owned())),
        Tag::List(start) => Open::List(start, Vec::new()),
        Tag::Item => Open::Item(None),
        Tag::Table(alignments) => {
            Open::Table(alignments.into_iter().map(alignment).collect(), Vec::new())
        }
        Tag::TableHead | Tag::TableRow => Open::Row(Vec::new()),
        Tag::TableCell => Open::Cell,
        Tag::Emphasis => Open::Emphasis,
        Tag::Strong => Open::Strong,
        Tag::Strikethrough => Open::Strikethrough,
        Tag::Link { dest_url, .. } => Open::Link {
            url: safe(&dest_url),
            is_image: false,
        },
        Tag::Image { dest_url, .. } => Open::Link {
            url: safe(&dest_url),
            is_image: true,
        },
        // What is not enabled does not come; if it came, it would be a paragraph.
        _ => Open::Paragraph,
    }
}

fn alignment(alignment: pulldown_cmark::Alignment) -> Alignment {
    match alignment {
        pulldown_cmark::Alignment::None => Alignment::None,
        pulldown_cmark::Alignment::Left => Alignment::Left,
        pulldown_cmark::Alignment::Center => Alignment::Center,
        pulldown_cmark::Alignment::Right => Alignment::Right,
    }
}

/// Makes the texts of a frame safe, once they are whole. Those inside other words are already.
fn make_safe(words: &mut [Inline]) {
    for word in words {
        if let Inline::Text { text } = word {
            *text = safe_text::block(text).into_owned();
        }
    }
}

fn code(words: Vec<Inline>) -> String {
    let texts = words.into_iter().map(|word| match word {
        Inline::Text { text } | Inline::Code { text } => text,
        _ => String::new(),
    });
    safe_text::block(&texts.collect::<String>()).into_owned()
}
