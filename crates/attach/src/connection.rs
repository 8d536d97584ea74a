//! One client of the background process.
//!
//! Its requests run side by side; what it does not read is bounded, and when it leaves, everything
//! it asked for is cancelled.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use attache::protocol::Json;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncWriteExt as _, WriteHalf};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinSet;

use crate::failure::RemoteFailure;
use crate::service::Service;
use crate::socket::Stream;
use crate::wire::{
    AnswerWith, CancelWith, Hello, LONGEST_LINE, Lines, MOST_REQUESTS, PROTOCOL, Reply, Request,
    Welcome, line,
};

/// How long a client may take to say what it wants.
const HELLO_PATIENCE: Duration = Duration::from_secs(2);
/// How long a client may take to read a line.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);
/// How many lines wait for a client to read them.
const LINES_AHEAD: usize = 256;
/// How many bytes of them.
const BYTES_AHEAD: usize = 2 * LONGEST_LINE;

/// Tells a client why it is not served.
pub(crate) async fn refuse(mut stream: Stream, welcome: Welcome, why: &'static str) {
    let welcome = Welcome {
        refused: Some(why.to_owned()),
        ..welcome
    };
    let said = line(&welcome);
    let written = stream.write_all(said.as_bytes());
    // A client that does not listen need not hear it.
    let _ = tokio::time::timeout(HELLO_PATIENCE, written).await;
}

/// Serves a client until it leaves.
pub(crate) async fn serve(stream: Stream, service: Arc<Service>) {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = Lines::new(read);
    let hello = tokio::time::timeout(HELLO_PATIENCE, lines.next()).await;
    let Ok(Some(hello)) = hello else { return };
    let Ok(hello) = serde_json::from_slice::<Hello>(&hello) else {
        return;
    };
    let access = Access::of(&hello, &service);
    let welcome = Welcome {
        refused: access.refusal().map(str::to_owned),
        ..service.welcome.clone()
    };
    if write.write_all(line(&welcome).as_bytes()).await.is_err() {
        return;
    }
    let (replies, queue) = mpsc::channel(LINES_AHEAD);
    let mut writer = tokio::spawn(pass_on(queue, write));
    let client = Client {
        access,
        service,
        replies,
        room: Arc::new(Semaphore::new(BYTES_AHEAD)),
        open: Arc::default(),
    };
    let mut work = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            _ = &mut writer => break,
            Some(_) = work.join_next(), if !work.is_empty() => {}
            line = lines.next() => {
                let request = line.and_then(|line| serde_json::from_slice::<Request>(&line).ok());
                // A client that speaks another language is not answered in it.
                let Some(request) = request else { break };
                if let Some(done) = client.at_once(&request) {
                    client.reply(request.id, done).await;
                    continue;
                }
                match client.enter(request.id) {
                    Ok(cancelled) => {
                        work.spawn(client.clone().work(request, cancelled));
                    }
                    Err(failure) => client.reply(request.id, Err(failure)).await,
                }
            }
        }
    }
    writer.abort();
}

/// A line on its way to the client, and the room it takes there.
type Waiting = (String, OwnedSemaphorePermit);

async fn pass_on(mut queue: mpsc::Receiver<Waiting>, mut write: WriteHalf<Stream>) {
    while let Some((line, _room)) = queue.recv().await {
        let written = write.write_all(line.as_bytes());
        match tokio::time::timeout(WRITE_PATIENCE, written).await {
            Ok(Ok(())) => {}
            _ => return,
        }
    }
}

/// What a client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everything.
    Whole,
    /// It would have started other servers: it may ask what runs here, and end it.
    Control(&'static str),
}

impl Access {
    fn of(hello: &Hello, service: &Service) -> Self {
        if hello.attach != PROTOCOL || hello.version != service.welcome.version {
            return Self::Control("version");
        }
        match hello.key.as_deref() {
            Some(key) if key == service.key => Self::Whole,
            _ => Self::Control("key"),
        }
    }

    fn refusal(self) -> Option<&'static str> {
        match self {
            Self::Whole => None,
            Self::Control(why) => Some(why),
        }
    }
}

/// A client, as all its requests see it.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) access: Access,
    pub(crate) service: Arc<Service>,
    replies: mpsc::Sender<Waiting>,
    room: Arc<Semaphore>,
    /// The requests that are worked on, and how each is told that it is not wanted any more.
    open: Arc<Mutex<HashMap<u64, Arc<Notify>>>>,
}

