//! Results that need another round: the server asks for input, the client asks again with it.

use std::collections::BTreeMap;
use std::fmt;

use crate::peek::peek_string;
use crate::record::record;
use crate::{
    CreateMessage, CreateMessageParams, Elicit, ElicitParams, Extra, Json, ListRoots, Method,
    Payload,
};

/// What kind of result a modern server gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultKind {
    /// The result the method declares.
    Complete,
    /// An [`InputRequired`]: the server wants input first.
    InputRequired,
    /// An [`ExtTask`](crate::ExtTask): the server goes on by itself (C-TSKE-03).
    Task,
    /// A kind nobody here knows, which makes the response invalid (C-BASE-12).
    Other(String),
}

impl ResultKind {
    /// The kind a result says it is; without a word it is complete (C-BASE-11).
    pub fn of(result: &Payload) -> Self {
        match peek_string(result.as_bytes(), "resultType").as_deref() {
            None | Some("complete") => Self::Complete,
            Some("input_required") => Self::InputRequired,
            Some("task") => Self::Task,
            Some(other) => Self::Other(other.to_owned()),
        }
    }
}

record! {
    /// A result that asks for input (section 4 of the ledger).
    #[derive(Default)]
    pub struct InputRequired {
        /// What is asked, by key; all are answered under the same keys (C-MRTR-12).
        input_requests: BTreeMap<String, InputRequest> = strict "inputRequests",
        /// What the server wants back, exactly as it came (C-MRTR-14).
        request_state: Option<Json> = optional "requestState",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// One question of a server.
    pub struct InputRequest {
        /// The method that would ask it as a request.
        method: String = required "method",
        /// The params of that method.
        params: Option<Json> = optional "params",
    }
}

/// A question of a server, decoded.
#[derive(Clone, Debug, PartialEq)]
pub enum InputRequestKind {
    /// It asks the user.
    Elicit(Box<ElicitParams>),
    /// It asks the model.
    CreateMessage(Box<CreateMessageParams>),
    /// It asks for the roots.
    ListRoots,
}

/// A question that cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnreadableInputRequest {
    /// The method is none that may be asked this way (S-MRTR-04).
    UnknownMethod(String),
    /// The params are not what the method declares.
    BadParams {
        /// The method.
        method: String,
        /// What is wrong with the params.
        reason: String,
    },
}

impl fmt::Display for UnreadableInputRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownMethod(method) => {
                write!(formatter, "the server asks for input by \"{method}\"")
            }
            Self::BadParams { method, reason } => write!(
                formatter,
                "the params of the input request {method} are malformed: {reason}"
            ),
        }
    }
}

impl std::error::Error for UnreadableInputRequest {}

impl InputRequest {
    /// A question by the method `M`.
    pub fn new<M: Method>(params: &M::Params) -> Result<Self, serde_json::Error> {
        Ok(Self {
            method: M::NAME.to_owned(),
            params: Some(Json::from_serialize(params)?),
            extra: Default::default(),
        })
    }

    /// Decodes the question by its method.
    pub fn kind(&self) -> Result<InputRequestKind, UnreadableInputRequest> {
        match self.method.as_str() {
            Elicit::NAME => self.decode().map(InputRequestKind::Elicit),
            CreateMessage::NAME => self.decode().map(InputRequestKind::CreateMessage),
            ListRoots::NAME => Ok(InputRequestKind::ListRoots),
            other => Err(UnreadableInputRequest::UnknownMethod(other.to_owned())),
        }
    }

    fn decode<T: serde::de::DeserializeOwned>(&self) -> Result<T, UnreadableInputRequest> {
        let bad_params = |reason: String| UnreadableInputRequest::BadParams {
            method: self.method.clone(),
            reason,
        };
        let params = self.params.as_ref();
        params
            .ok_or_else(|| bad_params("there are none".to_owned()))?
            .decode()
            .map_err(|error| bad_params(error.to_string()))
    }
}

/// Answers to the questions of a server, under the keys of the questions.
pub type InputResponses = BTreeMap<String, Json>;

/// The params of the next round: those of the first one with answers and state joined to them
/// (C-MRTR-15). What is absent is not sent (C-MRTR-14).
pub fn retry_params(
    original: &Json,
    responses: &InputResponses,
    state: Option<&Json>,
) -> Result<Json, serde_json::Error> {
    let mut params: Extra = original.decode::<Option<Extra>>()?.unwrap_or_default();
    params.remove("inputResponses");
    params.remove("requestState");
    if !responses.is_empty() {
        params.insert("inputResponses", Json::from_serialize(responses)?);
    }
    if let Some(state) = state {
        params.insert("requestState", state.clone());
    }
    Json::from_serialize(&params)
}
