//! Servers behind a URL, at the shell: the real binary over real sockets.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use attache_testkit::http::{Answer, HttpScript, HttpServer, On};
use attache_testkit::real_servers::{EverythingTransport, Listening, installed};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::configured::home;
use crate::harness::{Outcome, attache, finish, run};

/// `attache serve lisp` over HTTP, on a port of its own.
struct Remote {
    child: Child,
    url: String,
}

impl Remote {
    fn start() -> Self {
        Self::run(attache().args(["serve", "lisp", "--http", "127.0.0.1:0"]))
    }

    fn run(command: &mut Command) -> Self {
        let mut child = command
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

/// A scripted server, which runs beside the test.
struct Web {
    server: HttpServer,
    _runtime: Runtime,
}

impl Web {
    fn start(script: HttpScript) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        Self {
            server: runtime.block_on(script.start()).unwrap(),
            _runtime: runtime,
        }
    }

    fn url(&self) -> String {
        self.server.url()
    }
}

fn legacy() -> HttpScript {
    HttpScript::legacy("2025-11-25")
}

// S-SHL-04.
#[test]
fn a_served_server_can_ask_for_a_token() {
    let serve = ["serve", "demo", "--http", "127.0.0.1:0", "--token-env"];
    let remote = Remote::run(attache().args(serve).arg("DOOR").env("DOOR", "open-sesame"));
    let error = run(&["tools", "--json", &remote.url]).expect(3).error();
    assert_eq!(error["kind"], "auth");
    let config = format!(
        "[servers.door]\nurl = \"{}\"\nheaders = {{ Authorization = \"Bearer ${{KEY}}\" }}\n",
        remote.url
    );
    let home = home("door", &config);
    let call = ["call", "door/echo", "message=hi"];
    let told = finish(home.attache().args(call).env("KEY", "open-sesame"));
    assert_eq!(told.expect(0).stdout, "hi\n");
    // Over a pipe everybody is let in anyway, and an empty variable is no lock.
    run(&["serve", "demo", "--token-env", "DOOR"]).expect(2);
    let empty = run(&[&serve[..], &["NOTHING_IS_HERE"]].concat()).expect(2);
    assert!(
        empty.stderr.contains("NOTHING_IS_HERE holds no token"),
        "{empty:?}"
    );
}

#[test]
fn each_token_of_a_served_server_is_somebody_elses() {
    let serve = ["serve", "lisp", "--http", "127.0.0.1:0"];
    let tokens = ["--token-env", "ADA", "--token-env", "BOB"];
    let mut command = attache();
    command.args(serve).args(tokens);
    let remote = Remote::run(command.env("ADA", "a-secret").env("BOB", "b-secret"));
    let table = |name: &str, token: &str| {
        format!(
            "[servers.{name}]\nurl = \"{}\"\nheaders = {{ Authorization = \"Bearer {token}\" }}\n",
            remote.url
        )
    };
    let config = table("ada", "a-secret") + &table("bob", "b-secret") + &table("eve", "secret");
    let home = home("tokens", &config);
    let evaluate = |server: &str, code: &str| {
        let tool = format!("{server}/evaluate-lisp");
        home.run(&["call", &tool, &format!("code={code}"), "session=s"])
    };
    evaluate("ada", "(define x 1)").expect(0);
    let unbound = evaluate("bob", "x").expect(5);
    assert!(unbound.stdout.contains("unbound"), "{unbound:?}");
    assert_eq!(evaluate("ada", "x").expect(0).stdout, "1\n");
    evaluate("eve", "x").expect(3);
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

/// The four verbs on a server of any kind. Gives what `ls` says of it.
fn use_verbs(url: &str, tool: &str, call: &[&str], said: &str) -> Value {
    let tools = run(&["tools", "--json", url]).expect(0).document();
    let listed = tools["tools"].as_array().unwrap();
    assert!(listed.iter().any(|it| it["name"] == tool), "{tools}");
    assert_eq!(tools["servers"][0]["outcome"], "ok");
    let shown = run(&["tools", url]).expect(0).stdout;
    assert!(shown.contains(tool), "{shown}");

    let words = [&["call", tool, "--server", url], call].concat();
    assert_eq!(run(&words).expect(0).stdout, format!("{said}\n"));
    let words = [&["call", tool, "--json", "--server", url], call].concat();
    let answer = run(&words).expect(0).document();
    assert_eq!(answer["content"][0]["text"], said);

    let resources = run(&["resources", "--json", url]).expect(0).document();
    let uri = resources["resources"][0]["uri"].as_str().unwrap();
    let read = run(&["read", uri, "--json", "--server", url]).expect(0);
    assert_eq!(read.document()["contents"][0]["uri"], uri);
    let read = run(&["read", uri, "--server", url]).expect(0);
    assert!(!read.stdout.trim().is_empty(), "{read:?}");

    let error = run(&["call", "no-such-tool", "--json", "--server", url]).expect(5);
    assert_eq!(error.error()["kind"], "server_error");
    let servers = run(&["ls", "--json", url]).expect(0).document();
    let server = &servers["servers"][0];
    assert_eq!(server["state"], "ready", "{servers}");
    assert_eq!(server["lastError"], Value::Null);
    assert_eq!(server["counts"]["tools"], listed.len());
    server.clone()
}

#[test]
fn everything_behind_a_url_over_streamable_http() {
    let server = Listening::everything(EverythingTransport::StreamableHttp).unwrap();
    let seen = use_verbs(server.url(), "echo", &["message=hi"], "Echo: hi");
    assert_eq!(
        (&seen["era"], &seen["revision"]),
        (&json!("legacy"), &json!("2025-11-25"))
    );
}

/// In its default mode the bridge has one process for all clients, so each but the first begins the
/// session on the same pipe anew.
#[test]
fn clients_behind_supergateway_share_one_server_process() {
    let node = installed("conformance/node_modules/node/bin/node");
    let bridge = installed("conformance/node_modules/supergateway/dist/index.js");
    let served = format!("{} serve demo", env!("CARGO_BIN_EXE_attache"));
    let start = |served: &str| {
        Listening::start("/sse", |port| {
            let mut command = Command::new(&node);
            command.arg(&bridge).args(["--stdio", served, "--port"]);
            command.arg(port.to_string());
            command
        })
        .unwrap()
    };
    let call = |bridge: &Listening, message: &str| {
        let argument = format!("message={message}");
        let words = ["call", "--era", "legacy", "--server", bridge.url(), "echo"];
        run(&[&words[..], &[&argument]].concat())
    };
    let bridged = start(&served);
    for message in ["first", "second"] {
        let outcome = call(&bridged, message).expect(0);
        assert_eq!(outcome.stdout, format!("{message}\n"));
    }
    // The strict server refuses the second client, which shows that there is one process.
    let bridged = start(&format!("{served} --strict-initialized"));
    call(&bridged, "first").expect(0);
    let refused = call(&bridged, "second");
    assert!(
        refused.stderr.contains("initialized already"),
        "{refused:?}"
    );
}

#[test]
fn everything_behind_a_url_over_http_with_sse() {
    let server = Listening::everything(EverythingTransport::Sse).unwrap();
    let seen = use_verbs(server.url(), "echo", &["message=hi"], "Echo: hi");
    assert_eq!(seen["era"], "legacy");
    // The transport can be said, and then holds.
    for (transport, code) in [("sse", 0), ("http", 4)] {
        let config = format!(
            "[servers.far]\nurl = \"{}\"\ntransport = \"{transport}\"\n",
            server.url()
        );
        let home = home(&format!("flavor-{transport}"), &config);
        let outcome = home.run(&["call", "far/echo", "message=hi"]).expect(code);
        assert_eq!(outcome.stdout == "Echo: hi\n", code == 0, "{outcome:?}");
    }
}

#[test]
fn fastmcp_behind_a_url() {
    let server = Listening::fastmcp().unwrap();
    use_verbs(server.url(), "add", &["a=2", "b=3"], "5");
    let words = ["prompt", "greet", "name=Ada", "--server", server.url()];
    let prompt = run(&words).expect(0).stdout;
    assert!(prompt.contains("Greet Ada."), "{prompt}");
    let legacy = run(&["ls", "--json", "--era", "legacy", server.url()]).expect(0);
    assert_eq!(legacy.document()["servers"][0]["era"], "legacy");
}

/// X-AUTH-36 and S8 for the user's own headers: they arrive with every request, and are shown
/// nowhere.
#[test]
fn headers_with_variables_arrive_and_are_never_shown() {
    const SECRET: &str = "s3cret-of-the-test";
    // It tells its secrets to whoever asks, in an error and in a log message.
    let gossip = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {
        "level": "error", "data": format!("was sent {SECRET}"),
    }});
    let talks = Answer::events().message(&gossip).message(&json!({
        "jsonrpc": "2.0", "id": "$id", "result": {"content": [{"type": "text", "text": "done"}]},
    }));
    let web = Web::start(legacy().on(On::tool("echo"), talks));
    let config = format!(
        "[servers.far]\nurl = \"{}\"\n\
         headers = {{ Authorization = \"Bearer ${{FAR_TOKEN}}\", X-Team = \"${{FAR_TEAM:-blue}}\" }}\n",
        web.url()
    );
    let home = home("headers", &config);
    let told = |words: &[&str], code| -> Outcome {
        let outcome = finish(home.attache().args(words).env("FAR_TOKEN", SECRET)).expect(code);
        for text in [&outcome.stdout, &outcome.stderr] {
            assert!(!text.contains(SECRET), "{words:?}: {outcome:?}");
        }
        outcome
    };
    told(&["tools", "far"], 0);
    told(&["ls", "--json", "-v"], 0);
    assert_eq!(told(&["call", "far/echo"], 0).stdout, "done\n");
    told(&["read", "test://a", "--server", "far", "-v"], 0);
    told(&["config", "check"], 0);
    told(&["config", "check", "--json"], 0);
    told(&["doctor", "far"], 0);
    told(&["config", "export"], 0);
    let requests = web.server.requests();
    assert!(requests.len() > 10);
    for request in requests {
        let described = format!("{} {}", request.verb, request.method());
        let expected = format!("Bearer {SECRET}");
        assert_eq!(
            request.header("authorization"),
            Some(&*expected),
            "{described}"
        );
        assert_eq!(request.header("x-team"), Some("blue"), "{described}");
    }
    let logs = told(&["logs", "far"], 0).stdout;
    assert!(logs.contains("was sent ***"), "{logs}");
    assert_nowhere_in(home.path(), SECRET);

