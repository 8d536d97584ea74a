//! How a handler says that it could not do its work.

use std::fmt;

use attache_protocol::{CallToolResult, Content, ErrorObject, Json, codes};

/// Why a handler gives up.
///
/// Any error turns into a `Failure` with `?`: a tool then answers with `isError` and the error's
/// text (S-TOOL-08), every other method with `-32603`. Where the protocol wants a certain code, use
/// [`Failure::error`] or one of its shorter forms.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure(Box<Kind>);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// The work failed, in words for the user or the model.
    Work(String),
    /// A tool failed and answers with blocks of its own.
    Blocks(Vec<Content>),
    /// The request gets exactly this error.
    Protocol(ErrorObject),
}

impl Failure {
    /// The work failed; the text is for whoever asked.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Box::new(Kind::Work(text.into())))
    }

    /// A tool failed and says so with blocks of content.
    pub fn with_content(content: Vec<Content>) -> Self {
        Self(Box::new(Kind::Blocks(content)))
    }

    /// The request is answered with exactly this error.
    pub fn error(error: ErrorObject) -> Self {
        Self(Box::new(Kind::Protocol(error)))
    }

    /// The params are wrong: `-32602`.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::error(ErrorObject::new(codes::INVALID_PARAMS, message))
    }

    /// The server failed: `-32603`.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::error(ErrorObject::new(codes::INTERNAL_ERROR, message))
    }

    /// There is no resource under that URI. The code is the one of the client's revision.
    pub fn resource_not_found(uri: &str) -> Self {
        Self::error(not_found(uri))
    }

    /// What a tool answers.
    pub(crate) fn into_tool_result(self) -> Result<CallToolResult, ErrorObject> {
        let content = match *self.0 {
            Kind::Work(text) => vec![Content::text(text)],
            Kind::Blocks(content) => content,
            Kind::Protocol(error) => return Err(error),
        };
        Ok(CallToolResult {
            content,
            is_error: true,
            ..CallToolResult::default()
        })
    }

    /// What every other method answers.
    pub(crate) fn into_error(self) -> ErrorObject {
        match *self.0 {
            Kind::Work(text) => ErrorObject::new(codes::INTERNAL_ERROR, text),
            Kind::Blocks(content) => {
                let texts: Vec<_> = content.iter().filter_map(Content::as_text).collect();
                ErrorObject::new(codes::INTERNAL_ERROR, texts.join("\n"))
            }
            Kind::Protocol(error) => error,
        }
    }
}

/// The error for an unknown resource in its legacy form; the dispatcher writes the modern code
/// where it belongs (S-RES-04, S-RES-05).
pub(crate) fn not_found(uri: &str) -> ErrorObject {
    ErrorObject {
        code: codes::RESOURCE_NOT_FOUND,
        message: format!("there is no resource {uri}"),
        data: Some(Json::from(serde_json::json!({ "uri": uri }))),
    }
}

// A blanket conversion and an `Error` of its own exclude each other; the conversion is what makes
// handlers short.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.clone().into_error().message)
    }
}

/// Why a server cannot be built from what was registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Two entries of one kind have the same name or URI.
    #[error("the {kind} \"{name}\" is registered twice")]
    Duplicate {
        /// `tool`, `resource`, `template` or `prompt`.
        kind: &'static str,
        /// The name or URI.
        name: String,
    },
    /// A tool's name is not 1 to 128 of `A-Z a-z 0-9 _ . -` (S-TOOL-04).
    #[error("\"{0}\" is no name for a tool; use 1 to 128 letters, digits, \"_\", \".\", \"-\"")]
    BadToolName(String),
    /// A schema cannot be used.
    #[error("a schema of the tool \"{tool}\" is unusable: {reason}")]
    BadSchema {
        /// The tool.
        tool: String,
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// A URI template cannot be used.
    #[error("the URI template \"{template}\" is unusable: {reason}")]
    BadTemplate {
        /// The template.
        template: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The system gives no random bytes to make a key from.
    #[error("the system gives no random bytes")]
    NoRandomness,
}
