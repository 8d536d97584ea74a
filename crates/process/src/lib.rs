//! Child processes that speak MCP over their standard streams.
//!
//! Owns turning a [`Launch`] into a running tree of processes, the three pipes to
//! it, the shutdown ladder, and the promise that no process outlives its owner.
//! Refuses to know what the bytes in the pipes mean, and never starts a server a
//! second time.
//!
//! # How firm the promise is
//!
//! | | tree ends when closed or dropped | members that left the group (`setsid`) | after `kill -9` of this process |
//! |---|---|---|---|
//! | Linux with [`guardian::enable`] | yes | yes | yes, within two seconds |
//! | Unix without it | yes | no | only what ends when standard input closes |
//! | Windows | the server; its children when closed or killed | – | only what ends when standard input closes |

mod error;
mod exit;
pub mod guardian;
mod launch;
mod resolve;
mod shutdown;
#[cfg(unix)]
mod unix;
mod watcher;
#[cfg(windows)]
mod windows;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::watch;

pub use error::{SpawnError, SpawnErrorKind};
pub use exit::ExitReason;
pub use launch::{ALLOWED_VARIABLES, Environment, Guardianship, Launch};

use exit::ProcessState;
use resolve::Prepared;

#[cfg(unix)]
use unix as platform;
#[cfg(windows)]
use windows as platform;

/// Our end of the server's standard input.
pub type ServerStdin = platform::Stdin;
/// Our end of the server's standard output.
pub type ServerStdout = platform::Stdout;
/// Our end of the server's standard error.
pub type ServerStderr = platform::Stderr;

/// A server that was started, with our ends of its standard streams.
#[derive(Debug)]
pub struct Spawned {
    /// Dropping this closes the server's standard input, the first step of ending it.
    pub stdin: ServerStdin,
    /// What the server writes to its standard output.
    pub stdout: ServerStdout,
    /// What the server writes to its standard error; it must be read, or the server
    /// stops once the pipe is full.
    pub stderr: ServerStderr,
    /// The process tree.
    pub child: ServerProcess,
}

/// Resolves when a server has read everything that was written to its standard input. It keeps that
/// input open, so it must be gone before the input is to end.
pub type InputRead = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How often to look whether a server has read its input.
#[cfg(target_os = "linux")]
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

impl Spawned {
    /// Watches what the server has read, where the system tells how much is left in a pipe.
    #[cfg(target_os = "linux")]
    pub fn input_read(&self) -> Option<InputRead> {
        use std::os::fd::AsFd as _;
        let pipe = self.stdin.as_fd().try_clone_to_owned().ok()?;
        Some(Box::pin(async move {
            while rustix::io::ioctl_fionread(&pipe).is_ok_and(|unread| unread > 0) {
                tokio::time::sleep(LOOK_INTERVAL).await;
            }
        }))
    }

    /// Watches what the server has read, where the system tells how much is left in a pipe.
    #[cfg(not(target_os = "linux"))]
    pub fn input_read(&self) -> Option<InputRead> {
        None
    }
}

/// The waits of the shutdown ladder: standard input is closed, `grace` passes, every
/// process of the tree is asked to end (TERM), `term` passes, what is left is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ladder {
    /// How long the server may take to end by itself once its input has closed.
    pub grace: Duration,
    /// How long its processes may take to end once they were asked.
    pub term: Duration,
}

impl Default for Ladder {
    /// Two seconds of grace, because interpreters need more than one to leave, and
    /// one second after TERM; together they keep a clean exit under five seconds.
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(2),
            term: Duration::from_secs(1),
        }
    }
}

/// What ties a running tree to this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// A guardian process takes the whole tree down, whatever happens to us.
    Guardian,
    /// The server's process group is killed as long as we can do it.
    ProcessGroup,
    /// The server's own process is killed as long as we can do it.
    ServerOnly,
}

/// A running server and everything it started.
///
/// Dropping it takes the whole tree down without waiting and without needing a
/// runtime; [`ServerProcess::close`] does it politely and waits.
pub struct ServerProcess {
    id: u32,
    fate: watch::Receiver<ProcessState>,
    control: Control,
}

/// What can be asked of whoever watches the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Close(Ladder),
    Kill,
}

/// The way to whoever watches the tree. Dropping it means that nobody wants the
/// server any more.
enum Control {
    #[cfg(target_os = "linux")]
    Guardian(guardian::Control),
    Platform(platform::Control),
}

