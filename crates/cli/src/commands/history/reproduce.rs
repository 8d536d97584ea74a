//! The words of a command that makes a call again, and how a shell is given them.

use attache::host::call_log::{CallRecord, CalledServer};
use attache::protocol::{Extra, Json};
use attache_view::command;

use crate::failure::Failure;

/// A call as words.
#[derive(Debug)]
pub(super) struct Reproduction {
    number: u64,
    words: Vec<String>,
    /// What follows the arguments: the server.
    server: Vec<String>,
    /// Arguments that were masked, as they are given.
    missing: Vec<String>,
}

impl Reproduction {
    pub(super) fn of(call: &CallRecord) -> Result<Self, Failure> {
        let number = call.number;
        let Some(began) = &call.began else {
            return Err(Failure::usage(format!(
                "the beginning of call {number} is not in the log any more"
            )));
        };
        if began.name_masked {
            return Err(Failure::usage(format!(
                "what call {number} asked for was masked, so it cannot be made again"
            )));
        }
        let mut reproduction = Self {
            number,
            words: Vec::new(),
            server: server_words(number, began.target.as_deref())?,
            missing: Vec::new(),
        };
        let qualified = match &began.server {
            Some(server) => format!("{server}/{}", began.name),
            None => began.name.clone(),
        };
        reproduction.words = match began.method.as_ref() {
            "tools/call" => {
                let arguments = reproduction.without_masked(began.arguments.as_ref(), began)?;
                command::call_words(&qualified, &arguments.unwrap_or_default())
            }
            "resources/read" => {
                let mut words: Vec<String> =
                    ["attache", "read", &began.name].map(str::to_owned).into();
                let is_typed = matches!(began.target.as_deref(), Some(CalledServer::Typed { .. }));
                if let Some(server) = began.server.clone().filter(|_| !is_typed) {
                    words.extend(["--server".to_owned(), server]);
                }
                words
            }
            "prompts/get" => {
                let mut words: Vec<String> =
                    ["attache", "prompt", &qualified].map(str::to_owned).into();
                let arguments = reproduction.without_masked(began.arguments.as_ref(), began)?;
                words.extend(texts(number, arguments)?);
                words
            }
            other => {
                return Err(Failure::usage(format!(
                    "call {number} was a {other}, which no verb makes"
                )));
            }
        };
        Ok(reproduction)
    }

    /// Arguments that were masked and have to be given anew.
    pub(super) fn missing(&self) -> &[String] {
        &self.missing
    }

    /// The words with more arguments, which have all that were masked.
    pub(super) fn given_anew(self, arguments: &[String]) -> Result<Vec<String>, Failure> {
        let is_given = |key: &String| {
            let keys = arguments.iter().map(|word| word.split(['=', ':']).next());
            keys.flatten()
                .any(|given| given == key || key.starts_with(&format!("{given}.")))
        };
        if let Some(key) = self.missing.iter().find(|key| !is_given(key)) {
            let number = self.number;
            return Err(Failure::usage(format!(
                "the argument {key} of call {number} was masked and is not known any more"
            ))
            .hint(format!(
                "give it anew: attache history rerun {number} {key}=…"
            )));
        }
        let mut words = self.words;
        words.extend(arguments.iter().cloned());
        words.extend(self.server);
        Ok(words)
    }

    /// The command as a person types it into a shell.
    pub(super) fn command(&self) -> Result<String, Failure> {
        // What a terminal would not show cannot be copied from it (S13, S25).
        command::shell_line(self.words.iter().chain(&self.server)).ok_or_else(|| {
            let number = self.number;
            Failure::usage(format!(
                "call {number} has characters in it that cannot be shown as a command"
            ))
            .hint(format!("`attache history rerun {number}` makes it again"))
        })
    }

