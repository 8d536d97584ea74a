//! Servers behind a URL, at the shell: the real binary over real sockets.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use crate::harness::{attache, run};

/// `attache serve lisp` over HTTP, on a port of its own.
struct Remote {
    child: Child,
    url: String,
}

impl Remote {
    fn start() -> Self {
        let mut child = attache()
            .args(["serve", "lisp", "--http", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut told).unwrap();
        let url = told
            .split_whitespace()
            .find(|word| word.starts_with("http://"));
        let url = url
            .unwrap_or_else(|| panic!("an address: {told:?}"))
            .to_owned();
        Self { child, url }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_url_stands_for_a_server() {
    let remote = Remote::start();
    let tools = run(&["tools", "--json", &remote.url]).expect(0).document();
    assert_eq!(tools["tools"][0]["name"], "evaluate-lisp");
    let call = [
        "call",
        "evaluate-lisp",
        "code=(/ 1 3)",
        "--json",
        "--server",
        &remote.url,
    ];
    let answer = run(&call).expect(0).document();
    assert_eq!(answer["content"][0]["text"], "1/3");
}

#[test]
fn the_ready_made_server_is_found_by_its_name() {
    for (code, value) in [
        (
            "(let loop ((i 0)) (if (< i 1000000) (loop (+ i 1)) i))",
            "1000000",
        ),
        ("(/ 1 3)", "1/3"),
        ("(quotient (expt 2 200) (expt 2 190))", "1024"),
    ] {
        let code = format!("code={code}");
        let answer = run(&["call", "lisp/evaluate-lisp", &code, "--json"]).expect(0);
        assert_eq!(answer.document()["content"][0]["text"], value);
    }
}

#[test]
fn a_server_without_a_login_says_so() {
    let remote = Remote::start();
    let status = run(&["auth", "status", "--json", &remote.url])
        .expect(0)
        .document();
    assert_eq!(status["servers"][0]["state"], "logged out");
    let outcome = run(&["auth", "logout", "--json", &remote.url])
        .expect(0)
        .document();
    assert_eq!(outcome["outcome"], "was_logged_out");
    // It asks for nothing, so there is nowhere to log in.
    let error = run(&["auth", "login", "--json", &remote.url])
        .expect(3)
        .error();
    assert_eq!(error["kind"], "auth");
}
