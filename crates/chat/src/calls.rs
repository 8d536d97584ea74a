//! A call that a model wished for, and the truth about how it ended.
//!
//! What the model and the person are told is made in one place, so that neither hears anything
//! else. What is called is what was shown: the name is resolved and the arguments are parsed before
//! anybody is asked.

use std::time::{Duration, Instant};

use attache_host::names::ToolName;
use attache_host::policy::CallOrigin;
use attache_host::{Error as HostError, Host, Refuser};
use attache_protocol::{
    CallToolResult, Content, Ending, Json, MediaContent, ReadResourceResult, ResourceContents,
};
use serde_json::Value;

use crate::attach::stale;
use crate::message::{Image, ToolResult};

/// The most bytes of base64 of an image that a model is shown.
const LARGEST_IMAGE: usize = 5 * 1024 * 1024;

/// A call that is to be made.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// The id that the model gave it.
    pub(crate) id: String,
    pub(crate) name: ToolName,
    pub(crate) arguments: Json,
}

/// How a call or a read ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The id that the model gave it.
    pub(crate) id: String,
    /// What was called or read, by its whole name.
    pub(crate) about: String,
    pub(crate) server: String,
    pub(crate) outcome: Result<CallToolResult, HostError>,
    pub(crate) after: Duration,
    /// Why the answer may be outdated.
    stale: Option<String>,
}

/// Makes a call, as a program: the policy may ask the user.
pub(crate) async fn run(host: Host, wanted: Wanted) -> Ended {
    let began = Instant::now();
    let call = host.call(wanted.name.clone(), &wanted.arguments);
    let outcome = call.origin(CallOrigin::Program).await;
    Ended {
        id: wanted.id,
        about: wanted.name.to_string(),
        server: wanted.name.server.to_string(),
        outcome,
        after: began.elapsed(),
        stale: None,
    }
}

/// Reads a resource for the model.
pub(crate) async fn read(host: Host, id: String, uri: String) -> Ended {
    let began = Instant::now();
    let answer = host.read(uri.as_str()).await;
    let server = match &answer {
        Ok(answer) => answer.server.to_string(),
        Err(error) => error.server().map_or_else(String::new, ToString::to_string),
    };
    let stale = answer
        .as_ref()
        .ok()
        .and_then(|answer| stale(&answer.freshness));
    let outcome = answer.map(|answer| CallToolResult {
        content: contents(&answer.contents),
        ..CallToolResult::default()
    });
    Ended {
        id,
        about: uri,
        server,
        outcome,
        after: began.elapsed(),
        stale,
    }
}

/// The contents of a resource as the blocks of an answer.
fn contents(read: &ReadResourceResult) -> Vec<Content> {
    let block = |contents: &ResourceContents| {
        let mime_type = contents.mime_type.as_deref().unwrap_or_default();
        match &contents.blob {
            Some(blob) if Image::is_taken(mime_type) => {
                Content::Image(MediaContent::new(blob.as_str(), mime_type))
            }
            _ => Content::text(resource_text(contents)),
        }
    };
    read.contents.iter().map(block).collect()
}

