//! Streamable HTTP: every message is a POST of its own, its answer JSON or a stream of events.
//!
//! Owns each request from its headers to the end of its call. Which calls are open is
//! the connection's knowledge; sessions, streams and reconnecting have files of their own.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use attache_protocol::frame::{self, Params};
use attache_protocol::{
    Complete, Discover, Era, GetPrompt, Initialize, ListTools, Method as _, PageParams,
    ReadResource, Revision,
};
use bytes::Bytes;
use http::HeaderMap;
use parking_lot::Mutex;
use reqwest::Response;
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::AbortHandle;

use super::content::{BodyError, Content, Refusal, refusal, stated_type, whole};
use super::error::HttpError;
use super::mirrors::{ToolHeaders, result_in, stated_version};
use super::send::{HttpRequest, Wire};
use super::session::{ReplayLog, Session};
use crate::connection::{
    BoxFuture, Failure, Link, Outlet, PostFuture, PostState, Sent, Unsent, WriteMode,
};
use crate::error::CloseReason;
use crate::settings::{Limits, Settings, Timeouts};

/// How many messages that no caller waits for are on their way at once.
pub(super) const MAX_UNAWAITED: u32 = 64;

/// The transport of one connection.
#[derive(Clone)]
pub(crate) struct Streamable(pub(super) Arc<Shared>);

/// What the tasks of one connection share.
pub(super) struct Shared {
    pub(super) wire: Wire,
    pub(super) limits: Limits,
    pub(super) timeouts: Timeouts,
    runtime: Handle,
    link: OnceLock<Weak<Link>>,
    pub(super) revision: OnceLock<Revision>,
    session: Mutex<Option<Arc<Session>>>,
    pub(super) told: ReplayLog,
    tools: ToolHeaders,
    /// What was said at the first handshake, to be said again when the session is lost.
    pub(super) introduction: Mutex<Option<Params>>,
    pub(super) listening: Mutex<Option<AbortHandle>>,
    on_their_way: AtomicUsize,
    room: Notify,
    pub(super) unawaited: Arc<Semaphore>,
    pub(super) closed: watch::Sender<bool>,
    /// What the server answered before a revision was settled, in words.
    answers: Mutex<Vec<String>>,
}

/// A request on its way.
pub(super) struct Post {
    pub(super) id: u64,
    pub(super) method: String,
    /// The headers of a modern request; a legacy one has those of its session.
    modern: Option<HeaderMap>,
    body: Bytes,
    /// What to remember if the server agrees.
    params: Option<Params>,
    /// It is for a further page of a list.
    has_cursor: bool,
    state: Arc<PostState>,
}

impl Streamable {
    pub(crate) fn new(wire: Wire, settings: &Settings) -> Self {
        Self(Arc::new(Shared {
            wire,
            limits: settings.limits,
            timeouts: settings.timeouts,
            runtime: Handle::current(),
            link: OnceLock::new(),
            revision: OnceLock::new(),
            session: Mutex::default(),
            told: ReplayLog::default(),
            tools: ToolHeaders::default(),
            introduction: Mutex::default(),
            listening: Mutex::default(),
            on_their_way: AtomicUsize::new(0),
            room: Notify::new(),
            unawaited: Arc::new(Semaphore::new(MAX_UNAWAITED as usize)),
            closed: watch::Sender::new(false),
            answers: Mutex::default(),
        }))
    }

    /// Names the connection that messages are carried for.
    pub(crate) fn attach(&self, link: &Arc<Link>) {
        // A transport serves one connection.
        let _ = self.0.link.set(Arc::downgrade(link));
    }
}

impl Outlet for Streamable {
    fn send_request(&self, request: &frame::Request<'_>, _: WriteMode) -> Result<Sent, Unsent> {
        let state = Arc::new(PostState::default());
        let post = self.0.post(request, state.clone())?;
        let underway = Underway::begin(&self.0);
        let post = PostFuture::new(state, self.0.runtime.clone(), underway.run(post));
        Ok(Sent::post(post))
    }

    fn send_unawaited(&self, line: &[u8]) {
        self.0.aside(line);
    }

    fn settled(&self, revision: Revision) {
        let _ = self.0.revision.set(revision);
    }

    fn has_room(&self) -> bool {
        self.0.on_their_way.load(Ordering::Relaxed) < self.0.limits.requests_at_once
    }

