//! Why a recording could not be read or written.

use std::io;
use std::path::PathBuf;

/// Why a recording could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The file could not be opened or made.
    #[error("cannot open {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is there and is something else, so it is not overwritten.
    #[error("{} is no recording, so it is not replaced; name another file", path.display())]
    NotReplaced {
        /// The file.
        path: PathBuf,
    },
    /// Only a file that grows line by line can be followed.
    #[error("{} cannot be followed: {problem}", path.display())]
    NotFollowed {
        /// The file.
        path: PathBuf,
        /// Why not, and what can be.
        problem: &'static str,
    },
    /// Another process records into the file.
    #[error("another process records into {}", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Reading failed.
    #[error("line {line}: reading failed: {source}")]
    Read {
        /// The line, counted from one.
        line: u64,
        /// What the system says.
        source: io::Error,
    },
    /// The file does not begin like a recording.
    #[error("line 1: this is no recording: {problem}; `attache tap --record FILE` makes one")]
    NoRecording {
        /// What stands there instead.
        problem: String,
    },
    /// The recording is of another version.
    #[error(
        "line 1: the recording has format {found}, this program reads {known}; use a newer one"
    )]
    NewerFormat {
        /// The version in the file.
        found: u64,
        /// The version that is read here.
        known: u64,
    },
    /// A line is longer than any that is written.
    #[error(
        "line {line}: it is longer than {limit} bytes, which no recorder writes; remove the line, \
         or record again"
    )]
    LineTooLong {
        /// The line, counted from one.
        line: u64,
        /// The limit.
        limit: usize,
    },
    /// A line is not what a line of a recording is.
    #[error("line {line}: {problem}; remove the line, or record again")]
    BadLine {
        /// The line, counted from one.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The numbers of the lines do not rise.
    #[error(
        "line {line}: number {found} comes after number {before}, so lines were moved or joined; \
         record again, or take the file as it was written"
    )]
    WrongOrder {
        /// The line, counted from one.
        line: u64,
        /// Its number.
        found: u64,
        /// The number before it.
        before: u64,
    },
    /// Something follows the footer.
    #[error(
        "line {line}: the recording ended in the line before; remove what follows, such as a \
         second recording"
    )]
    AfterFooter {
        /// The line, counted from one.
        line: u64,
    },
    /// The recording is larger than is read into memory.
    #[error("the recording holds more than {limit} bytes; record less, or cut it into parts")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
}
