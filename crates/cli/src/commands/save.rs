//! Saves the contents of answers to files that the user named.

use std::path::Path;

use attache::protocol::{Content, ResourceContents};

use crate::base64;
use crate::failure::Failure;
use crate::output::{Output, human};

/// Writes the first binary block to `file`.
pub(super) fn first_binary(
    blocks: &[Content],
    file: &Path,
    output: &Output,
) -> Result<(), Failure> {
    let found = blocks.iter().find_map(|block| match block {
        Content::Image(media) | Content::Audio(media) => Some(&media.data),
        Content::Resource(embedded) => embedded.resource.blob.as_ref(),
        _ => None,
    });
    match found {
        Some(data) => write(file, &decoded(data)?, output),
        None => Err(Failure::failed(
            "the answer has no binary content to save; nothing was written",
        )),
    }
}

/// Writes the contents of a resource to `file`, whatever they are.
pub(super) fn resource(
    contents: &[ResourceContents],
    file: &Path,
    output: &Output,
) -> Result<(), Failure> {
    let [contents] = contents else {
        let count = contents.len();
        return Err(Failure::failed(format!(
            "the resource has {count} contents, and only one can be saved to a file"
        ))
        .hint("--json prints all of them"));
    };
    match (&contents.text, &contents.blob) {
        (Some(text), _) => write(file, text.as_bytes(), output),
        (None, Some(blob)) => write(file, &decoded(blob)?, output),
        (None, None) => Err(Failure::failed(
            "the resource is empty; nothing was written",
        )),
    }
}

fn decoded(data: &str) -> Result<Vec<u8>, Failure> {
    base64::decode(data)
        .map_err(|problem| Failure::failed(format!("the content is not base64: {problem}")))
}

/// Writes these bytes to `file`.
pub(super) fn bytes(bytes: &[u8], file: &Path, output: &Output) -> Result<(), Failure> {
    write(file, bytes, output)
}

fn write(file: &Path, bytes: &[u8], output: &Output) -> Result<(), Failure> {
    std::fs::write(file, bytes).map_err(|error| {
        Failure::unexpected(format!("cannot write {}: {error}", file.display()))
    })?;
    output.note(&format!(
        "saved {} to {}",
        human::size(bytes.len()),
        file.display()
    ));
    Ok(())
}
