//! The tools `save_note` and `save_conversation`, where they are offered.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use attache_server::protocol::{CallToolResult, Json, ToolAnnotations};
use attache_server::{Failure, Tool};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Notes;
use crate::calendar;
use crate::git::{Git, GitError};
use crate::identity::{ENDING, is_note_name, one_line, uri};
use crate::saving;

#[derive(Deserialize)]
struct SaveNote {
    title: String,
    content: String,
    path: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    replace: bool,
}

#[derive(Deserialize)]
struct SaveConversation {
    title: Option<String>,
    messages: Vec<Message>,
    #[serde(default)]
    tags: Vec<String>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: String,
}

/// What a note is made of.
struct Draft {
    path: String,
    text: String,
    replaces: bool,
}

pub(super) fn save_note(notes: &Arc<Notes>) -> Tool {
    let text = json!({"type": "string"});
    let tags = json!({"type": "array", "items": text});
    let schema = arguments(
        &json!({
            "title": {"type": "string", "minLength": 1},
            "content": {"type": "string", "description": "Markdown"},
            "path": {"type": "string", "description": "Where in the folder, like daily/one.md"},
            "tags": tags,
            "replace": {"type": "boolean", "default": false},
        }),
        &["title", "content"],
    );
    let saving = Arc::clone(notes);
    let about = "Save a note, and commit it where the folder is a git repository.";
    Tool::raw("save_note", about, schema, move |_, given| {
        let notes = Arc::clone(&saving);
        async move {
            let given: SaveNote = given.decode()?;
            let title = one_line(&given.title);
            let path = match given.path {
                Some(path) => checked_path(&path)?,
                None => named_after(&title)?,
            };
            let draft = Draft {
                text: with_front_matter(&title, &given.tags, &given.content),
                path,
                replaces: given.replace,
            };
            notes.save(draft).await
        }
    })
    .annotations(hints())
}

pub(super) fn save_conversation(notes: &Arc<Notes>) -> Tool {
    let text = json!({"type": "string"});
    let schema = arguments(
        &json!({
            "title": text,
            "messages": {
                "type": "array", "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {"role": text, "content": text},
                    "required": ["role", "content"],
                },
            },
            "tags": {"type": "array", "items": text},
        }),
        &["messages"],
    );
    let saving = Arc::clone(notes);
    let about = "Save a conversation as a note, in the folder conversations.";
    Tool::raw("save_conversation", about, schema, move |_, given| {
        let notes = Arc::clone(&saving);
        async move {
            let given: SaveConversation = given.decode()?;
            let now = calendar::moment(calendar::now());
            let title = given.title.as_deref().map(one_line);
            let title = title.filter(|it| !it.is_empty());
            let title = title.unwrap_or_else(|| format!("Conversation {now}"));
            let mut body = String::new();
            for message in &given.messages {
                let _ = write!(
                    body,
                    "## {}\n\n{}\n\n",
                    one_line(&message.role),
                    message.content
                );
            }
            let draft = Draft {
                path: format!("conversations/{}", named_after(&title)?),
                text: with_front_matter(&title, &given.tags, body.trim_end()),
                replaces: false,
            };
            notes.save(draft).await
        }
    })
    .annotations(hints())
}

fn arguments(properties: &Value, required: &[&str]) -> Json {
    Json::from(json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    }))
}

fn hints() -> ToolAnnotations {
    ToolAnnotations {
        read_only: Some(false),
        destructive: Some(true),
        idempotent: Some(false),
        open_world: Some(false),
        ..ToolAnnotations::default()
    }
}

/// A path as it may be written: visible names beneath the folder.
fn checked_path(path: &str) -> Result<String, Failure> {
    let is_visible =
        |name: &str| !name.is_empty() && !name.starts_with('.') && !name.starts_with('-');
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_plain = path.split('/').all(is_visible) && !path.contains(['\\', '\0', '\n', '\r']);
    match is_plain && is_note_name(name) {
        true => Ok(path.to_owned()),
        false => Err(Failure::new(format!(
            "\"{}\" is no path for a note; give one beneath the folder that ends in {ENDING}, like \
             daily/one{ENDING}",
            one_line(path)
        ))),
    }
}

/// The file name of a title.
fn named_after(title: &str) -> Result<String, Failure> {
    const LONGEST: usize = 80;
    let letter = |it: char| if it.is_alphanumeric() { it } else { '-' };
    let lower = title.to_lowercase();
    let letters: String = lower.chars().map(letter).take(LONGEST).collect();
    let words: Vec<&str> = letters.split('-').filter(|it| !it.is_empty()).collect();
    match words.is_empty() {
        true => Err(Failure::new(
            "the title has no letters; give a path as well",
        )),
        false => Ok(format!("{}{ENDING}", words.join("-"))),
    }
}

fn with_front_matter(title: &str, tags: &[String], body: &str) -> String {
    // A JSON string is a YAML string.
    let quoted = |text: &str| Value::from(one_line(text)).to_string();
    let mut text = format!("---\ntitle: {}\n", quoted(title));
    let _ = writeln!(text, "date: {}", calendar::moment(calendar::now()));
    if !tags.is_empty() {
        let tags: Vec<String> = tags.iter().map(|it| quoted(it)).collect();
        let _ = writeln!(text, "tags: [{}]", tags.join(", "));
    }
    let _ = write!(text, "---\n\n{}\n", body.trim_end());
    text
}

impl Notes {
    async fn save(&self, draft: Draft) -> Result<CallToolResult, Failure> {
        let Draft {
            path,
            text,
            replaces,
        } = draft;
        let vault = self.vault.clone();
        let place = path.clone();
        let written = tokio::task::spawn_blocking(move || {
            vault.folder().write(&place, text.as_bytes(), replaces)
        })
        .await?;
        written.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Failure::new(format!(
                "There is a note {path} already, and nothing was saved. Choose another title or \
                 path, or say \"replace\": true."
            )),
            _ => Failure::new(format!("The note {path} was not saved: {error}.")),
        })?;
        self.vault.touch([path.clone()]);
        self.vault.settled(std::time::Duration::from_secs(1)).await;
        let committed = saving::commit(&Git::new(self.vault.path()), &path).await;
        let slug = self.vault.slug_of(&path).unwrap_or_default();
        let uri = uri(&self.settings.scheme, &slug);
        let (remark, commit) = match committed {
            Ok(Some(commit)) => ("and committed".to_owned(), Some(commit)),
            Ok(None) => (
                "; the folder is no git repository, so it is not committed".to_owned(),
                None,
            ),
            Err(GitError::Failed(said)) => (
                format!("; git refused to commit it: {}", one_line(&said)),
                None,
            ),
            Err(error) => (format!("; it is not committed: {error}"), None),
        };
        let space = if commit.is_some() { " " } else { "" };
        let text = format!("Saved {path}{space}{remark}.");
        let data = json!({"uri": uri, "path": path, "commit": commit});
        Ok(self.answer(text, Vec::new(), Json::from(data)))
    }
}
