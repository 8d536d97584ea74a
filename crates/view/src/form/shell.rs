//! Forms filled in by the words of a shell: `key=text`, `key:=json`, `key.sub=text`, `key[0]=text`.
//!
//! Pure: reading files and stdin, and telling what is missing, is the caller's.

use attache_protocol::shortened;
use attache_schema::{Path, Problem, Step, Types, child_pointer};

use super::Form;
use super::expand::Expansion;
use super::field::{Field, Kind, Place};
use super::layers::Layers;
use super::state::{Picks, place};
use crate::{Value, safe_text};

/// How many alternatives are searched for the member that a key names.
const MOST_SEARCHED: usize = 200;

/// One argument as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Where the value goes.
    pub key: String,
    /// The value as it is written.
    pub text: String,
    /// How it is written.
    pub notation: Notation,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// `key=text`: its type is the schema's.
    Text,
    /// `key:=json`: as it stands.
    Json,
}

impl Assignment {
    /// Splits a word at its first `=` or `:=`; `None` if it has none, or no key before it.
    pub fn parse(word: &str) -> Option<Self> {
        let (key, text) = word.split_once('=')?;
        let (key, notation) = match key.strip_suffix(':') {
            Some(key) => (key, Notation::Json),
            None => (key, Notation::Text),
        };
        (!key.is_empty()).then(|| Self {
            key: key.to_owned(),
            text: text.to_owned(),
            notation,
        })
    }
}

/// Puts typed arguments into a value, by the types of the schema. A key that comes several times
/// makes a list, where the schema allows one.
///
/// What the result lacks or has too much is for [`Form::check`] to tell.
pub fn assign(form: &Form, base: Option<Value>, given: &[Assignment]) -> Result<Value, Problem> {
    let mut value = base;
    let picks = Picks::default();
    let mut done: Vec<&str> = Vec::new();
    for one in given {
        if done.contains(&one.key.as_str()) {
            continue;
        }
        done.push(&one.key);
        let mut expansion = Expansion::new(&form.schema, &picks);
        let (path, at) = locate(&mut expansion, &one.key);
        let field = expansion.field(&at, &path, None);
        let item = item_of(&mut expansion, &field, &path);
        let same: Vec<&Assignment> = given.iter().filter(|other| other.key == one.key).collect();
        let new = match (same.as_slice(), &item) {
            ([one], item) => read(one, &field, item.as_ref())?,
            (several, Some(item)) => {
                let items: Result<Vec<Value>, Problem> =
                    several.iter().map(|one| read(one, item, None)).collect();
                Value::Array(items?)
            }
            (_, None) => return Err(field.problem("is given more than once and takes one value")),
        };
        place(&mut value, &path.0, new).map_err(|(depth, complaint)| {
            Problem::new(&Path(path.0[..depth].to_vec()), "syntax", complaint)
        })?;
    }
    Ok(value.unwrap_or_else(|| Value::Object(Default::default())))
}

fn read(given: &Assignment, field: &Field, item: Option<&Field>) -> Result<Value, Problem> {
    match given.notation {
        Notation::Text => field.read_word(&given.text, item).map_err(|mut problem| {
            if !field.is_masked() {
                let text = shortened(safe_text::one_line(&given.text));
                problem.message = format!("{}, not \"{text}\"", problem.message);
            }
            problem
        }),
        Notation::Json => Value::parse(&given.text).map_err(|error| {
            field.problem(&format!(
                "must be JSON: {error}; for text write {}=…",
                field.path
            ))
        }),
    }
}

/// The field of a list's items, if a list is possible.
pub(super) fn item_of(expansion: &mut Expansion<'_>, field: &Field, path: &Path) -> Option<Field> {
    if !field.types.has(Types::ARRAY) {
        return None;
    }
    let place = match &field.kind {
        Kind::Variants { options, .. } => options.iter().find_map(|option| {
            let layers = expansion.layers(&option.place, None);
            (layers.types().has(Types::ARRAY)
                && option
                    .place
                    .only
                    .as_deref()
                    .is_none_or(|only| only == "array"))
            .then(|| Place::of(layers.item(0)))
        })?,
        _ => Place::of(expansion.layers(&field.place, None).item(0)),
    };
    Some(expansion.field(&place, &path.index(0), None))
}

