//! Signals to the command, without a terminal.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::harness::{PATIENCE, Scratch, attache, builtin, recorded};

pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status();
    assert!(status.unwrap().success());
}

fn exit_code(child: &mut Child) -> Option<i32> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        assert!(Instant::now() < deadline, "it does not end");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A server is gone within two seconds of its command; one more is for a busy machine.
#[cfg(target_os = "linux")]
fn gone_soon(server: &str) {
    let left = Instant::now();
    crate::harness::wait_until("the server to end", || !runs(server));
    assert!(
        left.elapsed() < Duration::from_secs(3),
        "{:?}",
        left.elapsed()
    );
}

/// Whether a process runs, and is no zombie.
#[cfg(target_os = "linux")]
fn runs(id: &str) -> bool {
    attache_testkit::processes::is_running(id.parse().unwrap()).unwrap()
}

#[test]
fn fault_11_signals_cancel_the_call_and_tell_the_server() {
    for name in ["INT", "TERM", "HUP"] {
        let record = Scratch::new(&format!("signal-{name}"));
        let mut child = attache()
            .args(["call", "count", "to=1000", "--json", "--"])
            .args(recorded(&builtin(), &record))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        record.wait_for("tools/call");
        signal(&child, name);
        assert_eq!(exit_code(&mut child), Some(7), "{name}");
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            stderr.contains("cancelled; the server was told"),
            "{stderr}"
        );
        assert!(output.stdout.is_empty());
        record.wait_for("notifications/cancelled");
    }
}

/// The second call may have ended when the signal comes; it would wait for the first.
#[test]
fn fault_11_a_signal_ends_every_call_of_a_batch_with_a_line() {
    let record = Scratch::new("signal-batch");
    let calls = Scratch::new("signal-batch-calls");
    let lines = [
        r#"{"tool":"count","arguments":{"to":1000}}"#,
        r#"{"tool":"echo","arguments":{"message":"early"}}"#,
        "no call",
    ];
    std::fs::write(calls.path(), lines.join("\n")).unwrap();
    let mut child = attache()
        .arg("batch")
        .arg(calls.path())
        .arg("--")
        .args(recorded(&builtin(), &record))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    record.wait_for("early");
    signal(&child, "INT");
    assert_eq!(exit_code(&mut child), Some(7));
    record.wait_for("notifications/cancelled");
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    let [first, second, third] = lines[..] else {
        panic!("{stdout}");
    };
    assert!(
        first.contains(r#""line":1,"#) && first.contains("cancelled"),
        "{first}"
    );
    assert!(second.contains(r#""line":2,"#), "{second}");
    assert!(third.contains("the line is no call"), "{third}");
}

#[cfg(target_os = "linux")]
#[test]
fn fault_11_a_signal_while_connecting_takes_the_server_down() {
    for name in ["INT", "TERM", "HUP"] {
        let record = Scratch::new(&format!("connecting-{name}"));
        let script = r#"echo $$ >"$0"; exec sleep 1000"#;
        let mut child = attache()
            .args(["tools", "--", "sh", "-c", script])
            .arg(record.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        record.wait_for("\n");
        let server = record.text().trim().to_owned();
        assert!(runs(&server));
        signal(&child, name);
        assert_eq!(exit_code(&mut child), Some(7), "{name}");
        gone_soon(&server);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn fault_01_a_server_that_will_not_leave_is_gone_soon_after_the_command() {
    let record = Scratch::new("stubborn");
    // The server obeys the end of its input, its launcher obeys nothing.
    let script =
        r#"trap "" TERM HUP INT; echo $$ >"$1"; "$0" serve demo; while :; do sleep 1000; done"#;
    let output = attache()
        .args(["call", "echo", "message=hi", "--", "sh", "-c", script])
        .arg(env!("CARGO_BIN_EXE_attache"))
        .arg(record.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(output.stdout, b"hi\n");
    let server = record.text().trim().to_owned();
    assert!(runs(&server), "the command did not wait for it");
    gone_soon(&server);
}

#[test]
fn a_watch_ends_well_when_the_user_ends_it() {
    for era in ["modern", "legacy"] {
        let mut child = attache()
            .args(["watch", "demo://clock", "--read", "--json", "--era", era])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let change: serde_json::Value =
            serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(change["method"], "notifications/resources/updated");
        assert_eq!(change["params"]["uri"], "demo://clock");
        assert_eq!(change["result"]["contents"][0]["uri"], "demo://clock");
        signal(&child, "INT");
        assert_eq!(exit_code(&mut child), Some(0), "{era}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_is_to_be_ignored_is_ignored() {
    let mut child = Command::new("sh")
        .args(["-c", r#"trap "" HUP; exec "$0" watch demo://clock"#])
        .arg(env!("CARGO_BIN_EXE_attache"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    signal(&child, "HUP");
    // It goes on and tells of the next change.
    lines.next().unwrap().unwrap();
    signal(&child, "INT");
    assert_eq!(exit_code(&mut child), Some(0));
}

#[test]
fn a_watch_whose_server_leaves_says_so() {
    // The server hears of the subscription and nothing more.
    let script = r#"
        { for line in initialize initialized subscribe; do
            read -r line; printf '%s\n' "$line"
          done; } | "$0" serve demo"#;
    let output = attache()
        .args([
            "watch",
            "demo://clock",
            "--json",
            "--era",
            "legacy",
            "--",
            "sh",
            "-c",
            script,
        ])
        .arg(env!("CARGO_BIN_EXE_attache"))
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(
        stderr.contains("the watch ended: the server exited"),
        "{stderr}"
    );
}
