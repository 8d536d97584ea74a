//! One block of an answer.

use std::borrow::Cow;

use attache_protocol::{Content, Json, MediaContent, Resource, ResourceContents, shortened};
use serde::Serialize;

use super::markdown::Markdown;
use super::table::Table;
use super::tree::Tree;
use crate::form::Form;
use crate::{Value, safe_text};

/// The largest text that is tried as JSON or as Markdown unasked.
const MOST_GUESSED: usize = 256 * 1024;

/// One block of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Block {
    /// What it is.
    #[serde(flatten)]
    pub body: Body,
    /// Its size in bytes, decoded where it came in base64.
    pub bytes: usize,
    /// Who says it, in a prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Whom the server means it for, if it says so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub audience: Vec<String>,
}

/// What a block is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Body {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// What else it could be shown as.
        looks_like: LooksLike,
        /// It says in JSON what the structured answer says.
        repeats_structured: bool,
    },
    /// Markdown.
    Markdown(Markdown),
    /// JSON that is no table.
    Tree {
        /// Its root.
        root: Tree,
    },
    /// A list of flat objects.
    Table(Table),
    /// An image.
    Image(Media),
    /// A sound.
    Audio(Media),
    /// Other bytes.
    Binary(Media),
    /// A link to a resource of the server.
    Link(Link),
    /// The contents of a resource.
    Resource {
        /// The address of the resource.
        uri: String,
        /// What it contains.
        body: Box<Body>,
    },
    /// What is not known or malformed, as it came.
    Unknown {
        /// Its type as the server names it, or what is wrong with it.
        label: String,
        /// Its JSON.
        raw: String,
    },
}

/// What a text could be shown as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LooksLike {
    /// Nothing but text.
    Plain,
    /// Markdown; see [`Markdown::parse`].
    Markdown,
    /// A JSON object or list; see [`Body::of_json_text`].
    Json,
}

/// Bytes with a type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Media {
    /// The media type as the server names it; untrusted.
    pub mime_type: String,
    /// The bytes in base64, and nothing that is not base64.
    pub data: String,
    /// The type is one that can be shown in place. Others, such as SVG, which may contain programs,
    /// are for saving only.
    pub can_be_shown: bool,
}

/// A link to a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    /// The address to read it by.
    pub uri: String,
    /// A name for people: title, name.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Its size in bytes, as the server claims.
    pub size: Option<u64>,
}

impl Block {
    /// The block of any content.
    pub fn of_content(content: &Content) -> Self {
        let (body, bytes, annotations) = match content {
            Content::Text(text) => (
                Body::of_text(&text.text),
                text.text.len(),
                &text.annotations,
            ),
            Content::Image(media) => {
                let (body, bytes) = Body::of_media(media, content, Body::Image);
                (body, bytes, &media.annotations)
            }
            Content::Audio(media) => {
                let (body, bytes) = Body::of_media(media, content, Body::Audio);
                (body, bytes, &media.annotations)
            }
            Content::ResourceLink(link) => (
                Body::Link(Link::of(link)),
                link.uri.len(),
                &link.annotations,
            ),
            Content::Resource(embedded) => {
                let (body, bytes) = Body::of_resource(&embedded.resource);
                let uri = safe_text::one_line(&embedded.resource.uri).into_owned();
                let body = Body::Resource {
                    uri,
                    body: Box::new(body),
                };
                (body, bytes, &embedded.annotations)
            }
            Content::ToolUse(_) | Content::ToolResult(_) | Content::Other(_) => {
                let json = Json::from_serialize(content).unwrap_or_default();
                let kind = Value::of_json(&json).ok();
                let kind = kind.as_ref().and_then(|value| value.get("type")?.as_str());
                return Self::unknown(kind.unwrap_or("without a type"), json.as_str());
            }
        };
        let audience = annotations
            .as_ref()
            .and_then(|hints| hints.audience.as_deref());
        let audience = audience.unwrap_or_default().iter();
        Self {
            body,
            bytes,
            role: None,
            audience: audience
                .map(|whom| safe_text::one_line(whom).into_owned())
                .collect(),
        }
    }

    /// The block of a resource that was read.
    pub fn of_resource(contents: &ResourceContents) -> Self {
        let (body, bytes) = Body::of_resource(contents);
        let uri = safe_text::one_line(&contents.uri).into_owned();
        Self {
            body: Body::Resource {
                uri,
                body: Box::new(body),
            },
            bytes,
            role: None,
            audience: Vec::new(),
        }
    }

    pub(super) fn unknown(label: &str, raw: &str) -> Self {
        Self {
            body: Body::unknown(label, raw),
            bytes: raw.len(),
            role: None,
            audience: Vec::new(),
        }
    }

    /// Notes whether the text it was made of only repeats the structured answer, as servers are
    /// asked to do.
    pub(super) fn mark_repeated(&mut self, came_as: &Content, structured: &Value) {
        if let Body::Text {
            looks_like: LooksLike::Json,
            repeats_structured,
            ..
        } = &mut self.body
        {
            let value = came_as.as_text().map(Value::parse);
            *repeats_structured = matches!(value, Some(Ok(value)) if value == *structured);
        }
    }
}

