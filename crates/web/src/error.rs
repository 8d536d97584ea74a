//! What the API says when something fails, and whose failure it is.
//!
//! `origin` keeps apart what callers must not mix up: the server's own error of the protocol, a tool
//! that ran and failed, a connection that broke, a rule or a person that refused, and a request that
//! the console itself cannot take.

use attache::Error as ClientError;
use attache::host::questions::AnswerError;
use attache::host::{Error, PinError, Refuser};
use attache::protocol::safe_text;
use axum::http::HeaderValue;
use axum::http::StatusCode;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::json;

/// Whose failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Origin {
    /// The server answered with an error, or broke the protocol.
    Protocol,
    /// The tool ran and failed.
    Tool,
    /// The server was not reached, was lost or took too long.
    Transport,
    /// A rule, a pin or a person refused it.
    Policy,
    /// The request itself.
    Console,
}

/// What failed, as a body and a status.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ApiError {
    #[serde(skip)]
    pub(crate) status: u16,
    /// A word for programs.
    pub(crate) kind: &'static str,
    /// Whose failure it is.
    pub(crate) origin: Origin,
    /// What happened, for people; safe to show.
    pub(crate) message: Box<str>,
    /// The code that the server answered with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<i64>,
    /// What the server said besides, as JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data_json: Option<Box<str>>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hint: Option<&'static str>,
    /// The server it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<Box<str>>,
    /// The call it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) call: Option<u64>,
}

/// The body of an answer that failed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorBody<'a> {
    pub(crate) error: &'a ApiError,
}

impl ApiError {
    fn new(status: StatusCode, kind: &'static str, origin: Origin, message: &str) -> Self {
        Self {
            status: status.as_u16(),
            kind,
            origin,
            message: safe_text::one_line(message).into(),
            code: None,
            data_json: None,
            hint: None,
            server: None,
            call: None,
        }
    }

    /// The request itself cannot be taken.
    pub(crate) fn console(status: StatusCode, kind: &'static str, message: &str) -> Self {
        Self::new(status, kind, Origin::Console, message)
    }

    /// The request says something that cannot be read.
    pub(crate) fn bad(message: &str) -> Self {
        Self::console(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    pub(crate) fn not_found(message: &str) -> Self {
        Self::console(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// Too much is going on.
    pub(crate) fn busy(message: &str) -> Self {
        Self::console(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
    }

    /// The tool ran and failed, and this is what it said.
    pub(crate) fn of_tool(server: &str, text: &str) -> Self {
        let message = match text.is_empty() {
            true => "the tool failed without a word",
            false => text,
        };
        Self {
            // No failure of HTTP: the call was made and has its answer.
            status: StatusCode::OK.as_u16(),
            message: safe_text::block(message).into(),
            server: Some(server.into()),
            ..Self::new(StatusCode::OK, "tool_failed", Origin::Tool, "")
        }
    }

    pub(crate) fn hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    pub(crate) fn of_call(mut self, call: u64) -> Self {
        self.call = Some(call);
        self
    }

    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut response = json(status, &ErrorBody { error: &self });
        let headers = response.headers_mut();
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

impl From<&Error> for ApiError {
    fn from(error: &Error) -> Self {
        use Origin::{Console, Policy, Transport};
        let (status, kind, origin) = match error {
            Error::UnknownServer { .. } => (StatusCode::NOT_FOUND, "unknown_server", Console),
            Error::NotOffered { .. } => (StatusCode::NOT_FOUND, "not_offered", Console),
            Error::Ambiguous { .. } | Error::OwnerUnknown { .. } => {
                (StatusCode::BAD_REQUEST, "ambiguous", Console)
            }
            Error::Disabled { .. } => (StatusCode::SERVICE_UNAVAILABLE, "disabled", Policy),
            Error::Parked { .. } => (StatusCode::SERVICE_UNAVAILABLE, "parked", Transport),
            Error::Unreachable { .. } => (StatusCode::BAD_GATEWAY, "unreachable", Transport),
            Error::StillStarting { .. } => (StatusCode::SERVICE_UNAVAILABLE, "starting", Transport),
            Error::Stopped { .. } => (StatusCode::SERVICE_UNAVAILABLE, "stopped", Transport),
            Error::Refused { by, .. } => {
                let kind = match by {
                    Refuser::NobodyToAsk { .. } => "nobody_to_ask",
                    Refuser::Drift { .. } => "drifted",
                    _ => "refused",
                };
                (StatusCode::FORBIDDEN, kind, Policy)
            }
            Error::Request { error, .. } => of_request(error),
            _ => (StatusCode::BAD_GATEWAY, "internal", Transport),
        };
        let server = error.server().map(|server| server.as_str().into());
        let mut said = Self {
            server,
            ..Self::new(status, kind, origin, &error.to_string())
        };
        match error {
            Error::Request {
                error: ClientError::Server(answer),
                ..
            } => {
                said.code = Some(answer.code);
                said.data_json = answer.data.as_ref().map(|it| it.as_str().into());
            }
            Error::Parked { .. } => {
                said.hint = Some("mend what the cause says, then restart the server");
            }
            Error::Refused {
                by: Refuser::Drift { .. },
                ..
            } => said.hint = Some("look at the difference and accept it, if it is right"),
            _ => {}
        }
        said
    }
}

fn of_request(error: &ClientError) -> (StatusCode, &'static str, Origin) {
    use Origin::{Console, Policy, Protocol, Transport};
    let gateway = StatusCode::BAD_GATEWAY;
    match error {
        ClientError::Server(_) => (gateway, "server_error", Protocol),
        ClientError::Protocol { .. } => (gateway, "protocol_error", Protocol),
        ClientError::TimedOut { .. } => (StatusCode::GATEWAY_TIMEOUT, "timed_out", Transport),
        ClientError::Cancelled { .. } => (StatusCode::CONFLICT, "cancelled", Transport),
        ClientError::NotSent { .. } => (gateway, "not_sent", Transport),
        ClientError::OutcomeUnknown { .. } => (gateway, "outcome_unknown", Transport),
        ClientError::Refused { .. } => (StatusCode::FORBIDDEN, "question_refused", Policy),
        ClientError::Unsupported { .. } => (StatusCode::BAD_REQUEST, "not_offered", Protocol),
        ClientError::Input(_) => (StatusCode::BAD_REQUEST, "bad_request", Console),
        // It could not be started or connected to, or refused at the level of HTTP.
        _ => (gateway, "unreachable", Transport),
    }
}

impl From<AnswerError> for ApiError {
    fn from(error: AnswerError) -> Self {
        let (status, kind) = match &error {
            AnswerError::Unknown(_) => (StatusCode::NOT_FOUND, "not_found"),
            AnswerError::Closed(_) => (StatusCode::CONFLICT, "closed"),
            AnswerError::Misfit { .. } => (StatusCode::BAD_REQUEST, "misfit"),
        };
        Self::console(status, kind, &error.to_string())
    }
}

impl From<PinError> for ApiError {
    fn from(error: PinError) -> Self {
        let message = error.to_string();
        match error {
            PinError::Host(error) => Self::from(error),
            PinError::Changed { .. } => {
                Self::new(StatusCode::CONFLICT, "closed", Origin::Policy, &message)
            }
            PinError::Unpinned { .. } => {
                Self::console(StatusCode::BAD_REQUEST, "bad_request", &message)
            }
            _ => Self::console(StatusCode::INTERNAL_SERVER_ERROR, "internal", &message),
        }
    }
}
