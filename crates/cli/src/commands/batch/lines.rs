//! The lines that come in, read on a thread of their own.

use std::io::{self, Read};

use bytes::Bytes;
use memchr::{memchr, memrchr};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::CHUNK;
use crate::failure::Failure;

/// The longest line.
const LONGEST_LINE: usize = 64 * 1024 * 1024;
/// How many pieces of the input are read ahead.
const READ_AHEAD: usize = 4;

/// A line that was read, or why there is none.
pub(super) type Line = Result<Bytes, Failure>;

/// Lines that are read on a thread of their own, because a terminal or a pipe can only be waited
/// for. As many are handed over at once as are there, in one piece of memory.
pub(super) struct Lines {
    ahead: Mutex<Ahead>,
    further: tokio::sync::Mutex<mpsc::Receiver<Piece>>,
}

/// What is handed over: whole lines, the last of which may lack its end, or a line that is none.
type Piece = Result<Bytes, Failure>;

/// The lines at hand.
#[derive(Default)]
struct Ahead {
    lines: Bytes,
    spoilt: Option<Failure>,
    /// How many were given out.
    given: usize,
}

impl Ahead {
    fn next(&mut self) -> Option<(usize, Line)> {
        let line = match self.spoilt.take() {
            Some(failure) => Err(failure),
            None if self.lines.is_empty() => return None,
            None => {
                let end = memchr(b'\n', &self.lines).map_or(self.lines.len(), |at| at + 1);
                Ok(self.lines.split_to(end))
            }
        };
        self.given += 1;
        Some((self.given, line))
    }

    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.spoilt.is_none()
    }

    fn fill(&mut self, piece: Piece) {
        match piece {
            Ok(lines) => self.lines = lines,
            Err(failure) => self.spoilt = Some(failure),
        }
    }
}

impl Lines {
    pub(super) fn of(input: Box<dyn Read + Send>) -> Self {
        let (tell, further) = mpsc::channel(READ_AHEAD);
        std::thread::spawn(move || read_all(input, |piece| tell.blocking_send(piece).is_ok()));
        Self {
            ahead: Mutex::default(),
            further: tokio::sync::Mutex::new(further),
        }
    }

    /// The next line and its number. `waits` is told when none is at hand, and when that is over.
    pub(super) async fn next(
        &self,
        waits: impl Fn(bool) -> Result<(), Failure>,
    ) -> Result<Option<(usize, Line)>, Failure> {
        loop {
            if let Some(next) = self.ahead.lock().next() {
                return Ok(Some(next));
            }
            let mut further = self.further.lock().await;
            if !self.ahead.lock().is_empty() {
                // Another caller has waited for them.
                continue;
            }
            let must_wait = further.is_empty();
            if must_wait {
                waits(true)?;
            }
            let Some(piece) = further.recv().await else {
                return Ok(None);
            };
            self.ahead.lock().fill(piece);
            if must_wait {
                waits(false)?;
            }
        }
    }
}

/// Hands over all lines, until `tell` says that they are not wanted any more.
fn read_all(mut input: impl Read, tell: impl Fn(Piece) -> bool) {
    // What was read since the last end of a line.
    let mut begun = Vec::new();
    // The line that has begun is too long, and was told.
    let mut is_passed_over = false;
    loop {
        let before = begun.len();
        begun.resize(before + CHUNK, 0);
        let length = match input.read(&mut begun[before..]) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                begun.truncate(before);
                continue;
            }
            Err(error) => {
                tell(Err(Failure::usage(format!("cannot read on: {error}"))));
                return;
            }
        };
        begun.truncate(before + length);
        if length == 0 {
            if !begun.is_empty() && !is_passed_over {
                tell(Ok(begun.into()));
            }
            return;
        }
        if is_passed_over {
            let Some(end) = memchr(b'\n', &begun) else {
                begun.clear();
                continue;
            };
            begun.drain(..=end);
            is_passed_over = false;
        }
        let searched = before.min(begun.len());
        if let Some(end) = memrchr(b'\n', &begun[searched..]) {
            let further = begun.split_off(searched + end + 1);
            let lines = std::mem::replace(&mut begun, further);
            if !tell(Ok(lines.into())) {
                return;
            }
        }
        if begun.len() > LONGEST_LINE {
            let message = format!("a line is longer than {LONGEST_LINE} bytes");
            if !tell(Err(Failure::usage(message))) {
                return;
            }
            begun = Vec::new();
            is_passed_over = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its text in pieces of this length.
    struct InPieces<'a>(&'a [u8], usize);

    impl Read for InPieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(self.0.len()).min(into.len());
            self.0.read(&mut into[..length])
        }
    }

    /// The lines of an input, a question mark for each that is none.
    fn lines(input: impl Read) -> Vec<String> {
        let pieces = Mutex::new(Vec::new());
        read_all(input, |piece| {
            pieces.lock().push(piece);
            true
        });
        let mut ahead = Ahead::default();
        let mut lines = Vec::new();
        for piece in pieces.into_inner() {
            ahead.fill(piece);
            while let Some((number, line)) = ahead.next() {
                let line = line.map(|line| String::from_utf8_lossy(&line).into_owned());
                lines.push(line.unwrap_or_else(|_| "?".to_owned()));
                assert_eq!(number, lines.len());
            }
        }
        lines
    }

    #[test]
    fn lines_are_the_same_however_they_come() {
        let text = b"one\n\ntwo and more\r\nthree";
        for length in 1..=text.len() {
            let found = lines(InPieces(text, length));
            assert_eq!(found, ["one\n", "\n", "two and more\r\n", "three"]);
        }
        assert!(lines(&b""[..]).is_empty());
        let long = format!("{}\nx\n", "y".repeat(3 * CHUNK));
        assert_eq!(lines(long.as_bytes()).len(), 2);
    }

    #[test]
    fn a_line_that_is_too_long_spoils_itself_only() {
        let long = io::repeat(b'x').take(LONGEST_LINE as u64 + 2 * CHUNK as u64);
        assert_eq!(lines(long.chain(&b"\n{}\n"[..])), ["?", "{}\n"]);
        let fits = io::repeat(b'x').take(LONGEST_LINE as u64 - 1);
        assert_eq!(lines(fits.chain(&b"\n{}\n"[..])).len(), 2);
        let endless = io::repeat(b'x').take(LONGEST_LINE as u64 + 1);
        assert_eq!(lines(endless), ["?"]);
    }
}
