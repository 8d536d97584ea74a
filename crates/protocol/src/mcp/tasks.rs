//! Tasks as 2025-11-25 has them, by way of experiment (section 23 of the ledger).
//!
//! The extension of 2026-07-28 is another thing under the same names; see `task_extension`.

use std::fmt;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use crate::mcp::method::{methods, notifications, paged};
use crate::wire::record::record;
use crate::{Entries, Json, PageParams};

methods! {
    /// Asks how a task stands.
    GetTask = "tasks/get" (TaskParams) -> Task;
    /// Waits for a task and gets what its request would have got (X-TSKX-08).
    TaskResult = "tasks/result" (TaskParams) -> Json;
    /// Lists the tasks of the peer.
    ListTasks = "tasks/list" (PageParams) -> TaskPage;
    /// Cancels a task.
    CancelTask = "tasks/cancel" (TaskParams) -> Task;
}

paged! {
    ListTasks.tasks: Task;
}

notifications! {
    /// A task has changed; nobody may rely on being told (X-TSKX-11).
    TaskStatusChanged = "notifications/tasks/status" (Task);
}

/// How a task stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskStatus {
    /// It is being worked on.
    Working,
    /// It waits for an answer of the requester.
    InputRequired,
    /// It is done.
    Completed,
    /// It failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// Something nobody here knows.
    Other(String),
}

impl TaskStatus {
    /// Whether it stays so for ever (X-TSKX-06).
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The name on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl From<String> for TaskStatus {
    fn from(name: String) -> Self {
        match name.as_str() {
            "working" => Self::Working,
            "input_required" => Self::InputRequired,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            "cancelled" => Self::Cancelled,
            _ => Self::Other(name),
        }
    }
}

impl Serialize for TaskStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for TaskStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

record! {
    /// A task and how it stands (X-TSKX-07).
    pub struct Task {
        /// Its id, made by whoever runs it.
        task_id: String = required "taskId",
        /// How it stands.
        status: TaskStatus = required "status",
        /// That in words.
        status_message: Option<String> = optional "statusMessage",
        /// When it began, as ISO 8601.
        created_at: Option<String> = optional "createdAt",
        /// When it last changed, as ISO 8601.
        last_updated_at: Option<String> = optional "lastUpdatedAt",
        /// How many milliseconds it is kept from its beginning; `None` is for ever.
        ttl: Option<i64> = always "ttl",
        /// How many milliseconds to wait between two looks at it.
        poll_interval: Option<i64> = optional "pollInterval",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

impl Task {
    /// A task that began at `created_at` (ISO 8601) and is being worked on.
    pub fn new(task_id: impl Into<String>, created_at: impl Into<String>) -> Self {
        let created_at = created_at.into();
        Self {
            task_id: task_id.into(),
            status: TaskStatus::Working,
            status_message: None,
            last_updated_at: Some(created_at.clone()),
            created_at: Some(created_at),
            ttl: None,
            poll_interval: None,
            meta: None,
            extra: Default::default(),
        }
    }
}

record! {
    /// The param `task`, which makes a request a task.
    #[derive(Default)]
    pub struct TaskRequest {
        /// How many milliseconds to keep it.
        ttl: Option<i64> = optional "ttl",
    }
}

impl TaskRequest {
    /// Wants the task kept for that many milliseconds.
    pub fn new(ttl: Option<i64>) -> Self {
        Self {
            ttl,
            ..Self::default()
        }
    }
}

record! {
    /// What a request that became a task is answered with at once (X-TSKX-05).
    pub struct CreateTaskResult {
        /// The task.
        task: Task = required "task",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

impl CreateTaskResult {
    /// The request became that task.
    pub fn new(task: Task) -> Self {
        Self {
            task,
            meta: None,
            extra: Default::default(),
        }
    }
}

record! {
    /// Params that name a task.
    pub struct TaskParams {
        /// Its id.
        task_id: String = required "taskId",
    }
}

impl TaskParams {
    /// Names the task of that id.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
            extra: Default::default(),
        }
    }
}

record! {
    /// One page of `tasks/list`.
    #[derive(Default)]
    pub struct TaskPage {
        /// The tasks of this page.
        tasks: Entries<Task> = required "tasks",
        /// Where the next page begins; an empty string is a cursor too (C-PAG-03).
        next_cursor: Option<String> = strict "nextCursor",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_tskx_06_three_states_are_final() {
        for (name, is_terminal) in [
            ("working", false),
            ("input_required", false),
            ("completed", true),
            ("failed", true),
            ("cancelled", true),
            ("paused", false),
        ] {
            let json = format!("\"{name}\"");
            let status: TaskStatus = serde_json::from_str(&json).unwrap();
            assert_eq!(status.is_terminal(), is_terminal, "{name}");
            assert_eq!(serde_json::to_string(&status).unwrap(), json);
        }
    }

    #[test]
    fn x_tskx_07_an_unlimited_ttl_is_written_as_null() {
        let task = Task::new("t", "2026-01-01T00:00:00Z");
        let json = serde_json::to_string(&task).unwrap();
        assert!(json.contains(r#""ttl":null"#), "{json}");
        assert_eq!(serde_json::from_str::<Task>(&json).unwrap(), task);
    }
}
