//! One cause and one remedy for each way a server can be ill.

use attache_testkit::http::{Answer, HttpScript, HttpServer, On, Tunnel, TunnelProxy};
use attache_testkit::tls::{Authority, Identity, Offer, TlsDoor, Validity};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::configured::{after, home};
use crate::harness::{Folder, finish, hostile, run, toml_server};

fn shell(name: &str, script: &str) -> String {
    toml_server(name, &["sh", "-c", script].map(str::to_owned))
}

#[test]
fn the_doctor_names_one_cause_and_one_remedy() {
    let folder = Folder::new("doctor-bin");
    let npx = folder.write("npx", "#!/bin/sh\nexec sleep 1000\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&npx, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let npx = [npx.display().to_string(), "-y".to_owned(), "pkg".to_owned()];
    let soon = "timeouts = { initialize = '1s' }\n";
    let config = [
        after("healthy", ":"),
        toml_server("missing", &["no-such-command-anywhere".to_owned()]),
        toml_server("slow", &npx),
        soon.to_owned(),
        shell("silent", "exec sleep 1000"),
        soon.to_owned(),
        shell("webby", "echo Listening on port 3000; exec sleep 1000"),
        soon.to_owned(),
        shell("leaving", "echo API_KEY is not set >&2; exit 3"),
        shell(
            "stuck",
            "echo Error: cannot reach the database >&2; echo '    at x.js:1' >&2; exec sleep 1000",
        ),
        soon.to_owned(),
        shell(
            "unknown",
            "echo open this URL to log in: https://notes.example >&2; exec sleep 1000",
        ),
        soon.to_owned(),
        after("chatty", "echo Server listening"),
        toml_server("old", &hostile()),
        "era = 'modern'\n".to_owned(),
        "[servers.misspelt]\ncomand = 'x'\n".to_owned(),
        shell("off", "exit"),
        "enabled = false\n".to_owned(),
    ];
    let home = home("doctor", &config.concat());
    let outcome = home.run(&["doctor", "--json"]).expect(4);
    let document = outcome.document();
    let servers = document["servers"].as_array().unwrap();
    for (name, verdict, cause, remedy) in [
        (
            "missing",
            "command_not_found",
            "`no-such-command-anywhere`",
            "install it",
        ),
        (
            "slow",
            "downloading",
            "npx was not done within 1s",
            "once by hand",
        ),
        (
            "silent",
            "never_answers",
            "did not answer within 1s",
            "speaks over stdio",
        ),
        (
            "webby",
            "never_answers",
            "its stdout says: Listening on port 3000",
            "give its address as `url`",
        ),
        (
            "leaving",
            "exits",
            "says: API_KEY is not set",
            "a variable in `env`",
        ),
        (
            "stuck",
            "never_answers",
            "its stderr says: Error: cannot reach the database",
            "mend what it complains about",
        ),
        (
            "unknown",
            "never_answers",
            "its stderr says: open this URL to log in: https://notes.example",
            "log in",
        ),
        (
            "chatty",
            "polluted_stdout",
            "what is no message (1 line: Server listening)",
            "stderr",
        ),
        (
            "old",
            "wrong_era",
            "speak era modern, but speaks legacy 2025-06-18",
            "leave out `era`",
        ),
        ("misspelt", "bad_configuration", "attache.toml:", "command"),
        ("off", "disabled", "switched off", "enabled = true"),
    ] {
        let found = servers.iter().find(|server| server["name"] == name);
        let found = found.unwrap_or_else(|| panic!("no {name} in {document}"));
        assert_eq!(found["verdict"], verdict, "{found}");
        let says = |member: &str, text: &str| found[member].as_str().unwrap().contains(text);
        assert!(says("cause", cause), "{found}");
        assert!(says("remedy", remedy), "{found}");
    }
    let healthy = servers.iter().find(|server| server["name"] == "healthy");
    let healthy = healthy.unwrap();
    assert_eq!(healthy["verdict"], "healthy");
    assert_eq!(healthy["cause"], Value::Null);
    let message = outcome.error()["message"].clone();
    assert_eq!(
        message,
        "3 of 12 servers answered; \
         not leaving, missing, misspelt, old, silent, slow, stuck, unknown, webby"
    );
}

#[test]
fn a_command_is_examined_too() {
    let home = Folder::new("doctor-command");
    let outcome = home.run(&["doctor"]).expect(0);
    assert_eq!(outcome.stdout, "demo  healthy\n");
    let outcome = home
        .run(&["doctor", "--", "sh", "-c", "echo broken >&2; exit 3"])
        .expect(4);
    insta::assert_snapshot!(outcome.stdout, @r"
    sh  it exits at once (exited with code 3) and says: broken
        remedy: mend what it complains about: an argument, a variable in `env`, a file
    ");
}

/// Parts of the network, each on a thread of the runtime that lives as long as the test.
struct Network {
    runtime: Runtime,
}

impl Network {
    fn new() -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        Self { runtime }
    }

    fn web(&self, script: HttpScript) -> HttpServer {
        self.runtime.block_on(script.start()).unwrap()
    }

    /// A server to which every request is answered alike.
    fn always(&self, answer: Answer) -> HttpServer {
        self.web(HttpScript::nothing().on(On::any(), answer))
    }

    fn door(&self, web: &HttpServer, identity: Identity) -> TlsDoor {
        let door = TlsDoor::open(web.address(), identity, Offer::Http2);
        self.runtime.block_on(door).unwrap()
    }

    fn tunnel(&self, tunnel: Tunnel) -> TunnelProxy {
        self.runtime.block_on(TunnelProxy::start(tunnel)).unwrap()
    }

    /// A port where nobody listens.
    fn nobody(&self) -> std::net::SocketAddr {
        self.web(HttpScript::nothing()).address()
    }
}

fn legacy() -> HttpScript {
    HttpScript::legacy("2025-11-25")
}

/// Where a server at `/mcp` says who issues its tokens (RFC 9728).
const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource/mcp";

/// A server that wants a login, with an authorization server at the same address.
fn with_login() -> HttpScript {
    let metadata = json!({
        "resource": "http://$host/mcp",
        "authorization_servers": ["http://$host"],
    });
    let issuer = json!({
        "issuer": "http://$host",
        "authorization_endpoint": "http://$host/authorize",
        "token_endpoint": "http://$host/token",
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
    });
    let challenge = Answer::status(401).header("WWW-Authenticate", "Bearer");
    HttpScript::nothing()
        .on(On::any().at("/mcp"), challenge)
        .on(On::any().at(RESOURCE_METADATA), Answer::json(&metadata))
        .on(
            On::any().at("/.well-known/oauth-authorization-server"),
            Answer::json(&issuer),
        )
}

fn url_server(name: &str, url: &str, more: &str) -> String {
    format!("[servers.{name}]\nurl = '{url}'\n{more}\n")
}

fn at_https(web: &HttpServer) -> String {
    format!("https://{}/mcp", web.address())
}

/// The finding about one server.
fn about<'a>(document: &'a Value, name: &str) -> &'a Value {
    let servers = document["servers"].as_array().unwrap();
    let found = servers.iter().find(|server| server["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {document}"))
}

