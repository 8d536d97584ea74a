//! One answer to each request, with its own id; the codes of refusals; ping.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::check;
use crate::bench::Bench;
use crate::check::{Check, Finding, broken, doubtful, kept, not_offered};
use crate::peer::{Peer, Trouble};

pub(super) const CHECKS: &[Check] = &[
    check!(
        "answers.each-once",
        Answers,
        Must,
        ALL,
        Any,
        ["X-BASE-05", "S-BASE-17"],
        "Is each of 64 requests in flight answered exactly once?",
        Shared(each_once)
    ),
    check!(
        "answers.ids",
        Answers,
        Must,
        ALL,
        Any,
        ["X-BASE-05", "X-BASE-02"],
        "Do answers repeat the id as it was sent, numbers as numbers and strings as strings?",
        Shared(ids)
    ),
    check!(
        "answers.large-id",
        Answers,
        Should,
        ALL,
        Any,
        ["X-BASE-05"],
        "Does an answer repeat an integer id beyond 2^53 exactly?",
        Shared(large_id)
    ),
    check!(
        "answers.notifications",
        Answers,
        Must,
        ALL,
        Any,
        ["X-BASE-08"],
        "Do notifications, known and unknown, stay unanswered?",
        Shared(notifications)
    ),
    check!(
        "ping.answers",
        Ping,
        Must,
        LEGACY,
        Any,
        ["X-PING-01"],
        "Is ping answered with an empty result?",
        Shared(ping)
    ),
    check!(
        "ping.gone",
        Ping,
        Should,
        MODERN,
        Any,
        ["X-PING-03"],
        "Is ping, which the revision does not have, answered with -32601?",
        Shared(ping_gone)
    ),
    check!(
        "errors.unknown-method",
        Errors,
        Should,
        ALL,
        Any,
        ["X-ERR-01"],
        "Is an unknown method answered with -32601?",
        Shared(unknown_method)
    ),
    check!(
        "errors.undeclared",
        Errors,
        Should,
        ALL,
        Any,
        ["X-ERR-01", "S-MOD-19", "S-CMP-04"],
        "Is a method of an undeclared capability answered with -32601?",
        Shared(undeclared)
    ),
    check!(
        "errors.params",
        Errors,
        Should,
        ALL,
        Any,
        ["X-ERR-01"],
        "Are params of the wrong type answered with -32602?",
        Shared(params)
    ),
];

/// How many requests are in flight at once.
const IN_FLIGHT: usize = 64;

/// A request that changes nothing and every server of the era answers.
fn harmless(peer: &Peer) -> &'static str {
    match peer.is_modern() {
        true => "server/discover",
        false => "ping",
    }
}

async fn each_once(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    let method = harmless(peer);
    let mut ids = Vec::new();
    for number in 0..IN_FLIGHT {
        let id = json!(format!("in-flight-{number}"));
        let message = peer.message(&id, method, Value::Null);
        peer.send(&message).await?;
        ids.push(id);
    }
    let mut unanswered = Vec::new();
    for id in &ids {
        match peer.answer_or_silence(id, bench.patience()).await? {
            Some(answer) if answer.value.is_null() => {
                unanswered.push(format!("{id}: {}", answer.summary()));
            }
            Some(_) => {}
            None => {
                unanswered.push(format!("{id} is not answered"));
                break;
            }
        }
    }
    peer.fence().await?;
    let mut again: BTreeMap<String, usize> = BTreeMap::new();
    for message in peer.leftovers() {
        if message.value.get("method").is_none() && ids.contains(&message.value["id"]) {
            *again.entry(message.value["id"].to_string()).or_default() += 1;
        }
    }
    let twice = again
        .keys()
        .map(|id| format!("{id} is answered more than once"));
    unanswered.extend(twice);
    Ok(Finding::of(
        &unanswered,
        format!("{IN_FLIGHT} requests, {IN_FLIGHT} answers"),
    ))
}

async fn ids(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    let ids = [
        json!(0),
        json!(-7),
        json!(7001),
        json!("7001"),
        json!(""),
        json!("ü ☃ \"quoted\" \\"),
        json!("x".repeat(300)),
    ];
    let method = harmless(peer);
    let mut complaints = Vec::new();
    for id in &ids {
        let message = peer.message(id, method, Value::Null);
        peer.send(&message).await?;
        let answer = peer.answer_or_silence(id, bench.patience()).await?;
        if answer.is_none_or(|answer| answer.value.is_null()) {
            let others = peer.leftovers();
            let other = others.iter().find(|message| message.method().is_none());
            complaints.push(match other {
                Some(message) => format!("the id {id} came back as {}", message.value["id"]),
                None => format!("a request with the id {id} is not answered"),
            });
            if complaints.len() == 2 {
                break;
            }
        }
    }
    Ok(Finding::of(
        &complaints,
        format!("{} ids came back as they were", ids.len()),
    ))
}

