//! Work that outlives its request: the experimental tasks of 2025-11-25 and the tasks extension.

use std::collections::BTreeSet;
use std::time::Duration;

use attache_protocol::{
    CallTool, CallToolResult, CancelTask, CreateTaskResult, Entries, Era, ExtCancelTask,
    ExtGetTask, ExtTask, ExtUpdateTask, ExtUpdateTaskParams, GetTask, InputRequired, Json,
    ListTasks, Method, Payload, ResultKind, Task, TaskParams, TaskRequest, TaskResult, TaskStatus,
};
use serde::Serialize;
use tokio::time::Instant;

use crate::client::Client;
use crate::error::Error;
use crate::request::{Options, Request};
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
        let mut params = serde_json::json!({ "name": tool });
        params["arguments"] = serde_json::to_value(arguments)
            .map_err(|error| Error::Input(format!("arguments of {tool}: {error}")))?;
        if !self.is_modern() {
            self.require_task_calls()?;
            let ttl = keep_for.map(|keep| i64::try_from(keep.as_millis()).unwrap_or(i64::MAX));
            params["task"] = serde_json::to_value(TaskRequest::new(ttl))
                .map_err(|error| Error::Input(error.to_string()))?;
        }
        let mut options = Options::default();
        let payload = self
            .exchange(CallTool::NAME, &params.into(), &mut options)
            .await?;
        self.started(&payload)
    }

    fn started(&self, payload: &Payload) -> Result<TaskStart, Error> {
        let id = if self.is_modern() {
            match ResultKind::of(payload) {
                ResultKind::Task => Some(self.read_task::<ExtTask>(payload)?.task_id),
                _ => None,
            }
        } else {
            let created = payload.decode::<CreateTaskResult>().ok();
            created.map(|created| created.task.task_id)
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
        method: &str,
        created: &Payload,
        maximum: Duration,
    ) -> Result<Payload, Error> {
        let task: ExtTask = self.read_task(created)?;
        let handle = self.task(task.task_id);
        let followed = Following {
            handle: &handle,
            done: false,
        };
        followed.run(method, maximum).await
    }

    fn read_task<T: serde::de::DeserializeOwned>(&self, payload: &Payload) -> Result<T, Error> {
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
            return Ok(self.modern_state().await?.0);
        }
        let task = self.request::<GetTask>().await?;
        Ok(TaskState {
            status: task.status,
            message: task.status_message,
            poll_interval: poll_interval(task.poll_interval),
        })
    }

    /// Waits for the result, asking at the server's pace and answering its questions on the way.
    pub async fn result(&self, maximum: Duration) -> Result<CallToolResult, Error> {
        let payload = if self.client.is_modern() {
            self.modern_result(CallTool::NAME, maximum).await?
        } else {
            self.legacy_result(maximum).await?
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

    async fn request<M>(&self) -> Result<M::Result, Error>
    where
        M: Method<Params = TaskParams> + 'static,
        M::Result: 'static,
    {
        let params = TaskParams::new(self.id.as_str());
        Request::<M>::new(&self.client, &params).await
    }

    /// `tasks/result` blocks until the task is done, and questions come as requests meanwhile
    /// (X-TSKX-08, C-TSKX-10).
    async fn legacy_result(&self, maximum: Duration) -> Result<Payload, Error> {
        let deadline = Instant::now() + maximum;
        loop {
            let state = self.state().await?;
            if state.status.is_terminal() || state.status == TaskStatus::InputRequired {
                break;
            }
            self.pause(state.poll_interval, deadline).await?;
        }
        let params = TaskParams::new(self.id.as_str());
        let left = deadline.saturating_duration_since(Instant::now());
        Request::<TaskResult>::new(&self.client, &params)
            .timeout(left)
            .raw()
            .await
    }

    async fn modern_result(&self, method: &str, maximum: Duration) -> Result<Payload, Error> {
        let deadline = Instant::now() + maximum;
        let mut answered = BTreeSet::new();
        loop {
            let (state, task) = self.modern_state().await?;
            match (&state.status, task.result, task.error) {
                (TaskStatus::Completed, Some(result), _) => return Ok(result.into()),
                (TaskStatus::Failed, _, Some(error)) => {
                    let failure = crate::connection::Failure::Server(error);
                    return Err(self.client.explain(failure, method, &Json::default()));
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
                self.pause(state.poll_interval, deadline).await?;
            } else {
                self.update(method, &asked).await?;
            }
        }
    }

    async fn update(&self, method: &str, asked: &InputRequired) -> Result<(), Error> {
        let answers = self.client.answer_all(method, asked).await?;
        let params = ExtUpdateTaskParams::new(self.id.as_str(), answers);
        Request::<ExtUpdateTask>::new(&self.client, &params).await?;
        Ok(())
    }

    async fn modern_state(&self) -> Result<(TaskState, ExtTask), Error> {
        let task = self.request::<ExtGetTask>().await?;
        let state = TaskState {
            status: task.status.clone(),
            message: task.status_message.clone(),
            poll_interval: poll_interval(task.poll_interval_ms),
        };
        Ok((state, task))
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

    async fn pause(&self, interval: Duration, deadline: Instant) -> Result<(), Error> {
        if Instant::now() + interval > deadline {
            return Err(Error::TimedOut {
                method: format!("task {}", self.id),
                after: interval,
            });
        }
        tokio::time::sleep(interval).await;
        Ok(())
    }
}

/// A task that belongs to a call: giving up the call gives up the task.
struct Following<'a> {
    handle: &'a TaskHandle,
    done: bool,
}

impl Following<'_> {
    async fn run(mut self, method: &str, maximum: Duration) -> Result<Payload, Error> {
        let result = self.handle.modern_result(method, maximum).await;
        self.done = !matches!(result, Err(Error::TimedOut { .. } | Error::Refused { .. }));
        result
    }
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        if !self.done {
            let handle = self.handle.clone();
            // Off the caller's path; a connection that is gone has nobody to tell.
            tokio::spawn(async move { handle.cancel().await });
        }
    }
}

fn poll_interval(milliseconds: Option<i64>) -> Duration {
    let (shortest, longest) = POLL_BOUNDS;
    match milliseconds.and_then(|value| u64::try_from(value).ok()) {
        Some(value) => Duration::from_millis(value).clamp(shortest, longest),
        None => DEFAULT_POLL,
    }
}
