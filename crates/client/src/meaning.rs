//! How a failed request is told: what an error code means, which depends on the revision, the method
//! and the server, and what the server complained of.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use attache_protocol::frame::Params;
use attache_protocol::{
    Era, ErrorObject, Json, Method, Payload, ReadResource, Revision, codes, shortened,
};

use crate::client::Client;
use crate::connection::Failure;
use crate::error::{Error, Meaning, ServerError};
use crate::settings::ErrorAlias;
use crate::telling_line::{LINES_LOOKED_AT, complaint};

impl Client {
    /// Puts a failure into context.
    pub(crate) fn explain(&self, failure: Failure, method: &str, params: &Params) -> Error {
        let method = method.to_owned();
        match failure {
            Failure::Server(error) => self.explain_error(method, error, params),
            Failure::Http(problem) => Error::Http { method, problem },
            Failure::Protocol(problem) => Error::Protocol { method, problem },
            Failure::NotSent(reason) => Error::NotSent { method, reason },
            Failure::OutcomeUnknown(reason) => Error::OutcomeUnknown { method, reason },
            Failure::TimedOut(after) => self.timed_out(&method, after),
            Failure::Unwritable(problem) => Error::Input(format!("{method}: {problem}")),
        }
    }

    /// No answer came. What the server complained of last may well be why.
    pub(crate) fn timed_out(&self, method: &str, after: Duration) -> Error {
        Error::TimedOut {
            method: method.to_owned(),
            after,
            complaint: complaint(&self.stderr().tail_lines(LINES_LOOKED_AT)),
        }
    }

    fn explain_error(&self, method: String, error: ErrorObject, params: &Params) -> Error {
        let link = self.link();
        let aliases = &link.quirks.error_aliases;
        let meaning = meaning_of(&error, &method, params, link.revision(), aliases);
        Error::Server(ServerError::new(&method, error, meaning))
    }

    /// Decodes a result as its method declares. What does not fit is the server's fault and ends
    /// this call only.
    pub(crate) fn decode<M: Method>(&self, payload: &Payload) -> Result<M::Result, Error> {
        M::decode(payload).map_err(|error| self.undecodable(M::NAME, error))
    }

    /// The error for a result that is not what it should be. The problem may quote the result,
    /// so it is shortened.
    pub(crate) fn undecodable(&self, method: &str, problem: impl fmt::Display) -> Error {
        self.link().reclassify_undecodable();
        Error::Protocol {
            method: method.to_owned(),
            problem: shortened(problem),
        }
    }
}

/// The meaning of `error` as an answer to `method` (eras.md 1.8, seeds rows 25 to 29).
pub(crate) fn meaning_of(
    error: &ErrorObject,
    method: &str,
    params: &Params,
    revision: Option<Revision>,
    aliases: &BTreeMap<i64, ErrorAlias>,
) -> Meaning {
    let reads = method == ReadResource::NAME;
    let modern = revision.is_some_and(|revision| revision.era() == Era::Modern);
    match error.code {
        codes::RESOURCE_NOT_FOUND if reads => return Meaning::ResourceNotFound,
        codes::INVALID_PARAMS if reads && modern => return Meaning::ResourceNotFound,
        code if reads && code == SERVER_ERROR && names_uri_of(error, params) => {
            return Meaning::ResourceNotFound;
        }
        _ => {}
    }
    match aliases.get(&error.code) {
        // Only a read asks for a resource that can be missing (fault 73).
        Some(ErrorAlias::ResourceNotFound) if reads => return Meaning::ResourceNotFound,
        Some(ErrorAlias::ToolFailed) => return Meaning::ToolFailed,
        Some(ErrorAlias::Cancelled) => return Meaning::Cancelled,
        Some(ErrorAlias::TimedOut) => return Meaning::TimedOut,
        Some(ErrorAlias::ResourceNotFound) | None => {}
    }
    match error.code {
        codes::METHOD_NOT_FOUND => Meaning::MethodNotFound,
        codes::INVALID_PARAMS => Meaning::InvalidParams,
        codes::URL_ELICITATION_REQUIRED => Meaning::UrlElicitationRequired,
        codes::MISSING_CAPABILITY => Meaning::MissingCapability,
        codes::UNSUPPORTED_VERSION => Meaning::UnsupportedVersion,
        _ => Meaning::Other,
    }
}

