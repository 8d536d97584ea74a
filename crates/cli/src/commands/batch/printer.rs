//! The endings that go out: one line each, in the order of the calls, many written at once.

use std::collections::BTreeMap;

use super::CHUNK;
use crate::failure::Failure;
use crate::output::Output;

/// How many calls may be under way or have ended before an earlier one.
const MOST_WAITING: usize = 4096;

/// The place of a call among the others, and the line it came from.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) number: usize,
    pub(super) line: usize,
}

/// One call's ending.
pub(super) struct Ended {
    pub(super) line: String,
    pub(super) is_result: bool,
}

enum Call {
    /// It is under way, and came from this line.
    Open(usize),
    /// It has ended before an earlier one.
    Early(String),
}

pub(super) struct Printer {
    output: Output,
    is_unordered: bool,
    /// Calls whose endings are not printed, by their numbers.
    calls: BTreeMap<usize, Call>,
    begun: usize,
    failed: usize,
    /// Lines that wait to be written with others.
    lines: String,
    /// Whether what is ready is written at once, because more may be long in coming.
    is_prompt: bool,
}

impl Printer {
    pub(super) fn new(output: Output, is_unordered: bool) -> Self {
        Self {
            output,
            is_unordered,
            calls: BTreeMap::new(),
            begun: 0,
            failed: 0,
            lines: String::new(),
            is_prompt: false,
        }
    }

    /// How many calls have begun, and how many of them have failed.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.begun, self.failed)
    }

    /// Keeps a place for the ending of a call.
    pub(super) fn begin(&mut self, line: usize) -> Place {
        self.begun += 1;
        let number = self.begun;
        self.calls.insert(number, Call::Open(line));
        Place { number, line }
    }

    /// Whether no more calls should begin before some endings are printed.
    pub(super) fn is_full(&self) -> bool {
        self.calls.len() >= MOST_WAITING
    }

    /// Takes an ending. Whether there is room now where there was none.
    pub(super) fn end(&mut self, place: Place, ended: Ended) -> Result<bool, Failure> {
        self.failed += usize::from(!ended.is_result);
        let was_full = self.is_full();
        if self.is_unordered {
            self.calls.remove(&place.number);
            self.add(&ended.line);
        } else {
            self.calls.insert(place.number, Call::Early(ended.line));
            while let Some(first) = self.calls.first_entry()
                && matches!(first.get(), Call::Early(_))
            {
                if let Call::Early(line) = first.remove() {
                    self.add(&line);
                }
            }
        }
        if self.is_prompt || self.lines.len() >= CHUNK {
            self.flush()?;
        }
        Ok(was_full && !self.is_full())
    }

    /// Calls under way, which will not end any more, end so.
    pub(super) fn end_all(&mut self, ended: impl Fn(Place) -> Ended) -> Result<(), Failure> {
        let open = self.calls.iter().filter_map(|(&number, call)| match call {
            Call::Open(line) => Some(Place {
                number,
                line: *line,
            }),
            Call::Early(_) => None,
        });
        for place in open.collect::<Vec<_>>() {
            self.end(place, ended(place))?;
        }
        Ok(())
    }

    /// Whether endings are written as they come.
    pub(super) fn prompt(&mut self, is_prompt: bool) -> Result<(), Failure> {
        self.is_prompt = is_prompt;
        match is_prompt {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn add(&mut self, line: &str) {
        self.lines.push_str(line);
        self.lines.push('\n');
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if !self.lines.is_empty() {
            self.output.documents(&self.lines)?;
            self.lines.clear();
        }
        Ok(())
    }
}
