//! Streams of server-sent events, kept for a while so that a client can come back for the rest.
//!
//! A log is written by whoever works on a request and read by at most one response at a time. What
//! was read stays until there is no room for it; what was not read is only ever refused at the door.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_core::Stream;
use parking_lot::{Mutex, MutexGuard};
use tokio::task::yield_now;
use tokio::time::{Instant, Sleep, sleep};

use super::HttpSettings;
use super::connections::Serving;
use super::kept::KeptEvents;
use crate::service::{Answer, AnswerFuture, Outlet, Sent, Undeliverable};

/// While the budget of all streams is exhausted, each may hold this much all the same, so that a
/// client that does not read cannot silence the others.
const SMALL_SHARE: usize = 16 * 1024;

/// How many bytes of events are handed to a connection in one turn, so that those of other
/// connections come in between; the rest stays in the log, where it counts.
const CHUNK: usize = 64 * 1024;

/// How many times over the limit events may pile up that cannot be dropped.
const HARD_FACTOR: usize = 4;

/// The messages of one stream.
pub(super) struct EventLog {
    /// Names the stream within its session (S-SHL-20).
    stream: u64,
    max_events: usize,
    max_bytes: usize,
    kept: Arc<KeptEvents>,
    state: Mutex<LogState>,
}

#[derive(Default)]
struct LogState {
    events: VecDeque<Event>,
    /// The number of the newest event; the first one is 1.
    newest: u64,
    /// Up to which number events were read.
    read: u64,
    bytes: usize,
    /// Counts readers; only the newest one reads.
    reader: u64,
    /// How many of them are still there.
    present: usize,
    waker: Option<Waker>,
    /// No more events will come.
    finished: bool,
    /// The present reader shall end and come back later.
    interrupted: bool,
    /// The events had to make room; there is nothing to come back for.
    forgotten: bool,
}

#[derive(Clone)]
struct Event {
    number: u64,
    frame: Bytes,
    is_answer: bool,
}

/// What a response begins with.
pub(super) enum First {
    /// The answer and nothing else: a JSON body will do.
    Answer(Bytes),
    /// Other messages: it takes a stream.
    Stream,
}

impl EventLog {
    pub(super) fn new(stream: u64, settings: &HttpSettings, kept: &Arc<KeptEvents>) -> Self {
        Self {
            stream,
            max_events: settings.max_events,
            max_bytes: settings.max_event_bytes,
            kept: Arc::clone(kept),
            state: Mutex::default(),
        }
    }

    pub(super) fn stream(&self) -> u64 {
        self.stream
    }

    /// Ends the stream, with its answer if there is one.
    pub(super) fn finish(&self, answer: Option<Answer>) {
        self.kept.make_room();
        let mut state = self.lock();
        if let Some(answer) = answer {
            self.push(&mut state, answer.frame, true);
            self.trim(&mut state);
        }
        state.finished = true;
        state.wake();
    }

    pub(super) fn is_finished(&self) -> bool {
        self.lock().finished
    }

    /// Whether a response reads the stream.
    pub(super) fn is_listened_to(&self) -> bool {
        self.lock().present > 0
    }

    /// Whether the events are gone.
    pub(super) fn is_forgotten(&self) -> bool {
        self.lock().forgotten
    }

    /// Gives up all events if the stream has ended and no response reads it.
    pub(super) fn forget_if_over(&self) -> bool {
        let mut state = self.lock();
        if !state.finished || state.present > 0 {
            return false;
        }
        state.forgotten = true;
        state.events.clear();
        self.kept.give_back(std::mem::take(&mut state.bytes));
        true
    }

    /// Gives up what was read.
    pub(super) fn drop_read(&self) {
        let mut state = self.lock();
        while self.pop_read(&mut state) {}
    }

    /// Whether nothing was sent and nothing shall be.
    pub(super) fn is_untouched(&self) -> bool {
        let state = self.lock();
        state.newest == 0 && !state.interrupted
    }

