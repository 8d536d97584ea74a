//! One direction of a pipe, passed on.

use std::io::{self, Read, Write};

use bytes::Bytes;

use super::Lane;

/// How much is passed on at once: what the pipes to a server hold at most.
const AT_ONCE: usize = 256 * 1024;

/// Why nothing more is passed on.
#[derive(Debug)]
pub enum Stopped {
    /// The source ended.
    EndOfInput,
    /// The source could not be read.
    ReadFailed(io::Error),
    /// The other side takes nothing more.
    WriteFailed(io::Error),
}

/// Passes bytes on until the source ends or the other side takes no more, then closes both, so that
/// each learns what it would have learnt from the other. Reads only when everything before was
/// taken, so a peer that does not read holds the other one back as a bare pipe would. Blocks its
/// thread.
pub fn pass(mut from: impl Read, mut to: impl Write, lane: Option<&Lane>) -> Stopped {
    let mut buffer = vec![0; AT_ONCE];
    let stopped = loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => break Stopped::EndOfInput,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => break Stopped::ReadFailed(error),
        };
        // Handed over first, as it is and without waiting: an answer must not be recorded before its
        // request, and the other side may answer before this thread goes on.
        if let Some(lane) = lane {
            lane.passed(Bytes::copy_from_slice(&buffer[..length]));
        }
        let passed = to.write_all(&buffer[..length]).and_then(|()| to.flush());
        if let Err(error) = passed {
            break Stopped::WriteFailed(error);
        }
    };
    if let Some(lane) = lane {
        lane.ended();
    }
    stopped
}