    /// The arguments without those that were masked, which are noted.
    fn without_masked(
        &mut self,
        arguments: Option<&Json>,
        began: &attache::host::call_log::Began,
    ) -> Result<Option<Json>, Failure> {
        let Some(mut arguments) = arguments.cloned() else {
            return match began.masked.is_empty() {
                true => Ok(None),
                false => Err(self.not_kept()),
            };
        };
        for pointer in &began.masked {
            let parts: Vec<String> = pointer
                .split('/')
                .skip(1)
                .map(|part| part.replace("~1", "/").replace("~0", "~"))
                .collect();
            if parts.is_empty() {
                return Err(self.not_kept());
            }
            let Some((rest, key)) = without(&arguments, &parts) else {
                continue;
            };
            arguments = rest;
            if !self.missing.contains(&key) {
                self.missing.push(key);
            }
        }
        Ok(Some(arguments))
    }

    fn not_kept(&self) -> Failure {
        Failure::usage(format!(
            "the arguments of call {} were not kept",
            self.number
        ))
    }
}

/// An object without the value at a path, and how that value is given on a command line: with dots
/// between names. What is inside of a list is given together with the list.
fn without(object: &Json, path: &[String]) -> Option<(Json, String)> {
    let mut fields: Extra = object.decode().ok()?;
    let (name, deeper) = path.split_first()?;
    let value = fields.get(name)?;
    let is_plain = |name: &String| !name.contains(['.', '=', ':', '[']);
    let inner = match deeper.is_empty() || !is_plain(name) {
        true => None,
        false => without(value, deeper),
    };
    let key = match inner {
        Some((rest, below)) => {
            // The field keeps its place among the others.
            let fields = fields.iter().map(|(known, value)| match known == name {
                true => (known.to_owned(), rest.clone()),
                false => (known.to_owned(), value.clone()),
            });
            let fields: Extra = fields.collect();
            return Some((
                Json::from_serialize(&fields).ok()?,
                format!("{name}.{below}"),
            ));
        }
        None => name.clone(),
    };
    fields.remove(name);
    Some((Json::from_serialize(&fields).ok()?, key))
}

/// The arguments of a prompt, all of which are text.
fn texts(number: u64, arguments: Option<Json>) -> Result<Vec<String>, Failure> {
    let Some(arguments) = arguments else {
        return Ok(Vec::new());
    };
    let fields: Extra = arguments.decode().unwrap_or_default();
    let words = fields.iter().map(|(key, value)| {
        let text: String = value.decode().unwrap_or_default();
        match text.starts_with('@') || key.contains(['=', ':']) || key.starts_with('-') {
            // On a command line that is the name of a file.
            true => Err(Failure::usage(format!(
                "the argument {key} of call {number} cannot be typed"
            ))),
            false => Ok(format!("{key}={text}")),
        }
    });
    words.collect()
}

fn server_words(number: u64, target: Option<&CalledServer>) -> Result<Vec<String>, Failure> {
    match target {
        Some(CalledServer::Configured { file, named: true }) => {
            Ok(vec!["--config".to_owned(), file.clone()])
        }
        None | Some(CalledServer::Configured { named: false, .. } | CalledServer::BuiltIn) => {
            Ok(Vec::new())
        }
        Some(CalledServer::Typed { masked: true, .. }) => Err(Failure::usage(format!(
            "the command of call {number}'s server had a secret in it, which was masked"
        ))
        .hint("type the call again")),
        Some(CalledServer::Typed { words, folder, .. }) => {
            let mut typed = Vec::new();
            let here = std::env::current_dir().ok();
            let elsewhere = |folder: &&String| here.as_deref() != Some(folder.as_ref());
            if let Some(folder) = folder.as_ref().filter(elsewhere) {
                typed.extend(["--cwd".to_owned(), folder.clone()]);
            }
            typed.push("--".to_owned());
            typed.extend(words.iter().cloned());
            Ok(typed)
        }
    }
}

#[cfg(test)]
mod tests {
    use attache::host::call_log::Began;

    use super::*;

