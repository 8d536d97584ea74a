//! Workers as processes: killed, counted, confined, and gone with their server.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use attache_builtin::lisp::{Evaluator, Holds, Limits, SessionState, Settings};
use attache_lisp::ErrorKind;
use attache_testkit::processes::{children_of, is_running};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{PATIENCE, ask, evaluator, in_session, request, run, step, value};

/// The first argument that makes this executable a server that works until it is killed.
const ROLE: &str = "server-with-work";

/// Plays a server with busy and idle workers if that is why the process was started.
#[expect(clippy::print_stdout, reason = "it tells the test that it works")]
pub(crate) fn play_role() {
    if std::env::args().nth(1).as_deref() != Some(ROLE) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let evaluator = endless();
        step(&evaluator, "idle", "(define x 1)").await;
        let mut told = false;
        let busy = evaluator.evaluate(request("(let loop () (loop))"), |_| {
            if !told {
                told = true;
                println!("working");
                std::io::stdout().flush().unwrap();
            }
        });
        let _ = busy.await;
    });
    std::process::exit(0);
}

fn endless() -> Evaluator {
    Evaluator::new(Settings {
        limits: Limits {
            steps: u64::MAX,
            wall_ms: 600_000,
            ..Limits::default()
        },
        ..Settings::default()
    })
}

/// The workers that a process has started and that still run.
fn workers_of(parent: u32) -> Vec<u32> {
    let mut children = children_of(parent).unwrap();
    children.retain(|child| child.state != 'Z' && child.name == "lisp-worker");
    let mut found: Vec<u32> = children.iter().map(|child| child.pid).collect();
    found.sort_unstable();
    found
}

fn own_workers() -> Vec<u32> {
    workers_of(std::process::id())
}

/// Waits until the workers of earlier tests, which end with their evaluators, are gone.
async fn alone() {
    until("workers of earlier tests are gone", || {
        own_workers().is_empty()
    })
    .await;
}

/// Waits for something that happens outside this process.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

async fn kill_and_wait(pid: u32) {
    kill(pid);
    until("the killed worker is gone", || !is_running(pid).unwrap()).await;
}

pub(crate) fn a_killed_session_worker_loses_its_session_and_says_so() {
    run(async {
        alone().await;
        let evaluator = evaluator();
        step(&evaluator, "a", "(define x 1)").await;
        let first = own_workers();
        step(&evaluator, "b", "(define x 2)").await;
        let [pid] = first[..] else {
            panic!("{first:?}");
        };
        kill_and_wait(pid).await;
        let answer = ask(&evaluator, in_session("a", "x")).await;
        assert_eq!(answer.session, Some(SessionState::Lost));
        let failed = answer.result.unwrap_err();
        assert_eq!(failed.kind, ErrorKind::Internal);
        assert!(failed.message.contains("lost"), "{failed:?}");
        // The next call begins anew, and the other session never noticed.
        let begun = (String::new(), Some(SessionState::New));
        assert_eq!(step(&evaluator, "a", "(define x 3)").await, begun);
        assert_eq!(step(&evaluator, "b", "x").await.0, "2");
    });
}

pub(crate) fn a_worker_killed_at_work_is_reported() {
    run(async {
        alone().await;
        let evaluator = endless();
        evaluator.warm_up().await;
        let [pid] = own_workers()[..] else {
            panic!("one worker: {:?}", own_workers());
        };
        let (told, mut working) = tokio::sync::mpsc::unbounded_channel();
        let killer = tokio::spawn(async move {
            working.recv().await.unwrap();
            kill(pid);
        });
        let answer = evaluator
            .evaluate(in_session("s", "(let loop () (loop))"), |_| {
                let _ = told.send(());
            })
            .await
            .unwrap();
        killer.await.unwrap();
        assert_eq!(answer.session, Some(SessionState::Lost));
        let failed = answer.result.unwrap_err();
        assert_eq!(failed.kind, ErrorKind::Internal);
        assert!(failed.message.contains("signal: 9"), "{failed:?}");
        assert_eq!(value(&evaluator, "(+ 1 2)").await, "3");
    });
}

