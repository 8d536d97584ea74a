//! The face of byte streams: stdio, sockets, memory. One message per line.
//!
//! Owns reading, the bounds on what runs and waits, and the end of a connection. What messages mean
//! is the service's business.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use attache_protocol::{ErrorObject, LineFramer, Message, RequestId, codes};
use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::batch;
use crate::incoming::{Incoming, refusal, sort, sort_item};
use crate::lines::LineWriter;
use crate::service::{After, Answer, AnswerFuture, Outlet, Principal, Request, Service, Work};
use crate::settings::Limits;

/// Why a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The client closed its side.
    EndOfInput,
    /// The client asked the server to leave.
    Left,
    /// The client does not take answers any more.
    OutputClosed,
    /// Reading failed.
    ReadFailed(String),
}

/// Serves a client over a pair of byte streams until it leaves and everything it asked is answered:
/// by its handler, or after [`Limits::end_grace`] with an error that says that the server is ending
/// (INV-001). Dropping the future ends the connection.
pub async fn serve<S: Service>(
    service: S,
    limits: Limits,
    principal: Principal,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
) -> EndReason {
    // In a task of its own the connection runs on the runtime's workers, which are told of input
    // first. A future that a program merely blocks on would be woken across threads each time.
    let mut connection = JoinSet::new();
    connection.spawn(run(service, limits, principal, read, write));
    match connection.join_next().await {
        Some(Ok(reason)) => reason,
        Some(Err(error)) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => EndReason::ReadFailed(error.to_string()),
        },
        None => EndReason::EndOfInput,
    }
}

/// Serves the client at stdin and stdout until it leaves.
///
/// From here on whatever else this process prints goes to stderr, and nothing else reads its stdin:
/// the protocol has both to itself (S-STDIO-02). The runtime needs its I/O driver.
pub async fn serve_stdio<S: Service>(service: S, limits: Limits) -> std::io::Result<EndReason> {
    let streams = crate::stdio::take()?;
    let serving = serve(
        service,
        limits,
        Principal::local(),
        streams.read,
        streams.write,
    );
    tokio::select! {
        biased;
        reason = serving => Ok(reason),
        // What no client can read need not be computed.
        () = streams.unread => Ok(EndReason::OutputClosed),
    }
}

async fn run<S: Service>(
    service: S,
    limits: Limits,
    principal: Principal,
    mut read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
) -> EndReason {
    let writer = Arc::new(LineWriter::new(Box::new(write), limits.max_output));
    let mut writing = JoinSet::new();
    writing.spawn({
        let writer = Arc::clone(&writer);
        async move { writer.run().await }
    });
    let outlet: Arc<dyn Outlet> = Arc::clone(&writer) as Arc<dyn Outlet>;
    let mut connection = Connection {
        session: service.open(principal, Arc::clone(&outlet)),
        service,
        outlet,
        slots: Arc::new(Semaphore::new(limits.max_running)),
        running: JoinSet::new(),
        ending: watch::Sender::new(false),
        writer,
        limits,
    };
    let reason = connection.read_all(&mut read).await;
    connection.finish(&reason).await;
    reason
}

struct Connection<S: Service> {
    service: S,
    session: Arc<S::Session>,
    writer: Arc<LineWriter>,
    outlet: Arc<dyn Outlet>,
    /// One permit per handler that runs.
    slots: Arc<Semaphore>,
    /// Requests that were not answered at once, running or waiting for a permit.
    running: JoinSet<()>,
    /// Becomes true when the server waits no longer for what still runs.
    ending: watch::Sender<bool>,
    limits: Limits,
}

/// What the reader does with the bytes it gets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Lines,
    /// The rest of a line that was too long.
    Skipping,
}

impl<S: Service> Connection<S> {
    async fn read_all(&mut self, read: &mut (impl AsyncRead + Unpin)) -> EndReason {
        let mut framer = LineFramer::new(self.limits.max_frame);
        let mut reading = Reading::Lines;
        loop {
            let buffer = framer.buffer_for_read();
            let before = buffer.len();
            let length = tokio::select! {
                biased;
                read = read.read_buf(buffer) => match read {
                    Ok(0) => {
                        if reading == Reading::Lines && framer.unfinished() > 0 {
                            // A request whose line end is missing is a request all the same.
                            framer.push(b"\n");
                            self.receive_lines(&mut framer, &mut reading);
                        }
                        return EndReason::EndOfInput;
                    }
                    Ok(length) => length,
                    Err(error) => return EndReason::ReadFailed(error.to_string()),
                },
                () = self.writer.failed() => return EndReason::OutputClosed,
            };
            framer.note_read(length);
            if reading == Reading::Skipping {
                let buffer = framer.buffer_for_read();
                match memchr::memchr(b'\n', &buffer[before..]) {
                    Some(end) => {
                        let _ = buffer.split_to(before + end + 1);
                        reading = Reading::Lines;
                    }
                    None => buffer.clear(),
                }
            }
            if self.receive_lines(&mut framer, &mut reading) == After::Leave {
                return EndReason::Left;
            }
            while self.running.try_join_next().is_some() {}
            self.writer.flush();
            if !self.writer.has_room() {
                // A client that does not read is not read from either.
                self.writer.room().await;
            }
        }
    }

