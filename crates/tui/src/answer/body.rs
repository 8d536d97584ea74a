//! What can be said of the body of a block, however it is looked at.

use std::sync::Arc;

use attache_view::document::{Block, Body, LooksLike, Media};
use base64::Engine as _;

use super::section::ViewAs;
use super::text::text_of;
use super::tree;

pub(super) fn what(block: &Block) -> String {
    match &block.body {
        Body::Text { .. } => "text".to_owned(),
        Body::Markdown(_) => "Markdown".to_owned(),
        Body::Tree { .. } | Body::Table(_) => "JSON".to_owned(),
        Body::Image(media) => format!("image {}", media.mime_type),
        Body::Audio(media) => format!("sound {}", media.mime_type),
        Body::Binary(media) => format!("data {}", media.mime_type),
        Body::Link(_) => "link".to_owned(),
        Body::Resource { uri, .. } => format!("resource {uri}"),
        Body::Unknown { label, .. } => format!("unknown block {label}"),
    }
}

/// What a resource contains, or the block itself.
pub(super) fn inner(body: &Body) -> &Body {
    match body {
        Body::Resource { body, .. } => inner(body),
        other => other,
    }
}

pub(super) fn views_of(body: &Body) -> Vec<ViewAs> {
    match inner(body) {
        Body::Text {
            looks_like, text, ..
        } => {
            let mut views = match looks_like {
                LooksLike::Plain => vec![ViewAs::Text, ViewAs::Markdown],
                LooksLike::Markdown => vec![ViewAs::Markdown, ViewAs::Text],
                LooksLike::Json => vec![ViewAs::Text, ViewAs::Tree, ViewAs::Table],
            };
            if text.len() > attache_view::document::MAX_MARKDOWN_BYTES {
                views.retain(|view| *view != ViewAs::Markdown);
            }
            views.push(ViewAs::Hex);
            views
        }
        Body::Markdown(_) => vec![ViewAs::Markdown, ViewAs::Text, ViewAs::Hex],
        Body::Tree { .. } => vec![ViewAs::Tree, ViewAs::Text, ViewAs::Hex],
        Body::Table(_) => vec![ViewAs::Table, ViewAs::Tree, ViewAs::Text, ViewAs::Hex],
        Body::Image(media) if media.can_be_shown => {
            vec![ViewAs::Picture, ViewAs::Facts, ViewAs::Hex]
        }
        Body::Image(_) | Body::Audio(_) | Body::Binary(_) => vec![ViewAs::Facts, ViewAs::Hex],
        Body::Link(_) => vec![ViewAs::Facts],
        Body::Resource { .. } | Body::Unknown { .. } => vec![ViewAs::Text, ViewAs::Hex],
    }
}

/// A block as text.
pub(super) fn as_text(body: &Body) -> String {
    match body {
        Body::Tree { root } => tree::json_text(root),
        Body::Table(table) => tree::json_text(&tree::of_table(table)),
        Body::Unknown { raw, .. } => attache_view::indented(raw),
        other => text_of(other).unwrap_or_default().to_owned(),
    }
}

pub(super) fn decoded(media: &Media) -> Arc<[u8]> {
    let engines = [
        base64::engine::general_purpose::STANDARD_NO_PAD,
        base64::engine::general_purpose::URL_SAFE_NO_PAD,
    ];
    let digits = media.data.trim_end_matches('=');
    let decoded = engines.iter().find_map(|engine| engine.decode(digits).ok());
    decoded.unwrap_or_default().into()
}

pub(super) fn decoded_length(media: &Media) -> usize {
    let digits = media.data.trim_end_matches('=').len();
    digits / 4 * 3 + (digits % 4).saturating_sub(1)
}
