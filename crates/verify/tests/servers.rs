//! `attache verify` on real processes: clean servers, and chaos servers with one defect each.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::{Command, Stdio};
use std::time::Duration;

use attache_testkit::binaries;
use attache_testkit::chaos::{
    Action, Cursors, Emit, Grandchild, Launch, Reply, ReplyId, Script, When,
};
use attache_testkit::real_servers::{EverythingTransport, Listening, installed, reference_server};
use attache_testkit::scratch::Scratch;
use serde_json::{Value, json};

/// The binary, with an environment that does not depend on who runs the tests.
fn attache(home: &Scratch) -> Command {
    let mut command = Command::new(binaries::attache().unwrap());
    for variable in [
        "NO_COLOR",
        "CLICOLOR_FORCE",
        "XDG_CONFIG_HOME",
        "XDG_STATE_HOME",
    ] {
        command.env_remove(variable);
    }
    command.env("HOME", home.path()).stdin(Stdio::null());
    command
}

/// How a run ended, and its report.
struct Verified {
    code: i32,
    report: Value,
}

impl Verified {
    /// The outcomes of a verdict, by the names of their checks.
    fn of(&self, verdict: &str) -> Vec<String> {
        let outcomes = self.report["outcomes"].as_array().unwrap().iter();
        let chosen = outcomes.filter(|outcome| outcome["verdict"] == verdict);
        chosen
            .map(|it| format!("{}: {}", it["check"].as_str().unwrap(), it["found"]))
            .collect()
    }

    /// The verdict of a check, the worst if it was made in both eras.
    fn verdict(&self, check: &str) -> Option<&str> {
        let outcomes = self.report["outcomes"].as_array().unwrap().iter();
        let of_check = outcomes.filter(|outcome| outcome["check"] == check);
        let verdicts: Vec<&str> = of_check.map(|it| it["verdict"].as_str().unwrap()).collect();
        let order = ["fail", "warn", "pass", "not-offered", "not-testable"];
        order.into_iter().find(|verdict| verdicts.contains(verdict))
    }
}

fn verify(words: &[&str]) -> Verified {
    verify_in(&Scratch::new("verify").unwrap(), words)
}

/// The same with a home folder that holds something.
fn verify_in(home: &Scratch, words: &[&str]) -> Verified {
    let output = attache(home)
        .args(["verify", "--format", "json"])
        .args(words)
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let report = serde_json::from_str(&stdout);
    let report = report.unwrap_or_else(|_| panic!("no report: {stdout} {stderr}"));
    Verified {
        code: output.status.code().unwrap(),
        report,
    }
}

/// Verifies a chaos server and makes sure that nothing of it is left.
fn verify_chaos(launch: &Launch, words: &[&str]) -> Verified {
    let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    for (name, value) in &launch.env {
        let pair = format!("{}={}", name.to_string_lossy(), value.to_string_lossy());
        all.extend(["--env".to_owned(), pair]);
    }
    all.push("--".to_owned());
    all.push(launch.program.to_string_lossy().into_owned());
    all.extend(
        launch
            .args
            .iter()
            .map(|it| it.to_string_lossy().into_owned()),
    );
    let words: Vec<&str> = all.iter().map(String::as_str).collect();
    let verified = verify(&words);
    if cfg!(target_os = "linux") {
        let left = launch.tag().wait_until_gone(Duration::from_secs(10));
        assert!(left.is_ok(), "{}", left.unwrap_err());
    }
    verified
}

/// A defect, the words of the command that look for it, and the check that finds it.
struct Defect {
    name: &'static str,
    script: Script,
    words: &'static [&'static str],
    check: &'static str,
    verdict: &'static str,
}

impl Defect {
    /// Whether it is found in whatever comes, and not by a check that asks.
    fn is_rule(&self) -> bool {
        let rules = [
            "envelope.",
            "start.negotiated",
            "logging.declared",
            "discover.",
        ];
        rules.iter().any(|rule| self.check.starts_with(rule))
    }
}

fn defect(
    name: &'static str,
    check: &'static str,
    verdict: &'static str,
    script: Script,
) -> Defect {
    Defect {
        name,
        script,
        words: &[],
        check,
        verdict,
    }
}

fn legacy() -> Script {
    Script::legacy("2025-11-25")
}