    fn room(&self) -> BoxFuture<'_> {
        Box::pin(async {
            loop {
                let freed = self.0.room.notified();
                if self.has_room() {
                    return;
                }
                freed.await;
            }
        })
    }

    fn flushed(&self) -> BoxFuture<'_> {
        Box::pin(async {
            // The semaphore is never closed.
            let _ = self.0.unawaited.acquire_many(MAX_UNAWAITED).await;
        })
    }

    fn pause(&self, failures: u32) -> BoxFuture<'_> {
        Box::pin(self.0.pause(None, failures))
    }

    fn answers(&self) -> Vec<String> {
        self.0.answers.lock().clone()
    }

    fn is_http(&self) -> bool {
        true
    }

    fn close(&self) {
        self.0.close();
    }
}

/// Counts a request while it is on its way, however that ends.
struct Underway(Arc<Shared>);

impl Underway {
    fn begin(shared: &Arc<Shared>) -> Self {
        shared.on_their_way.fetch_add(1, Ordering::Relaxed);
        Self(shared.clone())
    }

    /// Carries a request to the end of its call. The answer's head is awaited by the caller; a
    /// stream of events goes on in a task of its own, as more than the answer may come on it.
    async fn run(self, post: Post) {
        let Some(link) = self.0.link() else { return };
        match self.0.exchange(&link, &post).await {
            Ok(Some(stream)) => {
                let state = post.state.clone();
                let runtime = self.0.runtime.clone();
                state.continue_in_background(&runtime, async move {
                    let followed = self.0.follow(&link, &post, stream).await;
                    end(&link, &post, followed);
                });
            }
            Ok(None) => end(&link, &post, Ok(())),
            Err(failure) => end(&link, &post, Err(failure)),
        }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.0.on_their_way.fetch_sub(1, Ordering::Relaxed);
        self.0.room.notify_one();
    }
}

impl Shared {
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.runtime.spawn(task).abort_handle()
    }

    pub(super) fn link(&self) -> Option<Arc<Link>> {
        self.link.get()?.upgrade()
    }

    pub(super) fn session(&self) -> Option<Arc<Session>> {
        self.session.lock().clone()
    }

    pub(super) fn is_modern(&self) -> bool {
        self.revision.get().map(|revision| revision.era()) == Some(Era::Modern)
    }

    fn post(&self, request: &frame::Request<'_>, state: Arc<PostState>) -> Result<Post, Unsent> {
        let &frame::Request { method, params, .. } = request;
        let mut line = request.to_line()?;
        // The line ending belongs to byte streams.
        line.truncate(line.trim_ascii_end().len());
        if method == Initialize::NAME {
            self.introduction
                .lock()
                .get_or_insert_with(|| params.clone());
        }
        let version = match self.revision.get() {
            Some(revision) if revision.era() == Era::Modern => Some(revision.as_str().to_owned()),
            None if method == Discover::NAME => stated_version(&line),
            _ => None,
        };
        let modern = version.map(|version| self.tools.headers(&version, method, params));
        Ok(Post {
            id: request.id,
            method: method.to_owned(),
            params: (modern.is_none() && ReplayLog::is_kept(method)).then(|| params.clone()),
            has_cursor: is_further_page(method, params),
            modern,
            body: line.into(),
            state,
        })
    }

    /// Sends a request and takes its answer, or gives the stream it will come on.
    async fn exchange(
        self: &Arc<Self>,
        link: &Arc<Link>,
        post: &Post,
    ) -> Result<Option<Response>, Failure> {
        let session = self.session_of(post);
        let response = self.send(post, session.as_deref()).await?;
        let Some(lost) = session.filter(|session| is_lost(session, &response)) else {
            return self.answered(link, post, response).await;
        };
        // The server has forgotten the session: one new one, and no loop (fault 56).
        let renewed = self.renew(link, &lost).await;
        if !is_safe_to_repeat(&post.method) || post.has_cursor {
            return Err(Failure::OutcomeUnknown(CloseReason::SessionLost));
        }
        let session = renewed?;
        post.state.departed.store(false, Ordering::Release);
        let response = self.send(post, Some(&session)).await?;
        if is_lost(&session, &response) {
            return Err(Failure::OutcomeUnknown(CloseReason::SessionLost));
        }
        self.answered(link, post, response).await
    }

    /// The session a request belongs to. The handshake belongs to none (C-SHL-27).
    fn session_of(&self, post: &Post) -> Option<Arc<Session>> {
        if post.modern.is_some() || post.method == Initialize::NAME {
            None
        } else {
            self.session()
        }
    }

    async fn send(&self, post: &Post, session: Option<&Session>) -> Result<Response, Failure> {
        let headers = match (&post.modern, session) {
            (Some(modern), _) => modern.clone(),
            (None, Some(session)) => {
                session.begun().await;
                session.headers(self.revision.get().copied())
            }
            (None, None) => HeaderMap::new(),
        };
        let outgoing = HttpRequest::post(headers, post.body.clone());
        let sent = self
            .wire
            .send(&self.wire.url, &outgoing, &post.state.departed);
        let response = sent.await;
        if self.revision.get().is_none() {
            self.note_answer(&post.method, response.as_ref());
        }
        response
    }

    /// Keeps what an unknown server says, to explain why it is none.
    fn note_answer(&self, method: &str, response: Result<&Response, &Failure>) {
        let words = match response {
            Ok(response) => format!(
                "POST {method}: status {}, {}",
                response.status().as_u16(),
                stated_type(response)
                    .as_deref()
                    .unwrap_or("no content type")
            ),
            Err(Failure::Http(error)) => format!("POST {method}: {error}"),
            Err(_) => return,
        };
        self.answers.lock().push(words);
    }

    async fn answered(
        self: &Arc<Self>,
        link: &Arc<Link>,
        post: &Post,
        mut response: Response,
    ) -> Result<Option<Response>, Failure> {
        let status = response.status();
        if !status.is_success() {
            return match refusal(response).await {
                Refusal::Message(message) => {
                    self.deliver(link, post, &message);
                    // A refusal that answers something else still refuses what was sent.
                    if link.awaits(post.id) {
                        let text = String::from_utf8_lossy(&message).into_owned();
                        let status = status.as_u16();
                        return Err(Failure::Http(HttpError::Status { status, text }));
                    }
                    Ok(None)
                }
                Refusal::Plain(error) => Err(Failure::Http(error)),
            };
        }
        if post.method == Initialize::NAME {
            let opened = Session::opened(response.headers());
            let former = self.session.lock().replace(opened.clone());
            if former.is_none() {
                // The first session gets the benefit of the doubt.
                opened.prove();
            }
        }
        match Content::of(&response) {
            Content::Json => {
                let body = whole(&mut response, self.limits.frame).await;
                self.deliver(link, post, &body.map_err(unread)?);
                if link.awaits(post.id) {
                    let problem = "the body holds no answer to the request";
                    return Err(Failure::Protocol(problem.to_owned()));
                }
                Ok(None)
            }
            Content::Events => Ok(Some(response)),
            Content::Empty => Err(Failure::Protocol(format!(
                "HTTP status {} and no answer",
                status.as_u16()
            ))),
            Content::Other => Err(Failure::Http(HttpError::ContentType {
                status: status.as_u16(),
                found: stated_type(&response),
            })),
        }
    }

    /// Hands over a message that came for a request, after taking note of what it teaches.
    pub(super) fn deliver(&self, link: &Arc<Link>, post: &Post, message: &Bytes) {
        if post.modern.is_some() && post.method == ListTools::NAME {
            self.tools.note(message);
        }
        if let Some(params) = &post.params
            && result_in(message).is_some()
        {
            self.told.note(&post.method, params);
        }
        if post.method != Initialize::NAME
            && let Some(session) = self.session()
        {
            session.prove();
        }
        link.receive_for(post.id, message);
    }
}

