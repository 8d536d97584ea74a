//! Servers that other tools know.
//!
//! Owns the places, forms and readers of other tools' files. Nothing found here runs: the user
//! imports it, or approves a project's file first (S3). A broken file is reported and spoils itself
//! only.

mod entry;
mod references;
mod relaxed_json;
mod rewrite;
mod shapes;
mod sources;
mod yaml;

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sources::{Candidate, Syntax};
use toml_edit::Document;

use super::{Draft, Origin, ServerName, UserEnvironment};
use crate::state_file;

pub use rewrite::{
    RewriteError, back_up, backup_of, read_text, replace_unless_changed, unwrap_command,
    wrap_command,
};
pub use sources::{SOURCES, ToolSource};

/// Everything that was found.
#[derive(Clone, Debug, Default)]
pub struct Discovery {
    /// The servers, tool by tool and file by file.
    pub servers: Vec<Discovered>,
    /// Entries that are no server for us, with the reason.
    pub skipped: Vec<Skipped>,
    /// Files that could not be read.
    pub broken: Vec<BrokenFile>,
}

/// A server that another tool knows.
#[derive(Clone, Debug)]
pub struct Discovered {
    /// Its name in the file.
    pub name: String,
    /// The nearest name that it can have here.
    pub server_name: ServerName,
    /// The tool's short name, such as `cursor`.
    pub source: &'static str,
    /// The file.
    pub file: PathBuf,
    /// Whose file it is. A project's needs the user's trust before anything in it runs.
    pub origin: Origin,
    /// The project it is for, if it is for one only.
    pub project: Option<PathBuf>,
    /// The server.
    pub draft: Draft,
    /// What could not be carried over, in words.
    pub notes: Vec<String>,
}

/// An entry that is no server for us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Its name in the file.
    pub name: String,
    /// The tool's short name.
    pub source: &'static str,
    /// The file.
    pub file: PathBuf,
    /// Why not.
    pub reason: String,
}

/// A file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenFile {
    /// The tool's short name.
    pub source: &'static str,
    /// The file.
    pub file: PathBuf,
    /// The line, counted from one, if it is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for BrokenFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        write!(formatter, ": {}", self.message)
    }
}

/// Where and why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Misread {
    line: usize,
    column: usize,
    message: String,
}

/// Looks at every place of every tool.
pub fn discover(environment: &UserEnvironment) -> Discovery {
    let mut discovery = Discovery::default();
    for source in SOURCES {
        for candidate in source.candidates(environment) {
            match state_file::read(&candidate.file) {
                Ok(Some(text)) => discovery.add(source, &candidate, &text),
                Ok(None) => {}
                // A folder in the way, or a place above which there is a file, is no file.
                Err(error)
                    if matches!(
                        error.kind(),
                        std::io::ErrorKind::IsADirectory | std::io::ErrorKind::NotADirectory
                    ) => {}
                Err(error) => discovery.give_up(source, &candidate, error.to_string()),
            }
        }
    }
    discovery
}

/// Reads one file of a tool, wherever it lies: for a file that the user names.
pub fn read_file_of(source: &'static ToolSource, file: &Path) -> Discovery {
    let mut discovery = Discovery::default();
    let candidate = named(file);
    match state_file::read(file) {
        Ok(Some(text)) => discovery.add(source, &candidate, &text),
        Ok(None) => discovery.give_up(source, &candidate, "there is no such file".to_owned()),
        Err(error) => discovery.give_up(source, &candidate, error.to_string()),
    }
    discovery
}

/// Reads the text of a tool's file.
pub fn read_text_of(source: &'static ToolSource, file: &Path, text: &str) -> Discovery {
    let mut discovery = Discovery::default();
    discovery.add(source, &named(file), text);
    discovery
}

/// A file that the user names.
fn named(file: &Path) -> Candidate {
    Candidate {
        file: file.to_path_buf(),
        origin: Origin::Named,
        project: None,
    }
}

