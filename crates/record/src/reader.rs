//! Reads recordings, also those that are cut, damaged or hostile.
//!
//! One line at a time, each of bounded length. A last line without its end is where the recording
//! was cut; anything else that is wrong is an error that names the line and the remedy. A file may
//! hold several recordings, one behind the other; their lines and connections are numbered on.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::error::RecordError;
use crate::file::is_compressed;
use crate::format::{Entry, FORMAT, Footer, Header, Parsed, parse};

/// The longest line: the longest message that is kept, written as text with every byte escaped.
const LONGEST_LINE: usize = 6 * attache_protocol::DEFAULT_MAX_FRAME + 64 * 1024;
/// How much is read into memory at once.
const LARGEST: u64 = 1024 * 1024 * 1024;

/// Whether a recording has its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// It has its footer.
    Whole,
    /// It ends without a footer: the recorder was killed, or still records.
    Cut,
}

/// A recording in memory.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The first line.
    pub header: Header,
    /// What was recorded.
    pub entries: Vec<Entry>,
    /// The last line, unless the recording was cut.
    pub footer: Option<Footer>,
}

impl Recording {
    /// Reads a file, compressed if its name ends in `.gz`.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        Self::collect(Reader::open(path)?)
    }

    /// Reads all that a reader has.
    pub fn collect(mut reader: Reader) -> Result<Self, RecordError> {
        let mut entries = Vec::new();
        while let Some(entry) = reader.next_entry()? {
            if reader.consumed > LARGEST {
                return Err(RecordError::TooLarge { limit: LARGEST });
            }
            entries.push(entry);
        }
        Ok(Self {
            footer: reader.footer(),
            header: reader.header,
            entries,
        })
    }

    /// Whether it has its end.
    pub fn completeness(&self) -> Completeness {
        match self.footer {
            Some(_) => Completeness::Whole,
            None => Completeness::Cut,
        }
    }

    /// Whether anything in it stands in for a secret.
    pub fn is_redacted(&self) -> bool {
        self.entries
            .iter()
            .any(|entry| !entry.redacted.is_empty() && entry.message().is_some())
    }
}

