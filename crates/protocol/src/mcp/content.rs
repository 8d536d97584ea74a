//! Content blocks of tool results, prompts and sampling messages.
//!
//! The set of types grew with every revision, so a block of a type nobody here knows, or one that
//! is malformed, is kept raw instead of failing its message (C-TOOL-19, fault 54).

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::wire::peek::peek_string;
use crate::wire::record::record;
use crate::{Json, Resource, ResourceContents, ToolResult, ToolUse};

record! {
    /// Text.
    #[derive(Default)]
    pub struct TextContent {
        /// The text.
        text: String = required "text",
        /// Hints for whom the block is and how much it matters.
        annotations: Option<Annotations> = optional "annotations",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// An image, or from 2025-03-26 on a sound.
    pub struct MediaContent {
        /// The bytes in base64.
        data: String = required "data",
        /// The media type.
        mime_type: String = required "mimeType",
        /// Hints for whom the block is and how much it matters.
        annotations: Option<Annotations> = optional "annotations",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

impl MediaContent {
    /// An image or a sound of base64 bytes.
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self {
            data: data.into(),
            mime_type: mime_type.into(),
            annotations: None,
            meta: None,
            extra: Default::default(),
        }
    }
}

record! {
    /// The contents of a resource, embedded in a message.
    pub struct EmbeddedResource {
        /// The contents.
        resource: ResourceContents = required "resource",
        /// Hints for whom the block is and how much it matters.
        annotations: Option<Annotations> = optional "annotations",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// Hints about a block or a resource; untrusted (C-RES-13).
    #[derive(Default)]
    pub struct Annotations {
        /// Whom it is for: `user`, `assistant`.
        audience: Option<Vec<String>> = optional "audience",
        /// From 0, optional, to 1, required.
        priority: Option<f64> = optional "priority",
        /// When it was last changed, as ISO 8601.
        last_modified: Option<String> = optional "lastModified",
    }
}

/// One block of content.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text.
    Text(TextContent),
    /// An image.
    Image(MediaContent),
    /// A sound.
    Audio(MediaContent),
    /// A link to a resource.
    ResourceLink(Resource),
    /// Embedded resource contents.
    Resource(EmbeddedResource),
    /// A model's wish to use a tool, in sampling.
    ToolUse(ToolUse),
    /// What the tool answered, in sampling.
    ToolResult(ToolResult),
    /// A block of another type, or a malformed one, as it came.
    Other(Json),
}

impl Content {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent {
            text: text.into(),
            ..TextContent::default()
        })
    }

    /// The text, if this is a block of text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            _ => None,
        }
    }

    /// A text for every kind of block, in one line where the block has no text of its own: for a
    /// view that knows nothing but text (seed 004).
    pub fn summary(&self) -> Cow<'_, str> {
        // Four characters of base64 stand for three bytes.
        let media = |kind: &str, block: &MediaContent| {
            let padding = block.data.bytes().rev().take_while(|byte| *byte == b'=');
            let bytes = (block.data.len() / 4 * 3).saturating_sub(padding.count());
            Cow::Owned(format!("[{kind}: {}, {bytes} bytes]", block.mime_type))
        };
        match self {
            Self::Text(block) => Cow::Borrowed(&block.text),
            Self::Image(block) => media("image", block),
            Self::Audio(block) => media("audio", block),
            Self::ResourceLink(resource) => {
                Cow::Owned(format!("[link: {}, {}]", resource.name, resource.uri))
            }
            Self::Resource(block) => match &block.resource.text {
                Some(text) => Cow::Borrowed(text),
                None => Cow::Owned(format!("[resource: {}]", block.resource.uri)),
            },
            Self::ToolUse(call) => Cow::Owned(format!("[tool use: {}]", call.name)),
            Self::ToolResult(result) => {
                let blocks = result.content.iter().map(|block| block.summary());
                Cow::Owned(blocks.collect::<Vec<_>>().join("\n"))
            }
            Self::Other(_) => Cow::Owned(format!("[{}]", self.kind())),
        }
    }

    /// The type on the wire; for an unknown block whatever it says of itself.
    pub fn kind(&self) -> &str {
        match self {
            Self::Text(_) => "text",
            Self::Image(_) => "image",
            Self::Audio(_) => "audio",
            Self::ResourceLink(_) => "resource_link",
            Self::Resource(_) => "resource",
            Self::ToolUse(_) => "tool_use",
            Self::ToolResult(_) => "tool_result",
            Self::Other(raw) => match peek_string(raw.as_str().as_bytes(), "type") {
                Some(Cow::Borrowed(kind)) => kind,
                _ => "other",
            },
        }
    }
}

