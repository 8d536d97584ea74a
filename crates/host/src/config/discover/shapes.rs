//! Where the servers stand in each tool's file.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::sources::Shape;

/// One entry of a file: a name and what is said about it.
pub(super) struct Entry<'a> {
    pub(super) name: String,
    pub(super) members: &'a Map<String, Value>,
    pub(super) dialect: Dialect,
    pub(super) project: Option<PathBuf>,
    /// What stands beside it in the file and is not carried over, in words.
    pub(super) beside: Vec<String>,
}

/// What the keys of an entry mean where tools disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `url` is Streamable HTTP unless `type` says otherwise.
    Common,
    /// `url` is HTTP+SSE; `timeout` is in milliseconds.
    Gemini,
    /// Time-outs in seconds, `env_vars`, `bearer_token_env_var`.
    Codex,
    /// `cmd`, `envs`, `uri`; `timeout` is in seconds.
    Goose,
    /// `timeout_seconds`; the server speaks as seed 003 has it.
    SpecTui,
    /// Our own file.
    Own,
}

/// The entries of a file.
pub(super) fn entries(shape: Shape, tree: &Value) -> Result<Vec<Entry<'_>>, String> {
    let root = match tree {
        Value::Object(root) => root,
        // An empty file has no servers.
        Value::Null => return Ok(Vec::new()),
        _ => return Err("the file does not hold an object".to_owned()),
    };
    match shape {
        Shape::Common => common(root, Dialect::Common),
        Shape::Gemini => under(root, "mcpServers", Dialect::Gemini),
        Shape::ClaudeCode => claude_code(root),
        Shape::Codex => under(root, "mcp_servers", Dialect::Codex),
        Shape::Zed => under(root, "context_servers", Dialect::Common),
        Shape::Goose => under(root, "extensions", Dialect::Goose),
        Shape::OpenCode => under(root, "mcp", Dialect::Common),
        Shape::Continue => listed(root),
        Shape::SpecTui => Ok(spec_tui(root)),
    }
}

/// The entries of an `attache.toml`.
pub(super) fn own_entries(tree: &Value) -> Vec<Entry<'_>> {
    let Value::Object(root) = tree else {
        return Vec::new();
    };
    let mut entries = under(root, "servers", Dialect::Own).unwrap_or_default();
    if let Some(Value::Object(members)) = root.get("mcp") {
        entries.push(Entry {
            name: crate::config::SINGLE_SERVER.to_owned(),
            members,
            dialect: Dialect::Own,
            project: None,
            beside: Vec::new(),
        });
    }
    entries
}

/// `mcpServers`, `servers`, or, if neither is there, a bare map of things that look like servers.
fn common(root: &Map<String, Value>, dialect: Dialect) -> Result<Vec<Entry<'_>>, String> {
    for key in ["mcpServers", "servers"] {
        if root.contains_key(key) {
            return under(root, key, dialect);
        }
    }
    let looks_like_one = |value: &Value| {
        ["command", "url", "serverUrl", "httpUrl"]
            .iter()
            .any(|key| value.get(key).is_some_and(|given| !given.is_null()))
    };
    let servers = root.iter().filter(|(_, value)| looks_like_one(value));
    Ok(servers
        .filter_map(|(name, value)| entry(name, value, dialect))
        .collect())
}

fn claude_code(root: &Map<String, Value>) -> Result<Vec<Entry<'_>>, String> {
    let mut entries = common(root, Dialect::Common)?;
    let projects = root.get("projects").and_then(Value::as_object);
    for (folder, project) in projects.into_iter().flatten() {
        let Some(project) = project.as_object() else {
            continue;
        };
        // One odd project does not spoil the others.
        let of_project = under(project, "mcpServers", Dialect::Common).unwrap_or_default();
        entries.extend(of_project.into_iter().map(|entry| Entry {
            project: Some(PathBuf::from(folder)),
            ..entry
        }));
    }
    Ok(entries)
}

/// The one server of seed 003's file. What else stands there is about that tool's own screen and
/// repository, so it is named and left.
fn spec_tui(root: &Map<String, Value>) -> Vec<Entry<'_>> {
    let Some(Value::Object(members)) = root.get("mcp") else {
        return Vec::new();
    };
    let mut beside = Vec::new();
    for (table, keys) in root.iter().filter(|(table, _)| *table != "mcp") {
        let keys = keys.as_object().into_iter().flatten();
        beside.extend(keys.map(|(key, _)| match (table.as_str(), key.as_str()) {
            ("git", "specs_directory") => {
                "\"git.specs_directory\" is called specs_directory in [speckit] here".to_owned()
            }
            ("ui", "vim_navigation") => {
                "\"ui.vim_navigation\" is not needed: h, j, k, l and the arrows both work".to_owned()
            }
            ("ui", "refresh_rate_ms") => {
                "\"ui.refresh_rate_ms\" is not needed: the screen is drawn when something changes"
                    .to_owned()
            }
            _ => format!("\"{table}.{key}\" is not carried over"),
        }));
    }
    vec![Entry {
        name: "spec-tui".to_owned(),
        members,
        dialect: Dialect::SpecTui,
        project: None,
        beside,
    }]
}

fn under<'a>(
    root: &'a Map<String, Value>,
    key: &str,
    dialect: Dialect,
) -> Result<Vec<Entry<'a>>, String> {
    match root.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(servers)) => Ok(servers
            .iter()
            .filter_map(|(name, value)| entry(name, value, dialect))
            .collect()),
        Some(_) => Err(format!("\"{key}\" is not an object")),
    }
}

/// Some tools keep switches beside their servers; what is no object is no entry.
fn entry<'a>(name: &str, value: &'a Value, dialect: Dialect) -> Option<Entry<'a>> {
    Some(Entry {
        name: name.to_owned(),
        members: value.as_object()?,
        dialect,
        project: None,
        beside: Vec::new(),
    })
}

fn listed(root: &Map<String, Value>) -> Result<Vec<Entry<'_>>, String> {
    let servers = match root.get("mcpServers") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        // Older files have the common form.
        Some(Value::Object(_)) => return under(root, "mcpServers", Dialect::Common),
        Some(Value::Array(servers)) => servers,
        Some(_) => return Err("\"mcpServers\" is not a list".to_owned()),
    };
    let entries = servers.iter().enumerate().filter_map(|(index, value)| {
        let name = match value.get("name").and_then(Value::as_str) {
            Some(name) => name.to_owned(),
            None => format!("server-{}", index + 1),
        };
        entry(&name, value, Dialect::Common)
    });
    Ok(entries.collect())
}
