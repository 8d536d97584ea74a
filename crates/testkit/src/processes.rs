//! Which processes a test has left behind, and what one process uses.
//!
//! Owns the reading of `/proc`. A tag in the environment marks everything a
//! test starts, however deep, whatever group or session it moves to. Linux
//! only: elsewhere every question answers `Unsupported`.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::random;

/// The environment variable that carries a tag.
pub const TAG_VARIABLE: &str = "ATTACHE_TEST_TAG";
/// How often a waiting test looks again.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// A mark that a test puts on the processes it starts.
#[derive(Clone, Debug)]
pub struct Tag {
    value: String,
    pid_log: Option<PathBuf>,
}

/// A process as it was when looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its parent's id.
    pub ppid: u32,
    /// The process group it belongs to.
    pub group: u32,
    /// When it was started, in ticks since the system was: tells it from a later one with its id.
    pub started: u64,
    /// The kernel's letter for its state: `R`, `S`, `T`, `Z` and others.
    pub state: char,
    /// Its short name, which it may have chosen itself.
    pub name: String,
    /// Its command line, or its name in brackets for a zombie.
    pub command: String,
}

/// What a process uses at the moment, in counts and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Open file descriptors.
    pub descriptors: usize,
    /// Threads.
    pub threads: u64,
    /// Resident memory (`VmRSS`).
    pub resident: u64,
    /// The most resident memory there ever was (`VmHWM`).
    pub peak_resident: u64,
    /// Resident memory with shared pages divided among their users (`Pss`).
    pub proportional: u64,
}

impl Tag {
    /// A tag that no other test has.
    #[expect(
        clippy::new_without_default,
        reason = "each tag differs, so none is a default"
    )]
    pub fn new() -> Self {
        Self {
            value: random::token(),
            pid_log: None,
        }
    }

    /// A tag whose bearers also write their ids to a file, so that they are
    /// known as zombies too.
    pub(crate) fn with_pid_log(path: PathBuf) -> Self {
        Self {
            pid_log: Some(path),
            ..Self::new()
        }
    }

    /// The variable to put into the environment of what is started.
    pub fn env(&self) -> (OsString, OsString) {
        (TAG_VARIABLE.into(), self.value.clone().into())
    }

    /// The living processes that bear this tag, and the zombies among their
    /// children.
    ///
    /// A zombie has lost its environment, so one whose parent bears no tag is
    /// recognised only if it is a chaos server of the launch that this tag
    /// belongs to. For other children of a known process there is
    /// [`zombies_of`].
    pub fn survivors(&self) -> io::Result<Vec<Process>> {
        let log = self.pid_log.as_deref().map(std::fs::read_to_string);
        let log = log.transpose().or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(None),
            _ => Err(error),
        })?;
        let known: Vec<_> = log
            .iter()
            .flat_map(|log| log.lines())
            .filter_map(|line| line.parse().ok())
            .collect();
        linux::survivors(&format!("{TAG_VARIABLE}={}", self.value), &known)
    }

    /// Waits until nothing bears this tag any more. The error lists what still
    /// does.
    pub fn wait_until_gone(&self, patience: Duration) -> Result<(), Survivors> {
        self.wait(patience, <[Process]>::is_empty).map(|_| ())
    }

    /// Waits until the processes with this tag satisfy `enough`, and returns
    /// them. The error lists those that are there instead.
    pub fn wait(
        &self,
        patience: Duration,
        enough: impl Fn(&[Process]) -> bool,
    ) -> Result<Vec<Process>, Survivors> {
        let deadline = Instant::now() + patience;
        loop {
            let found = self.survivors().map_err(Survivors::Unknown)?;
            if enough(&found) {
                return Ok(found);
            }
            if Instant::now() >= deadline {
                return Err(Survivors::Found(found));
            }
            thread::sleep(LOOK_INTERVAL);
        }
    }
}

/// Why a wait for processes ended badly.
#[derive(Debug)]
pub enum Survivors {
    /// These processes were there at the deadline.
    Found(Vec<Process>),
    /// The processes could not be looked at.
    Unknown(io::Error),
}

