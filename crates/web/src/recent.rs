//! Definitions that were fetched a short while ago.
//!
//! A server that does not tell when its lists change has to be asked anew by everybody who wants to
//! be sure. Who only draws a form, key by key, need not be.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use attache::host::config::ServerName;
use parking_lot::Mutex;

use crate::lists::Entry;

/// How long a definition is good enough to draw with. What is called is checked by the host.
const GOOD_FOR: Duration = Duration::from_secs(30);
/// How many are kept.
const MOST: usize = 64;

/// The last definitions that were asked for by name.
#[derive(Debug)]
pub(crate) struct Recent<T> {
    kept: Mutex<VecDeque<Kept<T>>>,
}

#[derive(Debug)]
struct Kept<T> {
    server: ServerName,
    entry: T,
    since: Instant,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
        }
    }
}

impl<T: Entry + Clone> Recent<T> {
    pub(crate) fn get(&self, server: &ServerName, name: &str) -> Option<T> {
        let mut kept = self.kept.lock();
        kept.retain(|it| it.since.elapsed() < GOOD_FOR);
        let found = kept.iter().find(|it| it.is(server, name));
        found.map(|it| it.entry.clone())
    }

    pub(crate) fn keep(&self, server: &ServerName, entry: &T) {
        let mut kept = self.kept.lock();
        kept.retain(|it| !it.is(server, entry.name()));
        kept.truncate(MOST - 1);
        kept.push_front(Kept {
            server: server.clone(),
            entry: entry.clone(),
            since: Instant::now(),
        });
    }
}

impl<T: Entry> Kept<T> {
    fn is(&self, server: &ServerName, name: &str) -> bool {
        self.server == *server && self.entry.name() == name
    }
}