fn defects() -> Vec<Defect> {
    let falling = [1.0, 0.5];
    vec![
        defect(
            "words between messages",
            "envelope.pure",
            "fail",
            legacy().on("ping", [Action::line("pong"), Action::usual()]),
        ),
        defect(
            "an id of another type",
            "answers.ids",
            "fail",
            legacy().on("ping", [Reply::usual().with_id(ReplyId::AsString).into()]),
        ),
        defect(
            "two answers",
            "answers.each-once",
            "fail",
            legacy().on("ping", [Reply::usual().twice().into()]),
        ),
        defect(
            "both result and error",
            "envelope.result-or-error",
            "fail",
            legacy().on(
                "ping",
                [Action::line(
                    r#"{"jsonrpc":"2.0","id":"$id","result":{},"error":{"code":1,"message":"m"}}"#,
                )],
            ),
        ),
        defect(
            "bytes that are not UTF-8",
            "envelope.utf8",
            "fail",
            legacy().on(
                "ping",
                [Emit::bytes(
                    b"{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{\"a\":\"\xff\"}}\n",
                )
                .into()],
            ),
        ),
        defect(
            "a crash",
            "tools.declared",
            "fail",
            legacy().on("tools/list", [Action::exit(3)]),
        ),
        defect(
            "no answer",
            "tools.declared",
            "fail",
            legacy().on("tools/list", [Action::never()]),
        ),
        defect(
            "a schema that is none",
            "tools.shape",
            "fail",
            legacy().tools([json!({"name": "bad", "inputSchema": null})]),
        ),
        defect(
            "pages without end",
            "pagination.walk",
            "fail",
            legacy().on(
                "tools/list",
                [Reply::pages(3, 2, Cursors::Repeating).into()],
            ),
        ),
        defect(
            "a question that was not allowed",
            "start.negotiated",
            "fail",
            legacy().on(
                "tools/list",
                [
                    Action::ask_and_go_on("roots/list", Value::Null),
                    Action::usual(),
                ],
            ),
        ),
        defect(
            "logs without the capability",
            "logging.declared",
            "fail",
            legacy()
                .capabilities(json!({"tools": {}}))
                .on("ping", [Action::log("info", "hello"), Action::usual()]),
        ),
        Defect {
            words: &["--call", "fall"],
            ..defect(
                "progress that falls",
                "progress.rises-and-ends",
                "fail",
                legacy().on(
                    When::tool("fall"),
                    [Action::progress(falling), Action::text("done")],
                ),
            )
        },
        Defect {
            words: &["--call", "late"],
            ..defect(
                "an answer after the cancel",
                "cancel.stops",
                "warn",
                legacy().on(
                    When::tool("late"),
                    [Action::wait_cancelled(), Action::text("late")],
                ),
            )
        },
        defect(
            "a modern server that asks",
            "discover.no-requests",
            "fail",
            Script::modern().on(
                "tools/list",
                [
                    Action::ask_and_go_on("roots/list", Value::Null),
                    Action::usual(),
                ],
            ),
        ),
        defect(
            "a modern result without its type",
            "discover.result-type",
            "fail",
            Script::modern().on("tools/list", [Action::result(json!({"tools": []}))]),
        ),
        defect(
            "a server that stays",
            "ending.end-of-input",
            "warn",
            legacy().ignores_eof(),
        ),
    ]
}

