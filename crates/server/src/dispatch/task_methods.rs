//! Calls that become tasks, and the methods about tasks, in both forms.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use attache_protocol::{
    CallToolResult, CreateTaskResult, EmptyResult, Era, ErrorObject, ExtUpdateTaskParams, Json,
    TaskRequest, codes, meta,
};
use serde_json::json;

use crate::asking::Asking;
use crate::context::{Call, Detaching};
use crate::failure::Failure;
use crate::service::{Answer, Work};
use crate::session::Opened;
use crate::tasks::{Outcome, TaskEntry, extension_missing};
use crate::tool::{HandlerFuture, PreparedTool, TaskSupport};

use super::handlers::{Client, answer_tool, begun, tool_result};
use super::modern::declares_tasks;
use super::params::invalid;
use super::running::{Panicked, Registered, ask, contain, panicked, wait};
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
        let work = begun(&prepared, &call, arguments);
        let task = tokio::spawn(run_task(Arc::clone(&entry), call, prepared, work));
        entry.attach(task.abort_handle());
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
        wait(call, async move {
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
    work: HandlerFuture<CallToolResult>,
) {
    let ending = Ending(call);
    let call = &ending.0;
    let mut is_tool_error = false;
    let outcome: Outcome = match contain(work).await {
        Err(Panicked) => Err(panicked(call)),
        Ok(handled) => tool_result(call, &prepared, handled).and_then(|result| {
            is_tool_error = result.is_error;
            Json::from_serialize(&result)
                .map_err(|error| ErrorObject::new(codes::INTERNAL_ERROR, error.to_string()))
        }),
    };
    entry.finish(&call.kernel, outcome, is_tool_error);
}

/// A call that has ended when this is dropped, also when the task is cancelled.
struct Ending(Arc<Call>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Drives a call until it ends or becomes a task.
pub(super) fn drive_detachable(
    call: Arc<Call>,
    digest: impl FnOnce() -> String + Send + 'static,
    prepared: Arc<PreparedTool>,
    work: HandlerFuture<CallToolResult>,
) -> Work {
    match Registered::new(Arc::clone(&call)) {
        Ok(enrolled) => Work::Later(Box::pin(async move {
            // A call that becomes a task outlives its request.
            let answer = run_detachable(&call, digest, prepared, work).await;
            if call.task.get().is_some() {
                enrolled.release();
            }
            answer
        })),
        Err(refusal) => Work::Done(refusal),
    }
}

async fn run_detachable(
    call: &Arc<Call>,
    digest: impl FnOnce() -> String,
    prepared: Arc<PreparedTool>,
    work: HandlerFuture<CallToolResult>,
) -> Option<Answer> {
    let mut work = Some(Box::pin(contain(work)));
    let mut digest = Some(digest);
    poll_fn(|context| {
        if call.is_cancelled() {
            return Poll::Ready(None);
        }
        let Some(running) = work.as_mut() else {
            return Poll::Ready(None);
        };
        match running.as_mut().poll(context) {
            Poll::Ready(Ok(outcome)) => Poll::Ready(Some(answer_tool(call, &prepared, outcome))),
            Poll::Ready(Err(Panicked)) => {
                Poll::Ready(Some(Answer::error(&call.id, &panicked(call))))
            }
            Poll::Pending => {
                if let Some(answer) = ask(call, &mut digest) {
                    return Poll::Ready(Some(answer));
                }
                let wants_task = call.lock().detaching == Detaching::Wanted;
                if let Some(rest) = work.take_if(|_| wants_task) {
                    return Poll::Ready(Some(detach(call, &prepared, rest)));
                }
                call.lock().driver = Some(context.waker().clone());
                if call.is_cancelled() {
                    return Poll::Ready(None);
                }
                Poll::Pending
            }
        }
    })
    .await
}

/// Makes a task of what is left of a call.
fn detach(
    call: &Arc<Call>,
    prepared: &Arc<PreparedTool>,
    rest: Pin<
        Box<
            impl Future<Output = Result<Result<CallToolResult, Failure>, Panicked>> + Send + 'static,
        >,
    >,
) -> Answer {
    let kernel = &call.kernel;
    let created = kernel
        .tasks
        .create(kernel, &call.session.principal, Era::Modern, None);
    let entry = match created {
        Ok(entry) => entry,
        Err(error) => return Answer::error(&call.id, &error),
    };
    // The call waits for this to go on; it is set nowhere else.
    let _ = call.task.set(Arc::clone(&entry));
    let answer = encode::modern(kernel, &call.id, "task", None, entry.modern_view());
    let message = panicked(call);
    let work = Box::pin(async move {
        match rest.await {
            Ok(outcome) => outcome,
            Err(Panicked) => Err(Failure::error(message)),
        }
    });
    let task = run_task(
        Arc::clone(&entry),
        Arc::clone(call),
        Arc::clone(prepared),
        work,
    );
    entry.attach(tokio::spawn(task).abort_handle());
    answer
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
