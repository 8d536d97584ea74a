//! The lines that come in, read on a thread of their own.

use std::io::{self, BufRead, BufReader, Read};

use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::CHUNK;
use crate::failure::Failure;

/// The longest line.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;
/// How many lines are handed over at once, if so many are there, and how often that is done ahead.
const LINES_AT_ONCE: usize = 64;
const READ_AHEAD: usize = 4;

/// A line that was read, or why there is none.
pub(super) type Line = Result<String, Failure>;

/// Lines that are read on a thread of their own, because a terminal or a pipe can only be waited
/// for. As many are handed over at once as are there.
pub(super) struct Lines {
    ahead: Mutex<Ahead>,
    further: tokio::sync::Mutex<mpsc::Receiver<Vec<Line>>>,
}

/// The lines at hand.
struct Ahead {
    lines: std::vec::IntoIter<Line>,
    /// How many were given out.
    given: usize,
}

impl Ahead {
    fn next(&mut self) -> Option<(usize, Line)> {
        let line = self.lines.next()?;
        self.given += 1;
        Some((self.given, line))
    }
}

impl Lines {
    pub(super) fn of(input: Box<dyn Read + Send>) -> Self {
        let (tell, further) = mpsc::channel(READ_AHEAD);
        std::thread::spawn(move || read_all(input, &tell));
        Self {
            ahead: Mutex::new(Ahead {
                lines: Vec::new().into_iter(),
                given: 0,
            }),
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
            if !self.ahead.lock().lines.as_slice().is_empty() {
                // Another caller has waited for them.
                continue;
            }
            let must_wait = further.is_empty();
            if must_wait {
                waits(true)?;
            }
            let Some(lines) = further.recv().await else {
                return Ok(None);
            };
            self.ahead.lock().lines = lines.into_iter();
            if must_wait {
                waits(false)?;
            }
        }
    }
}

fn read_all(input: Box<dyn Read + Send>, tell: &mpsc::Sender<Vec<Line>>) {
    let mut input = BufReader::with_capacity(CHUNK, input);
    let mut lines = Vec::new();
    loop {
        let is_last = match read_line(&mut input) {
            Ok(Some(line)) => {
                lines.push(line);
                false
            }
            Ok(None) => true,
            Err(error) => {
                lines.push(Err(Failure::usage(format!("cannot read on: {error}"))));
                true
            }
        };
        let is_full = lines.len() == LINES_AT_ONCE || !input.buffer().contains(&b'\n');
        if is_last || is_full {
            let told = tell.blocking_send(std::mem::take(&mut lines));
            if told.is_err() || is_last {
                return;
            }
        }
    }
}

fn read_line(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let length = input.take(LONGEST_LINE).read_until(b'\n', &mut line)?;
    Ok(match length as u64 {
        0 => None,
        LONGEST_LINE => {
            if !line.ends_with(b"\n") {
                input.skip_until(b'\n')?;
            }
            let message = format!("a line is longer than {LONGEST_LINE} bytes");
            Some(Err(Failure::usage(message)))
        }
        _ => {
            let line = String::from_utf8(line);
            Some(line.map_err(|_| Failure::usage("the line is not valid UTF-8")))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_spoils_itself_only() {
        let long = io::repeat(b'x').take(LONGEST_LINE + 7);
        let mut input = BufReader::new(long.chain(&b"\n{}\n"[..]));
        assert!(matches!(read_line(&mut input), Ok(Some(Err(_)))));
        assert!(matches!(read_line(&mut input), Ok(Some(Ok(line))) if line == "{}\n"));
        assert!(matches!(read_line(&mut input), Ok(None)));
    }
}
