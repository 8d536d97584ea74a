//! Ending a tree on purpose.

use std::time::{Duration, Instant};

use attache_process::{self, ExitReason, Ladder};
use attache_testkit::scratch::Scratch;

use crate::client_role::{block_on, shell, spawn_up};
use crate::scan::{self, gone_within, within};

const TERM: ExitReason = ExitReason::Signal(15);
const KILL: ExitReason = ExitReason::Signal(9);

/// Long enough that a test which needs it to pass has failed.
const LONG: Duration = Duration::from_secs(20);
/// Short enough to wait for.
const SHORT: Duration = Duration::from_millis(150);
/// What starting, signalling and scheduling may add on a busy machine.
const SLACK: Duration = Duration::from_secs(2);

/// Starts `script`, closes it, and checks how its server ended, when, and that nothing
/// of its tree is left.
fn check_close(script: &str, ladder: Ladder, reason: ExitReason, earliest: Duration) {
    let tag = scan::unique_tag();
    block_on(async {
        let spawned = spawn_up(script, &tag).await;
        let before = scan::tagged(&tag);
        assert!(!before.is_empty());
        drop(spawned.stdin);
        let began = Instant::now();
        assert_eq!(spawned.child.close(ladder).await, reason);
        let took = began.elapsed();
        assert!(
            (earliest..earliest + SLACK).contains(&took),
            "closing took {took:?}, not {earliest:?}"
        );
        let left = scan::remaining(&before);
        assert!(left.is_empty(), "close returned before the end of {left:?}");
        gone_within(Duration::ZERO, &tag, &before);
    });
}

fn ladder(grace: Duration, term: Duration) -> Ladder {
    Ladder { grace, term }
}

pub(crate) fn fault_01_a_server_that_obeys_eof_ends_by_itself() {
    check_close(
        "echo up; cat >/dev/null; exit 4",
        ladder(LONG, LONG),
        ExitReason::Code(4),
        Duration::ZERO,
    );
}

pub(crate) fn fault_01_a_server_that_obeys_term_ends_by_it() {
    check_close("echo up; exec sleep 1000", ladder(SHORT, LONG), TERM, SHORT);
}

pub(crate) fn fault_01_a_stopped_server_is_woken_to_end() {
    check_close(
        "echo up; kill -STOP $$; exec sleep 1000",
        ladder(SHORT, LONG),
        TERM,
        SHORT,
    );
}

pub(crate) fn fault_03_a_launcher_that_exits_leaves_nothing() {
    let tag = scan::unique_tag();
    block_on(async {
        let script = r#"sh -c 'trap "" TERM; echo up; sleep 1000; :' & read line; exit 7"#;
        let mut spawned = spawn_up(script, &tag).await;
        let before = scan::tagged(&tag);
        assert!(before.len() >= 2, "{before:?}");
        tokio::io::AsyncWriteExt::write_all(&mut spawned.stdin, b"go\n")
            .await
            .unwrap();
        assert_eq!(spawned.child.wait().await, ExitReason::Code(7));
        gone_within(SLACK, &tag, &before);
    });
}

pub(crate) fn fault_04_grandchildren_that_left_are_closed_too() {
    check_close(
        r#"setsid sh -c 'trap "" TERM; sleep 1000 & echo up; while :; do sleep 1000; done' &
           (setsid sleep 1000 &)
           exec cat"#,
        ladder(LONG, SHORT),
        ExitReason::Code(0),
        // The server obeys EOF; what it left ignores TERM.
        SHORT,
    );
}

// C-INIT-13.
pub(crate) fn fault_05_a_server_that_ignores_everything_is_killed_at_the_deadline() {
    check_close(
        r#"trap "" TERM; sleep 1000 & echo up; while :; do sleep 1000; done"#,
        ladder(SHORT, SHORT),
        KILL,
        SHORT * 2,
    );
}

