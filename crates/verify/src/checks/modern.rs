//! The modern era: discovery, and metadata that every request brings anew.

use serde_json::{Value, json};

use super::check;
use crate::bench::Bench;
use crate::check::{Check, Finding, broken, kept, not_offered, not_testable};
use crate::facts::LISTS;
use crate::peer::{CAPABILITIES_KEY, CLIENT_KEY, Opening, Peer, Trouble, VERSION_KEY};
use crate::watch::is_meta_key;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "discover.shape",
        Discover,
        Must,
        MODERN,
        Any,
        ["S-MOD-11", "S-MOD-12"],
        "Does server/discover give supportedVersions and capabilities, and no identity of its own?",
        Shared(shape)
    ),
    check!(
        "discover.unknown-version",
        Discover,
        Must,
        MODERN,
        Any,
        ["S-MOD-09", "X-ERR-04"],
        "Is a version that does not exist refused with -32022, naming supported and requested?",
        Shared(unknown_version)
    ),
    check!(
        "discover.missing-capabilities",
        Discover,
        Must,
        MODERN,
        Any,
        ["S-MOD-04", "S-MOD-05", "S-BASE-15"],
        "Is a request without clientCapabilities refused with -32602, whatever came before?",
        Shared(missing_capabilities)
    ),
    check!(
        "discover.missing-version",
        Discover,
        Must,
        MODERN,
        Any,
        ["S-MOD-04", "S-BASE-15"],
        "Is a request without protocolVersion refused?",
        Shared(missing_version)
    ),
    check!(
        "discover.anonymous",
        Discover,
        Should,
        MODERN,
        Any,
        ["X-MOD-08"],
        "Is a request without clientInfo served, which only should be there?",
        Shared(anonymous)
    ),
    check!(
        "discover.extensions",
        Discover,
        Must,
        MODERN,
        Any,
        ["X-MOD-20", "X-MOD-22"],
        "Have the ids of extensions a prefix?",
        Shared(extensions)
    ),
    check!(
        "discover.unknown-extension",
        Discover,
        Must,
        MODERN,
        Any,
        ["X-MOD-21"],
        "Is a request served that declares an extension nobody knows?",
        Shared(unknown_extension)
    ),
    check!(
        "discover.same-for-all",
        Discover,
        Must,
        MODERN,
        Any,
        ["S-MOD-18", "S-STDIO-16"],
        "Are the lists of two connections the same?",
        Alone(same_for_all)
    ),
    check!(
        "discover.both-eras",
        Discover,
        Should,
        MODERN,
        Stdio,
        ["S-MOD-17"],
        "Does a server of both eras serve modern requests beside a legacy session?",
        Alone(both_eras)
    ),
];

async fn shape(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let opened = &peer.opened;
    let mut complaints = Vec::new();
    let versions = opened["supportedVersions"].as_array();
    let versions: Vec<&str> = versions
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !versions.contains(&peer.revision.as_str()) {
        complaints.push(format!("supportedVersions is {versions:?}"));
    }
    if !opened["capabilities"].is_object() {
        complaints.push(format!("capabilities is {}", opened["capabilities"]));
    }
    if opened.get("serverInfo").is_some() {
        complaints.push("serverInfo stands at the top, not in _meta".to_owned());
    }
    Ok(Finding::of(
        &complaints,
        format!("it speaks {}", versions.join(", ")),
    ))
}

/// A request with this metadata and no other.
fn with_meta(peer: &mut Peer, meta: Value) -> Value {
    let id = peer.fresh_id();
    json!({"jsonrpc": "2.0", "id": id, "method": "server/discover", "params": {"_meta": meta}})
}

async fn unknown_version(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    let meta = json!({VERSION_KEY: "2099-01-01", CAPABILITIES_KEY: {}});
    let message = with_meta(peer, meta);
    let answer = peer.ask_exactly(&message).await?;
    let data = &answer.value["error"]["data"];
    let mut complaints = Vec::new();
    if answer.code() != Some(-32022) {
        complaints.push(format!("answered with {}", answer.summary()));
    } else {
        if !data["supported"].is_array() {
            complaints.push("there is no data.supported".to_owned());
        }
        if data["requested"] != "2099-01-01" {
            complaints.push(format!("data.requested is {}", data["requested"]));
        }
    }
    complaints.extend(wrong_status(bench, answer.status, 400));
    Ok(Finding::of(&complaints, answer.summary()))
}

