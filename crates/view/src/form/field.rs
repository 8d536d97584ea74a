//! What a form consists of. All texts in it are safe to show. Values and paths are exact, because
//! they are sent: a face shows them through [`safe_text`](crate::safe_text).

use attache_schema::{Path, Types};
use serde::Serialize;

use crate::{Number, Value};

/// One field of a form, with the fields inside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Where its value stands.
    pub path: Path,
    /// Its name: of a member as the server writes it, of an item its number, of the root nothing.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it means.
    pub description: Option<String>,
    /// It cannot be left out.
    pub required: bool,
    /// It may be null.
    pub nullable: bool,
    /// The server sets it.
    pub read_only: bool,
    /// It is not to be used any more.
    pub deprecated: bool,
    /// No schema describes it: it is there because the value has it.
    pub undescribed: bool,
    /// The value that the server takes if it is left out.
    pub default: Option<Value>,
    /// Values to begin with.
    pub examples: Vec<Value>,
    /// What kind of widget it is.
    pub kind: Kind,
    /// Where the schema speaks of it; for [`Form::expand`](super::Form::expand) and
    /// [`Form::check_at`](super::Form::check_at).
    pub place: Place,
    /// The types of value it takes.
    #[serde(skip)]
    pub(crate) types: Types,
}

/// What kind of widget a field is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "widget", rename_all = "snake_case")]
pub enum Kind {
    /// Text.
    Text {
        /// How it is entered.
        shape: TextShape,
        /// What it has to look like, as the schema names it.
        format: Option<String>,
        /// How many characters it has.
        length: Range,
        /// Patterns that it has to match.
        patterns: Vec<String>,
    },
    /// A number.
    Number {
        /// Only without a fraction.
        whole: bool,
        /// The least value.
        minimum: Option<Number>,
        /// The greatest value.
        maximum: Option<Number>,
        /// It must be greater than this.
        above: Option<Number>,
        /// It must be less than this.
        below: Option<Number>,
        /// It must be a multiple of this.
        step: Option<Number>,
    },
    /// Yes, no or, if it is optional, neither.
    Boolean,
    /// One of several values.
    Choice {
        /// The values, in the order of the schema.
        options: Vec<Choice>,
    },
    /// Any of several values.
    MultiChoice {
        /// The values, in the order of the schema.
        options: Vec<Choice>,
        /// How many are chosen.
        count: Range,
        /// None is chosen twice.
        unique: bool,
    },
    /// A list.
    List {
        /// The items that the value has.
        items: Vec<Field>,
        /// The places of the first items, if each has its own.
        first: Vec<Place>,
        /// The place of all further items; nothing if there may be none.
        rest: Option<Place>,
        /// How many there are.
        count: Range,
        /// No two are equal.
        unique: bool,
    },
    /// An object.
    Object(Members),
    /// One of several shapes.
    Variants {
        /// The shapes.
        options: Vec<Variant>,
        /// Which one is shown.
        chosen: Option<usize>,
        /// That one.
        field: Option<Box<Field>>,
    },
    /// A JSON editor, and why no better widget can be offered.
    Json {
        /// The reason.
        reason: String,
    },
    /// Fields that are made on demand, by expanding the field's place: the schema goes in circles,
    /// or is larger than one expansion.
    Deferred,
}

/// How a text is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TextShape {
    /// In one line.
    Line,
    /// In several lines.
    Lines,
    /// Without showing it, because its name says that it is a secret. It is kept in no history.
    Masked,
}

/// A least and a greatest count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Range {
    /// The least.
    pub min: Option<usize>,
    /// The greatest.
    pub max: Option<usize>,
}

/// One value to choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// The value, with its JSON type.
    pub value: Value,
    /// What is typed for it: its text, or its JSON where another choice has the same text.
    pub label: String,
    /// What is shown, if it is not the label.
    pub title: Option<String>,
}

/// One shape to choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Variant {
    /// Its title, what tells it from the others, or its number.
    pub title: String,
    /// Its place.
    pub place: Place,
}

/// The members of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Members {
    /// The members that the schema names or the value has: first those of the schema, in its order.
    pub fields: Vec<Field>,
    /// The place of members with a name of one's own; nothing if there may be none.
    pub others: Option<Place>,
    /// The places of members whose names match a pattern.
    pub patterns: Vec<PatternMembers>,
    /// How many members there are.
    pub count: Range,
    /// Members that are required as soon as another one is there.
    pub dependent_required: Vec<(String, Vec<String>)>,
}

/// Members whose names match a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PatternMembers {
    /// The pattern.
    pub pattern: String,
    /// Their place.
    pub place: Place,
}

/// Where a schema speaks of a field: in several parts that all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, serde::Deserialize)]
pub struct Place {
    /// Pointers into the schema; none if it says nothing.
    schemas: Vec<String>,
    /// Lists of alternatives of which one was decided for, by pointer.
    #[serde(default)]
    pub(crate) settled: Vec<String>,
    /// The one type that was decided for, as the schema names it.
    #[serde(default)]
    pub(crate) only: Option<String>,
}

impl Place {
    /// The whole schema.
    pub fn root() -> Self {
        Self::of(vec![String::new()])
    }

    pub(crate) fn of(schemas: Vec<String>) -> Self {
        Self {
            schemas,
            ..Self::default()
        }
    }

    /// The parts of the schema, as JSON pointers.
    pub fn schemas(&self) -> impl Iterator<Item = &str> {
        self.schemas.iter().map(String::as_str)
    }

    /// The same place after deciding for one of the alternatives at `group`.
    pub(crate) fn decided(&self, group: &str, alternative: Option<&str>) -> Self {
        let mut place = self.clone();
        place.settled.push(group.to_owned());
        place.schemas.extend(alternative.map(str::to_owned));
        place
    }
}

impl Field {
    /// The name to show: title, name.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// All fields inside this one, not those inside them.
    pub fn children(&self) -> Vec<&Self> {
        match &self.kind {
            Kind::List { items, .. } => items.iter().collect(),
            Kind::Object(members) => members.fields.iter().collect(),
            Kind::Variants { field, .. } => field.iter().map(Box::as_ref).collect(),
            _ => Vec::new(),
        }
    }

    /// The innermost field at a path, if it has been expanded.
    pub fn find(&self, path: &Path) -> Option<&Self> {
        let deeper = self
            .children()
            .into_iter()
            .filter(|child| path.0.starts_with(&child.path.0));
        let found = deeper.filter_map(|child| child.find(path)).next();
        found.or_else(|| (self.path == *path).then_some(self))
    }

    /// How many fields there are, this one included.
    pub fn total(&self) -> usize {
        1 + self.children().into_iter().map(Self::total).sum::<usize>()
    }
}