    /// Takes all lines that are whole.
    fn receive_lines(&mut self, framer: &mut LineFramer, reading: &mut Reading) -> After {
        loop {
            match framer.next_line() {
                Ok(Some(line)) => {
                    if self.receive(&line) == After::Leave {
                        return After::Leave;
                    }
                }
                Ok(None) => return After::GoOn,
                Err(error) => {
                    let error = ErrorObject::new(codes::INVALID_REQUEST, error.to_string());
                    self.refuse(&error, None);
                    // A whole line is gone already; of an unfinished one the rest will come.
                    if framer.unfinished() > self.limits.max_frame {
                        *framer = LineFramer::new(self.limits.max_frame);
                        *reading = Reading::Skipping;
                        return After::GoOn;
                    }
                }
            }
        }
    }

    fn receive(&mut self, line: &Bytes) -> After {
        match sort(line) {
            Incoming::Message(Message::Request { id, method, params }) => {
                let work = self.ask(id.clone(), &method, params);
                self.begin(Some(id), work);
                After::GoOn
            }
            Incoming::Message(message) => self.tell(message),
            Incoming::Batch(items) => self.receive_batch(&items),
            Incoming::Refused(error, id) => {
                self.refuse(&error, id.as_ref());
                After::GoOn
            }
        }
    }

    fn ask(&self, id: RequestId, method: &str, params: Option<&RawValue>) -> Work {
        let request = Request {
            id,
            method,
            params,
            era: None,
        };
        self.service.request(&self.session, request, &self.outlet)
    }

    /// Takes a notification or an answer.
    fn tell(&self, message: Message<'_>) -> After {
        match message {
            Message::Notification { method, params } => {
                self.service.notification(&self.session, &method, params)
            }
            Message::Response {
                id: Some(id),
                outcome,
            } => {
                self.service.response(&self.session, &id, outcome);
                After::GoOn
            }
            // An answer without an id belongs to nobody (fault 40).
            Message::Response { id: None, .. } | Message::Request { .. } => After::GoOn,
        }
    }

    fn receive_batch(&mut self, items: &[&RawValue]) -> After {
        let revision = self.service.revision(&self.session);
        if !revision.is_some_and(|it| it.features().batches) {
            let message = "batches exist in 2025-03-26 only; send one message per line";
            self.refuse(&ErrorObject::new(codes::INVALID_REQUEST, message), None);
            return After::GoOn;
        }
        // Where there is no room each request is told, by its id.
        let is_busy = self.slots.available_permits() == 0 && !self.has_room();
        let mut works = Vec::new();
        let mut after = After::GoOn;
        for item in items {
            match sort_item(item) {
                Incoming::Message(Message::Request { id, .. }) if is_busy => {
                    works.push(Work::Done(Answer::error(&id, &self.busy())));
                }
                Incoming::Message(Message::Request { id, method, params }) => {
                    let work = self.ask(id.clone(), &method, params);
                    works.push(match work {
                        Work::Done(answer) => Work::Done(answer),
                        Work::Later(future) | Work::Open(future) => {
                            let ending = self.ending.subscribe();
                            Work::Later(Box::pin(answer_of(Some(id), future, ending)))
                        }
                    });
                }
                Incoming::Message(message) => {
                    if self.tell(message) == After::Leave {
                        after = After::Leave;
                        break;
                    }
                }
                Incoming::Refused(error, id) => works.push(Work::Done(Answer {
                    frame: refusal(&error, id.as_ref(), revision),
                    error_code: Some(error.code),
                })),
                Incoming::Batch(_) => {
                    let error = ErrorObject::new(codes::INVALID_REQUEST, "a batch in a batch");
                    works.push(Work::Done(Answer {
                        frame: refusal(&error, None, revision),
                        error_code: Some(error.code),
                    }));
                }
            }
        }
        if !works.is_empty() {
            self.begin(None, batch::work(works));
        }
        after
    }

