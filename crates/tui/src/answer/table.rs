//! A list of flat objects as a table: aligned, sorted by any column.

use std::cmp::Ordering;

use attache_view::document::{Column, Table, Tree};
use ratatui::text::{Line, Span};

use crate::measure::{padded, width};
use crate::theme::{Role, Theme};

/// How many rows are measured to find how wide the columns have to be.
const MOST_MEASURED: usize = 1_000;
/// How wide a column is at most.
const MOST_COLUMN: usize = 40;
/// Rows before the first: the names and the line below them.
const HEAD: usize = 2;

/// A table, how it is sorted and where the cursor is.
#[derive(Debug)]
pub(super) struct TableView {
    table: Table,
    widths: Vec<usize>,
    /// Columns of nothing but numbers stand to the right.
    is_numeric: Vec<bool>,
    order: Vec<usize>,
    sorted: Option<(usize, bool)>,
    column: usize,
}

impl TableView {
    pub(super) fn new(table: Table) -> Self {
        let cells = |column: usize| {
            let rows = table.rows.iter().take(MOST_MEASURED);
            rows.filter_map(move |row| row.get(column)?.as_ref())
        };
        let widths = table.columns.iter().enumerate().map(|(at, column)| {
            let head = width(name(column)) + 2;
            let widest = cells(at).map(|cell| width(&cell.to_line())).max();
            widest.unwrap_or(0).max(head).min(MOST_COLUMN)
        });
        let is_numeric = (0..table.columns.len()).map(|at| {
            let mut cells = cells(at).peekable();
            cells.peek().is_some()
                && cells.all(|cell| matches!(cell, Tree::Number { .. } | Tree::Null))
        });
        Self {
            widths: widths.collect(),
            is_numeric: is_numeric.collect(),
            order: (0..table.rows.len()).collect(),
            sorted: None,
            column: 0,
            table,
        }
    }

    pub(super) fn count(&self) -> usize {
        HEAD + self.order.len() + usize::from(self.table.more > 0)
    }

    /// The column that the cursor is in.
    pub(super) fn column_name(&self) -> &str {
        self.table
            .columns
            .get(self.column)
            .map_or("", |column| &column.name)
    }

    pub(super) fn move_column(&mut self, right: bool) {
        let last = self.table.columns.len().saturating_sub(1);
        self.column = match right {
            true => (self.column + 1).min(last),
            false => self.column.saturating_sub(1),
        };
    }

    /// Sorts by the column of the cursor: upwards, downwards, as it came.
    pub(super) fn sort(&mut self) {
        self.sorted = match self.sorted {
            Some((column, false)) if column == self.column => Some((column, true)),
            Some((column, true)) if column == self.column => None,
            _ => Some((self.column, false)),
        };
        self.order = (0..self.table.rows.len()).collect();
        let Some((column, is_downwards)) = self.sorted else {
            return;
        };
        let rows = &self.table.rows;
        let cell = |row: usize| rows.get(row).and_then(|row| row.get(column)?.as_ref());
        self.order.sort_by(|one, other| {
            let order = compare(cell(*one), cell(*other));
            match is_downwards {
                // What is missing stays at the end.
                true if cell(*one).is_some() && cell(*other).is_some() => order.reverse(),
                _ => order,
            }
        });
    }

    /// The texts of the column of the cursor, line by line.
    pub(super) fn column_text(&self) -> String {
        let cells = self.order.iter().map(|row| {
            let cell = self
                .table
                .rows
                .get(*row)
                .and_then(|row| row.get(self.column)?.as_ref());
            cell.map_or_else(String::new, Tree::to_line)
        });
        cells.collect::<Vec<_>>().join("\n")
    }

    /// The text of the cell of a row in the column of the cursor.
    pub(super) fn cell_text(&self, row: usize) -> Option<String> {
        let row = self
            .table
            .rows
            .get(*self.order.get(row.checked_sub(HEAD)?)?)?;
        row.get(self.column)?.as_ref().map(Tree::to_line)
    }

