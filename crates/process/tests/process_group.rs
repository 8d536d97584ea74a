//! The fallback without a guardian: a process group of its own, killed as a whole.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "everything here is a test")]

#[expect(dead_code, reason = "the guardian's tests look at more")]
#[path = "process_guardian/scan.rs"]
mod scan;

use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use attache_process::{self, ExitReason, Ladder, Launch, Protection, Spawned};
use attache_testkit::processes::look;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use scan::{TAG_VARIABLE, gone_within, within};

/// Long enough that a test which needs it to pass has failed.
const LONG: Duration = Duration::from_secs(20);
/// Short enough to wait for.
const SHORT: Duration = Duration::from_millis(150);
/// What starting, signalling and scheduling may add on a busy machine.
const SLACK: Duration = Duration::from_secs(2);

/// Starts `script` and waits until it has printed a line.
async fn spawn_up(script: &str, tag: &str) -> Spawned {
    let launch = Launch::new("sh")
        .args(["-c", script])
        .var(TAG_VARIABLE, tag);
    let mut spawned = attache_process::spawn(&launch).await.unwrap();
    let mut byte = [0];
    while byte != *b"\n" {
        spawned.stdout.read_exact(&mut byte).await.unwrap();
    }
    spawned
}

/// Closes a running `script`, and checks how it ended, when, and that nothing is left.
async fn check_close(script: &str, ladder: Ladder, reason: ExitReason, earliest: Duration) {
    let tag = scan::unique_tag();
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
    gone_within(SHORT, &tag, &before);
}

#[tokio::test]
async fn without_enable_a_server_leads_a_group_of_its_own() {
    let tag = scan::unique_tag();
    let spawned = spawn_up("echo up; exec cat", &tag).await;
    assert_eq!(spawned.child.protection(), Protection::ProcessGroup);
    let server = look(spawned.child.id()).unwrap();
    assert_eq!(
        (server.ppid, server.group),
        (std::process::id(), server.pid)
    );
}

#[tokio::test]
async fn fault_01_a_server_that_obeys_eof_ends_by_itself() {
    let ladder = Ladder {
        grace: LONG,
        term: LONG,
    };
    let script = "echo up; cat >/dev/null; exit 4";
    check_close(script, ladder, ExitReason::Code(4), Duration::ZERO).await;
}

#[tokio::test]
async fn fault_01_a_stopped_server_that_obeys_term_ends_by_it() {
    let ladder = Ladder {
        grace: SHORT,
        term: LONG,
    };
    let script = "echo up; kill -STOP $$; exec sleep 1000";
    check_close(script, ladder, ExitReason::Signal(15), SHORT).await;
}

#[tokio::test]
async fn fault_05_a_server_that_ignores_everything_is_killed_at_the_deadline() {
    let ladder = Ladder {
        grace: SHORT,
        term: SHORT,
    };
    let script = r#"trap "" TERM; sleep 1000 & echo up; while :; do sleep 1000; done"#;
    check_close(script, ladder, ExitReason::Signal(9), SHORT * 2).await;
}

#[tokio::test]
async fn fault_03_a_launcher_that_exits_leaves_nothing() {
    let tag = scan::unique_tag();
    let script = r#"sh -c 'trap "" TERM; echo up; sleep 1000; :' & read line; exit 7"#;
    let mut spawned = spawn_up(script, &tag).await;
    let before = scan::tagged(&tag);
    spawned.stdin.write_all(b"go\n").await.unwrap();
    assert_eq!(spawned.child.wait().await, ExitReason::Code(7));
    let reason = spawned.child.close(Ladder::default()).await;
    assert_eq!(reason, ExitReason::Code(7));
    gone_within(SHORT, &tag, &before);
}

#[tokio::test]
async fn fault_06_a_child_that_exits_is_reaped() {
    let tag = scan::unique_tag();
    let mut spawned = spawn_up("echo up; read line; exit 3", &tag).await;
    let before = scan::tagged(&tag);
    spawned.stdin.write_all(b"\n").await.unwrap();
    assert_eq!(spawned.child.wait().await, ExitReason::Code(3));
    assert_eq!(scan::remaining(&before), []);
}

#[tokio::test]
async fn kill_does_not_wait_for_the_ladder() {
    let tag = scan::unique_tag();
    let spawned = spawn_up(r#"trap "" TERM; echo up; read line"#, &tag).await;
    let close = spawned.child.close(Ladder {
        grace: LONG,
        term: LONG,
    });
    let kill = async { spawned.child.kill() };
    let (reason, ()) = tokio::join!(close, kill);
    assert_eq!(reason, ExitReason::Signal(9));
}

#[test]
fn fault_08_a_dropped_server_goes_down_without_a_runtime() {
    let tag = scan::unique_tag();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let script = r#"trap "" TERM; sleep 1000 & echo up; while :; do sleep 1000; done"#;
    let spawned = runtime.block_on(spawn_up(script, &tag));
    drop(runtime);
    assert!(scan::tagged(&tag).len() >= 2);
    drop(spawned);
    within(SLACK, "the dropped group to end", || {
        scan::tagged(&tag).is_empty().then_some(())
    });
}

#[tokio::test]
async fn the_pipes_that_carry_messages_are_enlarged_where_the_user_may() {
    const ENLARGED: usize = 256 * 1024;
    let (_, allowed) = std::io::pipe().unwrap();
    let expected = rustix::pipe::fcntl_setpipe_size(&allowed, ENLARGED)
        .or_else(|_| rustix::pipe::fcntl_getpipe_size(&allowed))
        .unwrap();
    let tag = scan::unique_tag();
    let spawned = spawn_up("echo up; exec cat", &tag).await;
    for pipe in [spawned.stdin.as_fd(), spawned.stdout.as_fd()] {
        assert_eq!(rustix::pipe::fcntl_getpipe_size(pipe).unwrap(), expected);
    }
}
