//! What keeps a connection alive and takes it down: its tasks and its process.
//!
//! Dropping it ends the connection, the tasks and the whole process tree, in any state.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use attache_process::{ExitReason, InputRead, Ladder, ServerProcess};
use tokio::io::AsyncRead;
use tokio::task::JoinHandle;

use crate::connection::{Link, ReadEnd, WriteEnd};
use crate::error::CloseReason;
use crate::settings::Timeouts;
use crate::stderr::Stderr;
use crate::telling_line::LINES_LOOKED_AT;

/// How long to wait for the exit status of a server that closed its output, so that its pending
/// calls can be told why (fault 37 leaves 100 ms).
const EXIT_STATUS_PATIENCE: Duration = Duration::from_millis(50);
/// How long to wait for the rest of its stderr then; a grandchild may hold it open.
const STDERR_PATIENCE: Duration = Duration::from_millis(20);
/// How long the output of a server that has ended is still read; a grandchild may hold that open
/// as well.
const LEFT_OUTPUT_PATIENCE: Duration = Duration::from_millis(30);
/// How long to wait at the most for a tree of processes that was killed.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// How long a server is given to begin, where nothing shows whether it has.
const BEGINNING: Duration = Duration::from_millis(700);

pub(crate) struct KeepAlive {
    link: Arc<Link>,
    process: Option<Arc<ServerProcess>>,
    stderr: Stderr,
    /// This side is closing the connection, so its end is no surprise.
    closing: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<()>>,
}

impl KeepAlive {
    pub(crate) fn of_process(
        link: &Arc<Link>,
        stdout: impl AsyncRead + Send + Unpin + 'static,
        stderr: impl AsyncRead + Send + Unpin + 'static,
        process: ServerProcess,
    ) -> Self {
        let log = Stderr::new(link.limits.stderr_tail, Some(link.frames.clone()));
        let drain = tokio::spawn(log.clone().drain(stderr));
        let fate = Fate {
            link: link.clone(),
            process: Some(Arc::new(process)),
            stderr: log.clone(),
            closing: Arc::default(),
        };
        let mut keep_alive = Self::with_tasks(fate, stdout);
        keep_alive.tasks.push(drain);
        keep_alive
    }

    pub(crate) fn of_streams(
        link: &Arc<Link>,
        read: impl AsyncRead + Send + Unpin + 'static,
    ) -> Self {
        let fate = Fate {
            link: link.clone(),
            process: None,
            stderr: Stderr::new(0, None),
            closing: Arc::default(),
        };
        Self::with_tasks(fate, read)
    }

    /// A connection whose messages are carried one by one. `tasks` end with it.
    pub(crate) fn of_message_transport(link: &Arc<Link>, mut tasks: Vec<JoinHandle<()>>) -> Self {
        tasks.push(watch_deadlines(link));
        Self {
            link: link.clone(),
            process: None,
            stderr: Stderr::new(0, None),
            closing: Arc::default(),
            tasks,
        }
    }

    /// What the server answered before anything was agreed on, in words.
    pub(crate) fn answers(&self) -> Vec<String> {
        self.link.answers()
    }

    fn with_tasks(fate: Fate, read: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let reader = tokio::spawn({
            let fate = fate.clone();
            async move {
                let end = tokio::select! {
                    biased;
                    end = fate.link.run_reader(read) => end,
                    () = fate.outlived() => ReadEnd::EndOfStream,
                };
                fate.reading_ended(end).await;
            }
        });
        let writer = tokio::spawn({
            let fate = fate.clone();
            async move {
                let end = fate.link.run_writer().await;
                fate.writing_ended(end).await;
            }
        });
        let deadlines = watch_deadlines(&fate.link);
        Self {
            link: fate.link,
            process: fate.process,
            stderr: fate.stderr,
            closing: fate.closing,
            tasks: vec![reader, writer, deadlines],
        }
    }

    pub(crate) fn stderr(&self) -> &Stderr {
        &self.stderr
    }

