//! The checks of clients: each looks at one conversation.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::server::{PING_ID, REQUEST_STATE, ROOTS_ID, SECOND_PAGE};
use super::{ClientCheck, Conversation, Entry, From, Scenario};
use crate::check::{Finding, Level, broken, kept, not_offered, not_testable};
use crate::peer::{CAPABILITIES_KEY, CLIENT_KEY, VERSION_KEY};

/// A row.
const fn row(
    id: &'static str,
    scenario: Scenario,
    level: Level,
    duties: &'static [&'static str],
    question: &'static str,
    judge: fn(&Conversation) -> Finding,
) -> ClientCheck {
    ClientCheck {
        id,
        duties,
        level,
        scenario,
        question,
        judge,
    }
}

use Level::{Must, Should};
use Scenario::{Legacy, Modern, Old, Unknown};

/// All checks of clients.
pub const CLIENT_CHECKS: &[ClientCheck] = &[
    row(
        "client.connects",
        Legacy,
        Should,
        &["C-STDIO-06"],
        "Does the client start the server and speak to it?",
        connects,
    ),
    row(
        "client.pure",
        Legacy,
        Must,
        &["C-STDIO-03", "X-STDIO-01"],
        "Is everything the client writes a message, one for each line?",
        pure,
    ),
    row(
        "client.jsonrpc",
        Legacy,
        Must,
        &["X-BASE-01", "X-BASE-06"],
        "Is every message a JSON-RPC 2.0 request, notification or response?",
        jsonrpc,
    ),
    row(
        "client.ids",
        Legacy,
        Must,
        &["X-BASE-02", "X-BASE-03"],
        "Are ids strings or integers, and none used twice?",
        ids,
    ),
    row(
        "client.initialize",
        Legacy,
        Must,
        &["C-INIT-01"],
        "Does initialize open the session, with version, capabilities and clientInfo?",
        initialize,
    ),
    row(
        "client.version",
        Legacy,
        Must,
        &["C-INIT-02"],
        "Is the version that is asked for a legacy one that exists?",
        version,
    ),
    row(
        "client.initialized",
        Legacy,
        Must,
        &["C-INIT-06"],
        "Is notifications/initialized sent after the answer?",
        initialized,
    ),
    row(
        "client.waits",
        Legacy,
        Should,
        &["C-INIT-07"],
        "Does the client ask nothing but ping before initialize is answered?",
        waits,
    ),
    row(
        "client.patient",
        Legacy,
        Must,
        &["C-INIT-11"],
        "Is initialize not cancelled?",
        patient,
    ),
    row(
        "client.ping",
        Legacy,
        Must,
        &["X-PING-01"],
        "Is a ping of the server answered with an empty result, even before initialisation?",
        ping,
    ),
    row(
        "client.roots",
        Legacy,
        Should,
        &["C-ROOT-04", "C-ROOT-01", "C-ROOT-02"],
        "Is roots/list answered with file: addresses, or refused with -32601 if undeclared?",
        roots,
    ),
    row(
        "client.notifications",
        Legacy,
        Must,
        &["X-BASE-08"],
        "Does an unknown notification stay unanswered?",
        notifications,
    ),
    row(
        "client.cursors",
        Legacy,
        Must,
        &["C-PAG-01"],
        "Are cursors sent back exactly as they came?",
        cursors,
    ),
    row(
        "client.pages",
        Legacy,
        Should,
        &["C-PAG-02", "C-PRM-07"],
        "Does a client that lists tools read all pages?",
        pages,
    ),
    row(
        "client.tokens",
        Legacy,
        Must,
        &["X-PROG-01"],
        "Are progress tokens strings or integers, one for each request?",
        tokens,
    ),
    row(
        "client.cancels",
        Legacy,
        Must,
        &["X-CANC-01"],
        "Does a cancel name a request that the client sent?",
        cancels,
    ),
    row(
        "client.fallback",
        Legacy,
        Must,
        &["C-MOD-15"],
        "Does a client that probes fall back to initialize when the probe is refused?",
        fallback,
    ),
    row(
        "client.leaves",
        Legacy,
        Should,
        &["C-INIT-13"],
        "Does the client end the server by closing its input?",
        leaves,
    ),
    row(
        "client.old-version",
        Old,
        Must,
        &["X-INIT-09"],
        "Does a client that goes on with 2024-11-05 send nothing that came later?",
        old_version,
    ),
    row(
        "client.unknown-version",
        Unknown,
        Should,
        &["C-INIT-05"],
        "Does the client leave when the server answers with a version that does not exist?",
        unknown_version,
    ),
    row(
        "client.modern-meta",
        Modern,
        Must,
        &["C-MOD-01", "C-MOD-02"],
        "Has every modern request its version and capabilities?",
        modern_meta,
    ),
    row(
        "client.modern-identity",
        Modern,
        Should,
        &["C-MOD-03"],
        "Does every modern request name the client?",
        modern_identity,
    ),
    row(
        "client.modern-probe",
        Modern,
        Should,
        &["C-MOD-13"],
        "Is server/discover the first message?",
        modern_probe,
    ),
    row(
        "client.modern-stays",
        Modern,
        Should,
        &["C-MOD-14", "C-MOD-10"],
        "Does a modern client send no initialize to a modern server?",
        modern_stays,
    ),
    row(
        "client.modern-no-responses",
        Modern,
        Must,
        &["C-BASE-14", "C-STDIO-08"],
        "Does a modern client send no responses?",
        modern_no_responses,
    ),
    row(
        "client.modern-ids",
        Modern,
        Must,
        &["X-BASE-02", "X-BASE-04"],
        "Are ids strings or integers, and none used twice at a time?",
        ids,
    ),
    row(
        "client.modern-empty-cursor",
        Modern,
        Must,
        &["C-PAG-03"],
        "Is an empty cursor a cursor, not the end?",
        empty_cursor,
    ),
    row(
        "client.modern-state",
        Modern,
        Must,
        &["C-MRTR-14", "C-MRTR-15"],
        "Does a call go on with the exact requestState under a new id?",
        state,
    ),
];