/// Arguments as the model wrote them: an object, or nothing, which stands for an empty one.
pub(crate) fn arguments(written: &str) -> Result<Json, String> {
    let written = match written.trim() {
        "" | "null" => "{}",
        written => written,
    };
    if attache_protocol::nests_too_deep(written.as_bytes()) {
        return Err("they nest too deep".to_owned());
    }
    let json = Json::parse(written).map_err(|error| error.to_string())?;
    match json.to_value() {
        Ok(Value::Object(_)) => Ok(json),
        Ok(_) => Err("they are no object".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

impl Ended {
    /// One word or two for how it ended.
    pub(crate) fn word(&self) -> &'static str {
        match &self.outcome {
            Ok(result) if result.is_error => "tool failed",
            Ok(_) => "done",
            Err(HostError::Refused { .. }) => "refused",
            Err(error) => match error.ending() {
                Some(Ending::TimedOut) => "timed out",
                Some(Ending::Cancelled) => "cancelled",
                Some(Ending::OutcomeUnknown) => "outcome unknown",
                Some(Ending::ServerError) => "server error",
                Some(Ending::ProtocolError) => "protocol error",
                Some(Ending::NotSent | Ending::Result) | None => "not called",
            },
        }
    }

    /// What the model is told.
    pub(crate) fn told(&self) -> ToolResult {
        let mut told = ToolResult {
            id: self.id.clone(),
            from: Some(self.about.clone()),
            ..ToolResult::default()
        };
        match &self.outcome {
            Ok(result) => {
                told.is_error = result.is_error;
                if result.is_error {
                    "The tool ran and failed.".clone_into(&mut told.note);
                }
                if let Some(why) = &self.stale {
                    told.note = format!("This is outdated: {why}.");
                }
                (told.text, told.images) = content(result);
                if told.text.is_empty() && told.images.is_empty() && told.note.is_empty() {
                    "The tool answered without any content.".clone_into(&mut told.note);
                }
            }
            Err(error) => {
                told.is_error = true;
                told.note = truth(error, &self.server);
                // What the server or the system says about it is not ours.
                told.text = match error {
                    HostError::Refused { .. } => String::new(),
                    error => error.to_string(),
                };
            }
        }
        told
    }
}

/// What a failure means for the model, in our own words.
fn truth(error: &HostError, server: &str) -> String {
    let not_called = |why: String| format!("{why} The call was not made.");
    match error {
        HostError::Refused { by, .. } => match by {
            Refuser::User { .. } => "The user refused this call. Do not make it again unless the \
                                     user asks for it."
                .to_owned(),
            Refuser::NobodyToAsk { .. } => not_called(
                "This call needs the user's approval, and there is nobody to ask here.".to_owned(),
            ),
            Refuser::Policy { .. } => not_called("The user's policy forbids this call.".to_owned()),
            Refuser::Drift { .. } | Refuser::NotLocked { .. } => not_called(format!(
                "The tool is not the one that the user approved: its definition has changed. The \
                 user can look at it with `attache trust {server}`."
            )),
            Refuser::UnreadablePins { .. } => {
                not_called("What the user approved cannot be read.".to_owned())
            }
        },
        HostError::NotOffered { .. }
        | HostError::Ambiguous { .. }
        | HostError::OwnerUnknown { .. }
        | HostError::UnknownServer { .. } => {
            not_called("No server is known to offer this.".to_owned())
        }
        error => match error.ending() {
            Some(Ending::TimedOut) => format!(
                "{server} did not answer in time and was told to stop. The call may have \
                 happened; do not repeat it."
            ),
            Some(Ending::Cancelled) => {
                "The call was cancelled. It may have happened; do not repeat it.".to_owned()
            }
            Some(Ending::OutcomeUnknown) => format!(
                "The connection to {server} was lost while the call ran, so its outcome is \
                 unknown. It may have happened; do not repeat it."
            ),
            Some(Ending::ProtocolError) => format!(
                "The answer of {server} cannot be understood. The call may have happened; do not \
                 repeat it."
            ),
            Some(Ending::ServerError) => format!("{server} answered with an error."),
            Some(Ending::NotSent | Ending::Result) | None => {
                not_called(format!("{server} is not available."))
            }
        },
    }
}

/// What the model is told of a call that was stopped by the person.
pub(crate) fn stopped(id: &str) -> ToolResult {
    ToolResult {
        id: id.to_owned(),
        note: "The user stopped this call while it ran. It may have happened; do not repeat it \
               unless the user asks for it."
            .to_owned(),
        is_error: true,
        ..ToolResult::default()
    }
}

/// What the model is told of a call that was under way when this program ended.
pub(crate) fn unknown(id: &str) -> ToolResult {
    ToolResult {
        id: id.to_owned(),
        note: "The program ended while this call ran, so its outcome is unknown. It may have \
               happened; do not repeat it."
            .to_owned(),
        is_error: true,
        ..ToolResult::default()
    }
}

/// What the model is told of a wish that cannot be a call.
pub(crate) fn impossible(id: &str, why: impl Into<String>) -> ToolResult {
    ToolResult {
        id: id.to_owned(),
        note: format!("{} The call was not made.", why.into()),
        is_error: true,
        ..ToolResult::default()
    }
}

/// The content of an answer as text and images.
fn content(result: &CallToolResult) -> (String, Vec<Image>) {
    let mut lines: Vec<String> = Vec::new();
    let mut images = Vec::new();
    for block in &result.content {
        match block {
            Content::Text(text) => lines.push(text.text.clone()),
            Content::Image(media)
                if Image::is_taken(&media.mime_type) && media.data.len() <= LARGEST_IMAGE =>
            {
                images.push(Image {
                    mime_type: media.mime_type.clone(),
                    data: media.data.clone(),
                });
            }
            Content::Resource(embedded) => lines.push(resource_text(&embedded.resource)),
            other => lines.push(other.summary().into_owned()),
        }
    }
    let says_something = lines.iter().any(|line| !line.trim().is_empty());
    if let (Some(structured), false) = (&result.structured_content, says_something) {
        lines.push(structured.as_str().to_owned());
    }
    (lines.join("\n"), images)
}

/// The contents of a resource as text.
pub(crate) fn resource_text(contents: &ResourceContents) -> String {
    match (&contents.text, &contents.blob) {
        (Some(text), _) => text.clone(),
        (None, Some(blob)) => format!(
            "[{} of {} bytes, not shown]",
            contents.mime_type.as_deref().unwrap_or("binary content"),
            blob.len() / 4 * 3
        ),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_an_object_and_keep_their_digits() {
        for (written, expected) in [
            ("", Ok("{}")),
            (" null ", Ok("{}")),
            (
                r#"{"n":12345678901234567890123}"#,
                Ok(r#"{"n":12345678901234567890123}"#),
            ),
            ("[1]", Err(())),
            (r#"{"a":"#, Err(())),
            ("\"x\"", Err(())),
        ] {
            let read = arguments(written);
            assert_eq!(
                read.as_ref().map(Json::as_str).map_err(|_| ()),
                expected,
                "{written}"
            );
        }
        assert!(arguments(&format!("{{\"a\":{}", "[".repeat(100_000))).is_err());
    }
}
