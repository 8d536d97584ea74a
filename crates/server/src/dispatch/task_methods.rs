//! Calls that become tasks, and the methods about tasks, in both forms.

use std::sync::Arc;
use std::time::Duration;

use attache_protocol::{
    CreateTaskResult, EmptyResult, Era, ErrorObject, ExtUpdateTaskParams, Json, TaskRequest, codes,
    meta,
};
use serde_json::json;

use crate::asking::Asking;
use crate::context::{Call, Context};
use crate::service::{Answer, Work};
use crate::session::Opened;
use crate::tasks::{Outcome, TaskEntry, extension_missing};
use crate::tool::{PreparedTool, TaskSupport};

use super::handlers::{Client, tool_result};
use super::modern::declares_tasks;
use super::params::invalid;
use super::running::{drive, panicked};
use super::{Asked, encode};

/// How long the client wants a task kept; `None` leaves it to the server.
type WantedTtl = Option<Duration>;

impl Asked<'_> {
    /// Whether a call of a tool that supports tasks becomes one.
    pub(super) fn becomes_task(
        &self,
        client: &Client,
        prepared: &PreparedTool,
    ) -> Result<Option<WantedTtl>, ErrorObject> {
        let required = prepared.tool.tasks == TaskSupport::Required;
        match client.revision.era() {
            Era::Modern if declares_tasks(&client.capabilities) => Ok(Some(None)),
            Era::Modern if required => Err(extension_missing()),
            Era::Modern => Ok(None),
            Era::Legacy if !client.revision.features().experimental_tasks => Ok(None),
            Era::Legacy => match self.params.task {
                Some(raw) => {
                    let asked: TaskRequest = serde_json::from_str(raw.get())
                        .map_err(|error| invalid(format!("\"task\" is malformed: {error}")))?;
                    let ttl = asked.ttl.and_then(|ttl| u64::try_from(ttl).ok());
                    Ok(Some(ttl.map(Duration::from_millis)))
                }
                // A tool that must be a task is called as one (C-TSKX-03).
                None if required => Err(ErrorObject::new(
                    codes::METHOD_NOT_FOUND,
                    "this tool can only be called as a task",
                )),
                None => Ok(None),
            },
        }
    }

    /// Begins the task; it is there before the answer is (S-TSKE-06).
    pub(super) fn begin_task(
        &self,
        mut client: Client,
        prepared: Arc<PreparedTool>,
        arguments: Json,
        ttl: WantedTtl,
    ) -> Work {
        let era = client.revision.era();
        let tasks = &self.kernel.tasks;
        let entry = match tasks.create(self.kernel, &self.session.principal, era, ttl) {
            Ok(entry) => entry,
            Err(error) => return self.refuse(&error),
        };
        let asking = match era {
            Era::Legacy => Asking::Requests(Some(Arc::clone(&entry))),
            Era::Modern => {
                // Progress and log messages never concern tasks (S-TSKE-16).
                client.progress_token = None;
                client.log_level = None;
                Asking::Task(Arc::clone(&entry))
            }
        };
        // The stream of this request ends with the answer below; what the task has to say later
        // belongs to the session.
        let call = self.call_through(client, asking, Arc::clone(&self.session.outlet));
        let answer = match era {
            Era::Legacy => Answer::result(&self.id, &CreateTaskResult::new(entry.legacy_view())),
            Era::Modern => encode::modern(self.kernel, &self.id, "task", None, entry.modern_view()),
        };
        let work = tokio::spawn(run_task(Arc::clone(&entry), call, prepared, arguments));
        entry.attach(work.abort_handle());
        Work::Done(answer)
    }

    pub(super) fn legacy_get_task(&self) -> Work {
        match self.find_task(Era::Legacy) {
            Ok(entry) => Work::Done(Answer::result(&self.id, &entry.legacy_view())),
            Err(error) => self.refuse(&error),
        }
    }

    /// Cancels a task; it is cancelled before the answer says so (X-TSKX-12).
    pub(super) fn legacy_cancel_task(&self) -> Work {
        let cancelled = self.find_task(Era::Legacy).and_then(|entry| {
            entry.cancel(self.kernel)?;
            Ok(entry)
        });
        match cancelled {
            Ok(entry) => Work::Done(Answer::result(&self.id, &entry.legacy_view())),
            Err(error) => self.refuse(&error),
        }
    }

    /// Waits for the end of a task, then answers as the request itself would have (X-TSKX-08).
    pub(super) fn legacy_task_result(&self, opened: &Opened) -> Work {
        let entry = match self.find_task(Era::Legacy) {
            Ok(entry) => entry,
            Err(error) => return self.refuse(&error),
        };
        let client = Client {
            revision: opened.revision,
            capabilities: Arc::clone(&opened.capabilities),
            identity: None,
            log_level: None,
            progress_token: None,
        };
        let call = self.call(client, Asking::Never);
        let id = self.id.clone();
        drive(call, String::new, async move {
            match entry.outcome().await {
                Ok(result) => Answer::result(&id, &related(result, &entry)),
                Err(error) => Answer::error(&id, &error),
            }
        })
    }

    pub(super) fn ext_get_task(&self, client: &Client) -> Work {
        match self.find_declared_task(client) {
            Ok(entry) => Work::Done(encode::complete(
                self.kernel,
                client.revision,
                &self.id,
                entry.modern_view(),
            )),
            Err(error) => self.refuse(&error),
        }
    }

    pub(super) fn ext_update_task(&self, client: &Client) -> Work {
        let updated = self.find_declared_task(client).and_then(|entry| {
            let params: ExtUpdateTaskParams = self.params.decode()?;
            entry.update(self.kernel, params.input_responses);
            Ok(())
        });
        self.acknowledge(client, updated)
    }

    /// A wish only: a task that has ended already stays as it is (C-TSKE-12).
    pub(super) fn ext_cancel_task(&self, client: &Client) -> Work {
        let cancelled = self.find_declared_task(client).map(|entry| {
            let _ = entry.cancel(self.kernel);
        });
        self.acknowledge(client, cancelled)
    }

    fn acknowledge(&self, client: &Client, done: Result<(), ErrorObject>) -> Work {
        match done {
            Ok(()) => Work::Done(encode::complete(
                self.kernel,
                client.revision,
                &self.id,
                EmptyResult::default(),
            )),
            Err(error) => self.refuse(&error),
        }
    }

    fn find_declared_task(&self, client: &Client) -> Result<Arc<TaskEntry>, ErrorObject> {
        if !declares_tasks(&client.capabilities) {
            return Err(extension_missing());
        }
        self.find_task(Era::Modern)
    }

    fn find_task(&self, era: Era) -> Result<Arc<TaskEntry>, ErrorObject> {
        let id = self.params.task_id()?;
        self.kernel.tasks.find(&id, &self.session.principal, era)
    }
}

