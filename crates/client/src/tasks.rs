//! Work that outlives its request: the experimental tasks of 2025-11-25 and the tasks extension.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use attache_protocol::frame::{MetaFields, Params};
use attache_protocol::{
    CallTool, CallToolResult, CancelTask, CreateTaskResult, Entries, Era, ExtCancelTask,
    ExtGetTask, ExtTask, ExtUpdateTask, ExtUpdateTaskParams, GetTask, InputRequired, Json,
    ListTasks, Method, Payload, ResultKind, Task, TaskParams, TaskRequest, TaskResult, TaskStatus,
};
use serde::Serialize;
use tokio::time::Instant;

use crate::client::Client;
use crate::connection::FOR_EVER;
use crate::error::Error;
use crate::request::{Options, Request, ResponseFuture, Rounds};
use crate::settings::TasksExtension;

/// How often to ask for a task's state when the server does not say.
const DEFAULT_POLL: Duration = Duration::from_secs(1);
/// The shortest and the longest pause between two questions, whatever the server says.
const POLL_BOUNDS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(60));

/// What became of a tool call that may run as a task.
#[derive(Debug)]
pub enum TaskStart {
    /// The server answered at once.
    Finished(CallToolResult),
    /// The work goes on.
    Running(TaskHandle),
}

/// A task that runs on a server.
#[derive(Clone, Debug)]
pub struct TaskHandle {
    client: Client,
    id: String,
}

/// The state of a task, in either era.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskState {
    /// Where it stands.
    pub status: TaskStatus,
    /// What the server says about it.
    pub message: Option<String>,
    /// How long to wait before asking again.
    pub poll_interval: Duration,
}

/// A tool call as it is written.
#[derive(Serialize)]
struct TaskCall<'a, A> {
    name: &'a str,
    arguments: A,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskRequest>,
}

impl Client {
    /// Calls a tool as a task.
    ///
    /// In 2025-11-25 the client decides, and the tool must support it; in the modern era the
    /// server decides, if [`TasksExtension::On`] is set.
    pub async fn call_as_task(
        &self,
        tool: &str,
        arguments: impl Serialize,
        keep_for: Option<Duration>,
    ) -> Result<TaskStart, Error> {
        let task = if self.is_modern() {
            None
        } else {
            self.require_task_calls()?;
            let ttl = keep_for.map(|keep| i64::try_from(keep.as_millis()).unwrap_or(i64::MAX));
            Some(TaskRequest::new(ttl))
        };
        let call = TaskCall {
            name: tool,
            arguments,
            task,
        };
        let params = Params::write(&call)
            .map_err(|error| Error::Input(format!("arguments of {tool}: {error}")))?;
        let options = Options::handing_over_tasks();
        let method = Cow::Borrowed(CallTool::NAME);
        let rounds = Rounds::new(self.clone(), method, Ok(params), options);
        self.started(&ResponseFuture::raw(rounds).await?)
    }

    /// A modern server says that its result is a task. One of 2025-11-25 answers with the task, or
    /// as if none had been asked for (X-TSKX-04).
    fn started(&self, payload: &Payload) -> Result<TaskStart, Error> {
        let id = match ResultKind::of(payload) {
            ResultKind::Task if self.is_modern() => Some(self.read_task(payload)?.task_id),
            _ if self.is_modern() => None,
            _ => payload
                .decode::<CreateTaskResult>()
                .ok()
                .map(|it| it.task.task_id),
        };
        match id {
            Some(id) => Ok(TaskStart::Running(self.task(id))),
            None => self.decode::<CallTool>(payload).map(TaskStart::Finished),
        }
    }

    /// A task by its id, for example one from an earlier connection.
    pub fn task(&self, id: impl Into<String>) -> TaskHandle {
        TaskHandle {
            client: self.clone(),
            id: id.into(),
        }
    }

    /// All tasks of the server (2025-11-25).
    pub async fn list_tasks(&self) -> Result<Entries<Task>, Error> {
        self.list::<ListTasks>().await
    }

    /// Drives a task that a modern server created for a call to its end.
    pub(crate) async fn follow_task(
        &self,
        created: &Payload,
        wait: Wait<'_>,
    ) -> Result<Payload, Error> {
        let task = self.read_task(created)?;
        let handle = self.task(task.task_id);
        let followed = Following {
            handle: &handle,
            done: false,
        };
        followed.run(wait).await
    }

    fn read_task(&self, payload: &Payload) -> Result<ExtTask, Error> {
        payload
            .decode()
            .map_err(|error| self.undecodable(CallTool::NAME, error))
    }

    pub(crate) fn declares_tasks(&self) -> bool {
        self.settings().tasks_extension == TasksExtension::On
    }

    fn is_modern(&self) -> bool {
        self.revision().era() == Era::Modern
    }

    /// No task call without the server's word for it (C-TSKX-02).
    fn require_task_calls(&self) -> Result<(), Error> {
        let capability = self.capabilities().tasks.as_ref();
        if capability.is_some_and(attache_protocol::TasksCapability::tool_calls) {
            return Ok(());
        }
        Err(Error::Unsupported {
            method: CallTool::NAME.to_owned(),
            reason: format!(
                "the server does not run tool calls as tasks (revision {})",
                self.revision()
            ),
        })
    }
}

impl TaskHandle {
    /// The id of the task.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where the task stands.
    pub async fn state(&self) -> Result<TaskState, Error> {
        if self.client.is_modern() {
            return Ok(modern_state(&self.request::<ExtGetTask>().await?));
        }
        Ok(legacy_state(self.request::<GetTask>().await?))
    }