/// Where a key leads: to the member of that very name, or along its dots and brackets.
pub(super) fn locate(expansion: &mut Expansion<'_>, key: &str) -> (Path, Place) {
    let mut path = Path::default();
    let mut place = Place::root();
    let mut rest = key;
    loop {
        let (named, member) = member(expansion, &place, rest);
        if named {
            return (path.key(rest), member);
        }
        // The longest name before a dot or a bracket that the schema knows leads on.
        let ends = rest
            .char_indices()
            .filter(|(at, character)| *at > 0 && matches!(character, '.' | '['))
            .map(|(at, _)| at);
        let onward = ends
            .take(32)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .find_map(|end| {
                let (name, tail) = rest.split_at(end);
                let (named, inner) = self::member(expansion, &place, name);
                let (steps, inner, tail) =
                    named.then(|| brackets(expansion, inner, tail)).flatten()?;
                Some((name, steps, inner, tail))
            });
        let Some((name, steps, inner, tail)) = onward else {
            return (path.key(rest), member);
        };
        path = path.key(name);
        path.0.extend(steps.into_iter().map(Step::Index));
        place = inner;
        match tail.strip_prefix('.') {
            Some(tail) if !tail.is_empty() => rest = tail,
            _ => return (path, place),
        }
    }
}

/// Reads `[0][1]` and what follows; `None` if what is there leads nowhere in the schema.
fn brackets<'k>(
    expansion: &mut Expansion<'_>,
    mut place: Place,
    mut tail: &'k str,
) -> Option<(Vec<usize>, Place, &'k str)> {
    let mut indices = Vec::new();
    while let Some(inside) = tail.strip_prefix('[') {
        let (index, after) = inside.split_once(']')?;
        let index: usize = index.parse().ok()?;
        if !allows(expansion, &place, Types::ARRAY) {
            return None;
        }
        let layers = expansion.layers(&place, None);
        let mut parts = layers.item(index);
        if parts.is_empty() {
            parts = branches(expansion, &layers)
                .into_iter()
                .map(|layers| layers.item(index))
                .find(|parts| !parts.is_empty())
                .unwrap_or_default();
        }
        place = Place::of(parts);
        indices.push(index);
        tail = after;
    }
    match tail.strip_prefix('.') {
        None if tail.is_empty() => Some((indices, place, tail)),
        Some(more) if !more.is_empty() && allows(expansion, &place, Types::OBJECT) => {
            Some((indices, place, tail))
        }
        _ => None,
    }
}

fn allows(expansion: &mut Expansion<'_>, place: &Place, kind: Types) -> bool {
    let layers = expansion.layers(place, None);
    let has_branch = layers.groups.is_empty()
        || branches(expansion, &layers)
            .iter()
            .any(|branch| branch.types().has(kind));
    layers.types().has(kind) && has_branch
}

/// What the schema says of a member, and whether it names it; also in its alternatives.
pub(super) fn member(expansion: &mut Expansion<'_>, place: &Place, name: &str) -> (bool, Place) {
    let layers = expansion.layers(place, None);
    if layers.names_member(name) {
        return (true, Place::of(layers.member(&mut expansion.checker, name)));
    }
    for branch in branches(expansion, &layers) {
        if branch.names_member(name) {
            return (true, Place::of(branch.member(&mut expansion.checker, name)));
        }
    }
    (
        false,
        Place::of(layers.member(&mut expansion.checker, name)),
    )
}

/// The layers of all alternatives, those inside alternatives included.
fn branches<'s>(expansion: &mut Expansion<'s>, layers: &Layers<'s>) -> Vec<Layers<'s>> {
    let of_groups = |layers: &Layers<'s>| -> Vec<String> {
        let of_group = |group: &super::layers::Group<'s>| {
            (0..group.branches.len())
                .map(|at| child_pointer(&group.pointer, &[&at.to_string()]))
                .collect::<Vec<_>>()
        };
        layers.groups.iter().flat_map(of_group).collect()
    };
    let mut waiting = of_groups(layers);
    let mut found: Vec<Layers<'s>> = Vec::new();
    let mut at = 0;
    while at < waiting.len().min(MOST_SEARCHED) {
        let branch = expansion.layers(&Place::of(vec![waiting[at].clone()]), None);
        for pointer in of_groups(&branch) {
            if waiting.len() < MOST_SEARCHED && !waiting.contains(&pointer) {
                waiting.push(pointer);
            }
        }
        found.push(branch);
        at += 1;
    }
    found
}
