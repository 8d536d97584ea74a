//! One recorded request played again: what the server said and asked, then its answer.

use std::collections::HashMap;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use attache_protocol::frame::EmptyParams;
use attache_protocol::{Json, RequestId, frame, meta};
use attache_schema::Value;
use attache_server::{Answer as Sent, AnswerFuture, Outlet, Sent as Kind, Work};
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::{Inner, Pace, Session, unanswered};
use crate::conversation::{Exchange, Step, StepKind};

/// How long a notification that came after an answer is held back, so that it comes after it again.
const BEHIND_THE_ANSWER: Duration = Duration::from_millis(2);

/// What runs in one session.
#[derive(Default)]
pub(super) struct Playing {
    /// Requests that can be cancelled.
    running: Mutex<HashMap<RequestId, Running>>,
    /// Questions that wait for the client.
    asked: Mutex<HashMap<RequestId, oneshot::Sender<()>>>,
    last_question: AtomicU64,
}

struct Running {
    cancel: watch::Sender<bool>,
    /// It was never answered, so nothing but the client ends it.
    is_endless: bool,
}

impl Playing {
    pub(super) fn cancel(&self, id: &RequestId) {
        if let Some(running) = self.running.lock().remove(id) {
            running.cancel.send_replace(true);
        }
    }

    /// The client says nothing more: what only it could end is over.
    pub(super) fn end_endless(&self) {
        for (_, running) in self.running.lock().extract_if(|_, it| it.is_endless) {
            running.cancel.send_replace(true);
        }
    }

    pub(super) fn answered(&self, id: &RequestId) {
        if let Some(asked) = self.asked.lock().remove(id) {
            // Who asked may be gone.
            let _ = asked.send(());
        }
    }

    /// The client is gone: tasks that wait for its answers go on.
    pub(super) fn nobody_answers(&self) {
        self.asked.lock().clear();
    }
}

/// A request and what it gets.
pub(super) struct Call {
    pub(super) mock: Arc<Inner>,
    pub(super) session: Arc<Session>,
    pub(super) outlet: Arc<dyn Outlet>,
    pub(super) id: RequestId,
    /// The caller's token for progress.
    pub(super) token: Option<Value>,
    pub(super) index: usize,
}

/// Plays a recorded request. What needs no waiting is done at once.
pub(super) fn play(call: Call) -> Work {
    let exchange = call.exchange();
    let is_silent = exchange.steps.is_empty();
    match (&exchange.answer, call.mock.settings.pace) {
        (Some(_), Pace::Instant) if is_silent => Work::Done(call.answer()),
        (Some(_), _) => Work::Later(call.run()),
        // It was never answered, like a request to listen, so it is not answered now.
        (None, _) => Work::Open(call.run()),
    }
}

impl Call {
    fn exchange(&self) -> &Exchange {
        self.mock.script.exchange(self.index)
    }

    fn answer(&self) -> Sent {
        match self.exchange().answer.as_ref().map(|it| &it.outcome) {
            Some(Ok(result)) => Sent::result(&self.id, result),
            Some(Err(error)) => Sent::error(&self.id, error),
            None => Sent::error(&self.id, &unanswered()),
        }
    }

    fn run(self) -> AnswerFuture {
        let (cancel, mut cancelled) = watch::channel(false);
        let playing = Arc::clone(&self.session.playing);
        let running = Running {
            cancel,
            is_endless: self.exchange().answer.is_none(),
        };
        playing.running.lock().insert(self.id.clone(), running);
        let id = self.id.clone();
        Box::pin(async move {
            let answer = tokio::select! {
                answer = self.steps() => Some(answer),
                _ = cancelled.wait_for(|is_cancelled| *is_cancelled) => None,
            };
            playing.running.lock().remove(&id);
            answer
        })
    }

    async fn steps(&self) -> Sent {
        let began = Instant::now();
        let exchange = self.exchange();
        let mut later = Vec::new();
        for step in &exchange.steps {
            match step.kind {
                StepKind::Later => later.push(step.clone()),
                StepKind::Notification => {
                    self.wait(began, step.at_us).await;
                    self.tell(step);
                }
                StepKind::Question => {
                    self.wait(began, step.at_us).await;
                    self.ask(step).await;
                }
            }
        }
        let Some(answer) = &exchange.answer else {
            return pending().await;
        };
        self.wait(began, answer.at_us).await;
        if !later.is_empty() {
            self.tell_later(later);
        }
        self.answer()
    }

