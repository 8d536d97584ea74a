//! A stream of bytes cut into what one line of a recording holds.
//!
//! Works behind the hot path, on bytes that have been passed on already. Loses no byte: what is cut
//! can be put together again, except what is too long, whose length is kept.

use attache_protocol::{DEFAULT_MAX_FRAME, SseParser};
use bytes::{Bytes, BytesMut};

/// The longest message that is kept whole.
const LONGEST: usize = DEFAULT_MAX_FRAME;
/// How much is kept of one that is longer.
const BEGINNING: usize = 64 * 1024;

/// How a stream is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// A message per line.
    Lines,
    /// A message per server-sent event.
    Events,
    /// One message, to the end of the stream.
    Whole,
}

/// A piece of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) content: Bytes,
    /// How long it was, the line end not counted.
    pub(crate) length: u64,
    /// This is only its beginning.
    pub(crate) shortened: bool,
    /// The stream ended, or bytes are missing, before the line did.
    pub(crate) unended: bool,
}

/// Cuts one stream.
#[derive(Debug)]
pub(crate) enum Cutter {
    Lines(Lines),
    Events(Box<SseParser>),
    /// Events that were longer than is kept; nothing more can be cut.
    Spoiled,
    Whole(Gathered),
}

#[derive(Debug, Default)]
pub(crate) struct Lines {
    current: Gathered,
    /// Bytes are missing, so what comes up to the next line end is a part of something.
    skipping: bool,
}

/// What has come of one message.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    kept: BytesMut,
    length: u64,
}

impl Gathered {
    fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.length <= LONGEST as u64 {
            self.kept.extend_from_slice(bytes);
        } else if self.kept.len() > BEGINNING {
            self.kept = BytesMut::from(&self.kept[..BEGINNING]);
        }
    }

    fn take(&mut self, unended: bool) -> Piece {
        let length = std::mem::take(&mut self.length);
        let mut content = self.kept.split();
        let shortened = length > LONGEST as u64;
        if shortened {
            content.truncate(BEGINNING);
        }
        Piece {
            content: content.freeze(),
            length,
            shortened,
            unended,
        }
    }
}

impl Cutter {
    pub(crate) fn new(framing: Framing) -> Self {
        match framing {
            Framing::Lines => Self::Lines(Lines::default()),
            Framing::Events => Self::Events(Box::new(SseParser::new(LONGEST))),
            Framing::Whole => Self::Whole(Gathered::default()),
        }
    }

    /// Takes bytes, and gives the pieces that are whole.
    pub(crate) fn push(&mut self, bytes: &Bytes, found: &mut Vec<Piece>) {
        match self {
            Self::Lines(lines) => lines.push(bytes, found),
            Self::Events(parser) => {
                parser.push(bytes.clone());
                loop {
                    match parser.next_event() {
                        Ok(Some(event)) if event.data.is_empty() => {}
                        Ok(Some(event)) => found.push(Piece {
                            length: event.data.len() as u64,
                            content: event.data,
                            shortened: false,
                            unended: false,
                        }),
                        Ok(None) => return,
                        Err(_) => {
                            *self = Self::Spoiled;
                            return;
                        }
                    }
                }
            }
            Self::Spoiled => {}
            Self::Whole(gathered) => gathered.add(bytes),
        }
    }

    /// Gives what is left at the end of the stream.
    pub(crate) fn finish(&mut self) -> Option<Piece> {
        match self {
            Self::Lines(lines) => lines.rest(),
            Self::Events(_) | Self::Spoiled => None,
            Self::Whole(gathered) if gathered.length == 0 => None,
            Self::Whole(gathered) => Some(gathered.take(false)),
        }
    }

    /// Bytes are missing here: what was begun is given as it is, and what follows is skipped up to
    /// where a message begins for certain.
    pub(crate) fn gap(&mut self) -> Option<Piece> {
        match self {
            Self::Lines(lines) => {
                let rest = lines.rest();
                lines.skipping = true;
                rest
            }
            Self::Events(_) | Self::Spoiled => {
                *self = Self::Spoiled;
                None
            }
            Self::Whole(gathered) => {
                let rest = (gathered.length > 0).then(|| gathered.take(true));
                *self = Self::Spoiled;
                rest
            }
        }
    }
}

impl Lines {
    fn push(&mut self, bytes: &[u8], found: &mut Vec<Piece>) {
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', bytes) {
            if !std::mem::take(&mut self.skipping) {
                self.current.add(&bytes[from..end]);
                found.push(self.current.take(false));
            }
            from = end + 1;
        }
        if !self.skipping {
            self.current.add(&bytes[from..]);
        }
    }

    fn rest(&mut self) -> Option<Piece> {
        (self.current.length > 0).then(|| self.current.take(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(framing: Framing, chunks: &[&[u8]]) -> Vec<(Vec<u8>, bool)> {
        let mut cutter = Cutter::new(framing);
        let mut found = Vec::new();
        for chunk in chunks {
            cutter.push(&Bytes::copy_from_slice(chunk), &mut found);
        }
        found.extend(cutter.finish());
        let pieces = found.into_iter();
        pieces.map(|it| (it.content.to_vec(), it.unended)).collect()
    }

    #[test]
    fn streams_are_cut_the_same_in_any_chunks() {
        let stream = b"one\r\n\n{\"a\":1}\nrest";
        let expected = [
            (b"one\r".to_vec(), false),
            (b"".to_vec(), false),
            (b"{\"a\":1}".to_vec(), false),
            (b"rest".to_vec(), true),
        ];
        for size in 1..=stream.len() {
            let chunks: Vec<&[u8]> = stream.chunks(size).collect();
            assert_eq!(cut(Framing::Lines, &chunks), expected, "chunks of {size}");
        }
        let events = b"id: 1\ndata: {}\n\n: ping\n\ndata: half";
        assert_eq!(cut(Framing::Events, &[events]), [(b"{}".to_vec(), false)]);
        assert_eq!(
            cut(Framing::Whole, &[b"{\n", b"}"]),
            [(b"{\n}".to_vec(), false)]
        );
    }

    #[test]
    fn a_message_at_the_limit_is_kept_and_a_longer_one_keeps_its_length() {
        for (length, shortened, kept) in [(LONGEST, false, LONGEST), (LONGEST + 1, true, BEGINNING)]
        {
            let mut cutter = Cutter::new(Framing::Lines);
            let mut found = Vec::new();
            for chunk in vec![b'x'; length].chunks(1 << 20) {
                cutter.push(&Bytes::copy_from_slice(chunk), &mut found);
            }
            cutter.push(&Bytes::from_static(b"\nnext\n"), &mut found);
            assert_eq!(found.len(), 2);
            assert_eq!(
                (found[0].length, found[0].shortened),
                (length as u64, shortened)
            );
            assert_eq!(found[0].content.len(), kept);
            assert_eq!(&found[1].content[..], b"next");
        }
    }

    #[test]
    fn behind_a_gap_cutting_begins_with_the_next_message() {
        let mut cutter = Cutter::new(Framing::Lines);
        let mut found = Vec::new();
        cutter.push(&Bytes::from_static(b"one\ntw"), &mut found);
        found.extend(cutter.gap());
        cutter.push(&Bytes::from_static(b"lf\nthirteen\n"), &mut found);
        let pieces: Vec<_> = found
            .iter()
            .map(|it| (&it.content[..], it.unended))
            .collect();
        let expected: [(&[u8], bool); 3] = [(b"one", false), (b"tw", true), (b"thirteen", false)];
        assert_eq!(pieces, expected);
    }
}