    // Without the variable nobody is asked, and the variable is named.
    let before = web.server.connections();
    let error = home.run(&["tools", "far", "--json"]).expect(2).error();
    assert!(
        error["message"].as_str().unwrap().contains("FAR_TOKEN"),
        "{error}"
    );
    assert_eq!(web.server.connections(), before);
}

/// No file below the folder holds this text.
fn assert_nowhere_in(folder: &std::path::Path, text: &str) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_nowhere_in(&path, text);
        } else {
            let held = std::fs::read(&path).unwrap();
            let held = String::from_utf8_lossy(&held);
            assert!(!held.contains(text), "{}", path.display());
        }
    }
}

#[test]
fn fault_56_a_read_survives_a_lost_session_and_a_call_is_reported_as_unknown() {
    let lost = |on: On| {
        let on = on.with_header("mcp-session-id", "session-1");
        legacy().on(on, Answer::status(404))
    };
    let web = Web::start(lost(On::rpc("resources/read")));
    let url = web.url();
    let read = run(&["read", "test://a", "--server", &url]).expect(0);
    assert_eq!(read.stdout, "contents\n");
    assert_eq!(web.server.count_of("initialize"), 2, "one re-initialise");
    assert_eq!(web.server.count_of("resources/read"), 2);

    for words in [
        &["call", "echo", "--json", "--server"][..],
        // Without a list nothing has proven the session, so it is not worth another.
        &["call", "echo", "--json", "--no-list", "--server"],
    ] {
        let web = Web::start(lost(On::tool("echo")));
        let url = web.url();
        let error = run(&[words, &[&url]].concat()).expect(8).error();
        assert_eq!(error["kind"], "outcome_unknown", "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("may have"), "{message}");
        assert_eq!(web.server.count_of("tools/call"), 1, "it is not replayed");
        assert!(web.server.count_of("initialize") <= 2);
    }
}

#[test]
fn promise_9_a_server_that_closes_at_once_sees_few_connections() {
    let web = Web::start(HttpScript::nothing().on(On::any(), Answer::close()));
    for words in [&["tools"][..], &["ls"], &["watch", "--tools", "--server"]] {
        let before = web.server.connections();
        let url = web.url();
        run(&[words, &[&url]].concat()).expect(4);
        let seen = web.server.connections() - before;
        assert!((1..=10).contains(&seen), "{words:?}: {seen}");
    }
}

/// The pace itself is shown as a table in the client, and over a whole minute of a paused clock.
#[cfg(unix)]
#[test]
fn promise_9_a_watch_reopens_a_stream_that_closes_at_once_ever_more_slowly() {
    use std::time::Duration;

    use crate::harness::wait_until;

    let web = Web::start(legacy().on(On::verb("GET"), Answer::close()));
    let streams = || web.server.requests_by("GET");
    let mut watch = attache()
        .args(["watch", "--tools", "--server", &web.url()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("reconnects", || streams().len() >= 4);
    let killed = std::process::Command::new("kill")
        .args(["-INT", &watch.id().to_string()])
        .status();
    assert!(killed.unwrap().success());
    assert_eq!(watch.wait().unwrap().code(), Some(0));
    let times: Vec<_> = streams().iter().map(|it| it.at).collect();
    let pauses: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (pause, least) in pauses.iter().zip([95, 190, 390, 790]) {
        assert!(*pause >= Duration::from_millis(least), "{pauses:?}");
    }
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
    // It asks for nothing, so there is nowhere to log in, and no need to.
    let login = run(&["auth", "login", "--json", &remote.url]).expect(0);
    assert_eq!(login.document()["state"], "no login needed here");
    let said = run(&["auth", "login", &remote.url]).expect(0).stdout;
    assert!(
        said.contains("needs no login: it answers without one"),
        "{said}"
    );
    // One that is not there at all is another matter.
    let nowhere = remote.url.replace("/mcp", "/elsewhere");
    let error = run(&["auth", "login", "--json", &nowhere])
        .expect(3)
        .error();
    assert_eq!(error["kind"], "auth");
}
