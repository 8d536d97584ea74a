//! Servers written into `attache.toml`, by hand or from other tools, and from there to others.
//!
//! Import keeps every comment and the order of the file, and never overwrites a server silently.
//! Export writes references, not the values behind them.

use std::io;
use std::path::Path;

use attache_client::EraChoice;
use serde_json::{Map, Value, json};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, value};

use super::discover::{Discovered, own_drafts};
use super::references_out::for_vs_code;
use super::{Draft, HttpFlavor, ServerName, choices};
use crate::state_file;

/// What to do with a server whose name is taken by a different one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnClash {
    /// Leave it out and say so.
    #[default]
    LeaveOut,
    /// Give it the next free name: `notes-2`.
    Rename,
    /// Put it in the other's place. The user has said so.
    Replace,
}

/// What an import comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The new text of `attache.toml`.
    pub text: String,
    /// What became of each server, in the order given.
    pub outcomes: Vec<ImportOutcome>,
}

/// What became of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    /// It was added.
    Added(ServerName),
    /// It took the place of another.
    Replaced(ServerName),
    /// The file has it already.
    Present(ServerName),
    /// The file has another server of that name, which was kept.
    Taken(ServerName),
}

/// Why nothing could be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The file is no TOML.
    #[error("the file has to be mended first: {message}")]
    Unreadable {
        /// What the parser says.
        message: String,
    },
    /// The file has something else under `servers`.
    #[error("\"servers\" in the file is not a table; \"attache config check\" tells more")]
    NoTable,
}

/// The most servers of one name before renaming gives up.
const MOST_OF_A_NAME: usize = 1000;

/// Adds servers to the text of an `attache.toml`, which may be empty.
pub fn import<'a>(
    text: &str,
    servers: impl IntoIterator<Item = &'a Discovered>,
    on_clash: OnClash,
) -> Result<Imported, ImportError> {
    let mut document = parsed(text)?;
    let mut known = own_drafts(text);
    let table = servers_of(&mut document)?;
    let mut outcomes = Vec::new();
    for server in servers {
        let wanted = server.server_name.clone();
        let same = |(name, draft): &(String, Draft)| {
            *draft == server.draft && is_name_or_numbered(name, &wanted)
        };
        if let Some((name, _)) = known.iter().find(|known| same(known)) {
            let name = ServerName::from_any(name);
            outcomes.push(ImportOutcome::Present(name));
            continue;
        }
        let taken = |name: &str| known.iter().any(|(known, _)| known == name);
        let is_taken = taken(wanted.as_str()) || table.contains_key(wanted.as_str());
        let (name, outcome) = match (is_taken, on_clash) {
            (false, _) => (wanted.clone(), ImportOutcome::Added(wanted)),
            (true, OnClash::LeaveOut) => {
                outcomes.push(ImportOutcome::Taken(wanted));
                continue;
            }
            (true, OnClash::Replace) => (wanted.clone(), ImportOutcome::Replaced(wanted)),
            (true, OnClash::Rename) => {
                let free =
                    |name: &ServerName| !taken(name.as_str()) && !table.contains_key(name.as_str());
                let next = numbered(&wanted).find(free);
                match next {
                    Some(name) => (name.clone(), ImportOutcome::Added(name)),
                    None => {
                        outcomes.push(ImportOutcome::Taken(wanted));
                        continue;
                    }
                }
            }
        };
        let mut written = toml_of(&server.draft);
        let comment = format!(
            "\n# From {}: {}\n",
            server.source,
            one_line(&server.file.display().to_string())
        );
        written.decor_mut().set_prefix(comment);
        table.insert(name.as_str(), Item::Table(written));
        known.retain(|(known, _)| *known != name.as_str());
        known.push((name.to_string(), server.draft.clone()));
        outcomes.push(outcome);
    }
    Ok(Imported {
        text: document.to_string(),
        outcomes,
    })
}

