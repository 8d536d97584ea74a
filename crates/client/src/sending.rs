//! A request under way, as a future without a box.
//!
//! Owns the short way of a call: one request, one answer, nothing asked back. Whatever takes longer
//! (a full pipe, progress, a signal to cancel, further rounds) goes on in a boxed future, so that
//! the ordinary call stays small and takes no memory of its own.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use attache_protocol::frame::Params;
use attache_protocol::{Method, Payload};

use crate::client::Client;
use crate::connection::{Exchange, Patience, ProgressWish, TimeLeft};
use crate::error::Error;
use crate::request::{Options, perform};
use crate::rounds::Step;

/// A request under way whose result comes decoded. Dropping it cancels the request.
#[must_use = "a request is sent when it is awaited"]
pub struct Sending<M> {
    raw: SendingRaw,
    method: PhantomData<fn() -> M>,
}

/// A request under way whose result comes as the server sent it. Dropping it cancels the request.
#[must_use = "a request is sent when it is awaited"]
pub struct SendingRaw {
    client: Client,
    method: &'static str,
    stage: Stage,
}

/// How far a request has come.
enum Stage {
    Unsent(Result<Work, Box<Error>>),
    Waiting {
        exchange: Exchange,
        time: TimeLeft,
        work: Work,
    },
    LongWay(Pin<Box<dyn Future<Output = Result<Payload, Error>> + Send>>),
    Done,
}

/// What is to be sent, and how.
struct Work {
    params: Params,
    options: Options,
}

impl SendingRaw {
    pub(crate) fn new(
        client: Client,
        method: &'static str,
        params: Result<Params, Box<Error>>,
        options: Options,
    ) -> Self {
        Self {
            client,
            method,
            stage: Stage::Unsent(params.map(|params| Work { params, options })),
        }
    }

    fn send(&self, work: Result<Work, Box<Error>>) -> Result<Stage, Error> {
        let work = work.map_err(|error| *error)?;
        let link = self.client.link();
        if work.options.wants_more_than_an_answer() || !link.has_room() {
            return Ok(Stage::LongWay(self.long_way(work)));
        }
        let time = self.client.time_for(self.method, &work.options);
        let meta = work.options.meta_for(&self.client);
        let patience = Patience::While(time);
        let begun = link.begin(
            self.method,
            &work.params,
            &meta,
            ProgressWish::None,
            patience,
        );
        match begun {
            Ok(exchange) => Ok(Stage::Waiting {
                exchange,
                time,
                work,
            }),
            Err(failure) => Err(self.client.explain(failure, self.method, &work.params)),
        }
    }

    fn long_way(
        &self,
        mut work: Work,
    ) -> Pin<Box<dyn Future<Output = Result<Payload, Error>> + Send>> {
        let (client, method) = (self.client.clone(), self.method);
        Box::pin(async move { perform(&client, method, &work.params, &mut work.options).await })
    }

    fn further_rounds(&self, mut work: Work, mut time: TimeLeft, step: Step) -> Stage {
        let (client, method) = (self.client.clone(), self.method);
        work.options.left = Some(time.left(client.link()));
        Stage::LongWay(Box::pin(async move {
            client
                .further_rounds(method, &work.params, &mut work.options, step)
                .await
        }))
    }
}

impl Future for SendingRaw {
    type Output = Result<Payload, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            match &mut self.stage {
                Stage::Unsent(_) => {}
                Stage::Waiting { exchange, .. } => {
                    let answer = ready!(exchange.poll_answered(context));
                    let Stage::Waiting { work, time, .. } = self.end() else {
                        continue;
                    };
                    let explain = |failure| self.client.explain(failure, self.method, &work.params);
                    match self.client.sort(self.method, answer.map_err(explain))? {
                        Step::Answer(payload) => return Poll::Ready(Ok(payload)),
                        step => self.stage = self.further_rounds(work, time, step),
                    }
                    continue;
                }
                Stage::LongWay(way) => {
                    let result = ready!(way.as_mut().poll(context));
                    self.stage = Stage::Done;
                    return Poll::Ready(result);
                }
                Stage::Done => {
                    let twice = format!("{}: its result was taken before", self.method);
                    return Poll::Ready(Err(Error::Input(twice)));
                }
            }
            if let Stage::Unsent(work) = self.end() {
                self.stage = self.send(work)?;
            }
        }
    }
}

impl SendingRaw {
    /// Takes the stage out; what comes next is put there, or nothing does.
    fn end(&mut self) -> Stage {
        std::mem::replace(&mut self.stage, Stage::Done)
    }
}

impl<M> Sending<M> {
    pub(crate) fn new(raw: SendingRaw) -> Self {
        Self {
            raw,
            method: PhantomData,
        }
    }
}

impl<M: Method> Future for Sending<M> {
    type Output = Result<M::Result, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let payload = ready!(Pin::new(&mut self.raw).poll(context))?;
        Poll::Ready(self.raw.client.decode::<M>(&payload))
    }
}

impl fmt::Debug for SendingRaw {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Sending({})", self.method)
    }
}

impl<M> fmt::Debug for Sending<M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.raw.fmt(formatter)
    }
}
