//! What the worker is to look at next.
//!
//! Anybody puts paths in; the worker takes all at once. Bounded: of too many paths only that
//! everything is to be looked at remains.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// How many paths wait before a scan of everything is cheaper.
const MOST_PATHS: usize = 20_000;
/// A burst of changes is taken as one once it is quiet for this long, and not later than that.
const QUIET: Duration = Duration::from_millis(20);
const LONGEST_BURST: Duration = Duration::from_millis(200);

/// What is to be done.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    /// Paths that may have changed, relative to the folder.
    pub(crate) paths: BTreeSet<String>,
    /// Folders that are watched since a moment: what came before that was not told.
    pub(crate) new_folders: BTreeSet<String>,
    /// Everything may have changed.
    pub(crate) rescans: bool,
    /// The watcher is to be started anew.
    pub(crate) rewatches: bool,
    /// The index was found damaged.
    pub(crate) rebuilds: bool,
    /// The worker is to end.
    pub(crate) stops: bool,
}

impl Mail {
    fn is_empty(&self) -> bool {
        let others = [self.rescans, self.rewatches, self.rebuilds, self.stops];
        self.paths.is_empty() && self.new_folders.is_empty() && !others.contains(&true)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    bell: Condvar,
}

#[derive(Debug, Default)]
struct State {
    mail: Mail,
    /// A caller waits for the outcome.
    hurries: bool,
    /// The worker has taken mail that it is still busy with.
    is_open: bool,
}

impl Inbox {
    pub(crate) fn put(&self, paths: impl IntoIterator<Item = String>) {
        let mut state = self.state.lock();
        let mail = &mut state.mail;
        if !mail.rescans {
            mail.paths.extend(paths);
            if mail.paths.len() > MOST_PATHS {
                mail.paths.clear();
                mail.rescans = true;
            }
        }
        self.bell.notify_all();
    }

    /// Changes what is to be done.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Mail)) {
        change(&mut self.state.lock().mail);
        self.bell.notify_all();
    }

    /// Has the worker look at once.
    pub(crate) fn hurry(&self) {
        self.state.lock().hurries = true;
        self.bell.notify_all();
    }

    /// How many changes are told and not looked at yet; a scan of everything counts as one.
    pub(crate) fn unread(&self) -> usize {
        let state = self.state.lock();
        let mail = &state.mail;
        let more = mail.rescans || mail.rewatches || mail.rebuilds || state.is_open;
        mail.paths.len() + mail.new_folders.len() + usize::from(more)
    }

    /// The worker is done with the mail it took.
    pub(crate) fn done(&self) {
        self.state.lock().is_open = false;
    }

    /// Waits for mail, until the deadline; `None` waits for ever. A burst is waited out.
    pub(crate) fn take(&self, deadline: Option<Instant>) -> Mail {
        let mut state = self.state.lock();
        while state.mail.is_empty() {
            match deadline {
                None => self.bell.wait(&mut state),
                Some(deadline) => {
                    if self.bell.wait_until(&mut state, deadline).timed_out() {
                        break;
                    }
                }
            }
        }
        let latest = Instant::now() + LONGEST_BURST;
        while !state.hurries && !state.mail.stops && !state.mail.is_empty() {
            let quiet = Instant::now() + QUIET;
            if quiet > latest || self.bell.wait_until(&mut state, quiet).timed_out() {
                break;
            }
        }
        state.hurries = false;
        let mail = std::mem::take(&mut state.mail);
        state.is_open = !mail.is_empty();
        mail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_paths_become_a_scan() {
        let inbox = Inbox::default();
        inbox.put((0..=MOST_PATHS).map(|it| it.to_string()));
        inbox.put(["more".to_owned()]);
        assert_eq!(inbox.unread(), 1);
        let mail = inbox.take(None);
        assert!(mail.rescans && mail.paths.is_empty());
        // What is being looked at is not looked at yet.
        assert_eq!(inbox.unread(), 1);
        inbox.done();
        assert_eq!(inbox.unread(), 0);
        assert!(inbox.take(Some(Instant::now())).is_empty());
    }
}