/// Reads a recording line by line.
pub struct Reader {
    input: Box<dyn BufRead + Send>,
    header: Header,
    footer: Option<Footer>,
    /// The footers of recordings before this one.
    earlier: Vec<Footer>,
    line: u64,
    /// The number of the last line, in its own recording.
    seq: u64,
    /// What the recordings before this one add to numbers, connections and times.
    before: Before,
    /// The highest connection so far.
    last_conn: u32,
    /// Whether a recording before this one has no footer.
    is_cut: bool,
    /// What was found behind a line that could not be read.
    ahead: Option<Result<Parsed, String>>,
    consumed: u64,
    buffer: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Before {
    seq: u64,
    conn: u32,
    t_us: u64,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Reader")
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

/// What one attempt to read a line gave.
enum Taken {
    /// A whole line is in the buffer.
    Line,
    /// The input ended within a line, which is in the buffer.
    Cut,
    End,
}

impl Reader {
    /// Opens a file, compressed if its name ends in `.gz`.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let file = File::open(path).map_err(|source| RecordError::Open {
            path: path.to_path_buf(),
            source,
        })?;
        let input = BufReader::new(file);
        match is_compressed(path) {
            true => Self::new(BufReader::new(MultiGzDecoder::new(input))),
            false => Self::new(input),
        }
    }

    /// Reads from anything.
    pub fn new(input: impl BufRead + Send + 'static) -> Result<Self, RecordError> {
        let mut reader = Self {
            input: Box::new(input),
            header: Header::new(crate::Transport::Stdio, "", crate::Redaction::None),
            footer: None,
            earlier: Vec::new(),
            line: 0,
            seq: 0,
            before: Before::default(),
            last_conn: 0,
            is_cut: false,
            ahead: None,
            consumed: 0,
            buffer: Vec::new(),
        };
        reader.read_header()?;
        Ok(reader)
    }

    /// The first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// How many bytes of the recording were read.
    pub fn position(&self) -> u64 {
        self.consumed
    }

    /// What the recording says at its end, once that was reached; nothing if it was cut. Of several
    /// recordings in one file the sum.
    pub fn footer(&self) -> Option<Footer> {
        let mut sum = self.footer.clone().filter(|_| !self.is_cut)?;
        for footer in &self.earlier {
            // The numbers are whatever the file says.
            sum.frames = sum.frames.saturating_add(footer.frames);
            sum.bytes = sum.bytes.saturating_add(footer.bytes);
            sum.redacted = sum.redacted.saturating_add(footer.redacted);
            sum.lost.add(footer.lost);
            sum.revisions.extend(footer.revisions.iter().cloned());
        }
        sum.revisions.sort();
        sum.revisions.dedup();
        Some(sum)
    }

    /// The next line; nothing at the end of the recording, be it whole or cut.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, RecordError> {
        loop {
            let parsed = match self.ahead.take() {
                Some(parsed) => parsed,
                None => match self.next_parsed()? {
                    Some(parsed) => parsed,
                    None => return Ok(None),
                },
            };
            match parsed {
                Ok(Parsed::Header) => self.begin_another()?,
                _ if self.footer.is_some() => {
                    return Err(RecordError::AfterFooter { line: self.line });
                }
                Ok(Parsed::Footer(footer)) => self.footer = Some(footer),
                Ok(Parsed::Entry(entry)) => return self.number(*entry).map(Some),
                Err(problem) => {
                    let line = self.line;
                    // Where a recorder was stopped in a line, the next one began a new recording.
                    match self.next_parsed()? {
                        Some(Ok(Parsed::Header)) => self.ahead = Some(Ok(Parsed::Header)),
                        _ => return Err(RecordError::BadLine { line, problem }),
                    }
                }
            }
        }
    }

    /// The next line, or what is wrong with it; nothing at the end.
    fn next_parsed(&mut self) -> Result<Option<Result<Parsed, String>>, RecordError> {
        let is_cut = match self.take_line()? {
            Taken::End => return Ok(None),
            Taken::Line => false,
            Taken::Cut => true,
        };
        match text(&self.buffer).and_then(parse) {
            // The end of what was written before the recorder was stopped.
            Err(_) if is_cut && self.footer.is_none() => Ok(None),
            parsed => Ok(Some(parsed)),
        }
    }

    /// Goes on with the recording that begins here. Its own header counts for its times only.
    fn begin_another(&mut self) -> Result<(), RecordError> {
        let first = self.header.clone();
        let earlier = self.footer.take();
        self.is_cut |= earlier.is_none();
        self.earlier.push(earlier.unwrap_or_default());
        self.read_version()?;
        let later_ms = self.header.started_ms.saturating_sub(first.started_ms);
        self.before = Before {
            seq: self.before.seq.saturating_add(self.seq),
            conn: self.last_conn,
            t_us: later_ms.saturating_mul(1000),
        };
        self.seq = 0;
        self.header = first;
        Ok(())
    }

    fn number(&mut self, mut entry: Entry) -> Result<Entry, RecordError> {
        if entry.seq <= self.seq {
            return Err(RecordError::WrongOrder {
                line: self.line,
                found: entry.seq,
                before: self.seq,
            });
        }
        self.seq = entry.seq;
        entry.seq = entry.seq.saturating_add(self.before.seq);
        entry.conn = entry.conn.saturating_add(self.before.conn);
        entry.t_us = entry.t_us.saturating_add(self.before.t_us);
        self.last_conn = self.last_conn.max(entry.conn);
        Ok(entry)
    }

    fn read_header(&mut self) -> Result<(), RecordError> {
        let no_recording = |problem: String| RecordError::NoRecording { problem };
        if let Taken::End = self.take_line()? {
            return Err(no_recording("it is empty".to_owned()));
        }
        self.read_version()
    }

    /// Reads the header in the buffer.
    fn read_version(&mut self) -> Result<(), RecordError> {
        let line = self.line;
        let no_recording = |problem: String| match line {
            1 => RecordError::NoRecording { problem },
            line => RecordError::BadLine { line, problem },
        };
        #[derive(serde::Deserialize)]
        struct Version {
            format: u64,
        }
        let line = text(&self.buffer).map_err(no_recording)?;
        let version: Version = serde_json::from_str(line)
            .map_err(|_| no_recording("the first line is no header with \"format\"".to_owned()))?;
        if version.format != FORMAT {
            return Err(RecordError::NewerFormat {
                found: version.format,
                known: FORMAT,
            });
        }
        self.header =
            serde_json::from_str(line).map_err(|error| no_recording(error.to_string()))?;
        Ok(())
    }

    fn take_line(&mut self) -> Result<Taken, RecordError> {
        self.buffer.clear();
        self.line += 1;
        let most = LONGEST_LINE as u64 + 1;
        let read = (&mut self.input)
            .take(most)
            .read_until(b'\n', &mut self.buffer);
        let read = match read {
            Ok(read) => read,
            // A compressed recording that was cut has no proper end.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => self.buffer.len(),
            Err(source) => {
                return Err(RecordError::Read {
                    line: self.line,
                    source,
                });
            }
        };
        self.consumed += read as u64;
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
            return Ok(Taken::Line);
        }
        match self.buffer.len() {
            0 => Ok(Taken::End),
            length if length > LONGEST_LINE => Err(RecordError::LineTooLong {
                line: self.line,
                limit: LONGEST_LINE,
            }),
            _ => Ok(Taken::Cut),
        }
    }
}

