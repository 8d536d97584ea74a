//! The default path is fast enough for 100,000 calls in a test (P1).

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::thread;
use std::time::Instant;

use attache_testkit::chaos::Script;
use serde_json::json;

const CALLS: usize = 20_000;

#[test]
fn side_effects_of_many_calls_are_answered_and_logged_once_each() {
    let launch = Script::legacy("2025-06-18").launch().unwrap();
    let mut server = launch
        .command()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = server.stdin.take().unwrap();
    let begun = Instant::now();
    let writer = thread::spawn(move || {
        for id in 0..CALLS {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
                "name": "side_effect", "arguments": {"key": format!("k{id}")},
            }});
            stdin.write_all(format!("{call}\n").as_bytes()).unwrap();
        }
    });
    let answers = BufReader::new(server.stdout.take().unwrap())
        .lines()
        .count();
    writer.join().unwrap();
    server.wait().unwrap();
    println!(
        "{} calls per second",
        CALLS as f64 / begun.elapsed().as_secs_f64()
    );
    assert_eq!(answers, CALLS);
    let expected: Vec<_> = (0..CALLS).map(|id| format!("k{id}")).collect();
    assert_eq!(launch.effects().unwrap(), expected);
    assert_eq!(launch.received().unwrap().len(), CALLS);
}