/// Adds one server, as the user wrote it, to the text of an `attache.toml`, which may be empty. A
/// different server of that name is kept, unless it is to be replaced.
pub fn add(
    text: &str,
    name: &ServerName,
    draft: &Draft,
    on_clash: OnClash,
) -> Result<(String, ImportOutcome), ImportError> {
    let mut document = parsed(text)?;
    let known = own_drafts(text);
    let table = servers_of(&mut document)?;
    let same = known.iter().find(|(known, _)| known == name.as_str());
    if same.is_some_and(|(_, known)| known == draft) {
        return Ok((text.to_owned(), ImportOutcome::Present(name.clone())));
    }
    let is_taken = same.is_some() || table.contains_key(name.as_str());
    let outcome = match (is_taken, on_clash) {
        (false, _) => ImportOutcome::Added(name.clone()),
        (true, OnClash::Replace) => ImportOutcome::Replaced(name.clone()),
        (true, OnClash::LeaveOut | OnClash::Rename) => {
            return Ok((text.to_owned(), ImportOutcome::Taken(name.clone())));
        }
    };
    let mut written = toml_of(draft);
    // A file begins with its first table, and others are set apart from what is before them.
    let former = table.get(name.as_str()).and_then(Item::as_table);
    let prefix = match former.and_then(|table| table.decor().prefix().cloned()) {
        Some(kept) => kept,
        None if text.trim().is_empty() => "".into(),
        None => "\n".into(),
    };
    written.decor_mut().set_prefix(prefix);
    table.insert(name.as_str(), Item::Table(written));
    Ok((document.to_string(), outcome))
}

/// Takes one server out of the text of an `attache.toml`, with the comments right above it. `None`
/// if it is not there.
pub fn remove(text: &str, name: &str) -> Result<Option<String>, ImportError> {
    let mut document = parsed(text)?;
    let removed = servers_of(&mut document)?.remove(name);
    Ok(removed.map(|_| document.to_string()))
}

fn parsed(text: &str) -> Result<DocumentMut, ImportError> {
    text.parse()
        .map_err(|error: toml_edit::TomlError| ImportError::Unreadable {
            message: error.to_string(),
        })
}

/// The table of servers, which is made if there is none.
fn servers_of(document: &mut DocumentMut) -> Result<&mut dyn TableLike, ImportError> {
    let root = document.as_table_mut();
    let table = root.entry("servers").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    table.as_table_like_mut().ok_or(ImportError::NoTable)
}

/// Puts the text of an import in place in one step, readable for the user alone: it may hold
/// secrets that were kept so (S22). A link is refused rather than followed.
pub fn write_private(file: &Path, text: &str) -> io::Result<()> {
    state_file::replace_privately(file, text)
}

/// A comment ends with its line, whatever a path contains.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|found| if found.is_control() { '?' } else { found })
        .collect()
}

fn numbered(name: &ServerName) -> impl Iterator<Item = ServerName> + '_ {
    (2..MOST_OF_A_NAME).map(move |number| {
        let ending = format!("-{number}");
        let room = ServerName::LONGEST - ending.len();
        // A server name is ASCII, so it can be cut anywhere.
        let begin = &name.as_str()[..name.as_str().len().min(room)];
        ServerName::from_any(&format!("{begin}{ending}"))
    })
}

fn is_name_or_numbered(name: &str, wanted: &ServerName) -> bool {
    name == wanted.as_str() || numbered(wanted).any(|numbered| numbered.as_str() == name)
}