/// Messages stay raw here, so a line may nest as deep as its sender liked.
fn text(line: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(line).map_err(|error| format!("it is not UTF-8: {error}"))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const HEADER: &str =
        r#"{"format":1,"tool":"t","started_ms":1,"target":"x","transport":"stdio"}"#;

    fn read(text: &[u8]) -> Result<Recording, RecordError> {
        Recording::collect(Reader::new(Cursor::new(text.to_vec()))?)
    }

    fn lines(lines: &[&str]) -> String {
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_a_remedy() {
        let first = r#"{"seq":2,"t_us":1,"dir":"c2s","conn":1,"raw":{}}"#;
        let footer = r#"{"footer":{"ended_ms":1,"frames":1,"bytes":2}}"#;
        for (text, expected) in [
            (String::new(), "line 1: this is no recording: it is empty"),
            ("hello\n".to_owned(), "line 1: this is no recording"),
            ("{}\n".to_owned(), "line 1: this is no recording"),
            (
                "{\"format\":2}\n".to_owned(),
                "line 1: the recording has format 2",
            ),
            (
                lines(&[HEADER, "oops"]),
                "line 2: it is no line of a recording",
            ),
            (
                lines(&[HEADER, first, "{}"]),
                "line 3: \"dir\" is missing; remove the line",
            ),
            (
                lines(&[HEADER, r#"{"seq":1,"t_us":1,"dir":"up"}"#]),
                "line 2: it is no line of a recording: unknown variant `up`",
            ),
            (
                lines(&[HEADER, r#"{"seq":1,"t_us":1,"dir":"c2s"}"#]),
                "line 2: it holds no message",
            ),
            (
                lines(&[
                    HEADER,
                    r#"{"seq":1,"t_us":1,"dir":"c2s","raw":1,"text":""}"#,
                ]),
                "line 2: it holds more than one message",
            ),
            (
                lines(&[HEADER, r#"{"seq":1,"t_us":1,"dir":"c2s","base64":"*"}"#]),
                "line 2: \"base64\" cannot be decoded",
            ),
            (
                lines(&[HEADER, first, first]),
                "line 3: number 2 comes after number 2",
            ),
            (
                lines(&[HEADER, footer, first]),
                "line 3: the recording ended in the line before",
            ),
        ] {
            let error = read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
        let error = read(&[HEADER.as_bytes(), b"\n\xff\n"].concat())
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("line 2: it is not UTF-8"), "{error}");
    }

    #[test]
    fn recordings_one_behind_the_other_are_numbered_on() {
        let entry = r#"{"seq":1,"t_us":5,"dir":"c2s","conn":1,"raw":{}}"#;
        let footer = r#"{"footer":{"ended_ms":1,"frames":1,"bytes":2}}"#;
        let later = HEADER.replace("\"started_ms\":1", "\"started_ms\":3");
        let recording =
            read(lines(&[HEADER, entry, footer, &later, entry, footer]).as_bytes()).unwrap();
        let numbers: Vec<_> = recording
            .entries
            .iter()
            .map(|it| (it.seq, it.conn, it.t_us))
            .collect();
        assert_eq!(numbers, [(1, 1, 5), (2, 2, 2005)]);
        assert_eq!(recording.footer.unwrap().frames, 2);
        // The first was cut within a line, and the second begins on a line of its own.
        let text = lines(&[HEADER, entry, "{\"seq\":2,\"t_", &later, entry, footer]);
        let recording = read(text.as_bytes()).unwrap();
        assert_eq!(recording.entries.len(), 2);
        assert_eq!(recording.completeness(), Completeness::Cut);
    }

    #[test]
    fn numbers_of_any_size_are_read() {
        let most = u64::MAX;
        let entry =
            format!(r#"{{"seq":{most},"t_us":{most},"dir":"c2s","conn":4294967295,"raw":{{}}}}"#);
        let footer = format!(
            r#"{{"footer":{{"ended_ms":{most},"frames":{most},"bytes":{most},"redacted":{most},"lost":{{"frames":{most},"bytes":{most}}}}}}}"#
        );
        let one = [HEADER, &entry, &footer];
        let recording = read(lines(&[one, one, one].concat()).as_bytes()).unwrap();
        assert_eq!(recording.entries.len(), 3);
        let footer = recording.footer.unwrap();
        assert_eq!((footer.frames, footer.lost.bytes), (most, most));
    }

    #[test]
    fn s23_a_message_that_nests_deep_is_kept_raw() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let line = format!(r#"{{"seq":1,"t_us":1,"dir":"s2c","raw":{deep}}}"#);
        let recording = read(lines(&[HEADER, &line]).as_bytes()).unwrap();
        assert_eq!(recording.entries[0].message(), Some(deep.as_str()));
        let conversation = crate::Conversation::of(&recording);
        assert_eq!(conversation.unpaired, 1);
    }

    #[test]
    fn a_line_at_the_limit_is_read_and_a_longer_one_refused() {
        struct Long(usize);
        impl io::Read for Long {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let length = buffer.len().min(self.0);
                buffer[..length].fill(b'x');
                self.0 -= length;
                Ok(length)
            }
        }
        for (length, is_refused) in [(LONGEST_LINE, false), (LONGEST_LINE + 1, true)] {
            let begin = Cursor::new(format!("{HEADER}\n"));
            let input = io::Read::chain(begin, Long(length));
            let found = Recording::collect(Reader::new(BufReader::new(input)).unwrap());
            match found {
                // Without a line end it is where the recording was cut.
                Ok(recording) => assert!(!is_refused && recording.entries.is_empty()),
                Err(error) => {
                    assert!(is_refused, "{error}");
                    let text = error.to_string();
                    assert!(text.starts_with("line 2: it is longer than"), "{text}");
                }
            }
        }
    }

    #[test]
    fn members_that_a_later_version_adds_are_skipped() {
        let line = r#"{"seq":1,"t_us":1,"dir":"c2s","new":{"a":[1]},"raw":{"x":1.50}}"#;
        let recording = read(lines(&[HEADER, line]).as_bytes()).unwrap();
        assert_eq!(recording.entries[0].message(), Some(r#"{"x":1.50}"#));
        assert_eq!(recording.completeness(), Completeness::Cut);
    }
}
