//! Pinned definitions of tools: `attache.lock`.
//!
//! Owns what was approved and how a definition differs from it (S4). Pinned are the name, title,
//! description, both schemas and the annotations: all that a user or a model decides by. The file
//! is JSON in a fixed order, so that it reads well in a version control system; the order of keys
//! on the wire does not count.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use attache_client::protocol::{Json, Tool};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::digest::{canonical, sha256_hex};
use crate::names::ToolName;
use crate::state_file;

/// The version of the file's form.
const VERSION: u32 = 1;

/// The definitions that were approved.
#[derive(Debug, Default)]
pub struct Pins {
    file: Option<PathBuf>,
    pinned: Mutex<Stored>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    servers: BTreeMap<String, BTreeMap<String, Pin>>,
}

impl Default for Stored {
    fn default() -> Self {
        Self {
            version: VERSION,
            servers: BTreeMap::new(),
        }
    }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Pin {
    digest: String,
    definition: Value,
}

impl Pin {
    fn of(tool: &Tool) -> Self {
        let definition = definition(tool);
        Self {
            digest: digest(&definition),
            definition,
        }
    }
}

/// How a tool stands to what was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinState {
    /// It was never approved.
    New,
    /// It is what was approved.
    Same,
    /// It is something else now.
    Drifted(Drift),
}

/// How a tool differs from what was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// The tool.
    pub name: ToolName,
    /// The digest of what was approved.
    pub approved: String,
    /// The digest of what the server says now.
    pub now: String,
    /// Every difference, in the order of the fields.
    pub changes: Vec<Change>,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where, such as `inputSchema.properties.path.type`.
    pub path: String,
    /// What.
    pub kind: ChangeKind,
}

/// What is different. The values come from the server: escape them before they are drawn (S13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was not there.
    Added(Value),
    /// It is no longer there.
    Removed(Value),
    /// It has another value.
    Changed {
        /// The approved value.
        from: Value,
        /// The value now.
        to: Value,
    },
}

impl Pins {
    /// Pins that end with the program.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Pins kept in a file, which need not exist yet. A file that cannot be understood, or in which
    /// a digest does not belong to its definition, is an error: it must not silently approve.
    pub fn in_file(file: &Path) -> io::Result<Self> {
        let pinned = match state_file::read(file)? {
            Some(text) => parse(file, &text)?,
            None => Stored::default(),
        };
        Ok(Self {
            file: Some(file.to_path_buf()),
            pinned: Mutex::new(pinned),
        })
    }

    /// How a tool stands to what was approved.
    pub fn state(&self, name: &ToolName, tool: &Tool) -> PinState {
        let pinned = self.pinned();
        let Some(pin) = pinned
            .servers
            .get(name.server.as_str())
            .and_then(|tools| tools.get(&name.tool))
        else {
            return PinState::New;
        };
        let now = Pin::of(tool);
        if now.digest == pin.digest {
            return PinState::Same;
        }
        let mut changes = Vec::new();
        compare("", &pin.definition, &now.definition, &mut changes);
        PinState::Drifted(Drift {
            name: name.clone(),
            approved: pin.digest.clone(),
            now: now.digest,
            changes,
        })
    }