fn toml_of(draft: &Draft) -> Table {
    let mut table = Table::new();
    let transport = &draft.transport;
    let values: InlineTable = transport
        .values()
        .iter()
        .map(|(name, text)| (&**name, &**text))
        .collect();
    if let Some(launch) = transport.launch() {
        table.insert("command", value(launch.program.to_string_lossy().as_ref()));
        let args: Array = transport.words()[1..].iter().map(|word| &**word).collect();
        if !args.is_empty() {
            table.insert("args", value(args));
        }
        if !values.is_empty() {
            table.insert("env", value(values));
        }
        if let Some(folder) = &launch.cwd {
            table.insert("cwd", value(folder.to_string_lossy().as_ref()));
        }
    } else if let Some(http) = transport.http() {
        table.insert("url", value(&http.url));
        if http.flavor != HttpFlavor::Detect {
            table.insert("transport", value(transport.kind()));
        }
        if !values.is_empty() {
            table.insert("headers", value(values));
        }
    }
    if !draft.enabled {
        table.insert("enabled", value(false));
    }
    match draft.era {
        Some(EraChoice::Modern) => {
            table.insert("era", value("modern"));
        }
        Some(EraChoice::Legacy) => {
            table.insert("era", value("legacy"));
        }
        Some(EraChoice::Auto) | None => {}
    }
    let profile = choices::PROFILES
        .iter()
        .find(|(_, it)| Some(*it) == draft.profile);
    if let Some((name, _)) = profile {
        table.insert("profile", value(*name));
    }
    if let Some(client) = &draft.client {
        let named = [("name", &client.name), ("version", &client.version)];
        let named: InlineTable = named.iter().map(|(key, it)| (*key, it.as_str())).collect();
        table.insert("client", value(named));
    }
    let mut timeouts = InlineTable::new();
    for (key, time) in [
        ("initialize", draft.start_timeout),
        ("call", draft.call_timeout),
    ] {
        if let Some(milliseconds) = time.and_then(|time| i64::try_from(time.as_millis()).ok()) {
            timeouts.insert(key, milliseconds.into());
        }
    }
    if !timeouts.is_empty() {
        table.insert("timeouts", value(timeouts));
    }
    let mut tools = InlineTable::new();
    for (key, names) in [("include", &draft.include), ("exclude", &draft.exclude)] {
        if !names.is_empty() {
            tools.insert(
                key,
                names.iter().map(String::as_str).collect::<Array>().into(),
            );
        }
    }
    if !tools.is_empty() {
        table.insert("tools", value(tools));
    }
    table
}

/// Forms to export in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExportForm {
    /// `mcpServers`, which most tools read.
    #[default]
    McpServers,
    /// `servers`, with `${env:NAME}`, as VS Code has it.
    VsCode,
}

/// The servers of an `attache.toml` in another tool's form. References stay references. Disabled
/// servers are left out, because the common form cannot say so.
pub fn export(text: &str, form: ExportForm) -> Value {
    let mut servers = Map::new();
    for (name, draft) in own_drafts(text) {
        if draft.enabled {
            servers.insert(name, json_of(&draft, form));
        }
    }
    match form {
        ExportForm::McpServers => json!({ "mcpServers": servers }),
        ExportForm::VsCode => json!({ "servers": servers }),
    }
}

fn json_of(draft: &Draft, form: ExportForm) -> Value {
    let text = |text: &str| match form {
        ExportForm::McpServers => Value::String(text.to_owned()),
        ExportForm::VsCode => Value::String(for_vs_code(text)),
    };
    let transport = &draft.transport;
    let values = transport.values();
    let values = values
        .iter()
        .map(|(name, value)| (name.to_string(), text(value)));
    let values: Map<String, Value> = values.collect();
    let mut members = Map::new();
    members.insert("type".to_owned(), json!(transport.kind()));
    if let Some(launch) = transport.launch() {
        let mut words = transport.words().into_iter().map(|word| text(&word));
        members.insert("command".to_owned(), words.next().unwrap_or_default());
        members.insert("args".to_owned(), words.collect());
        if !values.is_empty() {
            members.insert("env".to_owned(), Value::Object(values));
        }
        if let Some(folder) = &launch.cwd {
            members.insert("cwd".to_owned(), text(&folder.to_string_lossy()));
        }
    } else if let Some(http) = transport.http() {
        members.insert("url".to_owned(), text(&http.url));
        if !values.is_empty() {
            members.insert("headers".to_owned(), Value::Object(values));
        }
    }
    Value::Object(members)
}
