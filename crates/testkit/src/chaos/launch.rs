//! From a script to a startable command, and back from its logs.
//!
//! Owns the folder that the test and the server share: script, logs and gates.
//! Refuses to start anything itself, since how a server is started is what the
//! tests are about.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::grandchild::IGNORE_TERM;
use super::journal::{EFFECTS, PIDS, RECEIVED, STARTS, note_pid, whole_effects};
use super::script::{Launcher, Script};
use super::{SCRIPT, SERVE_ARGUMENT, gate_path};
use crate::binaries;
use crate::processes::Tag;
use crate::scratch::Scratch;

/// How often a waiting test looks at a log.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

/// A chaos server ready to be started, any number of times.
///
/// Dropping it deletes its folder, so keep it for as long as the server runs.
#[derive(Debug)]
pub struct Launch {
    /// The program to start.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Environment variables to add: the tag of [`Launch::tag`].
    pub env: Vec<(OsString, OsString)>,
    tag: Tag,
    folder: Scratch,
}

impl Script {
    /// Writes the script to a folder of its own and names the command that
    /// runs it. Builds the server's binary if it is missing or stale.
    pub fn launch(&self) -> io::Result<Launch> {
        let server = binaries::chaos_server()?;
        let folder = Scratch::new("chaos")?;
        std::fs::write(folder.path().join(SCRIPT), serde_json::to_vec(self)?)?;
        let mut program = server.clone();
        let mut args = Vec::new();
        if self.ignore_term {
            program = PathBuf::from("sh");
            args.extend(["-c", IGNORE_TERM, "sh"].map(OsString::from));
            args.push(server.into_os_string());
        }
        args.push(folder.path().as_os_str().to_owned());
        let tag = Tag::with_pid_log(folder.path().join(PIDS));
        Ok(Launch {
            program,
            args,
            env: vec![tag.env()],
            tag,
            folder,
        })
    }
}

impl Launch {
    /// The command for `std::process`, with the environment set and the
    /// streams still to be chosen.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).envs(self.env.iter().cloned());
        command
    }

    /// The tag that the server and all its descendants bear.
    pub fn tag(&self) -> &Tag {
        &self.tag
    }

    /// The lines received so far by all processes of this launch, as JSON. A
    /// line that is not JSON is given as a string.
    pub fn received(&self) -> io::Result<Vec<Value>> {
        let bytes = read_if_there(&self.folder.path().join(RECEIVED))?;
        let complete = bytes.split_inclusive(|byte| *byte == b'\n');
        let complete = complete.filter(|line| line.ends_with(b"\n"));
        Ok(complete.map(line_as_json).collect())
    }

    /// The received messages of one method.
    pub fn received_of(&self, method: &str) -> io::Result<Vec<Value>> {
        let mut messages = self.received()?;
        messages.retain(|message| message["method"] == method);
        Ok(messages)
    }

    /// Waits until what was received satisfies `enough`, and returns it. The
    /// error lists what was received instead.
    pub fn wait_received(
        &self,
        patience: Duration,
        enough: impl Fn(&[Value]) -> bool,
    ) -> io::Result<Vec<Value>> {
        let deadline = Instant::now() + patience;
        loop {
            let received = self.received()?;
            if enough(&received) {
                return Ok(received);
            }
            if Instant::now() >= deadline {
                let listed: Vec<_> = received.iter().map(Value::to_string).collect();
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    format!("the server received only:\n{}", listed.join("\n")),
                ));
            }
            thread::sleep(LOOK_INTERVAL);
        }
    }

    /// Waits until `count` messages of `method` were received, and returns
    /// them.
    pub fn wait_received_of(
        &self,
        method: &str,
        count: usize,
        patience: Duration,
    ) -> io::Result<Vec<Value>> {
        let of_method = |message: &&Value| message["method"] == method;
        let mut messages = self.wait_received(patience, |received| {
            received.iter().filter(of_method).count() >= count
        })?;
        messages.retain(|message| message["method"] == method);
        Ok(messages)
    }

    /// The side effects so far, one line each.
    pub fn effects(&self) -> io::Result<Vec<String>> {
        let log = read_if_there(&self.folder.path().join(EFFECTS))?;
        Ok(whole_effects(&String::from_utf8_lossy(&log)))
    }

    /// The ids of the processes that have served this launch, in order.
    pub fn starts(&self) -> io::Result<Vec<u32>> {
        let lines = lines(&self.folder.path().join(STARTS))?;
        Ok(lines.iter().filter_map(|line| line.parse().ok()).collect())
    }

    /// Lets rules go on that wait for this gate, now and later.
    pub fn open_gate(&self, name: &str) -> io::Result<()> {
        std::fs::write(gate_path(self.folder.path(), name), b"")
    }
}

fn line_as_json(line: &[u8]) -> Value {
    serde_json::from_slice(line).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(line);
        Value::String(text.trim_end_matches(['\r', '\n']).to_owned())
    })
}

fn lines(path: &Path) -> io::Result<Vec<String>> {
    let text = String::from_utf8_lossy(&read_if_there(path)?).into_owned();
    Ok(text.lines().map(str::to_owned).collect())
}

fn read_if_there(path: &Path) -> io::Result<Vec<u8>> {
    match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

/// The life of a launcher: the server is its child and has its streams.
pub(super) fn stand_between(launcher: Launcher, folder: &Path) -> io::Result<()> {
    note_pid(folder, PIDS)?;
    let mut child = Command::new(std::env::current_exe()?)
        .arg(folder)
        .arg(SERVE_ARGUMENT)
        .spawn()?;
    match launcher {
        Launcher::ExitsAfter(time) => {
            thread::sleep(time);
            Ok(())
        }
        Launcher::Waits | Launcher::None => {
            let status = child.wait()?;
            std::process::exit(status.code().unwrap_or(1))
        }
    }
}
