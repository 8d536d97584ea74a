//! The reader task: bytes to lines, lines to [`Link::receive`]. Nothing a consumer does can stop it.

use std::sync::Arc;

use attache_protocol::LineFramer;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::{Link, Urgency};
use crate::coalescing::ReadCoalescing;

/// Why reading ended.
#[derive(Debug)]
pub(crate) enum ReadEnd {
    /// The server closed its output.
    EndOfStream,
    /// The server sent too long a message.
    FrameTooLong(usize),
    /// Reading failed.
    Failed(String),
}

impl Link {
    /// Reads until the stream ends. An unfinished last line is discarded (fault 25).
    pub(crate) async fn run_reader(self: &Arc<Self>, mut half: impl AsyncRead + Unpin) -> ReadEnd {
        let mut framer = LineFramer::new(self.limits.frame);
        let mut gathering = ReadCoalescing::default();
        let mut silent = true;
        loop {
            match half.read_buf(framer.buffer_for_read()).await {
                Ok(0) => return ReadEnd::EndOfStream,
                Ok(length) => framer.note_read(length),
                Err(error) => return ReadEnd::Failed(error.to_string()),
            }
            if std::mem::take(&mut silent) {
                self.first_sign.notify_one();
            }
            let mut regard = None;
            loop {
                match framer.next_line() {
                    Ok(Some(line)) => regard = regard.max(Some(self.receive(&line))),
                    Ok(None) => break,
                    Err(too_long) => return ReadEnd::FrameTooLong(too_long.limit),
                }
            }
            match regard {
                Some(Urgency::Unawaited) => gathering.aside().await,
                Some(Urgency::Awaited) => gathering.awaited(),
                // The rest of a long line is on its way.
                None => {}
            }
        }
    }
}
