//! The server's standard output: gathered, then written in the set manner.
//!
//! Owns the buffer, the [`Writing`] manner and the rule that effects are synced
//! before answers leave. Refuses to know what is being said.

use std::io::{self, Write};
use std::sync::Arc;
use std::thread;

use serde_json::Value;

use super::emit::Writing;
use super::journal::Journal;
use super::platform::{self, Stdout};

/// Gathered bytes beyond this leave even when more is about to be said.
pub(super) const GATHER_LIMIT: usize = 256 * 1024;

/// Standard output. A failed write breaks it for good and silences the server,
/// which goes on reading: its client may be gone, or only deaf.
pub(super) struct Output {
    gathered: Vec<u8>,
    writing: Writing,
    broken: bool,
    journal: Arc<Journal>,
}

impl Output {
    pub(super) fn new(writing: Writing, journal: Arc<Journal>) -> Self {
        Self {
            gathered: Vec::with_capacity(GATHER_LIMIT),
            writing,
            broken: false,
            journal,
        }
    }

    pub(super) fn writing(&self) -> Writing {
        self.writing
    }

    /// Changes the manner for bytes said from now on.
    pub(super) fn set_writing(&mut self, writing: Writing) {
        self.flush();
        self.writing = writing;
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken
    }

    /// Says a message on a line of its own.
    pub(super) fn message(&mut self, message: &Value) {
        // Serialising a `Value` into a vector has no way to fail.
        let _ = serde_json::to_writer(&mut self.gathered, message);
        self.gathered
            .extend_from_slice(self.writing.line_end.bytes());
        self.flush_if_full();
    }

    /// Says bytes as they are.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.gathered.extend_from_slice(bytes);
        self.flush_if_full();
    }

    fn flush_if_full(&mut self) {
        if self.gathered.len() >= GATHER_LIMIT {
            self.flush();
        }
    }

    /// Writes out what was gathered.
    pub(super) fn flush(&mut self) {
        if !self.gathered.is_empty() && !self.broken {
            let written = self.journal.sync_effects().and_then(|()| self.write_out());
            self.broken = written.is_err();
        }
        self.gathered.clear();
    }

    fn write_out(&self) -> io::Result<()> {
        let Some(chunk) = self.writing.chunk else {
            return Stdout.write_all(&self.gathered);
        };
        for piece in self.gathered.chunks(chunk) {
            Stdout.write_all(piece)?;
            if !self.writing.pause.is_zero() {
                thread::sleep(self.writing.pause);
            }
        }
        Ok(())
    }

    /// Writes out what was gathered and closes the stream.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.flush();
        self.broken = true;
        platform::close_stdout()
    }
}
