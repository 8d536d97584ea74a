//! Answers the requests of a legacy server, each in a task of its own, a bounded number at once.

use std::collections::HashMap;
use std::sync::Arc;

use attache_protocol::{
    EmptyResult, ErrorObject, Extra, InputRequest, InputRequestKind as Question, Json, Method as _,
    Ping, RequestId, codes, meta,
};
use parking_lot::{Mutex, MutexGuard};
use serde_json::value::RawValue;
use tokio::task::AbortHandle;

use crate::connection::Link;
use crate::handlers::{Handlers, read_question};
use crate::question_clock::QuestionClock;

/// Where the questions of a server are answered.
pub(crate) struct ServerRequests {
    pub(crate) handlers: Handlers,
    running: Mutex<HashMap<RequestId, Option<AbortHandle>>>,
    limit: usize,
    /// The time in which a person may be looking at a question.
    pub(crate) asked: QuestionClock,
}

impl ServerRequests {
    pub(crate) fn new(handlers: Handlers, asked: QuestionClock, limit: usize) -> Self {
        Self {
            handlers,
            running: Mutex::default(),
            limit,
            asked,
        }
    }

    /// Answers a request: at once if it can be, in a task if it takes time. Every request gets
    /// exactly one answer unless the server withdraws it.
    pub(crate) fn answer(
        &self,
        link: &Arc<Link>,
        id: RequestId,
        method: &str,
        params: Option<&RawValue>,
    ) {
        if method == Ping::NAME {
            return link.answer(&id, Ok(EmptyResult::default()));
        }
        let request = InputRequest {
            method: method.to_owned(),
            params: params.map(Json::from),
            extra: Extra::default(),
        };
        let question = match read_question(&request) {
            Ok(question) => question,
            Err(error) => return link.answer::<Json>(&id, Err(error)),
        };
        if let Err(error) = self.admit(&id) {
            return link.answer::<Json>(&id, Err(error));
        }
        let tells_task = link
            .revision()
            .is_some_and(|revision| revision.features().experimental_tasks);
        let task = tokio::spawn({
            let due = Due {
                link: link.clone(),
                id: id.clone(),
                task: related_task(&request).filter(|_| tells_task),
            };
            async move {
                let answer = due.link.server_requests.ask(question).await;
                due.settle(answer);
            }
        });
        // The task may be done already; then its entry is gone and stays gone.
        if let Some(entry) = self.running().get_mut(&id) {
            *entry = Some(task.abort_handle());
        }
    }

    /// Puts a question to its handler, keeping the time in which a person may be looking at it.
    async fn ask(&self, question: Question) -> Result<Json, ErrorObject> {
        let concerns_a_person = self.handlers.concerns_a_person(&question);
        let _timed = concerns_a_person.then(|| self.asked.begin());
        self.handlers.answer(question).await
    }

    /// The server is not interested in an answer any more.
    pub(crate) fn withdraw(&self, id: &RequestId) {
        if let Some(Some(task)) = self.running().remove(id) {
            task.abort();
        }
    }

    /// Stops everything; there is nobody left to answer.
    pub(crate) fn close(&self) {
        for task in self.running().drain().filter_map(|(_, task)| task) {
            task.abort();
        }
    }

    fn admit(&self, id: &RequestId) -> Result<(), ErrorObject> {
        let mut running = self.running();
        if running.len() >= self.limit {
            return Err(ErrorObject::new(
                codes::INTERNAL_ERROR,
                format!(
                    "this client answers at most {} requests at once",
                    self.limit
                ),
            ));
        }
        if running.contains_key(id) {
            return Err(ErrorObject::new(
                codes::INVALID_REQUEST,
                "a request with this id is being answered already",
            ));
        }
        running.insert(id.clone(), None);
        Ok(())
    }

    fn running(&self) -> MutexGuard<'_, HashMap<RequestId, Option<AbortHandle>>> {
        self.running.lock()
    }
}

/// An answer that is due. A handler that panics still owes it.
struct Due {
    link: Arc<Link>,
    id: RequestId,
    /// The task the question belongs to.
    task: Option<Json>,
}

impl Due {
    fn settle(&self, answer: Result<Json, ErrorObject>) {
        // A withdrawn request has no entry any more and gets no answer (X-CANC-02).
        let awaited = self
            .link
            .server_requests
            .running()
            .remove(&self.id)
            .is_some();
        if awaited {
            let answer = answer.map(|answer| match &self.task {
                Some(task) => relate(&answer, task).unwrap_or(answer),
                None => answer,
            });
            self.link.answer(&self.id, answer);
        }
    }
}

impl Drop for Due {
    fn drop(&mut self) {
        let message = "the handler of this request failed";
        self.settle(Err(ErrorObject::new(codes::INTERNAL_ERROR, message)));
    }
}

/// The task that a question says it belongs to.
fn related_task(request: &InputRequest) -> Option<Json> {
    let params: Extra = request.params.as_ref()?.decode().ok()?;
    let request_meta: Extra = params.get("_meta")?.decode().ok()?;
    request_meta.get(meta::RELATED_TASK).cloned()
}

/// The answer to a question of a task, which has to name that task as well (X-TSKX-09).
fn relate(answer: &Json, task: &Json) -> Option<Json> {
    let mut answer: Extra = answer.decode().ok()?;
    let mut answer_meta: Extra = match answer.get("_meta") {
        Some(own) => own.decode().ok()?,
        None => Extra::default(),
    };
    answer_meta.insert(meta::RELATED_TASK, task.clone());
    answer.insert("_meta", Json::from_serialize(&answer_meta).ok()?);
    Json::from_serialize(&answer).ok()
}
