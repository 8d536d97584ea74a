//! JSON as a tree whose parts open and close.

use std::collections::BTreeSet;

use attache_view::document::{Member, Table, Tree};
use attache_view::form::{Path, Step};
use ratatui::text::{Line, Span};

use crate::measure::{fit, rows, untabbed, width};
use crate::theme::{Role, Theme};

/// Trees with fewer nodes are open from the beginning.
const OPEN_BELOW: usize = 200;
/// How deep larger ones are open.
const OPEN_DEPTH: usize = 2;
/// How many rows of one text are shown.
const MOST_TEXT_ROWS: usize = 1_000;

/// A node, in the order in which they are read.
#[derive(Debug)]
struct Node {
    depth: usize,
    /// The way from the parent: the name of a member, the number of an item.
    step: Option<Step>,
    value: Shown,
    /// The number of the node behind the last one inside this.
    end: usize,
}

#[derive(Debug)]
enum Shown {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(usize),
    Object(usize),
    /// Nodes that are left out.
    More(usize),
}

/// A tree and which of its parts are open.
#[derive(Debug)]
pub(super) struct TreeView {
    nodes: Vec<Node>,
    closed: BTreeSet<usize>,
    /// Texts that are shown whole.
    unfolded: BTreeSet<usize>,
    /// What each row shows: a node, and which row of its text.
    rows: Vec<(usize, usize)>,
    columns: usize,
}

impl TreeView {
    pub(super) fn new(tree: &Tree) -> Self {
        let mut nodes = Vec::new();
        flatten(tree, None, 0, &mut nodes);
        let closes = |(_, node): &(usize, &Node)| {
            nodes.len() >= OPEN_BELOW && node.depth >= OPEN_DEPTH && node.is_section()
        };
        let closed = nodes.iter().enumerate().filter(closes);
        let mut view = Self {
            closed: closed.map(|(at, _)| at).collect(),
            nodes,
            unfolded: BTreeSet::new(),
            rows: Vec::new(),
            columns: 0,
        };
        view.relist();
        view
    }

    pub(super) fn layout(&mut self, columns: usize) {
        if self.columns != columns {
            self.columns = columns;
            if !self.unfolded.is_empty() {
                self.relist();
            }
        }
    }

    pub(super) fn count(&self) -> usize {
        self.rows.len()
    }

    /// Opens or closes what is at a row; tells whether there is something to.
    pub(super) fn toggle(&mut self, row: usize) -> bool {
        let Some((at, _)) = self.rows.get(row).copied() else {
            return false;
        };
        let set = match &self.nodes[at].value {
            Shown::List(_) | Shown::Object(_) => &mut self.closed,
            Shown::Text(_) => &mut self.unfolded,
            _ => return false,
        };
        if !set.remove(&at) {
            set.insert(at);
        }
        self.relist();
        true
    }

    /// Opens (to the right) or closes what is at a row. Closing what is closed or a leaf goes to the
    /// row of what it is in.
    pub(super) fn aside(&mut self, row: usize, right: bool) -> usize {
        let Some((at, _)) = self.rows.get(row).copied() else {
            return row;
        };
        let node = &self.nodes[at];
        let is_open = node.is_section() && !self.closed.contains(&at) && node.end > at + 1;
        if node.is_section() && is_open != right {
            self.toggle(row);
            return row;
        }
        if right {
            return row;
        }
        let depth = node.depth;
        let above = self.rows[..row].iter();
        above
            .clone()
            .rposition(|(above, _)| self.nodes[*above].depth < depth)
            .unwrap_or(row)
    }

    /// The way to the value of a row.
    pub(super) fn path(&self, row: usize) -> Path {
        let mut steps = Vec::new();
        let Some((mut at, _)) = self.rows.get(row).copied() else {
            return Path::default();
        };
        while let Some(step) = &self.nodes[at].step {
            steps.push(step.clone());
            let depth = self.nodes[at].depth;
            match (0..at).rev().find(|above| self.nodes[*above].depth < depth) {
                Some(parent) => at = parent,
                None => break,
            }
        }
        steps.reverse();
        Path(steps)
    }

    fn relist(&mut self) {
        self.rows.clear();
        let mut at = 0;
        while at < self.nodes.len() {
            let node = &self.nodes[at];
            self.rows.push((at, 0));
            if let Shown::Text(text) = &node.value
                && self.unfolded.contains(&at)
            {
                let room = self.columns.saturating_sub(node.depth * 2 + 2);
                let count = rows(text, room).len().min(MOST_TEXT_ROWS);
                self.rows.extend((1..=count).map(|row| (at, row)));
            }
            at = match self.closed.contains(&at) {
                true => node.end,
                false => at + 1,
            };
        }
    }

    pub(super) fn plain(&self, row: usize) -> String {
        let Some((at, part)) = self.rows.get(row).copied() else {
            return String::new();
        };
        let node = &self.nodes[at];
        match part {
            0 => format!("{}{}", node.label(), node.words()),
            _ => self.text_row(node, part),
        }
    }

    fn text_row(&self, node: &Node, part: usize) -> String {
        let Shown::Text(text) = &node.value else {
            return String::new();
        };
        let room = self.columns.saturating_sub(node.depth * 2 + 2);
        let row = rows(text, room).get(part - 1).cloned().unwrap_or_default();
        untabbed(&text[row]).trim_end_matches('\n').to_owned()
    }