    pub(crate) fn process_id(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.id())
    }

    /// The first lines of stdout that were no messages.
    pub(crate) fn first_strays(&self) -> Vec<String> {
        self.link.first_strays()
    }

    /// The last lines of stderr.
    pub(crate) fn last_words(&self) -> Vec<String> {
        self.stderr.tail_lines(LINES_LOOKED_AT)
    }

    /// Resolves when the server can be taken to have heard what was sent to it: when it has read
    /// it or, where that cannot be seen, when it has written anything or had a while to begin.
    pub(crate) fn heard<'a>(
        &self,
        link: &'a Link,
        input_read: Option<InputRead>,
    ) -> impl Future<Output = ()> + use<'a> {
        let stderr = self.stderr.clone();
        async move {
            if let Some(input_read) = input_read {
                link.flushed().await;
                return input_read.await;
            }
            let begun = BEGINNING.min(link.timeouts.start_grace);
            tokio::select! {
                () = link.first_sign.notified() => {}
                () = stderr.first_sign() => {}
                () = tokio::time::sleep(begun) => {}
            }
        }
    }

    /// Ends the connection in order: what was sent is written, stdin closed, and the server given
    /// time to leave before it is made to (C-INIT-13).
    pub(crate) async fn close(&self) -> Option<ExitReason> {
        let timeouts = self.link.timeouts;
        self.closing.store(true, Ordering::Relaxed);
        let _ = tokio::time::timeout(timeouts.close_grace, self.link.flushed()).await;
        self.link.close_input();
        let exit = match &self.process {
            Some(process) => Some(process.close(ladder(&timeouts)).await),
            None => {
                let _ = tokio::time::timeout(timeouts.close_grace, self.link.goodbye()).await;
                None
            }
        };
        self.link.close(CloseReason::ClosedHere);
        exit
    }

    /// Takes everything down at once and waits until it is gone.
    pub(crate) async fn abandon(self) {
        self.link.close(CloseReason::ClosedHere);
        if let Some(process) = &self.process {
            let at_once = Ladder {
                grace: Duration::ZERO,
                term: Duration::ZERO,
            };
            let _ = tokio::time::timeout(KILL_PATIENCE, process.close(at_once)).await;
        }
    }
}

impl Drop for KeepAlive {
    fn drop(&mut self) {
        self.link.close(CloseReason::ClosedHere);
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// What the tasks need to pronounce a connection dead.
#[derive(Clone)]
struct Fate {
    link: Arc<Link>,
    process: Option<Arc<ServerProcess>>,
    stderr: Stderr,
    closing: Arc<AtomicBool>,
}

impl Fate {
    async fn reading_ended(&self, end: ReadEnd) {
        match end {
            ReadEnd::EndOfStream if self.closing.load(Ordering::Relaxed) => {
                self.link.close(CloseReason::ClosedHere);
            }
            ReadEnd::EndOfStream => match self.exit().await {
                Some(exited) => self.link.close(exited),
                None => {
                    self.link.close(CloseReason::EndOfStream);
                    self.dismiss().await;
                }
            },
            ReadEnd::FrameTooLong(limit) => self.stop(CloseReason::FrameTooLong { limit }),
            ReadEnd::Failed(error) => self.stop(CloseReason::ReadFailed(error)),
        }
    }

    async fn writing_ended(&self, end: WriteEnd) {
        match end {
            WriteEnd::Closed => {}
            WriteEnd::Stalled(after) => self.stop(CloseReason::WriteStalled { after }),
            WriteEnd::Failed(error) => {
                // A broken pipe mostly means that the process is gone, which says more.
                let reason = self.exit().await;
                self.stop(reason.unwrap_or(CloseReason::WriteFailed(error)));
            }
        }
    }

    /// Resolves when the server has ended and there was time to read what it had written.
    async fn outlived(&self) {
        match &self.process {
            Some(process) => {
                process.wait().await;
                tokio::time::sleep(LEFT_OUTPUT_PATIENCE).await;
            }
            None => std::future::pending().await,
        }
    }

    async fn exit(&self) -> Option<CloseReason> {
        let process = self.process.as_ref()?;
        let exit = tokio::time::timeout(EXIT_STATUS_PATIENCE, process.wait()).await;
        let exit = exit.ok()?;
        let _ = tokio::time::timeout(STDERR_PATIENCE, self.stderr.ended()).await;
        Some(CloseReason::Exited {
            exit,
            stderr: self.stderr.tail_lines(LINES_LOOKED_AT),
        })
    }

    /// A server that closed its output may still have something to finish.
    async fn dismiss(&self) {
        if let Some(process) = &self.process {
            process.close(ladder(&self.link.timeouts)).await;
        }
    }

    fn stop(&self, reason: CloseReason) {
        self.link.close(reason);
        if let Some(process) = &self.process {
            process.kill();
        }
    }
}

fn watch_deadlines(link: &Arc<Link>) -> JoinHandle<()> {
    let link = link.clone();
    tokio::spawn(async move { link.run_deadlines().await })
}

fn ladder(timeouts: &Timeouts) -> Ladder {
    Ladder {
        grace: timeouts.close_grace,
        term: timeouts.close_terminate,
    }
}
