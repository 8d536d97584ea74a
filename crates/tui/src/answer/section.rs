//! One block of an answer and how it is looked at.

use std::sync::Arc;

use attache::protocol::Payload;
use attache_view::document::{Body, Document, Markdown, Tree};
use attache_view::form::Path;
use ratatui::text::{Line, Span};

use super::body::{as_text, inner, views_of, what};
use super::facts;
use super::hex::HexView;
use super::image::Picture;
use super::markdown;
use super::rows::{MadeRow, Target};
use super::table::TableView;
use super::text::{Source, WrappedText, text_of};
use super::tree::{self, TreeView};
use crate::text::bytes as size;
use crate::theme::{Role, Theme};

/// Where a section comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// What is said about the answer as a whole.
    Head,
    /// A block, by its number.
    Block(usize),
    /// The structured answer.
    Structured,
}

/// A way to look at a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ViewAs {
    Text,
    Markdown,
    Tree,
    Table,
    Picture,
    Facts,
    Hex,
}

impl ViewAs {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Markdown => "Markdown",
            Self::Tree => "JSON tree",
            Self::Table => "table",
            Self::Picture => "picture",
            Self::Facts => "facts",
            Self::Hex => "hex",
        }
    }
}

/// What is drawn of a section.
#[derive(Debug)]
pub(super) enum Shown {
    /// It has to be made first.
    Not,
    Text(WrappedText),
    Made(Vec<MadeRow>),
    Tree(TreeView),
    Table(TableView),
    Picture(Picture),
    Hex(HexView),
}

/// One block of an answer.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) origin: Origin,
    /// The ways to look at it, the best first.
    pub(super) views: Vec<ViewAs>,
    pub(super) view: usize,
    pub(super) shown: Shown,
    /// It only says again what another block says.
    pub(super) is_folded: bool,
    /// The number of its link.
    pub(super) number: Option<usize>,
    /// The columns and the looks that rows were made for.
    made_for: Option<(usize, Theme)>,
}

impl Section {
    pub(super) fn new(origin: Origin, views: Vec<ViewAs>) -> Self {
        Self {
            origin,
            views,
            view: 0,
            shown: Shown::Not,
            is_folded: false,
            number: None,
            made_for: None,
        }
    }

    /// The sections of a document, in the order in which they are shown.
    pub(super) fn all(document: &Document) -> Vec<Self> {
        let mut sections = Vec::new();
        let mut links = 0;
        let is_said = document.is_error || document.description.is_some();
        let misfits = document
            .structured
            .as_ref()
            .and_then(|it| it.report.as_ref());
        if is_said || misfits.is_some_and(|report| !report.problems.is_empty()) {
            sections.push(Self::new(Origin::Head, vec![ViewAs::Facts]));
        }
        for (at, block) in document.blocks.iter().enumerate() {
            let mut section = Self::new(Origin::Block(at), views_of(&block.body));
            section.is_folded = matches!(
                block.body,
                Body::Text {
                    repeats_structured: true,
                    ..
                }
            );
            if matches!(block.body, Body::Link(_)) {
                links += 1;
                section.number = Some(links);
            }
            sections.push(section);
        }
        if let Some(structured) = &document.structured {
            sections.push(Self::new(Origin::Structured, views_of(&structured.body)));
        }
        if sections.is_empty() {
            sections.push(Self::new(Origin::Head, vec![ViewAs::Facts]));
        }
        sections
    }

    pub(super) fn view_as(&self) -> ViewAs {
        self.views.get(self.view).copied().unwrap_or(ViewAs::Facts)
    }

    /// The next way to look at it.
    pub(super) fn next_view(&mut self, document: &Document) {
        self.view = (self.view + 1) % self.views.len().max(1);
        // JSON text is read only when it is to be a table, and may be none.
        let is_text = self.body(document).and_then(text_of);
        if let (ViewAs::Table, Some(text)) = (self.view_as(), is_text)
            && !matches!(Body::of_json_text(text), Some(Body::Table(_)))
        {
            self.view = (self.view + 1) % self.views.len().max(1);
        }
        self.shown = Shown::Not;
        self.is_folded = false;
    }

