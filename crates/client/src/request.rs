//! One request, from its options to its decoded result.
//!
//! Owns the stages of a request: sent, answered, and sent again while the server asks something
//! back. What is done between two rounds is in `rounds`. The first round is a future without a box
//! and takes no memory of its own, with progress and with a signal to cancel as well; only a full
//! pipe and further rounds are boxed.

use std::borrow::Cow;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use attache_protocol::frame::{MetaFields, Params};
use attache_protocol::{
    CallTool, Extra, GetPrompt, Json, Method, Payload, ProgressParams, ReadResource,
};
use serde::Serialize;

use crate::client::Client;
use crate::connection::{BoxFuture, Failure, Patience, PendingRequest, ProgressWish, TimeLeft};
use crate::error::Error;
use crate::rounds::{Next, Step, pause_before_repeat};
use crate::settings::UndeclaredRequests;

/// What receives the progress of a request.
type ProgressListener = Box<dyn FnMut(ProgressParams) + Send>;

/// A request that is sent when it is awaited. Dropping it, or the future it becomes, cancels it.
///
/// ```no_run
/// # async fn run(server: attache_client::Client) -> Result<(), attache_client::Error> {
/// use std::time::Duration;
///
/// let answer = server
///     .call("index", serde_json::json!({"folder": "notes"}))
///     .timeout(Duration::from_secs(5))
///     .on_progress(|note| println!("{} of {:?}", note.progress, note.total))
///     .await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "a request is sent when it is awaited"]
pub struct Request<M> {
    client: Client,
    params: Result<Params, Box<Error>>,
    options: Options,
    method: PhantomData<fn() -> M>,
}

/// How a request is made.
#[derive(Default)]
pub(crate) struct Options {
    timeout: Option<Duration>,
    maximum: Option<Duration>,
    on_progress: Option<ProgressListener>,
    meta: MetaFields,
    cancel: Option<BoxFuture<'static>>,
    /// Set when the server asks back.
    asked_back: Option<Arc<AtomicBool>>,
    /// The work may be handed over as a task instead of being followed to its end.
    hands_over_tasks: bool,
}

impl Options {
    /// For a caller that takes a task as it is.
    pub(crate) fn handing_over_tasks() -> Self {
        Self {
            hands_over_tasks: true,
            ..Self::default()
        }
    }

    /// Moves `_meta` that the caller wrote into the params to where all metadata is joined.
    pub(crate) fn take_meta(&mut self, method: &str, params: Params) -> Result<Params, Error> {
        let unreadable = |error| unwritable(method, error);
        if !params.as_str().contains("\"_meta\"") {
            return Ok(params);
        }
        let mut members: Extra = params.decode().map_err(unreadable)?;
        let Some(own) = members.remove("_meta") else {
            return Ok(params);
        };
        for (key, value) in own.decode::<Extra>().map_err(unreadable)?.iter() {
            self.meta.add(key, value).map_err(unreadable)?;
        }
        Params::write(&members).map_err(unreadable)
    }
}

impl<M: Method> Request<M> {
    pub(crate) fn new<P: Serialize + ?Sized>(client: &Client, params: &P) -> Self {
        let params = match client.settings().capabilities {
            UndeclaredRequests::Refuse if !client.offers(M::NAME) => Err(Error::Unsupported {
                method: M::NAME.to_owned(),
                reason: "the server does not declare it, and capabilities are strict".to_owned(),
            }),
            _ => Params::write(params).map_err(|error| unwritable(M::NAME, error)),
        };
        Self {
            client: client.clone(),
            params: params.map_err(Box::new),
            options: Options::default(),
            method: PhantomData,
        }
    }

    /// A request whose params come from outside and may hold metadata.
    pub(crate) fn of_caller(client: &Client, params: &M::Params) -> Self {
        let mut request = Self::new(client, params);
        request.params = request.params.and_then(|params| {
            let params = request.options.take_meta(M::NAME, params);
            params.map_err(Box::new)
        });
        request
    }

    /// How long to wait without a sign of progress.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Sets the flag if the server asks back before it answers. The answer is then one to what the
    /// user said, and not to be kept for another request (C-CACHE-03).
    pub fn asked_back(mut self, flag: Arc<AtomicBool>) -> Self {
        self.options.asked_back = Some(flag);
        self
    }

    /// How long to wait altogether, however much progress there is.
    pub fn maximum(mut self, maximum: Duration) -> Self {
        self.options.maximum = Some(maximum);
        self
    }

    /// Asks the server for progress and listens to it. Each note puts the time-out off, up to the
    /// maximum.
    pub fn on_progress(mut self, listener: impl FnMut(ProgressParams) + Send + 'static) -> Self {
        self.options.on_progress = Some(Box::new(listener));
        self
    }

    /// Adds a field to the request's metadata.
    pub fn meta(mut self, key: &str, value: &impl Serialize) -> Self {
        if let Err(error) = self.options.meta.add(key, value) {
            self.params = Err(Box::new(Error::Input(format!("metadata {key}: {error}"))));
        }
        self
    }

