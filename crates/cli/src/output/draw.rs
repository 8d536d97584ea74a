//! How answers look on a terminal: Markdown rendered, structured values as tables or trees.
//!
//! Pure functions from the document model to [`Text`]. What goes into a pipe is plain and made in
//! [`human`].

use attache_view::document::{
    Alignment, Block, Body, Document, Inline, Link, LooksLike, Markdown, MarkdownBlock, Media,
    Structured, Table, Tree,
};

use super::columns::{Flow, Grid, Side, width};
use super::human;
use super::text::{Style, Text};

/// Lines of text are not made longer than this, however wide the terminal is.
const WIDEST_TEXT: usize = 100;

/// An answer on a terminal of so many columns.
pub(crate) fn document(document: &Document, columns: usize) -> Text {
    let canvas = Canvas {
        columns,
        keeps_lines: false,
    };
    let mut text = Text::new();
    for block in &document.blocks {
        if let Some(role) = &block.role {
            text.add(Style::Name, role).plain(":").end_line();
        }
        text.append(canvas.block(block));
    }
    if let Some(structured) = document
        .structured
        .as_ref()
        .filter(|it| is_shown(it, document))
    {
        text.append(canvas.body(&structured.body, structured.bytes));
    }
    text
}

/// A structured answer is shown where it says more than the blocks: they have nothing to say or
/// repeat it, or it makes a table.
fn is_shown(structured: &Structured, document: &Document) -> bool {
    let mut blocks = document.blocks.iter();
    matches!(structured.body, Body::Table(_)) || blocks.all(|block| is_silent(&block.body))
}

fn is_silent(body: &Body) -> bool {
    match body {
        Body::Text {
            text,
            repeats_structured,
            ..
        } => text.is_empty() || *repeats_structured,
        _ => false,
    }
}

struct Canvas {
    columns: usize,
    /// Lines end where they end in the text, because it was only guessed to be Markdown.
    keeps_lines: bool,
}

impl Canvas {
    fn block(&self, block: &Block) -> Text {
        self.body(&block.body, block.bytes)
    }

    fn body(&self, body: &Body, bytes: usize) -> Text {
        let mut text = Text::new();
        match body {
            Body::Text { .. } if is_silent(body) => {}
            Body::Text {
                text: words,
                looks_like,
                ..
            } => match looks_like {
                LooksLike::Markdown => match Markdown::parse(words) {
                    Some(markdown) => {
                        let canvas = Self {
                            keeps_lines: true,
                            ..*self
                        };
                        text.append(canvas.markdown(&markdown));
                    }
                    None => {
                        text.block(Style::Plain, words);
                    }
                },
                LooksLike::Plain | LooksLike::Json => {
                    text.block(Style::Plain, words);
                }
            },
            Body::Markdown(markdown) => {
                text.append(self.markdown(markdown));
            }
            Body::Tree { root } => {
                tree(root, 0, &mut text);
            }
            Body::Table(table) => {
                text.append(self.table(table));
            }
            Body::Image(media) | Body::Audio(media) | Body::Binary(media) => {
                text.faint(&describe(media, bytes)).end_line();
            }
            Body::Link(link) => {
                text.append(self.link(link));
            }
            Body::Resource { uri, body } => match &**body {
                Body::Image(media) | Body::Audio(media) | Body::Binary(media) => {
                    text.faint(&format!("{} {uri}", describe(media, bytes)))
                        .end_line();
                }
                body => {
                    text.append(self.body(body, bytes));
                }
            },
            Body::Unknown { label, raw } => {
                text.faint(&format!("[{label}] ")).plain(raw).end_line();
            }
        }
        text
    }

    fn link(&self, link: &Link) -> Text {
        let mut text = Text::new();
        text.plain(&link.name)
            .plain(" ")
            .add(Style::Link, &link.uri);
        if let Some(kind) = &link.mime_type {
            text.faint(&format!(" [{kind}]"));
        }
        text.end_line();
        text
    }

    fn table(&self, table: &Table) -> Text {
        let mut text = Text::new();
        if let Some(name) = &table.name {
            text.add(Style::Name, name).plain(":").end_line();
        }
        let cell = |cell: &Option<Tree>| cell.as_ref().map_or_else(String::new, Tree::to_line);
        let is_number = |column: usize| {
            let mut cells = table
                .rows
                .iter()
                .filter_map(|row| row.get(column)?.as_ref());
            cells.all(|cell| matches!(cell, Tree::Number { .. } | Tree::Null))
        };
        let head = table.columns.iter();
        let grid = Grid {
            head: head
                .map(|column| column.title.as_ref().unwrap_or(&column.name).clone())
                .collect(),
            sides: (0..table.columns.len())
                .map(|column| match is_number(column) {
                    true => Side::Right,
                    false => Side::Left,
                })
                .collect(),
            rows: table
                .rows
                .iter()
                .map(|row| row.iter().map(cell).collect())
                .collect(),
        };
        match grid.draw(self.columns) {
            Some(drawn) => text.append(drawn),
            None => text.append(records(&grid)),
        };
        more(table.more, 0, &mut text);
        text
    }

