//! The opening of a legacy connection: versions, order, what may come before it is over.

use attache_protocol::Revision;
use serde_json::{Value, json};

use super::check;
use crate::bench::Bench;
use crate::check::{Check, Finding, broken, doubtful, kept, list, not_offered};
use crate::peer::{Opening, Peer, Trouble};

pub(super) const CHECKS: &[Check] = &[
    check!(
        "start.opens",
        Start,
        Must,
        ALL,
        Any,
        ["S-INIT-04", "S-MOD-11"],
        "Does the server start and answer its opening request?",
        Watched
    ),
    check!(
        "start.initialize",
        Start,
        Must,
        LEGACY,
        Any,
        ["S-INIT-04"],
        "Does the answer to initialize hold protocolVersion, capabilities and serverInfo?",
        Shared(initialize)
    ),
    check!(
        "start.versions",
        Start,
        Must,
        LEGACY,
        Any,
        ["S-INIT-03"],
        "Is every legacy version answered with itself or with another one that exists?",
        Alone(versions)
    ),
    check!(
        "start.unknown-version",
        Start,
        Must,
        LEGACY,
        Any,
        ["S-INIT-03", "S-INIT-19"],
        "Is a version that does not exist answered with one that the server supports?",
        Alone(unknown_version)
    ),
    check!(
        "start.ping-unconfirmed",
        Start,
        Must,
        LEGACY,
        Any,
        ["X-PING-01"],
        "Is ping answered between initialize and notifications/initialized?",
        Alone(ping_unconfirmed)
    ),
    check!(
        "start.ping-first",
        Start,
        Should,
        LEGACY,
        Stdio,
        ["X-PING-01"],
        "Is ping answered before initialize?",
        Alone(ping_first)
    ),
    check!(
        "start.early-request",
        Start,
        Should,
        LEGACY,
        Stdio,
        ["X-BASE-05", "X-INIT-18"],
        "Does the server survive a request before initialize, and answer it?",
        Alone(early_request)
    ),
    check!(
        "start.refused-initialize",
        Start,
        Should,
        MODERN,
        Any,
        ["S-INIT-20"],
        "Does a server without legacy versions name its versions when it refuses initialize?",
        Alone(refused_initialize)
    ),
];

async fn initialize(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let mut complaints = Vec::new();
    let opened = &peer.opened;
    if !opened["protocolVersion"].is_string() {
        complaints.push("protocolVersion is no string".to_owned());
    }
    if !opened["capabilities"].is_object() {
        complaints.push("capabilities is no object".to_owned());
    }
    for key in ["name", "version"] {
        if !opened["serverInfo"][key].is_string() {
            complaints.push(format!("serverInfo.{key} is no string"));
        }
    }
    let instructions = &opened["instructions"];
    if !(instructions.is_null() || instructions.is_string()) {
        complaints.push("instructions is no string".to_owned());
    }
    let info = &opened["serverInfo"];
    let text = format!(
        "{} {} speaks {}",
        info["name"].as_str().unwrap_or_default(),
        info["version"].as_str().unwrap_or_default(),
        peer.version().unwrap_or_default()
    );
    Ok(Finding::of(&complaints, text))
}

/// The answer to `initialize` with a version, on a connection of its own.
async fn ask_for(bench: &Bench, version: &str) -> Result<Result<String, String>, Trouble> {
    let mut peer = Peer::open_as(bench, Revision::V2025_11_25, Opening::Bare).await?;
    let id = json!(1);
    let params = Peer::initialize_params(version);
    let message = json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params});
    peer.send(&message).await?;
    let answer = peer.answer_within(&id, bench.start_patience()).await?;
    let given = answer
        .result()
        .and_then(|result| result["protocolVersion"].as_str());
    let names_supported =
        answer.code() == Some(-32602) && answer.value["error"]["data"]["supported"].is_array();
    Ok(match given {
        Some(given) => Ok(given.to_owned()),
        None if names_supported => Ok(String::new()),
        None => Err(answer.summary()),
    })
}