    /// Cancels the request when `signal` resolves; it then fails with [`Error::Cancelled`].
    pub fn cancel_when(mut self, signal: impl Future<Output = ()> + Send + 'static) -> Self {
        self.options.cancel = Some(Box::pin(signal));
        self
    }

    /// Sends the request and gives its result as the server sent it.
    pub fn raw(self) -> ResponseFuture<Payload> {
        let method = Cow::Borrowed(M::NAME);
        let rounds = Rounds::new(self.client, method, self.params, self.options);
        ResponseFuture::raw(rounds)
    }
}

impl<M: Method> IntoFuture for Request<M> {
    type Output = Result<M::Result, Error>;
    type IntoFuture = ResponseFuture<M::Result>;

    fn into_future(self) -> Self::IntoFuture {
        let method = Cow::Borrowed(M::NAME);
        ResponseFuture {
            rounds: Rounds::new(self.client, method, self.params, self.options),
            decode: |client, payload| client.decode::<M>(&payload),
        }
    }
}

impl<M: Method> fmt::Debug for Request<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Request({} {:?})", M::NAME, self.params)
    }
}

/// A request under way. Dropping it cancels the request.
#[must_use = "a request is sent when it is awaited"]
pub struct ResponseFuture<T> {
    rounds: Rounds,
    decode: fn(&Client, Payload) -> Result<T, Error>,
}

impl ResponseFuture<Payload> {
    pub(crate) fn raw(rounds: Rounds) -> Self {
        let decode = |_: &Client, payload| Ok(payload);
        Self { rounds, decode }
    }
}

impl<T> Future for ResponseFuture<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { rounds, decode } = &mut *self;
        let result = match rounds.poll(context) {
            Poll::Ready(result) => result,
            Poll::Pending => Err(ready!(rounds.poll_cancelled(context))),
        };
        // What is still open is cancelled by being dropped.
        rounds.stage = Stage::Ended(None);
        Poll::Ready(result.and_then(|payload| decode(&rounds.client, payload)))
    }
}

impl<T> fmt::Debug for ResponseFuture<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ResponseFuture({})", self.rounds.method)
    }
}

/// A request that is repeated until it is answered.
pub(crate) struct Rounds {
    client: Client,
    method: Cow<'static, str>,
    params: Params,
    /// What is sent instead of the params, once the server has asked something back.
    repeated: Option<Params>,
    options: Options,
    /// What earlier rounds have left of the maximum.
    left: Option<Duration>,
    /// How often it was sent.
    sent: usize,
    /// The list of tools was fetched anew for its headers.
    has_renewed_headers: bool,
    stage: Stage,
}

