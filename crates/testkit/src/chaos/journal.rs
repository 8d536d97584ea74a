//! The files in which a chaos server records what it saw and did.
//!
//! Owns their names and how they are written. Refuses to know what the lines
//! mean: the launching side reads them back in `launch`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// One line per received line, byte for byte.
pub(super) const RECEIVED: &str = "received.log";
/// One line per side effect.
pub(super) const EFFECTS: &str = "effects.log";
/// One process id per start of the server.
pub(super) const STARTS: &str = "starts.log";
/// One process id per start of the server or its launcher.
pub(super) const PIDS: &str = "pids.log";

/// Open logs of one process. Several processes may append to the same files.
pub(super) struct Journal {
    received: File,
    effects: File,
    effects_unsynced: AtomicBool,
}

impl Journal {
    /// Opens the logs and notes the start of this process.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        note_pid(folder, STARTS)?;
        note_pid(folder, PIDS)?;
        Ok(Self {
            received: append_to(&folder.join(RECEIVED))?,
            effects: append_to(&folder.join(EFFECTS))?,
            effects_unsynced: AtomicBool::new(false),
        })
    }

    /// Notes a received line. `line` carries its line end unless the input
    /// ended within it.
    pub(super) fn received(&self, line: &[u8]) -> io::Result<()> {
        if line.ends_with(b"\n") {
            return (&self.received).write_all(line);
        }
        let mut ended = line.to_vec();
        ended.push(b'\n');
        (&self.received).write_all(&ended)
    }

    /// Notes a side effect. It survives the death of this process at once, and
    /// that of the machine after [`Journal::sync_effects`].
    pub(super) fn effect(&self, line: &str) -> io::Result<()> {
        (&self.effects).write_all(format!("{line}\n").as_bytes())?;
        self.effects_unsynced.store(true, Ordering::Release);
        Ok(())
    }

    /// Syncs noted side effects. Called before any answer leaves, so that no
    /// answer can be seen whose effect is not on disk; one sync serves all
    /// answers of a batch.
    pub(super) fn sync_effects(&self) -> io::Result<()> {
        if self.effects_unsynced.swap(false, Ordering::AcqRel) {
            self.effects.sync_data()?;
        }
        Ok(())
    }
}

/// Appends the id of this process to a log.
pub(super) fn note_pid(folder: &Path, log: &str) -> io::Result<()> {
    let line = format!("{}\n", std::process::id());
    append_to(&folder.join(log))?.write_all(line.as_bytes())
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}