// E.2.9: verify finds each defect, and nothing of the kind on the server without it.
#[test]
fn defects_of_the_chaos_server_are_found() {
    let mut problems = Vec::new();
    for it in defects() {
        let launch = it.script.launch().unwrap();
        let mut words = vec!["--only", it.check];
        // Rules about every message need messages.
        if it.is_rule() {
            words.extend(["--only", "ping", "--only", "tools.declared"]);
        }
        words.extend(["--timeout", "2s"]);
        words.extend(it.words);
        let verified = verify_chaos(&launch, &words);
        let verdict = verified.verdict(it.check);
        if verdict != Some(it.verdict) {
            problems.push(format!("{}: {} is {verdict:?}", it.name, it.check));
        }
        let expected = if it.verdict == "fail" { 5 } else { 0 };
        if verified.code != expected {
            problems.push(format!("{}: exit code {}", it.name, verified.code));
        }
        eprintln!(
            "{}: {verdict:?} in {} ms",
            it.name, verified.report["took_ms"]
        );
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn a_process_that_is_left_behind_is_found() {
    if cfg!(not(target_os = "linux")) {
        return;
    }
    // One that ends when it is asked to may be gone before a busy machine comes to look.
    let child = Grandchild {
        setsid: true,
        ignore_term: true,
        ..Grandchild::default()
    };
    let script = legacy().on("ping", [Action::spawn(child), Action::usual()]);
    let verified = verify_chaos(&script.launch().unwrap(), &["--only", "ending.survivors"]);
    assert_eq!(verified.verdict("ending.survivors"), Some("warn"));
}

#[test]
fn a_clean_server_has_no_failure() {
    let words = [
        "--call",
        "echo={\"message\":\"hi\"}",
        "--call",
        "sleep={\"ms\":800,\"steps\":4}",
    ];
    let launch = Script::dual().launch().unwrap();
    let verified = verify_chaos(&launch, &words);
    assert_eq!(verified.of("fail"), [""; 0]);
    assert_eq!(verified.code, 0);
}

// The servers inside the program, in both eras.
#[test]
fn our_own_servers_have_no_failure() {
    let attache = binaries::attache().unwrap();
    let attache = attache.to_str().unwrap();
    let folder = Scratch::new("served").unwrap();
    let folder = folder.path().to_str().unwrap();
    for words in [
        &["--", attache, "serve", "notes", "--dir", folder][..],
        &["--", attache, "serve", "speckit", "--project", folder],
        &[
            "demo",
            "--call",
            "count={\"to\":3,\"delay_ms\":200}",
            "--call",
            "add",
        ],
        &["lisp"],
    ] {
        let verified = verify(words);
        assert_eq!(verified.of("fail"), [""; 0], "{words:?}");
        assert_eq!(verified.of("warn"), [""; 0], "{words:?}");
        assert!(verified.report["took_ms"].as_u64().unwrap() < 60_000);
        assert_eq!(verified.code, 0);
    }
}

/// What `mcp-conform`, which others wrote, says of a server.
fn conforms(program: &str, arguments: &[&str], launch: Option<&Launch>) -> bool {
    let mut command = Command::new(installed("python-conform/bin/mcp-conform"));
    let words = [&[program], arguments].concat().join(" ");
    command.args([
        "server",
        "--format",
        "json",
        "--timeout",
        "60",
        "--command",
        &words,
    ]);
    if let Some(launch) = launch {
        command.envs(launch.env.iter().map(|(name, value)| (name, value)));
    }
    let output = command.output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["total"].as_u64() > Some(0), "{report}");
    report["ok"].as_bool().unwrap()
}

#[test]
fn another_checker_agrees_about_whole_and_broken_servers() {
    let program = binaries::attache().unwrap();
    let program = program.to_str().unwrap();
    for ours in ["demo", "lisp"] {
        assert!(conforms(program, &["serve", ours], None), "{ours}");
    }
    let broken = legacy().tools([json!({"name": "shapeless", "description": "No schema."})]);
    let launch = broken.launch().unwrap();
    let arguments: Vec<&str> = launch.args.iter().map(|it| it.to_str().unwrap()).collect();
    let chaos = launch.program.to_str().unwrap();
    assert!(!conforms(chaos, &arguments, Some(&launch)));
    assert_eq!(verify_chaos(&launch, &["--only", "tools"]).code, 5);
}

#[test]
fn a_server_that_does_not_start_is_a_finding() {
    let verified = verify(&["--", "sh", "-c", "echo oh no >&2; exit 7"]);
    assert_eq!(verified.code, 5);
    let failed = verified.of("fail");
    assert!(failed[0].contains("exited with code 7"), "{failed:?}");
    assert!(failed[0].contains("oh no"), "{failed:?}");
}

#[test]
fn known_failures_are_no_news() {
    let folder = Scratch::new("baseline").unwrap();
    let file = folder.path().join("known.json");
    let script = legacy().tools([json!({"name": "bad", "inputSchema": null})]);
    let launch = script.launch().unwrap();
    let first = verify_chaos(&launch, &["--only", "tools.shape"]);
    assert_eq!(first.code, 5);
    std::fs::write(&file, first.report.to_string()).unwrap();
    let baseline = [
        "--only",
        "tools.shape",
        "--baseline",
        file.to_str().unwrap(),
    ];
    let second = verify_chaos(&launch, &baseline);
    assert_eq!(second.code, 0);
    assert_eq!(second.report["counts"]["known"], 1);
}

#[test]
fn reports_for_machines_are_escaped() {
    let script = legacy().server_info(json!({
        "name": "<script>alert(1)</script>\u{1b}[2J", "version": "1\u{202e}",
    }));
    let launch = script.launch().unwrap();
    let home = Scratch::new("verify").unwrap();
    for (format, part) in [
        ("html", "&lt;script&gt;alert(1)"),
        ("junit", "<testsuite name=\"start\""),
        ("sarif", "\"version\":\"2.1.0\""),
        ("text", "passed"),
    ] {
        let output = attache(&home)
            .args([
                "verify",
                "--only",
                "start.initialize",
                "--format",
                format,
                "--",
            ])
            .arg(&launch.program)
            .args(&launch.args)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(part), "{format}: {text}");
        assert!(
            format == "text" || !text.contains("<script>"),
            "{format}: {text}"
        );
        assert!(!text.contains('\u{1b}'), "{format}: {text}");
    }
}