/// Checks verdict, cause and remedy of a server behind a URL.
#[track_caller]
fn check(document: &Value, name: &str, verdict: &str, cause: &str, remedy: &str) {
    let found = about(document, name);
    assert_eq!(found["verdict"], verdict, "{found}");
    for (member, part) in [("cause", cause), ("remedy", remedy)] {
        let text = found[member].as_str().unwrap();
        assert!(text.contains(part), "{found}");
        // There is no program whose streams one could look at.
        for foreign in ["stdio", "stderr", "stdout", "command"] {
            assert!(!text.contains(foreign), "{found}");
        }
    }
}

#[test]
fn the_doctor_names_what_stands_between_it_and_a_url() {
    let network = Network::new();
    let root = Authority::new().unwrap();
    let good = network.web(legacy());
    let identity = |name, validity| root.identity(name, validity).unwrap();
    let door = network.door(&good, identity("127.0.0.1", Validity::Now));
    let foreign = network.door(&good, identity("elsewhere.example", Validity::Now));
    let expired = network.door(&good, identity("127.0.0.1", Validity::Over));
    let away = Answer::status(308).header("Location", "https://elsewhere.example/mcp");
    let away = network.always(away);
    let nothing = network.web(HttpScript::nothing());
    let page = network.always(Answer::text("text/html", "<h1>Welcome</h1>"));
    let failing = network.always(Answer::status(500));
    let silent = network.always(Answer::stalled());
    let login = network.web(with_login());
    // It names an authorization server of which nothing can be learnt.
    let nowhere = json!({
        "resource": "http://$host/mcp",
        "authorization_servers": ["http://$host/nowhere"],
    });
    let no_metadata = with_login().on(On::any().at(RESOURCE_METADATA), Answer::json(&nowhere));
    let no_metadata = network.web(no_metadata);

    let folder = Folder::new("doctor-root");
    let pem = folder.write("root.pem", root.pem());
    let ca_file = format!("ca_file = '{}'", pem.display());
    let config = [
        url_server("good", &good.url(), ""),
        url_server("trusted", &door.url(), &ca_file),
        url_server("root", &door.url(), ""),
        url_server("name", &foreign.url(), &ca_file),
        url_server("expired", &expired.url(), &ca_file),
        url_server("plain", &at_https(&good), &ca_file),
        url_server("away", &away.url(), ""),
        url_server("nothing", &nothing.url(), ""),
        url_server("page", &page.url(), ""),
        url_server("failing", &failing.url(), ""),
        url_server("silent", &silent.url(), "timeouts = { initialize = '1s' }"),
        url_server("gone", &format!("http://{}/mcp", network.nobody()), ""),
        url_server("unknown", "http://no-such-host.invalid/mcp", ""),
        url_server("old", &good.url(), "era = 'modern'"),
        url_server("login", &login.url(), ""),
        url_server("nowhere", &no_metadata.url(), ""),
        url_server("token", &login.url(), "auth = { token = 'worn out' }"),
        url_server(
            "secret",
            &login.url(),
            "headers = { Authorization = 'worn out' }",
        ),
        url_server("no-roots", &door.url(), "ca_file = '/no/such/file.pem'"),
    ];
    let home = home("doctor-url", &config.concat());
    let document = home.run(&["doctor", "--json"]).expect(4).document();

    for healthy in ["good", "trusted"] {
        assert_eq!(
            about(&document, healthy)["verdict"],
            "healthy",
            "{document}"
        );
    }
    let address = door.address().to_string();
    for (name, verdict, cause, remedy) in [
        ("root", "untrusted_root", &*address, "`ca_file`"),
        ("name", "bad_certificate", "elsewhere.example", "name"),
        ("expired", "bad_certificate", "has expired", "clock"),
        ("plain", "no_tls", "TLS failed", "port"),
        (
            "away",
            "redirected",
            "https://elsewhere.example/mcp",
            "`url`",
        ),
        ("nothing", "wrong_address", "status 404", "path"),
        ("page", "wrong_address", "text/html", "path"),
        ("failing", "server_fails", "status 500", "those who run it"),
        (
            "silent",
            "never_answers",
            "within 1s",
            "`timeouts.initialize`",
        ),
        ("gone", "nobody_listens", "takes no connections", "port"),
        (
            "unknown",
            "name_not_found",
            "no-such-host.invalid",
            "spelling",
        ),
        ("old", "wrong_era", "speaks legacy 2025-11-25", "`era`"),
        (
            "login",
            "login_required",
            "requires a login at http://127.0.0.1",
            "`attache auth login login`",
        ),
        (
            "nowhere",
            "login_unavailable",
            "at finding its authorization server",
            "`auth.token`",
        ),
        (
            "token",
            "login_refused",
            "using the credentials",
            "`auth.token`",
        ),
        (
            "secret",
            "login_refused",
            "using the credentials",
            "`headers`",
        ),
        (
            "no-roots",
            "bad_configuration",
            "/no/such/file.pem",
            "`ca_file`",
        ),
    ] {
        check(&document, name, verdict, cause, remedy);
    }
    assert!(!document.to_string().contains("worn out"), "{document}");
}

