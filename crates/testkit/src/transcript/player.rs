//! Plays the server's side of a transcript on a pair of byte streams.
//!
//! Owns reading, writing and waiting. Refuses to judge messages itself
//! (`pattern`).

use std::collections::BTreeMap;
use std::fmt;
use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::time::timeout;

use super::pattern::{Captures, Difference, compare, fill};
use super::{Event, Transcript};

/// The longest line a client may send.
const LINE_LIMIT: u64 = 16 * 1024 * 1024;

/// What a completed play has seen.
#[derive(Clone, Debug)]
pub struct Played {
    /// The kept values by name.
    pub captures: BTreeMap<String, Value>,
    /// All messages of the client, in order.
    pub client_messages: Vec<Value>,
}

/// Where and why a play went wrong.
#[derive(Debug)]
pub struct PlayError {
    /// The file or name of the transcript.
    pub name: String,
    /// The line of the transcript that was being played.
    pub line: usize,
    /// What happened there.
    pub trouble: Trouble,
}

/// What can go wrong in a play.
#[derive(Debug)]
pub enum Trouble {
    /// The client said something else.
    Differs {
        /// The first difference.
        difference: Difference,
        /// The whole expected message, with its placeholders.
        expected: Value,
        /// The whole received message.
        received: Value,
    },
    /// The client's line is not JSON or too long.
    NotJson(String),
    /// The client said nothing in time.
    Silent,
    /// The client closed its side early.
    Closed,
    /// The client said this instead of closing its side.
    NotClosed(String),
    /// A stream failed.
    Stream(io::Error),
}

impl fmt::Display for PlayError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: ", self.name, self.line)?;
        match &self.trouble {
            Trouble::Differs {
                difference,
                expected,
                received,
            } => {
                let shown = |value: &Option<Value>| match value {
                    Some(value) => value.to_string(),
                    None => "nothing".to_owned(),
                };
                write!(
                    formatter,
                    "the client's message differs at {place:?}: expected {wanted}, received {got}\n\
                     expected: {expected:#}\nreceived: {received:#}",
                    place = difference.place,
                    wanted = shown(&difference.expected),
                    got = shown(&difference.received),
                )
            }
            Trouble::NotJson(line) => write!(formatter, "the client's line is not JSON: {line}"),
            Trouble::Silent => write!(formatter, "the client says nothing"),
            Trouble::Closed => write!(formatter, "the client closed its side"),
            Trouble::NotClosed(line) => {
                write!(formatter, "the client did not close but said: {line}")
            }
            Trouble::Stream(error) => write!(formatter, "a stream failed: {error}"),
        }
    }
}

impl std::error::Error for PlayError {}

impl Transcript {
    /// Plays the server: expects the client's messages on `reader` and writes
    /// the server's to `writer`, up to the first difference. Closes both
    /// streams at the end, by dropping them.
    pub async fn play<R, W>(&self, reader: R, writer: W) -> Result<Played, PlayError>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut player = Player {
            reader: BufReader::new(reader),
            writer: Some(writer),
            captures: Captures::new(),
            client_messages: Vec::new(),
        };
        for turn in &self.turns {
            let played = timeout(self.patience, player.turn(&turn.event)).await;
            let trouble = match played {
                Ok(Ok(())) => continue,
                Ok(Err(trouble)) => trouble,
                Err(_) => Trouble::Silent,
            };
            return Err(PlayError {
                name: self.name.clone(),
                line: turn.line,
                trouble,
            });
        }
        Ok(Played {
            captures: player.captures,
            client_messages: player.client_messages,
        })
    }
}

