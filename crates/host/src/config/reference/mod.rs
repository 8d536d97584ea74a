//! Every key of `attache.toml`: its type, default, meaning and an example.
//!
//! The reader of the file takes its keys, ranges and words from this table and can read nothing
//! else; errors, documentation and the schema for editors come from it too. It knows nothing of how
//! a reference is drawn.

mod keys;
mod schema;

use std::fmt;

use serde_json::Value;

pub use schema::schema;

use crate::nearest::nearest;

/// What stands for a server's name in the path of a key.
pub const ANY_NAME: &str = "NAME";
/// The server of the examples.
const EXAMPLE_NAME: &str = "notes";

/// A key of the file.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// What holds without it, as TOML; nothing if the summary says what happens then.
    pub default: Option<&'static str>,
    /// A value that differs from the default, as TOML.
    pub example: Option<&'static str>,
    /// Its meaning in a sentence.
    pub summary: &'static str,
    /// The servers that can have it, if not all.
    pub only: Option<Only>,
}

/// The servers that can have a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// Those with a `command`.
    Command,
    /// Those with a `url`.
    Url,
}

/// What a key may be.
#[derive(Debug)]
pub enum Kind {
    /// A text, in which `${VAR}` is expanded.
    Text,
    /// A text, a whole number or a truth value, all of which mean their text.
    Plain,
    /// A path; `~/` is the home folder, and a relative one is relative to the file.
    Path,
    /// True or false.
    Truth,
    /// A whole number between two others, both included.
    Number(i64, i64),
    /// A number between two others, both included.
    Decimal(f64, f64),
    /// A time.
    Time,
    /// A list of texts.
    Texts,
    /// A list of names, in which `*` stands for anything.
    Names,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// A list of some words.
    Choices(&'static [&'static str]),
    /// A table with known keys.
    Table(&'static Table),
    /// One of some words, or a table with known keys.
    ChoiceOrTable(&'static [&'static str], &'static Table),
    /// A table with names that the user chooses, of a form that a regular expression tells.
    ByName(&'static str, &'static Kind),
}

/// The keys of a table.
#[derive(Debug)]
pub struct Table {
    /// Those that it describes.
    pub keys: &'static [Key],
    /// A table described elsewhere all of whose keys it has too.
    pub like: Option<&'static Table>,
}

impl Table {
    /// All keys that can be in it.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> {
        let like = self.like.map_or(&[][..], |table| table.keys);
        self.keys.iter().chain(like)
    }
}

impl Kind {
    /// The known keys, if it is a table that has such.
    pub fn table(&self) -> Option<&'static Table> {
        match self {
            Self::Table(table) | Self::ChoiceOrTable(_, table) => Some(table),
            _ => None,
        }
    }

    /// The words to choose from, if there are any.
    pub fn words(&self) -> Option<&'static [&'static str]> {
        match self {
            Self::Choice(words) | Self::Choices(words) | Self::ChoiceOrTable(words, _) => {
                Some(words)
            }
            _ => None,
        }
    }

    /// What a key below it may be.
    pub(super) fn below(&self, name: &str) -> Option<&'static Kind> {
        match self {
            Self::ByName(_, kind) => Some(kind),
            _ => {
                let mut keys = self.table()?.keys();
                keys.find(|key| key.name == name).map(|key| &key.kind)
            }
        }
    }
}

/// The type in words, as errors and documentation name it.
impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => formatter.write_str("a text"),
            Self::Plain => formatter.write_str("a text or a number"),
            Self::Path => formatter.write_str("a path"),
            Self::Truth => formatter.write_str("true or false"),
            Self::Number(least, most) => write!(formatter, "a whole number from {least} to {most}"),
            Self::Decimal(least, most) => write!(formatter, "a number from {least} to {most}"),
            Self::Time => formatter.write_str("a time, such as \"2s\" or 500 (milliseconds)"),
            Self::Texts => formatter.write_str("a list of texts"),
            Self::Names => {
                formatter.write_str("a list of names, in which \"*\" stands for anything")
            }
            Self::Choice(words) => formatter.write_str(&one_of(words)),
            Self::Choices(words) => write!(formatter, "a list of {}", one_of(words)),
            Self::Table(_) | Self::ByName(_, Self::Table(_)) => formatter.write_str("a table"),
            Self::ChoiceOrTable(words, _) => write!(formatter, "{} or a table", quoted(words)),
            Self::ByName(_, kind) => write!(formatter, "a table with {kind} for each name"),
        }
    }
}

fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    words.join(", ")
}

fn one_of(words: &[&str]) -> String {
    match words {
        [before @ .., last] if !before.is_empty() => format!("{} or \"{last}\"", quoted(before)),
        words => quoted(words),
    }
}

/// A key and where it stands.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The dotted path, with [`ANY_NAME`] for a server's name.
    pub path: String,
    /// The key.
    pub key: &'static Key,
}

impl Entry {
    /// The path of the table that the key is in; empty for the file itself.
    pub fn table(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(table, _)| table)
    }

    /// The example as it would stand in a file, under the header of its table.
    pub fn example(&self) -> Option<String> {
        let line = format!("{} = {}", self.key.name, self.key.example?);
        let table = self.table().replace(ANY_NAME, EXAMPLE_NAME);
        Some(match table.as_str() {
            "" => line,
            table => format!("[{table}]\n{line}"),
        })
    }
}

/// All keys, each table before what is in it. Keys that a table shares with another stand there.
pub fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    add_entries(&keys::FILE, "", &mut entries);
    entries
}

fn add_entries(table: &'static Table, prefix: &str, entries: &mut Vec<Entry>) {
    for key in table.keys {
        let path = format!("{prefix}{}", key.name);
        let below = match key.kind {
            Kind::ByName(_, Kind::Table(table)) => Some((*table, format!("{path}.{ANY_NAME}."))),
            _ => key.kind.table().map(|table| (table, format!("{path}."))),
        };
        entries.push(Entry { path, key });
        if let Some((table, prefix)) = below {
            add_entries(table, &prefix, entries);
        }
    }
}

/// The keys that are asked for: a path, the end of one, or a table with all that is in it. A
/// server may be named, and `mcp` is a server.
pub fn find(asked: &str) -> Vec<Entry> {
    let entries = entries();
    let matching = |path: &str| -> Vec<Entry> {
        let ends = |entry: &&Entry| {
            let before = entry.path.strip_suffix(path);
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        };
        let mut found: Vec<&Entry> = entries.iter().filter(|entry| entry.path == path).collect();
        if found.is_empty() {
            found = entries.iter().filter(ends).collect();
        }
        let is_in = |entry: &Entry, table: &Entry| {
            let below = entry.path.strip_prefix(&table.path);
            below.is_some_and(|below| below.is_empty() || below.starts_with('.'))
        };
        let wanted = |entry: &&Entry| found.iter().any(|table| is_in(entry, table));
        entries.iter().filter(wanted).cloned().collect()
    };
    let steps: Vec<&str> = asked.split('.').collect();
    match steps.as_slice() {
        ["servers", _] => matching("servers"),
        ["servers", _, rest @ ..] => matching(&format!("servers.{ANY_NAME}.{}", rest.join("."))),
        ["mcp", rest @ ..] if !rest.is_empty() && matching(asked).is_empty() => {
            matching(&format!("servers.{ANY_NAME}.{}", rest.join(".")))
        }
        _ => matching(asked),
    }
}

/// The path nearest to one that does not exist.
pub fn nearest_path(asked: &str) -> Option<String> {
    let entries = entries();
    let paths = entries.iter().map(|entry| entry.path.as_str());
    let names = entries.iter().map(|entry| entry.key.name);
    let name = asked.rsplit('.').next().unwrap_or(asked);
    nearest(asked, paths)
        .or_else(|| nearest(name, names))
        .map(str::to_owned)
}

/// A value of the table as JSON.
pub fn json(toml: &str) -> Value {
    toml.parse().map_or(Value::Null, |value| json_of(&value))
}

fn json_of(value: &toml_edit::Value) -> Value {
    use toml_edit::Value as Toml;
    match value {
        Toml::String(text) => Value::from(text.value().as_str()),
        Toml::Integer(number) => Value::from(*number.value()),
        Toml::Float(number) => Value::from(*number.value()),
        Toml::Boolean(truth) => Value::from(*truth.value()),
        Toml::Datetime(date) => Value::from(date.value().to_string()),
        Toml::Array(list) => list.iter().map(json_of).collect(),
        Toml::InlineTable(table) => {
            let members = table
                .iter()
                .map(|(name, value)| (name.to_owned(), json_of(value)));
            Value::Object(members.collect())
        }
    }
}

/// The file as a whole.
pub(super) static FILE: Kind = Kind::Table(&keys::FILE);
