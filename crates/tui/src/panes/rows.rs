//! Entries of the three catalogs and their lines.

use std::collections::BTreeMap;
use std::sync::Arc;

use attache::host::catalog::{Aggregate, Offered, ServerAnswer};
use attache::host::config::ServerName;
use attache::protocol::{Json, Prompt, Resource, ResourceTemplate, Tool};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::catalog::{Look, Row};
use crate::draw;
use crate::message::PinWord;
use crate::text::{self, column};
use crate::theme::Role;

/// A word, and whether a tool claims it.
type Claim = (&'static str, fn(&Tool) -> bool);

/// What a tool claims about itself; claims, because only the server says so.
const CLAIMS: [Claim; 4] = [
    ("read-only", |tool| claim(tool, |it| it.read_only)),
    ("destructive", |tool| claim(tool, |it| it.destructive)),
    ("idempotent", |tool| claim(tool, |it| it.idempotent)),
    ("open-world", |tool| claim(tool, |it| it.open_world)),
];

fn claim(tool: &Tool, which: fn(&attache::protocol::ToolAnnotations) -> Option<bool>) -> bool {
    tool.annotations.as_ref().and_then(which).unwrap_or(false)
}

/// A tool.
#[derive(Debug)]
pub(crate) struct ToolRow {
    server: ServerName,
    name: String,
    title: Option<String>,
    pub(crate) claims: Vec<&'static str>,
    /// The size of its definition.
    pub(crate) size: usize,
    pub(crate) pin: Option<PinWord>,
    pub(crate) tool: Arc<Tool>,
}

impl ToolRow {
    fn of(offered: Offered<Tool>) -> Self {
        let tool = offered.entry;
        let size = |part: Option<&Json>| part.map_or(0, |json| json.as_str().len());
        let description = tool.description.as_deref().map_or(0, str::len);
        let title = tool.display_name();
        let title = (title != tool.name).then(|| text::safe_name(title));
        let claims = CLAIMS.iter().filter(|(_, is_claimed)| is_claimed(&tool));
        Self {
            server: offered.server,
            name: text::safe_name(&tool.name),
            title,
            claims: claims.map(|(word, _)| *word).collect(),
            size: tool.name.len()
                + description
                + size(tool.input_schema.as_ref())
                + size(tool.output_schema.as_ref()),
            pin: None,
            tool: Arc::new(tool),
        }
    }

    /// The rows of an answer.
    pub(crate) fn all(whole: Aggregate<Tool>) -> (Vec<Self>, Vec<ServerAnswer>) {
        // Collected, they would stay in the much larger room of the entries.
        let mut rows = Vec::with_capacity(whole.entries.len());
        rows.extend(whole.entries.into_iter().map(Self::of));
        (rows, whole.servers)
    }

    /// The word and the meaning of how it stands to what was approved.
    pub(crate) fn pin_word(&self) -> Option<(&'static str, Role)> {
        match self.pin? {
            PinWord::New => Some(("new", Role::Secondary)),
            PinWord::Same => None,
            PinWord::Drifted => Some(("drifted", Role::Bad)),
        }
    }
}

impl Row for ToolRow {
    const TOKENS: &'static [&'static str] = &["server", "is", "pin"];
    const NOUN: &'static str = "tools";

    fn server(&self) -> &str {
        self.server.as_str()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn fits(&self, key: &str, value: &str) -> bool {
        match key {
            "is" => self.claims.iter().any(|claim| claim.starts_with(value)),
            "pin" => match self.pin {
                Some(PinWord::New) => "new".starts_with(value),
                Some(PinWord::Same) => "same".starts_with(value),
                Some(PinWord::Drifted) => "drifted".starts_with(value),
                None => false,
            },
            _ => false,
        }
    }

    fn line(&self, look: &Look<'_>, places: &[usize]) -> Line<'static> {
        let mut spans = beginning(self.server.as_str(), &self.name, places, look);
        let mut marks: Vec<Span<'static>> = Vec::new();
        if let Some((word, role)) = self.pin_word() {
            marks.push(Span::styled(format!("{word} "), look.theme.style(role)));
        }
        for claim in &self.claims {
            let role = match *claim {
                "destructive" => Role::Warning,
                _ => Role::Secondary,
            };
            marks.push(Span::styled(format!("{claim} "), look.theme.style(role)));
        }
        let size = text::bytes(self.size);
        end(&mut spans, self.title.as_deref(), marks, Some(&size), look);
        Line::from(spans)
    }
}

/// A resource or a template of resources.
#[derive(Debug)]
pub(crate) struct ResourceRow {
    server: String,
    /// What is shown and filtered: the address.
    name: String,
    title: String,
    mime_type: Option<String>,
    size: Option<u64>,
    pub(crate) kind: ResourceKind,
    pub(crate) description: Option<String>,
    pub(crate) watch: Option<WatchState>,
}

/// What kind of resource.
#[derive(Clone, Debug)]
pub(crate) enum ResourceKind {
    /// One that can be read.
    Resource { uri: String },
    /// One that has to be filled in first.
    Template { uri_template: String },
}

/// A resource that is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WatchState {
    /// When it changed last.
    pub(crate) changed_ms: Option<u64>,
    pub(crate) changes: u64,
    /// Changes may have been missed.
    pub(crate) has_gap: bool,
}

impl ResourceRow {
    fn of(offered: Offered<Resource>) -> Self {
        let resource = offered.entry;
        let safe = text::safe_name;
        Self {
            server: offered.server.as_str().to_owned(),
            name: safe(&resource.uri),
            title: safe(resource.title.as_deref().unwrap_or(&resource.name)),
            mime_type: resource.mime_type.as_deref().map(safe),
            size: resource.size,
            description: resource.description,
            kind: ResourceKind::Resource { uri: resource.uri },
            watch: None,
        }
    }

    fn of_template(offered: Offered<ResourceTemplate>) -> Self {
        let template = offered.entry;
        let safe = text::safe_name;
        Self {
            server: offered.server.as_str().to_owned(),
            name: safe(&template.uri_template),
            title: safe(template.title.as_deref().unwrap_or(&template.name)),
            mime_type: template.mime_type.as_deref().map(safe),
            size: None,
            description: template.description,
            kind: ResourceKind::Template {
                uri_template: template.uri_template,
            },
            watch: None,
        }
    }

    pub(crate) fn all(whole: Aggregate<Resource>) -> (Vec<Self>, Vec<ServerAnswer>) {
        let rows = whole.entries.into_iter().map(Self::of).collect();
        (rows, whole.servers)
    }

    pub(crate) fn templates(whole: Aggregate<ResourceTemplate>) -> (Vec<Self>, Vec<ServerAnswer>) {
        let rows = whole.entries.into_iter().map(Self::of_template).collect();
        (rows, whole.servers)
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }
}

impl Row for ResourceRow {
    const TOKENS: &'static [&'static str] = &["server", "type", "is"];
    const NOUN: &'static str = "resources";

    fn server(&self) -> &str {
        &self.server
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn fits(&self, key: &str, value: &str) -> bool {
        match key {
            "type" => self.mime_type.as_ref().is_some_and(|it| it.contains(value)),
            "is" => {
                matches!(self.kind, ResourceKind::Template { .. }) && "template".starts_with(value)
                    || self.watch.is_some() && "watched".starts_with(value)
            }
            _ => false,
        }
    }

    fn line(&self, look: &Look<'_>, places: &[usize]) -> Line<'static> {
        let mut spans = beginning(&self.server, &self.name, places, look);
        let mut marks = Vec::new();
        if let Some(watch) = &self.watch {
            let words = match watch.changed_ms {
                Some(at) => format!("changed {} ", text::ago(at, look.now_ms)),
                None => "watched ".to_owned(),
            };
            marks.push(Span::styled(words, look.theme.style(Role::Good)));
            if watch.has_gap {
                marks.push(Span::styled("gap ", look.theme.style(Role::Warning)));
            }
        }
        if matches!(self.kind, ResourceKind::Template { .. }) {
            marks.push(Span::styled("template ", look.theme.style(Role::Accent)));
        }
        if let Some(mime_type) = &self.mime_type {
            let words = format!("{mime_type} ");
            marks.push(Span::styled(words, look.theme.style(Role::Secondary)));
        }
        let size = self.size.and_then(|size| usize::try_from(size).ok());
        let size = size.map(text::bytes);
        end(&mut spans, Some(&self.title), marks, size.as_deref(), look);
        Line::from(spans)
    }
}

/// A prompt.
#[derive(Debug)]
pub(crate) struct PromptRow {
    server: String,
    name: String,
    pub(crate) prompt: Arc<Prompt>,
}

impl PromptRow {
    fn of(offered: Offered<Prompt>) -> Self {
        Self {
            server: offered.server.as_str().to_owned(),
            name: text::safe_name(&offered.entry.name),
            prompt: Arc::new(offered.entry),
        }
    }

    pub(crate) fn all(whole: Aggregate<Prompt>) -> (Vec<Self>, Vec<ServerAnswer>) {
        let rows = whole.entries.into_iter().map(Self::of).collect();
        (rows, whole.servers)
    }
}

impl Row for PromptRow {
    const TOKENS: &'static [&'static str] = &["server"];
    const NOUN: &'static str = "prompts";

    fn server(&self) -> &str {
        &self.server
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn fits(&self, _: &str, _: &str) -> bool {
        false
    }

    fn line(&self, look: &Look<'_>, places: &[usize]) -> Line<'static> {
        let mut spans = beginning(&self.server, &self.name, places, look);
        let title = self.prompt.title.as_deref();
        let title = title.or(self.prompt.description.as_deref());
        let title = title.map(text::safe_name);
        let arguments = self.prompt.arguments.as_deref().unwrap_or_default();
        let words = match arguments.len() {
            0 => String::new(),
            1 => "1 argument ".to_owned(),
            count => format!("{count} arguments "),
        };
        let marks = vec![Span::styled(words, look.theme.style(Role::Secondary))];
        end(&mut spans, title.as_deref(), marks, None, look);
        Line::from(spans)
    }
}

/// The columns of server and name.
fn beginning(server: &str, name: &str, places: &[usize], look: &Look<'_>) -> Vec<Span<'static>> {
    let ellipsis = look.theme.glyphs().ellipsis;
    let mut spans = Vec::new();
    if look.server_column > 0 {
        let server = column(server, look.server_column, ellipsis);
        spans.push(Span::styled(
            format!("{server}  "),
            look.theme.style(Role::Secondary),
        ));
    }
    let room = look.width.saturating_sub(look.server_column + 2);
    let wide = look.name_column.min(room);
    let shown = column(name, wide, ellipsis);
    spans.extend(draw::marked(&shown, places, Style::new(), look.theme));
    spans.push(Span::raw("  "));
    spans
}

/// What follows the name: a title as far as there is room, marks, and a size at the right.
fn end(
    spans: &mut Vec<Span<'static>>,
    title: Option<&str>,
    marks: Vec<Span<'static>>,
    size: Option<&str>,
    look: &Look<'_>,
) {
    let ellipsis = look.theme.glyphs().ellipsis;
    let taken: usize = spans.iter().map(Span::width).sum();
    let wide: usize = marks.iter().map(Span::width).sum();
    let size_column = if size.is_some() { 7 } else { 0 };
    let room = look.width.saturating_sub(taken);
    if room >= wide + size_column {
        let room = room - wide - size_column;
        let title = column(title.unwrap_or_default(), room.saturating_sub(1), ellipsis);
        spans.push(Span::styled(title, look.theme.style(Role::Secondary)));
        if room > 0 {
            spans.push(Span::raw(" "));
        }
        spans.extend(marks);
        if let Some(size) = size {
            let size = text::right(size, size_column, ellipsis);
            spans.push(Span::styled(size, look.theme.style(Role::Secondary)));
        }
    } else {
        // Whole words as far as they fit.
        let mut left = room;
        for mark in marks {
            match left.checked_sub(mark.width()) {
                Some(rest) => {
                    left = rest;
                    spans.push(mark);
                }
                None => break,
            }
        }
    }
}

/// The schema of a form with texts: of a prompt's arguments, of a template's variables.
pub(crate) fn text_form(fields: &[TextField]) -> Json {
    // Written by hand, because the order of the fields matters.
    let properties = fields.iter().map(|field| {
        let property = serde_json::json!({
            "type": "string",
            "title": field.title.as_deref().unwrap_or(&field.name),
            "description": field.description.as_deref().unwrap_or_default(),
        });
        format!("{}:{property}", serde_json::json!(field.name))
    });
    let properties: Vec<String> = properties.collect();
    let required = fields.iter().filter(|field| field.is_required);
    let required: Vec<&str> = required.map(|field| field.name.as_str()).collect();
    let schema = format!(
        r#"{{"type":"object","properties":{{{}}},"required":{}}}"#,
        properties.join(","),
        serde_json::json!(required)
    );
    Json::parse(&schema).unwrap_or_default()
}

/// A field of such a form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextField {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) is_required: bool,
}

/// The texts of an object.
pub(crate) fn texts(value: Option<&Json>) -> Vec<(String, String)> {
    let object: Option<BTreeMap<String, serde_json::Value>> =
        value.and_then(|value| value.decode().ok());
    let texts = object.unwrap_or_default().into_iter();
    let texts = texts.filter_map(|(name, value)| match value {
        serde_json::Value::String(text) => Some((name, text)),
        serde_json::Value::Null => None,
        other => Some((name, other.to_string())),
    });
    texts.collect()
}