/// Runs the handler to its end, which is the task's.
async fn run_task(
    entry: Arc<TaskEntry>,
    call: Arc<Call>,
    prepared: Arc<PreparedTool>,
    arguments: Json,
) {
    let context = Context::new(Arc::clone(&call));
    let handler = Arc::clone(&prepared);
    let work = async move { (handler.tool.handler)(context, arguments).await };
    // A task of its own contains a panic of the handler, and stops with this one.
    let mut running = AbortOnDrop(tokio::spawn(work));
    let mut is_tool_error = false;
    let outcome: Outcome = match (&mut running.0).await {
        Err(_) => Err(panicked(&call)),
        Ok(handled) => tool_result(&call, &prepared, handled).and_then(|result| {
            is_tool_error = result.is_error;
            Json::from_serialize(&result)
                .map_err(|error| ErrorObject::new(codes::INTERNAL_ERROR, error.to_string()))
        }),
    };
    call.end();
    entry.finish(&call.kernel, outcome, is_tool_error);
}

struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A result that names its task (X-TSKX-09).
fn related(result: Json, entry: &TaskEntry) -> Json {
    let named = result
        .decode::<attache_protocol::Extra>()
        .and_then(|mut fields| {
            let own = fields.remove("_meta").map(|it| it.decode()).transpose()?;
            let mut own: attache_protocol::Extra = own.unwrap_or_default();
            own.insert(
                meta::RELATED_TASK,
                Json::from(json!({ "taskId": entry.id })),
            );
            fields.insert("_meta", Json::from_serialize(&own)?);
            Json::from_serialize(&fields)
        });
    named.unwrap_or(result)
}
