//! `@` in a question: resources of servers and files that are attached to it.
//!
//! Only what a person types is looked at; text of a pipe, a model or a server attaches nothing.

use std::path::{Path, PathBuf};

use attache_host::cache::Freshness;
use attache_protocol::ReadResourceResult;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::calls::resource_text;
use crate::chat::Chat;
use crate::events::{ChatEvent, Face};
use crate::message::{Image, Part};

/// The largest file that is attached.
const LARGEST_FILE: u64 = 4 * 1024 * 1024;
/// The most things that one question attaches.
const MOST: usize = 16;

/// Something that a question names with `@`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mention {
    Resource(String),
    File(PathBuf),
}

impl Chat {
    /// The parts of a question that a person typed: what it attaches, then the question itself.
    /// What cannot be attached is told, and the question is asked without it.
    pub async fn question(&self, typed: &str, folder: &Path, face: &mut dyn Face) -> Vec<Part> {
        let mut parts = Vec::new();
        for mention in mentions(typed, folder) {
            let attached = match &mention {
                Mention::Resource(uri) => self.attach_resource(uri, face).await,
                Mention::File(path) => attach_file(path, face),
            };
            match attached {
                Ok(more) => parts.extend(more),
                Err(problem) => face.show(ChatEvent::Note { text: &problem }),
            }
        }
        parts.push(Part::text(typed));
        parts
    }

    /// Reads a resource as parts of a question.
    pub(crate) async fn attach_resource(
        &self,
        uri: &str,
        face: &mut dyn Face,
    ) -> Result<Vec<Part>, String> {
        let answer = self.host.read(uri).await;
        let answer = answer.map_err(|error| format!("{uri} cannot be attached: {error}"))?;
        let from = format!("{} {uri}", answer.server);
        let parts = parts_of(&answer.contents, &from);
        let bytes = parts.iter().map(size).sum();
        face.show(ChatEvent::Attached {
            from: &from,
            bytes,
            stale: stale(&answer.freshness),
        });
        Ok(parts)
    }
}

/// Why an answer may be outdated, as a clause.
pub(crate) fn stale(freshness: &Freshness) -> Option<String> {
    match freshness {
        Freshness::Stale { age, because } => {
            Some(format!("from {}s ago, because {because}", age.as_secs()))
        }
        Freshness::Fetched | Freshness::Fresh { .. } => None,
    }
}

fn size(part: &Part) -> usize {
    match part {
        Part::Text { text } | Part::Data { text, .. } => text.len(),
        Part::Image(image) => image.data.len() / 4 * 3,
    }
}

pub(crate) fn parts_of(contents: &ReadResourceResult, from: &str) -> Vec<Part> {
    let parts = contents.contents.iter().map(|contents| {
        let mime_type = contents.mime_type.as_deref().unwrap_or_default();
        match &contents.blob {
            Some(blob) if Image::is_taken(mime_type) => Part::Image(Image {
                mime_type: mime_type.to_owned(),
                data: blob.clone(),
            }),
            _ => Part::Data {
                from: from.to_owned(),
                text: resource_text(contents),
            },
        }
    });
    parts.collect()
}

fn attach_file(path: &Path, face: &mut dyn Face) -> Result<Vec<Part>, String> {
    let shown = path.display().to_string();
    let problem = |why: String| format!("{shown} cannot be attached: {why}");
    let about = std::fs::metadata(path).map_err(|error| problem(error.to_string()))?;
    if !about.is_file() {
        return Err(problem("it is no file".to_owned()));
    }
    if about.len() > LARGEST_FILE {
        return Err(problem(format!("it is larger than {LARGEST_FILE} bytes")));
    }
    let bytes = std::fs::read(path).map_err(|error| problem(error.to_string()))?;
    face.show(ChatEvent::Attached {
        from: &shown,
        bytes: bytes.len(),
        stale: None,
    });
    if let Some(mime_type) = image_type(&bytes) {
        return Ok(vec![Part::Image(Image {
            mime_type: mime_type.to_owned(),
            data: STANDARD.encode(&bytes),
        })]);
    }
    Ok(vec![Part::Data {
        from: shown,
        text: String::from_utf8_lossy(&bytes).into_owned(),
    }])
}

/// The type of an image by its first bytes.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}

/// What a question mentions: `@` and a URI, or `@` and a file that is there.
fn mentions(typed: &str, folder: &Path) -> Vec<Mention> {
    let mut found = Vec::new();
    for word in typed.split_whitespace() {
        let Some(name) = word.trim_start_matches('(').strip_prefix('@') else {
            continue;
        };
        let name = name.trim_end_matches([',', ';', '?', '!', ')']);
        // A dot may end a sentence or belong to the name.
        let mention = [name, name.trim_end_matches('.')]
            .into_iter()
            .find_map(|name| mention(name, folder));
        if let Some(mention) = mention
            && !found.contains(&mention)
            && found.len() < MOST
        {
            found.push(mention);
        }
    }
    found
}

fn mention(name: &str, folder: &Path) -> Option<Mention> {
    if name.contains("://") {
        return Some(Mention::Resource(name.to_owned()));
    }
    let path = folder.join(name);
    (!name.is_empty() && path.is_file()).then_some(Mention::File(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_mentions_uris_and_files_that_are_there() {
        let scratch = attache_testkit::scratch::Scratch::new("mentions").unwrap();
        scratch.write("notes.md", "x").unwrap();
        let file = Mention::File(scratch.path().join("notes.md"));
        let uri = |uri: &str| Mention::Resource(uri.to_owned());
        for (typed, expected) in [
            ("see @notes.md.", vec![file.clone()]),
            ("(@notes.md) @notes.md", vec![file]),
            ("mail me@notes.md or @nobody", vec![]),
            ("@demo://a, @x://y?", vec![uri("demo://a"), uri("x://y")]),
            ("@", vec![]),
        ] {
            assert_eq!(mentions(typed, scratch.path()), expected, "{typed}");
        }
    }
}
