//! Wire transcripts: a conversation as a text file, and a server that plays it.
//!
//! Owns the format and its parser. `pattern` knows when a message matches and
//! `player` carries a transcript out. Refuses to know any method of MCP.
//!
//! # The format
//!
//! ```text
//! # Lines that begin with # are comments.
//! client> {"jsonrpc": "2.0", "id": "$open", "method": "initialize", "params": {
//!     "protocolVersion": "2025-06-18", "capabilities": {},
//!     "clientInfo": {"name": "attache", "version": "*"}
//! }}
//! server> {"jsonrpc": "2.0", "id": "$open", "result": {"protocolVersion": "2025-06-18",
//!     "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}}
//! client> {"jsonrpc": "2.0", "method": "notifications/initialized"}
//! client closes
//! ```
//!
//! A message begins after `client> ` or `server> ` and goes on over indented
//! lines; a closing brace may stand at the margin. What the client sends is
//! compared as a whole JSON value, `_meta` included, whatever the order of keys.
//! In a client's message
//!
//! - the string `"*"` matches any value,
//! - the string `"$name"` matches any value and keeps it, or the kept value from
//!   then on,
//! - the key `"..."` (with any value) allows further members in its object.
//!
//! In a server's message `"$name"` stands for the kept value. A name is made of
//! letters, digits and underscores, so `"$/cancelRequest"` is an ordinary
//! string; `"$$name"` and `"**"` stand for the strings `$name` and `*`.
//! `client closes` expects the client to close its side; `server closes` closes
//! the server's.

mod pattern;
mod player;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

pub use pattern::Difference;
pub use player::{PlayError, Played, Trouble};

/// How long a player waits for the client, unless told otherwise.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(10);

/// A parsed transcript.
#[derive(Clone, Debug)]
pub struct Transcript {
    name: String,
    turns: Vec<Turn>,
    patience: Duration,
}

/// One thing that happens, and the line where it is written.
#[derive(Clone, Debug)]
struct Turn {
    line: usize,
    event: Event,
}

#[derive(Clone, Debug)]
enum Event {
    ClientSays(Value),
    ServerSays(Value),
    ClientCloses,
    ServerCloses,
}

/// Why a transcript cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The file or name of the transcript.
    pub name: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub reason: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, line, reason } = self;
        write!(formatter, "{name}:{line}: {reason}")
    }
}

impl std::error::Error for ParseError {}

impl Transcript {
    /// Reads a transcript from a file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ParseError> {
        let name = path.as_ref().display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(name, &text),
            Err(error) => Err(ParseError {
                name,
                line: 0,
                reason: error.to_string(),
            }),
        }
    }

    /// Reads a transcript from text; `name` stands for the file in errors.
    pub fn parse(name: impl Into<String>, text: &str) -> Result<Self, ParseError> {
        let name = name.into();
        let mut parser = Parser::default();
        let parsed = text.lines().enumerate().try_for_each(|(index, line)| {
            let number = index + 1;
            parser.line(number, line)
        });
        match parsed.and_then(|()| parser.finish()) {
            Ok(turns) => Ok(Self {
                name,
                turns,
                patience: DEFAULT_PATIENCE,
            }),
            Err((line, reason)) => Err(ParseError { name, line, reason }),
        }
    }

    /// Waits this long for each of the client's turns.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

/// A line number and what is wrong with it.
type Fault = (usize, String);

#[derive(Default)]
struct Parser {
    turns: Vec<Turn>,
    /// The message being gathered: who says it, where it began, its text.
    open: Option<(Speaker, usize, String)>,
    captured: BTreeSet<String>,
}

#[derive(Clone, Copy)]
enum Speaker {
    Client,
    Server,
}

impl Parser {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Fault> {
        let indented = line.starts_with([' ', '\t', '}', ']']);
        if indented && let Some((_, _, text)) = &mut self.open {
            text.push('\n');
            text.push_str(line);
            return Ok(());
        }
        self.close_message()?;
        if line.trim().is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let speakers = [("client>", Speaker::Client), ("server>", Speaker::Server)];
        for (prefix, speaker) in speakers {
            if let Some(text) = line.strip_prefix(prefix) {
                self.open = Some((speaker, number, text.to_owned()));
                return Ok(());
            }
        }
        let event = match line.trim_end() {
            "client closes" => Event::ClientCloses,
            "server closes" => Event::ServerCloses,
            _ => {
                let reason = "expected client>, server>, client closes, server closes or #";
                return Err((number, reason.to_owned()));
            }
        };
        self.turns.push(Turn {
            line: number,
            event,
        });
        Ok(())
    }

    fn close_message(&mut self) -> Result<(), Fault> {
        let Some((speaker, line, text)) = self.open.take() else {
            return Ok(());
        };
        let message: Value = serde_json::from_str(&text).map_err(|error| {
            let within = error.line().saturating_sub(1);
            (line + within, format!("not JSON: {error}"))
        })?;
        let names = pattern::names(&message);
        let event = match speaker {
            Speaker::Client => {
                self.captured.extend(names);
                Event::ClientSays(message)
            }
            Speaker::Server => {
                if let Some(unknown) = names.difference(&self.captured).next() {
                    let reason = format!("no earlier client message captures ${unknown}");
                    return Err((line, reason));
                }
                Event::ServerSays(message)
            }
        };
        self.turns.push(Turn { line, event });
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Turn>, Fault> {
        self.close_message()?;
        Ok(self.turns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        Transcript::parse("t.txt", text).unwrap_err().to_string()
    }

    #[test]
    fn messages_go_on_over_indented_lines() {
        let text = "# opening\n\nclient> {\"a\": [\n  1,\n\t2\n]\n}\nserver closes\n";
        let transcript = Transcript::parse("t.txt", text).unwrap();
        let lines: Vec<_> = transcript.turns.iter().map(|turn| turn.line).collect();
        assert_eq!(lines, [3, 8]);
        let Event::ClientSays(message) = &transcript.turns[0].event else {
            panic!("{transcript:?}");
        };
        assert_eq!(message.to_string(), r#"{"a":[1,2]}"#);
    }

    #[test]
    fn faults_name_file_and_line() {
        assert_eq!(
            fault("client> {}\nclient {}\n"),
            "t.txt:2: expected client>, server>, client closes, server closes or #"
        );
        assert!(fault("# c\nclient> {\"a\":\n  oops}\n").starts_with("t.txt:3: not JSON"));
        assert_eq!(
            fault("client> {\"id\": \"$a\"}\nserver> {\"id\": \"$b\"}"),
            "t.txt:2: no earlier client message captures $b"
        );
        let missing = Transcript::read("no/such/file").unwrap_err();
        assert!(missing.to_string().starts_with("no/such/file:0: "));
    }
}