    fn call(began: &str) -> CallRecord {
        let began: Began = serde_json::from_str(began).unwrap();
        CallRecord {
            number: 7,
            began: Some(began),
            ended: None,
        }
    }

    fn command(began: &str) -> String {
        Reproduction::of(&call(began)).unwrap().command().unwrap()
    }

    #[test]
    fn s25_a_call_becomes_a_command_for_a_shell() {
        for (began, expected) in [
            (
                r#"{"at_ms":1,"method":"tools/call","server":"notes","name":"search",
                    "arguments":{"query":"it's $HOME","n":12345678901234567890.10}}"#,
                r#"attache call notes/search --args '{"query":"it'\''s $HOME","n":12345678901234567890.10}'"#,
            ),
            (
                r#"{"at_ms":1,"method":"tools/call","server":"notes","name":"all","arguments":{}}"#,
                "attache call notes/all",
            ),
            (
                r#"{"at_ms":1,"method":"tools/call","server":"notes","name":"x`id`"}"#,
                "attache call 'notes/x`id`'",
            ),
            (
                r#"{"at_ms":1,"method":"resources/read","server":"notes","name":"n://a?b&c",
                    "target":{"configured":{"file":"/a b/attache.toml","named":true}}}"#,
                "attache read 'n://a?b&c' --server notes --config '/a b/attache.toml'",
            ),
            (
                r#"{"at_ms":1,"method":"prompts/get","server":"uvx","name":"hi",
                    "arguments":{"name":"Ada L"},
                    "target":{"typed":{"words":["uvx","a b"],"folder":"/elsewhere"}}}"#,
                "attache prompt uvx/hi 'name=Ada L' --cwd /elsewhere -- uvx 'a b'",
            ),
        ] {
            assert_eq!(command(began), expected);
        }
        let hidden = "{\"at_ms\":1,\"method\":\"tools/call\",\"name\":\"x\\u001b[2J\"}";
        let hidden = Reproduction::of(&call(hidden)).unwrap().command();
        assert!(hidden.is_err(), "{hidden:?}");
    }

    #[test]
    fn what_was_masked_has_to_be_given_anew() {
        let masked = r#"{"at_ms":1,"method":"tools/call","server":"s","name":"t",
            "arguments":{"a":1,"token":"***","deep":{"er":{"key":"***","b":2}},
                         "list":[{"password":"***"}],"c":3},
            "masked":["/token","/deep/er/key","/list/0/password"]}"#;
        let reproduction = Reproduction::of(&call(masked)).unwrap();
        assert_eq!(reproduction.missing(), ["token", "deep.er.key", "list"]);
        assert_eq!(
            reproduction.command().unwrap(),
            r#"attache call s/t --args '{"a":1,"deep":{"er":{"b":2}},"c":3}'"#
        );
        let given = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            Reproduction::of(&call(masked)).unwrap().given_anew(&words)
        };
        let error = given(&["token=x", "list:=[]"]).unwrap_err();
        assert!(error.message.contains("deep.er.key"), "{error}");
        let words = given(&["token=x", "deep:={}", "list:=[]"]).unwrap();
        assert_eq!(words[5..], ["token=x", "deep:={}", "list:=[]"]);
    }

    #[test]
    fn what_was_not_kept_cannot_be_made_again() {
        for began in [
            r#"{"at_ms":1,"method":"tools/call","name":"t","masked":[""]}"#,
            r#"{"at_ms":1,"method":"tools/call","name":"t","arguments":{},"masked":[""]}"#,
            r#"{"at_ms":1,"method":"resources/read","name":"t","name_masked":true}"#,
            r#"{"at_ms":1,"method":"tools/call","name":"t",
                "target":{"typed":{"words":["x","***"],"masked":true}}}"#,
            r#"{"at_ms":1,"method":"prompts/get","name":"t","arguments":{"a":"@file"}}"#,
        ] {
            assert!(Reproduction::of(&call(began)).is_err(), "{began}");
        }
        assert!(Reproduction::of(&CallRecord::default()).is_err());
    }
}
