//! Results that need another round: the server asks for input, the client asks again with it.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::wire::frame::Params;
use crate::wire::peek::peek;
use crate::wire::record::record;
use crate::{
    CreateMessage, CreateMessageParams, Elicit, ElicitParams, Extra, Json, ListRoots, Method,
    Payload, shortened,
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
    /// A kind nobody here knows, as written, which makes the response invalid (C-BASE-12).
    Other(String),
}

impl ResultKind {
    /// The kind a result says it is; without a word it is complete (C-BASE-11).
    pub fn of(result: &Payload) -> Self {
        match peek(result.as_bytes(), "resultType").map(RawValue::get) {
            None | Some("null" | "\"complete\"") => Self::Complete,
            Some("\"input_required\"") => Self::InputRequired,
            Some("\"task\"") => Self::Task,
            Some(other) => Self::Other(shortened(other)),
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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableInputRequest {
    /// The method is none that may be asked this way (S-MRTR-04).
    #[error("the server asks for input by \"{0}\"")]
    UnknownMethod(String),
    /// The params are not what the method declares.
    #[error("the params of the input request {method} are malformed: {reason}")]
    BadParams {
        /// The method.
        method: String,
        /// What is wrong with the params.
        reason: String,
    },
}

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
    original: &Params,
    responses: &InputResponses,
    state: Option<&Json>,
) -> Result<Params, serde_json::Error> {
    let mut params: Extra = original.decode::<Option<Extra>>()?.unwrap_or_default();
    params.remove("inputResponses");
    params.remove("requestState");
    if !responses.is_empty() {
        params.insert("inputResponses", Json::from_serialize(responses)?);
    }
    if let Some(state) = state {
        params.insert("requestState", state.clone());
    }
    Params::write(&params)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn payload(text: &str) -> Payload {
        Json::parse(text).unwrap().into()
    }

    #[test]
    fn c_base_11_a_result_that_says_nothing_is_complete() {
        for (text, expected) in [
            (r#"{"content":[]}"#, ResultKind::Complete),
            (r#"{"resultType":null}"#, ResultKind::Complete),
            (r#"{"resultType":"complete"}"#, ResultKind::Complete),
            (r#"{"a":{"resultType":"task"}}"#, ResultKind::Complete),
            (
                r#"{"requestState":"s","resultType":"input_required"}"#,
                ResultKind::InputRequired,
            ),
            (r#"{ "resultType" : "task" }"#, ResultKind::Task),
        ] {
            assert_eq!(ResultKind::of(&payload(text)), expected, "{text}");
        }
    }

    #[test]
    fn c_base_12_another_kind_of_result_is_told_apart() {
        for kind in [r#""partial""#, r#""Complete""#, "7", "{}"] {
            let text = format!(r#"{{"resultType":{kind}}}"#);
            let expected = ResultKind::Other(kind.to_owned());
            assert_eq!(ResultKind::of(&payload(&text)), expected);
        }
    }

    #[test]
    fn s_mrtr_04_questions_are_decoded_by_their_method() {
        let result: InputRequired = payload(
            r#"{
                "resultType": "input_required",
                "inputRequests": {
                    "a": {"method": "elicitation/create", "params": {"message": "Who?"}},
                    "b": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}},
                    "c": {"method": "roots/list"},
                    "d": {"method": "tools/call", "params": {"name": "x"}},
                    "e": {"method": "sampling/createMessage", "params": {"messages": []}},
                    "f": {"method": "elicitation/create"}
                }
            }"#,
        )
        .decode()
        .unwrap();
        let kinds: Vec<_> = result
            .input_requests
            .values()
            .map(InputRequest::kind)
            .collect();
        assert!(
            matches!(&kinds[0], Ok(InputRequestKind::Elicit(params)) if params.message == "Who?")
        );
        assert!(
            matches!(&kinds[1], Ok(InputRequestKind::CreateMessage(params)) if params.max_tokens == 5)
        );
        assert_eq!(kinds[2], Ok(InputRequestKind::ListRoots));
        let complaint = |index: usize| kinds[index].as_ref().unwrap_err().to_string();
        assert!(complaint(3).contains("by \"tools/call\""));
        assert!(complaint(4).contains("missing field `maxTokens`"));
        assert!(complaint(5).contains("there are none"));
    }

    #[test]
    fn questions_that_cannot_be_read_are_not_taken_for_none() {
        for questions in ["[]", r#"{"a":{"params":{}}}"#, r#"{"a":null}"#, "7"] {
            let result = payload(&format!(r#"{{"inputRequests":{questions}}}"#));
            assert!(result.decode::<InputRequired>().is_err(), "{questions}");
        }
        let none: InputRequired = payload(r#"{"inputRequests":null}"#).decode().unwrap();
        assert!(none.input_requests.is_empty());
    }

    #[test]
    fn fault_52_the_state_of_a_round_is_echoed_verbatim() {
        let state = r#""{\"step\": 1,\u0020\"n\": 12345678901234567890123}""#;
        let result = payload(&format!(
            r#"{{"resultType":"input_required","requestState":{state}}}"#
        ));
        let result: InputRequired = result.decode().unwrap();
        let original = Json::parse(r#"{"name":"t","arguments":{"big":1e400}}"#).unwrap();
        let original = Params::from(original);
        let retry = retry_params(
            &original,
            &InputResponses::new(),
            result.request_state.as_ref(),
        );
        assert_eq!(
            retry.unwrap().as_str(),
            format!(r#"{{"name":"t","arguments":{{"big":1e400}},"requestState":{state}}}"#)
        );
    }

    #[test]
    fn c_mrtr_14_and_15_a_retry_has_the_first_params_and_only_its_own_round() {
        let first = Params::write(&json!({"uri": "a:b"})).unwrap();
        let responses = InputResponses::from([("q".to_owned(), Json::from(json!({"roots": []})))]);
        let state = Json::from(json!("s1"));
        let second = retry_params(&first, &responses, Some(&state)).unwrap();
        assert_eq!(
            second.as_str(),
            r#"{"uri":"a:b","inputResponses":{"q":{"roots":[]}},"requestState":"s1"}"#
        );
        // The third round is made from the second one and asks for nothing but patience.
        let third = retry_params(&second, &InputResponses::new(), None).unwrap();
        assert_eq!(third, first);
        let empty =
            retry_params(&Params::write(&()).unwrap(), &InputResponses::new(), None).unwrap();
        assert_eq!(empty.as_str(), "{}");
        assert!(retry_params(&Params::write(&[1]).unwrap(), &responses, None).is_err());
    }
}
