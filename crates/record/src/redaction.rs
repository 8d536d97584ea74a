//! Secrets replaced in what is recorded, with a mark where.
//!
//! What stands in for a secret has its type and says about how long it was, so that a redacted
//! recording can still be read and matched by shape. What a secret is, is for the rules to say; this
//! knows only where to look. Everything else in a message stays byte for byte.

use std::borrow::Cow;
use std::sync::Arc;

use crate::format::{HttpHead, Redaction};

/// Says what a secret is.
pub trait SecretRules: Send + Sync {
    /// Whether the value of a member, a variable or a header of this name is secret.
    fn is_secret_name(&self, name: &str) -> bool;

    /// The text with its secrets replaced.
    fn hide<'t>(&self, text: &'t str) -> Cow<'t, str>;
}

/// What is done about secrets. Credentials in headers of HTTP are never recorded.
#[derive(Clone)]
pub struct Policy {
    rules: Arc<dyn SecretRules>,
    redaction: Redaction,
}

impl Policy {
    /// Messages are recorded as they are.
    pub fn raw(rules: Arc<dyn SecretRules>) -> Self {
        Self {
            rules,
            redaction: Redaction::None,
        }
    }

    /// What looks like a secret in messages is replaced.
    pub fn secrets(rules: Arc<dyn SecretRules>) -> Self {
        Self {
            rules,
            redaction: Redaction::Secrets,
        }
    }

    /// What the header of a recording says about it.
    pub fn redaction(&self) -> Redaction {
        self.redaction
    }

    /// A message with its secrets replaced, and where; nothing if it has none.
    pub(crate) fn message(&self, text: &str) -> Option<(String, Vec<String>)> {
        match self.redaction {
            Redaction::None => None,
            Redaction::Secrets => redact_json(text, &*self.rules),
        }
    }

    /// The same for text that is no JSON.
    pub(crate) fn text(&self, text: &str) -> Option<(String, Vec<String>)> {
        match (self.redaction, self.rules.hide(text)) {
            (Redaction::Secrets, Cow::Owned(hidden)) => Some((hidden, vec![String::new()])),
            _ => None,
        }
    }

    /// Replaces credentials in the headers and the path of a head, and says where.
    pub(crate) fn head(&self, head: &mut HttpHead) -> Vec<String> {
        let mut places = Vec::new();
        for (name, value) in &mut head.headers {
            let hidden = match self.rules.is_secret_name(name) {
                true => Cow::Owned(stand_in("string", value.len())),
                false => self.rules.hide(value),
            };
            if let Cow::Owned(hidden) = hidden {
                *value = hidden;
                places.push(format!("/headers/{name}"));
            }
        }
        if let Some(path) = &mut head.path
            && let Cow::Owned(hidden) = self.rules.hide(path)
        {
            *path = hidden;
            places.push("/path".to_owned());
        }
        places
    }
}

/// What stands in for a secret of that type and length.
fn stand_in(kind: &str, length: usize) -> String {
    let class = match length {
        0..=8 => "1-8",
        9..=16 => "9-16",
        17..=32 => "17-32",
        33..=64 => "33-64",
        65..=128 => "65-128",
        _ => "129+",
    };
    format!("[redacted {kind} {class}]")
}

/// Where the walk through a text is.
enum Level {
    Object {
        key: String,
        awaits_key: bool,
        /// Whether values below are secret because of a name above.
        secret: bool,
        /// The members are named by a schema, not by what holds secrets.
        is_schema: bool,
    },
    Array {
        index: usize,
        secret: bool,
    },
}