impl Client {
    /// Does what may not wait behind other requests, because they may be waiting for it.
    fn at_once(&self, request: &Request) -> Option<Result<Json, Box<RemoteFailure>>> {
        match request.verb.as_str() {
            "shutdown" => {
                self.service.end.notify_one();
                Some(Ok(Json::default()))
            }
            "cancel" => Some(self.cancel(request)),
            "answer" => Some(self.answer(request)),
            _ => None,
        }
    }

    fn cancel(&self, request: &Request) -> Result<Json, Box<RemoteFailure>> {
        let CancelWith { request } = with(request)?;
        // One that has ended needs no cancelling.
        if let Some(cancelled) = self.open.lock().remove(&request) {
            cancelled.notify_one();
        }
        Ok(Json::default())
    }

    fn answer(&self, request: &Request) -> Result<Json, Box<RemoteFailure>> {
        self.may_use()?;
        let AnswerWith { question, answer } = with(request)?;
        let answered = self.service.host.questions().answer(question, answer);
        answered.map_err(|error| RemoteFailure::usage(error.to_string()))?;
        Ok(Json::default())
    }

    /// A client that would have started other servers gets none of these.
    pub(crate) fn may_use(&self) -> Result<(), Box<RemoteFailure>> {
        match self.access {
            Access::Whole => Ok(()),
            Access::Control(_) => Err(RemoteFailure::refused("this process keeps other servers")),
        }
    }

    fn enter(&self, id: u64) -> Result<Arc<Notify>, Box<RemoteFailure>> {
        let mut open = self.open.lock();
        if open.len() >= MOST_REQUESTS {
            let message = format!("{MOST_REQUESTS} requests of this client are worked on already");
            return Err(RemoteFailure::usage(message));
        }
        match open.entry(id) {
            Entry::Vacant(entry) => Ok(entry.insert(Arc::default()).clone()),
            Entry::Occupied(_) => Err(RemoteFailure::usage(format!(
                "the request {id} has not ended yet"
            ))),
        }
    }

    async fn work(self, request: Request, cancelled: Arc<Notify>) {
        let done = tokio::select! {
            biased;
            () = cancelled.notified() => Err(RemoteFailure::cancelled()),
            done = self.result(&request) => done,
        };
        // Before the reply, which makes room for another.
        self.leave(request.id, &cancelled);
        self.reply(request.id, done).await;
    }

    /// A cancelled request has left already, and its id may be another's by now.
    fn leave(&self, id: u64, cancelled: &Arc<Notify>) {
        let mut open = self.open.lock();
        if open.get(&id).is_some_and(|it| Arc::ptr_eq(it, cancelled)) {
            open.remove(&id);
        }
    }

    async fn reply(&self, id: u64, done: Result<Json, Box<RemoteFailure>>) {
        let reply = match done {
            Ok(result) => Reply {
                result: Some(result),
                ..Reply::to(id)
            },
            Err(failure) => error(id, failure),
        };
        let mut said = line(&reply);
        if said.len() > LONGEST_LINE {
            let failure = RemoteFailure::unexpected("the answer is too long for this connection")
                .hint("`attache down` first, and each command asks the server itself");
            said = line(&error(id, failure.into()));
        }
        // A client that has left does not wait for it.
        self.send(said).await;
    }

    /// Sends a line before the answer. Says whether the client is still there.
    pub(crate) async fn tell(&self, reply: &Reply) -> bool {
        self.send(line(reply)).await
    }

    async fn send(&self, line: String) -> bool {
        let room = self.room.clone().acquire_many_owned(size(&line)).await;
        match room {
            Ok(room) => self.replies.send((line, room)).await.is_ok(),
            Err(_) => false,
        }
    }

    /// The same for what may be left out: if there is no room, it is.
    pub(crate) fn mention(&self, reply: &Reply) {
        let line = line(reply);
        if let Ok(room) = self.room.clone().try_acquire_many_owned(size(&line)) {
            let _ = self.replies.try_send((line, room));
        }
    }
}

/// The room that a line takes; one that is too long takes all there is.
fn size(line: &str) -> u32 {
    u32::try_from(line.len().min(BYTES_AHEAD)).unwrap_or(u32::MAX)
}

fn error(id: u64, failure: Box<RemoteFailure>) -> Reply {
    Reply {
        error: Some(failure),
        ..Reply::to(id)
    }
}

pub(crate) fn with<T: DeserializeOwned>(request: &Request) -> Result<T, Box<RemoteFailure>> {
    let read = request.with.decode();
    read.map_err(|error| RemoteFailure::usage(format!("\"{}\": {error}", request.verb)))
}
