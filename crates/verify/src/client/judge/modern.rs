//! What a client of the modern era says.

use serde_json::Value;

use super::super::Conversation;
use super::super::server::REQUEST_STATE;
use crate::check::{Finding, broken, kept, not_offered, not_testable};
use crate::peer::{CAPABILITIES_KEY, CLIENT_KEY, VERSION_KEY};

/// The modern requests, or why there are none.
fn modern_requests(talk: &Conversation) -> Result<Vec<&Value>, Finding> {
    let all: Vec<&Value> = talk
        .requests()
        .filter(|it| it["method"] != "initialize")
        .collect();
    let speaks = all
        .iter()
        .any(|it| it["params"]["_meta"].get(VERSION_KEY).is_some());
    match speaks {
        true => Ok(all),
        false => Err(not_offered("the client does not speak the modern era")),
    }
}

pub(super) fn modern_meta(talk: &Conversation) -> Finding {
    let requests = match modern_requests(talk) {
        Ok(requests) => requests,
        Err(finding) => return finding,
    };
    let mut bad = Vec::new();
    for request in &requests {
        let meta = &request["params"]["_meta"];
        if !meta[VERSION_KEY].is_string() || !meta[CAPABILITIES_KEY].is_object() {
            bad.push(format!("{} has the _meta {meta}", request["method"]));
        }
    }
    Finding::of(&bad, format!("{} requests", requests.len()))
}

pub(super) fn modern_identity(talk: &Conversation) -> Finding {
    let requests = match modern_requests(talk) {
        Ok(requests) => requests,
        Err(finding) => return finding,
    };
    let anonymous = requests
        .iter()
        .find(|it| !it["params"]["_meta"][CLIENT_KEY]["name"].is_string());
    match anonymous {
        Some(request) => broken(format!("{} does not", request["method"])),
        None => kept(requests[0]["params"]["_meta"][CLIENT_KEY].to_string()),
    }
}

pub(super) fn modern_probe(talk: &Conversation) -> Finding {
    if let Err(finding) = modern_requests(talk) {
        return finding;
    }
    match talk.requests().next() {
        Some(first) if first["method"] == "server/discover" => kept("it is"),
        Some(first) => broken(format!("{} is", first["method"])),
        None => not_testable("nothing was sent"),
    }
}

pub(super) fn modern_stays(talk: &Conversation) -> Finding {
    if let Err(finding) = modern_requests(talk) {
        return finding;
    }
    match talk.calls_of("initialize").next() {
        Some(_) => broken("initialize was sent"),
        None => kept("none"),
    }
}

pub(super) fn modern_no_responses(talk: &Conversation) -> Finding {
    if let Err(finding) = modern_requests(talk) {
        return finding;
    }
    match talk.responses().next() {
        Some(response) => broken(response.to_string()),
        None => kept("none"),
    }
}

pub(super) fn empty_cursor(talk: &Conversation) -> Finding {
    if let Err(finding) = modern_requests(talk) {
        return finding;
    }
    let lists: Vec<&Value> = talk.calls_of("tools/list").collect();
    if lists.is_empty() {
        return not_offered("the client does not list tools");
    }
    match lists.iter().any(|it| it["params"]["cursor"] == "") {
        true => kept("the page behind it was read"),
        false => broken("the page behind the empty cursor was not read"),
    }
}

pub(super) fn state(talk: &Conversation) -> Finding {
    if let Err(finding) = modern_requests(talk) {
        return finding;
    }
    let calls: Vec<&Value> = talk.calls_of("tools/call").collect();
    let [first, rest @ ..] = calls.as_slice() else {
        return not_offered("the client calls no tool");
    };
    let Some(second) = rest
        .iter()
        .find(|it| it["params"].get("requestState").is_some())
    else {
        return broken("the call was not repeated with its state");
    };
    if second["params"]["requestState"] != REQUEST_STATE {
        return broken(format!(
            "the state {} came back",
            second["params"]["requestState"]
        ));
    }
    let same = second["params"]["name"] == first["params"]["name"]
        && second["params"]["arguments"] == first["params"]["arguments"];
    match same && second["id"] != first["id"] {
        true => kept("it does"),
        false => broken(format!("{first} was repeated as {second}")),
    }
}
