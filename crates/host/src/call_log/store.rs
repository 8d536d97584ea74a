//! The files of the call log, which several processes write at once.
//!
//! Owns the folder's layout, the numbers of calls and how long anything is kept. Files are named
//! after the first number in them and only ever appended to or deleted, never renamed, so a reader
//! needs no lock. A writer holds the lock for the lines it has at the moment; the locked file says
//! which number was given last and which file is written to. If it is damaged, both are found by
//! looking at the files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::record::Line;
use crate::journal::now_ms;
use crate::state_file;

/// The longest line that is read. None that is written comes near it.
pub(super) const LONGEST_LINE: u64 = 4 * 1024 * 1024;

/// How much is kept, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// A file that has grown to this size is followed by another.
    pub(super) file_bytes: u64,
    /// So is one that was begun so long ago.
    pub(super) file_age_ms: u64,
    /// How many files are kept.
    pub(super) files: usize,
    /// Files that were not written to for so long go.
    pub(super) kept_ms: u64,
    /// The most that long arguments and results may take in files of their own.
    pub(super) aside_bytes: u64,
}

/// Room for the lines that are usually written together.
const ROOM: usize = 256 * 1024;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 4 * 1024 * 1024,
            file_age_ms: 7 * DAY_MS,
            files: 8,
            kept_ms: 90 * DAY_MS,
            aside_bytes: 256 * 1024 * 1024,
        }
    }
}

/// Which call a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// One that has no number yet.
    Next,
    Of(u64),
}

/// What the locked file says.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Counter {
    /// The number that was given last.
    last: u64,
    /// The first number of the file that is written to; 0 if there is none.
    file: u64,
    /// When that file was begun.
    since_ms: u64,
}

/// The writing side.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    limits: Limits,
}

impl Store {
    pub(super) fn new(folder: PathBuf, limits: Limits) -> Self {
        Self { folder, limits }
    }

    /// Begins to write. Until that has ended, other processes wait.
    pub(super) fn open(&self) -> io::Result<Appending<'_>> {
        state_file::private_folder(&self.folder)?;
        check_owner(&self.folder)?;
        let mut lock = state_file::lock(&self.folder.join(LOCK))?;
        let counter = self.counter(&mut lock);
        Ok(Appending {
            store: self,
            lock,
            counter,
            length: self.length(counter.file),
            now_ms: now_ms(),
            text: Vec::with_capacity(ROOM),
            failed: None,
        })
    }

    /// How long a file is, if it is there.
    fn length(&self, file: u64) -> Option<u64> {
        let found = fs::metadata(self.folder.join(file_name(file)));
        found.ok().map(|found| found.len())
    }

    fn append_text(&self, file: u64, text: &[u8]) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        state_file::private(&mut options);
        let mut file = options.open(self.folder.join(file_name(file)))?;
        // A line that another process left cut ends here, so that it damages no other.
        if file.seek(SeekFrom::End(0))? > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        file.write_all(text)
    }

    /// Deletes what is too much or too old, except the file that is written to.
    fn delete_old(&self, current: u64) {
        let Ok(mut files) = files(&self.folder) else {
            return;
        };
        files.retain(|first| *first != current);
        let too_many = (files.len() + 1).saturating_sub(self.limits.files);
        for (at, first) in files.iter().enumerate() {
            let path = self.folder.join(file_name(*first));
            if at < too_many || is_older(&path, self.limits.kept_ms) {
                // What cannot be deleted now can be when the next file begins.
                let _ = fs::remove_file(path);
            }
        }
        let oldest = self::files(&self.folder).ok();
        let oldest = oldest.and_then(|files| files.first().copied());
        let aside = self.aside_files();
        for (number, path, _) in aside {
            if Some(number) < oldest {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// The files of long parts: number, path, length.
    fn aside_files(&self) -> Vec<(u64, PathBuf, u64)> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let mut found: Vec<_> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name();
                let number = name.to_str()?.split_once('.')?.0.split_once('-')?;
                let is_aside = matches!(number.0, "result" | "arguments");
                let number = number.1.parse().ok().filter(|_| is_aside)?;
                Some((number, entry.path(), entry.metadata().ok()?.len()))
            })
            .collect();
        found.sort();
        found
    }

    fn counter(&self, lock: &mut File) -> Counter {
        let mut text = String::new();
        let read = lock.read_to_string(&mut text);
        match (read, serde_json::from_str(&text)) {
            (Ok(_), Ok(counter)) => counter,
            _ => self.counted_anew(),
        }
    }

    /// What the locked file would say, from the files themselves.
    fn counted_anew(&self) -> Counter {
        let files = files(&self.folder).unwrap_or_default();
        let Some(&file) = files.last() else {
            return Counter::default();
        };
        let mut last = file;
        // Without the last file's lines its first number is the best that is known.
        let _ = read_lines(&self.folder.join(file_name(file)), |line| {
            if let Ok(line) = line {
                last = last.max(line.n);
            }
        });
        Counter {
            last,
            file,
            since_ms: now_ms(),
        }
    }
}

/// Lines that are written together, under one lock.
pub(super) struct Appending<'a> {
    store: &'a Store,
    lock: File,
    counter: Counter,
    /// How long the current file is with the lines that wait; none if it is not there.
    length: Option<u64>,
    /// When this began.
    now_ms: u64,
    /// The lines that wait to be written to it.
    text: Vec<u8>,
    /// Why lines of an earlier file were not written.
    failed: Option<io::Error>,
}

