//! The documents of `--json`: the protocol's own shapes, with the server's name beside them.

use attache::protocol::{Extra, Json, Rejected};
use serde::Serialize;

use crate::failure::Failure;

/// Writes a document. What we build ourselves has string keys only and cannot fail.
pub(crate) fn write(document: &impl Serialize) -> String {
    serde_json::to_string(document).unwrap_or_default()
}

/// An entry of a list as its server sent it, plus the server's name.
pub(crate) fn with_server(entry: &Json, server: &str) -> Json {
    let Ok(mut fields) = entry.decode::<Extra>() else {
        return entry.clone();
    };
    fields.insert("server", serde_json::Value::from(server));
    Json::from_serialize(&fields).unwrap_or_else(|_| entry.clone())
}

/// What became of one server, beside the entries it gave.
#[derive(Serialize)]
pub(crate) struct ServerOutcome<'a> {
    pub(crate) name: &'a str,
    pub(crate) outcome: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) rejected: Vec<RejectedEntry<'a>>,
}

/// An entry that could not be read.
#[derive(Serialize)]
pub(crate) struct RejectedEntry<'a> {
    reason: &'a str,
    raw: &'a Json,
}

impl<'a> From<&'a Rejected> for RejectedEntry<'a> {
    fn from(rejected: &'a Rejected) -> Self {
        Self {
            reason: &rejected.reason,
            raw: &rejected.raw,
        }
    }
}

#[derive(Serialize)]
struct ErrorDocument<'a> {
    error: ErrorBody<'a>,
}

/// The body of a failure; members without a value are `null`, so that scripts find all of them.
#[derive(Serialize)]
pub(crate) struct ErrorBody<'a> {
    kind: &'static str,
    message: &'a str,
    server: Option<&'a str>,
    code: Option<i64>,
    data: Option<&'a Json>,
    hint: Option<&'a str>,
}

impl<'a> From<&'a Failure> for ErrorBody<'a> {
    fn from(failure: &'a Failure) -> Self {
        Self {
            kind: failure.kind.as_str(),
            message: &failure.message,
            server: failure.server.as_deref(),
            code: failure.code,
            data: failure.data.as_ref(),
            hint: failure.hint.as_deref(),
        }
    }
}

pub(crate) fn failure(failure: &Failure) -> String {
    write(&ErrorDocument {
        error: failure.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_what_they_are_and_cannot_pose_as_another_server() {
        let entry = Json::parse(r#"{"name":"x","server":"mine","n":1e400,"title":null}"#).unwrap();
        assert_eq!(
            with_server(&entry, "real").as_str(),
            r#"{"name":"x","n":1e400,"title":null,"server":"real"}"#
        );
    }

    #[test]
    fn failures_have_all_their_members() {
        let document = failure(&Failure::usage("no").hint("yes").of("demo"));
        assert_eq!(
            document,
            r#"{"error":{"kind":"usage","message":"no","server":"demo","code":null,"data":null,"hint":"yes"}}"#
        );
    }
}