async fn large_id(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    let id = json!(9_007_199_254_740_993_u64);
    let method = harmless(peer);
    let message = peer.message(&id, method, Value::Null);
    // What comes back with another id is the finding itself.
    peer.send(&message).await?;
    let answer = peer
        .answer_or_silence(&id, bench.patience().min(SHORT))
        .await?;
    Ok(match answer {
        Some(answer) if !answer.value.is_null() => kept("it came back as it was"),
        _ => match peer.leftovers().iter().find(|it| it.method().is_none()) {
            Some(other) if other.value.get("error").is_some() => broken(format!(
                "{id} was refused with {}",
                other.value["error"]["code"]
            )),
            Some(other) => broken(format!("{id} came back as {}", other.value["id"])),
            None => broken(format!("a request with the id {id} is not answered")),
        },
    })
}

const SHORT: std::time::Duration = std::time::Duration::from_secs(2);

async fn notifications(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    peer.leftovers();
    peer.notify("notifications/attache-verify-unknown", json!({"a": 1}))
        .await?;
    peer.notify(
        "notifications/cancelled",
        json!({"requestId": "never-sent"}),
    )
    .await?;
    peer.fence().await?;
    let answered = peer.leftovers();
    let answer = answered.iter().find(|message| {
        message.method().is_none()
            && (message.value.get("result").is_some() || message.value.get("error").is_some())
    });
    Ok(match answer {
        Some(answer) => broken(format!("answered with {}", answer.value)),
        None => kept("nothing came"),
    })
}

async fn ping(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let answer = peer.ask("ping", Value::Null).await?;
    let Some(Value::Object(result)) = answer.result() else {
        return Ok(broken(format!("answered with {}", answer.summary())));
    };
    Ok(match result.keys().find(|key| *key != "_meta") {
        None => kept("an empty result"),
        Some(key) => doubtful(format!("the result holds \"{key}\"")),
    })
}

/// `-32601`, or something else.
fn is_not_found(answer: &crate::peer::Answer, what: &str) -> Result<(), String> {
    match answer.code() {
        Some(-32601) => Ok(()),
        _ => Err(format!("{what} was answered with {}", answer.summary())),
    }
}

async fn ping_gone(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let answer = peer.ask("ping", Value::Null).await?;
    let complaint = is_not_found(&answer, "ping").err();
    Ok(Finding::of(complaint.as_slice(), "-32601"))
}

async fn unknown_method(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let method = "attache-verify/no-such-method";
    let answer = peer.ask(method, json!({})).await?;
    let complaint = is_not_found(&answer, "it").err();
    Ok(Finding::of(complaint.as_slice(), "-32601"))
}

async fn undeclared(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let complete = json!({
        "ref": {"type": "ref/prompt", "name": "x"},
        "argument": {"name": "x", "value": ""},
    });
    let methods = [
        ("tools", "tools/list", json!({})),
        ("resources", "resources/list", json!({})),
        ("prompts", "prompts/list", json!({})),
        ("completions", "completion/complete", complete),
        ("logging", "logging/setLevel", json!({"level": "info"})),
    ];
    let mut complaints = Vec::new();
    let mut asked = 0;
    for (capability, method, params) in methods {
        // The capability of completion came with 2025-03-26.
        let is_old = peer.revision == attache_protocol::Revision::V2024_11_05;
        let is_gone = peer.is_modern() && capability == "logging";
        if peer.offers(capability) || is_gone || (is_old && capability == "completions") {
            continue;
        }
        asked += 1;
        let answer = peer.ask(method, params).await?;
        complaints.extend(is_not_found(&answer, method).err());
    }
    Ok(match asked {
        0 => not_offered("everything is declared"),
        count => Finding::of(&complaints, format!("{count} methods, -32601 each")),
    })
}

async fn params(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    let (method, params) = if peer.offers("tools") {
        ("tools/call", json!({"name": 7}))
    } else if peer.offers("resources") {
        ("resources/read", json!({"uri": 7}))
    } else if peer.offers("prompts") {
        ("prompts/get", json!({"name": 7}))
    } else {
        return Ok(not_offered("there is no method with params"));
    };
    let answer = peer.ask(method, params).await?;
    Ok(match answer.code() {
        Some(-32602) => kept("-32602"),
        // A number cannot be mirrored in a header, and that is found first.
        Some(-32020) if bench.is_http() && peer.is_modern() => kept("-32020"),
        _ => broken(format!(
            "{method} with a number as its name: {}",
            answer.summary()
        )),
    })
}
