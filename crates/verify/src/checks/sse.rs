//! What the older HTTP+SSE transport adds: its two addresses, its events, and who may ask at all.

use super::check;
use crate::bench::Bench;
use crate::check::{Check, Finding, broken, doubtful, kept, not_testable};
use crate::http::HttpWire;
use crate::peer::{Peer, Trouble};
use crate::sse::Begun;
use crate::target::{HttpTarget, Target};
use crate::trace::Exchange;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "sse.endpoint",
        Sse,
        Must,
        LEGACY,
        Sse,
        ["S-SSE-01", "S-SSE-02"],
        "Is the first event `endpoint`, with an address of the same origin?",
        Alone(endpoint)
    ),
    check!(
        "sse.messages",
        Sse,
        Should,
        LEGACY,
        Sse,
        ["S-SSE-04"],
        "Do messages come as events named `message`?",
        Shared(messages)
    ),
    check!(
        "sse.origin",
        Sse,
        Must,
        LEGACY,
        Sse,
        ["S-SHL-02"],
        "Is a stream for a page of another origin refused with 403?",
        Alone(origin)
    ),
];

fn address(bench: &Bench) -> Result<&HttpTarget, Trouble> {
    match &bench.target {
        Target::Sse(http) => Ok(http),
        _ => Err(Trouble::NotStarted("there is no stream".to_owned())),
    }
}

async fn endpoint(bench: &Bench) -> Result<Finding, Trouble> {
    let target = address(bench)?;
    let begun = Begun::at(target, bench.start_patience()).await?;
    Ok(match begun.endpoint(target) {
        Ok(endpoint) => kept(endpoint.path()),
        Err(problem) => broken(problem),
    })
}

async fn messages(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    peer.fence().await?;
    let names = peer.event_names();
    let others: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !["", "message"].contains(name))
        .collect();
    Ok(match (others.as_slice(), names.is_empty()) {
        (_, true) => not_testable("no message came on the stream"),
        ([], false) => kept("they do"),
        (others, false) => broken(format!("they come as {}", others.join(", "))),
    })
}

async fn origin(bench: &Bench) -> Result<Finding, Trouble> {
    let (wire, _events) = HttpWire::open(address(bench)?)?;
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let exchange = Exchange {
        verb: "GET",
        headers: vec![
            header("Accept", "text/event-stream"),
            header("Origin", "http://attacker.example"),
        ],
        body: None,
    };
    let patience = bench.within(bench.patience());
    let response = wire
        .exchange(exchange, &bench.trace, patience, |it| it.status == 200)
        .await?;
    Ok(match response.status {
        403 => kept("403"),
        400..500 => doubtful(format!("refused with {}, not 403", response.status)),
        status => broken(format!("served with HTTP {status}")),
    })
}
