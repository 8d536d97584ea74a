//! What a client of the legacy era says and bears.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::server::{PING_ID, ROOTS_ID, SECOND_PAGE};
use super::super::{Conversation, Entry, From};
use crate::check::{Finding, broken, kept, not_offered, not_testable};

pub(super) fn initialize(talk: &Conversation) -> Finding {
    let Some(request) = talk.calls_of("initialize").next() else {
        return broken("no initialize was sent");
    };
    let mut bad = Vec::new();
    let params = &request["params"];
    if !params["protocolVersion"].is_string() {
        bad.push("there is no protocolVersion".to_owned());
    }
    if !params["capabilities"].is_object() {
        bad.push("there are no capabilities".to_owned());
    }
    for key in ["name", "version"] {
        if !params["clientInfo"][key].is_string() {
            bad.push(format!("clientInfo has no {key}"));
        }
    }
    // A probe of the modern era may come first.
    let first = talk.requests().find(|it| it["method"] != "server/discover");
    if first.is_some_and(|first| first["method"] != "initialize" && first["method"] != "ping") {
        bad.push(format!(
            "{} came first",
            first.unwrap_or(&Value::Null)["method"]
        ));
    }
    Finding::of(&bad, params["clientInfo"].to_string())
}

pub(super) fn version(talk: &Conversation) -> Finding {
    let Some(request) = talk.calls_of("initialize").next() else {
        return not_testable("no initialize was sent");
    };
    let version = request["params"]["protocolVersion"]
        .as_str()
        .unwrap_or_default();
    let known = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
    match known.contains(&version) {
        true => kept(version),
        false => broken(format!("{version:?}")),
    }
}

pub(super) fn initialized(talk: &Conversation) -> Finding {
    let Some(request) = talk.calls_of("initialize").next() else {
        return not_testable("no initialize was sent");
    };
    let answered = talk.answered(request);
    let told = talk.place(|entry| {
        entry.from == From::Client && entry.value["method"] == "notifications/initialized"
    });
    match (answered, told) {
        (Some(answered), Some(told)) if told > answered => kept("it is"),
        (_, Some(_)) => broken("it was sent before the answer"),
        (_, None) => broken("it was not sent"),
    }
}

pub(super) fn waits(talk: &Conversation) -> Finding {
    let Some(request) = talk.calls_of("initialize").next() else {
        return not_testable("no initialize was sent");
    };
    let sent = talk.place(|entry| entry.value == *request);
    let (Some(sent), Some(answered)) = (sent, talk.answered(request)) else {
        return not_testable("initialize was not answered");
    };
    let hasty = talk.entries[sent + 1..answered]
        .iter()
        .filter(|entry| entry.from == From::Client)
        .find(|entry| entry.value["method"].is_string() && entry.value["method"] != "ping");
    match hasty {
        Some(entry) => broken(format!("{} came before", entry.value["method"])),
        None => kept("it waits"),
    }
}

pub(super) fn patient(talk: &Conversation) -> Finding {
    let Some(request) = talk.calls_of("initialize").next() else {
        return not_testable("no initialize was sent");
    };
    let cancels = |entry: &&Entry| {
        entry.value["method"] == "notifications/cancelled"
            && entry.value["params"]["requestId"] == request["id"]
    };
    match talk.of_client().find(cancels) {
        Some(entry) => broken(entry.text.clone()),
        None => kept("it is not"),
    }
}

pub(super) fn ping(talk: &Conversation) -> Finding {
    if talk.calls_of("initialize").next().is_none() {
        return not_testable("no initialize was sent");
    }
    let answer = talk.responses().find(|it| it["id"] == json!(PING_ID));
    match answer {
        Some(answer) if answer["result"].is_object() => kept("answered"),
        Some(answer) => broken(answer.to_string()),
        None => broken("it was not answered"),
    }
}

pub(super) fn roots(talk: &Conversation) -> Finding {
    let Some(request) = talk.calls_of("initialize").next() else {
        return not_testable("no initialize was sent");
    };
    let asked = |entry: &Entry| entry.from == From::Server && entry.value["id"] == ROOTS_ID;
    if talk.place(asked).is_none() {
        return not_testable("the session was not opened");
    }
    let is_declared = request["params"]["capabilities"]["roots"].is_object();
    let Some(answer) = talk.responses().find(|it| it["id"] == ROOTS_ID) else {
        return broken("roots/list was not answered");
    };
    if !is_declared {
        return match answer["error"]["code"].as_i64() {
            Some(-32601) => kept("refused with -32601"),
            _ => broken(format!("undeclared, and answered with {answer}")),
        };
    }
    let roots = answer["result"]["roots"].as_array();
    let is_file = |root: &Value| {
        root["uri"]
            .as_str()
            .is_some_and(|it| it.starts_with("file://"))
    };
    match roots {
        Some(roots) if roots.iter().all(is_file) => kept(format!("{} roots", roots.len())),
        _ => broken(answer.to_string()),
    }
}