async fn versions(bench: &Bench) -> Result<Finding, Trouble> {
    let all = [
        Revision::V2024_11_05,
        Revision::V2025_03_26,
        Revision::V2025_06_18,
        Revision::V2025_11_25,
    ];
    // The shared connection has asked for this one.
    let mut supported = vec![bench.revision.to_string()];
    let mut complaints = Vec::new();
    for asked in all.into_iter().filter(|it| *it != bench.revision) {
        let asked = asked.to_string();
        match ask_for(bench, &asked).await? {
            Ok(given) if given == asked => supported.push(given),
            // A refusal that names what is supported.
            Ok(given) if given.is_empty() => {}
            Ok(given) => {
                let is_legacy = given
                    .parse::<Revision>()
                    .is_ok_and(|it| it != Revision::V2026_07_28);
                if !is_legacy {
                    complaints.push(format!("{asked} was answered with {given:?}"));
                }
            }
            Err(text) => complaints.push(format!("{asked} was answered with {text}")),
        }
    }
    Ok(Finding::of(
        &complaints,
        format!("it speaks {}", supported.join(", ")),
    ))
}

async fn unknown_version(bench: &Bench) -> Result<Finding, Trouble> {
    let asked = "1999-01-01";
    Ok(match ask_for(bench, asked).await? {
        Ok(given) if given.is_empty() => kept("refused with -32602, naming what it supports"),
        Ok(given) if given == asked => broken(format!("it claims to speak {asked}")),
        Ok(given) if given.parse::<Revision>().is_ok() => kept(format!("answered with {given}")),
        Ok(given) => broken(format!("answered with {given:?}, which is no revision")),
        Err(text) => broken(format!(
            "answered with {text}, where a supported version belongs"
        )),
    })
}

async fn ping_unconfirmed(bench: &Bench) -> Result<Finding, Trouble> {
    let mut peer = Peer::open(bench, Opening::Unconfirmed).await?;
    let answer = peer.ask("ping", Value::Null).await?;
    Ok(match answer.result() {
        Some(_) => kept("answered"),
        None => broken(format!("answered with {}", answer.summary())),
    })
}

async fn ping_first(bench: &Bench) -> Result<Finding, Trouble> {
    let mut peer = Peer::open(bench, Opening::Bare).await?;
    let id = peer.request("ping", Value::Null).await?;
    let answer = peer.answer_or_silence(&id, bench.start_patience()).await;
    Ok(match answer {
        Ok(Some(answer)) if answer.result().is_some() => kept("answered"),
        Ok(Some(answer)) => broken(format!("answered with {}", answer.summary())),
        Ok(None) => broken("not answered"),
        Err(trouble) => broken(trouble.to_string()),
    })
}

/// What was sent before an answered request is answered soon, or never.
const MOMENT: std::time::Duration = std::time::Duration::from_secs(1);

async fn early_request(bench: &Bench) -> Result<Finding, Trouble> {
    let mut peer = Peer::open(bench, Opening::Bare).await?;
    let early = peer.request("tools/list", Value::Null).await?;
    let params = Peer::initialize_params(&bench.revision.to_string());
    let id = peer.request("initialize", params).await?;
    let answer = match peer.answer_or_silence(&id, bench.start_patience()).await {
        Ok(Some(answer)) => answer,
        Ok(None) => return Ok(doubtful("initialize after it was not answered")),
        Err(trouble) => return Ok(doubtful(trouble.to_string())),
    };
    let first = match peer.answer_or_silence(&early, MOMENT).await? {
        Some(answer) => Ok(answer.summary()),
        None => Err("it was not answered".to_owned()),
    };
    Ok(match (first, answer.result()) {
        (Ok(first), Some(_)) => kept(format!("answered with {first}; initialize works after it")),
        (Err(first), Some(_)) => broken(first),
        (_, None) => broken(format!(
            "initialize after it was answered with {}",
            answer.summary()
        )),
    })
}

async fn refused_initialize(bench: &Bench) -> Result<Finding, Trouble> {
    if bench.spoken.legacy {
        return Ok(not_offered("it speaks legacy versions as well"));
    }
    let mut peer = Peer::open(bench, Opening::Bare).await?;
    let params = Peer::initialize_params("2025-11-25");
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let answer = peer.ask_exactly(&message).await?;
    let text = answer.value["error"].to_string();
    let mut complaints = Vec::new();
    if !answer.is_error() {
        complaints.push(format!("answered with {}", answer.summary()));
    }
    if !text.contains("2026-07-28") {
        complaints.push(format!("{} names no version", answer.summary()));
    }
    Ok(match complaints.as_slice() {
        [] => kept(answer.summary()),
        some => broken(list(some)),
    })
}