    pub(super) fn body<'d>(&self, document: &'d Document) -> Option<&'d Body> {
        match self.origin {
            Origin::Head => None,
            Origin::Block(at) => document.blocks.get(at).map(|block| inner(&block.body)),
            Origin::Structured => document.structured.as_ref().map(|it| &it.body),
        }
    }

    /// Makes what is shown, or makes it fit to so many columns.
    pub(super) fn layout(&mut self, looked_at: &LookedAt<'_>, columns: usize) {
        if self.is_folded {
            return;
        }
        let is_made = matches!(self.shown, Shown::Made(_));
        let made_for = Some((columns, *looked_at.theme));
        if matches!(self.shown, Shown::Not) || (is_made && self.made_for != made_for) {
            self.shown = self.make(looked_at, columns);
        }
        self.made_for = made_for;
        match &mut self.shown {
            Shown::Text(text) => text.layout(columns, looked_at.wraps),
            Shown::Tree(tree) => tree.layout(columns),
            Shown::Hex(hex) => hex.layout(columns),
            Shown::Picture(picture) => picture.layout(columns),
            _ => {}
        }
    }

    fn make(&self, looked_at: &LookedAt<'_>, columns: usize) -> Shown {
        let document = looked_at.document;
        let theme = looked_at.theme;
        let Some(body) = self.body(document) else {
            return Shown::Made(facts::of_answer(document, columns, theme));
        };
        match self.view_as() {
            ViewAs::Text => match (text_of(body), self.origin) {
                (Some(_), Origin::Block(at)) => {
                    Shown::Text(WrappedText::new(Source::Block(Arc::clone(document), at)))
                }
                _ => {
                    let text: Arc<str> = as_text(body).into();
                    Shown::Text(WrappedText::new(Source::Made(text)))
                }
            },
            ViewAs::Markdown => {
                let parsed = match body {
                    Body::Markdown(_) => None,
                    other => text_of(other).and_then(Markdown::parse),
                };
                let markdown = match body {
                    Body::Markdown(markdown) => Some(markdown),
                    _ => parsed.as_ref(),
                };
                let made = markdown.map(|markdown| markdown::rows(markdown, columns, theme));
                Shown::Made(made.unwrap_or_default())
            }
            ViewAs::Tree => match body {
                Body::Tree { root } => Shown::Tree(TreeView::new(root)),
                Body::Table(table) => Shown::Tree(TreeView::new(&tree::of_table(table))),
                other => match text_of(other).and_then(Body::of_json_text) {
                    Some(Body::Table(table)) => Shown::Tree(TreeView::new(&tree::of_table(&table))),
                    Some(Body::Tree { root }) => Shown::Tree(TreeView::new(&root)),
                    _ => Shown::Tree(TreeView::new(&Tree::Null)),
                },
            },
            ViewAs::Table => match body {
                Body::Table(table) => Shown::Table(TableView::new(table.clone())),
                other => match text_of(other).and_then(Body::of_json_text) {
                    Some(Body::Table(table)) => Shown::Table(TableView::new(table)),
                    _ => Shown::Made(Vec::new()),
                },
            },
            ViewAs::Picture => match body {
                Body::Image(media) => Shown::Picture(Picture::new(media, looked_at.waker.clone())),
                _ => Shown::Made(Vec::new()),
            },
            ViewAs::Facts => Shown::Made(facts::of_block(body, self.number, columns, theme)),
            ViewAs::Hex => Shown::Hex(HexView::new(self.bytes(document, looked_at.raw))),
        }
    }

    /// How many rows are known, the head not included.
    pub(super) fn count(&self) -> usize {
        match &self.shown {
            _ if self.is_folded => 0,
            Shown::Not => 0,
            Shown::Text(text) => text.count(),
            Shown::Made(rows) => rows.len(),
            Shown::Tree(tree) => tree.count(),
            Shown::Table(table) => table.count(),
            Shown::Picture(picture) => picture.count(),
            Shown::Hex(hex) => hex.count(),
        }
    }

    pub(super) fn is_complete(&self) -> bool {
        match &self.shown {
            Shown::Text(text) if !self.is_folded => text.is_complete(),
            _ => true,
        }
    }

    pub(super) fn extend(&mut self) {
        if let Shown::Text(text) = &mut self.shown {
            text.extend();
        }
    }

    pub(super) fn line(&self, row: usize, columns: usize, theme: &Theme) -> Line<'static> {
        match &self.shown {
            Shown::Not => Line::default(),
            Shown::Text(text) => Line::styled(text.shown(row), theme.style(Role::Text)),
            Shown::Made(rows) => rows
                .get(row)
                .map(|row| row.line.clone())
                .unwrap_or_default(),
            Shown::Tree(tree) => tree.line(row, columns, theme),
            Shown::Table(table) => table.line(row, columns, theme),
            Shown::Picture(picture) => picture.line(row, theme),
            Shown::Hex(hex) => hex.line(row, theme),
        }
    }

    /// The text of a row, to be searched and copied.
    pub(super) fn plain(&self, row: usize) -> String {
        match &self.shown {
            Shown::Not | Shown::Picture(_) => String::new(),
            Shown::Text(text) => text.row(row).to_owned(),
            Shown::Made(rows) => rows.get(row).map(MadeRow::plain).unwrap_or_default(),
            Shown::Tree(tree) => tree.plain(row),
            Shown::Table(table) => table.plain(row),
            Shown::Hex(hex) => hex.plain(row),
        }
    }

    pub(super) fn target(&self, row: usize) -> Option<&Target> {
        match &self.shown {
            Shown::Made(rows) => rows.get(row)?.target.as_ref(),
            _ => None,
        }
    }

    /// The way to the value at a row of a tree.
    pub(super) fn path(&self, row: usize) -> Option<Path> {
        match &self.shown {
            Shown::Tree(tree) => Some(tree.path(row)),
            _ => None,
        }
    }

    /// Whether something stands above it: not above the only text of an answer, nor above a link,
    /// which says of itself what it is.
    pub(super) fn has_title(&self, document: &Document, is_alone: bool) -> bool {
        let block = match self.origin {
            Origin::Head => return false,
            Origin::Structured => return true,
            Origin::Block(at) => document.blocks.get(at),
        };
        block.is_some_and(|block| match &block.body {
            Body::Link(_) => false,
            Body::Text { .. } | Body::Markdown(_) => {
                !is_alone || block.role.is_some() || !block.audience.is_empty()
            }
            _ => true,
        })
    }

    /// What stands above it.
    pub(super) fn title(
        &self,
        document: &Document,
        is_alone: bool,
        theme: &Theme,
    ) -> Option<Line<'static>> {
        if !self.has_title(document, is_alone) {
            return None;
        }
        let (block, what) = match self.origin {
            Origin::Head => return None,
            Origin::Structured => (None, "structured answer".to_owned()),
            Origin::Block(at) => {
                let block = document.blocks.get(at)?;
                (Some(block), what(block))
            }
        };
        let bytes = match (block, &document.structured) {
            (Some(block), _) => block.bytes,
            (None, Some(structured)) => structured.bytes,
            (None, None) => 0,
        };
        let glyphs = theme.glyphs();
        let separator = format!(" {} ", glyphs.separator);
        let view = self.view_as();
        let is_said = view == ViewAs::Facts || what == view.name();
        let mut words = vec![what];
        if !is_said {
            words.push(view.name().to_owned());
        }
        words.push(size(bytes));
        if let Some(block) = block.filter(|block| !block.audience.is_empty()) {
            words.push(format!("for {}", block.audience.join(", ")));
        }
        let mut line = Line::styled(words.join(&separator), theme.style(Role::Secondary));
        if let Some(role) = block.and_then(|block| block.role.as_ref()) {
            line.spans.insert(
                0,
                Span::styled(format!("{role}: "), theme.style(Role::Accent)),
            );
        }
        if self.is_folded {
            line.push_span(Span::styled(
                format!(
                    "{separator}says what the structured answer says {}",
                    glyphs.closed
                ),
                theme.style(Role::Secondary),
            ));
        }
        Some(line)
    }
}

/// What sections are made of.
pub(super) struct LookedAt<'l> {
    pub(super) document: &'l Arc<Document>,
    pub(super) raw: &'l Payload,
    pub(super) waker: &'l crate::component::Waker,
    pub(super) theme: &'l Theme,
    pub(super) wraps: bool,
}
