//! Looking at processes from outside, through `/proc`.

use std::fmt;
use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The variable whose value marks the processes of one test.
pub(crate) const TAG_VARIABLE: &str = "PROCESS_TEST_TAG";

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// A process as `/proc` shows it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) id: u32,
    pub(crate) state: char,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    started: u64,
    command: String,
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?}", self.id, self.state, self.command)
    }
}

/// A value for [`TAG_VARIABLE`] that nobody else uses.
pub(crate) fn unique_tag() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{count}-", std::process::id())
}

/// The process `id`, if it is there in any state.
pub(crate) fn look(id: u32) -> Option<Seen> {
    let stat = String::from_utf8_lossy(&fs::read(format!("/proc/{id}/stat")).ok()?).into_owned();
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let command = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    Some(Seen {
        id,
        state: fields[0].chars().next()?,
        parent: fields[1].parse().ok()?,
        group: fields[2].parse().ok()?,
        started: fields[19].parse().ok()?,
        command: String::from_utf8_lossy(&command).replace('\0', " "),
    })
}

/// Every process that carries the tag in its environment.
pub(crate) fn tagged(tag: &str) -> Vec<Seen> {
    let wanted = format!("{TAG_VARIABLE}={tag}\0").into_bytes();
    ids()
        .filter(|id| {
            fs::read(format!("/proc/{id}/environ"))
                .is_ok_and(|environment| contains(&environment, &wanted))
        })
        .filter_map(look)
        .collect()
}

/// Those of `before` that are still there, zombies included: all but those that ended
/// and wait for the system's own first process to reap them, at its leisure.
pub(crate) fn remaining(before: &[Seen]) -> Vec<Seen> {
    let ours =
        |parent: u32| parent == std::process::id() || before.iter().any(|seen| seen.id == parent);
    before
        .iter()
        .filter_map(|seen| look(seen.id).filter(|now| now.started == seen.started))
        .filter(|now| now.state != 'Z' || ours(now.parent))
        .collect()
}

/// The direct children of `parent`, zombies included.
pub(crate) fn children_of(parent: u32) -> Vec<Seen> {
    ids()
        .filter_map(look)
        .filter(|seen| seen.parent == parent)
        .collect()
}

/// How many entries a directory such as `/proc/self/fd` has.
pub(crate) fn count(directory: &str) -> usize {
    fs::read_dir(directory).unwrap().count()
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
pub(crate) fn gone_within(limit: Duration, tag: &str, before: &[Seen]) {
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
                let id = rustix::process::Pid::from_raw(seen.id.cast_signed()).unwrap();
                let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
            }
            panic!("still there after {limit:?}: {left:?}");
        }
        thread::sleep(PAUSE);
    }
}

fn ids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}
