//! Sorts what comes in: answers to their calls, notes to their listeners, questions to the handlers.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use attache_protocol::{
    Acknowledged, AcknowledgedParams, Cancelled, CancelledParams, ElicitationComplete,
    ElicitationCompleteParams, Ending, Era, ErrorObject, Json, Line, LogMessage, LogMessageParams,
    Message, Notification, Outcome, Payload, Progress, ProgressParams, PromptsChanged, RequestId,
    ResourceUpdated, ResourceUpdatedParams, ResourcesChanged, Revision, ToolsChanged, codes,
    parse_line, parse_message, shortened, subscription_id,
};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::pending::TOOL_TOKEN;
use super::{CallKind, Counters, Failure, Link};
use crate::events::Event;
use crate::settings::ProgressTokenForm;

/// Whether a caller or the server waits for what a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// It is a notification, or no message at all.
    Unawaited,
    /// It answers, or it asks.
    Awaited,
}

impl Link {
    /// Takes one line from the server.
    pub(crate) fn receive(self: &Arc<Self>, line: &Bytes) -> Urgency {
        self.frames.received(line);
        self.sort_line(line)
    }

    pub(super) fn sort_line(self: &Arc<Self>, line: &Bytes) -> Urgency {
        match parse_line(line) {
            Line::Message(message) => self.receive_message(line, message),
            Line::Batch(items) => {
                self.receive_batch(line, &items);
                Urgency::Awaited
            }
            Line::Stray(reason) => {
                self.stray(&String::from_utf8_lossy(line), reason);
                Urgency::Unawaited
            }
        }
    }

    /// Batches are part of 2025-03-26 only; elsewhere the calls they answer fail (fault 29).
    fn receive_batch(self: &Arc<Self>, line: &Bytes, items: &[&RawValue]) {
        let revision = self.revision();
        let legal = revision.is_none_or(|revision| revision.features().batches);
        for item in items {
            match parse_message(item.get()) {
                Line::Message(message) if legal => {
                    self.receive_message(line, message);
                }
                Line::Message(Message::Response { id, .. }) => {
                    self.fail_call(id.as_ref(), batch_refusal(revision));
                }
                Line::Message(_) => self.violation(batch_refusal(revision)),
                Line::Batch(_) => self.stray(item.get(), "a batch inside a batch".to_owned()),
                Line::Stray(reason) => self.stray(item.get(), reason),
            }
        }
    }

    pub(super) fn receive_message(self: &Arc<Self>, line: &Bytes, message: Message<'_>) -> Urgency {
        self.counters.messages_in.fetch_add(1, Ordering::Relaxed);
        match message {
            Message::Response { id, outcome } => self.answered(line, id.as_ref(), outcome),
            Message::Request { id, method, params } => self.asked(id, method, params),
            Message::Notification { method, params } => {
                self.notified(&method, params);
                return Urgency::Unawaited;
            }
        }
        Urgency::Awaited
    }

    fn answered(&self, line: &Bytes, id: Option<&RequestId>, outcome: Outcome<'_>) {
        match outcome {
            Outcome::Result(raw) => {
                self.complete(id, Ending::Result, || Ok(Payload::of_frame(line, raw)));
            }
            Outcome::Error(error) => {
                self.complete(id, Ending::ServerError, || Err(Failure::Server(error)));
            }
            Outcome::Malformed(problem) => self.fail_call(id, problem),
        }
    }

    fn fail_call(&self, id: Option<&RequestId>, problem: String) {
        self.complete(id, Ending::ProtocolError, || {
            Err(Failure::Protocol(problem))
        });
    }

    /// Ends the call `id` names. An answer no caller waits for is counted and forgotten
    /// (faults 39, 40, 42).
    fn complete(
        &self,
        id: Option<&RequestId>,
        ending: Ending,
        answer: impl FnOnce() -> super::Answer,
    ) {
        let counter = id.and_then(RequestId::as_counter);
        let (waiter, issued) = {
            let calls = &mut self.calls().in_flight;
            match counter {
                Some(id) => (calls.end(id, ending), calls.was_issued(id)),
                None => (None, false),
            }
        };
        match waiter {
            // A caller that went away in this instant does not care.
            Some(waiter) => drop(waiter.answer.send(answer())),
            None if issued => Counters::count(&self.counters.late_answers),
            None => Counters::count(&self.counters.unknown_answers),
        }
    }

    fn notified(&self, method: &str, params: Option<&RawValue>) {
        match method {
            Progress::NAME => self.progressed(params),
            Cancelled::NAME => self.withdrawn(params),
            ToolsChanged::NAME => {
                bump(&self.lists.tools);
                let subscription = subscription_of(params);
                self.events.emit(Event::ToolsChanged { subscription });
            }
            PromptsChanged::NAME => {
                bump(&self.lists.prompts);
                let subscription = subscription_of(params);
                self.events.emit(Event::PromptsChanged { subscription });
            }
            ResourcesChanged::NAME => {
                bump(&self.lists.resources);
                let subscription = subscription_of(params);
                self.events.emit(Event::ResourcesChanged { subscription });
            }
            ResourceUpdated::NAME => match decode::<ResourceUpdatedParams>(params) {
                Some(updated) => self.events.emit(Event::ResourceUpdated {
                    uri: updated.uri,
                    subscription: subscription_of(params),
                }),
                None => self.malformed(method, params),
            },
            Acknowledged::NAME => match decode::<AcknowledgedParams>(params) {
                Some(acknowledged) => self.events.emit(Event::Acknowledged {
                    filter: acknowledged.notifications,
                    subscription: subscription_of(params),
                }),
                None => self.malformed(method, params),
            },
            LogMessage::NAME => match decode::<LogMessageParams>(params) {
                // Some servers send what was not asked for. A level that is none is kept: it
                // cannot be said to be below.
                Some(message)
                    if message.level() < self.log_level() && message.level().is_some() => {}
                Some(message) => self.events.emit(Event::Log(message)),
                None => self.malformed(method, params),
            },
            ElicitationComplete::NAME => match decode::<ElicitationCompleteParams>(params) {
                Some(complete) => self.events.emit(Event::ElicitationComplete {
                    id: complete.elicitation_id,
                }),
                None => self.malformed(method, params),
            },
            _ => self.events.emit(Event::Other {
                method: method.to_owned(),
                params: params.map(Into::into),
            }),
        }
    }

