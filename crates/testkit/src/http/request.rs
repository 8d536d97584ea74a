//! A request as the server read it.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::time::Instant;

/// The longest head and body a test may send.
const LONGEST: usize = 32 * 1024 * 1024;

/// A request that came.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// `POST`, `GET`, `DELETE`.
    pub verb: String,
    /// The path without its query.
    pub path: String,
    /// What follows the path's question mark, as it came; empty if there is none.
    pub query: String,
    /// Names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Which connection it came on, counted from 1.
    pub connection: usize,
    /// When its last byte was read, on the clock of the runtime, which a test may have paused.
    pub at: Instant,
}

impl HttpRequest {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The message in the body; null if there is none.
    pub fn message(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The method of the message, or an empty text.
    pub fn method(&self) -> String {
        self.message()["method"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Reads the next request of a connection; `None` at its end.
    pub(super) async fn read<R: AsyncRead + Unpin>(
        input: &mut BufReader<R>,
        connection: usize,
    ) -> io::Result<Option<Self>> {
        let mut line = String::new();
        if input.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        let mut words = line.split_ascii_whitespace().map(str::to_owned);
        let (Some(verb), Some(target)) = (words.next(), words.next()) else {
            return Err(io::Error::other(format!("no request line: {line:?}")));
        };
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            input.read_line(&mut line).await?;
            let Some((name, value)) = line.trim_end().split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let stated = headers.iter().find(|(name, _)| name == "content-length");
        let length: usize = stated.and_then(|(_, it)| it.parse().ok()).unwrap_or(0);
        if length > LONGEST {
            return Err(io::Error::other("the body is too long for a test"));
        }
        let mut body = vec![0; length];
        input.read_exact(&mut body).await?;
        Ok(Some(Self {
            verb,
            path: path.to_owned(),
            query: query.to_owned(),
            headers,
            body,
            connection,
            at: Instant::now(),
        }))
    }
}
