//! Which server a command is about, as it was typed.
//!
//! Owns the difference between ways to name a server. What a name stands for is decided in
//! `selection`. Knows nothing of commands and output.

use std::ffi::OsString;
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
            (Some(word), None) if HttpServer::is_address(&word) => Ok(Self::Url(word)),
            (Some(word), None) => Ok(Self::Named(word)),
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