/// A block with its type in front.
#[derive(serde::Serialize)]
struct Tagged<'a, T> {
    r#type: &'static str,
    #[serde(flatten)]
    block: &'a T,
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        macro_rules! tagged {
            ($tag:literal, $block:expr) => {
                Tagged {
                    r#type: $tag,
                    block: $block,
                }
                .serialize(serializer)
            };
        }
        match self {
            Self::Text(block) => tagged!("text", block),
            Self::Image(block) => tagged!("image", block),
            Self::Audio(block) => tagged!("audio", block),
            Self::ResourceLink(block) => tagged!("resource_link", block),
            Self::Resource(block) => tagged!("resource", block),
            Self::ToolUse(block) => tagged!("tool_use", block),
            Self::ToolResult(block) => tagged!("tool_result", block),
            Self::Other(raw) => raw.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(read_block(raw.get()).unwrap_or_else(|| Self::Other(raw.into())))
    }
}

fn read_block(text: &str) -> Option<Content> {
    // The variant stands for the tag, which is written from it.
    macro_rules! untagged {
        ($variant:ident($record:ty)) => {{
            let mut block: $record = serde_json::from_str(text).ok()?;
            block.extra.remove("type");
            Content::$variant(block)
        }};
    }
    Some(match peek_string(text.as_bytes(), "type")?.as_ref() {
        "text" => untagged!(Text(TextContent)),
        "image" => untagged!(Image(MediaContent)),
        "audio" => untagged!(Audio(MediaContent)),
        "resource_link" => untagged!(ResourceLink(Resource)),
        "resource" => untagged!(Resource(EmbeddedResource)),
        "tool_use" => untagged!(ToolUse(ToolUse)),
        "tool_result" => untagged!(ToolResult(ToolResult)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-RES-13.
    #[test]
    fn blocks_are_written_as_they_were_read() {
        for text in [
            r#"{"type":"text","text":"a"}"#,
            r#"{"type":"text","text":"a","annotations":{"priority":0.5,"x":1},"_meta":{"y":2},"z":3}"#,
            r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#,
            r#"{"type":"audio","data":"AA==","mimeType":"audio/wav"}"#,
            r#"{"type":"resource_link","uri":"a:b","name":"n","size":7}"#,
            r#"{"type":"resource","resource":{"uri":"a:b","text":"t"}}"#,
            r#"{"type":"tool_use","id":"1","name":"n","input":{"big":1e400}}"#,
            r#"{"type":"tool_result","toolUseId":"1","content":[],"isError":false}"#,
        ] {
            let block: Content = serde_json::from_str(text).unwrap();
            assert!(!matches!(block, Content::Other(_)), "{text}");
            assert_eq!(serde_json::to_string(&block).unwrap(), text);
        }
    }

    /// Seed 004 knows type, text, data and media type; every other kind has a text there.
    #[test]
    fn every_kind_has_a_summary() {
        for (text, summary) in [
            (r#"{"type":"text","text":"a\nb"}"#, "a\nb"),
            (
                r#"{"type":"image","data":"AAE=","mimeType":"image/png"}"#,
                "[image: image/png, 2 bytes]",
            ),
            (
                r#"{"type":"audio","data":"AAEC","mimeType":"audio/wav"}"#,
                "[audio: audio/wav, 3 bytes]",
            ),
            (
                r#"{"type":"resource_link","uri":"a:b","name":"n"}"#,
                "[link: n, a:b]",
            ),
            (
                r#"{"type":"resource","resource":{"uri":"a:b","text":"t"}}"#,
                "t",
            ),
            (
                r#"{"type":"resource","resource":{"uri":"a:b","blob":"AA=="}}"#,
                "[resource: a:b]",
            ),
            (
                r#"{"type":"tool_use","id":"1","name":"n","input":{}}"#,
                "[tool use: n]",
            ),
            (
                r#"{"type":"tool_result","toolUseId":"1","content":[{"type":"text","text":"x"}]}"#,
                "x",
            ),
            (r#"{"type":"video"}"#, "[video]"),
        ] {
            let block: Content = serde_json::from_str(text).unwrap();
            assert_eq!(block.summary(), summary, "{text}");
        }
    }

    #[test]
    fn fault_54_blocks_nobody_knows_are_kept_raw() {
        for (text, kind) in [
            (r#"{"type":"video","data":1e400}"#, "video"),
            (r#"{"type":"text","text":5}"#, "text"),
            (r#"{"type":5}"#, "other"),
            (r#""words""#, "other"),
        ] {
            let block: Content = serde_json::from_str(text).unwrap();
            assert_eq!(block, Content::Other(Json::parse(text).unwrap()));
            assert_eq!(block.kind(), kind);
            assert_eq!(serde_json::to_string(&block).unwrap(), text);
        }
    }
}
