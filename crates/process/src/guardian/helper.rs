//! The guardian process itself.
//!
//! Owns the server as its parent and every orphan of the server as its adoptive
//! parent, from the first byte on its socket to the last reaped process. Refuses to
//! touch the server's pipes, to allocate much, and to do anything while idle: one
//! thread sleeps in `poll` without a timer.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use nix::sys::signal::SigSet;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{
    Pid, PidfdFlags, WaitOptions, WaitStatus, getpid, getppid, pidfd_open, set_child_subreaper,
    wait,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

use super::wire::{self, ORDER_SIZE, Report};
use super::{GUARDIAN_NAME, tree};
use crate::resolve::Prepared;
use crate::shutdown::{ABANDONED, LEFT_TO_GUARDIAN, ShutdownLadder, Step};
use crate::{ExitReason, Order};

/// The tree is gone.
const DONE: i32 = 0;
/// Part of the tree could not be killed.
const GAVE_UP: i32 = 1;
/// No launch arrived, or it could not be carried out.
const NOTHING_STARTED: i32 = 2;

/// Signals that are for the client to decide about: whoever stops the program by name
/// or by control group reaches its guardians as well, and they must outlive it.
const NOT_OURS: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// Most processes that are reaped before anything else is looked at again.
const REAPED_AT_ONCE: usize = 256;

/// Runs a guardian from start to end and returns the exit code of its process.
pub(super) fn run() -> i32 {
    close_inherited_descriptors();
    // What the system does not offer weakens the guardian, but it still guards.
    let _ = rustix::thread::set_name(GUARDIAN_NAME);
    let _ = set_child_subreaper(Some(getpid()));
    let started = take_over_signals().and_then(|children| {
        let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let (launch, streams) = wire::receive_launch(&socket)?;
        Ok((children, socket, launch, streams))
    });
    let Ok((children, socket, launch, streams)) = started else {
        return NOTHING_STARTED;
    };
    match start_server(&launch, streams) {
        Ok(server) => {
            drop(launch);
            Guardian::new(server, socket, children).stand_guard()
        }
        Err(error) => {
            let code = error.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error());
            let _ = wire::send_whole(&socket, &Report::Refused(code).encode());
            NOTHING_STARTED
        }
    }
}

/// Closes what the client's own parent or a foreign library left open across the
/// start of processes, so that neither the server nor the guardian holds it (S12).
fn close_inherited_descriptors() {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else {
        return;
    };
    let open: Vec<i32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2)
        .collect();
    for descriptor in open {
        // This is the first thing that runs, so nobody in this process owns any of
        // them. The one that listed them is closed by now, and closing it fails.
        let _ = nix::unistd::close(descriptor);
    }
}

/// Makes signals harmless to the guardian and turns the end of children into bytes on
/// a socket. Handlers, unlike ignoring, do not pass on to the server.
fn take_over_signals() -> io::Result<UnixStream> {
    let (children, notify) = UnixStream::pair()?;
    children.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(SIGCHLD, notify)?;
    let noted = Arc::new(AtomicBool::new(false));
    for signal in NOT_OURS {
        signal_hook::flag::register(signal, Arc::clone(&noted))?;
    }
    // A thread of the client may have blocked signals; both the guardian and the
    // server, which inherits this, need to receive them.
    let _ = SigSet::empty().thread_set_mask();
    Ok(children)
}

/// Starts the server; its ends of the pipes are closed here when this returns.
fn start_server(launch: &Prepared, [stdin, stdout, stderr]: [OwnedFd; 3]) -> io::Result<Pid> {
    let child = launch
        .command()
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .process_group(0)
        .spawn()?;
    Ok(Pid::from_child(&child))
}

struct Guardian {
    server: Pid,
    socket: UnixStream,
    /// Becomes readable when a child has ended.
    children: UnixStream,
    /// Becomes readable when the client has ended, even if another process still holds
    /// its end of the socket: one that the client forked without executing anything.
    client: Option<OwnedFd>,
    /// Bytes of an order that has not arrived whole.
    order: Vec<u8>,
    shutdown: ShutdownLadder,
    server_reported: bool,
    /// The client has asked for an orderly end before it went.
    close_ordered: bool,
    client_gone: bool,
}

/// What the guardian's children are like after reaping.
#[derive(PartialEq, Eq)]
enum Children {
    Left,
    AllGone,
}

impl Guardian {
    fn new(server: Pid, socket: UnixStream, children: UnixStream) -> Self {
        let client = client_descriptor(&socket);
        Self {
            server,
            socket,
            children,
            client,
            order: Vec::with_capacity(ORDER_SIZE),
            shutdown: ShutdownLadder::new(),
            server_reported: false,
            close_ordered: false,
            client_gone: false,
        }
    }

