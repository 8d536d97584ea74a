//! Bodies of requests on their way in: how long they may take, and how much memory those that are
//! not complete may hold together.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::{Body, Bytes, HttpBody as _};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::HttpSettings;

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is longer than one may be.
    TooLong,
    /// It took longer than one may take.
    TooSlow,
    /// Unfinished bodies hold too much, and this one began before the others.
    NoRoom,
    /// The client broke off.
    Broken,
}

/// The bodies that have begun and not ended.
#[derive(Debug)]
pub struct Unfinished {
    limit: usize,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    held: usize,
    next: u64,
    /// In the order in which they began.
    bodies: BTreeMap<u64, Held>,
}

#[derive(Debug)]
struct Held {
    bytes: usize,
    given_up: Arc<Notify>,
}

impl Unfinished {
    /// Has the limits of these settings.
    pub fn new(settings: &HttpSettings) -> Self {
        Self {
            limit: settings.max_unfinished_bytes,
            table: Mutex::default(),
        }
    }

    /// Reads a body within all limits.
    pub async fn read(&self, body: Body, settings: &HttpSettings) -> Result<Bytes, Unread> {
        let collected = self.collect(body, settings.max_body);
        match timeout(settings.body_timeout, collected).await {
            Ok(read) => read,
            Err(_) => Err(Unread::TooSlow),
        }
    }

    async fn collect(&self, mut body: Body, max: usize) -> Result<Bytes, Unread> {
        if usize::try_from(body.size_hint().lower()).map_or(true, |length| length > max) {
            return Err(Unread::TooLong);
        }
        let first = next(&mut body).await?.unwrap_or_default();
        // Most bodies come in one piece and are used as they are.
        if body.is_end_stream() && first.len() <= max {
            return Ok(first);
        }
        let share = self.begin();
        let mut collected = Vec::new();
        let mut piece = Some(first);
        while let Some(bytes) = piece {
            if collected.len() + bytes.len() > max {
                return Err(Unread::TooLong);
            }
            collected.extend_from_slice(&bytes);
            share.grow(collected.len())?;
            // A body that is all there is read without waiting; others have their turn meanwhile.
            yield_now().await;
            piece = tokio::select! {
                next = next(&mut body) => next?,
                () = share.given_up.notified() => return Err(Unread::NoRoom),
            };
        }
        Ok(collected.into())
    }

    fn begin(&self) -> Share<'_> {
        let given_up = Arc::new(Notify::new());
        let mut table = self.lock();
        table.next += 1;
        let number = table.next;
        let held = Held {
            bytes: 0,
            given_up: Arc::clone(&given_up),
        };
        table.bodies.insert(number, held);
        Share {
            unfinished: self,
            number,
            given_up,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }
}

/// What one unfinished body holds, given back when this is dropped.
struct Share<'a> {
    unfinished: &'a Unfinished,
    number: u64,
    given_up: Arc<Notify>,
}

impl Share<'_> {
    /// Accounts for what the body holds now. If all hold too much, those that began first give up,
    /// be it this one: a body that comes at a usual pace is never the oldest for long.
    fn grow(&self, bytes: usize) -> Result<(), Unread> {
        let mut table = self.unfinished.lock();
        let table = &mut *table;
        let own = table.bodies.get_mut(&self.number).ok_or(Unread::NoRoom)?;
        table.held += bytes - own.bytes;
        own.bytes = bytes;
        while table.held > self.unfinished.limit
            && let Some((number, oldest)) = table.bodies.pop_first()
        {
            table.held -= oldest.bytes;
            oldest.given_up.notify_one();
            if number == self.number {
                return Err(Unread::NoRoom);
            }
        }
        Ok(())
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut table = self.unfinished.lock();
        if let Some(held) = table.bodies.remove(&self.number) {
            table.held -= held.bytes;
        }
    }
}

/// The next piece of a body; `None` at its end.
async fn next(body: &mut Body) -> Result<Option<Bytes>, Unread> {
    loop {
        let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
        match frame {
            None => return Ok(None),
            Some(Err(_)) => return Err(Unread::Broken),
            // Trailers say nothing here.
            Some(Ok(frame)) => {
                if let Ok(bytes) = frame.into_data() {
                    return Ok(Some(bytes));
                }
            }
        }
    }
}
