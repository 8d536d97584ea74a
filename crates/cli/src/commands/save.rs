//! Saves the contents of answers where the user said: to a file, or each to a file of a folder.
//!
//! Names of files in a folder are our own, so that no server chooses where anything is written.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use attache::protocol::{Content, ResourceContents};

use crate::base64;
use crate::failure::Failure;
use crate::output::{Output, human};

/// The longest name that a file gets from what it is about.
const LONGEST_NAME: usize = 60;
/// How many names are tried for one file.
const MOST_NAMES: usize = 10_000;

/// Something to save.
struct Item<'a> {
    mime_type: &'a str,
    data: Data<'a>,
}

enum Data<'a> {
    Text(&'a str),
    Base64(&'a str),
}

/// Writes the binary blocks of an answer: the first to a file, or all into a folder.
pub(super) fn binaries(
    blocks: &[Content],
    place: &Path,
    tool: &str,
    output: &Output,
) -> Result<(), Failure> {
    let items: Vec<Item<'_>> = blocks
        .iter()
        .filter_map(|block| match block {
            Content::Image(media) | Content::Audio(media) => Some(Item {
                mime_type: &media.mime_type,
                data: Data::Base64(&media.data),
            }),
            Content::Resource(embedded) => {
                Item::of(&embedded.resource).filter(|item| matches!(item.data, Data::Base64(_)))
            }
            _ => None,
        })
        .collect();
    let Some(first) = items.first() else {
        return Err(Failure::failed(
            "the answer has no binary content to save; nothing was written",
        ));
    };
    if is_folder(place) {
        return into_folder(&items, place, tool, output);
    }
    to_file(first, place, output)?;
    if items.len() > 1 {
        let left = items.len() - 1;
        output.note(&format!(
            "{left} more were not saved; name a folder to keep all"
        ));
    }
    Ok(())
}

/// Writes the contents of a resource, whatever they are.
pub(super) fn resource(
    contents: &[ResourceContents],
    place: &Path,
    output: &Output,
) -> Result<(), Failure> {
    let items: Vec<Item<'_>> = contents.iter().filter_map(Item::of).collect();
    let uri = contents
        .first()
        .map_or("", |contents| contents.uri.as_str());
    match items.as_slice() {
        [] => Err(Failure::failed(
            "the resource is empty; nothing was written",
        )),
        items if is_folder(place) => into_folder(items, place, last_name(uri), output),
        [item] => to_file(item, place, output),
        items => Err(Failure::failed(format!(
            "the resource has {} contents, and only one can be saved to a file",
            items.len()
        ))
        .hint("name a folder to save all of them")),
    }
}

impl<'a> Item<'a> {
    fn of(contents: &'a ResourceContents) -> Option<Self> {
        let data = match (&contents.text, &contents.blob) {
            (Some(text), _) => Data::Text(text),
            (None, Some(blob)) => Data::Base64(blob),
            (None, None) => return None,
        };
        Some(Self {
            mime_type: contents.mime_type.as_deref().unwrap_or_default(),
            data,
        })
    }

    fn bytes(&self) -> Result<Vec<u8>, Failure> {
        match self.data {
            Data::Text(text) => Ok(text.as_bytes().to_vec()),
            Data::Base64(data) => base64::decode(data).map_err(|problem| {
                Failure::failed(format!("the content is not base64: {problem}"))
            }),
        }
    }

    fn extension(&self) -> &'static str {
        let essence = self.mime_type.split(';').next().unwrap_or_default().trim();
        match (essence.to_ascii_lowercase().as_str(), &self.data) {
            ("image/png", _) => "png",
            ("image/jpeg", _) => "jpg",
            ("image/gif", _) => "gif",
            ("image/webp", _) => "webp",
            ("image/svg+xml", _) => "svg",
            ("audio/wav" | "audio/x-wav", _) => "wav",
            ("audio/mpeg", _) => "mp3",
            ("audio/ogg", _) => "ogg",
            ("application/pdf", _) => "pdf",
            ("application/json", _) => "json",
            ("text/markdown", _) => "md",
            ("text/html", _) => "html",
            ("text/csv", _) => "csv",
            (_, Data::Text(_)) => "txt",
            (_, Data::Base64(_)) => "bin",
        }
    }
}

/// A folder that is there, or a name that can only be one.
fn is_folder(place: &Path) -> bool {
    place.is_dir() || place.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// The end of an address, without what follows it and without its extension.
fn last_name(uri: &str) -> &str {
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    let name = path
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(name, _)| name)
}

fn to_file(item: &Item<'_>, file: &Path, output: &Output) -> Result<(), Failure> {
    let bytes = item.bytes()?;
    std::fs::write(file, &bytes).map_err(|error| unwritable(file, &error))?;
    saved(bytes.len(), file, output);
    Ok(())
}

/// Writes each item to a file of its own, over none that is there.
fn into_folder(
    items: &[Item<'_>],
    folder: &Path,
    about: &str,
    output: &Output,
) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    let plain = |it: char| {
        if it.is_ascii_alphanumeric() || it == '_' {
            it
        } else {
            '-'
        }
    };
    let name: String = about.chars().take(LONGEST_NAME).map(plain).collect();
    let name = match name.trim_matches('-') {
        "" => "content",
        name => name,
    };
    let mut number = 0;
    for item in items {
        let bytes = item.bytes()?;
        let (file, mut opened) = loop {
            number += 1;
            let file = folder.join(format!("{name}-{number}.{}", item.extension()));
            match OpenOptions::new().write(true).create_new(true).open(&file) {
                Ok(opened) => break (file, opened),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && number < MOST_NAMES => {}
                Err(error) => return Err(unwritable(&file, &error)),
            }
        };
        let written = opened.write_all(&bytes);
        written.map_err(|error| unwritable(&file, &error))?;
        saved(bytes.len(), &file, output);
    }
    Ok(())
}

fn unwritable(file: &Path, error: &std::io::Error) -> Failure {
    Failure::unexpected(format!("cannot write {}: {error}", file.display()))
}

fn saved(bytes: usize, file: &Path, output: &Output) {
    let size = human::size(bytes);
    output.note(&format!("saved {size} to {}", file.display()));
}
