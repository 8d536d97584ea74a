//! Markdown in rows: headings, lists, code, quotations, tables; links are numbered.

use attache_view::document::{Alignment, Inline, ListItem, Markdown, MarkdownBlock};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::rows::{Flow, MadeRow, Target};
use crate::measure::width;
use crate::theme::{Role, Theme};

/// How narrow a column of a table gets before it is cut.
const LEAST_COLUMN: usize = 6;

/// The rows of a text in Markdown.
pub(super) fn rows(markdown: &Markdown, columns: usize, theme: &Theme) -> Vec<MadeRow> {
    let mut writer = Writer {
        theme,
        rows: Vec::new(),
        links: Vec::new(),
        margin: Vec::new(),
    };
    writer.parts(&markdown.parts, columns.max(1));
    if !writer.links.is_empty() {
        writer.blank();
    }
    for (at, (url, can_be_opened)) in std::mem::take(&mut writer.links).into_iter().enumerate() {
        let number = Span::styled(format!("[{}] ", at + 1), theme.style(Role::Secondary));
        let line = Line::from(vec![
            number,
            Span::styled(url.clone(), theme.style(Role::Accent)),
        ]);
        writer.rows.push(MadeRow {
            line,
            target: can_be_opened.then_some(Target::Page(url)),
        });
    }
    writer.rows
}

struct Writer<'w> {
    theme: &'w Theme,
    rows: Vec<MadeRow>,
    /// The links so far, and whether a browser may open them.
    links: Vec<(String, bool)>,
    /// What stands before each row: the bars of quotations, the indents of lists.
    margin: Vec<Span<'static>>,
}