pub(crate) fn a_killed_spare_worker_is_not_noticed() {
    run(async {
        alone().await;
        let evaluator = evaluator();
        assert_eq!(value(&evaluator, "1").await, "1");
        for pid in own_workers() {
            kill_and_wait(pid).await;
        }
        assert_eq!(value(&evaluator, "2").await, "2");
    });
}

pub(crate) fn workers_are_reused_and_bounded() {
    run(async {
        alone().await;
        let evaluator = Evaluator::new(Settings {
            workers: 2,
            sessions: 3,
            ..Settings::default()
        });
        evaluator.warm_up().await;
        let warm = own_workers();
        for _ in 0..10 {
            value(&evaluator, "1").await;
        }
        assert_eq!(own_workers(), warm, "one after the other needs one worker");
        let tasks = (0..12).map(|number| {
            let evaluator = evaluator.clone();
            tokio::spawn(async move { step(&evaluator, &format!("s{number}"), "(+ 1 2)").await })
        });
        for task in tasks.collect::<Vec<_>>() {
            assert_eq!(task.await.unwrap().0, "3");
        }
        until("dropped sessions are gone", || own_workers().len() <= 5).await;
    });
}

pub(crate) fn workers_are_confined() {
    run(async {
        alone().await;
        let evaluator = evaluator();
        value(&evaluator, "1").await;
        let [pid] = own_workers()[..] else {
            panic!("one worker: {:?}", own_workers());
        };
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        for limit in ["Max core file size", "Max open files", "Max file size"] {
            let line = limits.lines().find(|line| line.starts_with(limit)).unwrap();
            let hard = line.split_whitespace().rev().nth(1).unwrap();
            assert_eq!(hard, "0", "{line}");
        }
        let line = limits
            .lines()
            .find(|line| line.starts_with("Max address space"))
            .unwrap();
        assert!(!line.contains("unlimited"), "{line}");
        let line = limits
            .lines()
            .find(|line| line.starts_with("Max cpu time"))
            .unwrap();
        assert!(
            !line["Max cpu time".len()..].trim_start().starts_with('u'),
            "{line}"
        );
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert!(status.contains("NoNewPrivs:\t1"), "{status}");
        // Seccomp is part of every kernel that these tests meet; Landlock is not, so there the
        // worker's own word is taken.
        assert!(status.contains("Seccomp:\t2"), "{status}");
        let confinement = evaluator.confinement().await.unwrap();
        assert_eq!(confinement.limits, Holds::Whole, "{confinement}");
        assert_eq!(confinement.seccomp, Holds::Whole, "{confinement}");
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap();
        assert!(environment.is_empty(), "the environment stays here");
        let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
        assert_eq!(open, 3, "three pipes and nothing else");
    });
}

pub(crate) fn no_worker_outlives_a_server_that_is_killed() {
    let mut server = Command::new(std::env::current_exe().unwrap())
        .arg(ROLE)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stdout = server.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    assert_eq!(line, "working\n");
    let workers = workers_of(server.id());
    assert_eq!(workers.len(), 2, "one is busy, one keeps a session");
    server.kill().unwrap();
    server.wait().unwrap();
    run(until("the workers end with their server", || {
        workers.iter().all(|&pid| !is_running(pid).unwrap())
    }));
}

pub(crate) fn no_worker_outlives_its_evaluator() {
    run(async {
        alone().await;
        let evaluator = evaluator();
        value(&evaluator, "1").await;
        step(&evaluator, "s", "1").await;
        let workers = own_workers();
        assert!(!workers.is_empty());
        drop(evaluator);
        until("the workers end", || {
            workers.iter().all(|&pid| !is_running(pid).unwrap())
        })
        .await;
    });
}