pub(crate) fn kill_takes_the_tree_down_at_once() {
    let tag = scan::unique_tag();
    block_on(async {
        let spawned = spawn_up(r#"trap "" TERM; sleep 1000 & echo up; wait"#, &tag).await;
        let before = scan::tagged(&tag);
        let began = Instant::now();
        spawned.child.kill();
        assert_eq!(spawned.child.wait().await, KILL);
        gone_within(SLACK, &tag, &before);
        assert!(began.elapsed() < SLACK);
    });
}

/// Chains in which every process forks the next one and exits, which is faster than
/// anybody can look: two stay in their group, two leave for a new session each time.
/// They end by themselves, but only long after the test.
pub(crate) fn a_tree_that_keeps_forking_is_caught() {
    check_close(
        r#"exec python3 -c '
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def chain(leave):
    if os.fork():
        return
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)
        leave()
    os._exit(0)
for _ in range(2):
    chain(os.setsid)
    chain(lambda: None)
print("up", flush=True)
time.sleep(1000)'"#,
        ladder(SHORT, SHORT),
        KILL,
        SHORT * 2,
    );
}

pub(crate) fn a_close_that_nobody_awaits_runs_to_its_end() {
    let tag = scan::unique_tag();
    block_on(async {
        let spawned = spawn_up("echo up; exec sleep 1000", &tag).await;
        let before = scan::tagged(&tag);
        let close = spawned.child.close(ladder(SHORT, LONG));
        assert!(tokio::time::timeout(SHORT / 10, close).await.is_err());
        assert_eq!(spawned.child.wait().await, TERM);
        gone_within(SLACK, &tag, &before);
    });
}

/// Closes `script` with all the time in the world, and goes away at once. Returns how long its
/// tree stayed.
fn close_and_leave(script: &str) -> Duration {
    let tag = scan::unique_tag();
    let (before, began) = block_on(async {
        let spawned = spawn_up(script, &tag).await;
        let before = scan::tagged(&tag);
        drop(spawned.stdin);
        let close = spawned.child.close(ladder(LONG, LONG));
        assert!(tokio::time::timeout(SHORT / 10, close).await.is_err());
        (before, Instant::now())
    });
    gone_within(SLACK, &tag, &before);
    began.elapsed()
}

pub(crate) fn fault_01_a_close_that_is_left_behind_still_lets_the_server_finish() {
    let folder = Scratch::new("finished").unwrap();
    let file = folder.path().join("file");
    // Longer than a client that is killed would leave it.
    let script = format!(
        "echo up; cat >/dev/null; sleep 0.7; echo finished >'{}'",
        file.display()
    );
    close_and_leave(&script);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "finished\n");
}

pub(crate) fn fault_01_a_close_that_is_left_behind_ends_within_two_seconds() {
    let took =
        close_and_leave(r#"trap "" TERM; sleep 1000 & echo up; while :; do sleep 1000; done"#);
    assert!(took < Duration::from_secs(2), "{took:?}");
}

pub(crate) fn a_dropped_server_goes_down_without_a_runtime() {
    let tag = scan::unique_tag();
    let script = r#"trap "" TERM; sleep 1000 & echo up; while :; do sleep 1000; done"#;
    let spawned = block_on(spawn_up(script, &tag));
    // The runtime is gone, and with it every task.
    let before = scan::tagged(&tag);
    assert!(before.len() >= 2, "{before:?}");
    drop(spawned);
    within(SLACK, "the dropped tree to end", || {
        scan::tagged(&tag).is_empty().then_some(())
    });
}

pub(crate) fn a_dropped_start_leaves_nothing() {
    let tag = scan::unique_tag();
    block_on(async {
        let launch = shell("exec sleep 1000", &tag);
        // From a start that has hardly begun to one that is nearly done.
        for delay in (0..40).map(|step| Duration::from_micros(step * 100)) {
            let _ = tokio::time::timeout(delay, attache_process::spawn(&launch)).await;
        }
        gone_within(SLACK, &tag, &[]);
        within(SLACK, "the guardians to be reaped", || {
            scan::own_children().is_empty().then_some(())
        });
    });
}
