//! Whether a client speaks at all, and in JSON-RPC.

use std::collections::BTreeSet;

use super::super::Conversation;
use crate::check::{Finding, broken, kept};

pub(super) fn connects(talk: &Conversation) -> Finding {
    match talk.of_client().count() {
        0 => broken("it did not; the server's command is the client's last argument, or {}"),
        count => kept(format!("{count} messages")),
    }
}

pub(super) fn pure(talk: &Conversation) -> Finding {
    let bad = talk.of_client().filter(|entry| entry.value.is_null());
    let bad: Vec<String> = bad
        .map(|entry| format!("the line {:?}", entry.text))
        .collect();
    Finding::of(&bad, "nothing else")
}

pub(super) fn jsonrpc(talk: &Conversation) -> Finding {
    let mut bad = Vec::new();
    for entry in talk.of_client() {
        let it = &entry.value;
        let kinds = [
            it["method"].is_string(),
            it.get("result").is_some(),
            it.get("error").is_some(),
        ];
        let is_one = kinds.iter().filter(|kind| **kind).count() == 1;
        if it["jsonrpc"] != "2.0" || !is_one {
            bad.push(entry.text.clone());
        }
    }
    Finding::of(&bad, "all of them")
}

pub(super) fn ids(talk: &Conversation) -> Finding {
    let mut bad = Vec::new();
    let mut seen = BTreeSet::new();
    for request in talk.requests() {
        let id = &request["id"];
        if !(id.is_string() || id.is_i64() || id.is_u64()) {
            bad.push(format!("the id {id}"));
        }
        if !seen.insert(id.to_string()) {
            bad.push(format!("the id {id} is used twice"));
        }
    }
    Finding::of(&bad, format!("{} ids", seen.len()))
}
