//! Recordings as commands make and read them: where they lie, and what is hidden in them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache::host::frames::{Frame, FrameKind, Frames, Message};
use attache::host::redact::{Redactor, is_secret_name};
use attache_record::{
    Conversation, Direction, Existing, Header, HttpHead, Limits, Lost, Policy, RecordError,
    Recorder, Recording, Redaction, SecretRules, Summary, Tape, Transport,
};
use bytes::Bytes;
use clap::Args;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::output::Output;
use crate::selection::ServerSelection;

/// The folder of recordings that were made without naming a file, below the state folder.
const FOLDER: &str = "recordings";
/// How many of them are kept.
const MOST_KEPT: usize = 100;
/// How long one of them may become.
const LARGEST_KEPT: u64 = 256 * 1024 * 1024;

/// How a recording is made.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Record into this file, behind what it holds already; compressed if its name ends in .gz
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Replace what the file holds
    #[arg(long, requires = "record")]
    new: bool,
    /// Replace what looks like a secret in recorded messages, and mark it
    #[arg(long)]
    redact: bool,
}

/// The rules of the host, for recordings.
struct HostRules(Redactor);

impl SecretRules for HostRules {
    fn is_secret_name(&self, name: &str) -> bool {
        is_secret_name(name)
    }

    fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.0.redact(text)
    }
}

impl RecordArgs {
    /// Begins the recording: in the file that was named, or else in the state folder. Without a
    /// place to keep it there is none.
    pub(crate) fn begin(
        &self,
        transport: Transport,
        name: &str,
        target: &str,
        output: &Output,
    ) -> Result<Option<Recorder>, Failure> {
        let policy = policy(self.redact);
        let mut header = Header::new(transport, redacted(target), policy.redaction());
        header.server = Some(name.to_owned());
        if let Some(file) = &self.record {
            return self.begin_in(file, header, policy, output).map(Some);
        }
        let Some(folder) = Configuration::new(None)?.state_folder() else {
            return Ok(None);
        };
        let folder = folder.join(FOLDER);
        let plain = |found: char| match found.is_ascii_alphanumeric() || "-_.".contains(found) {
            true => found,
            false => '_',
        };
        let name: String = name.chars().take(64).map(plain).collect();
        let process = std::process::id();
        let file = folder.join(format!("{}-{name}-{process}.mcprec", header.started_ms));
        let limits = Limits {
            max_file: LARGEST_KEPT,
            ..Limits::default()
        };
        let made = private_folder(&folder)
            .map_err(|error| error.to_string())
            .and_then(|()| {
                make_room(&folder);
                Recorder::create(&file, header, policy, limits, Existing::Replace)
                    .map_err(|error| error.to_string())
            });
        match made {
            Ok(recorder) => Ok(Some(recorder)),
            // The file was not asked for, so the server runs without it.
            Err(problem) => {
                output.note(&format!("nothing is recorded: {problem}"));
                Ok(None)
            }
        }
    }
}

impl RecordArgs {
    /// Begins the recording in a file. One that is busy must not keep a client from starting its
    /// server a second time, so that one is recorded beside it.
    fn begin_in(
        &self,
        file: &Path,
        header: Header,
        policy: Policy,
        output: &Output,
    ) -> Result<Recorder, Failure> {
        let existing = match self.new {
            true => Existing::Replace,
            false => Existing::Continue,
        };
        let limits = Limits::default();
        match Recorder::create(file, header.clone(), policy.clone(), limits, existing) {
            Err(error @ RecordError::Busy { .. }) => {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                let (stem, ending) = name.split_once('.').unwrap_or((&name, "mcprec"));
                let beside = file.with_file_name(format!("{stem}-{}.{ending}", std::process::id()));
                output.note(&format!(
                    "{error}; this one is recorded into {}",
                    beside.display()
                ));
                Recorder::create(&beside, header, policy, limits, existing)
            }
            other => other,
        }
        .map_err(|error| failure(&error))
    }
}

