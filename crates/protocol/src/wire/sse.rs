//! Server-sent events over any chunking of the byte stream (WHATWG HTML, section 9.2).
//!
//! Owns the bytes of an unfinished event and their bound. Gives the same events however the bytes
//! were cut, in linear time. Knows nothing of JSON-RPC, nor of what reconnecting means: it only
//! remembers the last event id and the reconnection time a server has stated.

use bytes::{Bytes, BytesMut};

/// The byte order mark that may precede the stream, once.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// What a line may hold besides the value that the limit is about: the longest field name, its
/// colon and a blank.
const FIELD_OVERHEAD: usize = "event: ".len();

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// Its type; `None` stands for `message`.
    pub kind: Option<String>,
    /// Its data, the lines joined by line feeds. Empty for an event that only moves the id.
    pub data: Bytes,
}

impl SseEvent {
    /// Whether the event carries a message, as opposed to being of a type of its own.
    pub fn is_message(&self) -> bool {
        self.kind.as_deref().is_none_or(|kind| kind == "message")
    }
}

/// An event grew past the limit before it was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than the limit of {limit} bytes")]
pub struct EventTooLong {
    /// The limit in bytes.
    pub limit: usize,
}

/// Cuts a byte stream into events of bounded length.
#[derive(Debug)]
pub struct SseParser {
    /// Bytes that are not cut into lines yet.
    buffer: BytesMut,
    /// How much of `buffer` is known to hold no line ending.
    searched: usize,
    limit: usize,
    /// Nothing but a part of a byte order mark was seen so far.
    at_start: bool,
    /// The last line ended with a carriage return, so a line feed right here belongs to it.
    after_return: bool,
    kind: Option<String>,
    data: Lines,
    /// The id that takes effect with the event being read.
    next_id: Option<String>,
    last_id: Option<String>,
    retry_ms: Option<u64>,
    failed: bool,
}

/// The data lines of the event being read.
#[derive(Debug, Default)]
enum Lines {
    #[default]
    None,
    /// The usual case, which shares the read buffer.
    One(Bytes),
    Several(BytesMut),
}

impl Lines {
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(line) => line.len(),
            Self::Several(lines) => lines.len(),
        }
    }

    fn add(&mut self, line: Bytes) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(line),
            Self::One(first) => {
                let mut lines = BytesMut::with_capacity(first.len() + line.len() + 1);
                lines.extend_from_slice(&first);
                lines.extend_from_slice(b"\n");
                lines.extend_from_slice(&line);
                Self::Several(lines)
            }
            Self::Several(mut lines) => {
                lines.extend_from_slice(b"\n");
                lines.extend_from_slice(&line);
                Self::Several(lines)
            }
        };
    }

    fn take(&mut self) -> Option<Bytes> {
        match std::mem::take(self) {
            Self::None => None,
            Self::One(line) => Some(line),
            Self::Several(lines) => Some(lines.freeze()),
        }
    }
}