impl Conversation {
    fn of_client(&self) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(|entry| entry.from == From::Client)
    }

    fn requests(&self) -> impl Iterator<Item = &Value> {
        let messages = self.of_client().map(|entry| &entry.value);
        messages.filter(|it| it["method"].is_string() && it.get("id").is_some())
    }

    fn calls_of<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Value> {
        self.requests().filter(move |it| it["method"] == method)
    }

    fn responses(&self) -> impl Iterator<Item = &Value> {
        let messages = self.of_client().map(|entry| &entry.value);
        messages.filter(|it| it.get("result").is_some() || it.get("error").is_some())
    }

    /// Where in the conversation something is.
    fn place(&self, is_it: impl Fn(&Entry) -> bool) -> Option<usize> {
        self.entries.iter().position(is_it)
    }

    fn answered(&self, request: &Value) -> Option<usize> {
        self.place(|entry| {
            entry.from == From::Server
                && entry.value["id"] == request["id"]
                && entry.value.get("method").is_none()
        })
    }
}

fn connects(talk: &Conversation) -> Finding {
    match talk.of_client().count() {
        0 => broken("it did not; the server's command is the client's last argument, or {}"),
        count => kept(format!("{count} messages")),
    }
}

fn pure(talk: &Conversation) -> Finding {
    let bad = talk.of_client().filter(|entry| entry.value.is_null());
    let bad: Vec<String> = bad
        .map(|entry| format!("the line {:?}", entry.text))
        .collect();
    Finding::of(&bad, "nothing else")
}

fn jsonrpc(talk: &Conversation) -> Finding {
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

fn ids(talk: &Conversation) -> Finding {
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

fn initialize(talk: &Conversation) -> Finding {
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

fn version(talk: &Conversation) -> Finding {
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

fn initialized(talk: &Conversation) -> Finding {
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

fn waits(talk: &Conversation) -> Finding {
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

fn patient(talk: &Conversation) -> Finding {
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

fn ping(talk: &Conversation) -> Finding {
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

fn roots(talk: &Conversation) -> Finding {
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

fn notifications(talk: &Conversation) -> Finding {
    let answers = |it: &&Value| it["id"] != json!(PING_ID) && it["id"] != ROOTS_ID;
    match talk.responses().find(answers) {
        Some(answer) => broken(answer.to_string()),
        None => kept("nothing came"),
    }
}

fn cursors(talk: &Conversation) -> Finding {
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

fn pages(talk: &Conversation) -> Finding {
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

fn tokens(talk: &Conversation) -> Finding {
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

fn cancels(talk: &Conversation) -> Finding {
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

fn fallback(talk: &Conversation) -> Finding {
    if talk.calls_of("server/discover").next().is_none() {
        return not_offered("the client does not probe");
    }
    match talk.calls_of("initialize").next() {
        Some(_) => kept("it does"),
        None => broken("no initialize came"),
    }
}

fn leaves(talk: &Conversation) -> Finding {
    match talk.place(|entry| entry.from == From::EndOfInput) {
        Some(_) => kept("it does"),
        None => broken("the server was ended before its input was"),
    }
}

fn old_version(talk: &Conversation) -> Finding {
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

fn unknown_version(talk: &Conversation) -> Finding {
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

fn modern_meta(talk: &Conversation) -> Finding {
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

fn modern_identity(talk: &Conversation) -> Finding {
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

fn modern_probe(talk: &Conversation) -> Finding {
    if let Err(finding) = modern_requests(talk) {
        return finding;
    }
    match talk.requests().next() {
        Some(first) if first["method"] == "server/discover" => kept("it is"),
        Some(first) => broken(format!("{} is", first["method"])),
        None => not_testable("nothing was sent"),
    }
}

fn modern_stays(talk: &Conversation) -> Finding {
    if let Err(finding) = modern_requests(talk) {
        return finding;
    }
    match talk.calls_of("initialize").next() {
        Some(_) => broken("initialize was sent"),
        None => kept("none"),
    }
}

fn modern_no_responses(talk: &Conversation) -> Finding {
    if let Err(finding) = modern_requests(talk) {
        return finding;
    }
    match talk.responses().next() {
        Some(response) => broken(response.to_string()),
        None => kept("none"),
    }
}

fn empty_cursor(talk: &Conversation) -> Finding {
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

fn state(talk: &Conversation) -> Finding {
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