    /// Progress goes to the call that asked for it; any other is ignored (fault 46).
    fn progressed(&self, params: Option<&RawValue>) {
        let queue = decode::<ProgressParams>(params).and_then(|note| {
            let id = self.call_of_token(&note.progress_token)?;
            let mut calls = self.calls();
            let waiter = calls.in_flight.get_mut(id)?;
            let queue = waiter.progress.clone()?;
            waiter.extend_time(self);
            Some((queue, note))
        });
        match queue {
            Some((queue, note)) => queue.push(note),
            None => Counters::count(&self.counters.ignored_progress),
        }
    }

    /// The call that a token of this connection stands for.
    fn call_of_token(&self, token: &RequestId) -> Option<u64> {
        match (self.quirks.progress_token, token) {
            (ProgressTokenForm::Tool, RequestId::Text(text)) => {
                text.strip_prefix(TOOL_TOKEN)?.parse().ok()
            }
            (ProgressTokenForm::Tool, RequestId::Number(_)) => None,
            (ProgressTokenForm::Number, token) => token.as_counter(),
        }
    }

    /// The server withdraws a question of its own, or ends a subscription (S-CANC-07).
    fn withdrawn(&self, params: Option<&RawValue>) {
        let Some(id) = decode::<CancelledParams>(params).and_then(|params| params.request_id)
        else {
            // Malformed cancellations are ignored (X-CANC-04).
            return;
        };
        if self.era() == Some(Era::Modern) {
            self.ended_by_server(&id);
        } else {
            self.server_requests.withdraw(&id);
        }
    }

    /// A modern server may end a subscription this way. It may not do so to any other call; that
    /// one has no answer, least of all an empty success.
    fn ended_by_server(&self, id: &RequestId) {
        let counter = id.as_counter();
        let kind = counter.and_then(|id| Some(self.calls().in_flight.get_mut(id)?.kind));
        match kind {
            Some(CallKind::Subscription) => {
                self.complete(Some(id), Ending::Result, || Ok(Payload::EMPTY));
            }
            Some(CallKind::Ordinary | CallKind::Handshake) => self.fail_call(
                Some(id),
                "the server cancelled it, which it may do to subscriptions only".to_owned(),
            ),
            // It has ended already, or never was (X-CANC-04).
            None => {}
        }
    }

    /// Legacy servers may ask, and are always answered. Modern ones may not; one that does all the
    /// same would wait for ever, so it is told on the pipe it asked on (fault 53). Over HTTP there
    /// is no way to tell it (C-BASE-14).
    fn asked(self: &Arc<Self>, id: RequestId, method: Cow<'_, str>, params: Option<&RawValue>) {
        if self.era() == Some(Era::Modern) {
            let revision = self.revision().map_or("", Revision::as_str);
            let method = shortened(&method);
            self.violation(format!(
                "the server sent a request ({method}), which revision {revision} forbids"
            ));
            if !self.is_http() {
                let problem = format!("revision {revision} forbids requests of servers");
                let refusal = ErrorObject::new(codes::INVALID_REQUEST, problem);
                self.answer::<Json>(&id, Err(refusal));
            }
        } else {
            self.server_requests.answer(self, id, &method, params);
        }
    }

    fn era(&self) -> Option<Era> {
        self.revision().map(Revision::era)
    }

    fn stray(&self, line: &str, reason: String) {
        Counters::count(&self.counters.stray_lines);
        let line = shortened(line);
        self.keep_stray(&line);
        self.events.emit(Event::Stray { line, reason });
    }

    fn malformed(&self, method: &str, params: Option<&RawValue>) {
        let params = params.map_or("no params", RawValue::get);
        self.violation(format!("malformed {method}: {}", shortened(params)));
    }

    pub(crate) fn violation(&self, what: String) {
        Counters::count(&self.counters.violations);
        self.events.emit(Event::Violation(what));
    }
}

fn batch_refusal(revision: Option<Revision>) -> String {
    let revision = revision.map_or("this revision", Revision::as_str);
    format!("the answer came in a batch, which {revision} does not allow")
}

fn bump(changes: &tokio::sync::watch::Sender<u64>) {
    changes.send_modify(|count| *count += 1);
}

fn decode<T: DeserializeOwned>(params: Option<&RawValue>) -> Option<T> {
    attache_protocol::Json::from(params?).decode().ok()
}

/// The subscription a notification belongs to (C-STDIO-10).
fn subscription_of(params: Option<&RawValue>) -> Option<u64> {
    subscription_id(params?.get())?.as_counter()
}
