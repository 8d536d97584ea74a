//! When two requests ask the same.
//!
//! Method and params decide, without the metadata that differs from client to client and from call
//! to call. The rounds of one request are told apart by what they carry back.

use attache_protocol::{Era, Initialize, Method as _, meta};
use attache_schema::Value;

/// Members of `_meta` that say nothing about what is asked.
pub const VOLATILE_META: &[&str] = &[
    meta::PROGRESS_TOKEN,
    meta::PROTOCOL_VERSION,
    meta::CLIENT_INFO,
    meta::CLIENT_CAPABILITIES,
    "traceparent",
    "tracestate",
    "baggage",
];

/// What a request asks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// The era, because answers differ in shape.
    pub is_modern: bool,
    /// The method.
    pub method: String,
    /// The params in one spelling, without what is volatile and without what a round carries.
    pub params: String,
    /// What a later round carries back.
    pub round: Round,
}

/// What a later round of a request carries back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Round {
    /// The server's own state, in one spelling.
    pub state: Option<String>,
    /// The keys of the answers.
    pub keys: Vec<String>,
    /// The answers, in one spelling.
    pub answers: String,
}

impl Round {
    /// Whether this is a first round.
    pub fn is_first(&self) -> bool {
        self.state.is_none() && self.keys.is_empty()
    }
}

impl Signature {
    /// What a request asks.
    pub fn of(era: Era, method: &str, params: &Value) -> Self {
        let mut params = params.clone();
        let mut round = Round::default();
        if method == Initialize::NAME {
            // Everything else in it is about the client.
            let version = params.get("protocolVersion").map(Value::canonical);
            return Self {
                is_modern: false,
                method: method.to_owned(),
                params: version.unwrap_or_default(),
                round,
            };
        }
        if let Value::Object(members) = &mut params {
            if let Some(Value::Object(meta)) = members.get_mut("_meta") {
                for name in VOLATILE_META {
                    meta.remove(name);
                }
                if meta.is_empty() {
                    members.remove("_meta");
                }
            }
            round.state = members.remove("requestState").map(|it| it.canonical());
            if let Some(answers) = members.remove("inputResponses") {
                if let Value::Object(answers) = &answers {
                    round.keys = answers.iter().map(|(key, _)| key.to_owned()).collect();
                    round.keys.sort_unstable();
                }
                round.answers = answers.canonical();
            }
            // A client may leave out what is empty.
            if let Some(Value::Object(arguments)) = members.get_mut("arguments")
                && arguments.is_empty()
            {
                members.remove("arguments");
            }
        }
        Self {
            is_modern: era == Era::Modern,
            method: method.to_owned(),
            params: params.canonical(),
            round,
        }
    }

    /// The same without what a round carries.
    pub fn without_round(&self) -> Self {
        Self {
            round: Round::default(),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(params: &str) -> Signature {
        Signature::of(Era::Modern, "tools/call", &Value::parse(params).unwrap())
    }

    #[test]
    fn what_is_volatile_does_not_count() {
        let plain = signature(r#"{"name":"a","arguments":{"x":1,"y":[true]}}"#);
        for same in [
            r#"{"arguments":{"y":[true],"x":1.0},"name":"a"}"#,
            r#"{"name":"a","arguments":{"x":1,"y":[true]},"_meta":{"progressToken":7,
                "traceparent":"00-a","io.modelcontextprotocol/clientInfo":{"name":"b"},
                "io.modelcontextprotocol/clientCapabilities":{},"baggage":"c","tracestate":"d",
                "io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#,
        ] {
            assert_eq!(signature(same), plain);
        }
        for other in [
            r#"{"name":"a","arguments":{"x":2,"y":[true]}}"#,
            r#"{"name":"b","arguments":{"x":1,"y":[true]}}"#,
            r#"{"name":"a","arguments":{"x":1,"y":[true]},"_meta":{"mine":1}}"#,
        ] {
            assert_ne!(signature(other), plain);
        }
        assert_eq!(
            signature(r#"{"name":"a","arguments":{}}"#),
            signature(r#"{"name":"a"}"#)
        );
    }

    #[test]
    fn rounds_are_told_apart_by_what_they_carry() {
        let first = signature(r#"{"name":"a"}"#);
        let second = signature(r#"{"name":"a","requestState":"s","inputResponses":{"q":{"x":1}}}"#);
        assert!(first.round.is_first() && !second.round.is_first());
        assert_eq!(second.without_round(), first);
        assert_eq!(second.round.keys, ["q"]);
    }

    #[test]
    fn a_greeting_is_known_by_its_version_alone() {
        let greeting = |name: &str, version: &str| {
            let params =
                format!(r#"{{"clientInfo":{{"name":"{name}"}},"protocolVersion":"{version}"}}"#);
            Signature::of(Era::Legacy, "initialize", &Value::parse(&params).unwrap())
        };
        assert_eq!(greeting("a", "2025-06-18"), greeting("b", "2025-06-18"));
        assert_ne!(greeting("a", "2025-06-18"), greeting("a", "2025-11-25"));
    }
}
