//! The official conformance suite against this kit, over HTTP and, through bridges, over stdio.
//!
//! A server that lacks a feature can pass a scenario with no check made, so each scenario must
//! make as many checks as it does today. `scripts/install-test-servers` installs the suite; without
//! it these tests fail and say so.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod stdio_bridge;

use std::io::{BufRead, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use attache_testkit::binaries;
use attache_testkit::conformance::{Findings, of_server};
use attache_testkit::real_servers::installed;

use stdio_bridge::Bridge;

/// How many checks each scenario makes at least, in whichever set it appears.
const CHECKS: &[(&str, usize)] = &[
    ("caching", 8),
    ("completion-complete", 2),
    ("dns-rebinding-protection", 2),
    ("elicitation-sep1034-defaults", 6),
    ("elicitation-sep1330-enums", 6),
    ("http-custom-header-server-validation", 10),
    ("http-header-validation", 14),
    ("input-required-result-basic-elicitation", 3),
    ("input-required-result-basic-list-roots", 3),
    ("input-required-result-basic-sampling", 3),
    ("input-required-result-capability-check", 2),
    ("input-required-result-ignore-extra-params", 2),
    ("input-required-result-missing-input-response", 2),
    ("input-required-result-multi-round", 4),
    ("input-required-result-multiple-input-requests", 3),
    ("input-required-result-non-tool-request", 3),
    ("input-required-result-request-state", 3),
    ("input-required-result-result-type", 2),
    ("input-required-result-tampered-state", 2),
    ("input-required-result-unsupported-methods", 2),
    ("input-required-result-validate-input", 3),
    ("json-schema-2020-12", 8),
    ("logging-set-level", 2),
    ("ping", 2),
    ("prompts-get-embedded-resource", 2),
    ("prompts-get-simple", 2),
    ("prompts-get-with-args", 2),
    ("prompts-get-with-image", 2),
    ("prompts-list", 2),
    ("resources-list", 2),
    ("resources-read-binary", 2),
    ("resources-read-text", 2),
    ("resources-subscribe", 2),
    ("resources-templates-read", 2),
    ("resources-unsubscribe", 2),
    ("sep-2164-resource-not-found", 4),
    ("server-initialize", 3),
    ("server-session-lifecycle", 3),
    ("server-sse-multiple-streams", 2),
    ("server-sse-polling", 3),
    ("server-stateless", 30),
    ("tasks-capability-negotiation", 5),
    ("tasks-dispatch-and-envelope", 9),
    ("tasks-lifecycle", 9),
    ("tasks-mrtr-composition", 2),
    ("tasks-mrtr-input", 4),
    ("tasks-request-headers", 5),
    ("tasks-request-state-removal", 3),
    ("tasks-required-task-error", 3),
    ("tasks-wire-fields", 4),
    ("tools-call-audio", 2),
    ("tools-call-elicitation", 2),
    ("tools-call-embedded-resource", 2),
    ("tools-call-error", 2),
    ("tools-call-image", 2),
    ("tools-call-mixed-content", 2),
    ("tools-call-sampling", 2),
    ("tools-call-simple-text", 2),
    ("tools-call-with-logging", 2),
    ("tools-call-with-progress", 2),
    ("tools-list", 3),
];

/// Scenarios of which the suite itself makes no check yet, or only of servers with that extension.
const EMPTY: &[&str] = &[
    "tasks-status-notifications",
    "sep-2640-skills-directory",
    "sep-2640-skills-enumeration",
    "sep-2640-skills-manifest",
];

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn conformance_server() -> PathBuf {
    binaries::example("attache-server", "conformance-server").unwrap()
}

/// The server over HTTP, and its address.
fn start_http() -> (Running, String) {
    let mut child = Command::new(conformance_server())
        .env("PORT", "0")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut address).unwrap();
    (Running(child), address.trim().to_owned())
}