// E.2.8.
#[test]
fn saved_calls_are_compared_with_what_they_expect() {
    let folder = Scratch::new("calls").unwrap();
    let file = folder.path().join("calls.toml");
    let text = "
        [[call]]
        name = 'sum'
        tool = 'add'
        arguments = { a = 1, b = 2 }
        expect = { equals = { 'structuredContent.sum' = 3 }, matches = { 'content[0].text' = '^3$' } }
        [[call]]
        name = 'wrong'
        tool = 'add'
        arguments = { a = 1, b = 2 }
        expect.equals = { 'structuredContent.sum' = 4 }
        [[call]]
        name = 'absent'
        method = 'resources/read'
        params.uri = 'demo://nothing'
        expect.code = -32602
    ";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let verified = verify(&["demo", "--only", "calls", "--calls", file]);
    assert_eq!(verified.verdict("calls.sum"), Some("pass"));
    assert_eq!(verified.verdict("calls.absent"), Some("pass"));
    assert_eq!(
        verified.of("fail"),
        ["calls.wrong: \"structuredContent.sum is 3, not 4\""]
    );
    assert_eq!(verified.code, 5);
}

// The client is ours, which lists tools in both eras.
#[test]
fn a_client_is_judged_by_a_strict_server() {
    let client = binaries::attache().unwrap();
    let client = client.to_str().unwrap();
    let verified = verify(&["--client", "--", client, "tools", "--"]);
    assert_eq!(verified.of("fail"), [""; 0]);
    assert_eq!(verified.verdict("client.initialize"), Some("pass"));
    assert_eq!(verified.verdict("client.modern-empty-cursor"), Some("pass"));
    // A client that says nothing of use.
    let verified = verify(&[
        "--client",
        "--",
        "sh",
        "-c",
        "(echo hello; sleep 1) | \"$0\"",
    ]);
    assert_eq!(verified.verdict("client.pure"), Some("fail"));
    assert_eq!(verified.verdict("client.initialize"), Some("fail"));
    assert_eq!(verified.code, 5);
}

/// Verifies a server that others wrote: whatever fails must be among the failures that were looked
/// at and are real. On a busy machine some of them may be out of time.
fn no_false_failure(words: &[&str], real: &[&str]) {
    let verified = verify(words);
    assert!(
        verified.report["counts"]["pass"].as_u64() > Some(20),
        "{words:?}"
    );
    for failure in verified.of("fail") {
        let check = failure.split(':').next().unwrap();
        assert!(real.contains(&check), "{words:?}: {failure}");
    }
}

