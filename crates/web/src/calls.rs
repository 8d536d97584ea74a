//! Calls of tools that the console makes: begun, followed, cancelled, and kept for a while after
//! their end.
//!
//! A call has the number that it has in the host, so events and questions name it. It belongs to
//! the console and goes on without the request that began it, unless that request waits for it.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use attache::host::call_log::CallEnding;
use attache::host::names::ToolName;
use attache::host::policy::CallOrigin;
use attache::host::{Call, Error, Host};
use attache::protocol::{CallToolResult, Json};
use attache::{Error as ClientError, TaskHandle, TaskStart};
use axum::http::StatusCode;
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use crate::error::ApiError;
use crate::now_ms;

/// How many calls are kept, those that run included.
const MOST_KEPT: usize = 200;
/// How many calls run at once.
const MOST_RUNNING: usize = 64;
/// How many bytes of results are kept; the oldest go first.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// How long a task of a server may take, unless the caller says.
const TASK_PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// A call that is wanted.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) tool: ToolName,
    pub(crate) arguments: Json,
    pub(crate) timeout: Option<Duration>,
    pub(crate) as_task: bool,
    pub(crate) origin: CallOrigin,
}

/// One call.
#[derive(Debug)]
pub(crate) struct CallEntry {
    pub(crate) number: u64,
    pub(crate) tool: ToolName,
    pub(crate) arguments: Json,
    pub(crate) origin: CallOrigin,
    pub(crate) as_task: bool,
    pub(crate) since_ms: u64,
    /// How it ended; none while it runs.
    ended: watch::Sender<Option<Arc<Ended>>>,
    cancelled: Notify,
}

/// How a call ended.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) after_ms: u64,
    pub(crate) ending: CallEnding,
    pub(crate) outcome: Outcome,
}

/// What a call gave.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// The result as the server sent it.
    Result(Json),
    /// A result was let go to make room.
    Dropped,
    Failed(Box<ApiError>),
}

/// The calls of a console.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// By number, so the oldest come first.
    calls: BTreeMap<u64, Arc<CallEntry>>,
    running: usize,
    /// How many bytes of results are kept.
    bytes: usize,
}

type Work = Pin<Box<dyn Future<Output = Result<Json, Error>> + Send>>;

impl Calls {
    /// Begins a call. What is refused at once is the error of this; everything else is told by the
    /// entry.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        host: &Host,
        wanted: Wanted,
    ) -> Result<Arc<CallEntry>, ApiError> {
        if self.table.lock().running >= MOST_RUNNING {
            return Err(ApiError::busy(
                "too many calls run; wait for one, or cancel it",
            ));
        }
        let since_ms = now_ms();
        // What other programs have approved or revoked since counts from now on.
        host.reread_approvals();
        let number = Arc::new(AtomicU64::new(0));
        let told = number.clone();
        let mut call = host
            .call(wanted.tool.clone(), &wanted.arguments)
            .origin(wanted.origin)
            .numbered(move |number| told.store(number, Ordering::Release));
        if let Some(timeout) = wanted.timeout {
            call = call.timeout(timeout);
        }
        let mut work: Work = match wanted.as_task {
            true => Box::pin(as_task(call, wanted.tool.clone(), wanted.timeout)),
            false => Box::pin(plainly(call, wanted.tool.clone())),
        };
        // A call whose server is named has its number as soon as it is looked at.
        let first = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
        let number = number.load(Ordering::Acquire);
        if let Poll::Ready(Err(error)) = &first {
            let error = ApiError::from(error);
            return Err(if number > 0 {
                error.of_call(number)
            } else {
                error
            });
        }
        let entry = Arc::new(CallEntry {
            number,
            tool: wanted.tool,
            arguments: wanted.arguments,
            origin: wanted.origin,
            as_task: wanted.as_task,
            since_ms,
            ended: watch::Sender::new(None),
            cancelled: Notify::new(),
        });
        self.insert(&entry);
        match first {
            Poll::Ready(answer) => self.finish(&entry, Some(answer)),
            Poll::Pending => {
                let (calls, entry) = (self.clone(), entry.clone());
                tokio::spawn(async move {
                    let answer = tokio::select! {
                        answer = work => Some(answer),
                        () = entry.cancelled.notified() => None,
                    };
                    calls.finish(&entry, answer);
                });
            }
        }
        Ok(entry)
    }

    /// The call of that number.
    pub(crate) fn get(&self, number: u64) -> Option<Arc<CallEntry>> {
        self.table.lock().calls.get(&number).cloned()
    }

    /// All calls that are kept, the newest last.
    pub(crate) fn all(&self) -> Vec<Arc<CallEntry>> {
        self.table.lock().calls.values().cloned().collect()
    }

    fn insert(&self, entry: &Arc<CallEntry>) {
        let mut table = self.table.lock();
        table.running += 1;
        table.calls.insert(entry.number, entry.clone());
        while table.calls.len() > MOST_KEPT {
            let over = table.calls.values().find(|call| call.ended().is_some());
            let Some(number) = over.map(|call| call.number) else {
                return;
            };
            if let Some(former) = table.calls.remove(&number) {
                table.bytes -= former.weight();
            }
        }
    }

    /// Notes the end of a call; one without an answer was cancelled.
    fn finish(&self, entry: &CallEntry, answer: Option<Result<Json, Error>>) {
        let after_ms = now_ms().saturating_sub(entry.since_ms);
        let (ending, outcome) = outcome(entry, answer);
        let mut table = self.table.lock();
        table.running -= 1;
        entry.ended.send_replace(Some(Arc::new(Ended {
            after_ms,
            ending,
            outcome,
        })));
        table.bytes += entry.weight();
        let calls: Vec<Arc<CallEntry>> = table.calls.values().cloned().collect();
        for call in calls {
            if table.bytes <= MOST_BYTES {
                return;
            }
            table.bytes -= call.let_go();
        }
    }
}