struct Player<R, W> {
    reader: BufReader<R>,
    writer: Option<W>,
    captures: Captures,
    client_messages: Vec<Value>,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Player<R, W> {
    async fn turn(&mut self, event: &Event) -> Result<(), Trouble> {
        match event {
            Event::ClientSays(expected) => self.expect(expected).await,
            Event::ServerSays(message) => self.say(message).await.map_err(Trouble::Stream),
            Event::ServerCloses => match self.writer.take() {
                Some(mut writer) => writer.shutdown().await.map_err(Trouble::Stream),
                None => Ok(()),
            },
            Event::ClientCloses => match self.line().await? {
                Some(line) => Err(Trouble::NotClosed(shown(&line))),
                None => Ok(()),
            },
        }
    }

    async fn expect(&mut self, expected: &Value) -> Result<(), Trouble> {
        let line = self.line().await?.ok_or(Trouble::Closed)?;
        let received: Value =
            serde_json::from_slice(&line).map_err(|_| Trouble::NotJson(shown(&line)))?;
        self.client_messages.push(received.clone());
        compare(expected, &received, &mut self.captures).map_err(|difference| Trouble::Differs {
            difference,
            expected: expected.clone(),
            received,
        })
    }

    async fn say(&mut self, message: &Value) -> io::Result<()> {
        let writer = self.writer.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        let line = format!("{}\n", fill(message, &self.captures));
        writer.write_all(line.as_bytes()).await?;
        writer.flush().await
    }

    /// The next line, or `None` at the end.
    async fn line(&mut self) -> Result<Option<Vec<u8>>, Trouble> {
        let mut line = Vec::new();
        let mut limited = (&mut self.reader).take(LINE_LIMIT);
        let read = limited.read_until(b'\n', &mut line).await;
        match read.map_err(Trouble::Stream)? {
            0 => Ok(None),
            _ => Ok(Some(line)),
        }
    }
}

/// A line as it can be shown.
fn shown(line: &[u8]) -> String {
    const SHOWN_LIMIT: usize = 2000;
    let line = &line[..line.len().min(SHOWN_LIMIT)];
    String::from_utf8_lossy(line).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{duplex, split};

    use super::*;

    const CONVERSATION: &str = r#"
client> {"id": "$first", "method": "hello", "params": {"_meta": {"v": 1}}}
server> {"id": "$first", "result": "$first"}
client> {"method": "bye"}
client closes
"#;

    /// Plays a transcript against a client that says `said` at once, and
    /// returns the outcome and what the client got.
    async fn played(text: &str, said: &str) -> (Result<Played, PlayError>, String) {
        let transcript = Transcript::parse("t.txt", text)
            .unwrap()
            .patience(Duration::from_millis(200));
        let (client, server) = duplex(64 * 1024);
        let (reader, writer) = split(server);
        let (mut from_server, mut to_server) = split(client);
        to_server.write_all(said.as_bytes()).await.unwrap();
        to_server.shutdown().await.unwrap();
        let outcome = transcript.play(reader, writer).await;
        let mut got = String::new();
        from_server.read_to_string(&mut got).await.unwrap();
        (outcome, got)
    }

    async fn trouble(text: &str, said: &str) -> String {
        played(text, said).await.0.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn a_faithful_client_hears_the_server() {
        let hello = r#"{"params": {"_meta": {"v": 1}}, "method": "hello", "id": "x-7"}"#;
        let said = format!("{hello}\n{{\"method\": \"bye\"}}\n");
        let (outcome, got) = played(CONVERSATION, &said).await;
        let played = outcome.unwrap();
        assert_eq!(played.captures["first"], "x-7");
        assert_eq!(played.client_messages.len(), 2);
        assert_eq!(got, "{\"id\":\"x-7\",\"result\":\"x-7\"}\n");
    }

    #[tokio::test]
    async fn the_first_difference_is_named_with_both_sides() {
        let hello = "{\"id\": 1, \"method\": \"hello\", \"params\": {\"_meta\": {\"v\": 2}}}\n";
        let error = trouble(CONVERSATION, hello).await;
        assert!(error.starts_with("t.txt:2: the client's message differs at \"/params/_meta/v\""));
        assert!(error.contains("expected 1, received 2"), "{error}");
        assert!(error.contains("\"v\": 2"), "{error}");
    }

    #[tokio::test]
    async fn other_troubles_are_told_apart() {
        let check = async |text: &str, said: &str, expected: &str| {
            assert_eq!(trouble(text, said).await, expected);
        };
        let one = "client> {\"a\": 1}\n";
        check(one, "", "t.txt:1: the client closed its side").await;
        check(
            one,
            "junk\n",
            "t.txt:1: the client's line is not JSON: junk",
        )
        .await;
        check(
            "client closes",
            "{}\n",
            "t.txt:1: the client did not close but said: {}",
        )
        .await;
    }

    #[tokio::test]
    async fn a_silent_client_is_not_waited_for() {
        let transcript = Transcript::parse("t.txt", "client> {}\n")
            .unwrap()
            .patience(Duration::from_millis(20));
        let (_client, server) = duplex(64);
        let (reader, writer) = split(server);
        let error = transcript.play(reader, writer).await.unwrap_err();
        assert_eq!(error.to_string(), "t.txt:1: the client says nothing");
    }

    #[tokio::test]
    async fn a_line_beyond_the_limit_is_not_gathered_for_ever() {
        let transcript = Transcript::parse("t.txt", "client> {}\n").unwrap();
        let endless = tokio::io::repeat(b'x');
        let error = transcript.play(endless, tokio::io::sink()).await;
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("t.txt:1: the client's line is not JSON: xxx"));
    }

    #[tokio::test]
    async fn the_server_can_close_first() {
        let (outcome, got) = played("server> {\"a\": 1}\nserver closes\nclient closes", "").await;
        outcome.unwrap();
        assert_eq!(got, "{\"a\":1}\n");
    }
}