impl Writer<'_> {
    fn parts(&mut self, parts: &[MarkdownBlock], columns: usize) {
        for (at, part) in parts.iter().enumerate() {
            let is_list = matches!(part, MarkdownBlock::List { .. });
            // A list follows its paragraph without a gap.
            let is_close = is_list
                && matches!(
                    parts.get(at.wrapping_sub(1)),
                    Some(MarkdownBlock::Paragraph { .. })
                );
            if at > 0 && !is_close {
                self.blank();
            }
            self.part(part, columns);
        }
    }

    fn part(&mut self, part: &MarkdownBlock, columns: usize) {
        let theme = self.theme;
        match part {
            MarkdownBlock::Heading { level, words } => {
                let style = match level {
                    1 => theme
                        .style(Role::TitleFocused)
                        .add_modifier(Modifier::UNDERLINED),
                    2 => theme.style(Role::TitleFocused),
                    _ => theme.style(Role::Title),
                };
                self.words(words, style, columns);
            }
            MarkdownBlock::Paragraph { words } => {
                self.words(words, theme.style(Role::Text), columns);
            }
            MarkdownBlock::Code { text, .. } => {
                let bar = Span::styled(
                    format!("{} ", theme.glyphs().bar),
                    theme.style(Role::Border),
                );
                self.margin.push(bar);
                let mut flow = Flow::default();
                flow.push(text.trim_end_matches('\n'), theme.style(Role::Code));
                self.flow(&flow, columns.saturating_sub(2));
                self.margin.pop();
            }
            MarkdownBlock::Quote { parts } => {
                let bar = Span::styled(
                    format!("{} ", theme.glyphs().bar),
                    theme.style(Role::Secondary),
                );
                self.margin.push(bar);
                self.parts(parts, columns.saturating_sub(2));
                self.margin.pop();
            }
            MarkdownBlock::List { start, items } => self.list(*start, items, columns),
            MarkdownBlock::Table { alignments, rows } => self.table(alignments, rows, columns),
            MarkdownBlock::Rule => {
                let rule = theme.glyphs().rule.repeat(columns);
                self.push(vec![Span::styled(rule, theme.style(Role::Border))]);
            }
        }
    }

    fn list(&mut self, start: Option<u64>, items: &[ListItem], columns: usize) {
        let glyphs = self.theme.glyphs();
        for (at, item) in items.iter().enumerate() {
            let mark = match (item.done, start) {
                (Some(true), _) => format!("{} ", glyphs.checked),
                (Some(false), _) => format!("{} ", glyphs.unchecked),
                (None, Some(start)) => format!("{}. ", start.saturating_add(at as u64)),
                (None, None) => format!("{} ", glyphs.bullet),
            };
            let wide = width(&mark);
            let before = self.rows.len();
            self.margin.push(Span::raw(" ".repeat(wide)));
            self.parts(&item.parts, columns.saturating_sub(wide).max(1));
            self.margin.pop();
            // The mark stands in the margin of the item's first row.
            let place = self.margin.len();
            let mark = Span::styled(mark, self.theme.style(Role::Accent));
            match self.rows.get_mut(before) {
                Some(row) if place < row.line.spans.len() => row.line.spans[place] = mark,
                _ => self.push(vec![mark]),
            }
        }
    }

    fn table(&mut self, alignments: &[Alignment], rows: &[Vec<Vec<Inline>>], columns: usize) {
        let theme = self.theme;
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut cells: Vec<Vec<Flow>> = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let role = if at == 0 { Role::Title } else { Role::Text };
            let row = row
                .iter()
                .map(|words| self.inline(words, theme.style(role)));
            cells.push(row.collect());
        }
        let mut widths: Vec<usize> = (0..count)
            .map(|at| {
                cells
                    .iter()
                    .filter_map(|row| row.get(at))
                    .map(Flow::width)
                    .max()
            })
            .map(|widest| widest.unwrap_or(0).max(1))
            .collect();
        // The widest columns give way first.
        while widths.iter().sum::<usize>() + count.saturating_sub(1) * 3 > columns {
            match widths.iter_mut().max() {
                Some(widest) if *widest > LEAST_COLUMN => *widest -= 1,
                _ => break,
            }
        }
        let bar = Span::styled(
            format!(" {} ", theme.glyphs().bar),
            theme.style(Role::Border),
        );
        for (number, row) in cells.into_iter().enumerate() {
            let wrapped: Vec<_> = row
                .iter()
                .zip(&widths)
                .map(|(cell, wide)| cell.wrapped(*wide))
                .collect();
            let height = wrapped.iter().map(Vec::len).max().unwrap_or(1);
            for part in 0..height {
                let mut spans = Vec::new();
                for (at, wide) in widths.iter().enumerate() {
                    let cell = wrapped.get(at).and_then(|cell| cell.get(part)).cloned();
                    spans.extend(aligned(cell.unwrap_or_default(), *wide, alignments.get(at)));
                    if at + 1 < count {
                        spans.push(bar.clone());
                    }
                }
                self.push(spans);
            }
            if number == 0 {
                let rules: Vec<String> = widths
                    .iter()
                    .map(|wide| theme.glyphs().rule.repeat(*wide))
                    .collect();
                let rule = rules.join(&theme.glyphs().rule.repeat(3));
                self.push(vec![Span::styled(rule, theme.style(Role::Border))]);
            }
        }
    }

    fn words(&mut self, words: &[Inline], style: Style, columns: usize) {
        let flow = self.inline(words, style);
        self.flow(&flow, columns);
    }

    fn flow(&mut self, flow: &Flow, columns: usize) {
        if flow.is_empty() {
            return;
        }
        for spans in flow.wrapped(columns) {
            self.push(spans);
        }
    }

    fn inline(&mut self, words: &[Inline], style: Style) -> Flow {
        let mut flow = Flow::default();
        self.add_inline(words, style, &mut flow);
        flow
    }

    fn add_inline(&mut self, words: &[Inline], style: Style, flow: &mut Flow) {
        for word in words {
            match word {
                Inline::Text { text } => flow.push(text, style),
                Inline::Code { text } => flow.push(text, style.patch(self.theme.style(Role::Code))),
                Inline::Emphasis { words } => {
                    self.add_inline(words, style.add_modifier(Modifier::ITALIC), flow);
                }
                Inline::Strong { words } => {
                    self.add_inline(words, style.add_modifier(Modifier::BOLD), flow);
                }
                Inline::Strikethrough { words } => {
                    self.add_inline(words, style.add_modifier(Modifier::CROSSED_OUT), flow);
                }
                Inline::Link {
                    url,
                    can_be_opened,
                    is_image,
                    words,
                } => {
                    let link = style.patch(self.theme.style(Role::Accent));
                    if *is_image {
                        flow.push("image: ", self.theme.style(Role::Secondary));
                    }
                    self.add_inline(words, link, flow);
                    self.links.push((url.clone(), *can_be_opened));
                    let number = format!("[{}]", self.links.len());
                    flow.push(&number, self.theme.style(Role::Secondary));
                }
                Inline::Break => flow.push("\n", style),
            }
        }
    }

    fn push(&mut self, spans: Vec<Span<'static>>) {
        let mut line = self.margin.clone();
        line.extend(spans);
        self.rows.push(MadeRow::new(Line::from(line)));
    }

    fn blank(&mut self) {
        if self
            .rows
            .last()
            .is_some_and(|row| !row.plain().trim().is_empty())
        {
            self.push(Vec::new());
        }
    }
}

/// A cell in exactly its width.
fn aligned(
    cell: Vec<Span<'static>>,
    wide: usize,
    alignment: Option<&Alignment>,
) -> Vec<Span<'static>> {
    let used: usize = cell.iter().map(|span| width(&span.content)).sum();
    let missing = wide.saturating_sub(used);
    let left = match alignment {
        Some(Alignment::Right) => missing,
        Some(Alignment::Center) => missing / 2,
        _ => 0,
    };
    let mut spans = vec![Span::raw(" ".repeat(left))];
    spans.extend(cell);
    spans.push(Span::raw(" ".repeat(missing - left)));
    spans
}
