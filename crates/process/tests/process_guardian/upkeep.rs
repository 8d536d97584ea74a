//! What is left in the client, and what the guardian costs, over time.

use std::time::Duration;

use attache_process::{self, ExitReason, Ladder, Launch};
use attache_testkit::processes::{Usage, children_of, look, usage};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client_role::{block_on, shell, spawn_up};
use crate::scan::{self, gone_within, within};

const SOON: Duration = Duration::from_secs(2);
/// The runtime keeps an idle thread for blocking work for ten seconds; a busy machine may have made
/// it start a second one.
const IDLE_THREADS_GONE: Duration = Duration::from_secs(15);

pub(crate) fn fault_06_a_child_that_exits_is_reaped() {
    let tag = scan::unique_tag();
    block_on(async {
        let mut spawned = spawn_up("echo up; read line; exit 3", &tag).await;
        let mut before = scan::tagged(&tag);
        let guardian = look(spawned.child.id()).unwrap().ppid;
        before.push(look(guardian).unwrap());
        spawned.stdin.write_all(b"\n").await.unwrap();
        assert_eq!(spawned.child.wait().await, ExitReason::Code(3));
        gone_within(SOON, &tag, &before);
    });
}

pub(crate) fn fault_06_orphans_are_reaped_while_the_server_runs() {
    let tag = scan::unique_tag();
    block_on(async {
        let script = "for i in 1 2 3 4 5; do (sh -c 'exit 0' &); done; echo up; exec cat";
        let spawned = spawn_up(script, &tag).await;
        let guardian = look(spawned.child.id()).unwrap().ppid;
        within(
            SOON,
            "the guardian to have the server as its only child",
            || {
                let children = children_of(guardian).unwrap();
                (children.len() == 1 && children[0].pid == spawned.child.id()).then_some(())
            },
        );
    });
}

fn own_usage() -> Usage {
    usage(std::process::id()).unwrap()
}

/// Waits until no child, and no more descriptors and threads than before, are left.
#[track_caller]
fn assert_regained(before: &Usage) {
    within(
        IDLE_THREADS_GONE,
        "children, descriptors and threads to be freed",
        || {
            let now = own_usage();
            let free = scan::own_children().is_empty()
                && now.descriptors <= before.descriptors
                && now.threads <= before.threads;
            free.then_some(())
        },
    );
}

async fn echo_once(launch: &Launch) -> attache_process::Spawned {
    let mut spawned = attache_process::spawn(launch).await.unwrap();
    spawned.stdin.write_all(b"x").await.unwrap();
    let mut byte = [0];
    spawned.stdout.read_exact(&mut byte).await.unwrap();
    assert_eq!(&byte, b"x");
    spawned
}

pub(crate) fn fault_08_servers_that_are_dropped_free_everything() {
    let tag = scan::unique_tag();
    block_on(async {
        // The first start leaves a thread for blocking work and the signal driver.
        drop(echo_once(&Launch::new("cat")).await);
        let silent = shell(r#"trap "" TERM; while :; do sleep 1000; done"#, &tag);
        within(SOON, "the first server to end", || {
            scan::own_children().is_empty().then_some(())
        });
        let before = own_usage();
        for _ in 0..20 {
            let never_initialising = attache_process::spawn(&silent).await.unwrap();
            drop(never_initialising);
        }
        gone_within(SOON, &tag, &[]);
        assert_regained(&before);
    });
}

pub(crate) fn fault_09_a_thousand_cycles_leave_nothing_behind() {
    const CYCLES: usize = 1_000;
    const WARM_UP: usize = 50;
    const GROWTH: u64 = 1_024 * 1_024;
    block_on(async {
        let launch = Launch::new("cat");
        let cycle = async || {
            let spawned = echo_once(&launch).await;
            drop(spawned.stdin);
            let reason = spawned.child.close(Ladder::default()).await;
            assert_eq!(reason, ExitReason::Code(0));
        };
        for _ in 0..WARM_UP {
            cycle().await;
        }
        let before = own_usage();
        for _ in 0..CYCLES {
            cycle().await;
        }
        assert_regained(&before);
        let grown = own_usage().resident.saturating_sub(before.resident);
        assert!(grown < GROWTH, "grew by {grown} bytes in {CYCLES} cycles");
    });
}

pub(crate) fn every_waiter_learns_the_same() {
    block_on(async {
        let launch = Launch::new("sh").args(["-c", "read line; exit 9"]);
        let mut spawned = attache_process::spawn(&launch).await.unwrap();
        let child = &spawned.child;
        let ended = async {
            spawned.stdin.write_all(b"\n").await.unwrap();
        };
        let (first, second, ()) = tokio::join!(child.wait(), child.wait(), ended);
        let late = child.wait().await;
        let closed = child.close(Ladder::default()).await;
        assert_eq!([first, second, late, closed], [ExitReason::Code(9); 4]);
    });
}

pub(crate) fn the_guardian_stays_small() {
    /// A debug build of the tests; the product's own figure is far lower.
    const LIMIT: u64 = 4 * 1_024 * 1_024;
    block_on(async {
        let spawned = echo_once(&Launch::new("cat")).await;
        let guardian = look(spawned.child.id()).unwrap().ppid;
        let held = usage(guardian).unwrap();
        assert!(held.proportional < LIMIT, "the guardian holds {held:?}");
        assert_eq!(held.threads, 1);
    });
}