#[test]
fn real_servers_fail_only_where_they_are_wrong() {
    let everything = reference_server("server-everything");
    // It takes 2025-03-26 and no batches, which that revision demands.
    let words = ["--", "node", everything.to_str().unwrap()];
    no_false_failure(&words, &["malformed.batch-2025-03-26"]);

    // It takes any origin, ended sessions are 400, and its store of events knows no streams.
    let listening = Listening::everything(EverythingTransport::StreamableHttp).unwrap();
    let real = ["http.origin", "sessions.ended", "resumption.replay"];
    no_false_failure(&[listening.url()], &real);

    // The SDK of 1.x dies of a cancel that crosses its answer, and answers twice before; it logs
    // what it cannot read though logging is not declared; it has no batches.
    let time = installed("python-legacy/bin/mcp-server-time");
    let real = [
        "malformed.batch-2025-03-26",
        "logging.declared",
        "cancel.race",
        "envelope.answers-open",
    ];
    no_false_failure(&["--", time.to_str().unwrap()], &real);

    let time = installed("python-modern/bin/mcp-server-time");
    no_false_failure(
        &["--", time.to_str().unwrap()],
        &["malformed.batch-2025-03-26"],
    );
}

// The transport of 2024-11-05 is found by itself, and looked at with what applies to it.
#[test]
fn a_server_of_the_older_http_transport_is_verified() {
    let listening = Listening::everything(EverythingTransport::Sse).unwrap();
    let verified = verify(&[listening.url()]);
    assert_eq!(verified.report["transport"], "http+sse");
    for check in ["sse.endpoint", "sse.messages", "tools.declared"] {
        assert_eq!(verified.verdict(check), Some("pass"), "{check}");
    }
    // It takes any origin, and takes 2025-03-26 without batches.
    for failure in verified.of("fail") {
        let check = failure.split(':').next().unwrap();
        let real = ["sse.origin", "malformed.batch-2025-03-26"];
        assert!(real.contains(&check), "{failure}");
    }
    let is_of_streamable = |check: &str| ["http", "headers", "sessions"].contains(&check);
    let outcomes = verified.report["outcomes"].as_array().unwrap();
    let mut groups = outcomes.iter().map(|it| it["group"].as_str().unwrap());
    assert!(!groups.any(is_of_streamable));
}

/// A server of the Python SDK that wants a token.
fn guarded() -> Listening {
    let python = installed("python-modern/bin/python");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/guarded.py");
    let started = Listening::start("/mcp", |port| {
        let mut command = Command::new(python);
        command.args([script, &port.to_string()]);
        command
    });
    started.unwrap()
}

// Without a login it is not testable, and not green; with one it is a server like others.
#[test]
fn a_server_behind_a_login_is_verified_as_far_as_the_login_goes() {
    let server = guarded();
    let verified = verify(&[server.url()]);
    assert_eq!(verified.code, 3);
    assert_eq!(verified.report["needs_login"], true);
    assert_eq!(verified.of("fail"), [""; 0]);
    assert_eq!(verified.verdict("start.opens"), Some("not-testable"));
    for check in ["challenge", "bad-token", "metadata"] {
        let check = format!("authorization.{check}");
        assert_eq!(verified.verdict(&check), Some("pass"), "{check}");
    }

    let words = ["guarded", "--only", "start", "--only", "authorization"];
    let configured = |home: &Scratch, auth: &str| {
        let text = format!(
            "[servers.guarded]\nurl = \"{}\"\n[servers.guarded.auth]\n{auth}\n",
            server.url()
        );
        let file = home.write("attache.toml", &text).unwrap();
        let file = file.to_str().unwrap().to_owned();
        move |home: &Scratch| verify_in(home, &[&words[..], &["--config", &file]].concat())
    };
    let is_open = |verified: &Verified| {
        assert_eq!(verified.of("fail"), [""; 0]);
        assert_eq!(
            (verified.code, verified.verdict("start.opens")),
            (0, Some("pass"))
        );
        assert_eq!(verified.verdict("authorization.challenge"), Some("pass"));
        let report = verified.report.to_string();
        assert!(!report.contains("a-token-of-the-test"), "{report}");
    };
    let home = Scratch::new("verify-token").unwrap();
    is_open(&configured(&home, "token = \"a-token-of-the-test\"")(&home));

    let home = Scratch::new("verify-login").unwrap();
    let credentials = "grant = \"client_credentials\"\nclient_id = \"t\"\nclient_secret = \"s\"";
    let verify = configured(&home, credentials);
    assert_eq!(verify(&home).code, 3);
    let file = home.path().join("attache.toml");
    let login = attache(&home)
        .args(["auth", "login", "guarded", "--config"])
        .arg(file)
        .output()
        .unwrap();
    assert!(login.status.success(), "{login:?}");
    is_open(&verify(&home));
}