/// Where a request stands.
enum Stage {
    /// It is to be sent, for the first time or again.
    Unsent,
    /// There is no room for it yet; resolves to whether there was while it had time.
    WaitingForRoom(BoxFuture<'static, bool>, TimeLeft),
    /// It was sent.
    WaitingForAnswer(PendingRequest, TimeLeft),
    /// What the server wants before it answers is being done.
    BetweenRounds(BoxFuture<'static, Result<Next, Error>>),
    /// Its result was taken, unless it ended with this error before it was sent.
    Ended(Option<Box<Error>>),
}

impl Rounds {
    pub(crate) fn new(
        client: Client,
        method: Cow<'static, str>,
        params: Result<Params, Box<Error>>,
        options: Options,
    ) -> Self {
        let (params, stage) = match params {
            Ok(params) => (params, Stage::Unsent),
            Err(error) => (Json::default().into(), Stage::Ended(Some(error))),
        };
        Self {
            client,
            method,
            params,
            repeated: None,
            options,
            left: None,
            sent: 0,
            has_renewed_headers: false,
            stage,
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Payload, Error>> {
        loop {
            match &mut self.stage {
                Stage::Unsent => {
                    let time = self.time();
                    if self.client.link().has_room() {
                        self.send(time)?;
                    } else {
                        self.stage = self.wait_for_room(time);
                    }
                }
                Stage::WaitingForRoom(room, time) => {
                    let has_room = ready!(room.as_mut().poll(context));
                    let mut time = *time;
                    if !has_room {
                        let spent = time.spent(self.client.link());
                        return Poll::Ready(Err(self.explain(Failure::TimedOut(spent))));
                    }
                    self.send(time)?;
                }
                Stage::WaitingForAnswer(pending, time) => {
                    let listener = &mut self.options.on_progress;
                    let answer = ready!(pending.poll_answered(context, |note| {
                        if let Some(listener) = listener {
                            listener(note);
                        }
                    }));
                    let mut time = *time;
                    let answer = answer.map_err(|failure| self.explain(failure));
                    match self.client.sort(&self.method, answer)? {
                        Step::Answer(payload) => return Poll::Ready(Ok(payload)),
                        Step::Task(created) if self.options.hands_over_tasks => {
                            return Poll::Ready(Ok(created));
                        }
                        step => {
                            self.left = Some(time.left(self.client.link()));
                            self.stage = self.between_rounds(step)?;
                        }
                    }
                }
                Stage::BetweenRounds(work) => match ready!(work.as_mut().poll(context))? {
                    Next::Answer(payload) => return Poll::Ready(Ok(payload)),
                    Next::Repeat(_) if self.left == Some(Duration::ZERO) => {
                        let maximum = self.maximum();
                        return Poll::Ready(Err(self.client.timed_out(&self.method, maximum)));
                    }
                    Next::Repeat(params) => {
                        self.repeated = params;
                        self.stage = Stage::Unsent;
                    }
                },
                Stage::Ended(refusal) => {
                    let taken = || format!("{}: its result was taken before", self.method);
                    let error = refusal.take().map(|error| *error);
                    return Poll::Ready(Err(error.unwrap_or_else(|| Error::Input(taken()))));
                }
            }
        }
    }

    fn poll_cancelled(&mut self, context: &mut Context<'_>) -> Poll<Error> {
        let Some(cancel) = &mut self.options.cancel else {
            return Poll::Pending;
        };
        ready!(cancel.as_mut().poll(context));
        let method = self.method.clone().into_owned();
        Poll::Ready(Error::Cancelled { method })
    }

    fn send(&mut self, time: TimeLeft) -> Result<(), Error> {
        let wish = match self.options.on_progress {
            Some(_) => ProgressWish::Notes,
            None => ProgressWish::None,
        };
        let meta = self.client.request_meta(&self.options.meta);
        let params = self.repeated.as_ref().unwrap_or(&self.params);
        let patience = Patience::While(time);
        let link = self.client.link();
        match link.begin(&self.method, params, &meta, wish, patience) {
            Ok(pending) => {
                self.sent += 1;
                self.stage = Stage::WaitingForAnswer(pending, time);
                Ok(())
            }
            Err(failure) => Err(self.explain(failure)),
        }
    }

    /// Waiting for room to write counts as waiting for the answer.
    fn wait_for_room(&self, time: TimeLeft) -> Stage {
        let link = self.client.link().clone();
        let room = async move {
            let room = tokio::time::timeout_at(time.end(), link.room());
            room.await.is_ok()
        };
        Stage::WaitingForRoom(Box::pin(room), time)
    }

    /// Goes on with what the server wants before it answers, unless it has asked back too often
    /// (C-MRTR-18, fault 52).
    fn between_rounds(&mut self, step: Step) -> Result<Stage, Error> {
        let limit = self.client.link().limits.rounds;
        let client = self.client.clone();
        let method = self.method.clone();
        Ok(Stage::BetweenRounds(match step {
            Step::Answer(payload) => Box::pin(async { Ok(Next::Answer(payload)) }),
            Step::Task(created) => {
                let whole = self.maximum();
                let left = self.left.unwrap_or(whole);
                Box::pin(async move { client.follow_to_end(&method, &created, whole, left).await })
            }
            // What is asked now would be answered in a round too many, so no user is bothered.
            _ if self.sent >= limit => {
                return Err(Error::Protocol {
                    method: method.into_owned(),
                    problem: format!("the server asked back {limit} times without answering"),
                });
            }
            Step::Addresses(error) => Box::pin(async move { client.visit_addresses(error).await }),
            Step::OtherHeaders(error) => {
                if std::mem::replace(&mut self.has_renewed_headers, true) {
                    return Err(Error::Server(error));
                }
                Box::pin(async move {
                    client.list_tools().await?;
                    Ok(Next::Repeat(None))
                })
            }
            Step::Questions(asked) => {
                if let Some(asked_back) = &self.options.asked_back {
                    asked_back.store(true, Ordering::Release);
                }
                let pause = pause_before_repeat(&asked, self.sent);
                self.left = self.left.map(|left| left.saturating_sub(pause));
                let params = self.params.clone();
                Box::pin(async move {
                    if !pause.is_zero() {
                        tokio::time::sleep(pause).await;
                    }
                    client.answer_questions(&method, &params, &asked).await
                })
            }
        }))
    }

    /// The time for one round.
    fn time(&self) -> TimeLeft {
        let timeouts = &self.client.link().timeouts;
        let by_class = match &*self.method {
            CallTool::NAME | GetPrompt::NAME => timeouts.call,
            ReadResource::NAME => timeouts.read,
            _ => timeouts.request,
        };
        let patience = self.options.timeout.unwrap_or(by_class);
        TimeLeft::new(self.client.link(), patience, self.maximum(), self.left)
    }

    /// How long the request may take, over all its rounds.
    fn maximum(&self) -> Duration {
        let maximum = self.client.link().timeouts.maximum;
        let maximum = self.options.maximum.unwrap_or(maximum);
        // A caller that asks for more patience than the maximum means it.
        maximum.max(self.options.timeout.unwrap_or_default())
    }

    fn explain(&self, failure: Failure) -> Error {
        let params = self.repeated.as_ref().unwrap_or(&self.params);
        self.client.explain(failure, &self.method, params)
    }
}

/// The error for params that are no JSON.
pub(crate) fn unwritable(method: &str, error: serde_json::Error) -> Error {
    Error::Input(format!("{method}: {error}"))
}
