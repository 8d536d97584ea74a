//! One typed request, from its options to its decoded result.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use attache_protocol::frame::{MetaFields, Params};
use attache_protocol::{
    CallTool, ErrorObject, Extra, GetPrompt, Method, Payload, ProgressParams, ReadResource,
    shortened,
};
use serde::Serialize;

use crate::client::Client;
use crate::connection::{Exchange, Failure, Patience, ProgressWish, TimeLeft};
use crate::error::{Error, ServerError};
use crate::meaning::meaning_of;
use crate::sending::{Sending, SendingRaw};
use crate::settings::UndeclaredRequests;
use crate::telling_line::{LINES_LOOKED_AT, complaint};

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
    cancel: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// What earlier rounds have left of the maximum.
    pub(crate) left: Option<Duration>,
    /// Set when the server asks back.
    asked_back: Option<Arc<AtomicBool>>,
}

impl Options {
    /// Whether there is more to do than to send the request and to wait for its answer.
    pub(crate) fn wants_more_than_an_answer(&self) -> bool {
        self.on_progress.is_some() || self.cancel.is_some()
    }

    /// Takes note that the server asked something back.
    pub(crate) fn note_questions(&self) {
        if let Some(asked_back) = &self.asked_back {
            asked_back.store(true, Ordering::Release);
        }
    }

    /// The metadata of the request, with what the connection adds to every request.
    pub(crate) fn meta_for(&self, client: &Client) -> MetaFields {
        client.request_meta(&self.meta)
    }

    /// Moves `_meta` that the caller wrote into the params to where all metadata is joined.
    pub(crate) fn take_meta(&mut self, method: &str, params: Params) -> Result<Params, Error> {
        let unreadable = |error: serde_json::Error| Error::Input(format!("{method}: {error}"));
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
            _ => write_params(M::NAME, params),
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
    pub fn raw(self) -> SendingRaw {
        SendingRaw::new(self.client, M::NAME, self.params, self.options)
    }
}

impl<M: Method> IntoFuture for Request<M> {
    type Output = Result<M::Result, Error>;
    type IntoFuture = Sending<M>;

    fn into_future(self) -> Self::IntoFuture {
        Sending::new(self.raw())
    }
}

impl<M: Method> fmt::Debug for Request<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Request({} {:?})", M::NAME, self.params)
    }
}

pub(crate) fn write_params<P: Serialize + ?Sized>(
    method: &str,
    params: &P,
) -> Result<Params, Error> {
    Params::write(params).map_err(|error| Error::Input(format!("{method}: {error}")))
}

/// Sends a request of any name and follows it to its end, rounds and tasks included.
///
/// What only some calls need is boxed here and below, so that the future of every call stays small.
pub(crate) async fn perform(
    client: &Client,
    method: &str,
    params: &Params,
    options: &mut Options,
) -> Result<Payload, Error> {
    let Some(cancel) = options.cancel.take() else {
        return client.rounds(method, params, options).await;
    };
    let work = client.rounds(method, params, options);
    let cancellable = async move {
        tokio::select! {
            biased;
            result = work => result,
            // Dropping the work cancels the request that is open.
            () = cancel => Err(Error::Cancelled { method: method.to_owned() }),
        }
    };
    Box::pin(cancellable).await
}

impl Client {
    /// One request and its one answer, while there is time.
    pub(crate) async fn exchange(
        &self,
        method: &str,
        params: &Params,
        options: &mut Options,
        time: &mut TimeLeft,
    ) -> Result<Payload, Error> {
        let wish = match options.on_progress {
            Some(_) => ProgressWish::Notes,
            None => ProgressWish::None,
        };
        let request_meta = options.meta_for(self);
        if !self.link().has_room() {
            // Waiting for room to write counts as waiting for the answer.
            let room = tokio::time::timeout_at(time.end(), self.link().room());
            Box::pin(room).await.map_err(|_| {
                self.explain(Failure::TimedOut(time.spent(self.link())), method, params)
            })?;
        }
        let patience = Patience::While(*time);
        let begun = self
            .link()
            .begin(method, params, &request_meta, wish, patience);
        let answer = match begun.map(Exchange::unattended) {
            Ok(mut exchange) => {
                let on_progress = &mut options.on_progress;
                exchange
                    .finish(|note| {
                        if let Some(listener) = on_progress {
                            listener(note);
                        }
                    })
                    .await
            }
            Err(failure) => Err(failure),
        };
        answer.map_err(|failure| self.explain(failure, method, params))
    }

    /// The time for one exchange of a request.
    pub(crate) fn time_for(&self, method: &str, options: &Options) -> TimeLeft {
        let timeouts = &self.link().timeouts;
        let by_class = match method {
            CallTool::NAME | GetPrompt::NAME => timeouts.call,
            ReadResource::NAME => timeouts.read,
            _ => timeouts.request,
        };
        let patience = options.timeout.unwrap_or(by_class);
        let whole = self.maximum(options);
        TimeLeft::new(self.link(), patience, whole, options.left)
    }

    /// How long a request may take, over all its rounds.
    pub(crate) fn maximum(&self, options: &Options) -> Duration {
        let maximum = options.maximum.unwrap_or(self.link().timeouts.maximum);
        // Who asks for more patience than the maximum means it.
        maximum.max(options.timeout.unwrap_or_default())
    }

    /// Puts a failure into context.
    pub(crate) fn explain(&self, failure: Failure, method: &str, params: &Params) -> Error {
        let method = method.to_owned();
        match failure {
            Failure::Server(error) => self.explain_error(method, error, params),
            Failure::Http(problem) => Error::Http { method, problem },
            Failure::Protocol(problem) => Error::Protocol { method, problem },
            Failure::NotSent(reason) => Error::NotSent { method, reason },
            Failure::OutcomeUnknown(reason) => Error::OutcomeUnknown { method, reason },
            Failure::TimedOut(after) => self.timed_out(&method, after),
            Failure::Unwritable(problem) => Error::Input(format!("{method}: {problem}")),
        }
    }

    /// No answer came. What the server complained of last may well be why.
    pub(crate) fn timed_out(&self, method: &str, after: Duration) -> Error {
        Error::TimedOut {
            method: method.to_owned(),
            after,
            complaint: complaint(&self.stderr().tail_lines(LINES_LOOKED_AT)),
        }
    }

    fn explain_error(&self, method: String, error: ErrorObject, params: &Params) -> Error {
        let link = self.link();
        let aliases = &link.quirks.error_aliases;
        let meaning = meaning_of(&error, &method, params, link.revision(), aliases);
        Error::Server(ServerError::new(&method, error, meaning))
    }

    /// Decodes a result as its method declares. What does not fit is the server's fault and ends
    /// this call only.
    pub(crate) fn decode<M: Method>(&self, payload: &Payload) -> Result<M::Result, Error> {
        M::decode(payload).map_err(|error| self.undecodable(M::NAME, error))
    }

    /// The error for a result that is not what it should be. The problem may quote the result,
    /// so it is shortened.
    pub(crate) fn undecodable(&self, method: &str, problem: impl fmt::Display) -> Error {
        self.link().reclassify_undecodable();
        Error::Protocol {
            method: method.to_owned(),
            problem: shortened(problem),
        }
    }
}