    pub(super) fn plain(&self, row: usize) -> String {
        let Some(row) = row.checked_sub(HEAD).and_then(|row| self.order.get(row)) else {
            return String::new();
        };
        let row = self.table.rows.get(*row).map_or(&[][..], Vec::as_slice);
        let cells = row
            .iter()
            .map(|cell| cell.as_ref().map_or_else(String::new, Tree::to_line));
        cells.collect::<Vec<_>>().join("  ")
    }

    pub(super) fn line(&self, row: usize, columns: usize, theme: &Theme) -> Line<'static> {
        let glyphs = theme.glyphs();
        let first = self.first_column(columns);
        let mut line = Line::default();
        let mut used = 0;
        for at in first..self.table.columns.len() {
            let room = columns.saturating_sub(used);
            if room == 0 {
                break;
            }
            let wide = self.widths[at].min(room);
            let (text, role) = self.cell(row, at, wide, theme);
            let mut style = theme.style(role);
            if at == self.column && row == 0 {
                style = theme
                    .style(Role::Accent)
                    .add_modifier(ratatui::style::Modifier::BOLD);
            }
            line.push_span(Span::styled(padded(&text, wide, glyphs.ellipsis), style));
            used += wide;
            if used + 3 <= columns && at + 1 < self.table.columns.len() {
                let between = match row {
                    1 => format!("{0}{0}{0}", glyphs.rule),
                    _ => format!(" {} ", glyphs.bar),
                };
                line.push_span(Span::styled(between, theme.style(Role::Border)));
                used += 3;
            }
        }
        match row.checked_sub(HEAD) {
            Some(at) if at >= self.order.len() => {
                let more = format!("{} more rows are not shown", self.table.more);
                Line::styled(more, theme.style(Role::Warning))
            }
            _ => line,
        }
    }

    /// The first column that is drawn, so that the one of the cursor is.
    fn first_column(&self, columns: usize) -> usize {
        let mut first = self.column;
        let mut used = self.widths.get(first).copied().unwrap_or(0);
        while first > 0 && used + self.widths[first - 1] + 3 <= columns {
            used += self.widths[first - 1] + 3;
            first -= 1;
        }
        first
    }

    fn cell(&self, row: usize, at: usize, wide: usize, theme: &Theme) -> (String, Role) {
        let glyphs = theme.glyphs();
        match row {
            0 => {
                let mark = match self.sorted {
                    Some((column, false)) if column == at => " +",
                    Some((column, true)) if column == at => " -",
                    _ => "",
                };
                let name = self.table.columns.get(at).map_or("", name);
                (format!("{name}{mark}"), Role::Title)
            }
            1 => (glyphs.rule.repeat(wide), Role::Border),
            _ => {
                let row = self
                    .order
                    .get(row - HEAD)
                    .and_then(|row| self.table.rows.get(*row));
                let Some(Some(cell)) = row.and_then(|row| row.get(at)) else {
                    return (String::new(), Role::Text);
                };
                let text = cell.to_line();
                let missing = wide.saturating_sub(width(&text));
                match cell {
                    Tree::Null => (text, Role::Placeholder),
                    _ if self.is_numeric[at] => {
                        (format!("{}{text}", " ".repeat(missing)), Role::Text)
                    }
                    _ => (text, Role::Text),
                }
            }
        }
    }
}

fn name(column: &Column) -> &str {
    column.title.as_deref().unwrap_or(&column.name)
}

/// Numbers before texts, what is missing last.
fn compare(one: Option<&Tree>, other: Option<&Tree>) -> Ordering {
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
    match (one, other) {
        (Some(Tree::Number { text: one }), Some(Tree::Number { text: other })) => number(one)
            .total_cmp(&number(other))
            .then_with(|| one.cmp(other)),
        (Some(one), Some(other)) => rank(one)
            .cmp(&rank(other))
            .then_with(|| one.to_line().cmp(&other.to_line())),
        (one, other) => other.is_some().cmp(&one.is_some()),
    }
}

fn rank(cell: &Tree) -> u8 {
    match cell {
        Tree::Number { .. } => 0,
        Tree::Bool { .. } => 1,
        Tree::Text { .. } => 2,
        Tree::List { .. } | Tree::Object { .. } => 3,
        Tree::Null => 4,
    }
}
