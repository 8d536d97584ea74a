//! Writes a recording, on a thread of its own.
//!
//! Owns the file and the order of its lines. The holder of a [`Tape`] hands over what went by and
//! goes on; a slow or full disk costs frames, which are counted, and never time on the hot path.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, BufWriter, Seek as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use attache_protocol::{Json, Revision};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::value::RawValue;

pub use crate::cut::Framing;
use crate::cut::{Cutter, Piece};
use crate::error::RecordError;
pub use crate::file::Existing;
use crate::file::{is_compressed, open_file};
use crate::format::{
    Body, Direction, Entry, Footer, Header, HttpHead, Lost, WrittenFooter, now_ms,
};
use crate::queue::{Item, Queue, What};
use crate::redaction::Policy;

/// How often a compressed file is made readable up to its end.
const COMPRESSED_FLUSH: Duration = Duration::from_secs(1);

/// What bounds a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many bytes may wait to be written.
    pub max_queue: usize,
    /// How many bytes of messages are recorded; what comes later is counted as lost.
    pub max_file: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_queue: 64 * 1024 * 1024,
            max_file: 4 * 1024 * 1024 * 1024,
        }
    }
}

/// A recording that is being made. Dropping it ends the recording without waiting for the disk.
#[derive(Debug)]
pub struct Recorder {
    queue: Arc<Queue>,
    writer: Option<JoinHandle<Summary>>,
    path: PathBuf,
    begins_at: u64,
}

/// Takes what goes by. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tape(Arc<Queue>);

/// What was recorded.
#[derive(Debug, Default)]
pub struct Summary {
    /// How many lines were written.
    pub frames: u64,
    /// What is missing.
    pub lost: Lost,
    /// Why writing stopped before the end, if it did.
    pub error: Option<io::Error>,
}

