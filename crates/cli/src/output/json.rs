//! The documents of `--json`: the protocol's own shapes, with the server's name beside them.

use attache::Meaning;
use attache::host::catalog::Offered;
use attache::protocol::{Extra, Json};
use serde::Serialize;

use crate::failure::{Failure, Kind};

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

/// Entries as their servers described them, each with its server's name.
pub(crate) fn offered<T: Serialize>(entries: &[Offered<T>]) -> Vec<Json> {
    let document = |offered: &Offered<T>| {
        let entry = Json::from_serialize(&offered.entry).unwrap_or_default();
        with_server(&entry, offered.server.as_str())
    };
    entries.iter().map(document).collect()
}

#[derive(Serialize)]
struct ErrorDocument<'a> {
    error: ErrorBody<'a>,
}

/// The body of a failure; members without a value are `null`, so that scripts find all of them.
#[derive(Serialize)]
pub(crate) struct ErrorBody<'a> {
    kind: Kind,
    message: &'a str,
    server: Option<&'a str>,
    code: Option<i64>,
    meaning: Option<&'static str>,
    data: Option<&'a Json>,
    hint: Option<&'a str>,
}

impl<'a> From<&'a Failure> for ErrorBody<'a> {
    fn from(failure: &'a Failure) -> Self {
        Self {
            kind: failure.kind,
            message: &failure.message,
            server: failure.server.as_deref(),
            code: failure.code,
            meaning: failure.meaning.map(Meaning::as_str),
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

    // X-MOD-08.
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
            r#"{"error":{"kind":"usage","message":"no","server":"demo","code":null,"meaning":null,"data":null,"hint":"yes"}}"#
        );
    }
}
