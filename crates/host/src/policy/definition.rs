//! What of a tool is pinned, its digest, and how two definitions differ.
//!
//! Pinned are the name, title, description, both schemas and the annotations: all that a user or a
//! model decides by. The order of keys on the wire does not count.

use std::collections::BTreeMap;

use attache_client::protocol::{Json, Tool};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

use crate::digest::{canonical, sha256_hex};

/// How many unchanged lines are shown around a difference.
const CONTEXT: usize = 3;

/// The approved definitions of a server's tools, by name.
pub(super) type Tools = BTreeMap<String, Pin>;

/// A definition that was approved, as it is written to files.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pin {
    pub(super) digest: String,
    definition: Definition,
}

/// A definition in its canonical form, which its digest is of. It is kept as text, because a tree
/// takes twenty times the room, and a server may have thousands of tools.
#[derive(Clone, Debug, PartialEq)]
struct Definition(Box<str>);

impl Definition {
    fn of(value: Value) -> Self {
        Self(canonical(value).to_string().into())
    }

    /// The definition as a tree.
    fn value(&self) -> Value {
        // It was written from one; only one that is nested too deeply cannot be read again.
        serde_json::from_str(&self.0).unwrap_or_else(|_| Value::from(&*self.0))
    }

    fn digest(&self) -> String {
        format!("sha256:{}", sha256_hex(self.0.as_bytes()))
    }
}

/// In files it is a tree, for people to read.
impl Serialize for Definition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Definition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::of)
    }
}

impl Pin {
    pub(super) fn of(tool: &Tool) -> Self {
        let definition = Definition::of(definition(tool));
        Self {
            digest: definition.digest(),
            definition,
        }
    }

    /// Whether the digest beside a definition that was read from a file is its own.
    pub(super) fn is_sound(&self) -> bool {
        self.definition.digest() == self.digest
    }
}

/// One line of a definition, or of the difference between two. The text comes from the server:
/// escape it before it is drawn (S13).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffLine {
    /// It is in both.
    Kept(String),
    /// It is no longer there.
    Removed(String),
    /// It was not there.
    Added(String),
    /// Lines that are in both are left out here.
    Gap,
}

/// The digest of all that is pinned of a tool.
pub(crate) fn definition_digest(tool: &Tool) -> String {
    Pin::of(tool).digest
}

/// All of a tool's definition, every line of it as added.
pub fn whole(tool: &Tool) -> Vec<DiffLine> {
    let lines = lines(&canonical(definition(tool))).into_iter();
    lines.map(DiffLine::Added).collect()
}

/// The lines in which two definitions differ, with a few around them.
pub(super) fn difference(from: &Pin, to: &Pin) -> Vec<DiffLine> {
    let (from, to) = (
        lines(&from.definition.value()),
        lines(&to.definition.value()),
    );
    let from: Vec<&str> = from.iter().map(String::as_str).collect();
    let to: Vec<&str> = to.iter().map(String::as_str).collect();
    let diff = TextDiff::from_slices(&from, &to);
    let mut shown = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        if !shown.is_empty() {
            shown.push(DiffLine::Gap);
        }
        for change in group.iter().flat_map(|part| diff.iter_changes(part)) {
            let line = change.value().to_owned();
            shown.push(match change.tag() {
                ChangeTag::Equal => DiffLine::Kept(line),
                ChangeTag::Delete => DiffLine::Removed(line),
                ChangeTag::Insert => DiffLine::Added(line),
            });
        }
    }
    shown
}

/// Where two definitions differ, such as `inputSchema.properties.path.type`.
pub(super) fn differing(from: &Pin, to: &Pin) -> Vec<String> {
    let mut paths = Vec::new();
    let (from, to) = (from.definition.value(), to.definition.value());
    compare("", &from, &to, &mut paths);
    paths
}

fn compare(path: &str, from: &Value, to: &Value, paths: &mut Vec<String>) {
    let below = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => {
            for (key, old) in from {
                match to.get(key) {
                    Some(new) => compare(&below(key), old, new, paths),
                    None => paths.push(below(key)),
                }
            }
            let added = to.keys().filter(|key| !from.contains_key(*key));
            paths.extend(added.map(|key| below(key)));
        }
        (from, to) if from != to => paths.push(path.to_owned()),
        _ => {}
    }
}

/// A definition as lines for people. What the server wrote is indented, so that no text of it can
/// pose as a heading.
fn lines(definition: &Value) -> Vec<String> {
    const HEADINGS: [(&str, &str); 6] = [
        ("name", "name"),
        ("title", "title"),
        ("description", "description"),
        ("inputSchema", "input schema"),
        ("outputSchema", "output schema"),
        ("annotations", "annotations"),
    ];
    let mut lines = Vec::new();
    for (key, heading) in HEADINGS {
        let text = match definition.get(key) {
            None => continue,
            Some(Value::String(text)) => text.clone(),
            Some(other) => format!("{other:#}"),
        };
        lines.push(format!("{heading}:"));
        lines.extend(text.split('\n').map(|line| format!("  {line}")));
    }
    lines
}

fn definition(tool: &Tool) -> Value {
    let text = |text: &Option<String>| text.clone().map(Value::String);
    let annotations = tool
        .annotations
        .as_ref()
        .and_then(|annotations| Json::from_serialize(annotations).ok());
    let fields = [
        ("name", Some(Value::String(tool.name.clone()))),
        ("title", text(&tool.title)),
        ("description", text(&tool.description)),
        ("inputSchema", tool.input_schema.as_ref().map(value)),
        ("outputSchema", tool.output_schema.as_ref().map(value)),
        ("annotations", annotations.as_ref().map(value)),
    ];
    let fields = fields
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(fields.collect::<Map<_, _>>())
}

/// A value as a tree. Numbers that no tree can hold keep the text they came in.
fn value(json: &Json) -> Value {
    json.to_value()
        .unwrap_or_else(|_| Value::String(json.as_str().to_owned()))
}