    fn markdown(&self, markdown: &Markdown) -> Text {
        let mut text = Text::new();
        self.parts(&markdown.parts, &mut Margins::default(), &mut text);
        text
    }

    fn parts(&self, parts: &[MarkdownBlock], margins: &mut Margins, text: &mut Text) {
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                margins.empty_line(text);
            }
            self.part(part, margins, text);
        }
    }

    fn part(&self, part: &MarkdownBlock, margins: &mut Margins, text: &mut Text) {
        match part {
            MarkdownBlock::Heading { words, .. } => {
                self.words(words, Style::Heading, margins, text);
            }
            MarkdownBlock::Paragraph { words } => self.words(words, Style::Plain, margins, text),
            MarkdownBlock::Code { text: code, .. } => {
                for line in code.lines() {
                    margins.begin_line(text);
                    text.plain("    ").add(Style::Code, line).end_line();
                }
            }
            MarkdownBlock::Quote { parts } => {
                margins.within("│ ", "│ ", |margins| self.parts(parts, margins, text));
            }
            MarkdownBlock::List { start, items } => {
                for (at, item) in items.iter().enumerate() {
                    let mark = match (item.done, start) {
                        (Some(true), _) => "[x] ".to_owned(),
                        (Some(false), _) => "[ ] ".to_owned(),
                        (None, Some(start)) => format!("{}. ", start.saturating_add(at as u64)),
                        (None, None) => "• ".to_owned(),
                    };
                    let rest = " ".repeat(width(&mark));
                    margins.within(&mark, &rest, |margins| match item.parts.as_slice() {
                        [] => {
                            margins.begin_line(text);
                            text.end_line();
                        }
                        parts => self.tight(parts, margins, text),
                    });
                }
            }
            MarkdownBlock::Table { alignments, rows } => {
                let drawn = self.markdown_table(alignments, rows, margins);
                for line in drawn.into_lines() {
                    margins.begin_line(text);
                    text.append(line);
                }
            }
            MarkdownBlock::Rule => {
                margins.begin_line(text);
                let room = margins.room(self.columns).min(40);
                text.faint(&"─".repeat(room)).end_line();
            }
        }
    }

    /// The parts of an item, where a list follows its words without an empty line.
    fn tight(&self, parts: &[MarkdownBlock], margins: &mut Margins, text: &mut Text) {
        for (at, part) in parts.iter().enumerate() {
            let is_list = matches!(part, MarkdownBlock::List { .. });
            if at > 0 && !is_list {
                margins.empty_line(text);
            }
            self.part(part, margins, text);
        }
    }

    fn words(&self, words: &[Inline], style: Style, margins: &mut Margins, text: &mut Text) {
        let mut flow = Flow::default();
        self.inline(words, style, &mut flow);
        for line in flow.lines(margins.room(self.columns)) {
            margins.begin_line(text);
            for (style, piece) in line {
                text.add(style, &piece);
            }
            text.end_line();
        }
    }

    fn markdown_table(
        &self,
        alignments: &[Alignment],
        rows: &[Vec<Vec<Inline>>],
        margins: &Margins,
    ) -> Text {
        let plain = |words: &Vec<Inline>| {
            let mut flow = Flow::default();
            self.inline(words, Style::Plain, &mut flow);
            let lines = flow.lines(usize::MAX).into_iter().flatten();
            lines.map(|(_, piece)| piece).collect::<String>()
        };
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut rows = rows.iter().map(|row| {
            let mut cells: Vec<String> = row.iter().map(plain).collect();
            cells.resize(columns, String::new());
            cells
        });
        let grid = Grid {
            sides: (0..columns)
                .map(|column| match alignments.get(column) {
                    Some(Alignment::Right) => Side::Right,
                    _ => Side::Left,
                })
                .collect(),
            head: rows.next().unwrap_or_default(),
            rows: rows.collect(),
        };
        grid.draw(margins.room(self.columns))
            .unwrap_or_else(|| records(&grid))
    }

    fn inline(&self, words: &[Inline], style: Style, flow: &mut Flow) {
        for word in words {
            match word {
                Inline::Text { text } if self.keeps_lines => {
                    for (at, line) in text.split('\n').enumerate() {
                        if at > 0 {
                            flow.end_line();
                        }
                        flow.add(style, line);
                    }
                }
                Inline::Text { text } => flow.add(style, text),
                Inline::Code { text } => flow.add(Style::Code, text),
                Inline::Emphasis { words } => self.inline(words, Style::Emphasis, flow),
                Inline::Strong { words } => self.inline(words, Style::Name, flow),
                Inline::Strikethrough { words } => self.inline(words, Style::Faint, flow),
                Inline::Link {
                    url,
                    words,
                    is_image,
                    ..
                } => {
                    if *is_image {
                        flow.add(Style::Faint, "image: ");
                    }
                    self.inline(words, Style::Link, flow);
                    let is_its_text =
                        matches!(words.as_slice(), [Inline::Text { text }] if text == url);
                    if !is_its_text {
                        flow.add(Style::Faint, &format!(" ({url})"));
                    }
                }
                Inline::Break => flow.end_line(),
            }
        }
    }
}

