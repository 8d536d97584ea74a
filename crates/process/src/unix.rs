//! Pipes and process groups.
//!
//! Owns what every Unix can do: the three pipes to a server, and a server that
//! leads a process group of its own, which is signalled as a whole. That is the
//! fallback where no guardian is; a process that leaves the group escapes it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::sync::watch;

use super::exit::ProcessState;
use super::resolve::Prepared;
use super::watcher::{self, Orders, TreeControl};
use super::{Order, Protection, ServerProcess, SpawnError, SpawnErrorKind, Spawned};

pub(super) type Stdin = pipe::Sender;
pub(super) type Stdout = pipe::Receiver;
pub(super) type Stderr = pipe::Receiver;

pub(super) const PROTECTION: Protection = Protection::ProcessGroup;

/// Capacity of the pipes for standard input and output where the system allows it, four
/// times the usual: a large message crosses in a quarter of the switches between the two
/// processes. More gains nothing measurable, and an unprivileged user has 64 MiB for all
/// pipes; who exceeds that gets pipes of a page or two, in every program.
#[cfg(target_os = "linux")]
const PIPE_CAPACITY: usize = 256 * 1024;

/// Both ends of the three pipes to a server.
pub(super) struct Pipes {
    pub(super) stdin: Stdin,
    pub(super) stdout: Stdout,
    pub(super) stderr: Stderr,
    /// The server's ends, in the order of its descriptors 0, 1 and 2.
    pub(super) theirs: [OwnedFd; 3],
}

impl Pipes {
    /// Opens the pipes; no other process inherits any end by accident.
    pub(super) fn open() -> io::Result<Self> {
        let (their_stdin, stdin) = io::pipe()?;
        let (stdout, their_stdout) = io::pipe()?;
        let (stderr, their_stderr) = io::pipe()?;
        #[cfg(target_os = "linux")]
        {
            // Beyond the user's budget the usual capacity has to do.
            let _ = rustix::pipe::fcntl_setpipe_size(&stdin, PIPE_CAPACITY);
            let _ = rustix::pipe::fcntl_setpipe_size(&stdout, PIPE_CAPACITY);
        }
        Ok(Self {
            stdin: Stdin::from_owned_fd(stdin.into())?,
            stdout: Stdout::from_owned_fd(stdout.into())?,
            stderr: Stderr::from_owned_fd(stderr.into())?,
            theirs: [their_stdin.into(), their_stdout.into(), their_stderr.into()],
        })
    }
}

/// The line to the watcher of a process group.
#[derive(Debug)]
pub(super) struct Control {
    group: Group,
    orders: Orders,
    fate: watch::Receiver<ProcessState>,
}

impl Control {
    pub(super) fn send(&self, order: Order) {
        self.orders.send(order);
    }
}

impl Drop for Control {
    /// The watcher would do the same, but it may have gone with its runtime.
    fn drop(&mut self) {
        if !self.fate.borrow().is_gone() {
            self.group.signal(Signal::KILL);
        }
    }
}

/// A process group that we made, known by the id of the server that leads it.
///
/// The id cannot come to mean another group while a member is left, or while the
/// leader has not been reaped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group(Pid);

impl Group {
    /// The group that the process `leader` leads.
    pub(super) fn led_by(leader: u32) -> Option<Self> {
        i32::try_from(leader).ok().and_then(Pid::from_raw).map(Self)
    }

    pub(super) fn signal(self, signal: Signal) {
        // It fails when nobody is left, which is what it was for.
        let _ = kill_process_group(self.0, signal);
    }
}

impl TreeControl for Group {
    fn terminate(&mut self) {
        self.signal(Signal::TERM);
        // A stopped process takes the request up only when it goes on.
        self.signal(Signal::CONT);
    }

    fn kill(&mut self, _child: &mut Child) {
        self.signal(Signal::KILL);
    }

    fn is_gone(&mut self) -> bool {
        test_kill_process_group(self.0).is_err()
    }
}

/// Starts a server as the leader of a process group of its own.
pub(super) fn start(prepared: &Prepared) -> Result<Spawned, SpawnError> {
    let pipes =
        Pipes::open().map_err(|error| prepared.error(SpawnErrorKind::from_system(error)))?;
    let [stdin, stdout, stderr] = pipes.theirs;
    let mut command = prepared.command();
    command
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .process_group(0);
    let child = Command::from(command)
        .spawn()
        .map_err(|error| prepared.start_error(error))?;
    let id = child.id();
    let Some((id, group)) = id.and_then(|id| Some((id, Group::led_by(id)?))) else {
        let nameless = io::Error::other("the new process has no id");
        return Err(prepared.error(SpawnErrorKind::Other(nameless)));
    };
    let (orders, fate) = watcher::attend(child, group);
    Ok(Spawned {
        stdin: pipes.stdin,
        stdout: pipes.stdout,
        stderr: pipes.stderr,
        child: ServerProcess {
            id,
            fate: fate.clone(),
            control: super::Control::Platform(Control {
                group,
                orders,
                fate,
            }),
        },
    })
}