impl fmt::Display for Survivors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(error) => write!(formatter, "processes cannot be listed: {error}"),
            Self::Found(processes) => {
                write!(formatter, "{} processes are there:", processes.len())?;
                for process in processes {
                    let Process {
                        pid,
                        ppid,
                        state,
                        command,
                        ..
                    } = process;
                    write!(formatter, "\n  {pid} (of {ppid}) {state} {command}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for Survivors {}

/// One process, in any state. An error if there is none.
pub fn look(pid: u32) -> io::Result<Process> {
    linux::look(pid)
}

/// The living processes that have `variable`, written `NAME=VALUE`, in their environment.
pub fn bearing(variable: &str) -> io::Result<Vec<Process>> {
    linux::bearing(variable)
}

/// The direct children of a process, zombies included.
pub fn children_of(pid: u32) -> io::Result<Vec<Process>> {
    let mut children = linux::all()?;
    children.retain(|process| process.ppid == pid);
    Ok(children)
}

/// The zombies whose parent is `pid`.
pub fn zombies_of(pid: u32) -> io::Result<Vec<Process>> {
    let mut children = children_of(pid)?;
    children.retain(|process| process.state == 'Z');
    Ok(children)
}

/// Whether any thread of a process still runs. Until the last one has gone, the files of a process
/// are open, although the process may already look like a zombie.
pub fn is_running(pid: u32) -> io::Result<bool> {
    linux::is_running(pid)
}

/// What a process uses now.
pub fn usage(pid: u32) -> io::Result<Usage> {
    linux::usage(pid)
}

/// Sets the calling process's [`Usage::peak_resident`] back to what is resident
/// now, so that the peak of one piece of work can be measured.
pub fn reset_own_peak() -> io::Result<()> {
    linux::reset_own_peak()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io;

    use super::{Process, Usage};

    pub(super) fn survivors(marked: &str, known: &[u32]) -> io::Result<Vec<Process>> {
        let mut bearers = Vec::new();
        let mut zombies = Vec::new();
        for process in all()? {
            if process.state == 'Z' {
                zombies.push(process);
            } else if bears(process.pid, marked) {
                bearers.push(process);
            }
        }
        let parents: Vec<_> = bearers.iter().map(|process| process.pid).collect();
        zombies.retain(|zombie| known.contains(&zombie.pid) || parents.contains(&zombie.ppid));
        bearers.append(&mut zombies);
        Ok(bearers)
    }

    pub(super) fn bearing(variable: &str) -> io::Result<Vec<Process>> {
        let bearers = ids()?.into_iter().filter(|pid| bears(*pid, variable));
        Ok(bearers.filter_map(|pid| look(pid).ok()).collect())
    }

    /// All processes. Those that end while being looked at are left out.
    pub(super) fn all() -> io::Result<Vec<Process>> {
        let found = ids()?.into_iter().filter_map(|pid| look(pid).ok());
        Ok(found.collect())
    }

    fn ids() -> io::Result<Vec<u32>> {
        let mut ids = Vec::new();
        for entry in fs::read_dir("/proc")? {
            ids.extend(
                entry?
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse::<u32>().ok()),
            );
        }
        Ok(ids)
    }

    pub(super) fn look(pid: u32) -> io::Result<Process> {
        let stat = fs::read(format!("/proc/{pid}/stat"))?;
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let odd = || io::Error::other(format!("odd status of process {pid}"));
        describe(pid, &String::from_utf8_lossy(&stat), &arguments).ok_or_else(odd)
    }

    fn describe(pid: u32, stat: &str, arguments: &[u8]) -> Option<Process> {
        // The name is in parentheses and may itself hold parentheses.
        let (before, after) = stat.rsplit_once(')')?;
        let name = before.split_once('(')?.1;
        let fields: Vec<&str> = after.split_whitespace().collect();
        let command = if arguments.is_empty() {
            format!("[{name}]")
        } else {
            String::from_utf8_lossy(arguments)
                .trim_end_matches('\0')
                .replace('\0', " ")
        };
        Some(Process {
            pid,
            state: fields.first()?.chars().next()?,
            ppid: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
            name: name.to_owned(),
            command,
        })
    }

    pub(super) fn is_running(pid: u32) -> io::Result<bool> {
        let threads = match fs::read_dir(format!("/proc/{pid}/task")) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            threads => threads?,
        };
        let states = threads.flatten().filter_map(|thread| {
            let stat = fs::read(thread.path().join("stat")).ok()?;
            Some(describe(pid, &String::from_utf8_lossy(&stat), b"")?.state)
        });
        Ok(states.into_iter().any(|state| !matches!(state, 'Z' | 'X')))
    }

    fn bears(pid: u32, marked: &str) -> bool {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|variable| variable == marked.as_bytes())
    }

    pub(super) fn usage(pid: u32) -> io::Result<Usage> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let sizes = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd"))?.count();
        // Listing the own descriptors opens one more for the listing.
        let own = usize::from(pid == std::process::id());
        Ok(Usage {
            descriptors: descriptors - own,
            threads: field(&status, "Threads:")?,
            resident: 1024 * field(&status, "VmRSS:")?,
            peak_resident: 1024 * field(&status, "VmHWM:")?,
            proportional: 1024 * field(&sizes, "Pss:")?,
        })
    }

    pub(super) fn reset_own_peak() -> io::Result<()> {
        // The kernel documents the number: 5 resets the peak.
        fs::write("/proc/self/clear_refs", "5")
    }

    fn field(text: &str, name: &str) -> io::Result<u64> {
        text.lines()
            .find_map(|line| line.strip_prefix(name))
            .and_then(|value| value.split_whitespace().next())
            .and_then(|number| number.parse().ok())
            .ok_or_else(|| io::Error::other(format!("no field {name}")))
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    use std::io;

    use super::{Process, Usage};

    pub(super) fn survivors(_: &str, _: &[u32]) -> io::Result<Vec<Process>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn bearing(_: &str) -> io::Result<Vec<Process>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn all() -> io::Result<Vec<Process>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn look(_: u32) -> io::Result<Process> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn is_running(_: u32) -> io::Result<bool> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn usage(_: u32) -> io::Result<Usage> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn reset_own_peak() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