/// Replaces secrets in a JSON text: values of members with a secret's name, and what looks like a
/// secret in any other string. `None` if there is nothing to replace. The text has been checked to
/// be JSON.
pub fn redact_json(text: &str, rules: &dyn SecretRules) -> Option<(String, Vec<String>)> {
    let bytes = text.as_bytes();
    let mut levels: Vec<Level> = Vec::new();
    let mut places = Vec::new();
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while at < bytes.len() {
        let begin = at;
        match bytes[at] {
            b'{' | b'[' => {
                let (secret, is_schema) = inherited(&levels, rules);
                levels.push(match bytes[at] {
                    b'{' => Level::Object {
                        key: String::new(),
                        awaits_key: true,
                        secret,
                        is_schema,
                    },
                    _ => Level::Array { index: 0, secret },
                });
                at += 1;
            }
            b'}' | b']' => {
                levels.pop();
                at += 1;
            }
            b',' => {
                match levels.last_mut() {
                    Some(Level::Object { awaits_key, .. }) => *awaits_key = true,
                    Some(Level::Array { index, .. }) => *index += 1,
                    None => {}
                }
                at += 1;
            }
            b'"' => {
                at = end_of_string(bytes, at);
                let token = &text[begin..at];
                if let Some(Level::Object {
                    key,
                    awaits_key: awaits_key @ true,
                    ..
                }) = levels.last_mut()
                {
                    *key = serde_json::from_str(token).unwrap_or_default();
                    *awaits_key = false;
                    continue;
                }
                let Ok(value) = serde_json::from_str::<String>(token) else {
                    continue;
                };
                let hidden = match inherited(&levels, rules).0 && !value.is_empty() {
                    true => Cow::Owned(stand_in("string", value.len())),
                    false => rules.hide(&value),
                };
                if let Cow::Owned(hidden) = hidden {
                    out.push_str(&text[copied..begin]);
                    out.push_str(&serde_json::to_string(&hidden).unwrap_or_default());
                    copied = at;
                    places.push(pointer(&levels));
                }
            }
            b'-' | b'0'..=b'9' => {
                while bytes
                    .get(at)
                    .is_some_and(|byte| b"+-.eE0123456789".contains(byte))
                {
                    at += 1;
                }
                if inherited(&levels, rules).0 {
                    out.push_str(&text[copied..begin]);
                    out.push('0');
                    copied = at;
                    places.push(pointer(&levels));
                }
            }
            _ => at += 1,
        }
    }
    if places.is_empty() {
        return None;
    }
    out.push_str(&text[copied..]);
    Some((out, places))
}

/// Whether a value here is secret by the names above it, and whether its members are named by a
/// schema: `"properties": {"password": {"type": "string"}}` holds no password.
fn inherited(levels: &[Level], rules: &dyn SecretRules) -> (bool, bool) {
    match levels.last() {
        Some(Level::Object {
            key,
            secret,
            is_schema,
            ..
        }) => {
            let by_name = !is_schema && rules.is_secret_name(key);
            (*secret || by_name, key == "properties")
        }
        Some(Level::Array { secret, .. }) => (*secret, false),
        None => (false, false),
    }
}

/// The JSON pointer of where the walk is.
fn pointer(levels: &[Level]) -> String {
    let mut path = String::new();
    for level in levels {
        path.push('/');
        match level {
            Level::Object { key, .. } => {
                path.push_str(&key.replace('~', "~0").replace('/', "~1"));
            }
            Level::Array { index, .. } => path.push_str(&index.to_string()),
        }
    }
    path
}

/// The byte after the string that begins at `at`.
fn end_of_string(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Names with "secret" in them are secret, and so is the word hunter2.
    pub(crate) struct Rules;

    impl SecretRules for Rules {
        fn is_secret_name(&self, name: &str) -> bool {
            name.contains("secret") || name == "authorization"
        }

        fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
            match text.contains("hunter2") {
                true => Cow::Owned(text.replace("hunter2", "***")),
                false => Cow::Borrowed(text),
            }
        }
    }

    #[test]
    fn s12_secrets_are_replaced_by_type_and_length_and_marked() {
        for (text, expected, places) in [
            (
                r#"{"a": 1.50, "my_secret":"0123456789", "b":[true,null]}"#,
                r#"{"a": 1.50, "my_secret":"[redacted string 9-16]", "b":[true,null]}"#,
                &["/my_secret"][..],
            ),
            (
                r#"{"secret":{"pin":1234,"is":true,"of":["x"]}}"#,
                r#"{"secret":{"pin":0,"is":true,"of":["[redacted string 1-8]"]}}"#,
                &["/secret/pin", "/secret/of/0"],
            ),
            (
                r#"["say \"hunter2\" é", {"a/b":"hunter2"}]"#,
                r#"["say \"***\" é", {"a/b":"***"}]"#,
                &["/0", "/1/a~1b"],
            ),
        ] {
            let (out, found) = redact_json(text, &Rules).unwrap();
            assert_eq!(out, expected);
            assert_eq!(found, places);
        }
    }

    #[test]
    fn what_holds_no_secret_is_left_alone() {
        for text in [
            r#"{"inputSchema":{"properties":{"secret":{"type":"string"}},"required":["secret"]}}"#,
            r#"{"secret":"","n":1e400,"text":"a \\ \" b"}"#,
            "7",
            "{}",
        ] {
            assert_eq!(redact_json(text, &Rules), None, "{text}");
        }
    }

    #[test]
    fn s12_credentials_in_headers_are_never_kept() {
        let mut head = HttpHead {
            path: Some("/mcp?key=hunter2".to_owned()),
            headers: [("authorization", "Bearer abc"), ("accept", "x")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            ..HttpHead::default()
        };
        let places = Policy::raw(Arc::new(Rules)).head(&mut head);
        assert_eq!(places, ["/headers/authorization", "/path"]);
        assert_eq!(head.headers["authorization"], "[redacted string 9-16]");
        assert_eq!(head.path.as_deref(), Some("/mcp?key=***"));
    }
}