/// The servers of an `attache.toml`, not expanded; entries that cannot be understood are left out.
pub(super) fn own_drafts(text: &str) -> Vec<(String, Draft)> {
    let Ok(tree) = parse(Syntax::Toml, text) else {
        return Vec::new();
    };
    let mut drafts = Vec::new();
    for entry in shapes::own_entries(&tree) {
        if let Ok(entry::Read { draft, .. }) = entry::read_as_written(&entry) {
            drafts.push((entry.name, draft));
        }
    }
    drafts
}

impl Discovery {
    /// Notes a file that is of no use as a whole, not because of one line.
    fn give_up(&mut self, source: &'static ToolSource, candidate: &Candidate, message: String) {
        self.broken.push(BrokenFile {
            source: source.name,
            file: candidate.file.clone(),
            line: None,
            message,
        });
    }

    fn add(&mut self, source: &'static ToolSource, candidate: &Candidate, text: &str) {
        let file = &candidate.file;
        let tree = match parse(source.syntax, text) {
            Ok(tree) => tree,
            Err(misread) => {
                self.broken.push(BrokenFile {
                    source: source.name,
                    file: file.clone(),
                    line: Some(misread.line),
                    message: format!("column {}: {}", misread.column, misread.message),
                });
                return;
            }
        };
        let entries = match shapes::entries(source.shape, &tree) {
            Ok(entries) => entries,
            Err(message) => {
                self.give_up(source, candidate, message);
                return;
            }
        };
        for entry in entries {
            let project = entry.project.clone().or_else(|| candidate.project.clone());
            match entry::read(&entry, project.as_deref()) {
                Ok(entry::Read { mut draft, notes }) => {
                    if let Some(project) = &project {
                        draft.settle_in(project);
                    }
                    self.servers.push(Discovered {
                        server_name: ServerName::from_any(&entry.name),
                        name: entry.name,
                        source: source.name,
                        file: file.clone(),
                        origin: candidate.origin,
                        project,
                        draft,
                        notes,
                    });
                }
                Err(reason) => self.skipped.push(Skipped {
                    name: entry.name,
                    source: source.name,
                    file: file.clone(),
                    reason,
                }),
            }
        }
    }
}

fn parse(syntax: Syntax, text: &str) -> Result<Value, Misread> {
    match syntax {
        Syntax::Json => {
            if text.trim().is_empty() {
                // Editors make empty files; an empty file has no servers.
                return Ok(Value::Null);
            }
            serde_json::from_str(&relaxed_json::strict(text)).map_err(|error| Misread {
                line: error.line(),
                column: error.column(),
                message: error.to_string(),
            })
        }
        Syntax::Yaml => yaml::parse(text),
        Syntax::Toml => match Document::parse(text) {
            Ok(document) => Ok(toml_value(document.as_item())),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start).min(text.len());
                let before = &text.as_bytes()[..at];
                let newline = before.iter().rposition(|&byte| byte == b'\n');
                Err(Misread {
                    line: before.iter().filter(|&&byte| byte == b'\n').count() + 1,
                    column: at - newline.map_or(0, |newline| newline + 1) + 1,
                    message: error.message().trim().replace('\n', ", "),
                })
            }
        },
    }
}

fn toml_value(item: &toml_edit::Item) -> Value {
    use toml_edit::{Item, Value as Toml};
    fn of_value(value: &Toml) -> Value {
        match value {
            Toml::String(text) => Value::String(text.value().clone()),
            Toml::Integer(number) => Value::from(*number.value()),
            Toml::Float(number) => Value::from(*number.value()),
            Toml::Boolean(truth) => Value::Bool(*truth.value()),
            Toml::Datetime(date) => Value::String(date.value().to_string()),
            Toml::Array(items) => Value::Array(items.iter().map(of_value).collect()),
            Toml::InlineTable(table) => Value::Object(
                table
                    .iter()
                    .map(|(key, value)| (key.to_owned(), of_value(value)))
                    .collect(),
            ),
        }
    }
    match item {
        Item::None => Value::Null,
        Item::Value(value) => of_value(value),
        Item::Table(table) => Value::Object(
            table
                .iter()
                .map(|(key, item)| (key.to_owned(), toml_value(item)))
                .collect(),
        ),
        Item::ArrayOfTables(tables) => Value::Array(
            tables
                .iter()
                .map(|table| toml_value(&Item::Table(table.clone())))
                .collect(),
        ),
    }
}
