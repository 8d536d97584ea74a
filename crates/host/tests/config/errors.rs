//! Every error of the file: place, key, cause and remedy.

use attache_host::config::Severity;

use crate::read;

/// Checks the problems of a text, one line each as the user sees them.
#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let config = read(text);
    let shown: Vec<String> = config.problems.iter().map(ToString::to_string).collect();
    let expected: Vec<String> = expected
        .iter()
        .map(|line| format!("/cfg/attache.toml:{line}"))
        .collect();
    assert_eq!(shown, expected, "for:\n{text}");
}

#[test]
fn keys() {
    check(
        "[servers.a]\ncomand = 'x'\n",
        &[
            "1:10: servers.a: nothing says how to reach this server; give it a \"command\" to \
             start or a \"url\" to call",
            "2:1: servers.a.comand: unknown key; did you mean \"command\"?",
        ],
    );
    check(
        "[server.a]\ncommand = 'x'\n",
        &["1:2: server: unknown key; did you mean \"servers\"?"],
    );
    check(
        "[servers.a]\ncommand = 'x'\n[servers.a.timeouts]\n  inizialize = 5\n",
        &["4:3: servers.a.timeouts.inizialize: unknown key; did you mean \"initialize\"?"],
    );
    check(
        "[cache]\nsize = 5\n",
        &["2:1: cache.size: unknown key; known here: bytes"],
    );
    check(
        "servers.a = { command = 'x', 'éé' = 1 }",
        &[
            "1:30: servers.a.\"éé\": unknown key; known here: command, args, env, cwd, url, headers, \
           ca_file, auth, allow_plain_http, transport, profile, dialect, era, protocol, quirks, timeouts, \
           retry, client, log_level, capabilities, restart, cache, policy, start, enabled, tools, projects",
        ],
    );
}

#[test]
fn types_and_ranges() {
    check(
        "[servers.a]\ncommand = 5\nargs = 'x'\nenabled = 'yes'\nstart = true\n",
        &[
            "2:1: servers.a.command: expected a text, found a whole number",
            "3:1: servers.a.args: expected a list of texts, found a text",
            "4:1: servers.a.enabled: expected true or false, found a text",
            "5:1: servers.a.start: expected \"lazy\" or \"eager\", found true or false",
        ],
    );
    check(
        "[servers.a]\ncommand = ''\nargs = ['x', 5]\n",
        &[
            "2:1: servers.a.command: the command is empty",
            "3:1: servers.a.args: expected a text, found a whole number",
        ],
    );
    check(
        "[servers.a]\ncommand = 'x'\ntimeouts = { call = 0, read = '2 days', request = '25h' }\n",
        &[
            "3:14: servers.a.timeouts.call: the time is not between 1 ms and 24 hours",
            "3:24: servers.a.timeouts.read: expected a time, such as \"2s\" or 500 \
             (milliseconds), found a text",
            "3:41: servers.a.timeouts.request: the time is not between 1 ms and 24 hours",
        ],
    );
    check(
        "[servers.a]\ncommand = 'x'\nrestart = { starts = 0 }\ncache = 5\npolicy = 'alow'\n",
        &[
            "3:13: servers.a.restart.starts: 0 is not between 1 and 1000",
            "4:1: servers.a.cache: expected \"on\", \"off\" or a table, found a whole number",
            "5:1: servers.a.policy: \"alow\" is not one of \"ask\", \"allow\", \"deny\"; did you \
             mean \"allow\"?",
        ],
    );
    check(
        "[servers.a]\ncommand = 'x'\nrestart = { backoff_first = '1m' }\n",
        &[
            "3:13: servers.a.restart.backoff_first: the first back-off is longer than the longest; \
           set \"backoff_longest\" too",
        ],
    );
    check(
        "servers = 5",
        &["1:1: servers: expected a table, found a whole number"],
    );
    check(
        "[servers]\na = 5",
        &["2:1: servers.a: expected a table, found a whole number"],
    );
    check(
        "[servers.a]\ncommand = 'x'\n[servers.a.tools]\ninclude = [5]\n",
        &[
            "4:1: servers.a.tools.include: expected a list of names, in which \"*\" stands for \
           anything, found a list",
        ],
    );
}

