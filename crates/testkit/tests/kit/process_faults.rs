//! Scripted faults of the process itself, seen from outside.

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::{Duration, Instant};

use attache_testkit::chaos::{Action, Grandchild, Launcher, Script, Signal, When};
use attache_testkit::processes::{self, Process};
use serde_json::json;

use crate::support::{PATIENCE, Peer};

fn legacy() -> Script {
    Script::legacy("2025-06-18")
}

fn terminate(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn a_crash_after_the_effect_leaves_the_effect_and_no_answer() {
    let script = legacy().on(
        When::tool("side_effect"),
        [Action::effect(), Action::exit(9)],
    );
    let mut peer = Peer::start(&script);
    peer.call(1, "side_effect", json!({"key": "once"}));
    assert_eq!(peer.line(), None);
    assert_eq!(peer.wait().code(), Some(9));
    assert_eq!(peer.launch.effects().unwrap(), ["once"]);
    assert_eq!(peer.launch.starts().unwrap(), [peer.pid()]);
}

#[test]
fn a_crash_before_the_effect_leaves_none() {
    let script = legacy().on(
        When::tool("side_effect"),
        [Action::abort(), Action::effect()],
    );
    let mut peer = Peer::start(&script);
    peer.call(1, "side_effect", json!({"key": "once"}));
    assert_eq!(peer.wait().signal(), Some(6));
    assert!(peer.launch.effects().unwrap().is_empty());
    assert_eq!(peer.launch.received().unwrap().len(), 1);
}

#[test]
fn half_a_frame_leaves_before_the_exit() {
    let script = legacy().on(
        "ping",
        [Action::raw("{\"jsonrpc\":\"2.0\",\"id\":"), Action::exit(0)],
    );
    let mut peer = Peer::start(&script);
    peer.request(1, "ping", json!({}));
    assert_eq!(peer.line().unwrap(), b"{\"jsonrpc\":\"2.0\",\"id\":");
    assert_eq!(peer.line(), None);
}

#[test]
fn a_server_can_kill_itself() {
    let mut peer = Peer::start(&legacy().on("ping", [Action::signal(Signal::Kill)]));
    peer.request(1, "ping", json!({}));
    assert_eq!(peer.wait().signal(), Some(9));
}

#[test]
fn closed_output_leaves_a_living_server() {
    let script = legacy().on("ping", [Action::usual(), Action::close_stdout()]);
    let mut peer = Peer::start(&script);
    peer.request(1, "ping", json!({}));
    assert_eq!(peer.message()["id"], 1);
    assert_eq!(peer.line(), None);
    peer.request(2, "heard", json!({}));
    peer.launch.wait_received_of("heard", 1, PATIENCE).unwrap();
}

#[test]
fn closed_input_breaks_the_clients_write() {
    let script = legacy().on("ping", [Action::usual(), Action::close_stdin()]);
    let mut peer = Peer::start(&script);
    peer.request(1, "ping", json!({}));
    assert_eq!(peer.message()["id"], 1);
    // A process that another test is starting at this moment may hold a copy of
    // the pipe's other end until it becomes its own program.
    let deadline = Instant::now() + PATIENCE;
    let error = loop {
        if let Err(error) = peer.try_send(&json!({})) {
            break error;
        }
        assert!(Instant::now() < deadline, "the input is still open");
        thread::sleep(Duration::from_millis(1));
    };
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    assert_eq!(peer.launch.received().unwrap().len(), 1);
    assert_eq!(processes::usage(peer.pid()).unwrap().threads, 2);
}

#[test]
fn unread_input_fills_up() {
    let script = legacy().on("ping", [Action::usual(), Action::stop_reading()]);
    let mut peer = Peer::start(&script);
    peer.request(1, "ping", json!({}));
    assert_eq!(peer.message()["id"], 1);
    let mut stdin = peer.take_stdin();
    let pipe = stdin.as_fd().try_clone_to_owned().unwrap();
    let size = rustix::pipe::fcntl_getpipe_size(&pipe).unwrap();
    let writer = thread::spawn(move || stdin.write_all(&vec![b'\n'; 2 * size]));
    let deadline = Instant::now() + PATIENCE;
    while rustix::io::ioctl_fionread(&pipe).unwrap() < size as u64 {
        assert!(Instant::now() < deadline, "the input is being read");
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(peer.launch.received().unwrap().len(), 1);
    peer.kill();
    peer.wait();
    let error = writer.join().unwrap().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
}

#[test]
fn the_end_of_input_and_the_terminate_signal_can_be_ignored() {
    let script = legacy()
        .ignores_eof()
        .ignores_term()
        .on(When::end_of_input(), [Action::line("still here")]);
    let mut peer = Peer::start(&script);
    peer.initialize();
    terminate(peer.pid());
    peer.close_stdin();
    assert_eq!(peer.line().unwrap(), b"still here\n");
    terminate(peer.pid());
    assert_eq!(peer.launch.tag().survivors().unwrap().len(), 1);
    peer.kill();
    assert_eq!(peer.wait().signal(), Some(9));
    peer.launch.tag().wait_until_gone(PATIENCE).unwrap();
}

#[test]
fn the_terminate_signal_works_otherwise() {
    let mut peer = Peer::start(&legacy().ignores_eof());
    peer.initialize();
    terminate(peer.pid());
    assert_eq!(peer.wait().signal(), Some(15));
}

/// Starts a server with one such grandchild, kills the server, and returns the
/// grandchild, which the test kills then.
fn left_behind(grandchild: Grandchild) -> Process {
    let script = legacy().on("initialize", [Action::spawn(grandchild), Action::usual()]);
    let mut peer = Peer::start(&script);
    peer.initialize();
    let tag = peer.launch.tag().clone();
    assert_eq!(tag.survivors().unwrap().len(), 2);
    peer.kill();
    peer.wait();
    let mut left = tag.survivors().unwrap();
    assert_eq!(left.len(), 1);
    let left = left.remove(0);
    kill(left.pid);
    tag.wait_until_gone(PATIENCE).unwrap();
    left
}

#[test]
fn grandchildren_outlive_their_server() {
    let left = left_behind(Grandchild::default());
    assert!(left.command.contains("--linger"), "{left:?}");
}

#[test]
fn grandchildren_have_the_asked_traits() {
    let traits = Grandchild {
        setsid: true,
        ignore_term: true,
        orphan: true,
        ..Grandchild::default()
    };
    let script = legacy().on("initialize", [Action::spawn(traits), Action::usual()]);
    let mut peer = Peer::start(&script);
    peer.initialize();
    let tag = peer.launch.tag();
    let found = tag.survivors().unwrap();
    let child = found
        .iter()
        .find(|process| process.pid != peer.pid())
        .unwrap();
    assert_ne!(child.ppid, peer.pid());
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.pid).unwrap());
    assert_eq!(rustix::process::getsid(pid).unwrap(), pid.unwrap());
    terminate(child.pid);
    assert_eq!(tag.survivors().unwrap().len(), 2);
    kill(child.pid);
    peer.close_stdin();
    peer.wait();
    peer.launch.tag().wait_until_gone(PATIENCE).unwrap();
}

