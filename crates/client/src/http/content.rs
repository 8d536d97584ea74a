//! The body of an HTTP answer: what type it is of, read up to a limit.

use attache_net::innermost;
use attache_protocol::{Line, Message, parse_line};
use bytes::{Bytes, BytesMut};
use http::header::CONTENT_TYPE;
use reqwest::Response;

use super::error::HttpError;

/// How much of a refusal is read to learn its reason.
const REFUSAL_LIMIT: usize = 64 * 1024;

/// What a body holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// One JSON document.
    Json,
    /// Server-sent events.
    Events,
    /// Nothing.
    Empty,
    /// Something else.
    Other,
}

/// Why a body could not be read.
#[derive(Debug)]
pub(crate) enum BodyError {
    /// It is longer than the limit.
    TooLong(usize),
    /// The connection broke.
    Broken(String),
}

impl Content {
    /// What the head of an answer announces.
    pub(crate) fn of(response: &Response) -> Self {
        if response.status().as_u16() == 204 || response.content_length() == Some(0) {
            return Self::Empty;
        }
        let Some(stated) = response.headers().get(CONTENT_TYPE) else {
            return Self::Other;
        };
        Self::named(stated.as_bytes())
    }

    fn named(stated: &[u8]) -> Self {
        let essence = stated
            .split(|byte| *byte == b';')
            .next()
            .unwrap_or_default();
        let essence = essence.trim_ascii();
        if essence.eq_ignore_ascii_case(b"application/json") {
            Self::Json
        } else if essence.eq_ignore_ascii_case(b"text/event-stream") {
            Self::Events
        } else {
            Self::Other
        }
    }
}

/// The content type as it was stated.
pub(crate) fn stated_type(response: &Response) -> Option<String> {
    let stated = response.headers().get(CONTENT_TYPE)?;
    Some(String::from_utf8_lossy(stated.as_bytes()).into_owned())
}

/// Reads a whole body of at most `limit` bytes, counted after decompression (fault 61).
pub(crate) async fn whole(response: &mut Response, limit: usize) -> Result<Bytes, BodyError> {
    let announced = response.content_length().unwrap_or_default();
    if announced > limit as u64 {
        return Err(BodyError::TooLong(limit));
    }
    let broken = |error: reqwest::Error| BodyError::Broken(innermost(&error));
    let Some(first) = response.chunk().await.map_err(broken)? else {
        return Ok(Bytes::new());
    };
    // Most answers come in one piece, which needs no copy, and no second look if its length is known.
    if first.len() as u64 == announced {
        return Ok(first);
    }
    let mut rest = response.chunk().await.map_err(broken)?;
    if rest.is_none() && first.len() <= limit {
        return Ok(first);
    }
    let mut body = BytesMut::from(&first[..]);
    while let Some(chunk) = rest {
        body.extend_from_slice(&chunk);
        if body.len() > limit {
            return Err(BodyError::TooLong(limit));
        }
        rest = response.chunk().await.map_err(broken)?;
    }
    Ok(body.freeze())
}

/// What a refusal says: a message of MCP if it holds one, its text otherwise.
pub(crate) enum Refusal {
    /// A JSON-RPC answer, whatever the status.
    Message(Bytes),
    /// Anything else.
    Plain(HttpError),
}

/// Reads a refusal. A body that breaks off or is too long leaves the status, which says enough.
pub(crate) async fn refusal(mut response: Response) -> Refusal {
    let status = response.status().as_u16();
    let body = whole(&mut response, REFUSAL_LIMIT)
        .await
        .unwrap_or_default();
    let is_answer = matches!(parse_line(&body), Line::Message(Message::Response { .. }));
    if is_answer {
        return Refusal::Message(body);
    }
    let text = String::from_utf8_lossy(&body);
    Refusal::Plain(HttpError::Status {
        status,
        text: text.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_are_told_apart() {
        for (stated, expected) in [
            ("application/json", Content::Json),
            ("application/json; charset=utf-8", Content::Json),
            ("Application/JSON ;charset=utf-8", Content::Json),
            ("text/event-stream;charset=utf-8", Content::Events),
            ("text/html", Content::Other),
            ("application/jsonp", Content::Other),
            ("", Content::Other),
        ] {
            assert_eq!(Content::named(stated.as_bytes()), expected, "{stated}");
        }
    }
}