// X-STDIO-07.
#[test]
fn transports() {
    check(
        "[servers.a]\ncommand = 'x'\nurl = 'https://x'\n",
        &["3:1: servers.a.url: a server has a command or a URL, not both; delete one of them"],
    );
    check(
        "[servers.a]\ncommand = 'x'\ntransport = 'http'\nheaders = {}\n",
        &[
            "3:1: servers.a.transport: a server with a command is reached over stdio; delete this \
           line",
        ],
    );
    check(
        "[servers.a]\ncommand = 'x'\nheaders = {}\n",
        &["3:1: servers.a.headers: only a server with a \"url\" has this; delete it"],
    );
    check(
        "[servers.a]\nurl = 'https://x'\nargs = []\n",
        &["3:1: servers.a.args: only a server with a \"command\" has this; delete it"],
    );
    check(
        "[mcp]\nendpoint = 'https://x'\nurl = 'https://y'\n",
        &["3:1: mcp.url: \"endpoint\" says it already; delete one of them"],
    );
    for (url, cause) in [
        (
            "ftp://x",
            "the URL does not begin with https:// or http:// or wss:// or ws://",
        ),
        ("https://", "the URL names no host"),
        ("https://user@/x", "the URL names no host"),
        ("http://:80/", "the URL names no host"),
        ("http://a b/", "the URL has a space or control character"),
    ] {
        let config = read(&format!("[servers.a]\nurl = '{url}'\n"));
        assert!(config.servers.is_empty(), "{url}");
        assert_eq!(config.problems[0].message, cause, "{url}");
    }
    let config = read("[servers.a]\nurl = 'https://me:pw@host/'\n");
    assert_eq!(config.problems[0].severity, Severity::Warning);
    assert_eq!(config.servers.len(), 1);
    check(
        "[servers.a]\nurl = 'https://x'\nheaders = { 'a b' = '1', ok = \"x\\ny\" }\n",
        &[
            "3:1: servers.a.headers: \"a b\" is no name of a header",
            "3:1: servers.a.headers: the value of \"ok\" has a control character",
        ],
    );
    check(
        "[servers.a]\nurl = 'https://x'\n[servers.a.auth]\ngrant = 'client_credentials'\n",
        &[
            "4:1: servers.a.auth.grant: this grant needs a client that was registered beforehand; \
           give \"client_id\" and \"client_secret\"",
        ],
    );
    check(
        "[servers.a]\ncommand = 'x'\nenv = { 'A=B' = '1' }\n",
        &["3:1: servers.a.env: \"A=B\" is no name of an environment variable"],
    );
}

#[test]
fn versions_and_quirks() {
    check(
        "[servers.a]\ncommand = 'x'\nera = 'modern'\nprotocol = '2024-11-05'\n",
        &[
            "4:1: servers.a.protocol: 2024-11-05 is a legacy revision; let \"era\" and \"protocol\" \
           agree, or delete one",
        ],
    );
    check(
        "[servers.a]\ncommand = 'x'\nprotocol = '2024-11-06'\n",
        &[
            "3:1: servers.a.protocol: \"2024-11-06\" is not one of \"newest\", \
           \"2026-07-28\", \"2025-11-25\", \"2025-06-18\", \"2025-03-26\", \"2024-11-05\"; did you mean \
           \"2024-11-05\"?",
        ],
    );
    check(
        "[servers.a]\ncommand = 'x'\nprofile = 'interactiv'\nquirks = { error_aliases = \
         { x = 'cancelled', 5 = 'canceled' } }\n",
        &[
            "3:1: servers.a.profile: \"interactiv\" is not one of \"standard\", \"interactive\", \
             \"workflow\"; did you mean \"interactive\"?",
            "4:30: servers.a.quirks.error_aliases.x: an error code is a whole number",
            "4:47: servers.a.quirks.error_aliases.5: \"canceled\" is not one of \
             \"resource_not_found\", \"tool_failed\", \"cancelled\", \"timeout\"; did you mean \"cancelled\"?",
        ],
    );
}