    /// Waits until something was sent or shall be, by whomever.
    pub(super) fn poll_touched(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.newest > 0 || state.interrupted {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// Waits for the first message.
    pub(super) fn poll_first(&self, context: &mut Context<'_>) -> Poll<First> {
        let mut state = self.lock();
        let only_answer = match state.events.front() {
            Some(event) if event.is_answer && !state.interrupted => Some(event.frame.clone()),
            Some(_) => return Poll::Ready(First::Stream),
            None if state.interrupted || state.finished => return Poll::Ready(First::Stream),
            None => None,
        };
        match only_answer {
            Some(frame) => {
                state.read = state.newest;
                Poll::Ready(First::Answer(frame))
            }
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Begins to read behind the event of that number; whoever read before ends.
    pub(super) fn read_from(self: &Arc<Self>, position: u64) -> LogReader {
        let mut state = self.lock();
        state.reader += 1;
        state.present += 1;
        state.interrupted &= position == 0 && state.read == 0;
        state.wake();
        LogReader {
            reader: state.reader,
            position,
            log: Arc::clone(self),
        }
    }

    /// Begins to read what nobody has read yet.
    pub(super) fn read_on(self: &Arc<Self>) -> LogReader {
        let position = self.lock().read;
        self.read_from(position)
    }

    /// Drops what was read as far as there is no room for it.
    fn trim(&self, state: &mut LogState) {
        while state.events.len() > self.max_events || state.bytes > self.max_bytes {
            if !self.pop_read(state) {
                return;
            }
        }
    }

    /// Drops the oldest event if it was read.
    fn pop_read(&self, state: &mut LogState) -> bool {
        let read = state.read;
        let Some(oldest) = state.events.front().filter(|it| it.number <= read) else {
            return false;
        };
        let length = oldest.frame.len();
        state.events.pop_front();
        state.bytes -= length;
        self.kept.give_back(length);
        true
    }

    fn push(&self, state: &mut LogState, mut frame: Vec<u8>, is_answer: bool) {
        frame.truncate(frame.trim_ascii_end().len());
        state.newest += 1;
        state.bytes += frame.len();
        self.kept.add(frame.len());
        state.events.push_back(Event {
            number: state.newest,
            frame: frame.into(),
            is_answer,
        });
    }

    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock()
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        let bytes = self.lock().bytes;
        self.kept.give_back(bytes);
    }
}

impl LogState {
    fn unread(&self) -> usize {
        usize::try_from(self.newest - self.read).unwrap_or(usize::MAX)
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Outlet for EventLog {
    fn send(&self, frame: Vec<u8>, kind: Sent) -> Result<(), Undeliverable> {
        let factor = match kind {
            Sent::Notice => 1,
            Sent::Change | Sent::Question => HARD_FACTOR,
        };
        self.kept.make_room();
        let mut state = self.lock();
        if self.kept.is_full() {
            while self.pop_read(&mut state) {}
            if state.bytes >= SMALL_SHARE {
                return Err(Undeliverable);
            }
        }
        if state.finished
            || state.unread() >= self.max_events.saturating_mul(factor)
            || (state.bytes >= self.max_bytes.saturating_mul(factor) && state.unread() > 0)
        {
            return Err(Undeliverable);
        }
        self.push(&mut state, frame, false);
        self.trim(&mut state);
        state.wake();
        Ok(())
    }

    fn interrupt(&self) {
        let mut state = self.lock();
        state.interrupted = true;
        state.wake();
    }

    fn serves_one_request(&self) -> bool {
        true
    }
}

/// One response's place in a log.
pub(super) struct LogReader {
    log: Arc<EventLog>,
    reader: u64,
    position: u64,
}

impl LogReader {
    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let mut state = self.log.lock();
        if state.reader != self.reader {
            return Poll::Ready(None);
        }
        let next = state
            .events
            .iter()
            .find(|it| it.number > self.position)
            .cloned();
        if let Some(event) = next {
            self.position = event.number;
            state.read = state.read.max(event.number);
            return Poll::Ready(Some(event));
        }
        if state.finished || std::mem::take(&mut state.interrupted) {
            return Poll::Ready(None);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        let mut state = self.log.lock();
        state.present -= 1;
        if state.reader == self.reader {
            state.waker = None;
        }
    }
}

type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The body of a stream of events.
pub(super) struct EventBody {
    /// What goes out before the next event.
    ahead: VecDeque<Bytes>,
    /// The others' turn, after this response has had its own.
    others: Option<BoxFuture>,
    /// Work that is driven by this very response, and stops with it (S-SHM-28).
    work: Option<AnswerFuture>,
    reader: LogReader,
    ids: EventIds,
    keep_alive: Duration,
    silence: Pin<Box<Sleep>>,
    /// The connection is served as long as the stream is open.
    _serving: Option<Arc<Serving>>,
}

/// Whether events can be asked for again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EventIds {
    Written,
    Omitted,
}

impl EventBody {
    pub(super) fn new(
        reader: LogReader,
        ids: EventIds,
        settings: &HttpSettings,
        serving: Option<Arc<Serving>>,
    ) -> Self {
        Self {
            ahead: VecDeque::new(),
            others: None,
            work: None,
            reader,
            ids,
            keep_alive: settings.keep_alive,
            silence: Box::pin(sleep(settings.keep_alive)),
            _serving: serving,
        }
    }

    /// Drives `work` for as long as the response is read.
    pub(super) fn driving(mut self, work: AnswerFuture) -> Self {
        self.work = Some(work);
        self
    }

    /// Begins with an event that has an id and no data, so that a client can come back even if it
    /// got nothing else (S-SHL-09), and says when (X-SHL-11).
    pub(super) fn primed(mut self, retry: Duration) -> Self {
        let id = event_id(self.reader.log.stream, self.reader.position);
        let retry = retry.as_millis();
        let opening = format!("id: {id}\nretry: {retry}\ndata: \n\n");
        self.ahead.push_back(opening.into());
        self
    }

    pub(super) fn into_body(self) -> Body {
        Body::from_stream(self)
    }

    /// Writes an event to the chunk. Of a large one it writes the beginning; the rest is not copied
    /// and follows in turns.
    fn write(&mut self, event: Event, chunk: &mut Vec<u8>) {
        if self.ids == EventIds::Written {
            let id = event_id(self.reader.log.stream, event.number);
            chunk.extend_from_slice(format!("id: {id}\n").as_bytes());
        }
        chunk.extend_from_slice(b"event: message\ndata: ");
        let mut frame = event.frame;
        if frame.len() <= CHUNK {
            chunk.extend_from_slice(&frame);
            chunk.extend_from_slice(b"\n\n");
            return;
        }
        while !frame.is_empty() {
            let piece = frame.split_to(frame.len().min(CHUNK));
            self.ahead.push_back(piece);
        }
        self.ahead.push_back(Bytes::from_static(b"\n\n"));
    }

    /// Hands bytes on. After a whole chunk the others have their turn.
    fn hand_on(&mut self, bytes: Bytes) -> Poll<Option<io::Result<Bytes>>> {
        if bytes.len() >= CHUNK {
            self.others = Some(Box::pin(yield_now()));
        }
        let next = Instant::now() + self.keep_alive;
        self.silence.as_mut().reset(next);
        Poll::Ready(Some(Ok(bytes)))
    }
}

impl Stream for EventBody {
    type Item = io::Result<Bytes>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        if let Some(others) = self.others.as_mut() {
            ready!(others.as_mut().poll(context));
            self.others = None;
        }
        if let Some(bytes) = self.ahead.pop_front() {
            return self.hand_on(bytes);
        }
        if let Some(work) = self.work.as_mut()
            && let Poll::Ready(answer) = work.as_mut().poll(context)
        {
            self.work = None;
            self.reader.log.finish(answer);
        }
        let mut chunk = Vec::new();
        let ended = loop {
            if chunk.len() >= CHUNK || !self.ahead.is_empty() {
                break false;
            }
            match self.reader.poll_event(context) {
                Poll::Ready(Some(event)) => self.write(event, &mut chunk),
                Poll::Ready(None) => break true,
                Poll::Pending => break false,
            }
        };
        if chunk.is_empty() {
            if ended {
                return Poll::Ready(None);
            }
            if self.silence.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            chunk.extend_from_slice(b": still here\n\n");
        }
        self.hand_on(chunk.into())
    }
}

/// Names an event within its session.
fn event_id(stream: u64, number: u64) -> String {
    let mut id = String::new();
    // Writing to a string cannot fail.
    let _ = write!(id, "{stream}-{number}");
    id
}

/// The stream and number that an event's id names.
pub(super) fn parse_event_id(id: &str) -> Option<(u64, u64)> {
    let (stream, number) = id.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}
