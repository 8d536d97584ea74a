//! Many lines of log in little memory.
//!
//! Lines stand one after the other in large pieces of text, with a few bytes beside each. When there
//! is too much, the oldest piece goes, and what was dropped is counted.

use std::collections::VecDeque;

/// How much memory lines take, with what stands beside them.
const MOST_BYTES: usize = 112 * 1024 * 1024;
/// How much text one piece has.
const PIECE: usize = 64 * 1024;
/// How many lines one piece has, however short they are.
const PIECE_LINES: usize = 4096;
/// The longest line that is kept whole.
const LONGEST_LINE: usize = 8 * 1024;

/// How much a line matters, for the level filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
}

impl Level {
    pub(crate) const ALL: [Self; 5] = [
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
    ];

    pub(crate) fn of(word: &str) -> Self {
        match word {
            "debug" => Self::Debug,
            "info" => Self::Info,
            "notice" => Self::Notice,
            "warning" => Self::Warning,
            _ => Self::Error,
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Where a line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A log notification.
    Log,
    /// Standard error.
    Stderr,
    /// The host: a state, a defect.
    Host,
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogLine<'a> {
    pub(crate) at_ms: u64,
    pub(crate) server: u16,
    pub(crate) level: Level,
    pub(crate) source: Source,
    pub(crate) text: &'a str,
}

#[derive(Debug)]
struct Piece {
    text: String,
    lines: Vec<Record>,
}

impl Piece {
    /// The memory that it takes.
    fn bytes(&self) -> usize {
        self.text.capacity() + self.lines.capacity() * size_of::<Record>()
    }
}

#[derive(Debug)]
struct Record {
    at_ms: u64,
    end: u32,
    server: u16,
    level: Level,
    source: Source,
}

/// Lines of log, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct LogStore {
    pieces: VecDeque<Piece>,
    /// The number of the first line of each piece, counted from the beginning of time.
    starts: VecDeque<u64>,
    next: u64,
    bytes: usize,
    servers: Vec<String>,
}

impl LogStore {
    /// Adds a line.
    pub(crate) fn push(
        &mut self,
        at_ms: u64,
        server: &str,
        level: Level,
        source: Source,
        text: &str,
    ) {
        let server = self.server_number(server);
        let text = crate::text::head(text, LONGEST_LINE);
        let is_full = self.pieces.back().is_none_or(|piece| {
            piece.text.len() + text.len() > PIECE || piece.lines.len() == PIECE_LINES
        });
        if is_full {
            let piece = Piece {
                text: String::with_capacity(PIECE),
                lines: Vec::new(),
            };
            self.bytes += piece.bytes();
            self.pieces.push_back(piece);
            self.starts.push_back(self.next);
        }
        if let Some(piece) = self.pieces.back_mut() {
            let before = piece.bytes();
            piece.text.push_str(text);
            piece.lines.push(Record {
                at_ms,
                end: u32::try_from(piece.text.len()).unwrap_or(u32::MAX),
                server,
                level,
                source,
            });
            self.bytes += piece.bytes() - before;
        }
        self.next += 1;
        while self.bytes > MOST_BYTES
            && let Some(oldest) = self.pieces.pop_front()
        {
            self.bytes -= oldest.bytes();
            self.starts.pop_front();
        }
    }

    fn server_number(&mut self, name: &str) -> u16 {
        let place = self.servers.iter().position(|known| known == name);
        let place = place.unwrap_or_else(|| {
            self.servers.push(name.to_owned());
            self.servers.len() - 1
        });
        u16::try_from(place).unwrap_or(u16::MAX)
    }

    /// The name of a server.
    pub(crate) fn server(&self, number: u16) -> &str {
        self.servers
            .get(usize::from(number))
            .map_or("", String::as_str)
    }

    pub(crate) fn number_of(&self, server: &str) -> Option<u16> {
        let place = self.servers.iter().position(|known| known == server)?;
        u16::try_from(place).ok()
    }

    /// The number of the first line that is kept.
    pub(crate) fn first(&self) -> u64 {
        self.starts.front().copied().unwrap_or(self.next)
    }

    /// The number of the line that comes next.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The line of a number.
    pub(crate) fn get(&self, number: u64) -> Option<LogLine<'_>> {
        let piece = self
            .starts
            .partition_point(|start| *start <= number)
            .checked_sub(1)?;
        let within = usize::try_from(number - self.starts[piece]).ok()?;
        let piece = self.pieces.get(piece)?;
        line(piece, within)
    }

    /// All lines from a number on, for a search; with their numbers.
    pub(crate) fn from(&self, number: u64) -> impl Iterator<Item = (u64, LogLine<'_>)> {
        let first = self
            .starts
            .partition_point(|start| *start <= number)
            .saturating_sub(1);
        let pieces = self.pieces.iter().zip(&self.starts).skip(first);
        pieces.flat_map(move |(piece, start)| {
            let skipped = usize::try_from(number.saturating_sub(*start)).unwrap_or(usize::MAX);
            let lines = (0..piece.lines.len()).skip(skipped);
            lines.filter_map(move |within| Some((*start + within as u64, line(piece, within)?)))
        })
    }
}

fn line(piece: &Piece, within: usize) -> Option<LogLine<'_>> {
    let record = piece.lines.get(within)?;
    let start = match within.checked_sub(1) {
        Some(before) => piece.lines[before].end as usize,
        None => 0,
    };
    Some(LogLine {
        at_ms: record.at_ms,
        server: record.server,
        level: record.level,
        source: record.source,
        text: piece.text.get(start..record.end as usize)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_by_number_and_old_ones_go() {
        let mut store = LogStore::default();
        let long = "ü".repeat(LONGEST_LINE);
        store.push(1, "a", Level::Info, Source::Log, "first");
        store.push(2, "b", Level::Error, Source::Stderr, &long);
        let second = store.get(1).unwrap();
        assert_eq!((second.at_ms, store.server(second.server)), (2, "b"));
        assert_eq!(second.text.len(), LONGEST_LINE);
        assert_eq!(store.get(0).unwrap().text, "first");
        assert_eq!(store.get(2), None);
        for _ in 0..MOST_BYTES / 1000 + 200 {
            store.push(3, "a", Level::Debug, Source::Host, &"x".repeat(1000));
        }
        assert!(store.first() > 0 && store.bytes <= MOST_BYTES);
        assert_eq!(store.get(0), None);
        let first = store.first();
        assert_eq!(store.from(first).count() as u64, store.next() - first);
        assert_eq!(store.from(store.next() - 1).count(), 1);
    }

    #[test]
    fn lines_without_text_take_room_too() {
        let mut store = LogStore::default();
        for _ in 0..MOST_BYTES / size_of::<Record>() {
            store.push(1, "a", Level::Info, Source::Stderr, "");
        }
        assert!(store.first() > 0 && store.bytes <= MOST_BYTES);
        let kept: usize = store.pieces.iter().map(Piece::bytes).sum();
        assert_eq!(kept, store.bytes);
    }
}
