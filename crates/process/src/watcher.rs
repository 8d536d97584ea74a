//! A task that watches a server without the help of a guardian.
//!
//! Owns the loop that waits for the exit, for orders and for the rungs of the
//! ladder. Refuses to know how a platform reaches a tree: [`TreeControl`] does.

use tokio::process::Child;
use tokio::sync::watch;
use tokio::time::{Duration, Instant, sleep_until};

use super::exit::{ExitReason, ProcessState};
use super::shutdown::{ShutdownLadder, Step};
use super::{Ladder, Order};

/// How often the rest of a tree is looked at once its server process has ended:
/// there is no event for it.
const PROBE_PAUSE: Duration = Duration::from_millis(10);

/// What a platform can do to a tree whose server is `Child`.
pub(super) trait TreeControl: Send + 'static {
    /// Asks every process that can be reached to end.
    fn terminate(&mut self);
    /// Kills every process that can be reached.
    fn kill(&mut self, child: &mut Child);
    /// Whether anything is left after the server process itself was reaped.
    fn is_gone(&mut self) -> bool;
}

/// Our end of the line to a watcher. Dropping it is the order to kill.
#[derive(Debug)]
pub(super) struct Orders(watch::Sender<Option<Order>>);

impl Orders {
    pub(super) fn send(&self, order: Order) {
        self.0.send_modify(|standing| {
            *standing = Some(standing.map_or(order, |first| first.shortened_by(order)));
        });
    }
}

impl Order {
    /// The order that remains when two were given: the more pressing of each part.
    fn shortened_by(self, later: Self) -> Self {
        match (self, later) {
            (Self::Close(first), Self::Close(second)) => Self::Close(Ladder {
                grace: first.grace.min(second.grace),
                term: first.term.min(second.term),
            }),
            _ => Self::Kill,
        }
    }
}

/// Starts the watcher of `child` on the current runtime.
pub(super) fn attend(
    child: Child,
    reach: impl TreeControl,
) -> (Orders, watch::Receiver<ProcessState>) {
    let (orders, standing) = watch::channel(None);
    let (told, fate) = watch::channel(ProcessState::Running);
    tokio::spawn(watch_over(child, reach, standing, told));
    (Orders(orders), fate)
}

async fn watch_over(
    mut child: Child,
    mut reach: impl TreeControl,
    mut orders: watch::Receiver<Option<Order>>,
    told: watch::Sender<ProcessState>,
) {
    let now = || Instant::now().into_std();
    let mut shutdown = ShutdownLadder::new();
    let mut ended: Option<ExitReason> = None;
    let mut owned = true;
    loop {
        if ended.is_some() && reach.is_gone() {
            break;
        }
        match shutdown.due(now()) {
            Step::Wait => {}
            Step::Terminate => reach.terminate(),
            Step::Kill => reach.kill(&mut child),
            Step::GiveUp => break,
        }
        let probe = ended.map(|_| Instant::now() + PROBE_PAUSE);
        let deadline = shutdown.deadline().map(Instant::from_std);
        let wake = deadline.into_iter().chain(probe).min();
        tokio::select! {
            status = child.wait(), if ended.is_none() => {
                let reason = status.map_or(ExitReason::Unknown, ExitReason::from_status);
                ended = Some(reason);
                told.send_replace(ProcessState::Exited(reason));
                shutdown.server_exited(now());
            }
            order = orders.changed(), if owned => {
                owned = order.is_ok();
                let standing = if owned { *orders.borrow_and_update() } else { Some(Order::Kill) };
                match standing {
                    Some(Order::Close(ladder)) => shutdown.close(ladder, now()),
                    Some(Order::Kill) => shutdown.kill(now()),
                    None => {}
                }
            }
            () = until(wake) => {}
        }
    }
    told.send_replace(ProcessState::Gone(ended.unwrap_or(ExitReason::Unknown)));
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_that_meet_keep_the_more_pressing_part() {
        let close = |grace, term| {
            Order::Close(Ladder {
                grace: Duration::from_millis(grace),
                term: Duration::from_millis(term),
            })
        };
        for (first, later, standing) in [
            (close(9, 1), close(2, 5), close(2, 1)),
            (close(9, 9), Order::Kill, Order::Kill),
            (Order::Kill, close(9, 9), Order::Kill),
        ] {
            assert_eq!(first.shortened_by(later), standing);
        }
    }
}
