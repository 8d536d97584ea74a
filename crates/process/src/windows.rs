//! A server process on Windows.
//!
//! Owns the one process we start and, when it is to be killed, the tree below it
//! as far as `taskkill` finds it. Without a job object, which cannot be had from
//! safe code, children of a server whose owner was killed live on until they notice
//! that their standard input has closed.

use std::io;
use std::os::windows::process::CommandExt as _;
use std::process::Stdio;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::resolve::Prepared;
use super::watcher::{self, Orders, TreeControl};
use super::{Order, Protection, ServerProcess, SpawnError, SpawnErrorKind, Spawned};

pub(super) type Stdin = ChildStdin;
pub(super) type Stdout = ChildStdout;
pub(super) type Stderr = ChildStderr;

pub(super) const PROTECTION: Protection = Protection::ServerOnly;

/// Ctrl-C in our console is ours to decide about (FAULTS 10).
const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
/// A server has no use for a console window.
const CREATE_NO_WINDOW: u32 = 0x0800_0000;

/// The line to the watcher of a server process.
#[derive(Debug)]
pub(super) struct Control(Orders);

impl Control {
    pub(super) fn send(&self, order: Order) {
        self.0.send(order);
    }
}

/// A server process and, once it is to be killed, the `taskkill` that is at it.
struct Tree {
    server: u32,
    taskkill: Option<io::Result<std::process::Child>>,
}

impl TreeControl for Tree {
    fn terminate(&mut self) {
        // There is no request that a process without a window would receive.
    }

    /// The tree first: once the server is gone its children cannot be found any
    /// more. The server itself is killed when that has ended, however it ended.
    fn kill(&mut self, child: &mut Child) {
        let taskkill = self.taskkill.get_or_insert_with(|| {
            std::process::Command::new("taskkill")
                .args(["/T", "/F", "/PID", &self.server.to_string()])
                .creation_flags(CREATE_NO_WINDOW)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
        });
        let at_it = taskkill
            .as_mut()
            .is_ok_and(|taskkill| matches!(taskkill.try_wait(), Ok(None)));
        if !at_it {
            // It fails when the process has ended, which is what it was for.
            let _ = child.start_kill();
        }
    }

    fn is_gone(&mut self) -> bool {
        true
    }
}

/// Starts a server process.
pub(super) fn start(prepared: &Prepared) -> Result<Spawned, SpawnError> {
    let mut command = prepared.command();
    command
        .creation_flags(CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = Command::from(command)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| prepared.start_error(error))?;
    let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(id), (Some(stdin), Some(stdout), Some(stderr))) = (child.id(), streams) else {
        let incomplete = io::Error::other("the new process has no id or no streams");
        return Err(prepared.error(SpawnErrorKind::Other(incomplete)));
    };
    let (orders, fate) = watcher::attend(
        child,
        Tree {
            server: id,
            taskkill: None,
        },
    );
    Ok(Spawned {
        stdin,
        stdout,
        stderr,
        child: ServerProcess {
            id,
            fate,
            control: super::Control::Platform(Control(orders)),
        },
    })
}
