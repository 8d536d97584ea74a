//! One connection to the background process, shared by all requests of a client.
//!
//! Owns the ids and the table of open requests, and two tasks: one reads lines and puts each into
//! the inbox of its request, one writes. A request that is dropped before its end is cancelled.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use attache::protocol::Json;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::io::{AsyncWriteExt as _, ReadHalf, split};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::Place;
use crate::failure::RemoteError;
use crate::inbox::{Heard, Inbox};
use crate::socket::{Stream, connect};
use crate::wire::{
    CancelWith, Hello, Lines, MOST_REQUESTS, PROTOCOL, Reply, Request, Welcome, line,
};

/// How long the background process may take to greet. One that is stopped or swamped must not hold
/// up a program that can do without it.
const GREETING: Duration = Duration::from_secs(2);

/// A connection.
#[derive(Debug)]
pub(crate) struct Link {
    table: Arc<Mutex<Table>>,
    /// Requests wait here for one of their number to end, so what waits to be written is bounded by
    /// a request, a cancel and the answers to its questions for each.
    room: Arc<Semaphore>,
    outgoing: mpsc::UnboundedSender<String>,
    stage: watch::Receiver<Stage>,
    welcome: Arc<OnceLock<Welcome>>,
    tasks: [JoinHandle<()>; 2],
}

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The other side has not greeted yet.
    Greeting,
    Open,
    Closed,
}

#[derive(Debug, Default)]
struct Table {
    last: u64,
    open: HashMap<u64, Arc<Inbox>>,
    is_closed: bool,
}

/// A request that was sent. Dropping it before its end cancels it.
#[derive(Debug)]
pub(crate) struct Pending {
    link: Arc<Link>,
    id: u64,
    inbox: Arc<Inbox>,
    has_ended: bool,
    _room: Option<OwnedSemaphorePermit>,
}

impl Link {
    /// Connects and greets; requests may follow at once. None if no process listens there. One that
    /// does not greet in time is as good as closed.
    pub(crate) async fn open(place: &Place) -> Option<Arc<Self>> {
        let deadline = Instant::now() + GREETING;
        let stream = tokio::time::timeout_at(deadline, connect(place)).await;
        let (read, mut write) = split(stream.ok()?.ok()?);
        let table = Arc::new(Mutex::new(Table::default()));
        let welcome = Arc::new(OnceLock::new());
        let (stage_now, stage) = watch::channel(Stage::Greeting);
        let (outgoing, mut queue) = mpsc::unbounded_channel::<String>();
        let reader = Reader {
            lines: Lines::new(read),
            table: table.clone(),
            welcome: welcome.clone(),
            stage: stage_now,
        };
        let reading = tokio::spawn(reader.run(deadline));
        // The queue has room for everything, and ends with the link.
        let _ = outgoing.send(line(&Hello {
            attach: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            key: Some(place.key().to_owned()),
        }));
        let writing = tokio::spawn(async move {
            while let Some(line) = queue.recv().await {
                // The reading task tells of the end.
                if write.write_all(line.as_bytes()).await.is_err() {
                    return;
                }
            }
        });
        let link = Self {
            table,
            room: Arc::new(Semaphore::new(MOST_REQUESTS)),
            outgoing,
            stage,
            welcome,
            tasks: [reading, writing],
        };
        Some(Arc::new(link))
    }

    /// What the other side has greeted with so far.
    pub(crate) fn welcome(&self) -> Option<&Welcome> {
        self.welcome.get()
    }

    /// Waits for the greeting. None if there will be none.
    pub(crate) async fn greeted(&self) -> Option<&Welcome> {
        let mut stage = self.stage.clone();
        // The reading task says so, or is gone.
        let _ = stage.wait_for(|stage| *stage != Stage::Greeting).await;
        self.welcome()
    }

    /// Sends a request as soon as there is room for one more.
    pub(crate) async fn send(
        self: &Arc<Self>,
        verb: &str,
        with: &impl Serialize,
    ) -> Result<Pending, RemoteError> {
        let room = self.room.clone().acquire_owned().await;
        self.post(verb, with, room.ok())
    }

    /// Sends a request that is answered at once, however many others wait.
    pub(crate) fn send_now(
        self: &Arc<Self>,
        verb: &str,
        with: &impl Serialize,
    ) -> Result<Pending, RemoteError> {
        self.post(verb, with, None)
    }