/// Starts a server.
///
/// Everything that can be known beforehand is checked first, so that the error
/// names what was tried. Dropping the future stops the start and frees everything
/// it had made.
///
/// # Errors
///
/// [`SpawnError`] says why the server could not be started.
///
/// # Panics
///
/// Outside a tokio runtime with its I/O and time drivers enabled.
pub async fn spawn(launch: &Launch) -> Result<Spawned, SpawnError> {
    match start_off_the_runtime(launch).await? {
        Started::Running(spawned) => Ok(spawned),
        #[cfg(target_os = "linux")]
        Started::Guarded(starting) => starting.finish().await,
    }
}

/// How far a start can be taken without waiting for another process.
enum Started {
    Running(Spawned),
    #[cfg(target_os = "linux")]
    Guarded(Box<guardian::Starting>),
}

/// Searching the file system and creating a process block their thread, so they are
/// done where that does not delay the calls of other servers (P5).
async fn start_off_the_runtime(launch: &Launch) -> Result<Started, SpawnError> {
    let wanted = launch.clone();
    let start = move || {
        let prepared = Prepared::new(&wanted)?;
        match guardian::executable_for(&wanted.guardianship) {
            #[cfg(target_os = "linux")]
            Some(helper) => guardian::start(prepared, &helper)
                .map(|starting| Started::Guarded(Box::new(starting))),
            #[cfg(not(target_os = "linux"))]
            Some(_) => Err(prepared.error(SpawnErrorKind::Guardian(
                "guardians exist on Linux only".to_owned(),
            ))),
            None => platform::start(&prepared).map(Started::Running),
        }
    };
    tokio::task::spawn_blocking(start)
        .await
        .unwrap_or_else(|lost| {
            let kind = SpawnErrorKind::Other(std::io::Error::other(lost));
            Err(SpawnError::new(
                &launch.program,
                launch.cwd.as_deref(),
                kind,
            ))
        })
}

impl ServerProcess {
    /// The operating system's id of the server process.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// What ties this tree to us.
    pub fn protection(&self) -> Protection {
        match &self.control {
            #[cfg(target_os = "linux")]
            Control::Guardian(_) => Protection::Guardian,
            Control::Platform(_) => platform::PROTECTION,
        }
    }

    /// Waits until the server process has ended. Any number of callers may wait, now
    /// or later, and all learn the same. What the server leaves behind may live a
    /// moment longer.
    pub async fn wait(&self) -> ExitReason {
        self.reached(ProcessState::is_over).await
    }

    /// Runs the shutdown ladder and returns when the whole tree is gone, or when it
    /// has proven unkillable. The caller has dropped the server's standard input
    /// before. Once called the ladder runs to its end, even if this future is dropped; if this
    /// process ends meanwhile, its guardian hurries to be done within two seconds.
    pub async fn close(&self, ladder: Ladder) -> ExitReason {
        self.order(Order::Close(ladder));
        let limit = ladder
            .grace
            .saturating_add(ladder.term)
            .saturating_add(shutdown::KILL_PATIENCE * 2);
        // The watcher keeps the ladder's time; this limit is for a watcher that has
        // itself stopped.
        match tokio::time::timeout(limit, self.reached(ProcessState::is_gone)).await {
            Ok(reason) => reason,
            Err(_) => self.fate.borrow().reason(),
        }
    }

    /// Kills the whole tree at once, without waiting for it.
    pub fn kill(&self) {
        self.order(Order::Kill);
    }

    async fn reached(&self, point: impl FnMut(&ProcessState) -> bool) -> ExitReason {
        let mut fate = self.fate.clone();
        match fate.wait_for(point).await {
            Ok(fate) => fate.reason(),
            // The watcher went away with its runtime; what it knew last still holds.
            Err(_) => self.fate.borrow().reason(),
        }
    }

    fn order(&self, order: Order) {
        match &self.control {
            #[cfg(target_os = "linux")]
            Control::Guardian(control) => control.send(order),
            Control::Platform(control) => control.send(order),
        }
    }
}

impl fmt::Debug for ServerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerProcess")
            .field("id", &self.id)
            .field("fate", &*self.fate.borrow())
            .field("protection", &self.protection())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_and_their_futures_move_between_threads() {
        fn movable(_: &(impl Send + 'static)) {}
        fn shareable<T: Send + Sync + 'static>() {}
        shareable::<ServerProcess>();
        shareable::<Spawned>();
        shareable::<SpawnError>();
        movable(&async {
            let launch = Launch::new("server");
            if let Ok(spawned) = spawn(&launch).await {
                spawned.child.close(Ladder::default()).await;
            }
        });
    }
}
