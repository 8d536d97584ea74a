//! Which server a command is about, as it was typed.
//!
//! Owns the difference between ways to name a server. What a name stands for is decided in
//! `selection`. Knows nothing of commands and output.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::Path;

use attache::HttpServer;

use crate::failure::Failure;

/// The servers a command is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// All that are configured.
    All,
    /// One that is configured, by its name.
    Named(String),
    /// One behind a URL.
    Url(String),
    /// A command that is started on the spot and inherits the shell's environment.
    Command {
        program: String,
        arguments: Vec<String>,
    },
}

impl Target {
    /// Reads what follows `--`, or else the word that stands for a server.
    pub(crate) fn read(word: Option<String>, command: Vec<OsString>) -> Result<Self, Failure> {
        let mut words = command.into_iter().map(text);
        let program = words.next().transpose()?;
        match (word, program) {
            (Some(word), Some(program)) => Err(Failure::usage(format!(
                "both \"{word}\" and the command \"{program}\" say which server is meant"
            ))
            .hint("leave one of them out")),
            (Some(word), None) => Ok(match address(&word) {
                Some(url) => Self::Url(url),
                None => Self::Named(word),
            }),
            (None, None) => Ok(Self::All),
            (None, Some(program)) if program.is_empty() => {
                Err(Failure::usage("the command after `--` is empty")
                    .hint("give the server's command, for example: -- uvx mcp-server-time"))
            }
            (None, Some(program)) if HttpServer::is_address(&program) => Ok(Self::Url(program)),
            (None, Some(program)) => Ok(Self::Command {
                program,
                arguments: words.collect::<Result<_, _>>()?,
            }),
        }
    }
}

/// The name that stands for a command in output: that of its program.
pub(crate) fn program_name(program: &str) -> String {
    let stem = Path::new(program).file_stem();
    stem.map_or_else(
        || program.to_owned(),
        |it| it.to_string_lossy().into_owned(),
    )
}

/// The URL that a word stands for, if it is one or could be nothing else: what has a port, or a
/// machine's name with dots and a path. Without a scheme it is http on this machine and in private
/// networks, and https elsewhere.
pub(crate) fn address(word: &str) -> Option<String> {
    if HttpServer::is_address(word) {
        return Some(word.to_owned());
    }
    let (authority, path) = match word.split_once('/') {
        Some((authority, path)) => (authority, Some(path)),
        None => (word, None),
    };
    let (machine, port) = match authority.rsplit_once(':') {
        Some((machine, port)) => (machine, Some(port)),
        None => (authority, None),
    };
    let is_machine = |it: char| it.is_ascii_alphanumeric() || "-._[]:".contains(it);
    if machine.is_empty() || !machine.chars().all(is_machine) {
        return None;
    }
    let is_address = match port {
        Some(port) => port.parse().is_ok_and(|port: u16| port > 0),
        None => machine.contains('.') && path.is_some_and(|path| !path.is_empty()),
    };
    let scheme = match is_near(machine) {
        true => "http",
        false => "https",
    };
    is_address.then(|| format!("{scheme}://{word}"))
}

/// Whether a machine is this one, or one of a private network.
fn is_near(machine: &str) -> bool {
    let bare = machine.trim_start_matches('[').trim_end_matches(']');
    match bare.parse() {
        Ok(IpAddr::V4(address)) => address.is_loopback() || address.is_private(),
        Ok(IpAddr::V6(address)) => address.is_loopback() || address.is_unique_local(),
        // Names without dots are known to this network only.
        Err(_) => !machine.contains('.') || machine.ends_with(".local"),
    }
}

/// The same address with the path that most servers have, if it has none of its own.
pub(crate) fn with_usual_path(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    let has_more = authority.contains(['/', '?', '#']);
    let scheme = &url[..url.len() - rest.len()];
    (scheme.starts_with("http") && !has_more).then(|| format!("{scheme}{authority}/mcp"))
}

fn text(word: OsString) -> Result<String, Failure> {
    word.into_string().map_err(|word| {
        let shown = word.to_string_lossy();
        Failure::usage(format!("\"{shown}\" in the command is not valid UTF-8"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(word: Option<&str>, command: &[&str]) -> Result<Target, Failure> {
        let command = command.iter().map(OsString::from).collect();
        Target::read(word.map(str::to_owned), command)
    }

    #[test]
    fn names_addresses_and_commands_are_told_apart() {
        let url = || Target::Url("https://example.org/mcp".to_owned());
        for (word, command, expected) in [
            (None, &[][..], Target::All),
            (Some("notes"), &[], Target::Named("notes".to_owned())),
            (Some("https://example.org/mcp"), &[], url()),
            (None, &["https://example.org/mcp"], url()),
            (
                None,
                &["node", "index.js"],
                Target::Command {
                    program: "node".to_owned(),
                    arguments: vec!["index.js".to_owned()],
                },
            ),
        ] {
            assert_eq!(read(word, command).unwrap(), expected);
        }
        assert!(read(None, &[""]).is_err());
        let both = read(Some("notes"), &["node"]).unwrap_err();
        assert!(both.message.contains("both \"notes\""), "{both}");
    }

    #[test]
    fn an_address_needs_no_scheme_where_it_can_be_nothing_else() {
        for (word, expected) in [
            ("127.0.0.1:7801/mcp", Some("http://127.0.0.1:7801/mcp")),
            ("localhost:8080", Some("http://localhost:8080")),
            ("[::1]:8080/mcp", Some("http://[::1]:8080/mcp")),
            ("192.168.1.5:80/x", Some("http://192.168.1.5:80/x")),
            ("printer:9000/mcp", Some("http://printer:9000/mcp")),
            ("8.8.8.8:80/mcp", Some("https://8.8.8.8:80/mcp")),
            ("example.org/mcp", Some("https://example.org/mcp")),
            ("example.org:8443", Some("https://example.org:8443")),
            ("http://x", Some("http://x")),
            ("notes", None),
            ("notes/search", None),
            ("my.server", None),
            ("my.server/", None),
            ("a:b", None),
            ("a:99999", None),
            (":8080", None),
            ("ftp://x:80/y", None),
            ("user@host:80/x", None),
        ] {
            assert_eq!(address(word).as_deref(), expected, "{word}");
        }
    }

    #[test]
    fn the_usual_path_is_for_addresses_without_one() {
        for (url, expected) in [
            ("http://a:80", Some("http://a:80/mcp")),
            ("https://a/", Some("https://a/mcp")),
            ("https://a/sse", None),
            ("https://a?key=1", None),
            ("ws://a", None),
        ] {
            assert_eq!(with_usual_path(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn a_command_is_named_after_its_program() {
        for (program, name) in [
            ("/usr/bin/node", "node"),
            ("./server.py", "server"),
            ("uvx", "uvx"),
        ] {
            assert_eq!(program_name(program), name);
        }
    }
}
