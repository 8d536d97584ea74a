//! The end of a server that is spoken to over pipes.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::check;
use crate::bench::Bench;
use crate::check::{Check, Finding, broken, doubtful, kept, not_testable};
use crate::peer::{Opening, Peer, Trouble};
use crate::processes;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "ending.end-of-input",
        Ending,
        Should,
        ALL,
        Stdio,
        ["S-STDIO-13", "C-INIT-13"],
        "Does the server leave within 5 s of the end of its input?",
        Alone(end_of_input)
    ),
    check!(
        "ending.survivors",
        Ending,
        Should,
        ALL,
        Stdio,
        ["C-INIT-13"],
        "Does the server leave no process behind?",
        Alone(survivors)
    ),
    check!(
        "ending.half-a-line",
        Ending,
        Should,
        ALL,
        Stdio,
        ["S-STDIO-13", "X-STDIO-01"],
        "Does the server leave when its input ends in the middle of a line?",
        Alone(half_a_line)
    ),
    check!(
        "ending.before-opening",
        Ending,
        Should,
        ALL,
        Stdio,
        ["S-STDIO-13"],
        "Does the server leave when its input ends before anything was sent?",
        Alone(before_opening)
    ),
    check!(
        "ending.answers-first",
        Ending,
        Should,
        ALL,
        Stdio,
        ["X-BASE-05"],
        "Is a request answered that was sent just before the end of input?",
        Alone(answers_first)
    ),
];

/// How long a server may take to leave.
const LEAVING: Duration = Duration::from_secs(5);

async fn leaves(bench: &Bench, peer: &mut Peer, patience: Duration) -> Result<Finding, Trouble> {
    peer.end_input();
    let begun = Instant::now();
    let Some(wire) = peer.stdio() else {
        return Ok(not_testable("there is no process"));
    };
    if let Some(reason) = wire.left(patience).await {
        let time = begun.elapsed().as_millis();
        return Ok(kept(format!("it {reason} after {time} ms")));
    }
    // What began when time was running out says nothing about the server.
    bench.check_time()?;
    let seconds = patience.as_secs();
    Ok(broken(format!("it is still there after {seconds} s")))
}

async fn end_of_input(bench: &Bench) -> Result<Finding, Trouble> {
    let mut peer = Peer::open(bench, Opening::Whole).await?;
    leaves(bench, &mut peer, LEAVING).await
}

async fn half_a_line(bench: &Bench) -> Result<Finding, Trouble> {
    let mut peer = Peer::open(bench, Opening::Whole).await?;
    peer.send_unfinished(b"{\"jsonrpc\":\"2.0\",\"id\":1")
        .await?;
    leaves(bench, &mut peer, LEAVING).await
}

async fn before_opening(bench: &Bench) -> Result<Finding, Trouble> {
    let mut peer = Peer::open(bench, Opening::Bare).await?;
    // It has to start before it can see the end.
    let patience = LEAVING + bench.start_patience() / 2;
    leaves(bench, &mut peer, patience).await
}

async fn answers_first(bench: &Bench) -> Result<Finding, Trouble> {
    let mut peer = Peer::open(bench, Opening::Whole).await?;
    let method = match peer.is_modern() {
        true => "server/discover",
        false => "ping",
    };
    let id = peer.request(method, Value::Null).await?;
    peer.end_input();
    Ok(match peer.answer_or_silence(&id, bench.patience()).await {
        Ok(Some(_)) => kept("answered"),
        Ok(None) => doubtful("it was not answered"),
        Err(_) => doubtful("the server left without answering"),
    })
}

async fn survivors(bench: &Bench) -> Result<Finding, Trouble> {
    let mut peer = Peer::open(bench, Opening::Whole).await?;
    peer.fence().await?;
    let Some(server) = peer.stdio().map(|wire| wire.process_id()) else {
        return Ok(not_testable("there is no process"));
    };
    let Some(before) = processes::descendants(server) else {
        return Ok(not_testable("this system does not list its processes"));
    };
    peer.end_input();
    let Some(wire) = peer.stdio() else {
        return Ok(not_testable("there is no process"));
    };
    // The guardian takes what is left down at once, so this is the moment to look.
    if wire.left(LEAVING).await.is_none() {
        return Ok(not_testable("the server does not leave"));
    }
    let left: Vec<String> = before
        .iter()
        .filter(|process| process.is_alive())
        .map(|process| format!("{} ({})", process.name, process.id))
        .collect();
    Ok(match left.is_empty() {
        true => kept(format!("it had {} processes, none is left", before.len())),
        false => broken(format!(
            "alive when it had left, and ended by the guardian: {}",
            left.join(", ")
        )),
    })
}