impl SseParser {
    /// A parser that refuses events of more than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            limit,
            at_start: true,
            after_return: false,
            kind: None,
            data: Lines::None,
            next_id: None,
            last_id: None,
            retry_ms: None,
            failed: false,
        }
    }

    /// A parser of the next stream that continues this one: what the server said about ids and
    /// reconnecting still holds, an unfinished event does not.
    #[must_use]
    pub fn continued(self) -> Self {
        Self {
            last_id: self.last_id.clone(),
            next_id: self.last_id,
            retry_ms: self.retry_ms,
            ..Self::new(self.limit)
        }
    }

    /// Appends bytes of the stream.
    pub fn push(&mut self, bytes: Bytes) {
        if self.buffer.is_empty() {
            // A chunk nobody else holds becomes the buffer without a copy.
            self.buffer = match bytes.try_into_mut() {
                Ok(own) => own,
                Err(shared) => BytesMut::from(&shared[..]),
            };
        } else {
            self.buffer.extend_from_slice(&bytes);
        }
    }

    /// The next whole event. Comments and unknown fields are skipped (C-SHM-27); an unfinished
    /// event at the end of the stream is never delivered.
    pub fn next_event(&mut self) -> Result<Option<SseEvent>, EventTooLong> {
        if self.failed {
            return Err(self.too_long());
        }
        while let Some(line) = self.next_line()? {
            if let Some(event) = self.take_line(line)? {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// The id of the last event that had one: what `Last-Event-ID` should say.
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_id.as_deref().filter(|id| !id.is_empty())
    }

    /// How many milliseconds to wait before reconnecting, if the server has said so.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    fn too_long(&mut self) -> EventTooLong {
        self.failed = true;
        EventTooLong { limit: self.limit }
    }

    /// The next whole line without its ending.
    fn next_line(&mut self) -> Result<Option<Bytes>, EventTooLong> {
        if !self.past_prefix() {
            return Ok(None);
        }
        let found = memchr::memchr2(b'\n', b'\r', &self.buffer[self.searched..]);
        let end = found.map_or(self.buffer.len(), |found| self.searched + found);
        // A line is refused by its length alone, whether or not its end has come already.
        if end + self.data.len() > self.limit + FIELD_OVERHEAD {
            return Err(self.too_long());
        }
        if found.is_none() {
            self.searched = end;
            return Ok(None);
        }
        self.searched = 0;
        self.after_return = self.buffer[end] == b'\r';
        let mut line = self.buffer.split_to(end + 1);
        line.truncate(end);
        Ok(Some(line.freeze()))
    }

    /// Steps over a byte order mark at the start and over the second half of CR LF; false while
    /// that cannot be decided yet.
    fn past_prefix(&mut self) -> bool {
        if self.at_start {
            let known = self.buffer.len().min(BYTE_ORDER_MARK.len());
            if self.buffer[..known] == BYTE_ORDER_MARK[..known] {
                if known < BYTE_ORDER_MARK.len() {
                    return false;
                }
                let _ = self.buffer.split_to(known);
            }
            self.at_start = false;
        }
        if self.after_return {
            match self.buffer.first() {
                None => return false,
                Some(b'\n') => {
                    let _ = self.buffer.split_to(1);
                    self.searched = self.searched.saturating_sub(1);
                }
                Some(_) => {}
            }
            self.after_return = false;
        }
        true
    }

    fn take_line(&mut self, line: Bytes) -> Result<Option<SseEvent>, EventTooLong> {
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (name, value) = match memchr::memchr(b':', &line) {
            Some(colon) => {
                let blank = usize::from(line.get(colon + 1) == Some(&b' '));
                (line.slice(..colon), line.slice(colon + 1 + blank..))
            }
            None => (line.clone(), Bytes::new()),
        };
        match &name[..] {
            b"data" => {
                if self.data.len() + value.len() > self.limit {
                    return Err(self.too_long());
                }
                self.data.add(value);
            }
            b"event" => self.kind = Some(String::from_utf8_lossy(&value).into_owned()),
            // An id with a NUL in it is no id.
            b"id" if memchr::memchr(0, &value).is_none() => {
                self.next_id = Some(String::from_utf8_lossy(&value).into_owned());
            }
            b"retry" => {
                let digits = value.iter().all(u8::is_ascii_digit);
                let number = std::str::from_utf8(&value).ok().filter(|_| digits);
                if let Some(retry) = number.and_then(|text| text.parse().ok()) {
                    self.retry_ms = Some(retry);
                }
            }
            _ => {}
        }
        Ok(None)
    }

    /// A blank line ends the event. One without data only moves the id.
    fn dispatch(&mut self) -> Option<SseEvent> {
        self.last_id.clone_from(&self.next_id);
        let kind = self.kind.take().filter(|kind| !kind.is_empty());
        let data = self.data.take()?;
        Some(SseEvent { kind, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything one can observe of a parser after a stream.
    #[derive(Debug, PartialEq)]
    struct Seen {
        events: Vec<(Option<String>, String)>,
        last_id: Option<String>,
        retry_ms: Option<u64>,
        refused: bool,
    }

    fn parse<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, limit: usize) -> Seen {
        let mut parser = SseParser::new(limit);
        let mut events = Vec::new();
        let mut refused = false;
        'stream: for chunk in chunks {
            parser.push(Bytes::copy_from_slice(chunk));
            loop {
                match parser.next_event() {
                    Ok(Some(event)) => events.push((
                        event.kind,
                        String::from_utf8_lossy(&event.data).into_owned(),
                    )),
                    Ok(None) => break,
                    Err(_) => {
                        refused = true;
                        break 'stream;
                    }
                }
            }
        }
        Seen {
            events,
            last_id: parser.last_event_id().map(str::to_owned),
            retry_ms: parser.retry_ms(),
            refused,
        }
    }

    #[track_caller]
    fn check(
        stream: &str,
        expected: &[(Option<&str>, &str)],
        id: Option<&str>,
        retry: Option<u64>,
    ) {
        let expected = Seen {
            events: expected
                .iter()
                .map(|(kind, data)| (kind.map(str::to_owned), (*data).to_owned()))
                .collect(),
            last_id: id.map(str::to_owned),
            retry_ms: retry,
            refused: false,
        };
        for size in 1..=stream.len() {
            let seen = parse(stream.as_bytes().chunks(size), 64);
            assert_eq!(seen, expected, "{stream:?} in chunks of {size}");
        }
    }

    // C-SHM-27.
    #[test]
    fn fields_make_events() {
        check("data: a\n\n", &[(None, "a")], None, None);
        check(
            "data:a\ndata: b\ndata:  c\n\n",
            &[(None, "a\nb\n c")],
            None,
            None,
        );
        check("data\n\n", &[(None, "")], None, None);
        check(
            "event: endpoint\ndata: /m\n\n",
            &[(Some("endpoint"), "/m")],
            None,
            None,
        );
        check("event:\ndata: x\n\n", &[(None, "x")], None, None);
        check("event: lost\n\ndata: x\n\n", &[(None, "x")], None, None);
        check(
            "other: x\ndatax: y\ndata: z\n\n",
            &[(None, "z")],
            None,
            None,
        );
        check(
            ": comment\n:\n\n: again\ndata: x\n\n",
            &[(None, "x")],
            None,
            None,
        );
        check(
            "data: {\"a\":\"b: c\"}\n\n",
            &[(None, "{\"a\":\"b: c\"}")],
            None,
            None,
        );
    }

    #[test]
    fn every_line_ending_ends_a_line() {
        check("data: a\r\ndata: b\r\n\r\n", &[(None, "a\nb")], None, None);
        check("data: a\rdata: b\r\r", &[(None, "a\nb")], None, None);
        check(
            "data: a\n\r\ndata: b\r\n\n",
            &[(None, "a"), (None, "b")],
            None,
            None,
        );
        check(
            "data: a\r\r\ndata: b\n\n",
            &[(None, "a"), (None, "b")],
            None,
            None,
        );
    }

    #[test]
    fn one_byte_order_mark_is_skipped_at_the_start() {
        check("\u{feff}data: a\n\n", &[(None, "a")], None, None);
        check(
            "\u{feff}\u{feff}data: a\n\ndata: b\n\n",
            &[(None, "b")],
            None,
            None,
        );
        check("data: \u{feff}\n\n", &[(None, "\u{feff}")], None, None);
    }

    #[test]
    fn an_id_takes_effect_with_its_event_and_stays() {
        check(
            "id: 1\ndata: a\n\ndata: b\n\n",
            &[(None, "a"), (None, "b")],
            Some("1"),
            None,
        );
        check("id: 1\n\n", &[], Some("1"), None);
        check(
            "id: 1\ndata: a\n\nid: 2\ndata: half",
            &[(None, "a")],
            Some("1"),
            None,
        );
        check("id: 1\n\nid\n\n", &[], None, None);
        check("id: 1\n\nid: 2\0\n\n", &[], Some("1"), None);
        // A stream begins with an event that has an id and empty data (S-SHL-09).
        check("id: 7\ndata:\n\n", &[(None, "")], Some("7"), None);
    }

    #[test]
    fn only_digits_are_a_reconnection_time() {
        check("retry: 500\n\n", &[], None, Some(500));
        check(
            "retry: 0\nretry: -5\nretry: 1e3\nretry: +1\n\n",
            &[],
            None,
            Some(0),
        );
        check(
            "retry:\nretry: 99999999999999999999999\n\n",
            &[],
            None,
            None,
        );
        check("retry: 20\ndata: half", &[], None, Some(20));
    }

    #[test]
    fn an_unfinished_event_is_not_delivered() {
        check("data: a\n\ndata: b\n", &[(None, "a")], None, None);
        check("data: a", &[], None, None);
    }

    #[test]
    fn fault_61_an_event_at_the_limit_passes_and_one_beyond_is_refused() {
        let at = format!("data: {}\n\n", "x".repeat(64));
        check(&at, &[(None, &"x".repeat(64))], None, None);
        for beyond in [
            format!("data: {}\n\n", "x".repeat(65)),
            format!("data: {}\ndata: {}\n\n", "x".repeat(40), "x".repeat(40)),
            format!("event: {}", "x".repeat(80)),
            ":".repeat(80),
        ] {
            for size in [1, 7, beyond.len()] {
                let seen = parse(beyond.as_bytes().chunks(size), 64);
                assert!(
                    seen.refused && seen.events.is_empty(),
                    "{beyond:?} by {size}"
                );
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_chunking_gives_the_same_events(
            pieces in proptest::collection::vec(
                proptest::sample::select(vec![
                    "data", "event", "id", "retry", ":", ": ", " ", "\n", "\r", "\r\n", "\n\n",
                    "12", "x", "\u{feff}", "\0", "ä€😀", "data: {}\n\n", "0123456789012345678901234",
                ]),
                0..40,
            ),
            size in 1_usize..9,
        ) {
            let stream = pieces.concat();
            let whole = parse([stream.as_bytes()], 32);
            let cut = parse(stream.as_bytes().chunks(size), 32);
            proptest::prop_assert_eq!(whole, cut);
        }
    }

    #[test]
    fn what_was_refused_stays_refused() {
        let mut parser = SseParser::new(1);
        parser.push(Bytes::from_static(b"data: long\n\ndata: x\n\n"));
        assert!(parser.next_event().is_err());
        assert!(parser.next_event().is_err());
    }

    #[test]
    fn a_continued_stream_keeps_what_the_server_said() {
        let mut parser = SseParser::new(64);
        parser.push(Bytes::from_static(
            b"id: 3\nretry: 9\ndata: a\n\ndata: half",
        ));
        assert!(parser.next_event().unwrap().is_some());
        assert!(parser.next_event().unwrap().is_none());
        let mut parser = parser.continued();
        assert_eq!(
            (parser.last_event_id(), parser.retry_ms()),
            (Some("3"), Some(9))
        );
        parser.push(Bytes::from_static(b"data: b\n\n"));
        let event = parser.next_event().unwrap().unwrap();
        assert_eq!(&event.data[..], b"b");
        assert_eq!(parser.last_event_id(), Some("3"));
    }
}
