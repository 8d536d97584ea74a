//! The lines of a form: its fields in order, without those inside closed sections.

use std::collections::BTreeMap;

use attache_view::form::{Field, Kind, Members, Path};

use super::sheet::Sheet;

/// Which of an editor's forms a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// What is sent.
    Value,
    /// What is said about the call.
    Options,
}

/// What a line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Line {
    /// A field, the `n`th with its path: a variant stands where its choice stands.
    Field(usize),
    /// Adds an item to the list.
    AddItem,
    /// Adds a member to the object.
    AddMember,
    /// The head of the call's options.
    OptionsHead,
    /// Submits.
    Submit,
}

/// What tells a line from all others, also after the form changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowId {
    pub(super) part: Part,
    pub(super) path: Path,
    pub(super) line: Line,
}

/// A line of the form.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: RowId,
    /// How far it is indented.
    pub(super) depth: usize,
    /// The way to its field: which child, of which child.
    trail: Vec<usize>,
    /// Whether its section is open; nothing if it has none.
    pub(super) is_open: Option<bool>,
}

/// Sections that a person has opened or closed.
#[derive(Debug, Default)]
pub(super) struct Folds(BTreeMap<RowId, bool>);

impl Folds {
    /// Opens or closes a section.
    pub(super) fn set(&mut self, id: &RowId, is_open: bool) {
        self.0.insert(id.clone(), is_open);
    }

    fn is_open(&self, id: &RowId, by_itself: bool) -> bool {
        self.0.get(id).copied().unwrap_or(by_itself)
    }
}

impl Row {
    /// Its field: for a line that adds something, that to which it adds.
    pub(super) fn field<'f>(&self, root: &'f Field) -> Option<&'f Field> {
        self.trail
            .iter()
            .try_fold(root, |field, at| child(field, *at))
    }
}

fn child(field: &Field, at: usize) -> Option<&Field> {
    match &field.kind {
        Kind::List { items, .. } => items.get(at),
        Kind::Object(members) => members.fields.get(at),
        Kind::Variants { field, .. } => field.as_deref(),
        _ => None,
    }
}

/// The lines of a form, those of the call's options below.
pub(super) fn outline(value: &Sheet, options: Option<&Sheet>, folds: &Folds) -> Vec<Row> {
    let mut outline = Outline {
        part: Part::Value,
        sheet: value,
        folds,
        rows: Vec::new(),
        trail: Vec::new(),
    };
    outline.root();
    let head = |line: Line, part: Part, is_open: Option<bool>| Row {
        id: RowId {
            part,
            path: Path::default(),
            line,
        },
        depth: 0,
        trail: Vec::new(),
        is_open,
    };
    if let Some(options) = options {
        let mut row = head(Line::OptionsHead, Part::Options, None);
        let is_open = folds.is_open(&row.id, false);
        row.is_open = Some(is_open);
        outline.rows.push(row);
        if is_open {
            outline.part = Part::Options;
            outline.sheet = options;
            outline.children(options.fields(), 1);
        }
    }
    outline.rows.push(head(Line::Submit, Part::Value, None));
    outline.rows
}

/// Whether an object asks for members with names of one's own. Every object takes them that does
/// not refuse them; a line for that in each would be in the way.
pub(super) fn offers_members(members: &Members) -> bool {
    let others = members.others.as_ref();
    let is_described = others.is_some_and(|place| place.schemas().next().is_some());
    is_described
        || !members.patterns.is_empty()
        || (others.is_some() && members.fields.is_empty())
        || members.fields.iter().any(|field| field.undescribed)
}

struct Outline<'o> {
    part: Part,
    sheet: &'o Sheet,
    folds: &'o Folds,
    rows: Vec<Row>,
    trail: Vec<usize>,
}

impl Outline<'_> {
    /// The root has a line of its own only if it is more than a list of members.
    fn root(&mut self) {
        let root = self.sheet.fields();
        match &root.kind {
            Kind::Object(_) => self.children(root, 0),
            _ => self.field(root, 0, 0),
        }
    }

    fn field(&mut self, field: &Field, depth: usize, level: usize) {
        let id = RowId {
            part: self.part,
            path: field.path.clone(),
            line: Line::Field(level),
        };
        let has_section = matches!(
            field.kind,
            Kind::Object(_) | Kind::List { .. } | Kind::Variants { .. }
        );
        let is_open = has_section.then(|| self.folds.is_open(&id, self.opens_by_itself(field)));
        self.rows.push(Row {
            id,
            depth,
            trail: self.trail.clone(),
            is_open,
        });
        if is_open == Some(true) {
            self.children(field, depth + 1);
        }
    }

    fn children(&mut self, field: &Field, depth: usize) {
        match &field.kind {
            Kind::Object(members) => {
                for (at, member) in members.fields.iter().enumerate() {
                    self.below(at, member, depth, 0);
                }
                if offers_members(members) {
                    self.adding(Line::AddMember, field, depth);
                }
            }
            Kind::List {
                items, first, rest, ..
            } => {
                for (at, item) in items.iter().enumerate() {
                    self.below(at, item, depth, 0);
                }
                if rest.is_some() || items.len() < first.len() {
                    self.adding(Line::AddItem, field, depth);
                }
            }
            Kind::Variants {
                field: Some(inner), ..
            } => match &inner.kind {
                // The members of a variant stand below its choice, without a head of their own.
                Kind::Object(_) | Kind::List { .. } => {
                    self.trail.push(0);
                    self.children(inner, depth);
                    self.trail.pop();
                }
                _ => {
                    let level = self.levels(&field.path);
                    self.below(0, inner, depth, level);
                }
            },
            _ => {}
        }
    }

    fn below(&mut self, at: usize, field: &Field, depth: usize, level: usize) {
        self.trail.push(at);
        self.field(field, depth, level);
        self.trail.pop();
    }

    fn adding(&mut self, line: Line, field: &Field, depth: usize) {
        self.rows.push(Row {
            id: RowId {
                part: self.part,
                path: field.path.clone(),
                line,
            },
            depth,
            trail: self.trail.clone(),
            is_open: None,
        });
    }

    /// How many lines this path has already: they follow each other.
    fn levels(&self, path: &Path) -> usize {
        let mut last = self.rows.iter().rev();
        last.by_ref().take_while(|row| row.id.path == *path).count()
    }

    /// A section that can be left out is closed until there is something in it.
    fn opens_by_itself(&self, field: &Field) -> bool {
        field.required
            || field.path.0.is_empty()
            || self.sheet.state().get(&field.path).is_some()
            || self.sheet.problems_below(&field.path) > 0
    }
}