impl Recorder {
    /// Begins a recording in a file that only the user can read. An earlier recording there is
    /// continued or replaced; any other file is left alone.
    pub fn create(
        path: &Path,
        header: Header,
        policy: Policy,
        limits: Limits,
        existing: Existing,
    ) -> Result<Self, RecordError> {
        let began = Instant::now();
        let open = |source| RecordError::Open {
            path: path.to_path_buf(),
            source,
        };
        let mut file = open_file(path, existing)?;
        // A pipe has no places, and nothing before this.
        let begins_at = file.stream_position().unwrap_or_default();
        let output = match is_compressed(path) {
            true => Output::Compressed(
                Box::new(GzEncoder::new(BufWriter::new(file), Compression::fast())),
                began,
            ),
            false => Output::Plain(BufWriter::new(file)),
        };
        let mut writer = Writer {
            output,
            policy,
            began,
            limits,
            cutters: HashMap::new(),
            footer: Footer::default(),
            revisions: BTreeSet::new(),
            seq: 0,
            line: Vec::new(),
            error: None,
            is_full: false,
        };
        // A disk that takes nothing is told of before anything is started.
        writer.write_json(&header);
        writer.flush();
        if let Some(error) = writer.error.take() {
            return Err(open(error));
        }
        let queue = Arc::new(Queue::new(limits.max_queue));
        let incoming = Arc::clone(&queue);
        let thread = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || {
                step_back();
                writer.run(&incoming)
            })
            .map_err(open)?;
        Ok(Self {
            queue,
            writer: Some(thread),
            path: path.to_path_buf(),
            begins_at,
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where in the file this recording begins: behind those that it held already.
    pub fn begins_at(&self) -> u64 {
        self.begins_at
    }

    /// Where to hand over what goes by.
    pub fn tape(&self) -> Tape {
        Tape(Arc::clone(&self.queue))
    }

    /// Ends the recording, and waits until it is written.
    pub fn finish(mut self) -> Summary {
        self.queue.close();
        let ended = self.writer.take().map(JoinHandle::join);
        match ended {
            Some(Ok(summary)) => summary,
            _ => Summary {
                error: Some(io::Error::other("the recorder has failed")),
                ..Summary::default()
            },
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl Tape {
    /// Bytes of a stream went by.
    pub fn bytes(&self, conn: u32, dir: Direction, framing: Framing, bytes: Bytes) {
        self.put(conn, dir, What::Bytes(bytes, framing));
    }

    /// A whole message went by some time ago. `redacted` says where others have replaced secrets.
    pub fn message(
        &self,
        ago: Duration,
        conn: u32,
        dir: Direction,
        message: Bytes,
        redacted: Vec<String>,
    ) {
        let now = Instant::now();
        self.0.push(Item {
            at: now.checked_sub(ago).unwrap_or(now),
            conn,
            dir,
            what: What::Message(message, redacted),
        });
    }

    /// So much is missing here.
    pub fn lost(&self, lost: Lost) {
        self.put(0, Direction::State, What::Gap(lost));
    }

    /// A stream ended.
    pub fn end(&self, conn: u32, dir: Direction) {
        self.put(conn, dir, What::End);
    }

    /// The head of a request or of an answer.
    pub fn http(&self, conn: u32, head: HttpHead) {
        self.put(conn, Direction::Http, What::Http(Box::new(head)));
    }

    /// Something happened.
    pub fn state(&self, conn: u32, word: &'static str, text: Option<String>) {
        self.put(conn, Direction::State, What::State(word, text));
    }

    fn put(&self, conn: u32, dir: Direction, what: What) {
        self.0.push(Item {
            at: Instant::now(),
            conn,
            dir,
            what,
        });
    }
}

/// Lets the threads that pass bytes on go first. Where the system has no such word for one thread,
/// all are alike.
fn step_back() {
    #[cfg(target_os = "linux")]
    {
        // By how much: enough to be preempted, not so much that a busy machine starves the recorder.
        const NICENESS: i32 = 5;
        // On Linux this is about the calling thread alone.
        if let Ok(own) = rustix::process::getpriority_process(None) {
            let _ = rustix::process::setpriority_process(None, own + NICENESS);
        }
    }
}

enum Output {
    Plain(BufWriter<File>),
    /// And when it was last made readable.
    Compressed(Box<GzEncoder<BufWriter<File>>>, Instant),
}

struct Writer {
    output: Output,
    policy: Policy,
    began: Instant,
    limits: Limits,
    cutters: HashMap<(u32, Direction), Cutter>,
    footer: Footer,
    revisions: BTreeSet<&'static str>,
    seq: u64,
    line: Vec<u8>,
    error: Option<io::Error>,
    is_full: bool,
}

impl Writer {
    fn run(mut self, queue: &Queue) -> Summary {
        while let Some(items) = queue.take() {
            for item in items {
                self.take(item);
            }
            self.flush();
        }
        let mut open: Vec<(u32, Direction)> = self.cutters.keys().copied().collect();
        open.sort_unstable_by_key(|(conn, dir)| (*conn, dir.as_str()));
        for (conn, dir) in open {
            self.end(Instant::now(), conn, dir);
        }
        self.footer.ended_ms = now_ms();
        self.footer.revisions = self.revisions.iter().map(|&it| it.to_owned()).collect();
        let footer = std::mem::take(&mut self.footer);
        self.write_json(&WrittenFooter { footer: &footer });
        self.close();
        Summary {
            frames: footer.frames,
            lost: footer.lost,
            error: self.error,
        }
    }

    fn take(&mut self, item: Item) {
        let Item {
            at,
            conn,
            dir,
            what,
        } = item;
        match what {
            What::Bytes(bytes, framing) => {
                let mut found = Vec::new();
                let cutter = self.cutters.entry((conn, dir));
                let cutter = cutter.or_insert_with(|| Cutter::new(framing));
                cutter.push(&bytes, &mut found);
                for piece in found {
                    self.piece(at, conn, dir, piece);
                }
            }
            What::Message(content, replaced) => {
                let piece = Piece {
                    length: content.len() as u64,
                    content,
                    shortened: false,
                    unended: false,
                };
                let (body, mut redacted) = self.body(dir, &piece);
                redacted.extend(replaced);
                let mut entry = self.new_entry(at, conn, dir, body);
                entry.bytes = piece.length;
                entry.redacted = redacted;
                self.write(&entry);
            }
            What::End => self.end(at, conn, dir),
            What::Gap(lost) => {
                let rest = self.cutters.get_mut(&(conn, dir)).and_then(Cutter::gap);
                if let Some(piece) = rest {
                    self.piece(at, conn, dir, piece);
                }
                self.lose(lost);
                self.entry(at, conn, Direction::State, Body::Lost(lost), Vec::new());
            }
            What::Http(mut head) => {
                let places = self.policy.head(&mut head);
                self.entry(at, conn, dir, Body::Http(*head), places);
            }
            What::State(word, text) => {
                let body = Body::State(word.to_owned(), text);
                self.entry(at, conn, dir, body, Vec::new());
            }
        }
    }

    fn end(&mut self, at: Instant, conn: u32, dir: Direction) {
        let rest = self.cutters.remove(&(conn, dir));
        if let Some(piece) = rest.and_then(|mut cutter| cutter.finish()) {
            self.piece(at, conn, dir, piece);
        }
    }

    fn piece(&mut self, at: Instant, conn: u32, dir: Direction, piece: Piece) {
        let (body, redacted) = self.body(dir, &piece);
        let mut entry = self.new_entry(at, conn, dir, body);
        entry.bytes = piece.length;
        entry.shortened = piece.shortened;
        entry.unended = piece.unended;
        entry.redacted = redacted;
        self.write(&entry);
    }

    /// A message as it is to be written, and where it was changed.
    fn body(&mut self, dir: Direction, piece: &Piece) -> (Body, Vec<String>) {
        let Ok(text) = std::str::from_utf8(&piece.content) else {
            return (Body::Binary(piece.content.to_vec()), Vec::new());
        };
        // One that holds line ends would break the line it is to stand in.
        let is_line = dir != Direction::Stderr
            && text.starts_with(['{', '['])
            && memchr::memchr(b'\n', text.as_bytes()).is_none();
        let raw = is_line.then(|| serde_json::from_str::<&RawValue>(text));
        match raw {
            Some(Ok(raw)) if raw.get().len() == text.len() => {
                self.note_revision(text);
                match self.policy.message(text) {
                    Some((hidden, places)) => (raw_or_text(hidden), places),
                    None => (Body::Raw(raw.into()), Vec::new()),
                }
            }
            _ => match self.policy.text(text) {
                Some((hidden, places)) => (Body::Text(hidden), places),
                None => (Body::Text(text.to_owned()), Vec::new()),
            },
        }
    }

    /// Remembers which revisions are spoken: each is written with its name close before it.
    fn note_revision(&mut self, text: &str) {
        const NAME: &str = "rotocolVersion\":\"";
        let at = memchr::memmem::find(text.as_bytes(), NAME.as_bytes());
        let date = at.and_then(|at| text.get(at + NAME.len()..at + NAME.len() + 10));
        if let Some(Ok(revision)) = date.map(str::parse::<Revision>) {
            self.revisions.insert(revision.as_str());
        }
    }

    fn entry(&mut self, at: Instant, conn: u32, dir: Direction, body: Body, redacted: Vec<String>) {
        let mut entry = self.new_entry(at, conn, dir, body);
        entry.redacted = redacted;
        self.write(&entry);
    }

    fn new_entry(&mut self, at: Instant, conn: u32, dir: Direction, body: Body) -> Entry {
        let since = at.saturating_duration_since(self.began);
        Entry {
            seq: 0,
            t_us: u64::try_from(since.as_micros()).unwrap_or(u64::MAX),
            dir,
            conn,
            bytes: 0,
            body,
            shortened: false,
            unended: false,
            redacted: Vec::new(),
        }
    }

    fn write(&mut self, entry: &Entry) {
        let is_message = !matches!(entry.dir, Direction::State | Direction::Http);
        if is_message && self.footer.bytes + entry.bytes > self.limits.max_file {
            self.lose(Lost {
                frames: 1,
                bytes: entry.bytes,
            });
            if !std::mem::replace(&mut self.is_full, true) {
                let text = format!("the limit of {} bytes was reached", self.limits.max_file);
                let body = Body::State("full".to_owned(), Some(text));
                let full = self.new_entry(Instant::now(), entry.conn, Direction::State, body);
                self.write(&full);
            }
            return;
        }
        if self.error.is_some() {
            self.lose(Lost {
                frames: 1,
                bytes: entry.bytes,
            });
            return;
        }
        self.seq += 1;
        self.footer.frames += 1;
        self.footer.bytes += entry.bytes;
        self.footer.redacted += entry.redacted.len() as u64;
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        if entry.write(self.seq, &mut line).is_ok() {
            self.write_bytes(&line);
        }
        self.line = line;
    }

    fn lose(&mut self, lost: Lost) {
        self.footer.lost.add(lost);
    }

    fn write_json(&mut self, line: &impl serde::Serialize) {
        if let Ok(mut text) = serde_json::to_vec(line) {
            text.push(b'\n');
            self.write_bytes(&text);
        }
    }

    fn write_bytes(&mut self, bytes: &[u8]) {
        if self.error.is_some() {
            return;
        }
        let written = match &mut self.output {
            Output::Plain(file) => file.write_all(bytes),
            Output::Compressed(file, _) => file.write_all(bytes),
        };
        self.error = written.err();
    }

    fn flush(&mut self) {
        if self.error.is_some() {
            return;
        }
        let flushed = match &mut self.output {
            Output::Plain(file) => file.flush(),
            // Each flush costs compression.
            Output::Compressed(file, flushed) if flushed.elapsed() >= COMPRESSED_FLUSH => {
                *flushed = Instant::now();
                file.flush()
            }
            Output::Compressed(..) => Ok(()),
        };
        self.error = flushed.err();
    }

    fn close(&mut self) {
        let closed = match &mut self.output {
            Output::Plain(file) => file.flush(),
            Output::Compressed(file, _) => file.try_finish().and_then(|()| file.get_mut().flush()),
        };
        if self.error.is_none() {
            self.error = closed.err();
        }
    }
}

/// What stands in for a secret is JSON; if it ever were not, it is text.
fn raw_or_text(text: String) -> Body {
    match Json::parse(&text) {
        Ok(json) => Body::Raw(json),
        Err(_) => Body::Text(text),
    }
}