pub(super) fn notifications(talk: &Conversation) -> Finding {
    let answers = |it: &&Value| it["id"] != json!(PING_ID) && it["id"] != ROOTS_ID;
    match talk.responses().find(answers) {
        Some(answer) => broken(answer.to_string()),
        None => kept("nothing came"),
    }
}

pub(super) fn cursors(talk: &Conversation) -> Finding {
    let given = talk.calls_of("tools/list");
    let given: Vec<&Value> = given.filter_map(|it| it["params"].get("cursor")).collect();
    if given.is_empty() {
        return not_offered("no cursor was sent");
    }
    let wrong = given.iter().find(|cursor| **cursor != SECOND_PAGE);
    match wrong {
        Some(cursor) => broken(format!("{cursor} was sent")),
        None => kept("as it came"),
    }
}

pub(super) fn pages(talk: &Conversation) -> Finding {
    let lists: Vec<&Value> = talk.calls_of("tools/list").collect();
    if lists.is_empty() {
        return not_offered("the client does not list tools");
    }
    let has_second = lists.iter().any(|it| it["params"]["cursor"] == SECOND_PAGE);
    match has_second {
        true => kept("both"),
        false => broken("the second page was not read"),
    }
}

pub(super) fn tokens(talk: &Conversation) -> Finding {
    let mut seen = BTreeSet::new();
    let mut bad = Vec::new();
    for request in talk.requests() {
        let Some(token) = request["params"]["_meta"].get("progressToken") else {
            continue;
        };
        if !(token.is_string() || token.is_i64() || token.is_u64()) {
            bad.push(format!("the token {token}"));
        }
        if !seen.insert(token.to_string()) {
            bad.push(format!("the token {token} is used twice"));
        }
    }
    match seen.len() {
        0 => not_offered("no progress is asked for"),
        count => Finding::of(&bad, format!("{count} tokens")),
    }
}

pub(super) fn cancels(talk: &Conversation) -> Finding {
    let cancelled = talk
        .of_client()
        .filter(|entry| entry.value["method"] == "notifications/cancelled");
    let ids: Vec<Value> = talk.requests().map(|it| it["id"].clone()).collect();
    let mut count = 0;
    for entry in cancelled {
        count += 1;
        if !ids.contains(&entry.value["params"]["requestId"]) {
            return broken(entry.text.clone());
        }
    }
    match count {
        0 => not_offered("nothing was cancelled"),
        count => kept(format!("{count} cancels")),
    }
}

pub(super) fn fallback(talk: &Conversation) -> Finding {
    if talk.calls_of("server/discover").next().is_none() {
        return not_offered("the client does not probe");
    }
    match talk.calls_of("initialize").next() {
        Some(_) => kept("it does"),
        None => broken("no initialize came"),
    }
}

pub(super) fn leaves(talk: &Conversation) -> Finding {
    match talk.place(|entry| entry.from == From::EndOfInput) {
        Some(_) => kept("it does"),
        None => broken("the server was ended before its input was"),
    }
}

pub(super) fn old_version(talk: &Conversation) -> Finding {
    // Methods that came after 2024-11-05.
    let later = [
        "tasks/get",
        "tasks/list",
        "tasks/result",
        "tasks/cancel",
        "subscriptions/listen",
    ];
    let Some(request) = talk.calls_of("initialize").next() else {
        return not_testable("no initialize was sent");
    };
    let answered = talk.answered(request).unwrap_or(0);
    let after = talk.entries[answered..]
        .iter()
        .filter(|it| it.from == From::Client);
    let mut bad = Vec::new();
    for entry in after {
        let method = entry.value["method"].as_str().unwrap_or_default();
        if later.contains(&method) || entry.value.is_array() {
            bad.push(entry.text.clone());
        }
    }
    Finding::of(&bad, "nothing later")
}

pub(super) fn unknown_version(talk: &Conversation) -> Finding {
    let Some(request) = talk.calls_of("initialize").next() else {
        return not_testable("no initialize was sent");
    };
    let Some(answered) = talk.answered(request) else {
        return not_testable("initialize was not answered");
    };
    let after = talk.entries[answered..].iter();
    let goes_on = after
        .filter(|entry| entry.from == From::Client)
        .find(|entry| entry.value["method"].is_string() && entry.value.get("id").is_some());
    match goes_on {
        Some(entry) => broken(format!("it went on with {}", entry.value["method"])),
        None => kept("it leaves"),
    }
}
