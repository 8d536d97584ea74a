//! A request as others can make it: as a command for a shell, and as a message of JSON-RPC.

use attache_protocol::{Json, safe_text};
use serde::Serialize;

/// The words of the command that calls a tool, by its qualified name.
pub fn call_words(qualified: &str, arguments: &Json) -> Vec<String> {
    let mut words: Vec<String> = ["attache", "call", qualified].map(str::to_owned).into();
    if !matches!(arguments.as_str(), "{}" | "null") {
        let arguments = safe_text::json(arguments.as_str()).into_owned();
        words.extend(["--args".to_owned(), arguments]);
    }
    words
}

/// The words of the command that reads a resource of a server.
pub fn read_words(server: &str, uri: &str) -> Vec<String> {
    ["attache", "read", uri, "--server", server]
        .map(str::to_owned)
        .into()
}

/// A command as a person pastes it into a shell; nothing if a word of it has characters that do not
/// show, which nobody could check before it runs (S13, S25).
pub fn shell_line<'w>(words: impl IntoIterator<Item = &'w String>) -> Option<String> {
    let each = words
        .into_iter()
        .map(|word| match safe_text::one_line(word) == *word {
            true => Some(shell_word(word)),
            false => None,
        });
    Some(each.collect::<Option<Vec<_>>>()?.join(" "))
}

/// A word for sh, bash and zsh: as it is, or in single quotes, inside of which only those mean
/// anything (S25).
pub fn shell_word(word: &str) -> String {
    let is_plain = |found: char| {
        found.is_ascii_alphanumeric() || matches!(found, '_' | '-' | '.' | '/' | ':' | ',' | '@')
    };
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// A request of JSON-RPC, on one line.
pub fn json_rpc(method: &str, params: &impl Serialize) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Request<'a, P> {
        jsonrpc: &'static str,
        id: u64,
        method: &'a str,
        params: &'a P,
    }
    serde_json::to_string(&Request {
        jsonrpc: "2.0",
        id: 1,
        method,
        params,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &str) -> Option<String> {
        shell_line(&call_words(name, &Json::parse(arguments).unwrap()))
    }

    #[test]
    fn s25_a_command_is_quoted_for_the_shell() {
        assert_eq!(call("notes/all", "{}").unwrap(), "attache call notes/all");
        assert_eq!(
            call(
                "notes/x`id`",
                r#"{"q":"it's $HOME","n":12345678901234567890}"#
            )
            .unwrap(),
            r#"attache call 'notes/x`id`' --args '{"q":"it'\''s $HOME","n":12345678901234567890}'"#
        );
        assert_eq!(
            shell_line(&read_words("notes", "n://a?b&c")).unwrap(),
            "attache read 'n://a?b&c' --server notes"
        );
    }

    #[test]
    fn s13_what_does_not_show_is_no_command() {
        assert_eq!(call("notes/x\u{1b}[2J", "{}"), None);
        assert_eq!(call("notes/a\u{202e}b", "{}"), None);
        // In JSON such characters can be escaped.
        assert!(
            call("notes/x", "{\"q\":\"a\u{202e}b\"}")
                .unwrap()
                .contains(r"\u202e")
        );
    }
}
