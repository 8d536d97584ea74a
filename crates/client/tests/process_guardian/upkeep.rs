//! What is left in the client, and what the guardian costs, over time.

use std::fs;
use std::time::Duration;

use attache_client::process::{self, ExitReason, Ladder, Launch};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client_role::{block_on, shell, spawn_up};
use crate::scan::{self, count, gone_within, within};

const SOON: Duration = Duration::from_secs(2);
/// The runtime keeps an idle thread for blocking work for ten seconds; a busy machine may have made
/// it start a second one.
const IDLE_THREADS_GONE: Duration = Duration::from_secs(15);

pub(crate) fn fault_06_a_child_that_exits_is_reaped() {
    let tag = scan::unique_tag();
    block_on(async {
        let mut spawned = spawn_up("echo up; read line; exit 3", &tag).await;
        let mut before = scan::tagged(&tag);
        let guardian = scan::look(spawned.child.id()).unwrap().parent;
        before.push(scan::look(guardian).unwrap());
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
        let guardian = scan::look(spawned.child.id()).unwrap().parent;
        within(
            SOON,
            "the guardian to have the server as its only child",
            || {
                let children = scan::children_of(guardian);
                (children.len() == 1 && children[0].id == spawned.child.id()).then_some(())
            },
        );
    });
}

/// Descriptors and threads of this process, once whatever is about to end has ended.
struct Usage {
    descriptors: usize,
    threads: usize,
    resident_kib: u64,
}

impl Usage {
    fn now() -> Self {
        Self {
            descriptors: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            resident_kib: kib("/proc/self/status", "VmRSS:"),
        }
    }

    /// Waits until no child, and no more descriptors and threads than before, are left.
    #[track_caller]
    fn assert_regained(&self) {
        within(
            IDLE_THREADS_GONE,
            "children, descriptors and threads to be freed",
            || {
                let now = Self::now();
                let free = scan::children_of(std::process::id()).is_empty()
                    && now.descriptors <= self.descriptors
                    && now.threads <= self.threads;
                free.then_some(())
            },
        );
    }
}

fn kib(file: &str, field: &str) -> u64 {
    let text = fs::read_to_string(file).unwrap();
    let line = text.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_ascii_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

async fn echo_once(launch: &Launch) -> process::Spawned {
    let mut spawned = process::spawn(launch).await.unwrap();
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
            scan::children_of(std::process::id())
                .is_empty()
                .then_some(())
        });
        let before = Usage::now();
        for _ in 0..20 {
            let never_initialising = process::spawn(&silent).await.unwrap();
            drop(never_initialising);
        }
        gone_within(SOON, &tag, &[]);
        before.assert_regained();
    });
}

pub(crate) fn fault_09_a_thousand_cycles_leave_nothing_behind() {
    const CYCLES: usize = 1_000;
    const WARM_UP: usize = 50;
    const GROWTH_KIB: u64 = 1_024;
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
        let before = Usage::now();
        for _ in 0..CYCLES {
            cycle().await;
        }
        before.assert_regained();
        let grown = Usage::now()
            .resident_kib
            .saturating_sub(before.resident_kib);
        assert!(grown < GROWTH_KIB, "grew by {grown} KiB in {CYCLES} cycles");
    });
}

pub(crate) fn every_waiter_learns_the_same() {
    block_on(async {
        let launch = Launch::new("sh").args(["-c", "read line; exit 9"]);
        let mut spawned = process::spawn(&launch).await.unwrap();
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
    const LIMIT_KIB: u64 = 4 * 1_024;
    block_on(async {
        let spawned = echo_once(&Launch::new("cat")).await;
        let guardian = scan::look(spawned.child.id()).unwrap().parent;
        let held = kib(&format!("/proc/{guardian}/smaps_rollup"), "Pss:");
        assert!(held < LIMIT_KIB, "the guardian holds {held} KiB");
        assert_eq!(count(&format!("/proc/{guardian}/task")), 1);
    });
}
