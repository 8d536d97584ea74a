//! What must work with any server.

use attache_client::protocol::{Era, Revision};
use attache_client::{Error, Meaning, Server};
use attache_testkit::scratch::Scratch;
use serde_json::{Value, json};

use crate::{node, python};

struct Case {
    server: Server,
    revision: Revision,
    tool: &'static str,
    arguments: Value,
    /// A part of the answer.
    expected: &'static str,
}

async fn check(case: Case) {
    let client = case.server.connect().await.unwrap();
    assert_eq!(client.revision(), case.revision);
    assert!(client.server().is_some());

    let tools = client.list_tools().await.unwrap();
    assert!(tools.rejected.is_empty(), "{:?}", tools.rejected);
    let tool = tools.by_name(case.tool).unwrap();
    assert!(tool.schema().contains("object"));

    let answer = client.call(case.tool, &case.arguments).await.unwrap();
    assert!(!answer.is_error, "{answer:?}");
    assert!(answer.text().contains(case.expected), "{}", answer.text());

    // Servers differ in how they refuse an unknown tool; none may leave the caller waiting.
    match client.call("no-such-tool", json!({})).await {
        Ok(answer) => assert!(answer.is_error, "{answer:?}"),
        Err(Error::Server(error)) => assert_ne!(error.code, 0),
        Err(error) => panic!("{error}"),
    }
    match client.request_raw("no/such-method", json!({})).await {
        Err(Error::Server(error)) => assert_ne!(error.meaning, Meaning::ToolFailed),
        other => panic!("{other:?}"),
    }
    if case.revision.era() == Era::Legacy {
        client.ping().await.unwrap();
    }

    let exit = client.close().await.unwrap();
    let calls = client.statistics().calls;
    assert_eq!((calls.open, calls.issued), (0, calls.ended()), "{calls}");
    // What was learned saves the probe of the second connection.
    let again = case.server.connect().await.unwrap();
    assert_eq!(again.revision(), case.revision);
    assert_eq!(again.statistics().calls.issued, 1, "after {exit}");
    again.close().await;
}

// C-STDIO-06.
#[tokio::test]
async fn everything() {
    check(Case {
        server: node("server-everything", &[]),
        revision: Revision::V2025_11_25,
        tool: "get-sum",
        arguments: json!({"a": 19, "b": 23}),
        expected: "42",
    })
    .await;
}

#[tokio::test]
async fn filesystem() {
    let scratch = Scratch::new("real").unwrap();
    scratch.write("grüße.txt", "schöne Grüße 😀\n").unwrap();
    let folder = scratch.path().canonicalize().unwrap();
    let path = folder.join("grüße.txt");
    check(Case {
        server: node("server-filesystem", &[folder.to_str().unwrap()]),
        revision: Revision::V2025_11_25,
        tool: "read_text_file",
        arguments: json!({ "path": path }),
        expected: "schöne Grüße 😀",
    })
    .await;
}

#[tokio::test]
async fn memory() {
    check(Case {
        server: node("server-memory", &[]),
        revision: Revision::V2025_11_25,
        tool: "search_nodes",
        arguments: json!({"query": "nothing has this name"}),
        expected: "entities",
    })
    .await;
}

#[tokio::test]
async fn sequential_thinking() {
    check(Case {
        server: node("server-sequential-thinking", &[]),
        revision: Revision::V2025_11_25,
        tool: "sequentialthinking",
        arguments: json!({
            "thought": "one", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1
        }),
        expected: "thoughtNumber",
    })
    .await;
}

fn time(server: Server, revision: Revision) -> Case {
    Case {
        server,
        revision,
        tool: "convert_time",
        arguments: json!({
            "source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Etc/UTC"
        }),
        expected: "Etc/UTC",
    }
}

#[tokio::test]
async fn time_of_the_modern_era() {
    let server = python("python-modern", "mcp-server-time");
    check(time(server, Revision::V2026_07_28)).await;
}

#[tokio::test]
async fn time_of_the_legacy_era() {
    let server = python("python-legacy", "mcp-server-time");
    check(time(server, Revision::V2025_11_25)).await;
}

#[tokio::test]
async fn a_server_of_both_eras_obeys_a_pinned_revision() {
    for revision in [
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
    ] {
        let server = python("python-modern", "mcp-server-time").protocol(revision);
        check(time(server, revision)).await;
    }
}