/// Over HTTP a refusal has a status as well.
fn wrong_status(bench: &Bench, status: Option<u16>, expected: u16) -> Option<String> {
    let status = status.filter(|status| bench.is_http() && *status != expected)?;
    Some(format!("HTTP {status} instead of {expected}"))
}

async fn missing_capabilities(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    let meta = json!({VERSION_KEY: peer.revision.to_string()});
    let message = with_meta(peer, meta);
    let answer = peer.ask_exactly(&message).await?;
    let mut complaints = Vec::new();
    if answer.code() != Some(-32602) {
        complaints.push(format!("answered with {}", answer.summary()));
    }
    complaints.extend(wrong_status(bench, answer.status, 400));
    Ok(Finding::of(&complaints, answer.summary()))
}

async fn missing_version(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    let meta = json!({CAPABILITIES_KEY: {}});
    let message = with_meta(peer, meta);
    let answer = peer.ask_exactly(&message).await?;
    // A server of both eras may take it for a legacy request that comes too early.
    let is_refused = match bench.spoken.legacy {
        true => answer.is_error(),
        false => matches!(answer.code(), Some(-32602 | -32020)),
    };
    Ok(match is_refused {
        true => kept(answer.summary()),
        false => broken(format!("answered with {}", answer.summary())),
    })
}

async fn anonymous(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let meta = json!({VERSION_KEY: peer.revision.to_string(), CAPABILITIES_KEY: {}});
    let message = with_meta(peer, meta);
    let answer = peer.ask_exactly(&message).await?;
    Ok(match answer.result() {
        Some(_) => kept("served"),
        None => broken(format!("answered with {}", answer.summary())),
    })
}

async fn extensions(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let Some(extensions) = peer.books.capabilities["extensions"].as_object() else {
        return Ok(not_offered("it has no extensions"));
    };
    let bad = extensions
        .keys()
        .filter(|key| !key.contains('/') || !is_meta_key(key));
    let bad: Vec<String> = bad.map(|key| format!("the extension {key:?}")).collect();
    let names: Vec<&str> = extensions.keys().map(String::as_str).collect();
    Ok(Finding::of(&bad, names.join(", ")))
}

async fn unknown_extension(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let meta = json!({
        VERSION_KEY: peer.revision.to_string(),
        CAPABILITIES_KEY: {"extensions": {"org.example/attache-verify": {}}},
        CLIENT_KEY: {"name": "attache-verify", "version": "0"},
    });
    let message = with_meta(peer, meta);
    let answer = peer.ask_exactly(&message).await?;
    Ok(match answer.result() {
        Some(_) => kept("served"),
        None => broken(format!("answered with {}", answer.summary())),
    })
}

async fn same_for_all(bench: &Bench) -> Result<Finding, Trouble> {
    let mut one = Peer::open(bench, Opening::Whole).await?;
    let mut other = Peer::open(bench, Opening::Whole).await?;
    let mut complaints = Vec::new();
    let mut compared = 0;
    for (method, _, capability) in LISTS {
        if !one.offers(capability) {
            continue;
        }
        let (first, second) = (one.list(method).await?, other.list(method).await?);
        compared += 1;
        if first.items != second.items {
            complaints.push(format!("{method} differs"));
        }
    }
    Ok(match compared {
        0 => not_offered("there is no list"),
        count => Finding::of(&complaints, format!("{count} lists are the same")),
    })
}

async fn both_eras(bench: &Bench) -> Result<Finding, Trouble> {
    if !bench.spoken.legacy {
        return Ok(not_offered("it speaks the modern era only"));
    }
    let legacy = attache_protocol::Revision::V2025_11_25;
    let mut peer = match Peer::open_as(bench, legacy, Opening::Whole).await {
        Ok(peer) => peer,
        Err(trouble) => return Ok(not_testable(trouble.to_string())),
    };
    let meta = json!({VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}});
    let message = with_meta(&mut peer, meta);
    let answer = peer.ask_exactly(&message).await?;
    Ok(match answer.result() {
        Some(result) if result["supportedVersions"].is_array() => kept("both at once"),
        // It may choose one era for the whole process.
        _ => not_offered(format!("one at a time: {}", answer.summary())),
    })
}
