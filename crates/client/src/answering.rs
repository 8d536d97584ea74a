//! Answers the requests of a legacy server, each in a task of its own, a bounded number at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use attache_protocol::{
    EmptyResult, ErrorObject, Extra, InputRequest, InputRequestKind as Question, Json, Method as _,
    Ping, RequestId, codes,
};
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::connection::Link;
use crate::handlers::{Handlers, read_question};

/// Where the questions of a server are answered.
pub(crate) struct AnsweringDesk {
    pub(crate) handlers: Handlers,
    running: Mutex<HashMap<RequestId, Option<AbortHandle>>>,
    limit: usize,
    /// How many questions a person may be looking at.
    asking: watch::Sender<usize>,
}

impl AnsweringDesk {
    pub(crate) fn new(handlers: Handlers, limit: usize) -> Self {
        Self {
            handlers,
            running: Mutex::default(),
            limit,
            asking: watch::Sender::new(0),
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
        let task = tokio::spawn({
            let due = Due {
                link: link.clone(),
                id: id.clone(),
            };
            async move {
                let answer = due.link.desk.ask(question).await;
                due.settle(answer);
            }
        });
        // The task may be done already; then its entry is gone and stays gone.
        if let Some(entry) = self.running().get_mut(&id) {
            *entry = Some(task.abort_handle());
        }
    }

    /// Puts a question to its handler, keeping count of those a person may be looking at.
    pub(crate) async fn ask(&self, question: Question) -> Result<Json, ErrorObject> {
        let concerns_a_person = !matches!(question, Question::ListRoots);
        let _counted = concerns_a_person.then(|| Asking::begin(&self.asking));
        self.handlers.answer(question).await
    }

    /// Waits while a person is being asked, and tells how long that was.
    pub(crate) async fn while_asking(&self) -> Duration {
        if *self.asking.borrow() == 0 {
            return Duration::ZERO;
        }
        let begun = Instant::now();
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.asking.subscribe().wait_for(|count| *count == 0).await;
        begun.elapsed()
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
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer that is due. A handler that panics still owes it.
struct Due {
    link: Arc<Link>,
    id: RequestId,
}

impl Due {
    fn settle(&self, answer: Result<Json, ErrorObject>) {
        // A withdrawn request has no entry any more and gets no answer (X-CANC-02).
        let awaited = self.link.desk.running().remove(&self.id).is_some();
        if awaited {
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

/// One question that a person may be looking at.
struct Asking<'a>(&'a watch::Sender<usize>);

impl<'a> Asking<'a> {
    fn begin(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}
