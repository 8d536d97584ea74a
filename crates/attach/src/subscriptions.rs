//! Requests that go on until the client leaves or cancels them, and calls, which tell things before
//! they end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use attache::host::config::ServerName;
use attache::host::frames::FrameKind;
use attache::host::names::ToolName;
use attache::host::policy::{CallOrigin, Remember, Scope};
use attache::host::questions::{Answer, Attached, Question, QuestionKind, Topic};
use attache::host::{Call, Error, Watched};
use attache::protocol::{Ending, Json};
use attache::{TaskHandle, TaskStart};
use parking_lot::Mutex;

use crate::connection::Client;
use crate::failure::RemoteFailure;
use crate::requests::json;
use crate::streams::Beginning;
use crate::wire::{FollowWith, LONGEST_LINE, RemoteCall, Reply, WatchLine, WatchWith};

/// How long a frame may be to fit into a line.
const LONGEST_FRAME: usize = LONGEST_LINE - 1024;
/// How long a server may take to acknowledge that a task is not wanted any more.
const CANCEL_PATIENCE: Duration = Duration::from_secs(5);

impl Client {
    /// Makes a call. Questions about it go to this client, as far as it can answer them.
    pub(crate) async fn call(
        &self,
        id: u64,
        wanted: RemoteCall,
    ) -> Result<Json, Box<RemoteFailure>> {
        let host = &self.service.host;
        let server = ServerName::new(&wanted.server);
        let server = server.map_err(|error| RemoteFailure::usage(error.to_string()))?;
        // What other programs have approved or revoked since counts from now on.
        host.reread_approvals();
        let number = Arc::new(AtomicU64::new(0));
        let name = ToolName::new(server.clone(), wanted.tool.as_str());
        let call = host.call_json(name, wanted.arguments.clone());
        let mut call = call.origin(CallOrigin::Person).numbered({
            let (number, client) = (number.clone(), self.clone());
            move |given| {
                number.store(given, Ordering::Release);
                client.mention(&Reply {
                    request: Some(given),
                    ..Reply::to(id)
                });
            }
        });
        if let Some(timeout) = wanted.timeout_ms.map(Duration::from_millis) {
            call = call.timeout(timeout).maximum(timeout);
        }
        if wanted.progress {
            let client = self.clone();
            // A note that finds no room is no loss: another follows, or the end.
            call = call.on_progress(move |note| {
                client.mention(&Reply {
                    progress: Json::from_serialize(&note).ok(),
                    ..Reply::to(id)
                });
            });
        }
        let mut topics = wanted.questions.clone();
        if wanted.approved && !topics.contains(&Topic::Approval) {
            topics.push(Topic::Approval);
        }
        let answered = self.make(call, &wanted, &server);
        if topics.is_empty() {
            return answered.await;
        }
        let face = host
            .questions()
            .attach_to_call(topics, server.clone(), number);
        let asked = Mutex::new(None);
        let answered = tokio::select! {
            answered = answered => answered,
            () = self.questions(id, face, wanted.approved, &asked) => {
                Err(RemoteFailure::unexpected("the host has ended"))
            }
        };
        // The call may end before it is noticed that its question was answered elsewhere.
        let unclosed = asked.lock().take();
        if let Some(question) = unclosed {
            self.tell_closed(id, question).await;
        }
        answered
    }

    async fn make(
        &self,
        call: Call,
        wanted: &RemoteCall,
        server: &ServerName,
    ) -> Result<Json, Box<RemoteFailure>> {
        let host = &self.service.host;
        if wanted.task {
            let ready = host.ready(server.as_str()).await;
            ready.map_err(self.service.explain)?;
            let client = host.running(server.as_str());
            if client.is_some_and(|it| it.revision().features().experimental_tasks) {
                return self.make_as_task(call, wanted, server).await;
            }
        }
        let payload = call.raw().await.map_err(self.service.explain)?;
        payload.to_json().map_err(|error| {
            let message = format!("the server's answer to tools/call cannot be read: {error}");
            let failure = RemoteFailure::ended(Ending::ProtocolError, 1, message);
            failure.of(server.as_str()).into()
        })
    }

    /// Runs a tool as a task to its end, for tools that take nothing else.
    async fn make_as_task(
        &self,
        call: Call,
        wanted: &RemoteCall,
        server: &ServerName,
    ) -> Result<Json, Box<RemoteFailure>> {
        let explain = self.service.explain;
        let task = match call.as_task().await.map_err(explain)? {
            TaskStart::Finished(result) => return json(&result),
            TaskStart::Running(task) => task,
        };
        let mut unfinished = UnfinishedTask(Some(task.clone()));
        let config = self.service.host.config(server.as_str());
        let longest = config.map_err(explain)?.server.settings.timeouts.maximum;
        let longest = wanted.timeout_ms.map_or(longest, Duration::from_millis);
        let result = task.result(longest).await;
        let ending = result.as_ref().err().and_then(attache::Error::ending);
        if !matches!(ending, Some(Ending::TimedOut | Ending::Cancelled)) {
            unfinished.0 = None;
        }
        json(&result.map_err(|error| {
            explain(Error::Request {
                server: server.clone(),
                error,
            })
        })?)
    }