    pub(super) fn line(&self, row: usize, columns: usize, theme: &Theme) -> Line<'static> {
        let Some((at, part)) = self.rows.get(row).copied() else {
            return Line::default();
        };
        let glyphs = theme.glyphs();
        let node = &self.nodes[at];
        let indent = " ".repeat((node.depth * 2).min(columns / 2));
        if part > 0 {
            let text = format!("{indent}  {}", self.text_row(node, part));
            let text = fit(&text, columns, glyphs.ellipsis).into_owned();
            return Line::styled(text, theme.style(Role::Code));
        }
        let mark = match node.is_section() && node.end > at + 1 {
            true if self.closed.contains(&at) => glyphs.closed,
            true => glyphs.open,
            false => " ",
        };
        let label = node.label();
        let words = match &node.value {
            Shown::Text(_) if self.unfolded.contains(&at) => glyphs.open.to_owned(),
            _ => node.words(),
        };
        let room = columns.saturating_sub(width(&indent) + 2);
        let label = fit(&label, room, glyphs.ellipsis).into_owned();
        let room = room.saturating_sub(width(&label));
        let words = fit(&words, room, glyphs.ellipsis).into_owned();
        Line::from(vec![
            Span::raw(indent),
            Span::styled(format!("{mark} "), theme.style(Role::Secondary)),
            Span::styled(label, theme.style(Role::Name)),
            Span::styled(words, theme.style(node.role())),
        ])
    }
}

impl Node {
    fn is_section(&self) -> bool {
        matches!(self.value, Shown::List(_) | Shown::Object(_))
    }

    fn label(&self) -> String {
        match &self.step {
            Some(Step::Key(name)) => format!("{name}: "),
            Some(Step::Index(at)) => format!("{at}: "),
            None => String::new(),
        }
    }

    fn words(&self) -> String {
        match &self.value {
            Shown::Null => "null".to_owned(),
            Shown::Bool(value) => value.to_string(),
            Shown::Number(text) => text.clone(),
            Shown::Text(text) => {
                let short: String = text.chars().take(2_000).collect();
                format!("\"{}\"", short.replace('\n', "\\n"))
            }
            Shown::List(count) => format!("[{count}]"),
            Shown::Object(count) => format!("{{{count}}}"),
            Shown::More(count) => format!("({count} more)"),
        }
    }

    fn role(&self) -> Role {
        match &self.value {
            Shown::Null | Shown::Bool(_) | Shown::Number(_) => Role::Number,
            Shown::Text(_) => Role::Code,
            Shown::List(_) | Shown::Object(_) | Shown::More(_) => Role::Secondary,
        }
    }
}

fn flatten(tree: &Tree, step: Option<Step>, depth: usize, nodes: &mut Vec<Node>) {
    let at = nodes.len();
    let (value, left_out) = match tree {
        Tree::Null => (Shown::Null, 0),
        Tree::Bool { value } => (Shown::Bool(*value), 0),
        Tree::Number { text } => (Shown::Number(text.clone()), 0),
        Tree::Text { text } => (Shown::Text(text.clone()), 0),
        Tree::List { items, more } => (Shown::List(items.len() + more), *more),
        Tree::Object { members, more } => (Shown::Object(members.len() + more), *more),
    };
    nodes.push(Node {
        depth,
        step,
        value,
        end: at + 1,
    });
    match tree {
        Tree::List { items, .. } => {
            for (number, item) in items.iter().enumerate() {
                flatten(item, Some(Step::Index(number)), depth + 1, nodes);
            }
        }
        Tree::Object { members, .. } => {
            for Member { name, value } in members {
                flatten(value, Some(Step::Key(name.clone())), depth + 1, nodes);
            }
        }
        _ => {}
    }
    if left_out > 0 {
        nodes.push(Node {
            depth: depth + 1,
            step: None,
            value: Shown::More(left_out),
            end: nodes.len() + 1,
        });
    }
    nodes[at].end = nodes.len();
}

/// The tree that a table was made of.
pub(super) fn of_table(table: &Table) -> Tree {
    let object = |row: &Vec<Option<Tree>>| {
        let cells = table.columns.iter().zip(row);
        let members = cells.filter_map(|(column, cell)| {
            Some(Member {
                name: column.name.clone(),
                value: cell.clone()?,
            })
        });
        Tree::Object {
            members: members.collect(),
            more: 0,
        }
    };
    let list = Tree::List {
        items: table.rows.iter().map(object).collect(),
        more: table.more,
    };
    match &table.name {
        Some(name) => Tree::Object {
            members: vec![Member {
                name: name.clone(),
                value: list,
            }],
            more: 0,
        },
        None => list,
    }
}

/// A tree as JSON text in lines, as far as it is known.
pub(super) fn json_text(tree: &Tree) -> String {
    attache_view::indented(&json(tree))
}

fn json(tree: &Tree) -> String {
    let text = |text: &str| attache_view::Value::String(text.to_owned()).to_string();
    let more = |count: usize| match count {
        0 => None,
        count => Some(text(&format!("({count} more)"))),
    };
    match tree {
        Tree::Null => "null".to_owned(),
        Tree::Bool { value } => value.to_string(),
        Tree::Number { text } => text.clone(),
        Tree::Text { text: words } => text(words),
        Tree::List { items, more: rest } => {
            let items: Vec<String> = items.iter().map(json).chain(more(*rest)).collect();
            format!("[{}]", items.join(","))
        }
        Tree::Object {
            members,
            more: rest,
        } => {
            let member =
                |member: &Member| format!("{}:{}", text(&member.name), json(&member.value));
            let left = more(*rest).map(|more| format!("{more}:null"));
            let members: Vec<String> = members.iter().map(member).chain(left).collect();
            format!("{{{}}}", members.join(","))
        }
    }
}
