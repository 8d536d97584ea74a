//! The client's side of a guardian.
//!
//! Owns starting the guardian process, handing it the launch, hearing its reports
//! and reaping it. Refuses to signal anything itself, except for one last resort:
//! a guardian that died leaves us only the server's process group.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::sync::watch;

use super::wire::{self, EncodedLaunch, REPORT_SIZE, Report};
use super::{GUARDIAN_ARGUMENT, GUARDIAN_NAME};
use crate::exit::{ExitReason, ProcessState};
use crate::resolve::Prepared;
use crate::unix::{Group, Pipes, Stderr, Stdin, Stdout};
use crate::{Order, ServerProcess, SpawnError, SpawnErrorKind, Spawned};

/// How long a guardian may take from its start to the news about the server. It
/// takes about a millisecond; a machine that needs this long starts nothing.
const START_LIMIT: Duration = Duration::from_secs(10);

/// Where the loader looks for libraries.
const LOADER_PATH: &str = "LD_LIBRARY_PATH";

/// The line to a guardian. Dropping it closes our half of the socket, which the
/// guardian takes for our death: the tree goes down, with or without a runtime here.
#[derive(Debug)]
pub(crate) struct Control(OwnedWriteHalf);

impl Control {
    pub(crate) fn send(&self, order: Order) {
        // It fails when the guardian is gone, and then its reader knows as well.
        let _ = wire::send_whole(self.0.as_ref(), &order.encode());
    }
}

/// A guardian that was started and has yet to say how the server's start went.
pub(crate) struct Starting {
    prepared: Prepared,
    helper: PathBuf,
    launch: EncodedLaunch,
    guardian: Child,
    socket: UnixStream,
    stdin: Stdin,
    stdout: Stdout,
    stderr: Stderr,
}

/// Starts a guardian process from `helper`.
pub(crate) fn start(prepared: Prepared, helper: &Path) -> Result<Starting, SpawnError> {
    let system = |error| prepared.error(SpawnErrorKind::from_system(error));
    let launch =
        EncodedLaunch::new(&prepared).ok_or_else(|| prepared.error(SpawnErrorKind::TooLarge))?;
    let pipes = Pipes::open().map_err(system)?;
    let (ours, theirs) = StdUnixStream::pair().map_err(system)?;
    // From here on the server's ends of the pipes live in the socket only, until the
    // guardian takes them out or the socket closes.
    wire::send_descriptors(&ours, &launch, &pipes.theirs).map_err(system)?;
    drop(pipes.theirs);
    ours.set_nonblocking(true).map_err(system)?;
    let socket = UnixStream::from_std(ours).map_err(system)?;

    let mut command = std::process::Command::new(helper);
    command
        // The server can read its parent's environment, and ours is full of secrets (S12). The
        // loader alone may need a word to start the same executable again.
        .env_clear()
        .envs(std::env::var_os(LOADER_PATH).map(|path| (LOADER_PATH, path)))
        .arg0(OsStr::from_bytes(GUARDIAN_NAME.to_bytes()))
        .arg(GUARDIAN_ARGUMENT)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    let guardian = Command::from(command).spawn().map_err(|error| {
        let reason = format!("{} cannot be started: {error}", helper.display());
        prepared.error(SpawnErrorKind::Guardian(reason))
    })?;
    Ok(Starting {
        helper: helper.to_owned(),
        launch,
        guardian,
        socket,
        stdin: pipes.stdin,
        stdout: pipes.stdout,
        stderr: pipes.stderr,
        prepared,
    })
}

impl Starting {
    /// Waits for the server to run. Dropping the future closes the socket, and with
    /// it ends the guardian and whatever it had started.
    pub(crate) async fn finish(mut self) -> Result<Spawned, SpawnError> {
        let exchange = async {
            self.socket.write_all(&self.launch.body).await?;
            read_report(&mut self.socket).await
        };
        let report = tokio::time::timeout(START_LIMIT, exchange).await;
        match report {
            Ok(Ok(Report::Spawned(id))) => self.into_spawned(id),
            Ok(Ok(Report::Refused(code))) => {
                let error = io::Error::from_raw_os_error(code);
                let error = self.prepared.start_error(error);
                reap(self.guardian);
                Err(error)
            }
            Ok(Ok(Report::Exited(_)) | Err(_)) => Err(self.failed("ended without an answer")),
            Err(_) => Err(self.failed("did not answer in time")),
        }
    }

    fn into_spawned(self, id: u32) -> Result<Spawned, SpawnError> {
        let Some(group) = Group::led_by(id) else {
            return Err(self.failed("named an impossible process"));
        };
        let (reports, orders) = self.socket.into_split();
        let (told, fate) = watch::channel(ProcessState::Running);
        tokio::spawn(listen(reports, self.guardian, group, told));
        Ok(Spawned {
            stdin: self.stdin,
            stdout: self.stdout,
            stderr: self.stderr,
            child: ServerProcess {
                id,
                fate,
                control: crate::Control::Guardian(Control(orders)),
            },
        })
    }

    fn failed(mut self, how: &str) -> SpawnError {
        let helper = self.helper.display();
        let reason = format!("{helper} {how}; its main must begin with `guardian::enable()`");
        // Whatever runs there instead of a guardian has nothing to take care of.
        let _ = self.guardian.start_kill();
        reap(self.guardian);
        self.prepared.error(SpawnErrorKind::Guardian(reason))
    }
}

/// Hears what becomes of the server, and sees the guardian to its end.
async fn listen(
    mut reports: OwnedReadHalf,
    mut guardian: Child,
    group: Group,
    told: watch::Sender<ProcessState>,
) {
    let mut reason = ExitReason::Unknown;
    while let Ok(report) = read_report(&mut reports).await {
        if let Report::Exited(exit) = report {
            reason = exit;
            told.send_replace(ProcessState::Exited(reason));
        }
    }
    // The guardian closes the socket by ending, and ends well only when the tree is
    // gone. Otherwise what the group still holds is all that we can reach.
    let ended_well = guardian.wait().await.is_ok_and(|status| status.success());
    if !ended_well {
        group.signal(Signal::KILL);
    }
    told.send_replace(ProcessState::Gone(reason));
}

async fn read_report(socket: &mut (impl tokio::io::AsyncRead + Unpin)) -> io::Result<Report> {
    let mut bytes = [0; REPORT_SIZE];
    socket.read_exact(&mut bytes).await?;
    Report::decode(bytes)
}

/// Waits for a guardian that is about to end, so that it does not stay a zombie.
fn reap(mut guardian: Child) {
    tokio::spawn(async move {
        // Nothing depends on how it ended.
        let _ = guardian.wait().await;
    });
}
