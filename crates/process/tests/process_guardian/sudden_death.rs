//! Clients and guardians that die without a word.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use attache_process::ExitReason;
use attache_testkit::processes::look;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, Signal, pidfd_getfd, pidfd_open};

use crate::client_role::{Client, block_on, send, spawn_up};
use crate::scan::{self, gone_within, within};

/// What FAULTS 2 and P2 allow.
const PROMISE: Duration = Duration::from_secs(2);

/// What starting a tree may take on a busy machine.
const START: Duration = Duration::from_secs(20);

/// A launcher that ignores TERM, with a member that left the session, one that was
/// made a daemon, one that is stopped, and a plain one.
const STUBBORN: &str = r#"
    trap "" TERM HUP
    setsid sh -c 'sleep 1000 & while :; do sleep 1000; done' &
    (setsid sleep 1000 &)
    sh -c 'kill -STOP $$; sleep 1000' &
    sleep 1000 &
    while :; do sleep 1000; done
"#;

/// Client, guardian, launcher and its sleep, the session's three, daemon, stopped, plain.
const STUBBORN_SIZE: usize = 10;

/// One round of P2: how long the tree outlived its client.
fn outlived() -> Duration {
    let mut client = Client::start(STUBBORN);
    client.server();
    let tree = within(START, "the tree to be complete", || {
        let tree = client.tree();
        let stopped = tree.iter().any(|seen| seen.state == 'T');
        (tree.len() == STUBBORN_SIZE && stopped).then_some(tree)
    });
    let began = Instant::now();
    client.kill_outright();
    gone_within(PROMISE, &client.tag, &tree);
    began.elapsed()
}

pub(crate) fn fault_02_p2_nothing_survives_a_client_that_is_killed_outright() {
    const ROUNDS: usize = 200;
    const AT_ONCE: usize = 8;
    let begun = AtomicUsize::new(0);
    let longest = thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                scope.spawn(|| {
                    let mut longest = Duration::ZERO;
                    while begun.fetch_add(1, Ordering::Relaxed) < ROUNDS {
                        longest = longest.max(outlived());
                    }
                    longest
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .max()
            .unwrap()
    });
    println!("P2: {ROUNDS} rounds, 0 survivors, the slowest after {longest:?}");
}

pub(crate) fn fault_02_a_copy_of_the_socket_does_not_keep_the_tree_alive() {
    let mut client = Client::start("exec sleep 1000");
    client.server();
    let tree = client.tree();
    // Stands for a process that the client forked without executing anything.
    let id = Pid::from_raw(client.id().cast_signed()).unwrap();
    let descriptor = pidfd_open(id, PidfdFlags::empty()).unwrap();
    let copies: Vec<_> = fs::read_dir(format!("/proc/{}/fd", client.id()))
        .unwrap()
        .filter_map(|entry| {
            let entry = entry.unwrap();
            let target = fs::read_link(entry.path()).ok()?;
            let number = entry.file_name().to_str()?.parse().ok()?;
            let is_socket = target.to_string_lossy().starts_with("socket:");
            is_socket.then(|| pidfd_getfd(&descriptor, number, PidfdGetfdFlags::empty()).unwrap())
        })
        .collect();
    assert!(!copies.is_empty());
    client.kill_outright();
    gone_within(PROMISE, &client.tag, &tree);
    drop(copies);
}

pub(crate) fn fault_11_a_client_stopped_during_start_leaves_nothing() {
    for signal in [Signal::TERM, Signal::HUP, Signal::KILL] {
        // From the moment before the start begins to well after it.
        for step in 0..20 {
            let mut client = Client::start(r#"trap "" TERM HUP; while :; do sleep 1000; done"#);
            assert_eq!(client.line(), "starting");
            let moment = Instant::now() + Duration::from_micros(step * 250);
            while Instant::now() < moment {
                std::hint::spin_loop();
            }
            client.signal(signal);
            client.process.wait().unwrap();
            gone_within(PROMISE, &client.tag, &[]);
        }
    }
}

pub(crate) fn fault_11_signals_to_everyone_do_not_stop_the_guardian() {
    let mut client = Client::start(r#"trap "" TERM HUP INT QUIT; while :; do sleep 1000; done"#);
    let server = client.server();
    let guardian = look(server).unwrap().ppid;
    assert_eq!(
        fs::read_to_string(format!("/proc/{guardian}/comm"))
            .unwrap()
            .trim(),
        "mcp-guardian",
        "stopping a program by its name must not hit its guardians"
    );
    let tree = client.tree();
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
        send(guardian, signal);
    }
    client.signal(Signal::TERM);
    client.process.wait().unwrap();
    gone_within(PROMISE, &client.tag, &tree);
}

pub(crate) fn a_guardian_that_is_killed_takes_the_server_with_it() {
    let tag = scan::unique_tag();
    block_on(async {
        let spawned = spawn_up(r#"trap "" TERM; sleep 1000 & echo up; wait"#, &tag).await;
        let mut before = scan::tagged(&tag);
        let guardian = look(spawned.child.id()).unwrap().ppid;
        before.push(look(guardian).unwrap());
        send(guardian, Signal::KILL);
        assert_eq!(spawned.child.wait().await, ExitReason::Unknown);
        gone_within(PROMISE, &tag, &before);
    });
}