/// The server over stdio behind a bridge with a process for each legacy session, and the bridge's
/// address.
fn start_bridged() -> (Running, String) {
    let address = free_port();
    let command = format!("{} --stdio", conformance_server().display());
    let child = Command::new(installed("conformance/node_modules/node/bin/node"))
        .arg(installed(
            "conformance/node_modules/supergateway/dist/index.js",
        ))
        .args([
            "--stdio",
            &command,
            "--outputTransport",
            "streamableHttp",
            "--stateful",
            "--port",
        ])
        .arg(address.port().to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut running = Running(child);
    let deadline = Instant::now() + Duration::from_secs(30);
    while TcpStream::connect(address).is_err() {
        let ended = running.0.try_wait().unwrap();
        assert!(ended.is_none(), "the bridge has ended: {ended:?}");
        assert!(Instant::now() < deadline, "the bridge does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    warm_up(address);
    (running, format!("http://{address}/mcp"))
}

/// Begins a session. The first one waits until the bridge and the server are read from the disk, which
/// can take longer than the suite has patience for.
fn warm_up(address: SocketAddr) {
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"warm-up","version":"1"}}}"#;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{initialize}",
        initialize.len()
    );
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let answered = BufReader::new(stream)
        .lines()
        .any(|line| line.unwrap().contains("\"serverInfo\""));
    assert!(answered, "the bridge does not answer");
}

/// A port for a program that cannot choose one. It lies below those that the system gives away, so
/// that no connection of another test takes it before the program does.
fn free_port() -> SocketAddr {
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    (first..first + 100)
        .map(|port| SocketAddr::from(([127, 0, 0, 1], port)))
        .find(|address| TcpListener::bind(address).is_ok())
        .unwrap()
}

/// Checks that nothing failed and enough was checked; what `excepted` names is not looked at.
#[track_caller]
fn judge(found: &Findings, excepted: impl Fn(&str) -> bool) {
    let mut least = CHECKS.to_vec();
    least.extend(EMPTY.iter().map(|name| (*name, 0)));
    found.assert_at_least(&least, excepted);
}

/// So many checks were made in all.
#[track_caller]
fn assert_total(found: &Findings, least: usize) {
    let checks = found.checks();
    assert!(checks >= least, "{checks} checks: {found:?}");
}

#[track_caller]
fn check_http(set: &[&str], scenarios: usize, checks: usize) {
    let (_server, url) = start_http();
    check(&url, set, scenarios, checks);
}

#[track_caller]
fn check(url: &str, set: &[&str], scenarios: usize, checks: usize) {
    let found = of_server(url, set).unwrap();
    judge(&found, |_| false);
    assert!(
        found.scenarios() >= scenarios,
        "{} scenarios: {found:?}",
        found.scenarios()
    );
    assert_total(&found, checks);
}

#[test]
fn requirements_of_2025_11_25() {
    check_http(&["--requirements", "2025-11-25"], 30, 83);
}

// X-BASE-29, S-RES-02, S-PRM-05, S-MRTR-02, S-TSKE-17.
#[test]
fn requirements_of_2026_07_28() {
    check_http(&["--requirements", "2026-07-28"], 37, 197);
}

#[test]
fn the_whole_suite() {
    check_http(&["--suite", "all"], 60, 233);
}

/// What a server over stdio has no part in, behind a bridge that is not ours.
const NOT_OVER_STDIO: &[(&str, &str)] = &[
    (
        "dns-rebinding-protection",
        "the bridge looks at no Host or Origin, and the server never sees them",
    ),
    (
        "server-sse-multiple-streams",
        "the bridge makes the streams",
    ),
    (
        "server-sse-polling",
        "the bridge cannot close a stream before its answer, which only the server would ask for",
    ),
];

fn is_about_http(name: &str) -> bool {
    NOT_OVER_STDIO.iter().any(|(it, _)| *it == name)
}

#[test]
fn requirements_of_2025_11_25_over_stdio() {
    let (_bridge, url) = start_bridged();
    let found = of_server(&url, &["--requirements", "2025-11-25"]).unwrap();
    judge(&found, is_about_http);
    // Why what is excepted failed is told.
    assert!(
        found
            .report()
            .contains("localhost-host-rebinding-rejected\": \"Expected")
    );
    assert_total(&found, 78);
}

/// All clients share one process, so that a task of one is known to the next. Nothing is excepted:
/// what is about HTTP is the same face's business either way.
#[test]
fn requirements_of_2026_07_28_over_stdio() {
    let bridge = Bridge::start(&conformance_server());
    check(&bridge.url, &["--requirements", "2026-07-28"], 37, 197);
}
