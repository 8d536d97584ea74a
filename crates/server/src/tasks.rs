//! Tasks: calls that go on after they were answered, as 2025-11-25 has them and as the extension
//! of 2026-07-28 has them.
//!
//! Owns the table of tasks and the state of each. One task serves both forms; only its views
//! differ. Tasks belong to a principal, their ids cannot be guessed (X-TSKX-13, S-TSKE-18).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use attache_protocol::{
    ClientCapabilities, Era, ErrorObject, ExtTask, InputRequest, InputResponses, Json,
    MissingCapabilityData, Task, TaskStatus, codes, meta,
};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::clock;
use crate::failure::Failure;
use crate::kernel::Kernel;
use crate::seal::random_name;
use crate::service::Principal;

/// How often a client should look after a task.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// All tasks of a server.
#[derive(Default)]
pub(crate) struct Tasks {
    table: Mutex<HashMap<String, Arc<TaskEntry>>>,
}

/// One task.
pub(crate) struct TaskEntry {
    pub(crate) id: String,
    principal: Principal,
    era: Era,
    created_at: String,
    ttl: Duration,
    expires: Instant,
    state: Mutex<TaskState>,
    /// Told at every change of status.
    changed: Notify,
}

struct TaskState {
    status: TaskStatus,
    message: Option<String>,
    updated_at: String,
    outcome: Option<Outcome>,
    /// Open questions of the modern form, by keys that are never used again (S-TSKE-09).
    questions: BTreeMap<String, (InputRequest, oneshot::Sender<Json>)>,
    asked: usize,
    work: Option<AbortHandle>,
}

/// What the request would have got.
pub(crate) type Outcome = Result<Json, ErrorObject>;

impl Tasks {
    /// Makes a task. Expired ones make room; if there is none the request fails.
    pub(crate) fn create(
        &self,
        kernel: &Kernel,
        principal: &Principal,
        era: Era,
        wanted_ttl: Option<Duration>,
    ) -> Result<Arc<TaskEntry>, ErrorObject> {
        let longest = kernel.limits.task_ttl;
        let ttl = wanted_ttl.map_or(longest, |wanted| wanted.min(longest));
        let id = random_name()
            .map_err(|error| ErrorObject::new(codes::INTERNAL_ERROR, error.to_string()))?;
        let created_at = clock::now();
        let entry = Arc::new(TaskEntry {
            id: id.clone(),
            principal: principal.clone(),
            era,
            ttl,
            expires: Instant::now() + ttl,
            state: Mutex::new(TaskState {
                status: TaskStatus::Working,
                message: None,
                updated_at: created_at.clone(),
                outcome: None,
                questions: BTreeMap::new(),
                asked: 0,
                work: None,
            }),
            created_at,
            changed: Notify::new(),
        });
        let mut table = self.lock();
        drop_expired(&mut table);
        if table.len() >= kernel.limits.max_tasks {
            return Err(ErrorObject::new(
                codes::INTERNAL_ERROR,
                format!("the limit of {} tasks is reached", kernel.limits.max_tasks),
            ));
        }
        table.insert(id, Arc::clone(&entry));
        Ok(entry)
    }

    /// The task of that id, if it belongs to the one who asks, in their era (S-TSKE-14).
    pub(crate) fn find(
        &self,
        id: &str,
        principal: &Principal,
        era: Era,
    ) -> Result<Arc<TaskEntry>, ErrorObject> {
        let mut table = self.lock();
        drop_expired(&mut table);
        table
            .get(id)
            .filter(|entry| entry.principal == *principal && entry.era == era)
            .cloned()
            .ok_or_else(|| ErrorObject::new(codes::INVALID_PARAMS, "there is no such task"))
    }

    /// Those of the ids that name a task of the one who asks, in the modern form (S10).
    pub(crate) fn own(&self, ids: Vec<String>, principal: &Principal) -> Vec<String> {
        let mut table = self.lock();
        drop_expired(&mut table);
        let is_own = |id: &String| {
            let entry = table.get(id);
            entry.is_some_and(|it| it.principal == *principal && it.era == Era::Modern)
        };
        ids.into_iter().filter(is_own).collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<TaskEntry>>> {
        self.table.lock()
    }
}

fn drop_expired(table: &mut HashMap<String, Arc<TaskEntry>>) {
    let now = Instant::now();
    table.retain(|_, entry| {
        let is_good = entry.expires > now;
        if !is_good && let Some(work) = entry.lock().work.take() {
            work.abort();
        }
        is_good
    });
}

impl TaskEntry {
    /// Gives the task the means to stop its work.
    pub(crate) fn attach(&self, work: AbortHandle) {
        self.lock().work = Some(work);
    }

    /// Ends the task, unless it was cancelled meanwhile: that is final (X-TSKX-06).
    pub(crate) fn finish(&self, kernel: &Kernel, outcome: Outcome, is_tool_error: bool) {
        {
            let mut state = self.lock();
            if state.status.is_terminal() {
                return;
            }
            // A tool's own failure is one in 2025-11-25 (X-TSKX-15) and a result in the extension
            // (S-TSKE-13).
            let failed = outcome.is_err() || (is_tool_error && self.era == Era::Legacy);
            state.message = match &outcome {
                Err(error) => Some(error.message.clone()),
                Ok(_) if failed => Some("the tool failed".to_owned()),
                Ok(_) => None,
            };
            state.outcome = Some(outcome);
            state.work = None;
            state.questions.clear();
            state.turn(if failed {
                TaskStatus::Failed
            } else {
                TaskStatus::Completed
            });
        }
        self.announce(kernel);
    }