    /// Approves tools as they are now, and writes that down. Other entries of the file are kept,
    /// also those that another program has written meanwhile.
    pub fn accept<'a>(
        &self,
        tools: impl IntoIterator<Item = (&'a ToolName, &'a Tool)>,
    ) -> io::Result<()> {
        let accepted: Vec<_> = tools
            .into_iter()
            .map(|(name, tool)| (name, Pin::of(tool)))
            .collect();
        self.change(|stored| {
            for (name, pin) in accepted {
                let server = stored.servers.entry(name.server.to_string()).or_default();
                server.insert(name.tool.clone(), pin);
            }
        })
    }

    /// Forgets what was approved of a tool: the next approval pins it anew.
    pub fn forget(&self, name: &ToolName) -> io::Result<()> {
        self.change(|stored| {
            if let Some(tools) = stored.servers.get_mut(name.server.as_str()) {
                tools.remove(&name.tool);
                if tools.is_empty() {
                    stored.servers.remove(name.server.as_str());
                }
            }
        })
    }

    /// The approved tools of a server, with their digests.
    pub fn of_server(&self, server: &str) -> Vec<(String, String)> {
        let pinned = self.pinned();
        let tools = pinned.servers.get(server).into_iter().flatten();
        tools
            .map(|(tool, pin)| (tool.clone(), pin.digest.clone()))
            .collect()
    }

    /// The change is made in memory also if it cannot be written, so that it holds at least for
    /// this program; the error tells.
    fn change(&self, change: impl FnOnce(&mut Stored)) -> io::Result<()> {
        let Some(file) = &self.file else {
            change(&mut self.pinned());
            return Ok(());
        };
        let mut current = self.pinned().clone();
        let mut change = Some(change);
        let written = state_file::update::<io::Error>(file, |text| {
            if let Some(text) = text {
                current = parse(file, &text)?;
            }
            if let Some(change) = change.take() {
                change(&mut current);
            }
            let mut text = serde_json::to_string_pretty(&current)?;
            text.push('\n');
            Ok(Some(text))
        });
        if let Some(change) = change {
            change(&mut current);
        }
        *self.pinned() = current;
        written
    }

    fn pinned(&self) -> MutexGuard<'_, Stored> {
        self.pinned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parse(file: &Path, text: &str) -> io::Result<Stored> {
    let invalid = |why: String| {
        let message = format!("{}: {why}; mend it or approve anew", file.display());
        io::Error::new(io::ErrorKind::InvalidData, message)
    };
    let mut stored: Stored = serde_json::from_str(text)
        .map_err(|error| invalid(format!("this is no lock file: {error}")))?;
    if stored.version != VERSION {
        return Err(invalid(format!(
            "version {} is not known, only {VERSION}",
            stored.version
        )));
    }
    for (server, tools) in &mut stored.servers {
        for (tool, pin) in tools {
            pin.definition = canonical(std::mem::take(&mut pin.definition));
            if digest(&pin.definition) != pin.digest {
                return Err(invalid(format!(
                    "the digest of {server}/{tool} does not belong to its definition"
                )));
            }
        }
    }
    Ok(stored)
}

fn digest(definition: &Value) -> String {
    format!("sha256:{}", sha256_hex(definition.to_string().as_bytes()))
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
    canonical(Value::Object(fields.collect::<Map<_, _>>()))
}

/// A value as a tree. Numbers that no tree can hold keep the text they came in.
fn value(json: &Json) -> Value {
    json.to_value()
        .unwrap_or_else(|_| Value::String(json.as_str().to_owned()))
}

fn compare(path: &str, from: &Value, to: &Value, changes: &mut Vec<Change>) {
    let below = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    match (from, to) {
        (Value::Object(from), Value::Object(to)) => {
            for (key, old) in from {
                match to.get(key) {
                    Some(new) => compare(&below(key), old, new, changes),
                    None => changes.push(Change {
                        path: below(key),
                        kind: ChangeKind::Removed(old.clone()),
                    }),
                }
            }
            for (key, new) in to.iter().filter(|(key, _)| !from.contains_key(*key)) {
                changes.push(Change {
                    path: below(key),
                    kind: ChangeKind::Added(new.clone()),
                });
            }
        }
        (from, to) if from != to => changes.push(Change {
            path: path.to_owned(),
            kind: ChangeKind::Changed {
                from: from.clone(),
                to: to.clone(),
            },
        }),
        _ => {}
    }
}

/// One line per difference.
impl fmt::Display for Drift {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.name)?;
        for change in &self.changes {
            write!(formatter, "\n  {change}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.kind {
            ChangeKind::Added(value) => write!(formatter, "+ {path}: {value}"),
            ChangeKind::Removed(value) => write!(formatter, "- {path}: {value}"),
            ChangeKind::Changed { from, to } => write!(formatter, "~ {path}: {from} -> {to}"),
        }
    }
}

#[cfg(test)]
#[path = "pins_tests.rs"]
mod tests;