    /// Passes on the questions about one call, and keeps in mind which of them the client still
    /// thinks is open. A yes that was given beforehand is for that call and no other.
    async fn questions(
        &self,
        id: u64,
        mut face: Attached,
        approved: bool,
        asked: &Mutex<Option<u64>>,
    ) {
        while let Some(question) = face.next().await {
            let questions = self.service.host.questions().clone();
            if approved && matches!(question.kind, QuestionKind::Approval(_)) {
                let yes = Answer::Allow {
                    remember: Remember::Once,
                    scope: Scope::Tool,
                };
                // Another face may have been faster.
                let _ = questions.answer(question.id, yes);
                continue;
            }
            self.ask(id, &question).await;
            *asked.lock() = Some(question.id);
            questions.closed(question.id).await;
            self.tell_closed(id, question.id).await;
            *asked.lock() = None;
        }
    }

    async fn tell_closed(&self, id: u64, question: u64) {
        self.tell(&Reply {
            closed: Some(question),
            ..Reply::to(id)
        })
        .await;
    }

    async fn ask(&self, id: u64, question: &Question) {
        self.tell(&Reply {
            question: Some(Box::new(question.clone())),
            ..Reply::to(id)
        })
        .await;
    }

    /// Sends what happens until the client leaves: first the snapshot, then events; and the
    /// questions that it can answer.
    pub(crate) async fn follow(
        &self,
        id: u64,
        wanted: FollowWith,
    ) -> Result<Json, Box<RemoteFailure>> {
        let host = &self.service.host;
        let started = host.snapshot().started_ms;
        let is_ours = wanted.started_ms.is_none_or(|it| it == started);
        let after = wanted.after.filter(|_| is_ours);
        let resumed = after.and_then(|seq| Some((seq, host.events_after(seq).ok()?)));
        let (beginning, mut events) = match resumed {
            Some((seq, events)) => (Beginning::Resumed(seq), events),
            None => {
                let (snapshot, events) = host.follow();
                (Beginning::Snapshot(Box::new(snapshot)), events)
            }
        };
        let tell_event = async |event: Json| {
            let event = Some(event);
            self.tell(&Reply {
                event,
                ..Reply::to(id)
            })
            .await
        };
        tell_event(json(&beginning)?).await;
        drop(beginning);
        let mut face = host.questions().attach(wanted.questions);
        loop {
            tokio::select! {
                // A question comes behind the event that tells of it.
                biased;
                event = events.next() => {
                    let Some(event) = event else { return Ok(Json::default()) };
                    if !tell_event(json(&*event)?).await {
                        return Ok(Json::default());
                    }
                }
                question = face.next() => {
                    let Some(question) = question else { return Ok(Json::default()) };
                    self.ask(id, &question).await;
                }
            }
        }
    }

    /// Sends what passes on all connections, until the client leaves.
    pub(crate) async fn frames(&self, id: u64) -> Result<Json, Box<RemoteFailure>> {
        let mut frames = self.service.host.frames();
        let begun = Reply {
            begun: Some(true),
            ..Reply::to(id)
        };
        self.tell(&begun).await;
        while let Some(mut frame) = frames.next().await {
            let mut told = json(&frame)?;
            if told.as_str().len() > LONGEST_FRAME {
                frame.kind = FrameKind::Missed { count: 1 };
                told = json(&frame)?;
            }
            let reply = Reply {
                frame: Some(told),
                ..Reply::to(id)
            };
            if !self.tell(&reply).await {
                break;
            }
        }
        Ok(Json::default())
    }

    /// Sends the changes of a server, until the client leaves or they end.
    pub(crate) async fn watch(
        &self,
        id: u64,
        wanted: WatchWith,
    ) -> Result<Json, Box<RemoteFailure>> {
        let WatchWith { server, filter } = wanted;
        let watch = self.service.host.watch_all(&server, filter).await;
        let mut watch = watch.map_err(self.service.explain)?;
        let mut told = WatchLine::Granted(watch.granted().clone());
        loop {
            let reply = Reply {
                watched: Some(told),
                ..Reply::to(id)
            };
            if !self.tell(&reply).await {
                return Ok(Json::default());
            }
            told = match watch.next().await {
                Some(Watched::Changed(change)) => change.into(),
                Some(Watched::Resubscribed) => WatchLine::Missed,
                Some(Watched::Ended(error)) => return Err((self.service.explain)(error).into()),
                None => return Ok(Json::default()),
            };
        }
    }
}

/// A task does not end with its request, so the server is told when it is given up.
struct UnfinishedTask(Option<TaskHandle>);

impl Drop for UnfinishedTask {
    fn drop(&mut self) {
        if let Some(task) = self.0.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            // Whatever it answers, there is nothing more to be done about it.
            runtime.spawn(async move {
                let _ = tokio::time::timeout(CANCEL_PATIENCE, task.cancel()).await;
            });
        }
    }
}
