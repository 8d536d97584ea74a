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
/// One line per side effect, each ended by [`WHOLE`].
pub(super) const EFFECTS: &str = "effects.log";
/// The end of a side effect that was written whole. A kill can cut a write at the end of a page of
/// the file, and what the next process appends must neither complete that line nor be spoilt by it.
const WHOLE: &str = " done";
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
        (&self.effects).write_all(format!("\n{line}{WHOLE}").as_bytes())?;
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

/// The side effects in the text of their log. One that was cut by a kill has not happened.
pub(super) fn whole_effects(log: &str) -> Vec<String> {
    let whole = log.lines().filter_map(|line| line.strip_suffix(WHOLE));
    whole.map(str::to_owned).collect()
}

/// Appends the id of this process to a log.
pub(super) fn note_pid(folder: &Path, log: &str) -> io::Result<()> {
    let line = format!("{}\n", std::process::id());
    append_to(&folder.join(log))?.write_all(line.as_bytes())
}

fn append_to(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p1_an_effect_that_a_kill_cut_is_none_and_spoils_no_other() {
        let folder = crate::scratch::Scratch::new("journal").unwrap();
        let path = folder.path().join(EFFECTS);
        let whole = format!("\n123456{WHOLE}");
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let journal = Journal::open(folder.path()).unwrap();
            journal.effect("7").unwrap();
            let log = std::fs::read_to_string(&path).unwrap();
            assert_eq!(whole_effects(&log), ["7"], "cut after {length} bytes");
        }
    }
}