/// Takes a long text out of its block.
pub(super) fn take_long_text(content: &mut Content) -> Option<String> {
    match content {
        Content::Text(text) if text.text.len() > MOST_GUESSED => {
            Some(std::mem::take(&mut text.text))
        }
        _ => None,
    }
}

impl Body {
    /// A value as a table, if it is a list of flat objects, else as a tree. The columns of a table
    /// come in the order of the schema.
    pub fn of_value(value: &Value, schema: Option<&Form>) -> Self {
        match Table::of(value, schema) {
            Some(table) => Self::Table(table),
            None => Self::Tree {
                root: Tree::of(value),
            },
        }
    }

    /// JSON text as a table or a tree; `None` if it is no JSON.
    pub fn of_json_text(text: &str) -> Option<Self> {
        Value::parse(text)
            .ok()
            .map(|value| Self::of_value(&value, None))
    }

    fn of_text(text: &str) -> Self {
        let looks_like = match text.trim_start().bytes().next() {
            _ if text.len() > MOST_GUESSED => LooksLike::Plain,
            Some(b'{' | b'[') if Json::parse(text).is_ok() => LooksLike::Json,
            _ if Markdown::is_likely(text) => LooksLike::Markdown,
            _ => LooksLike::Plain,
        };
        Self::Text {
            text: safe_text::block(text).into_owned(),
            looks_like,
            repeats_structured: false,
        }
    }

    /// A text that is too long for guesses about what it could be shown as.
    pub(super) fn of_long_text(text: String) -> Self {
        let safe = match safe_text::block(&text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(safe) => Some(safe),
        };
        Self::Text {
            text: safe.unwrap_or(text),
            looks_like: LooksLike::Plain,
            repeats_structured: false,
        }
    }

    fn of_media(media: &MediaContent, content: &Content, kind: fn(Media) -> Self) -> (Self, usize) {
        match Media::of(&media.mime_type, &media.data) {
            Some((media, bytes)) => (kind(media), bytes),
            None => {
                let raw = Json::from_serialize(content).unwrap_or_default();
                (
                    Self::unknown("not base64", raw.as_str()),
                    raw.as_str().len(),
                )
            }
        }
    }

    /// The contents of a resource by their media type.
    fn of_resource(contents: &ResourceContents) -> (Self, usize) {
        let mime_type = contents.mime_type.as_deref().unwrap_or_default();
        let essence = mime_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        if let Some(text) = &contents.text {
            let body = match essence.as_str() {
                "text/markdown" | "text/x-markdown" => Markdown::parse(text).map(Self::Markdown),
                json if json == "application/json" || json.ends_with("+json") => {
                    Self::of_json_text(text)
                }
                _ => None,
            };
            return (body.unwrap_or_else(|| Self::of_text(text)), text.len());
        }
        let Some(blob) = &contents.blob else {
            return (Self::of_text(""), 0);
        };
        let mime_type = if mime_type.is_empty() {
            "application/octet-stream"
        } else {
            mime_type
        };
        match Media::of(mime_type, blob) {
            Some((media, bytes)) if essence.starts_with("image/") => (Self::Image(media), bytes),
            Some((media, bytes)) if essence.starts_with("audio/") => (Self::Audio(media), bytes),
            Some((media, bytes)) => (Self::Binary(media), bytes),
            None => {
                let raw = Json::from_serialize(contents).unwrap_or_default();
                (
                    Self::unknown("not base64", raw.as_str()),
                    raw.as_str().len(),
                )
            }
        }
    }

    pub(super) fn unknown(label: &str, raw: &str) -> Self {
        Self::Unknown {
            label: shortened(safe_text::one_line(label)),
            raw: safe_text::json(raw).into_owned(),
        }
    }
}

impl Media {
    /// Bytes in base64 and how many they are; `None` if they are not base64. White space and missing
    /// padding are forgiven.
    fn of(mime_type: &str, data: &str) -> Option<(Self, usize)> {
        let data: String = data.split_ascii_whitespace().collect();
        let digits = data.trim_end_matches('=');
        let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte);
        if !digits.bytes().all(is_digit) || digits.len() % 4 == 1 || data.len() - digits.len() > 2 {
            return None;
        }
        let bytes = digits.len() / 4 * 3 + (digits.len() % 4).saturating_sub(1);
        let essence = mime_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        let can_be_shown = matches!(
            essence.as_str(),
            "image/png"
                | "image/jpeg"
                | "image/gif"
                | "image/webp"
                | "audio/wav"
                | "audio/x-wav"
                | "audio/mpeg"
                | "audio/ogg"
                | "audio/webm"
                | "audio/mp4"
                | "audio/flac"
                | "audio/aac"
        );
        let mime_type = safe_text::one_line(mime_type).into_owned();
        Some((
            Self {
                mime_type,
                data,
                can_be_shown,
            },
            bytes,
        ))
    }
}

impl Link {
    fn of(resource: &Resource) -> Self {
        let safe = |text: &str| safe_text::one_line(text).into_owned();
        Self {
            uri: safe(&resource.uri),
            name: safe(resource.title.as_deref().unwrap_or(&resource.name)),
            description: resource
                .description
                .as_deref()
                .map(|text| safe_text::block(text).into_owned()),
            mime_type: resource.mime_type.as_deref().map(safe),
            size: resource.size,
        }
    }
}
