//! What is copied, saved and opened of a section.

use std::sync::Arc;

use attache::protocol::Payload;
use attache_view::document::{Body, Document};

use super::body::{as_text, decoded};
use super::section::{Origin, Section};

impl Section {
    /// The bytes of what the server sent.
    pub(super) fn bytes(&self, document: &Document, raw: &Payload) -> Arc<[u8]> {
        match self.body(document) {
            Some(Body::Image(media) | Body::Audio(media) | Body::Binary(media)) => decoded(media),
            Some(body) => match self.exact_text(raw) {
                Some(text) => text.into_bytes().into(),
                None => as_text(body).into_bytes().into(),
            },
            None => Arc::from(raw.as_bytes()),
        }
    }

    /// The text as the server sent it, before it was made safe.
    pub(super) fn exact_text(&self, raw: &Payload) -> Option<String> {
        let json = self.exact(raw)?;
        let text = ["text", "blob", "uri"]
            .iter()
            .find_map(|name| json.get(name));
        let inside = json
            .get("resource")
            .and_then(|resource| resource.get("text"));
        match (self.origin, text.or(inside)) {
            (Origin::Block(_), Some(text)) => text.as_str().map(str::to_owned),
            _ => Some(attache_view::indented(&json.to_string())),
        }
    }

    /// The JSON that the section was made of.
    pub(super) fn exact(&self, raw: &Payload) -> Option<attache_view::Value> {
        let whole = attache_view::Value::parse(&raw.text()).ok()?;
        match self.origin {
            Origin::Head => Some(whole),
            // A document that was made of JSON alone has no frame around it.
            Origin::Structured => match whole.get("structuredContent") {
                Some(value) => Some(value.clone()),
                None => Some(whole),
            },
            Origin::Block(at) => {
                let lists = ["content", "contents", "messages"];
                let block = lists
                    .iter()
                    .find_map(|name| whole.get(name)?.as_array()?.get(at))?;
                Some(block.get("content").unwrap_or(block).clone())
            }
        }
    }

    /// The ending of the name of a file with its bytes.
    pub(super) fn extension(&self, document: &Document) -> &'static str {
        match self.body(document) {
            None | Some(Body::Tree { .. } | Body::Table(_) | Body::Unknown { .. }) => "json",
            Some(Body::Markdown(_)) => "md",
            Some(Body::Image(media) | Body::Audio(media) | Body::Binary(media)) => {
                let essence = media.mime_type.split(';').next().unwrap_or_default();
                match essence.trim().to_ascii_lowercase().as_str() {
                    "image/png" => "png",
                    "image/jpeg" => "jpg",
                    "image/gif" => "gif",
                    "image/webp" => "webp",
                    "audio/wav" | "audio/x-wav" => "wav",
                    "audio/mpeg" => "mp3",
                    "audio/ogg" => "ogg",
                    "audio/flac" => "flac",
                    "application/pdf" => "pdf",
                    // A name that a server chose could be that of a program.
                    _ => "bin",
                }
            }
            Some(_) => "txt",
        }
    }

    pub(super) fn is_media(&self, document: &Document) -> bool {
        matches!(
            self.body(document),
            Some(Body::Image(_) | Body::Audio(_) | Body::Binary(_))
        )
    }

    /// Its text, safe to show.
    pub(super) fn safe_text(&self, document: &Document) -> String {
        match self.body(document) {
            Some(body) => as_text(body),
            None => document
                .blocks
                .iter()
                .map(|block| as_text(&block.body))
                .collect(),
        }
    }
}