/// What stands before the lines of nested parts.
#[derive(Default)]
struct Margins {
    /// Before the next line, then before all further ones.
    levels: Vec<(String, String)>,
}

impl Margins {
    fn within(&mut self, first: &str, rest: &str, draw: impl FnOnce(&mut Self)) {
        self.levels.push((first.to_owned(), rest.to_owned()));
        draw(self);
        self.levels.pop();
    }

    fn begin_line(&mut self, text: &mut Text) {
        for (first, rest) in &mut self.levels {
            text.faint(first);
            first.clone_from(rest);
        }
    }

    fn empty_line(&mut self, text: &mut Text) {
        if self
            .levels
            .iter()
            .any(|(first, _)| !first.trim().is_empty())
        {
            self.begin_line(text);
        }
        text.end_line();
    }

    fn room(&self, columns: usize) -> usize {
        let taken: usize = self.levels.iter().map(|(_, rest)| width(rest)).sum();
        columns.saturating_sub(taken).clamp(10, WIDEST_TEXT)
    }
}

/// The rows of a table that is too wide, one below the other.
fn records(grid: &Grid) -> Text {
    let mut text = Text::new();
    let name_width = grid.head.iter().map(|name| width(name)).max().unwrap_or(0);
    for (at, row) in grid.rows.iter().enumerate() {
        if at > 0 {
            text.end_line();
        }
        for (name, cell) in grid
            .head
            .iter()
            .zip(row)
            .filter(|(_, cell)| !cell.is_empty())
        {
            text.column(Style::Name, name, name_width);
            text.plain("  ").plain(cell).end_line();
        }
    }
    text
}

/// A value as lines: members by name, items by a dash, what is inside further to the right.
fn tree(node: &Tree, depth: usize, text: &mut Text) {
    let indent = "  ".repeat(depth);
    match node {
        Tree::Object {
            members,
            more: left,
        } if !members.is_empty() => {
            for member in members {
                text.plain(&indent)
                    .add(Style::Name, &member.name)
                    .plain(":");
                below(&member.value, depth, text);
            }
            more(*left, depth, text);
        }
        Tree::List { items, more: left } if !items.is_empty() => {
            for item in items {
                text.plain(&indent).faint("-");
                below(item, depth, text);
            }
            more(*left, depth, text);
        }
        leaf => {
            text.plain(&indent);
            below(leaf, depth, text);
        }
    }
}

/// What follows a name or a dash: a leaf on the same line, all else on the next ones.
fn below(node: &Tree, depth: usize, text: &mut Text) {
    match node {
        Tree::Object { members, .. } if !members.is_empty() => {
            text.end_line();
            tree(node, depth + 1, text);
        }
        Tree::List { items, .. } if !items.is_empty() => {
            text.end_line();
            tree(node, depth + 1, text);
        }
        Tree::Text { text: words } if words.contains('\n') => {
            text.end_line();
            let indent = "  ".repeat(depth + 1);
            for line in words.lines() {
                text.plain(&indent).plain(line).end_line();
            }
        }
        Tree::Text { text: words } => {
            text.plain(" ").plain(&distinct(words)).end_line();
        }
        Tree::Null => {
            text.plain(" ").faint("null").end_line();
        }
        Tree::Object { .. } => {
            text.plain(" ").faint("{}").end_line();
        }
        Tree::List { .. } => {
            text.plain(" ").faint("[]").end_line();
        }
        Tree::Number { .. } | Tree::Bool { .. } => {
            text.plain(" ").add(Style::Code, &node.to_line()).end_line();
        }
    }
}

/// Text in quotes where it would look like another value without.
fn distinct(words: &str) -> std::borrow::Cow<'_, str> {
    let is_other = matches!(words, "" | "null" | "true" | "false" | "{}" | "[]")
        || attache_view::Number::parse(words).is_some()
        || words.trim() != words;
    match is_other {
        true => format!("\"{words}\"").into(),
        false => words.into(),
    }
}

fn more(count: usize, depth: usize, text: &mut Text) {
    if count > 0 {
        let indent = "  ".repeat(depth);
        text.faint(&format!("{indent}… and {count} more; --json has all"))
            .end_line();
    }
}

fn describe(media: &Media, bytes: usize) -> String {
    format!("[{}, {}]", media.mime_type, human::size(bytes))
}

#[cfg(test)]
#[path = "draw_tests.rs"]
mod tests;
