//! Whose evaluation runs next: a bounded number at once, shared fairly among owners.
//!
//! Owns the count of what runs and the order of what waits; knows nothing of what is run.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

/// Gives out turns. One owner has at most so many at once. An owner that has none need not wait for
/// others to finish: as many turns again are kept for such owners.
pub(super) struct Turns {
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    total: usize,
    /// How many turns each owner has; those without any are not listed.
    running: HashMap<String, usize>,
    /// Who waits, the longest first.
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    owner: String,
    turn: oneshot::Sender<Turn>,
}

/// The right to run, for as long as it is kept.
pub(super) struct Turn {
    turns: Arc<Turns>,
    owner: String,
}

impl Turns {
    /// So many turns at once for one owner, and at least one.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most: most.max(1),
            state: Mutex::default(),
        })
    }

    /// Waits for a turn. Dropping the future gives up the place in the queue.
    pub(super) async fn take(self: &Arc<Self>, owner: &str) -> Turn {
        let given = {
            let mut state = self.lock();
            if state.may_run(owner, self.most) {
                state.note_start(owner);
                return self.turn(owner);
            }
            let (turn, given) = oneshot::channel();
            let owner = owner.to_owned();
            state.waiting.retain(|it| !it.turn.is_closed());
            state.waiting.push_back(Waiting { owner, turn });
            given
        };
        match given.await {
            Ok(turn) => turn,
            // The queue ends with the evaluator, which the waiting call keeps alive.
            Err(_) => std::future::pending().await,
        }
    }

    fn turn(self: &Arc<Self>, owner: &str) -> Turn {
        Turn {
            turns: Arc::clone(self),
            owner: owner.to_owned(),
        }
    }

    fn give_back(self: &Arc<Self>, owner: &str) {
        let mut begun = Vec::new();
        {
            let mut state = self.lock();
            state.note_end(owner);
            while let Some(next) = state.take_next(self.most) {
                state.note_start(&next.owner);
                begun.push(next);
            }
        }
        for next in begun {
            // One that is not waiting any more gives its turn back by dropping it.
            let _ = next.turn.send(self.turn(&next.owner));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn of(&self, owner: &str) -> usize {
        self.running.get(owner).copied().unwrap_or(0)
    }

    fn may_run(&self, owner: &str, most: usize) -> bool {
        let kept = if self.of(owner) == 0 { most } else { 0 };
        self.total < most + kept
    }

    fn note_start(&mut self, owner: &str) {
        self.total += 1;
        *self.running.entry(owner.to_owned()).or_default() += 1;
    }

    fn note_end(&mut self, owner: &str) {
        self.total -= 1;
        if let Some(count) = self.running.get_mut(owner) {
            *count -= 1;
            if *count == 0 {
                self.running.remove(owner);
            }
        }
    }

    /// Of those who may run now, the one whose owner has the fewest turns; of several the one that
    /// has waited longest.
    fn take_next(&mut self, most: usize) -> Option<Waiting> {
        self.waiting.retain(|it| !it.turn.is_closed());
        let ready = self.waiting.iter().enumerate();
        let ready = ready.filter(|(_, it)| self.may_run(&it.owner, most));
        let (index, _) = ready.min_by_key(|(_, it)| self.of(&it.owner))?;
        self.waiting.remove(index)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.give_back(&self.owner);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::{Turn, Turns};

    fn poll(future: Pin<&mut impl Future<Output = Turn>>) -> Option<Turn> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    #[test]
    fn one_owner_has_so_many_turns_and_another_need_not_wait_for_them() {
        let turns = Turns::new(2);
        let mut flood: Vec<_> = (0..5).map(|_| Box::pin(turns.take("a"))).collect();
        let mut running: Vec<Turn> = flood
            .iter_mut()
            .filter_map(|it| poll(it.as_mut()))
            .collect();
        assert_eq!(running.len(), 2);
        // Others begin at once, one each, as long as there is room for them.
        let mut of_b = poll(pin!(turns.take("b")));
        assert!(of_b.is_some());
        let mut second = pin!(turns.take("b"));
        assert!(poll(second.as_mut()).is_none());
        let of_c = poll(pin!(turns.take("c")));
        assert!(of_c.is_some());
        let mut of_d = pin!(turns.take("d"));
        assert!(poll(of_d.as_mut()).is_none(), "four run, no more");
        // The place that becomes free is for the one who has nothing, though others waited longer.
        running.pop();
        let of_d = poll(of_d.as_mut());
        assert!(of_d.is_some());
        // With as many running as one owner may have, those who run already take turns again.
        drop((of_c, of_d, of_b.take()));
        assert!(poll(second.as_mut()).is_some());
    }

    #[test]
    fn one_that_waits_no_longer_is_passed_over() {
        let turns = Turns::new(1);
        let running = poll(pin!(turns.take("a")));
        {
            let mut given_up = pin!(turns.take("a"));
            assert!(poll(given_up.as_mut()).is_none());
        }
        let mut next = pin!(turns.take("a"));
        assert!(poll(next.as_mut()).is_none());
        drop(running);
        assert!(poll(next.as_mut()).is_some());
        assert!(poll(pin!(turns.take("a"))).is_some(), "all were given back");
    }
}
