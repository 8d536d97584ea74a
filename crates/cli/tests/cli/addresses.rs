//! Addresses as people write them.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use crate::harness::{attache, run};

/// A server inside the program, at an address it is told and one it tells.
struct Served {
    child: Child,
    port: String,
    told: String,
}

impl Served {
    fn start(address: &str, words: &[&str]) -> Self {
        let mut command = attache();
        command
            .args(["serve", "demo", "--http", address])
            .args(words);
        command.env("TOKEN", "hunter2");
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut told = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut told).unwrap();
        let port = told.trim_end().trim_end_matches("/mcp").rsplit(':').next();
        let port = port.unwrap().to_owned();
        if !told.contains("127.0.0.1") {
            stderr.read_line(&mut told).unwrap();
        }
        std::thread::spawn(move || {
            let mut rest = String::new();
            let _ = std::io::Read::read_to_string(&mut stderr, &mut rest);
        });
        Self { child, port, told }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_port_is_address_enough_to_serve_and_to_be_reached() {
    for address in ["0", ":0", "localhost:0", "127.0.0.1:0"] {
        let served = Served::start(address, &[]);
        let port = &served.port;
        for target in [
            format!("127.0.0.1:{port}"),
            format!("localhost:{port}/mcp"),
            format!("http://127.0.0.1:{port}/"),
        ] {
            let outcome = run(&["tools", &target]).expect(0);
            assert!(outcome.stdout.starts_with("echo "), "{target}: {outcome:?}");
            let has_path = target.ends_with("/mcp");
            assert_eq!(
                outcome.stderr.contains("/mcp does, and is used"),
                !has_path,
                "{outcome:?}"
            );
        }
        let call = [
            "call",
            "echo",
            "message=hi",
            "--server",
            &format!("localhost:{port}"),
        ];
        assert_eq!(run(&call).expect(0).stdout, "hi\n");
    }
}

#[test]
fn where_nothing_speaks_mcp_both_addresses_are_named() {
    use attache_testkit::http::{Answer, HttpScript, On};
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let site = runtime
        .block_on(
            HttpScript::nothing()
                .on(On::verb("GET"), Answer::text("text/html", "<p>hello</p>"))
                .start(),
        )
        .unwrap();
    let url = site.url();
    let (site, _) = url.split_at(url.rfind('/').unwrap());
    let outcome = run(&["tools", site]);
    assert_ne!(outcome.code, 0, "{outcome:?}");
    let expected = format!("no MCP server answers at {site} or {site}/mcp");
    assert!(outcome.stderr.contains(&expected), "{outcome:?}");
    assert!(
        outcome.stderr.contains("give the whole address"),
        "{outcome:?}"
    );
}

#[test]
fn s1_other_machines_need_a_token_and_are_said_loudly() {
    let refused = run(&["serve", "demo", "--http", "0.0.0.0:0"]).expect(2);
    assert!(refused.stderr.contains("--token-env"), "{refused:?}");
    let mut command = attache();
    command.args([
        "serve",
        "demo",
        "--http",
        "0.0.0.0:0",
        "--token-env",
        "TOKEN",
    ]);
    let refused = crate::harness::finish(command.env("TOKEN", "hunter2")).expect(2);
    assert!(refused.stderr.contains("--host NAME"), "{refused:?}");
    let served = Served::start(
        "0.0.0.0:0",
        &["--token-env", "TOKEN", "--host", "mine.example"],
    );
    assert!(
        served.told.contains("OTHER MACHINES CAN REACH THIS"),
        "{}",
        served.told
    );
    // Who has no token is not let in.
    run(&["tools", &format!("127.0.0.1:{}/mcp", served.port)]).expect(3);
}