    fn post(
        self: &Arc<Self>,
        verb: &str,
        with: &impl Serialize,
        room: Option<OwnedSemaphorePermit>,
    ) -> Result<Pending, RemoteError> {
        let with = Json::from_serialize(with)?;
        let inbox = Arc::new(Inbox::default());
        let id = self.table.lock().enter(&inbox);
        let id = id.ok_or(RemoteError::NotSent)?;
        let request = Request {
            id,
            verb: verb.to_owned(),
            with,
        };
        let pending = Pending {
            link: self.clone(),
            id,
            inbox,
            has_ended: false,
            _room: room,
        };
        let sent = self.outgoing.send(line(&request));
        sent.map_err(|_| RemoteError::NotSent)?;
        Ok(pending)
    }

    /// Resolves when the connection has ended.
    pub(crate) async fn closed(&self) {
        let mut stage = self.stage.clone();
        // The reading task says so in the end, or is gone.
        let _ = stage.wait_for(|stage| *stage == Stage::Closed).await;
    }

    /// Whether the connection has ended.
    pub(crate) fn is_closed(&self) -> bool {
        *self.stage.borrow() == Stage::Closed
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Table {
    fn enter(&mut self, inbox: &Arc<Inbox>) -> Option<u64> {
        if self.is_closed {
            return None;
        }
        self.last += 1;
        self.open.insert(self.last, inbox.clone());
        Some(self.last)
    }
}

impl Pending {
    /// What comes next for it.
    pub(crate) async fn next(&mut self) -> Heard {
        let heard = self.inbox.next().await;
        self.note(&heard);
        heard
    }

    /// What has come for it, if anything has.
    pub(crate) fn try_next(&mut self) -> Option<Heard> {
        let heard = self.inbox.try_next()?;
        self.note(&heard);
        Some(heard)
    }

    /// Its result, whatever comes before.
    pub(crate) async fn result(mut self) -> Result<Json, RemoteError> {
        loop {
            match self.next().await {
                Heard::Line(_) | Heard::Missed(..) => {}
                Heard::End(reply) => return result(reply),
                Heard::Lost => return Err(RemoteError::Lost),
            }
        }
    }

    fn note(&mut self, heard: &Heard) {
        self.has_ended |= matches!(heard, Heard::End(_) | Heard::Lost);
    }
}

/// What the answer to a request says.
pub(crate) fn result(reply: Reply) -> Result<Json, RemoteError> {
    match reply.error {
        Some(error) => Err(RemoteError::Failed(error)),
        None => Ok(reply.result.unwrap_or_default()),
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let mut table = self.link.table.lock();
        table.open.remove(&self.id);
        if self.has_ended || table.is_closed {
            return;
        }
        table.last += 1;
        let request = Request {
            id: table.last,
            verb: "cancel".to_owned(),
            with: Json::from_serialize(&CancelWith { request: self.id }).unwrap_or_default(),
        };
        // Without a writing task the connection has ended, and its requests with it.
        let _ = self.link.outgoing.send(line(&request));
    }
}

/// What reads: it gives each line to its request until the connection ends.
struct Reader {
    lines: Lines<ReadHalf<Stream>>,
    table: Arc<Mutex<Table>>,
    welcome: Arc<OnceLock<Welcome>>,
    stage: watch::Sender<Stage>,
}

impl Reader {
    async fn run(mut self, greeting_until: Instant) {
        let greeting = tokio::time::timeout_at(greeting_until, self.lines.next()).await;
        let greeting = greeting.ok().flatten();
        if let Some(welcome) = greeting.and_then(|line| serde_json::from_slice(&line).ok()) {
            // Nothing else sets it.
            let _ = self.welcome.set(welcome);
            // The link may be gone.
            let _ = self.stage.send(Stage::Open);
            self.pass_on().await;
        }
        let open = {
            let mut table = self.table.lock();
            table.is_closed = true;
            std::mem::take(&mut table.open)
        };
        for inbox in open.into_values() {
            inbox.lose();
        }
        let _ = self.stage.send(Stage::Closed);
    }

    async fn pass_on(&mut self) {
        while let Some(line) = self.lines.next().await {
            let Ok(reply) = serde_json::from_slice::<Reply>(&line) else {
                return;
            };
            let inbox = reply.id.and_then(|id| {
                let mut table = self.table.lock();
                match reply.is_end() {
                    true => table.open.remove(&id),
                    false => table.open.get(&id).cloned(),
                }
            });
            // A request that was dropped hears nothing more.
            if let Some(inbox) = inbox {
                inbox.put(reply, line.len());
            }
        }
    }
}