#[test]
fn names() {
    check(
        "[servers.'my notes']\ncommand = 'x'\n",
        &[
            "1:10: servers.\"my notes\": a server name has letters, digits, \"_\", \"-\" and \".\", \
           not ' '; for example \"my-notes\"",
        ],
    );
    check(
        "[servers.default]\ncommand = 'x'\n[mcp]\ncommand = 'y'\n",
        &["3:2: mcp: [servers.default] describes the same server; keep one of the two"],
    );
}

#[test]
fn variables() {
    check(
        "[servers.a]\ncommand = '${NOPE}'\nargs = ['${', '${a b}']\nenv = { X = '${GONE}' }\n",
        &[
            "2:1: servers.a.command: the environment variable NOPE is not set; set it, or write \
             \"${NOPE:-default}\"",
            "3:1: servers.a.args: a \"${\" has no \"}\"; write \"${NAME}\", or \"$${\" for the \
             characters themselves",
            "4:9: servers.a.env.X: the environment variable GONE is not set; set it, or write \
             \"${GONE:-default}\"",
        ],
    );
}

#[test]
fn a_bad_server_spoils_itself_only_and_all_errors_come_together() {
    let config = read(
        "[servers.good]\ncommand = 'x'\n\n[servers.bad]\ncommand = 5\nera = 'x'\n\n\
         [servers.worse]\n\n[servers.fine]\nurl = 'https://h'\n\n[polcy]\n",
    );
    let names: Vec<&str> = config.servers.keys().map(|name| name.as_str()).collect();
    assert_eq!(names, ["fine", "good"]);
    let spoilt: Vec<_> = config
        .problems
        .iter()
        .map(|problem| (problem.line, problem.server.as_deref()))
        .collect();
    assert_eq!(
        spoilt,
        [
            (5, Some("bad")),
            (6, Some("bad")),
            (8, Some("worse")),
            (13, None)
        ]
    );
    assert!(config.has_errors());
}

#[test]
fn a_text_that_is_no_toml_is_told_with_its_place() {
    let config = read("[servers.a]\ncommand = 'x'\nargs = [\n");
    assert!(config.servers.is_empty());
    let [problem] = config.problems.as_slice() else {
        panic!("{:?}", config.problems);
    };
    assert_eq!(problem.line, 3, "{problem}");
    assert!(!problem.message.is_empty());
    let twice = read("[servers.a]\ncommand = 'x'\n[servers.a]\ncommand = 'y'\n");
    assert_eq!(twice.problems[0].line, 3, "{}", twice.problems[0]);
}

#[test]
fn a_token_over_plain_http_is_an_error_unless_it_is_allowed() {
    let auth = "auth = { token = 't' }";
    let header = "headers = { authorization = 'Bearer t' }";
    for (url, credentials, is_error) in [
        ("http://mcp.example", auth, true),
        ("http://mcp.example", header, true),
        ("http://192.168.1.9/mcp", auth, true),
        ("http://mcp.example", "headers = { X-Region = 'eu' }", false),
        ("https://mcp.example", auth, false),
        ("http://127.0.0.1:9/mcp", auth, false),
        ("http://localhost:9/mcp", header, false),
    ] {
        let text = format!("[servers.a]\nurl = '{url}'\n{credentials}\n");
        let config = crate::read(&text);
        assert_eq!(config.has_errors(), is_error, "{text}{:?}", config.problems);
        let allowed = crate::read(&format!("{text}allow_plain_http = true\n"));
        assert_eq!(allowed.problems, [], "{text}");
        assert!(allowed.servers.contains_key("a"));
    }
}