#[test]
fn a_stopped_grandchild_is_stopped() {
    let traits = Grandchild {
        stopped: true,
        ..Grandchild::default()
    };
    let script = legacy().on(When::start(), [Action::spawn(traits)]);
    let mut peer = Peer::start(&script);
    peer.initialize();
    let stopped = |found: &[Process]| found.iter().any(|process| process.state == 'T');
    let found = peer.launch.tag().wait(PATIENCE, stopped).unwrap();
    let child = found.iter().find(|process| process.state == 'T').unwrap();
    kill(child.pid);
}

#[test]
fn a_grandchild_can_hold_the_output_open() {
    let traits = Grandchild {
        hold_stdout: true,
        ..Grandchild::default()
    };
    let script = legacy().on("ping", [Action::spawn(traits), Action::exit(0)]);
    let mut peer = Peer::start(&script);
    peer.request(1, "ping", json!({}));
    assert!(peer.wait().success());
    let left = peer.launch.tag().survivors().unwrap();
    assert_eq!(left.len(), 1);
    assert!(peer.is_silent());
    kill(left[0].pid);
    assert_eq!(peer.line(), None);
}

#[test]
fn a_launcher_stands_between_or_leaves() {
    let mut peer = Peer::start(&legacy().launcher(Launcher::Waits));
    assert_eq!(peer.initialize()["id"], "init");
    assert_eq!(peer.launch.tag().survivors().unwrap().len(), 2);
    assert_ne!(peer.launch.starts().unwrap(), [peer.pid()]);
    peer.close_stdin();
    assert!(peer.wait().success());

    let mut peer = Peer::start(&legacy().launcher(Launcher::ExitsAfter(Duration::ZERO)));
    assert!(peer.wait().success());
    assert_eq!(peer.initialize()["id"], "init");
    peer.close_stdin();
    peer.launch.tag().wait_until_gone(PATIENCE).unwrap();
}

#[test]
fn zombies_are_seen() {
    let mut peer = Peer::start(&legacy().on("ping", [Action::exit(0)]));
    let pid = peer.pid();
    peer.request(1, "ping", json!({}));
    let dead = |found: &[Process]| {
        found
            .iter()
            .any(|process| process.pid == pid && process.state == 'Z')
    };
    let found = peer.launch.tag().wait(PATIENCE, dead).unwrap();
    assert!(
        found
            .iter()
            .all(|process| process.ppid == std::process::id())
    );
    let zombies = processes::zombies_of(std::process::id()).unwrap();
    assert!(zombies.iter().any(|process| process.pid == pid));
    let error = peer
        .launch
        .tag()
        .wait_until_gone(Duration::ZERO)
        .unwrap_err();
    assert!(error.to_string().contains(&pid.to_string()), "{error}");
}

#[test]
fn usage_follows_what_a_process_does() {
    let peer = Peer::start(&legacy());
    let usage = processes::usage(peer.pid()).unwrap();
    assert!(usage.descriptors >= 3, "{usage:?}");
    assert!(
        usage.peak_resident >= usage.resident && usage.resident > 0,
        "{usage:?}"
    );
    assert!(usage.proportional > 0, "{usage:?}");
    let file = std::fs::File::open("/dev/null").unwrap();
    let own = processes::usage(std::process::id()).unwrap();
    assert!(own.threads >= 2 && own.descriptors > 3, "{own:?}");
    drop(file);
    assert!(processes::usage(u32::MAX).is_err());
    processes::reset_own_peak().unwrap();
}