/// A recording of what passes on the connections of one command's host. The host has replaced
/// secrets in it already.
pub(crate) struct HostRecording {
    recorder: Recorder,
    follower: Option<Follower>,
}

struct Follower {
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl HostRecording {
    /// Begins the recording, if one is wanted.
    pub(crate) fn of(selection: &ServerSelection) -> Result<Option<Self>, Failure> {
        let Some(file) = selection.record() else {
            return Ok(None);
        };
        let transports: Vec<&attache::host::config::Transport> = selection
            .servers()
            .map(|it| it.server.transport())
            .collect();
        let (transport, target) = match transports.as_slice() {
            [only] if only.launch().is_some() => (Transport::Stdio, only.to_string()),
            [only] => (Transport::Http, only.to_string()),
            several => (Transport::Mixed, format!("{} servers", several.len())),
        };
        let mut header = Header::new(transport, redacted(&target), Redaction::Secrets);
        let names = selection.names();
        if let [only] = names.as_slice() {
            header.server = Some(only.to_string());
        }
        let policy = policy(false);
        let recorder =
            Recorder::create(file, header, policy, Limits::default(), Existing::Continue);
        Ok(Some(Self {
            recorder: recorder.map_err(|error| failure(&error))?,
            follower: None,
        }))
    }

    /// Records these frames until it is finished.
    pub(crate) fn follow(mut self, mut frames: Frames) -> Self {
        let mut scribe = Scribe {
            tape: self.recorder.tape(),
            connections: HashMap::new(),
        };
        let (stop, mut stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            loop {
                tokio::select! {
                    biased;
                    frame = frames.next() => match frame {
                        Some(frame) => scribe.write(&frame),
                        None => return,
                    },
                    // What has passed by now is here, or was awaited in vain.
                    _ = &mut stopped => return,
                }
            }
        });
        self.follower = Some(Follower { task, stop });
        self
    }

    /// Ends the recording, and says what is missing in it.
    pub(crate) async fn finish(self, output: &Output) {
        if let Some(Follower { task, stop }) = self.follower {
            // It may have ended with the host.
            let _ = stop.send(());
            let _ = task.await;
        }
        conclude(Some(self.recorder), output);
    }
}

/// Writes frames of a host into a recording.
struct Scribe {
    tape: Tape,
    /// Connections are numbered over all servers.
    connections: HashMap<(Option<String>, u64), u32>,
}

impl Scribe {
    fn write(&mut self, frame: &Frame) {
        let next = u32::try_from(self.connections.len() + 1).unwrap_or(u32::MAX);
        let server = frame.server.as_ref().map(ToString::to_string);
        let key = (server.clone(), frame.connection);
        let conn = *self.connections.entry(key).or_insert(next);
        let about = |text: &str| match &server {
            Some(server) => format!("{server}: {text}"),
            None => text.to_owned(),
        };
        match &frame.kind {
            FrameKind::Opened => self.tape.state(conn, "opened", server),
            FrameKind::Sent(message) => self.message(frame, conn, Direction::C2s, message),
            FrameKind::Received(message) => self.message(frame, conn, Direction::S2c, message),
            FrameKind::Stderr { line } => {
                self.put(frame, conn, Direction::Stderr, Bytes::from(line.clone()));
            }
            FrameKind::Closed { reason } => self.tape.state(conn, "closed", Some(about(reason))),
            FrameKind::State { state, .. } => self.tape.state(conn, "state", Some(about(state))),
            FrameKind::Missed { count } => self.tape.lost(Lost {
                frames: *count,
                bytes: 0,
            }),
            _ => {}
        }
    }

    fn message(&self, frame: &Frame, conn: u32, dir: Direction, message: &Message) {
        if let Some(http) = &message.http {
            self.tape.http(
                conn,
                HttpHead {
                    method: http.status.is_none().then(|| http.method.clone()),
                    path: None,
                    status: http.status,
                    headers: http.headers.iter().cloned().collect(),
                },
            );
        }
        let payload = message.payload.as_bytes();
        if !payload.is_empty() {
            self.put(frame, conn, dir, Bytes::copy_from_slice(payload));
        }
    }

