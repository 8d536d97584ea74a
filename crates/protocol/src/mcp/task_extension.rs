//! Tasks as the extension `io.modelcontextprotocol/tasks` of 2026-07-28 has them (section 24 of
//! the ledger).
//!
//! A server makes a task of a `tools/call` by itself; its result, error or questions come with
//! `tasks/get`.

use std::collections::BTreeMap;

use crate::mcp::method::{methods, notifications};
use crate::wire::record::record;
use crate::{EmptyResult, ErrorObject, InputRequest, InputResponses, Json, TaskParams, TaskStatus};

methods! {
    /// Asks how a task stands.
    ExtGetTask = "tasks/get" (TaskParams) -> ExtTask;
    /// Answers questions of a task (X-TSKE-11).
    ExtUpdateTask = "tasks/update" (ExtUpdateTaskParams) -> EmptyResult;
    /// Wishes a task cancelled; it may go on all the same (C-TSKE-12).
    ExtCancelTask = "tasks/cancel" (TaskParams) -> EmptyResult;
}

notifications! {
    /// A task has changed, for subscriptions that name it (S-TSKE-16).
    ExtTaskChanged = "notifications/tasks" (ExtTask);
}

record! {
    /// A task and how it stands: the result that makes one, of `tasks/get`, and of a notification.
    pub struct ExtTask {
        /// Its id.
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
        ttl_ms: Option<i64> = always "ttlMs",
        /// How many milliseconds to wait between two looks at it (C-TSKE-08).
        poll_interval_ms: Option<i64> = optional "pollIntervalMs",
        /// All questions that are open, by a key that is never used again (S-TSKE-09).
        input_requests: BTreeMap<String, InputRequest> = strict "inputRequests",
        /// What the request would have got, once the task is completed.
        result: Option<Json> = optional "result",
        /// The error of a failed task.
        error: Option<ErrorObject> = optional "error",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// The params of `tasks/update`.
    pub struct ExtUpdateTaskParams {
        /// Which task.
        task_id: String = required "taskId",
        /// Answers to some or all of its open questions.
        input_responses: InputResponses = required "inputResponses",
    }
}

impl ExtUpdateTaskParams {
    /// Answers questions of the task of that id.
    pub fn new(task_id: impl Into<String>, input_responses: InputResponses) -> Self {
        Self {
            task_id: task_id.into(),
            input_responses,
            extra: Default::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_tske_07_a_task_brings_what_its_status_promises() {
        let task: ExtTask = serde_json::from_str(
            r#"{"resultType":"complete","taskId":"t","status":"failed","ttlMs":null,
                "error":{"code":-32603,"message":"no"},"requestState":"s"}"#,
        )
        .unwrap();
        assert_eq!(task.error, Some(ErrorObject::new(-32603, "no")));
        let written = serde_json::to_string(&task).unwrap();
        assert!(written.contains(r#""ttlMs":null"#), "{written}");
        assert!(written.contains(r#""requestState":"s""#), "{written}");
        let unreadable = r#"{"taskId":"t","status":"input_required","inputRequests":{"a":1}}"#;
        assert!(serde_json::from_str::<ExtTask>(unreadable).is_err());
    }
}
