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
use tokio::sync::Semaphore;
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

/// Serves a client over a pair of byte streams until it leaves, and what it asked before that is
/// answered or out of time. Dropping the future ends the connection.
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
                    Ok(0) => return EndReason::EndOfInput,
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
            loop {
                match framer.next_line() {
                    Ok(Some(line)) => {
                        if self.receive(&line) == After::Leave {
                            return EndReason::Left;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => {
                        let error = ErrorObject::new(codes::INVALID_REQUEST, error.to_string());
                        self.refuse(&error, None);
                        // A whole line is gone already; of an unfinished one the rest will come.
                        if framer.unfinished() > self.limits.max_frame {
                            framer = LineFramer::new(self.limits.max_frame);
                            reading = Reading::Skipping;
                            break;
                        }
                    }
                }
            }
            while self.running.try_join_next().is_some() {}
            self.writer.flush();
            if !self.writer.has_room() {
                // A client that does not read is not read from either.
                self.writer.room().await;
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
        let mut works = Vec::new();
        for item in items {
            match sort_item(item) {
                Incoming::Message(Message::Request { id, method, params }) => {
                    works.push(self.ask(id, &method, params));
                }
                Incoming::Message(message) => {
                    if self.tell(message) == After::Leave {
                        return After::Leave;
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
            self.begin(None, Work::Later(batch::join(works)));
        }
        After::GoOn
    }

    /// Sees to the work of a request. Most of it ends with its first poll, here and now; a task is
    /// made only for what has to wait.
    fn begin(&mut self, id: Option<RequestId>, work: Work) {
        let mut future = match work {
            Work::Done(answer) => return self.writer.add(&answer.frame),
            Work::Later(future) => future,
            Work::Open(future) => return self.wait(id, future),
        };
        let writer = Arc::clone(&self.writer);
        match Arc::clone(&self.slots).try_acquire_owned() {
            Ok(permit) => {
                // The task below polls again with a waker of its own, so this poll needs none.
                let mut context = Context::from_waker(Waker::noop());
                match future.as_mut().poll(&mut context) {
                    Poll::Ready(answer) => write(&writer, answer),
                    Poll::Pending => {
                        self.running.spawn(async move {
                            let answer = future.await;
                            drop(permit);
                            send(&writer, answer);
                        });
                    }
                }
            }
            Err(_) if self.has_room() => {
                let slots = Arc::clone(&self.slots);
                self.running.spawn(wait_and_run(slots, future, writer));
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
        self.running
            .spawn(async move { send(&writer, future.await) });
    }

    fn has_room(&mut self) -> bool {
        while self.running.try_join_next().is_some() {}
        self.running.len() < self.limits.max_running + self.limits.max_waiting
    }

    fn refuse_as_busy(&self, id: Option<&RequestId>) {
        let error = ErrorObject::new(
            codes::INTERNAL_ERROR,
            format!(
                "the server is busy: {} requests run and {} wait; send it again later",
                self.limits.max_running, self.limits.max_waiting
            ),
        );
        self.refuse(&error, id);
    }

    fn refuse(&self, error: &ErrorObject, id: Option<&RequestId>) {
        let revision = self.service.revision(&self.session);
        self.writer.add(&refusal(error, id, revision));
    }

    /// Lets what runs end in time, then stops the rest, and writes what is still to be written.
    async fn finish(mut self, reason: &EndReason) {
        self.service.input_ended(&self.session);
        if matches!(reason, EndReason::EndOfInput) {
            let running = &mut self.running;
            let writer = &self.writer;
            let all_done = async { while running.join_next().await.is_some() {} };
            // Time running out is one way for this to end; the answers that are there count.
            let _ = tokio::time::timeout(self.limits.end_grace, async {
                tokio::select! {
                    () = all_done => {}
                    () = writer.failed() => {}
                }
            })
            .await;
        }
        self.service.close(&self.session);
        self.running.shutdown().await;
        // A client that does not read cannot keep the server from leaving.
        let _ = tokio::time::timeout(self.limits.end_grace, self.writer.written()).await;
    }
}

async fn wait_and_run(slots: Arc<Semaphore>, future: AnswerFuture, writer: Arc<LineWriter>) {
    // The semaphore is never closed.
    let Ok(permit) = slots.acquire_owned().await else {
        return;
    };
    let answer = future.await;
    drop(permit);
    send(&writer, answer);
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