    fn put(&self, frame: &Frame, conn: u32, dir: Direction, bytes: Bytes) {
        let since = Duration::from_micros(frame.at_us);
        let ago = (SystemTime::UNIX_EPOCH + since)
            .elapsed()
            .unwrap_or_default();
        // The host does not say where in it.
        let redacted = match frame.redacted {
            true => vec![String::new()],
            false => Vec::new(),
        };
        self.tape.message(ago, conn, dir, bytes, redacted);
    }
}

/// Says what is missing in a recording that has ended, if something is.
pub(crate) fn conclude(recorder: Option<Recorder>, output: &Output) {
    let Some(recorder) = recorder else { return };
    let file = recorder.path().display().to_string();
    let Summary { lost, error, .. } = recorder.finish();
    if let Some(error) = error {
        output.note(&format!("the recording {file} is cut: {error}"));
    } else if lost.frames > 0 {
        output.note(&format!(
            "the recording {file} lacks {} pieces, {} bytes, which it counts where they are missing",
            lost.frames, lost.bytes
        ));
    }
}

/// Reads a recording.
pub(crate) fn read(file: &Path) -> Result<Recording, Failure> {
    Recording::read(file).map_err(|error| unreadable(file, &error))
}

/// Why a recording could not be read, with its name.
pub(crate) fn unreadable(file: &Path, error: &RecordError) -> Failure {
    match error {
        RecordError::Open { .. } | RecordError::NotFollowed { .. } => failure(error),
        _ => Failure::usage(format!("{}: {error}", file.display())),
    }
}

/// Reads a recording as requests with their answers.
pub(crate) fn conversation(file: &Path) -> Result<Conversation, Failure> {
    Ok(Conversation::of(&read(file)?))
}

fn failure(error: &RecordError) -> Failure {
    Failure::usage(error.to_string())
}

/// The recordings that were made without naming a file, the newest first.
pub(crate) fn kept() -> Result<Vec<PathBuf>, Failure> {
    let Some(folder) = Configuration::new(None)?.state_folder() else {
        return Ok(Vec::new());
    };
    let mut files = files(&folder.join(FOLDER));
    files.reverse();
    Ok(files)
}

/// Messages are recorded as they are unless the user wants it otherwise. Values of variables with a
/// secret's name are known to be secret wherever they turn up.
fn policy(is_redacted: bool) -> Policy {
    let mut redactor = Redactor::new();
    if is_redacted {
        let secrets = std::env::vars_os().filter_map(|(name, value)| {
            let is_secret = is_secret_name(&name.to_string_lossy());
            is_secret.then(|| value.into_string().ok()).flatten()
        });
        secrets.for_each(|value| redactor.hide(&value));
    }
    let rules = Arc::new(HostRules(redactor));
    match is_redacted {
        true => Policy::secrets(rules),
        false => Policy::raw(rules),
    }
}

fn redacted(text: &str) -> String {
    Redactor::new().redact(text).into_owned()
}

/// Whether a recording says that something in it was replaced.
pub(crate) fn is_redacted(recording: &Recording) -> bool {
    recording.header.redaction == Redaction::Secrets && recording.is_redacted()
}

/// Names begin with the time, so their order is that of the recordings.
fn files(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten();
    let files = found.filter_map(|entry| Some(entry.ok()?.path()));
    let is_recording = |file: &PathBuf| file.extension().is_some_and(|it| it == "mcprec");
    let mut files: Vec<PathBuf> = files.filter(is_recording).collect();
    files.sort();
    files
}

fn make_room(folder: &Path) {
    let files = files(folder);
    let too_many = (files.len() + 1).saturating_sub(MOST_KEPT);
    for file in &files[..too_many] {
        // Another process may have removed it.
        let _ = fs::remove_file(file);
    }
}

fn private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
