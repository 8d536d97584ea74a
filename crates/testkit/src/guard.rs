//! Waiting that cannot last for ever: what hangs becomes a test that fails by its name.
//!
//! Owns how long tests are patient and how often they look. Refuses to know what they wait for.

use std::fmt::Debug;
use std::panic::resume_unwind;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything a test waits for takes on a busy machine, short enough to fail in.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// Far below the time-out of a call, which is what "at once" is told apart from.
const AT_ONCE: Duration = Duration::from_secs(5);
/// How long one whole test may take.
const WHOLE_TEST: Duration = Duration::from_secs(55);
/// How often a condition is looked at that has no event.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

/// Runs a test on a runtime of its own in a thread of its own. Whatever hangs in there, be it a task
/// or the thread itself, fails the test by its name.
///
/// # Panics
///
/// If the test does, or is not done within 55 seconds.
pub fn guarded(test: impl AsyncFnOnce() + Send + 'static) {
    guarded_for(WHOLE_TEST, test);
}

fn guarded_for(limit: Duration, test: impl AsyncFnOnce() + Send + 'static) {
    let name = thread::current().name().unwrap_or("a test").to_owned();
    let (running, ended) = mpsc::channel::<()>();
    let runner = thread::Builder::new().name(name.clone()).spawn(move || {
        // Dropped last, also when the test panics.
        let _running = running;
        match tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
        {
            Ok(runtime) => runtime.block_on(test()),
            Err(error) => panic!("there is no runtime for the test: {error}"),
        }
    });
    let runner = runner.unwrap_or_else(|error| panic!("{name} gets no thread: {error}"));
    if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
        panic!("{name} hangs: it is not done after {limit:?}");
    }
    if let Err(panic) = runner.join() {
        resume_unwind(panic);
    }
}

/// Waits for something that must not hang.
///
/// # Panics
///
/// If it takes longer than [`PATIENCE`].
pub async fn within<F: IntoFuture>(what: &str, work: F) -> F::Output {
    limited(PATIENCE, what, work).await
}

/// Waits for something that must not take as long as a time-out.
///
/// # Panics
///
/// If it takes longer than five seconds.
pub async fn at_once<F: IntoFuture>(what: &str, work: F) -> F::Output {
    limited(AT_ONCE, what, work).await
}

async fn limited<F: IntoFuture>(limit: Duration, what: &str, work: F) -> F::Output {
    let done = tokio::time::timeout(limit, work.into_future()).await;
    done.unwrap_or_else(|_| panic!("{what} takes more than {limit:?}"))
}

/// Waits until a condition holds, and gives what it was that held.
///
/// # Panics
///
/// If it does not hold within [`PATIENCE`].
pub async fn eventually<T: Debug>(look: impl Fn() -> T, holds: impl Fn(&T) -> bool) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let seen = look();
        if holds(&seen) {
            return seen;
        }
        assert!(Instant::now() < deadline, "it stays at {seen:?}");
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    /// For what hangs, and for what ends by itself on however busy a machine.
    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(60);

    /// What a panic said.
    fn words_of(limit: Duration, test: impl AsyncFnOnce() + Send + 'static) -> String {
        let test = std::panic::AssertUnwindSafe(|| guarded_for(limit, test));
        let panic = catch_unwind(test).unwrap_err();
        let said = panic.downcast_ref::<String>().cloned();
        said.unwrap_or_else(|| (*panic.downcast_ref::<&str>().unwrap()).to_owned())
    }

    #[test]
    fn a_test_that_hangs_fails_by_its_name() {
        let task = words_of(SHORT, async || std::future::pending().await);
        assert!(task.contains("a_test_that_hangs_fails_by_its_name hangs"));
        let (_open, never) = mpsc::channel::<()>();
        let thread = words_of(SHORT, async move || assert!(never.recv().is_ok()));
        assert!(thread.contains("a_test_that_hangs_fails_by_its_name hangs"));
    }

    #[test]
    fn a_test_that_fails_says_its_own_words() {
        let said = words_of(LONG, async || panic!("its own words"));
        assert_eq!(said, "its own words");
    }

    #[test]
    fn what_takes_too_long_is_named() {
        let waited = words_of(LONG, async || {
            limited(Duration::ZERO, "the parcel", std::future::pending::<()>()).await;
        });
        assert_eq!(waited, "the parcel takes more than 0ns");
    }
}
