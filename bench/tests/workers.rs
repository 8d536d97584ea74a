//! The workers of the Rust clients, each against the real server: every command
//! is fulfilled, and a wrong answer is not taken for a right one.

#![expect(
    clippy::unwrap_used,
    reason = "the function that speaks to a worker is part of the tests"
)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

const WORKERS: [&str; 5] = [
    "raw pipe",
    "blocking",
    "rmcp",
    "attache raw",
    "attache typed",
];

fn replies(client: &str, commands: &[Value]) -> Vec<Value> {
    let mut worker = Command::new(env!("CARGO_BIN_EXE_attache-bench"))
        .args(["worker", client])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = worker.stdin.take().unwrap();
    for command in commands {
        writeln!(input, "{command}").unwrap();
    }
    drop(input);
    let replies = BufReader::new(worker.stdout.take().unwrap())
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    assert!(worker.wait().unwrap().success());
    replies
}

fn open(tools: usize, connections: usize) -> Value {
    let server = env!("CARGO_BIN_EXE_bench-server");
    json!({
        "do": "open", "connections": connections,
        "server": {"program": server, "arguments": [tools.to_string()]},
    })
}

#[test]
fn every_command_gives_its_times() {
    let commands = [
        (open(1000, 2), 0),
        (json!({"do": "sequential", "calls": 10}), 10),
        (json!({"do": "in_flight", "calls": 128, "width": 64}), 1),
        (json!({"do": "text", "bytes": 300_000, "results": 3}), 3),
        (json!({"do": "list", "tools": 1000, "lists": 2}), 2),
    ];
    for client in WORKERS {
        let asked: Vec<Value> = commands
            .iter()
            .map(|(command, _)| command.clone())
            .collect();
        let replies = replies(client, &asked);
        assert_eq!(replies.len(), commands.len(), "{client}");
        for ((command, times), reply) in commands.iter().zip(&replies) {
            assert_eq!(reply.get("error"), None, "{client} on {command}");
            let found = reply["nanoseconds"].as_array().unwrap();
            assert_eq!(found.len(), *times, "{client} on {command}");
        }
    }
}

#[test]
fn a_wrong_answer_is_an_error() {
    let wrong = json!({"do": "list", "tools": 1001, "lists": 1});
    // What is raw is not looked at.
    for client in ["blocking", "rmcp", "attache typed"] {
        let replies = replies(client, &[open(1000, 1), wrong.clone()]);
        let error = replies[1]["error"].as_str().unwrap_or_default();
        assert!(error.contains("1001"), "{client}: {error}");
    }
}

#[test]
fn a_missing_server_is_an_error() {
    let server = json!({"program": "no-such-server", "arguments": []});
    let command = json!({"do": "open", "connections": 1, "server": server});
    for client in WORKERS {
        let replies = replies(client, std::slice::from_ref(&command));
        assert!(replies[0]["error"].is_string(), "{client}");
    }
}