#[test]
fn a_url_that_was_typed_is_examined_and_named_as_it_was_typed() {
    let network = Network::new();
    let login = network.web(with_login());
    let document = run(&["doctor", "--json", &login.url()])
        .expect(4)
        .document();
    let found = &document["servers"][0];
    assert_eq!(found["verdict"], "login_required", "{found}");
    let remedy = format!("run `attache auth login {}`", login.url());
    assert_eq!(found["remedy"], remedy.as_str());
}

#[test]
fn proxies_of_the_environment_are_used_and_named_when_they_fail() {
    let network = Network::new();
    let root = Authority::new().unwrap();
    let web = network.web(legacy());
    let identity = root.identity("mcp.invalid", Validity::Now).unwrap();
    let door = network.door(&web, identity);
    let tunnel = network.tunnel(Tunnel::To(door.address()));
    let refusing = network.tunnel(Tunnel::Refused(407));
    let folder = Folder::new("doctor-proxy-root");
    let pem = folder.write("root.pem", root.pem());
    let ca_file = format!("ca_file = '{}'", pem.display());
    // Nobody but a proxy knows what these names mean.
    let config = [
        url_server("plain", "http://mcp.invalid/mcp", ""),
        url_server("secure", "https://mcp.invalid/mcp", &ca_file),
        url_server("direct", &web.url(), ""),
    ];
    let home = home("doctor-proxy", &config.concat());
    let examined = |http_proxy: String, https_proxy: String, code: i32| {
        let outcome = finish(
            home.attache()
                .args(["doctor", "--json"])
                .env("HTTP_PROXY", http_proxy)
                .env("HTTPS_PROXY", https_proxy)
                .env("NO_PROXY", "127.0.0.1"),
        );
        outcome.expect(code).document()
    };

    let document = examined(
        format!("http://{}", web.address()),
        format!("http://{}", tunnel.address()),
        0,
    );
    for name in ["plain", "secure", "direct"] {
        assert_eq!(about(&document, name)["verdict"], "healthy", "{document}");
    }
    let asked = tunnel.asked();
    assert!(asked.iter().all(|it| it.path == "mcp.invalid:443"));
    assert_eq!(door.chosen(), vec!["h2"; asked.len()]);
    let paths: Vec<String> = web.requests().into_iter().map(|it| it.path).collect();
    assert!(paths.iter().any(|path| path == "http://mcp.invalid/mcp"));

    let gone = network.nobody();
    let document = examined(
        format!("http://me:s3cret@{}", refusing.address()),
        format!("http://me:s3cret@{gone}"),
        4,
    );
    let refusing = refusing.address().to_string();
    check(&document, "plain", "proxy", &refusing, "NAME:PASSWORD");
    check(&document, "secure", "proxy", &gone.to_string(), "NO_PROXY");
    assert_eq!(about(&document, "direct")["verdict"], "healthy");
    assert!(!document.to_string().contains("s3cret"), "{document}");
}

/// What holds is a matter of the kernel; that it is told is not.
#[cfg(target_os = "linux")]
#[test]
fn the_evaluator_says_what_holds_its_workers() {
    let outcome = run(&["doctor", "lisp"]).expect(0);
    let line = outcome.stdout.lines().nth(1).unwrap_or_default();
    assert!(
        line.starts_with("      its workers are held by: resource limits, "),
        "{outcome:?}"
    );
    assert!(line.contains("Landlock"), "{line}");
    let document = run(&["doctor", "lisp", "--json"]).expect(0).document();
    let confinement = &document["servers"][0]["confinement"];
    assert_eq!(confinement["limits"], "whole", "{document}");
    assert_eq!(confinement["seccomp"], "whole", "{document}");
    assert!(confinement["landlock"].is_string(), "{document}");
    // Other servers have nothing of the kind.
    let document = run(&["doctor", "--json"]).expect(0).document();
    assert_eq!(document["servers"][0].get("confinement"), None);
}
