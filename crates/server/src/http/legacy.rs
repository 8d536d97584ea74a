//! The legacy era over HTTP: sessions, streams, coming back to them.

use std::collections::HashSet;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use attache_protocol::{
    Era, ErrorObject, Initialize, Message, Method as _, RequestId, Revision, codes,
};
use axum::http::header::HeaderName;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::value::RawValue;

use crate::batch;
use crate::incoming::{Incoming, refusal, sort_item};
use crate::service::{Answer, AnswerFuture, Outlet, Request, Service, Work};

use super::answers::{busy, empty, events, json, refuse};
use super::events::{EventIds, EventLog, First, parse_event_id};
use super::guard::{Refusal, accepts, prefers_stream};
use super::headers::Claimed;
use super::sessions::{Entry, Sessions};
use super::{Passed, modern};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

impl<S: Service> Passed<'_, S> {
    pub(super) async fn legacy(&self, message: Message<'_>, claimed: &Claimed) -> Response {
        if claimed.is_unknown() {
            return bad_version();
        }
        match message {
            Message::Request { id, method, params } if method == Initialize::NAME => {
                self.initialize(id, params)
            }
            Message::Request { id, method, params } => {
                let entry = match self.session() {
                    Ok(entry) => entry,
                    Err(refusal) => return *refusal,
                };
                let log = entry.new_stream(&self.face.settings);
                let work = self.ask(&entry, &log, id.clone(), &method, params);
                self.run(&entry, log, Some(&id), work).await
            }
            Message::Notification { method, params } => match self.session() {
                Ok(entry) => {
                    self.face
                        .service
                        .notification(&entry.session, &method, params);
                    empty(StatusCode::ACCEPTED)
                }
                Err(refusal) => *refusal,
            },
            Message::Response { id, outcome } => match self.session() {
                Ok(entry) => {
                    if let Some(id) = id {
                        self.face.service.response(&entry.session, &id, outcome);
                    }
                    empty(StatusCode::ACCEPTED)
                }
                Err(refusal) => *refusal,
            },
        }
    }

    pub(super) async fn legacy_batch(&self, items: &[&RawValue], claimed: &Claimed) -> Response {
        if claimed.is_unknown() {
            return bad_version();
        }
        let entry = match self.session() {
            Ok(entry) => entry,
            Err(refusal) => return *refusal,
        };
        let revision = self.face.service.revision(&entry.session);
        if !revision.is_some_and(|it| it.features().batches) {
            let error = invalid("batches exist in 2025-03-26 only; send one message per request");
            return refuse(StatusCode::BAD_REQUEST, &error, None);
        }
        let log = entry.new_stream(&self.face.settings);
        let mut works = Vec::new();
        let mut ids = HashSet::new();
        for item in items {
            match sort_item(item) {
                // The answers of a batch come together, so here each needs an id of its own.
                Incoming::Message(Message::Request { id, .. }) if !ids.insert(id.clone()) => {
                    let error = invalid("another request of this batch has the same id");
                    works.push(Work::Done(Answer::error(&id, &error)));
                }
                Incoming::Message(Message::Request { id, method, params }) => {
                    works.push(self.ask(&entry, &log, id, &method, params));
                }
                Incoming::Message(Message::Notification { method, params }) => {
                    self.face
                        .service
                        .notification(&entry.session, &method, params);
                }
                Incoming::Message(Message::Response { id, outcome }) => {
                    if let Some(id) = id {
                        self.face.service.response(&entry.session, &id, outcome);
                    }
                }
                Incoming::Refused(error, id) => works.push(Work::Done(Answer {
                    frame: refusal(&error, id.as_ref(), revision),
                    error_code: Some(error.code),
                })),
                Incoming::Batch(_) => works.push(Work::Done(Answer {
                    frame: refusal(&invalid("a batch in a batch"), None, revision),
                    error_code: Some(codes::INVALID_REQUEST),
                })),
            }
        }
        if works.is_empty() {
            return empty(StatusCode::ACCEPTED);
        }
        self.run(&entry, log, None, Work::Later(batch::join(works)))
            .await
    }

    fn initialize(&self, id: RequestId, params: Option<&RawValue>) -> Response {
        let face = self.face;
        let prepared =
            Sessions::prepare(&face.service, &face.settings, &face.kept, &self.principal);
        let Ok(entry) = prepared else {
            return busy(Some(&id));
        };
        let log = entry.new_stream(&face.settings);
        let work = self.ask(&entry, &log, id.clone(), Initialize::NAME, params);
        // A handshake needs no handler; a service that takes its time here cannot have a session.
        let Work::Done(answer) = work else {
            return busy(Some(&id));
        };
        let is_open = face.service.revision(&entry.session).is_some();
        let name = HeaderValue::from_str(&entry.id);
        if answer.error_code.is_none() && is_open {
            face.sessions.insert(&face.service, &face.settings, entry);
        }
        let mut response = json(StatusCode::OK, answer.frame);
        if let (true, Ok(name)) = (is_open, name) {
            response.headers_mut().insert(SESSION, name);
        }
        response
    }

    fn ask(
        &self,
        entry: &Entry<S>,
        log: &Arc<EventLog>,
        id: RequestId,
        method: &str,
        params: Option<&RawValue>,
    ) -> Work {
        let outlet: Arc<dyn Outlet> = Arc::clone(log) as Arc<dyn Outlet>;
        let request = Request {
            id,
            method,
            params,
            era: Some(Era::Legacy),
        };
        self.face.service.request(&entry.session, request, &outlet)
    }

    /// Answers with JSON if the answer is all there is to say, else with a stream.
    async fn run(
        &self,
        entry: &Arc<Entry<S>>,
        log: Arc<EventLog>,
        id: Option<&RequestId>,
        work: Work,
    ) -> Response {
        let face = self.face;
        let json_will_do = |log: &EventLog| log.is_untouched() && !prefers_stream(self.headers);
        let mut future = match work {
            Work::Done(answer) if json_will_do(&log) => return json(StatusCode::OK, answer.frame),
            Work::Done(answer) => Box::pin(async { Some(answer) }) as AnswerFuture,
            Work::Open(future) => future,
            Work::Later(future) => match modern::admit(face, future) {
                Ok(future) => future,
                Err(modern::Busy) => return busy(id),
            },
        };
        // The task below polls again with a waker of its own, so this poll needs none.
        match future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(Some(answer)) if json_will_do(&log) => {
                return json(StatusCode::OK, answer.frame);
            }
            Poll::Ready(answer) => log.finish(answer),
            Poll::Pending => {
                // A client that goes away has not cancelled anything (S-SHL-14).
                let (log, working) = (Arc::clone(&log), entry.work());
                tokio::spawn(async move {
                    log.finish(future.await);
                    drop(working);
                });
            }
        }
        if !prefers_stream(self.headers)
            && let First::Answer(frame) = poll_fn(|context| log.poll_first(context)).await
        {
            return json(StatusCode::OK, frame.to_vec());
        }
        // The response reads the stream before others can find it and take it for abandoned.
        let response = self.stream(entry, &log, 0);
        entry.keep(&log, face.settings.max_streams);
        response
    }

    /// A stream of what comes behind the event of that number.
    fn stream(&self, entry: &Entry<S>, log: &Arc<EventLog>, position: u64) -> Response {
        let settings = &self.face.settings;
        let body = self.body(log.read_from(position), EventIds::Written);
        let revision = self.face.service.revision(&entry.session);
        let body = match revision {
            Some(revision) if revision.features().primed_streams => body.primed(settings.retry),
            _ => body,
        };
        events(body.into_body())
    }

    pub(super) fn legacy_get(&self) -> Response {
        if !accepts(self.headers, "text/event-stream") {
            let error = invalid("Accept must name text/event-stream");
            return refuse(StatusCode::NOT_ACCEPTABLE, &error, None);
        }
        let entry = match self.session() {
            Ok(entry) => entry,
            Err(refusal) => return *refusal,
        };
        let Some(last) = self.headers.get(LAST_EVENT) else {
            let body = self.body(entry.general.read_on(), EventIds::Written);
            return events(body.into_body());
        };
        let place = last.to_str().ok().and_then(parse_event_id);
        let found = place.and_then(|(stream, number)| Some((entry.stream(stream)?, number)));
        match found {
            Some((log, number)) => {
                let body = self.body(log.read_from(number), EventIds::Written);
                events(body.into_body())
            }
            None => {
                let error = invalid("the stream of this Last-Event-ID is no longer kept");
                refuse(StatusCode::BAD_REQUEST, &error, None)
            }
        }
    }

    /// The session that the request names (S-SHL-25, S-SHL-26).
    pub(super) fn session(&self) -> Result<Arc<Entry<S>>, Refusal> {
        let Some(name) = self.headers.get(SESSION) else {
            let error = invalid("the header Mcp-Session-Id is missing; send initialize first");
            return Err(Box::new(refuse(StatusCode::BAD_REQUEST, &error, None)));
        };
        let face = self.face;
        let found = name
            .to_str()
            .ok()
            .and_then(|name| face.sessions.find(name, &self.principal, &face.settings));
        found.ok_or_else(|| {
            let error = invalid("there is no such session; send initialize again");
            Box::new(refuse(StatusCode::NOT_FOUND, &error, None))
        })
    }
}

fn bad_version() -> Response {
    let known = Revision::NEWEST_FIRST.map(Revision::as_str).join(", ");
    let error = invalid(&format!("MCP-Protocol-Version names none of {known}"));
    refuse(StatusCode::BAD_REQUEST, &error, None)
}

fn invalid(message: &str) -> ErrorObject {
    ErrorObject::new(codes::INVALID_REQUEST, message)
}
