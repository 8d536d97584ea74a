//! What has come for one request and was not read yet.
//!
//! The connection's reader fills it and never waits: a reader of events that is slow loses the
//! newest and is told how many, and holds up no other request of the connection.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::wire::Reply;

/// How many lines wait for the reader of one request.
pub(crate) const INBOX_LINES: usize = 4096;
/// How many bytes of them.
pub(crate) const INBOX_BYTES: usize = 16 * 1024 * 1024;

/// The lines of one request.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct State {
    lines: VecDeque<(Reply, usize)>,
    bytes: usize,
    /// Lines that found no room since the last that did, and the newest of them.
    missed: u64,
    newest_missed: Option<Reply>,
    end: Option<Option<Reply>>,
}

/// What a request hears.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A line before the end.
    Line(Reply),
    /// So many lines were lost, of which this was the last.
    Missed(u64, Reply),
    /// The answer.
    End(Reply),
    /// There will be none: the connection has ended.
    Lost,
}

impl Inbox {
    /// Takes a line in. `size` is how long it was.
    pub(crate) fn put(&self, reply: Reply, size: usize) {
        self.state.lock().put(reply, size);
        self.arrived.notify_one();
    }

    /// The connection has ended.
    pub(crate) fn lose(&self) {
        self.state.lock().end.get_or_insert(None);
        self.arrived.notify_one();
    }

    /// The next line; after the end, the end of the connection. Nothing is lost if this is dropped
    /// before it is done.
    pub(crate) async fn next(&self) -> Heard {
        loop {
            if let Some(heard) = self.try_next() {
                return heard;
            }
            // A line that comes now leaves its mark for this.
            self.arrived.notified().await;
        }
    }

    /// The next line, if there is one now.
    pub(crate) fn try_next(&self) -> Option<Heard> {
        self.state.lock().next()
    }
}

impl State {
    fn put(&mut self, reply: Reply, size: usize) {
        if reply.is_end() {
            self.end.get_or_insert(Some(reply));
            return;
        }
        // Of progress only the newest matters.
        if reply.progress.is_some()
            && let Some((last, last_size)) = self.lines.back_mut()
            && last.progress.is_some()
        {
            self.bytes = self.bytes - *last_size + size;
            (*last, *last_size) = (reply, size);
            return;
        }
        let is_full = self.lines.len() >= INBOX_LINES || self.bytes >= INBOX_BYTES;
        if self.missed > 0 || is_full {
            self.missed += 1;
            self.newest_missed = Some(reply);
            return;
        }
        self.bytes += size;
        self.lines.push_back((reply, size));
    }

    fn next(&mut self) -> Option<Heard> {
        if let Some((reply, size)) = self.lines.pop_front() {
            self.bytes -= size;
            return Some(Heard::Line(reply));
        }
        if let Some(newest) = self.newest_missed.take() {
            return Some(Heard::Missed(std::mem::take(&mut self.missed), newest));
        }
        match self.end.as_mut()?.take() {
            Some(reply) => Some(Heard::End(reply)),
            None => Some(Heard::Lost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use attache::protocol::Json;

    fn event(number: usize) -> Reply {
        Reply {
            event: Json::parse(&number.to_string()).ok(),
            ..Reply::to(1)
        }
    }

    fn heard(inbox: &Inbox) -> String {
        match inbox.try_next() {
            Some(Heard::Line(reply)) => reply.event.unwrap().to_string(),
            Some(Heard::Missed(count, reply)) => format!("{count} to {}", reply.event.unwrap()),
            Some(Heard::End(_)) => "end".to_owned(),
            Some(Heard::Lost) => "lost".to_owned(),
            None => "nothing".to_owned(),
        }
    }

    #[test]
    fn a_reader_that_is_slow_is_told_what_it_lost_in_its_place() {
        let inbox = Inbox::default();
        assert_eq!(heard(&inbox), "nothing");
        for number in 0..INBOX_LINES + 3 {
            inbox.put(event(number), 10);
        }
        for number in 0..INBOX_LINES {
            assert_eq!(heard(&inbox), number.to_string());
        }
        assert_eq!(heard(&inbox), format!("3 to {}", INBOX_LINES + 2));
        inbox.put(event(7), 10);
        assert_eq!(heard(&inbox), "7");
        // The same with few lines that are long.
        for number in 0..4 {
            inbox.put(event(number), INBOX_BYTES / 2);
        }
        assert_eq!(heard(&inbox), "0");
        assert_eq!(heard(&inbox), "1");
        assert_eq!(heard(&inbox), "2 to 3");
        assert_eq!(heard(&inbox), "nothing");
    }

    #[test]
    fn the_end_comes_last_and_once_and_progress_is_the_newest() {
        let inbox = Inbox::default();
        for number in 0..3 {
            let progress = Json::parse(&number.to_string()).ok();
            inbox.put(
                Reply {
                    progress,
                    ..Reply::to(1)
                },
                10,
            );
        }
        inbox.put(
            Reply {
                result: Some(Json::default()),
                ..Reply::to(1)
            },
            10,
        );
        inbox.lose();
        let Some(Heard::Line(reply)) = inbox.try_next() else {
            panic!("no progress");
        };
        assert_eq!(reply.progress.unwrap().as_str(), "2");
        assert_eq!(heard(&inbox), "end");
        assert_eq!(heard(&inbox), "lost");
        assert_eq!(heard(&inbox), "lost");
    }
}