    /// Waits until something is due.
    async fn wait(&self, began: Instant, at_us: u64) {
        if self.mock.settings.pace == Pace::AsRecorded {
            let after = at_us.saturating_sub(self.exchange().at_us);
            tokio::time::sleep_until(began + Duration::from_micros(after)).await;
        }
    }

    fn tell(&self, step: &Step) {
        let params = match step.method.as_str() {
            "notifications/progress" => match self.with_token(step) {
                Some(params) => Some(params),
                // The caller wants no progress.
                None => return,
            },
            _ => step
                .params
                .as_ref()
                .map(|params| self.with_subscription(params)),
        };
        send_notification(&*self.outlet, &step.method, params);
    }

    /// The params of a progress notification under the caller's token.
    fn with_token(&self, step: &Step) -> Option<Json> {
        let token = self.token.clone()?;
        let params = step
            .params
            .as_ref()
            .and_then(|params| Value::of_json(params).ok());
        let Some(Value::Object(mut members)) = params else {
            return None;
        };
        members.insert(meta::PROGRESS_TOKEN, token);
        Some(Value::Object(members).to_json())
    }

    /// The params with the caller's id where the recorded one named its request to listen.
    fn with_subscription(&self, params: &Json) -> Json {
        let mut value = match Value::of_json(params) {
            Ok(value) => value,
            Err(_) => return params.clone(),
        };
        let id = serde_json::to_string(&self.id).ok();
        if let Value::Object(members) = &mut value
            && let Some(Value::Object(meta)) = members.get_mut("_meta")
            && meta.get(meta::SUBSCRIPTION_ID).is_some()
            && let Some(Ok(id)) = id.map(|id| Value::parse(&id))
        {
            meta.insert(meta::SUBSCRIPTION_ID, id);
            return value.to_json();
        }
        params.clone()
    }

    /// Asks what the server asked, and waits for the client, whose answer changes nothing.
    async fn ask(&self, step: &Step) {
        let playing = &self.session.playing;
        let number = playing.last_question.fetch_add(1, Ordering::Relaxed) + 1;
        let params = step.params.clone().unwrap_or_else(empty);
        let question = frame::request(number, &step.method, &params, &[], EmptyParams::Omit);
        let (asked, answered) = oneshot::channel();
        playing.asked.lock().insert(number.into(), asked);
        if let Ok(question) = question
            && self.outlet.send(question, Kind::Question).is_ok()
        {
            // If the client is gone, there is nothing to wait for.
            let _ = answered.await;
        }
        playing.asked.lock().remove(&number.into());
    }

    /// Says what was said after the answer, on the way of messages that belong to no request.
    fn tell_later(&self, steps: Vec<Step>) {
        let outlet = Arc::clone(&self.session.outlet);
        let answered = self.exchange().answer.as_ref().map_or(0, |it| it.at_us);
        let pace = self.mock.settings.pace;
        tokio::spawn(async move {
            let began = Instant::now();
            for step in steps {
                let after = match pace {
                    Pace::Instant => BEHIND_THE_ANSWER,
                    Pace::AsRecorded => Duration::from_micros(step.at_us.saturating_sub(answered))
                        .max(BEHIND_THE_ANSWER),
                };
                tokio::time::sleep_until(began + after).await;
                if step.method != "notifications/progress" {
                    send_notification(&*outlet, &step.method, step.params);
                }
            }
        });
    }
}

fn empty() -> Json {
    Value::Object(Default::default()).to_json()
}

fn send_notification(outlet: &dyn Outlet, method: &str, params: Option<Json>) {
    let line = frame::notification(method, &params.unwrap_or_else(empty), &[]);
    if let Ok(line) = line {
        // A client that reads nothing misses it, as it would have missed the server's.
        let _ = outlet.send(line, Kind::Notice);
    }
}