/// Ends a call that has no answer. Nothing happens if it has come, which is what success means.
fn end(link: &Link, post: &Post, carried: Result<(), Failure>) {
    let failure = match carried {
        Ok(()) => Failure::OutcomeUnknown(CloseReason::EndOfStream),
        Err(failure) => failure,
    };
    link.fail(post.id, failure);
}

/// Whether the server says that it does not know a session (any more).
pub(super) fn is_lost(session: &Session, response: &Response) -> bool {
    response.status().as_u16() == 404 && session.has_id()
}

/// Whether a request may be sent again although the first may have been executed (invariant 12):
/// it asks, or it sets something to what it is then set to anyway.
fn is_safe_to_repeat(method: &str) -> bool {
    matches!(
        method,
        ReadResource::NAME | GetPrompt::NAME | Complete::NAME | "ping"
    ) || method.ends_with("/list")
        || ReplayLog::is_kept(method)
}

/// Whether a request is for a further page of a list. Its cursor means nothing to another session,
/// so the list has to begin anew (C-PAG-04).
fn is_further_page(method: &str, params: &Params) -> bool {
    let has_cursor = || {
        params
            .decode::<PageParams>()
            .is_ok_and(|it| it.cursor.is_some())
    };
    method.ends_with("/list") && has_cursor()
}

fn unread(error: BodyError) -> Failure {
    match error {
        BodyError::TooLong(limit) => {
            Failure::Protocol(format!("the answer is longer than {limit} bytes"))
        }
        BodyError::Broken(cause) => Failure::OutcomeUnknown(CloseReason::ReadFailed(cause)),
    }
}