    /// Sees to the work of a request. Most of it ends with its first poll, here and now; a task is
    /// made only for what has to wait. A batch has no id; its parts have theirs.
    fn begin(&mut self, id: Option<RequestId>, work: Work) {
        let mut future = match work {
            Work::Done(answer) => return self.writer.add(&answer.frame),
            Work::Later(future) => future,
            Work::Open(future) => return self.wait(id, future),
        };
        let writer = Arc::clone(&self.writer);
        let slots = Arc::clone(&self.slots);
        match Arc::clone(&slots).try_acquire_owned() {
            Ok(permit) => {
                // The task below polls again with a waker of its own, so this poll needs none.
                let mut context = Context::from_waker(Waker::noop());
                match future.as_mut().poll(&mut context) {
                    Poll::Ready(answer) => write(&writer, answer),
                    Poll::Pending => {
                        let ending = self.ending.subscribe();
                        self.running.spawn(async move {
                            let answer = answer_of(id, future, ending).await;
                            drop(permit);
                            send(&writer, answer);
                        });
                    }
                }
            }
            Err(_) if self.has_room() => {
                let ending = self.ending.subscribe();
                let work = run_in_turn(slots, future);
                self.running
                    .spawn(async move { send(&writer, answer_of(id, work, ending).await) });
            }
            Err(_) => self.refuse_as_busy(id.as_ref()),
        }
    }

    /// Sees to a request that only waits; it needs no permit.
    fn wait(&mut self, id: Option<RequestId>, future: AnswerFuture) {
        if !self.has_room() {
            return self.refuse_as_busy(id.as_ref());
        }
        let writer = Arc::clone(&self.writer);
        let ending = self.ending.subscribe();
        self.running
            .spawn(async move { send(&writer, answer_of(id, future, ending).await) });
    }

    fn has_room(&mut self) -> bool {
        while self.running.try_join_next().is_some() {}
        self.running.len() < self.limits.max_running + self.limits.max_waiting
    }

    fn refuse_as_busy(&self, id: Option<&RequestId>) {
        self.refuse(&self.busy(), id);
    }

    fn busy(&self) -> ErrorObject {
        ErrorObject::new(
            codes::INTERNAL_ERROR,
            format!(
                "the server is busy: {} requests run and {} wait; send it again later",
                self.limits.max_running, self.limits.max_waiting
            ),
        )
    }

    fn refuse(&self, error: &ErrorObject, id: Option<&RequestId>) {
        let revision = self.service.revision(&self.session);
        self.writer.add(&refusal(error, id, revision));
    }

    /// Sees to it that every request that was accepted is answered, then ends the session.
    async fn finish(mut self, reason: &EndReason) {
        self.service.input_ended(&self.session);
        if *reason != EndReason::OutputClosed {
            let deadline = tokio::time::sleep(self.limits.end_grace);
            tokio::pin!(deadline);
            loop {
                tokio::select! {
                    ended = self.running.join_next() => if ended.is_none() { break },
                    () = self.writer.failed() => break,
                    // From here on each request answers that the server is ending.
                    () = &mut deadline, if !*self.ending.borrow() => {
                        self.ending.send_replace(true);
                    }
                }
            }
        }
        self.service.close(&self.session);
        self.running.shutdown().await;
        self.deliver().await;
    }

    /// Waits until the client has taken everything, as long as it goes on taking.
    async fn deliver(&self) {
        let mut waiting = usize::MAX;
        while self.writer.waiting() < waiting {
            waiting = self.writer.waiting();
            let written = tokio::time::timeout(self.limits.last_read, self.writer.written());
            if written.await.is_ok() {
                return;
            }
        }
    }
}

/// Runs a handler when it is its turn.
async fn run_in_turn(slots: Arc<Semaphore>, future: AnswerFuture) -> Option<Answer> {
    // The semaphore is never closed.
    let _permit = slots.acquire_owned().await.ok()?;
    future.await
}

/// The answer to a request: its own, or that the server is ending before it was there. Without an
/// id the request is a batch, whose parts see to this themselves.
async fn answer_of(
    id: Option<RequestId>,
    future: impl Future<Output = Option<Answer>>,
    mut ending: watch::Receiver<bool>,
) -> Option<Answer> {
    let Some(id) = id else {
        return future.await;
    };
    tokio::select! {
        biased;
        answer = future => answer,
        // The sender lives as long as the connection, which waits for this answer.
        _ = ending.wait_for(|is_ending| *is_ending) => {
            let message = "the server is ending and did not finish this request; it may have had \
                           part of its effect";
            let error = ErrorObject::new(codes::INTERNAL_ERROR, message);
            Some(Answer::error(&id, &error))
        }
    }
}

fn write(writer: &LineWriter, answer: Option<Answer>) {
    if let Some(answer) = answer {
        writer.add(&answer.frame);
    }
}

fn send(writer: &LineWriter, answer: Option<Answer>) {
    if let Some(answer) = answer {
        writer.send(&answer.frame);
    }
}
