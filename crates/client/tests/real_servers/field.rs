//! Servers of many makes: Python, Node, Go and Rust, with the official SDKs of several versions and
//! without any. Each is listed and called, and needs neither a network nor a key.

use std::path::Path;
use std::process::Command;

use attache_client::Server;
use attache_client::protocol::Era;
use attache_testkit::http::{Answer, HttpScript, On};
use attache_testkit::real_servers::installed;
use attache_testkit::scratch::Scratch;
use serde_json::{Value, json};

use crate::{START, python, script};

/// `era` is given where it does not depend on how fast the server answers: a server of both eras
/// that is too slow for the probe may be greeted twice, and choose the legacy one.
async fn check(server: Server, era: Option<Era>, tool: &str, arguments: Value, expected: &str) {
    let client = server.start_timeout(START).connect().await.unwrap();
    if let Some(era) = era {
        assert_eq!(client.revision().era(), era);
    }
    let tools = client.list_tools().await.unwrap();
    assert!(tools.rejected.is_empty(), "{:?}", tools.rejected);
    assert!(tools.by_name(tool).is_some(), "{tools:?}");
    let answer = client.call(tool, arguments).await.unwrap();
    assert!(!answer.is_error, "{answer:?}");
    assert!(answer.text().contains(expected), "{}", answer.text());
    match client.request_raw("no/such-method", json!({})).await {
        Err(attache_client::Error::Server(_)) => {}
        other => panic!("{other:?}"),
    }
    client.close().await;
}

fn node(file: impl AsRef<Path>, words: &[&str]) -> Server {
    let words = words.iter().map(Into::into);
    let file = file.as_ref().as_os_str().to_owned();
    Server::stdio("node", std::iter::once(file).chain(words))
}

fn in_field(file: &str) -> std::path::PathBuf {
    installed(&format!("field/node_modules/{file}"))
}

/// A git repository with one commit.
fn repository() -> Scratch {
    let folder = Scratch::new("repository").unwrap();
    let commit: &[&str] = &["commit", "--quiet", "--allow-empty", "--message", "first"];
    for words in [&["init", "--quiet"], commit] {
        let ended = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
            .args(words)
            .current_dir(folder.path())
            .status()
            .unwrap();
        assert!(ended.success());
    }
    folder
}

// The example of seed 004. It fetches from a server of ours.
#[tokio::test]
async fn seed_004_mcp_server_fetch() {
    for (environment, era) in [("python-1.12", Era::Legacy), ("python-modern", Era::Modern)] {
        let page = "<html><body><h1>Rain</h1><p>It rains in Bern.</p></body></html>";
        let web = HttpScript::nothing()
            .on(On::verb("GET"), Answer::text("text/html", page))
            .start()
            .await
            .unwrap();
        let program = installed(&format!("{environment}/bin/mcp-server-fetch"));
        let mut words = vec!["--ignore-robots-txt"];
        // The newer one fetches from this machine only if it is told to.
        words.extend((era == Era::Modern).then_some("--allow-private-ips"));
        let server = Server::stdio(program, words);
        let arguments = json!({"url": web.url(), "raw": true});
        check(server, Some(era), "fetch", arguments, "It rains in Bern.").await;
    }
}

#[tokio::test]
async fn mcp_server_sqlite() {
    let folder = Scratch::new("sqlite").unwrap();
    let file = folder.path().join("notes.db");
    let program = installed("python-legacy/bin/mcp-server-sqlite");
    let server = Server::stdio(program, ["--db-path".as_ref(), file.as_os_str()]);
    let query = json!({"query": "select 41 + 1 as answer"});
    check(server, Some(Era::Legacy), "read_query", query, "42").await;
}

#[tokio::test]
async fn mcp_server_calculator() {
    let server = python("python-legacy", "mcp-server-calculator");
    let arguments = json!({"expression": "6 * 7"});
    check(server, Some(Era::Legacy), "calculate", arguments, "42").await;
}

#[tokio::test]
async fn mcp_server_git() {
    let folder = repository();
    let server = python("python-modern", "mcp-server-git");
    let arguments = json!({"repo_path": folder.path()});
    check(server, Some(Era::Modern), "git_log", arguments, "first").await;
}

#[tokio::test]
async fn chuk_mcp_server() {
    let python = installed("python-legacy/bin/python");
    let server = Server::stdio(python, [script("chuk_adder.py")]);
    let arguments = json!({"a": 2, "b": 3});
    check(server, Some(Era::Legacy), "add", arguments, "5").await;
}

#[tokio::test]
async fn mcp_server_commands() {
    let server = node(in_field("mcp-server-commands/build/index.js"), &[]);
    let arguments = json!({"command": "echo hello"});
    check(server, Some(Era::Legacy), "run_command", arguments, "hello").await;
}

#[tokio::test]
async fn tmcp() {
    let server = Server::stdio("node", [script("tmcp_answer.mjs"), in_field("")]);
    check(server, None, "answer", json!({}), "42").await;
}

// Written in Go.
#[tokio::test]
async fn kubernetes_mcp_server() {
    let folder = Scratch::new("kubernetes").unwrap();
    let config = "apiVersion: v1\nkind: Config\ncurrent-context: none\n\
                  clusters: [{name: none, cluster: {server: 'http://127.0.0.1:9'}}]\n\
                  contexts: [{name: none, context: {cluster: none, user: none}}]\n\
                  users: [{name: none, user: {}}]\n";
    folder.write("config.yaml", config).unwrap();
    let config = folder.path().join("config.yaml");
    let words = ["--kubeconfig", config.to_str().unwrap()];
    let server = node(in_field(".bin/kubernetes-mcp-server"), &words);
    check(server, None, "configuration_view", json!({}), "127.0.0.1:9").await;
}

// Written in Rust.
#[tokio::test]
async fn moon() {
    let folder = repository();
    std::fs::create_dir(folder.path().join(".moon")).unwrap();
    folder
        .write(".moon/workspace.yml", "projects: []\n")
        .unwrap();
    let server = node(in_field(".bin/moon"), &["mcp"])
        .current_dir(folder.path())
        .env("MOON_HOME", folder.path().join("home"))
        .env("PROTO_HOME", folder.path().join("proto"));
    check(
        server,
        Some(Era::Legacy),
        "get_projects",
        json!({}),
        "projects",
    )
    .await;
}