    /// Stops the work. A task that has ended stays as it is, which is told apart (X-TSKX-12).
    pub(crate) fn cancel(&self, kernel: &Kernel) -> Result<(), ErrorObject> {
        {
            let mut state = self.lock();
            if state.status.is_terminal() {
                return Err(ErrorObject::new(
                    codes::INVALID_PARAMS,
                    format!("the task has ended already; it is {}", state.status),
                ));
            }
            if let Some(work) = state.work.take() {
                work.abort();
            }
            state.questions.clear();
            state.outcome = Some(Err(ErrorObject::new(
                codes::INTERNAL_ERROR,
                "the task was cancelled",
            )));
            state.turn(TaskStatus::Cancelled);
        }
        self.announce(kernel);
        Ok(())
    }

    /// A question travels as a request of the server meanwhile.
    pub(crate) fn wait_for_input(&self) {
        self.turn_if(&TaskStatus::Working, TaskStatus::InputRequired);
    }

    /// The question is answered.
    pub(crate) fn go_on(&self) {
        self.turn_if(&TaskStatus::InputRequired, TaskStatus::Working);
    }

    fn turn_if(&self, from: &TaskStatus, to: TaskStatus) {
        let mut state = self.lock();
        if state.status == *from {
            state.turn(to);
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// Asks a question of the extension and waits for `tasks/update`.
    pub(crate) async fn ask(
        &self,
        kernel: &Kernel,
        question: InputRequest,
    ) -> Result<Json, Failure> {
        let limit = kernel.limits.max_questions;
        let (sender, answer) = oneshot::channel();
        {
            let mut state = self.lock();
            if state.asked >= limit {
                return Err(Failure::internal(format!(
                    "the task asks more than the limit of {limit} questions"
                )));
            }
            state.asked += 1;
            let key = format!("input-{}", state.asked);
            state.questions.insert(key, (question, sender));
            state.turn(TaskStatus::InputRequired);
        }
        self.announce(kernel);
        answer
            .await
            .map_err(|_| Failure::internal("the task has ended"))
    }

    /// Hands answers to the questions they belong to; others are ignored (X-TSKE-11).
    pub(crate) fn update(&self, kernel: &Kernel, responses: InputResponses) {
        {
            let mut state = self.lock();
            for (key, answer) in responses {
                if let Some((_, waiting)) = state.questions.remove(&key) {
                    // The work may have been stopped in this very moment.
                    let _ = waiting.send(answer);
                }
            }
            if state.status == TaskStatus::InputRequired && state.questions.is_empty() {
                state.turn(TaskStatus::Working);
            }
        }
        self.announce(kernel);
    }

    /// Waits for the end and gives what the request would have got (X-TSKX-08).
    pub(crate) async fn outcome(&self) -> Outcome {
        loop {
            let changed = self.changed.notified();
            if let Some(outcome) = self.lock().outcome.clone() {
                return outcome;
            }
            changed.await;
        }
    }

    /// The task as 2025-11-25 writes it.
    pub(crate) fn legacy_view(&self) -> Task {
        let state = self.lock();
        let mut task = Task::new(&self.id, &self.created_at);
        task.status = state.status.clone();
        task.status_message = state.message.clone();
        task.last_updated_at = Some(state.updated_at.clone());
        task.ttl = Some(milliseconds(self.ttl));
        task.poll_interval = Some(milliseconds(POLL_INTERVAL));
        task
    }

    /// The task as the extension writes it, with what its status promises (S-TSKE-07).
    pub(crate) fn modern_view(&self) -> ExtTask {
        let state = self.lock();
        let questions = state.questions.iter();
        let (result, error) = match (&state.outcome, &state.status) {
            (Some(Ok(result)), _) => (Some(result.clone()), None),
            (Some(Err(error)), TaskStatus::Failed) => (None, Some(error.clone())),
            _ => (None, None),
        };
        ExtTask {
            task_id: self.id.clone(),
            status: state.status.clone(),
            status_message: state.message.clone(),
            created_at: Some(self.created_at.clone()),
            last_updated_at: Some(state.updated_at.clone()),
            ttl_ms: Some(milliseconds(self.ttl)),
            poll_interval_ms: Some(milliseconds(POLL_INTERVAL)),
            input_requests: questions
                .map(|(key, (it, _))| (key.clone(), it.clone()))
                .collect(),
            result,
            error,
            meta: None,
            extra: Default::default(),
        }
    }

    fn announce(&self, kernel: &Kernel) {
        self.changed.notify_waiters();
        if self.era == Era::Modern {
            kernel.subscribers.task_changed(&self.modern_view());
        }
    }

    fn lock(&self) -> MutexGuard<'_, TaskState> {
        self.state.lock()
    }
}

impl TaskState {
    fn turn(&mut self, status: TaskStatus) {
        self.status = status;
        self.updated_at = clock::now();
    }
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// The client has not declared the extension with this request (S-TSKE-04).
pub(crate) fn extension_missing() -> ErrorObject {
    let data = MissingCapabilityData {
        required_capabilities: ClientCapabilities {
            extensions: Some(Json::from(serde_json::json!({ meta::TASKS_EXTENSION: {} }))),
            ..ClientCapabilities::default()
        },
        ..MissingCapabilityData::default()
    };
    ErrorObject {
        code: codes::MISSING_CAPABILITY,
        message: format!(
            "the client has not declared the extension {}",
            meta::TASKS_EXTENSION
        ),
        data: Json::from_serialize(&data).ok(),
    }
}
