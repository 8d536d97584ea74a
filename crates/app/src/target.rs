//! Which server a command is about.
//!
//! Owns the difference between ways to name a server. Knows nothing of commands and output.

use std::ffi::OsString;
use std::path::Path;

use attache::Server;

use crate::builtin_server;
use crate::failure::Failure;

/// A server to talk to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A command that is started on the spot and inherits the shell's environment.
    Command {
        program: OsString,
        arguments: Vec<OsString>,
    },
    /// The small server inside this executable.
    BuiltIn,
}

impl Target {
    /// Reads what follows `--`, or its absence.
    pub(crate) fn from_command(command: Vec<OsString>) -> Result<Self, Failure> {
        let mut words = command.into_iter();
        let Some(program) = words.next() else {
            return Ok(Self::BuiltIn);
        };
        if let Some(text) = program.to_str().filter(|text| is_url(text)) {
            return Err(unreachable_by(&format!("the address {text}")));
        }
        if program.is_empty() {
            return Err(Failure::usage("the command after `--` is empty")
                .hint("give the server's command, for example: -- uvx mcp-server-time"));
        }
        Ok(Self::Command {
            program,
            arguments: words.collect(),
        })
    }

    /// The name that stands for the server in output: that of its program.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Command { program, .. } => Path::new(program)
                .file_stem()
                .unwrap_or(program)
                .to_string_lossy()
                .into_owned(),
            Self::BuiltIn => builtin_server::NAME.to_owned(),
        }
    }

    /// Checks a server's name that was given beside the command.
    pub(crate) fn check_name(&self, given: Option<&str>) -> Result<(), Failure> {
        match given {
            None => Ok(()),
            Some(given) if given == self.name() => Ok(()),
            Some(given) if is_url(given) => Err(unreachable_by(&format!("the address {given}"))),
            Some(given) => Err(unreachable_by(&format!("the name \"{given}\""))),
        }
    }

    /// The server as the library knows it.
    pub(crate) fn server(&self) -> Result<Server, Failure> {
        match self {
            Self::Command { program, arguments } => {
                Ok(Server::stdio(program, arguments).inherit_environment())
            }
            Self::BuiltIn => {
                let executable = std::env::current_exe().map_err(|error| {
                    Failure::unexpected(format!("cannot find this program's own file: {error}"))
                })?;
                Ok(Server::stdio(executable, [builtin_server::SUBCOMMAND]))
            }
        }
    }
}

fn is_url(text: &str) -> bool {
    text.starts_with("http://") || text.starts_with("https://")
}

fn unreachable_by(what: &str) -> Failure {
    Failure::usage(format!("no server is known by {what}"))
        .hint("give the server's command after `--`, for example: -- uvx mcp-server-time")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(words: &[&str]) -> Result<Target, Failure> {
        Target::from_command(words.iter().map(OsString::from).collect())
    }

    #[test]
    fn a_command_is_named_after_its_program() {
        for (words, name) in [
            (&["/usr/bin/node", "index.js"][..], "node"),
            (&["./server.py"], "server"),
            (&["uvx", "mcp-server-time"], "uvx"),
            (&[], "attache-demo"),
        ] {
            assert_eq!(target(words).unwrap().name(), name);
        }
    }

    #[test]
    fn names_and_addresses_are_refused_with_the_remedy() {
        let by_address = target(&["https://example.org/mcp"]).unwrap_err();
        let by_name = Target::BuiltIn.check_name(Some("files")).unwrap_err();
        for (failure, message) in [
            (
                by_address,
                "no server is known by the address https://example.org/mcp",
            ),
            (by_name, "no server is known by the name \"files\""),
        ] {
            assert_eq!(failure.message, message);
            assert!(failure.hint.unwrap().contains("after `--`"));
        }
        assert!(Target::BuiltIn.check_name(Some("attache-demo")).is_ok());
    }
}
