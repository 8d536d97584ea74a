//! The processes of one test, marked with a tag, and how they end.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use attache_testkit::processes::{self, Process, look};

/// The variable whose value marks the processes of one test.
pub(crate) const TAG_VARIABLE: &str = "PROCESS_TEST_TAG";

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// A value for [`TAG_VARIABLE`] that nobody else uses.
pub(crate) fn unique_tag() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{count}-", std::process::id())
}

/// Every process that carries the tag in its environment.
pub(crate) fn tagged(tag: &str) -> Vec<Process> {
    processes::bearing(&format!("{TAG_VARIABLE}={tag}")).unwrap()
}

/// Those of `before` that are still there, zombies included: all but those that ended
/// and wait for the system's own first process to reap them, at its leisure.
pub(crate) fn remaining(before: &[Process]) -> Vec<Process> {
    let ours =
        |parent: u32| parent == std::process::id() || before.iter().any(|seen| seen.pid == parent);
    before
        .iter()
        .filter_map(|seen| {
            look(seen.pid)
                .ok()
                .filter(|now| now.started == seen.started)
        })
        .filter(|now| now.state != 'Z' || ours(now.ppid))
        .collect()
}

/// The direct children of this process, zombies included.
pub(crate) fn own_children() -> Vec<Process> {
    processes::children_of(std::process::id()).unwrap()
}

/// Waits until `condition` gives a value, and fails the test after `limit`.
#[track_caller]
pub(crate) fn within<T>(
    limit: Duration,
    what: &str,
    mut condition: impl FnMut() -> Option<T>,
) -> T {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(value) = condition() {
            return value;
        }
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        thread::sleep(PAUSE);
    }
}

/// Waits until nothing is left of `before` and nothing carries `tag`.
#[track_caller]
pub(crate) fn gone_within(limit: Duration, tag: &str, before: &[Process]) {
    let deadline = Instant::now() + limit;
    loop {
        // The cheap look first: this polls while the processes it waits for need the
        // machine.
        let mut left = remaining(before);
        if left.is_empty() {
            left = tagged(tag);
        }
        if left.is_empty() {
            return;
        }
        if Instant::now() >= deadline {
            // The test has failed; its processes need not stay.
            for seen in &left {
                let id = rustix::process::Pid::from_raw(seen.pid.cast_signed()).unwrap();
                let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
            }
            panic!("still there after {limit:?}: {left:?}");
        }
        thread::sleep(PAUSE);
    }
}