impl CallEntry {
    /// How it ended, if it has.
    pub(crate) fn ended(&self) -> Option<Arc<Ended>> {
        self.ended.borrow().clone()
    }

    /// Waits for its end.
    pub(crate) async fn wait(&self) -> Option<Arc<Ended>> {
        let mut ended = self.ended.subscribe();
        let ended = ended.wait_for(Option::is_some).await.ok()?;
        ended.clone()
    }

    /// Gives it up: the server is told, and its end is noted soon.
    pub(crate) fn cancel(&self) {
        self.cancelled.notify_one();
    }

    fn weight(&self) -> usize {
        match self.ended().as_deref() {
            Some(Ended {
                outcome: Outcome::Result(result),
                ..
            }) => result.as_str().len(),
            _ => 0,
        }
    }

    /// Lets its result go and tells how much that was.
    fn let_go(&self) -> usize {
        let weight = self.weight();
        if weight > 0
            && let Some(ended) = self.ended()
        {
            self.ended.send_replace(Some(Arc::new(Ended {
                outcome: Outcome::Dropped,
                ..(*ended).clone()
            })));
        }
        weight
    }
}

/// Cancels a call when the request goes away that waits for it.
#[derive(Debug)]
pub(crate) struct CancelOnDrop(pub(crate) Arc<CallEntry>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if self.0.ended().is_none() {
            self.0.cancel();
        }
    }
}

fn outcome(entry: &CallEntry, answer: Option<Result<Json, Error>>) -> (CallEnding, Outcome) {
    match answer {
        Some(Ok(result)) => {
            let failed = result.decode::<CallToolResult>();
            let ending = match failed.is_ok_and(|result| result.is_error) {
                true => CallEnding::ToolFailed,
                false => CallEnding::Result,
            };
            (ending, Outcome::Result(result))
        }
        Some(Err(error)) => {
            let said = ApiError::from(&error).of_call(entry.number);
            (CallEnding::of(&error), Outcome::Failed(Box::new(said)))
        }
        None => {
            let error = Error::Request {
                server: entry.tool.server.clone(),
                error: ClientError::Cancelled {
                    method: "tools/call".to_owned(),
                },
            };
            let mut said = ApiError::from(&error).of_call(entry.number);
            said.status = StatusCode::CONFLICT.as_u16();
            (CallEnding::Cancelled, Outcome::Failed(Box::new(said)))
        }
    }
}

async fn plainly(call: Call, tool: ToolName) -> Result<Json, Error> {
    let payload = call.raw().await?;
    payload.to_json().map_err(|error| unreadable(tool, &error))
}

/// Makes the call as a task of the server and waits for its end.
async fn as_task(call: Call, tool: ToolName, timeout: Option<Duration>) -> Result<Json, Error> {
    let result = match call.as_task().await? {
        TaskStart::Finished(result) => result,
        TaskStart::Running(handle) => {
            let mut running = RunningTask {
                handle: Some(handle.clone()),
            };
            let ended = handle.result(timeout.unwrap_or(TASK_PATIENCE)).await;
            running.handle = None;
            ended.map_err(|error| Error::Request {
                server: tool.server.clone(),
                error,
            })?
        }
    };
    Json::from_serialize(&result).map_err(|error| unreadable(tool, &error))
}

/// A task whose end is waited for; it is cancelled if the waiting is given up.
struct RunningTask {
    handle: Option<TaskHandle>,
}

impl Drop for RunningTask {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            // A server that is gone has given it up too.
            tokio::spawn(async move { handle.cancel().await.ok() });
        }
    }
}

fn unreadable(tool: ToolName, error: &serde_json::Error) -> Error {
    Error::Request {
        server: tool.server,
        error: ClientError::Protocol {
            method: "tools/call".to_owned(),
            problem: error.to_string(),
        },
    }
}