impl Appending<'_> {
    /// Adds a line about a call and gives its number. `line` is told the number, and may put long
    /// parts aside.
    pub(super) fn add(
        &mut self,
        number: Number,
        line: impl FnOnce(u64, &Aside<'_>) -> io::Result<Line>,
    ) -> io::Result<u64> {
        let number = match number {
            Number::Next => self.counter.last + 1,
            Number::Of(number) => number,
        };
        let store = self.store;
        let line = line(number, &Aside { store, number })?;
        let start = self.text.len();
        if let Err(error) = serde_json::to_writer(&mut self.text, &line) {
            self.text.truncate(start);
            return Err(error.into());
        }
        self.text.push(b'\n');
        let bytes = (self.text.len() - start) as u64;
        if self.needs_file(number, bytes) {
            let line = self.text.split_off(start);
            self.begin_file(number);
            self.text = line;
        }
        self.counter.last = self.counter.last.max(number);
        self.length = Some(self.length.unwrap_or(0) + bytes);
        Ok(number)
    }

    /// Writes what was added.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let written = self.write();
        self.failed.map_or(written, Err)
    }

    /// Whether the current file is full or old.
    fn needs_file(&self, number: u64, bytes: u64) -> bool {
        let limits = &self.store.limits;
        let is_full = match self.length {
            Some(0) => false,
            Some(length) => length + bytes > limits.file_bytes,
            None => true,
        };
        let age_ms = self.now_ms.saturating_sub(self.counter.since_ms);
        let is_old = age_ms > limits.file_age_ms;
        // A file is named after the first call that begins in it.
        let is_next = number > self.counter.last;
        self.counter.file == 0 || ((is_full || is_old) && is_next)
    }

    fn begin_file(&mut self, number: u64) {
        if let Err(error) = self.write() {
            self.failed.get_or_insert(error);
        }
        self.counter.file = number;
        self.counter.since_ms = self.now_ms;
        self.length = Some(0);
        self.store.delete_old(number);
    }

    fn write(&mut self) -> io::Result<()> {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return Ok(());
        }
        // The numbers count as given even if the lines are not written: a cut line may have one.
        write_counter(&mut self.lock, self.counter)?;
        self.store.append_text(self.counter.file, &text)
    }
}

/// Where parts that are too long for a line are put.
pub(super) struct Aside<'a> {
    store: &'a Store,
    number: u64,
}

impl Aside<'_> {
    /// Puts a text into a file of its own and gives the file's name. Old ones make room for it.
    pub(super) fn put(&self, what: &'static str, text: &str) -> io::Result<String> {
        let length = text.len() as u64;
        if length > self.store.limits.aside_bytes {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        let kept = self.store.aside_files();
        let mut total: u64 = kept.iter().map(|(_, _, length)| length).sum();
        for (_, path, freed) in kept {
            if total + length <= self.store.limits.aside_bytes {
                break;
            }
            if fs::remove_file(path).is_ok() {
                total -= freed;
            }
        }
        let name = format!("{what}-{:010}.json", self.number);
        state_file::replace_losable(&self.store.folder.join(&name), text)?;
        Ok(name)
    }
}

const LOCK: &str = "number";

fn file_name(first: u64) -> String {
    format!("calls-{first:010}.jsonl")
}

/// The first numbers of all files, in order.
pub(super) fn files(folder: &Path) -> io::Result<Vec<u64>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files: Vec<u64> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let number = name.to_str()?.strip_prefix("calls-")?;
            number.strip_suffix(".jsonl")?.parse().ok()
        })
        .collect();
    files.sort_unstable();
    Ok(files)
}

/// The path of a file in the folder of a log.
pub(super) fn path(folder: &Path, first: u64) -> PathBuf {
    folder.join(file_name(first))
}

/// Reads a file line by line; a line that is damaged is told as such. One that is still being
/// written has no end yet and is left out.
pub(super) fn read_lines(
    path: &Path,
    mut each: impl FnMut(Result<Line, Damaged>),
) -> io::Result<()> {
    let mut reader = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        if line.pop() != Some(b'\n') {
            if read as u64 == LONGEST_LINE {
                each(Err(Damaged));
                skip_line(&mut reader)?;
                continue;
            }
            return Ok(());
        }
        if line.is_empty() {
            continue;
        }
        each(serde_json::from_slice(&line).map_err(|_| Damaged));
    }
}

/// A line that is none.
#[derive(Debug)]
pub(super) struct Damaged;

fn skip_line(reader: &mut impl io::BufRead) -> io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let (taken, is_done) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), false),
        };
        reader.consume(taken);
        if is_done {
            return Ok(());
        }
    }
}

fn write_counter(lock: &mut File, counter: Counter) -> io::Result<()> {
    let text = serde_json::to_string(&counter)?;
    lock.seek(SeekFrom::Start(0))?;
    lock.write_all(text.as_bytes())?;
    lock.set_len(text.len() as u64)
}

/// A folder that others can write to may hold links that others have put there.
#[cfg(unix)]
fn check_owner(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;

    let found = fs::metadata(folder)?;
    let is_ours = found.uid() == rustix::process::geteuid().as_raw();
    if is_ours && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "other users can write to the folder; make it yours alone, or name another in `[log]`",
    ))
}

#[cfg(not(unix))]
fn check_owner(_folder: &Path) -> io::Result<()> {
    Ok(())
}

fn is_older(path: &Path, age_ms: u64) -> bool {
    let written = fs::metadata(path).and_then(|found| found.modified());
    let age = written.ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age.as_millis() > u128::from(age_ms))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
