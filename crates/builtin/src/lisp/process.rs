//! A worker as its owner sees it.
//!
//! Owns starting the process, one evaluation in it at a time, and the truth about its end. Refuses
//! to know about sessions: a worker is given an order and either reports or is gone.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use attache_lisp::{ErrorKind, Position};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::confinement::Confinement;
use super::limits::Limits;
use super::request::{Evaluated, Failed};
use super::wire::{self, Order, Report, WorkerState, World};
use super::worker::WORKER_ARGUMENT;

/// A worker that is not ready by then never will be.
const START_TIME: Duration = Duration::from_secs(10);
/// What a worker may take beyond the wall limit to notice it by itself.
pub(super) const WALL_GRACE: Duration = Duration::from_millis(500);
/// What a worker may take to notice that its evaluation is cancelled.
const CANCEL_GRACE: Duration = Duration::from_millis(500);
/// What the system may take to end a killed process.
const END_TIME: Duration = Duration::from_secs(5);
/// Reports that wait to be looked at.
const REPORTS: usize = 16;
/// The most that is kept of what a worker writes to its standard error.
const MAX_COMPLAINT: usize = 4 << 10;

/// What to start as a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Executable {
    /// The running program itself, whose `main` calls [`enable`](super::enable) first.
    #[default]
    Own,
    /// Another program that does so, with arguments before the worker's own.
    Other(PathBuf, Vec<OsString>),
}

impl Executable {
    fn command(&self) -> io::Result<Command> {
        Ok(match self {
            // The file may have been replaced since the start, so the running image is named.
            Self::Own if cfg!(target_os = "linux") => Command::new("/proc/self/exe"),
            Self::Own => Command::new(std::env::current_exe()?),
            Self::Other(program, arguments) => {
                let mut command = Command::new(program);
                command.args(arguments);
                command
            }
        })
    }
}

/// How an order ended.
pub(super) enum Ending {
    Value(Evaluated),
    Failure(Failed, WorkerState),
    /// The worker is gone, and with it all its definitions.
    Gone(Failed),
}

/// A running worker. Dropping it kills the process.
pub(super) struct Worker {
    child: Child,
    orders: ChildStdin,
    reports: mpsc::Receiver<Report>,
    complaint: JoinHandle<Vec<u8>>,
    /// What it said about itself.
    pub(super) confinement: Confinement,
}

