//! How things of the protocol look to people.
//!
//! Pure functions from protocol types to [`Text`].

use std::time::{Duration, SystemTime};

use attache::protocol::{Content, Json, MediaContent, Resource, ResourceContents};
use attache_view::indented;

use super::Verbosity;
use super::text::{Style, Text};
use crate::base64;
use crate::failure::{Failure, Kind};

/// Cause and remedy.
pub(crate) fn failure(failure: &Failure, verbosity: Verbosity) -> Text {
    let mut text = Text::new();
    text.add(Style::Bad, "error: ").hang();
    if let Some(server) = &failure.server {
        text.plain(server).plain(": ");
    }
    text.plain(&failure.message).end_line();
    if failure.kind == Kind::Usage {
        for further in &failure.details {
            text.add(Style::Bad, "error: ").plain(further).end_line();
        }
    }
    if let Some(hint) = &failure.hint {
        let mut lines = hint.lines();
        text.add(Style::Good, "hint: ").hang();
        text.plain(lines.next().unwrap_or_default()).end_line();
        // What is to be written down stands as it is.
        for line in lines {
            text.plain(line).end_line();
        }
    }
    if verbosity == Verbosity::Verbose && failure.kind != Kind::Usage {
        for line in &failure.details {
            text.faint("stderr: ").plain(line).end_line();
        }
        if let Some(data) = &failure.data {
            text.faint("data: ").plain(data.as_str()).end_line();
        }
    }
    text
}

/// A name, what it is for, and further lines below.
pub(crate) fn entry(name: &str, width: usize, description: Option<&str>, below: &[String]) -> Text {
    let mut text = Text::new();
    let summary = description.and_then(|text| text.lines().find(|line| !line.trim().is_empty()));
    text.column(Style::Name, name, width);
    if let Some(summary) = summary {
        text.plain("  ").hang().plain(summary.trim());
    }
    text.end_line();
    for line in below.iter().filter(|line| !line.is_empty()) {
        text.plain(&" ".repeat(width + 2)).faint(line).end_line();
    }
    text
}

/// The blocks of an answer.
pub(crate) fn contents(blocks: &[Content]) -> Text {
    let mut text = Text::new();
    for block in blocks {
        text.append(content(block));
    }
    text
}

/// One block of an answer.
pub(crate) fn content(block: &Content) -> Text {
    let mut text = Text::new();
    match block {
        Content::Text(block) => {
            text.block(Style::Plain, &block.text);
        }
        Content::Image(media) | Content::Audio(media) => {
            text.faint(&describe_media(media)).end_line();
        }
        Content::ResourceLink(resource) => {
            text.append(link(resource));
        }
        Content::Resource(embedded) => {
            text.append(resource_contents(&embedded.resource));
        }
        Content::ToolUse(_) | Content::ToolResult(_) | Content::Other(_) => {
            let json = Json::from_serialize(block).unwrap_or_default();
            text.plain(json.as_str()).end_line();
        }
    }
    text
}

/// The contents of a resource: the text itself, or what the bytes are.
pub(crate) fn resource_contents(contents: &ResourceContents) -> Text {
    let mut text = Text::new();
    match (&contents.text, &contents.blob) {
        (Some(words), _) => {
            text.block(Style::Plain, words);
        }
        (None, Some(blob)) => {
            let kind = contents.mime_type.as_deref().unwrap_or("binary");
            let size = size(base64::decoded_length(blob));
            text.faint(&format!("[{kind}, {size}] {}", contents.uri))
                .end_line();
        }
        (None, None) => {
            text.faint(&format!("[empty] {}", contents.uri)).end_line();
        }
    }
    text
}

fn link(resource: &Resource) -> Text {
    let mut text = Text::new();
    let name = resource.title.as_deref().unwrap_or(&resource.name);
    text.plain(name).faint(" ").plain(&resource.uri);
    if let Some(kind) = &resource.mime_type {
        text.faint(&format!(" [{kind}]"));
    }
    text.end_line();
    text
}

fn describe_media(media: &MediaContent) -> String {
    let size = size(base64::decoded_length(&media.data));
    format!("[{}, {size}]", media.mime_type)
}

/// A JSON value, indented. Numbers stay as they were written.
pub(crate) fn json(value: &Json) -> Text {
    let mut text = Text::new();
    text.block(Style::Plain, &indented(value.as_str()));
    text
}

/// How long ago something was, given in milliseconds since 1970, as people say it.
pub(crate) fn age(since_ms: u64) -> String {
    let since = SystemTime::UNIX_EPOCH + Duration::from_millis(since_ms);
    // A clock that was set back makes it now.
    let seconds = since.elapsed().unwrap_or_default().as_secs();
    let (amount, unit) = match seconds {
        ..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    counted(usize::try_from(amount).unwrap_or(usize::MAX), unit)
}

/// So many of something, whose plural is regular.
pub(crate) fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

/// A number of bytes as people say it.
pub(crate) fn size(bytes: usize) -> String {
    const UNITS: [&str; 3] = ["KB", "MB", "GB"];
    let mut amount = bytes as f64;
    let mut unit = "bytes";
    for next in UNITS {
        if amount < 1000.0 {
            break;
        }
        amount /= 1000.0;
        unit = next;
    }
    if unit == "bytes" {
        format!("{bytes} {unit}")
    } else {
        format!("{amount:.1} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::Colour;
    use super::*;

    #[test]
    fn sizes_read_well() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (12_345, "12.3 KB"),
            (5_000_000, "5.0 MB"),
            (7_200_000_000_000, "7200.0 GB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn every_kind_of_block_is_shown() {
        let blocks: Vec<Content> = serde_json::from_str(
            r#"[
                {"type":"text","text":"hello\nworld"},
                {"type":"image","data":"AAAA","mimeType":"image/png"},
                {"type":"audio","data":"AA==","mimeType":"audio/wav"},
                {"type":"resource_link","uri":"demo://a","name":"a","mimeType":"text/plain"},
                {"type":"resource","resource":{"uri":"demo://b","text":"inside"}},
                {"type":"resource","resource":{"uri":"demo://c","blob":"AAAA"}},
                {"type":"hologram","n":1}
            ]"#,
        )
        .unwrap();
        insta::assert_snapshot!(contents(&blocks).render(Colour::Off), @r#"
        hello
        world
        [image/png, 3 bytes]
        [audio/wav, 1 bytes]
        a demo://a [text/plain]
        inside
        [binary, 3 bytes] demo://c
        {"type":"hologram","n":1}
        "#);
    }
}