    /// Waits for the result, asking at the server's pace and answering its questions on the way.
    pub async fn result(&self, maximum: Duration) -> Result<CallToolResult, Error> {
        let wait = Wait::new(CallTool::NAME, maximum, maximum);
        let payload = if self.client.is_modern() {
            self.modern_result(wait).await?
        } else {
            self.legacy_result(wait).await?
        };
        self.client.decode::<CallTool>(&payload)
    }

    /// Asks the server to stop. In the modern era that is only a wish (C-TSKE-12).
    pub async fn cancel(&self) -> Result<(), Error> {
        if self.client.is_modern() {
            self.request::<ExtCancelTask>().await.map(drop)
        } else {
            self.request::<CancelTask>().await.map(drop)
        }
    }

    fn request<M: Method<Params = TaskParams>>(&self) -> Request<M> {
        Request::new(&self.client, &TaskParams::new(self.id.as_str()))
    }

    /// `tasks/result` blocks until the task is done, and questions come as requests meanwhile
    /// (X-TSKX-08, C-TSKX-10).
    async fn legacy_result(&self, wait: Wait<'_>) -> Result<Payload, Error> {
        loop {
            let state = legacy_state(self.request::<GetTask>().maximum(wait.left()).await?);
            if state.status.is_terminal() || state.status == TaskStatus::InputRequired {
                break;
            }
            wait.pause(state.poll_interval).await?;
        }
        self.request::<TaskResult>()
            .timeout(wait.left())
            .raw()
            .await
    }

    async fn modern_result(&self, mut wait: Wait<'_>) -> Result<Payload, Error> {
        let method = wait.method;
        let mut answered = BTreeSet::new();
        loop {
            let task = self.request::<ExtGetTask>().maximum(wait.left()).await?;
            let state = modern_state(&task);
            match (&state.status, task.result, task.error) {
                (TaskStatus::Completed, Some(result), _) => return Ok(result.into()),
                (TaskStatus::Failed, _, Some(error)) => {
                    let failure = crate::connection::Failure::Server(error);
                    return Err(self
                        .client
                        .explain(failure, method, &Json::default().into()));
                }
                (status, ..) if status.is_terminal() => {
                    return Err(self.ended_without_result(method, &state));
                }
                _ => {}
            }
            // Each key is shown and answered once (C-TSKE-10).
            let mut asked = InputRequired {
                input_requests: task.input_requests,
                ..InputRequired::default()
            };
            asked
                .input_requests
                .retain(|key, _| answered.insert(key.clone()));
            if asked.input_requests.is_empty() {
                wait.pause(state.poll_interval).await?;
            } else {
                let begun = Instant::now();
                let answers = self.client.answer_all(method, &asked).await?;
                wait.leave_out(begun.elapsed());
                let params = ExtUpdateTaskParams::new(self.id.as_str(), answers);
                Request::<ExtUpdateTask>::new(&self.client, &params)
                    .maximum(wait.left())
                    .await?;
            }
        }
    }

    fn ended_without_result(&self, method: &str, state: &TaskState) -> Error {
        let method = method.to_owned();
        match state.status {
            TaskStatus::Cancelled => Error::Cancelled { method },
            _ => Error::Protocol {
                method,
                problem: format!(
                    "the task is {} but brings neither result nor error",
                    state.status.as_str()
                ),
            },
        }
    }
}

/// The time that waiting for a task may take, without the user's (P6).
pub(crate) struct Wait<'a> {
    method: &'a str,
    whole: Duration,
    end: Instant,
}

impl<'a> Wait<'a> {
    /// From now on, what is `left` of the `whole` time.
    pub(crate) fn new(method: &'a str, whole: Duration, left: Duration) -> Self {
        Self {
            method,
            whole,
            end: Instant::now() + left.min(FOR_EVER),
        }
    }

    fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// The user took that long for an answer.
    fn leave_out(&mut self, asked: Duration) {
        self.end += asked;
    }

    /// Waits until the task is to be looked at again, if there is time for it.
    async fn pause(&self, interval: Duration) -> Result<(), Error> {
        let next = Instant::now() + interval;
        tokio::time::sleep_until(next.min(self.end)).await;
        if next < self.end {
            return Ok(());
        }
        Err(Error::TimedOut {
            method: self.method.to_owned(),
            after: self.whole,
            complaint: None,
        })
    }
}

/// A task that belongs to a call: giving up the call gives up the task.
struct Following<'a> {
    handle: &'a TaskHandle,
    done: bool,
}

impl Following<'_> {
    async fn run(mut self, wait: Wait<'_>) -> Result<Payload, Error> {
        let result = self.handle.modern_result(wait).await;
        self.done = !matches!(result, Err(Error::TimedOut { .. } | Error::Refused { .. }));
        result
    }
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        if !self.done {
            let client = &self.handle.client;
            let params = TaskParams::new(self.handle.id());
            let request_meta = client.request_meta(&MetaFields::default());
            let link = client.link();
            link.request_unawaited(ExtCancelTask::NAME, &params, &request_meta);
        }
    }
}

fn legacy_state(task: Task) -> TaskState {
    TaskState {
        status: task.status,
        message: task.status_message,
        poll_interval: poll_interval(task.poll_interval),
    }
}

fn modern_state(task: &ExtTask) -> TaskState {
    TaskState {
        status: task.status.clone(),
        message: task.status_message.clone(),
        poll_interval: poll_interval(task.poll_interval_ms),
    }
}

fn poll_interval(milliseconds: Option<i64>) -> Duration {
    let (shortest, longest) = POLL_BOUNDS;
    match milliseconds.and_then(|value| u64::try_from(value).ok()) {
        Some(value) => Duration::from_millis(value).clamp(shortest, longest),
        None => DEFAULT_POLL,
    }
}