impl Worker {
    /// Starts a worker and waits until it is ready.
    pub(super) async fn start(executable: &Executable, address_space: u64) -> io::Result<Self> {
        let mut command = executable.command()?;
        command
            .arg(WORKER_ARGUMENT)
            .arg(address_space.to_string())
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.current_dir("/");
        let mut child = command.spawn()?;
        let (Some(orders), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(io::Error::other("the worker has no pipes"));
        };
        let (sender, reports) = mpsc::channel(REPORTS);
        tokio::spawn(pass_reports(stdout, sender));
        let mut worker = Self {
            child,
            orders,
            reports,
            complaint: tokio::spawn(tail(stderr)),
            confinement: Confinement::default(),
        };
        match timeout(START_TIME, worker.first_report()).await {
            Ok(Some(Report::Ready)) => Ok(worker),
            Ok(_) => Err(io::Error::other(worker.exit_failure().await.message)),
            Err(_) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("the worker was not ready within {START_TIME:?}"),
            )),
        }
    }

    /// What it says after it has said how it is confined.
    async fn first_report(&mut self) -> Option<Report> {
        loop {
            match self.reports.recv().await {
                Some(Report::Confined(confinement)) => self.confinement = confinement,
                report => return report,
            }
        }
    }

    /// Says whether the process is still there.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Has one program evaluated. When `cancelled` resolves, the worker is asked to stop, and
    /// killed if it does not.
    pub(super) async fn evaluate(
        &mut self,
        code: String,
        limits: Limits,
        world: World,
        mut cancelled: oneshot::Receiver<()>,
        progress: &mpsc::Sender<u64>,
    ) -> Ending {
        let wall = limits.wall();
        let order = Order::Evaluate {
            code,
            limits,
            world,
        };
        let deadline = sleep_until(Instant::now() + wall + WALL_GRACE);
        tokio::pin!(deadline);
        let mut stopping = None;
        // A large order may fill the pipe; a worker that does not read it is as good as stuck.
        tokio::select! {
            sent = send(&mut self.orders, &order) => {
                if sent.is_err() {
                    return Ending::Gone(self.exit_failure().await);
                }
            }
            () = &mut deadline => return self.kill(&Stopping::Wall(wall)).await,
        }
        loop {
            tokio::select! {
                report = self.reports.recv() => match report {
                    Some(Report::Progress(steps)) => {
                        // Whoever is slow to look misses some.
                        let _ = progress.try_send(steps);
                    }
                    Some(Report::Ready | Report::Confined(_)) => {}
                    Some(Report::Value { value, output, steps, heap_peak }) => {
                        return Ending::Value(Evaluated { value, output, steps, heap_peak });
                    }
                    Some(Report::Failure { kind, message, position, output, world }) => {
                        let kind = ErrorKind::from_name(&kind).unwrap_or(ErrorKind::Internal);
                        let position = position.map(|(line, column)| Position { line, column });
                        let failed = Failed { kind, message, position, output };
                        return Ending::Failure(failed, world);
                    }
                    None => return Ending::Gone(self.exit_failure().await),
                },
                () = &mut deadline => {
                    let reason = stopping.unwrap_or(Stopping::Wall(wall));
                    return self.kill(&reason).await;
                }
                _ = &mut cancelled, if stopping.is_none() => {
                    stopping = Some(Stopping::Cancelled);
                    deadline.as_mut().reset(Instant::now() + CANCEL_GRACE);
                    // A worker that cannot be told is killed at the new deadline.
                    let _ = send(&mut self.orders, &Order::Cancel).await;
                }
            }
        }
    }

    async fn kill(&mut self, reason: &Stopping) -> Ending {
        let message = match reason {
            Stopping::Wall(wall) => {
                format!("the evaluation took longer than {wall:?} and its process was killed")
            }
            Stopping::Cancelled => "the evaluation was cancelled and its process killed".to_owned(),
        };
        self.start_end();
        self.ended().await;
        Ending::Gone(Failed::outside(ErrorKind::Time, message))
    }

    /// Kills the process.
    pub(super) fn start_end(&mut self) {
        // One that has ended by itself cannot be killed, which is as good.
        let _ = self.child.start_kill();
    }

    /// Waits until the process is gone.
    pub(super) async fn ended(&mut self) {
        let _ = timeout(END_TIME, self.child.wait()).await;
    }

    /// Why the process ended, as far as it can be known.
    async fn exit_failure(&mut self) -> Failed {
        // The pipe may be closed by a process that still runs.
        let status = match timeout(END_TIME, self.child.wait()).await {
            Ok(Ok(status)) => status,
            _ => {
                let _ = self.child.start_kill();
                let message = "the worker closed its pipe without ending and was killed";
                return Failed::outside(ErrorKind::Internal, message);
            }
        };
        let complaint = timeout(END_TIME, &mut self.complaint).await;
        let complaint = complaint.ok().and_then(Result::ok).unwrap_or_default();
        explain(status, &String::from_utf8_lossy(&complaint))
    }
}

/// Why an evaluation was stopped from outside.
enum Stopping {
    Wall(Duration),
    Cancelled,
}

async fn send(orders: &mut ChildStdin, order: &Order) -> io::Result<()> {
    orders.write_all(&wire::encode(order)?).await?;
    orders.flush().await
}

/// Reads reports until the stream ends or makes no sense.
async fn pass_reports(mut stdout: ChildStdout, reports: mpsc::Sender<Report>) {
    while let Ok(report) = receive(&mut stdout).await {
        if reports.send(report).await.is_err() {
            break;
        }
    }
}

async fn receive(stdout: &mut ChildStdout) -> io::Result<Report> {
    let mut announced = [0; 4];
    stdout.read_exact(&mut announced).await?;
    let mut bytes = vec![0; wire::length(announced)?];
    stdout.read_exact(&mut bytes).await?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Reads a stream to its end and keeps the last part.
async fn tail(mut stream: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        kept.extend_from_slice(&buffer[..count]);
        let excess = kept.len().saturating_sub(MAX_COMPLAINT);
        kept.drain(..excess);
    }
    kept
}

/// What the end of a worker means for the evaluation it had.
fn explain(status: ExitStatus, complaint: &str) -> Failed {
    // What Rust's runtime says before it gives up.
    if complaint.contains("memory allocation of") {
        let message = "the worker process ran out of memory and ended";
        return Failed::outside(ErrorKind::Memory, message);
    }
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;

        use rustix::process::Signal;

        if status.signal() == Some(Signal::XCPU.as_raw()) {
            let message = "the evaluation used more processor time than the wall limit allows";
            return Failed::outside(ErrorKind::Time, message);
        }
    }
    let words = complaint.lines().rev().find(|line| !line.trim().is_empty());
    let words = words.map_or_else(String::new, |line| {
        let line: String = line.chars().take(200).collect();
        format!(": {line}")
    });
    let message = format!("the worker process ended unexpectedly ({status}){words}");
    Failed::outside(ErrorKind::Internal, message)
}