    fn stand_guard(mut self) -> i32 {
        self.report(Report::Spawned(
            self.server.as_raw_nonzero().get().unsigned_abs(),
        ));
        loop {
            if self.reap() == Children::AllGone {
                // Only if the system reaped the server behind our back.
                if !self.server_reported {
                    self.report(Report::Exited(ExitReason::Unknown));
                }
                return DONE;
            }
            match self.shutdown.due(Instant::now()) {
                Step::Wait => {
                    if self.sleep().is_err() {
                        // Without waiting there is no guarding.
                        self.shutdown.kill(Instant::now());
                    }
                }
                Step::Terminate => tree::terminate(self.server),
                Step::Kill => tree::kill(self.server),
                Step::GiveUp => return GAVE_UP,
            }
        }
    }

    /// Reaps what has ended, orphans included, but not for ever: a tree that keeps forking
    /// ends as fast as it can be reaped, and must be killed in between.
    fn reap(&mut self) -> Children {
        for _ in 0..REAPED_AT_ONCE {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((child, status))) if child == self.server => {
                    self.server_reported = true;
                    self.report(Report::Exited(exit_reason(status)));
                    self.shutdown.server_exited(Instant::now());
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return Children::Left,
                // As everybody's adoptive parent we have descendants only as long as we
                // have children.
                Err(_) => return Children::AllGone,
            }
        }
        Children::Left
    }

    /// Sleeps until something happens or the ladder's next rung is due.
    fn sleep(&mut self) -> io::Result<()> {
        let timeout = self.shutdown.deadline().map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            // A moment late rather than early: waking early would only mean to turn
            // round and sleep again.
            left + Duration::from_micros(100)
        });
        let timeout = timeout.and_then(|left| Timespec::try_from(left).ok());

        let mut watched = vec![PollFd::new(&self.children, PollFlags::IN)];
        if !self.client_gone {
            watched.push(PollFd::new(&self.socket, PollFlags::IN));
            if let Some(client) = &self.client {
                watched.push(PollFd::new(client, PollFlags::IN));
            }
        }
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut happened = watched.iter().map(|one| !one.revents().is_empty());
        let [child_ended, client_spoke, client_ended] =
            std::array::from_fn(|_| happened.next().unwrap_or(false));

        if child_ended {
            let mut notes = [0; 64];
            // Whatever it says, reaping comes next.
            let _ = (&self.children).read(&mut notes);
        }
        if client_spoke {
            self.hear();
        }
        if client_ended {
            self.client_is_gone();
        }
        Ok(())
    }

    /// Takes orders from the socket; its end means that the client is gone.
    fn hear(&mut self) {
        let mut bytes = [0; ORDER_SIZE];
        let missing = ORDER_SIZE - self.order.len();
        match (&self.socket).read(&mut bytes[..missing]) {
            Ok(0) => return self.client_is_gone(),
            Ok(count) => self.order.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Err(_) => return self.client_is_gone(),
        }
        let Ok(whole) = <[u8; ORDER_SIZE]>::try_from(self.order.as_slice()) else {
            return;
        };
        self.order.clear();
        match Order::decode(whole) {
            Ok(Order::Close(ladder)) => {
                self.close_ordered = true;
                self.shutdown.close(ladder, Instant::now());
            }
            Ok(Order::Kill) => self.shutdown.kill(Instant::now()),
            // A client that does not make sense is not there.
            Err(_) => self.client_is_gone(),
        }
    }

    fn client_is_gone(&mut self) {
        self.client_gone = true;
        let ladder = match self.close_ordered {
            true => LEFT_TO_GUARDIAN,
            false => ABANDONED,
        };
        self.shutdown.close(ladder, Instant::now());
    }

    fn report(&self, report: Report) {
        // It fails when the client is gone, which shows on the socket as well.
        let _ = wire::send_whole(&self.socket, &report.encode());
    }
}

/// A descriptor of the client's process, if it is our parent as it should be: then its
/// id cannot have passed to another process in between.
fn client_descriptor(socket: &UnixStream) -> Option<OwnedFd> {
    let client = socket_peercred(socket).ok()?.pid;
    let descriptor = pidfd_open(client, PidfdFlags::empty()).ok()?;
    (getppid() == Some(client)).then_some(descriptor)
}

fn exit_reason(status: WaitStatus) -> ExitReason {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ExitReason::Code(code),
        (None, Some(signal)) => ExitReason::Signal(signal),
        (None, None) => ExitReason::Unknown,
    }
}