/// The first code of the range without agreed meaning (X-ERR-07).
const SERVER_ERROR: i64 = -32000;

/// Whether the error's data names the very URI that was asked for.
fn names_uri_of(error: &ErrorObject, params: &Params) -> bool {
    #[derive(serde::Deserialize)]
    struct Named {
        uri: String,
    }
    let named = error.data.as_ref().map(Json::decode::<Named>);
    match (named, params.decode::<Named>()) {
        (Some(Ok(named)), Ok(asked)) => named.uri == asked.uri,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        code: i64,
        data: Option<&str>,
        method: &str,
        revision: Revision,
        aliases: &[(i64, ErrorAlias)],
        expected: Meaning,
    ) {
        let error = ErrorObject {
            code,
            message: "m".to_owned(),
            data: data.map(|text| Json::parse(text).unwrap()),
        };
        let params = Params::write(&serde_json::json!({"uri": "note:1"})).unwrap();
        let aliases = aliases.iter().copied().collect();
        assert_eq!(
            meaning_of(&error, method, &params, Some(revision), &aliases),
            expected
        );
    }

    // C-RES-06.
    #[test]
    fn resource_not_found_has_a_code_per_era() {
        use Revision::{V2024_11_05, V2026_07_28};
        let read = "resources/read";
        check(
            -32002,
            None,
            read,
            V2024_11_05,
            &[],
            Meaning::ResourceNotFound,
        );
        check(
            -32002,
            None,
            read,
            V2026_07_28,
            &[],
            Meaning::ResourceNotFound,
        );
        check(
            -32602,
            None,
            read,
            V2026_07_28,
            &[],
            Meaning::ResourceNotFound,
        );
        check(-32602, None, read, V2024_11_05, &[], Meaning::InvalidParams);
        // Seed 000 says it with -32000 and the URI.
        let same = Some(r#"{"uri":"note:1"}"#);
        let other = Some(r#"{"uri":"note:2"}"#);
        check(
            -32000,
            same,
            read,
            V2024_11_05,
            &[],
            Meaning::ResourceNotFound,
        );
        check(-32000, other, read, V2024_11_05, &[], Meaning::Other);
        check(-32000, same, "tools/call", V2024_11_05, &[], Meaning::Other);
    }

    #[test]
    fn fault_73_only_a_read_can_miss_a_resource() {
        let alias = [(-32000, ErrorAlias::ResourceNotFound)];
        for revision in [Revision::V2024_11_05, Revision::V2026_07_28] {
            for method in ["tools/call", "tools/list", "resources/list", "prompts/get"] {
                for (code, aliases) in [(-32002, &[][..]), (-32000, &[]), (-32000, &alias)] {
                    check(code, None, method, revision, aliases, Meaning::Other);
                }
            }
        }
        let (read, missing) = ("resources/read", Meaning::ResourceNotFound);
        check(-32000, None, read, Revision::V2024_11_05, &alias, missing);
    }

    #[test]
    fn aliases_give_meaning_to_codes_without_one() {
        let revision = Revision::V2025_11_25;
        let lsp = [
            (-32000, ErrorAlias::ToolFailed),
            (-32001, ErrorAlias::TimedOut),
            (-32002, ErrorAlias::Cancelled),
        ];
        check(
            -32001,
            None,
            "tools/call",
            revision,
            &lsp,
            Meaning::TimedOut,
        );
        check(-32001, None, "tools/call", revision, &[], Meaning::Other);
        check(-32000, None, "tools/call", revision, &[], Meaning::Other);
        check(
            -32000,
            None,
            "tools/call",
            revision,
            &lsp,
            Meaning::ToolFailed,
        );
        check(
            -32002,
            None,
            "tools/call",
            revision,
            &lsp,
            Meaning::Cancelled,
        );
        // For a read the standard meaning wins (seeds row 26).
        check(
            -32002,
            None,
            "resources/read",
            revision,
            &lsp,
            Meaning::ResourceNotFound,
        );
    }
}
