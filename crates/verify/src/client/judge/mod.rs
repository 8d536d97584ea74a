//! The checks of clients: each looks at one conversation.

mod basics;
mod legacy;
mod modern;

use serde_json::Value;

use super::{ClientCheck, Conversation, Entry, From, Scenario};
use crate::check::{Finding, Level};

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
        basics::connects,
    ),
    row(
        "client.pure",
        Legacy,
        Must,
        &["C-STDIO-03", "X-STDIO-01"],
        "Is everything the client writes a message, one for each line?",
        basics::pure,
    ),
    row(
        "client.jsonrpc",
        Legacy,
        Must,
        &["X-BASE-01", "X-BASE-06"],
        "Is every message a JSON-RPC 2.0 request, notification or response?",
        basics::jsonrpc,
    ),
    row(
        "client.ids",
        Legacy,
        Must,
        &["X-BASE-02", "X-BASE-03"],
        "Are ids strings or integers, and none used twice?",
        basics::ids,
    ),
    row(
        "client.initialize",
        Legacy,
        Must,
        &["C-INIT-01"],
        "Does initialize open the session, with version, capabilities and clientInfo?",
        legacy::initialize,
    ),
    row(
        "client.version",
        Legacy,
        Must,
        &["C-INIT-02"],
        "Is the version that is asked for a legacy one that exists?",
        legacy::version,
    ),
    row(
        "client.initialized",
        Legacy,
        Must,
        &["C-INIT-06"],
        "Is notifications/initialized sent after the answer?",
        legacy::initialized,
    ),
    row(
        "client.waits",
        Legacy,
        Should,
        &["C-INIT-07"],
        "Does the client ask nothing but ping before initialize is answered?",
        legacy::waits,
    ),
    row(
        "client.patient",
        Legacy,
        Must,
        &["C-INIT-11"],
        "Is initialize not cancelled?",
        legacy::patient,
    ),
    row(
        "client.ping",
        Legacy,
        Must,
        &["X-PING-01"],
        "Is a ping of the server answered with an empty result, even before initialisation?",
        legacy::ping,
    ),
    row(
        "client.roots",
        Legacy,
        Should,
        &["C-ROOT-04", "C-ROOT-01", "C-ROOT-02"],
        "Is roots/list answered with file: addresses, or refused with -32601 if undeclared?",
        legacy::roots,
    ),
    row(
        "client.notifications",
        Legacy,
        Must,
        &["X-BASE-08"],
        "Does an unknown notification stay unanswered?",
        legacy::notifications,
    ),
    row(
        "client.cursors",
        Legacy,
        Must,
        &["C-PAG-01"],
        "Are cursors sent back exactly as they came?",
        legacy::cursors,
    ),
    row(
        "client.pages",
        Legacy,
        Should,
        &["C-PAG-02", "C-PRM-07"],
        "Does a client that lists tools read all pages?",
        legacy::pages,
    ),
    row(
        "client.tokens",
        Legacy,
        Must,
        &["X-PROG-01"],
        "Are progress tokens strings or integers, one for each request?",
        legacy::tokens,
    ),
    row(
        "client.cancels",
        Legacy,
        Must,
        &["X-CANC-01"],
        "Does a cancel name a request that the client sent?",
        legacy::cancels,
    ),
    row(
        "client.fallback",
        Legacy,
        Must,
        &["C-MOD-15"],
        "Does a client that probes fall back to initialize when the probe is refused?",
        legacy::fallback,
    ),
    row(
        "client.leaves",
        Legacy,
        Should,
        &["C-INIT-13"],
        "Does the client end the server by closing its input?",
        legacy::leaves,
    ),
    row(
        "client.old-version",
        Old,
        Must,
        &["X-INIT-09"],
        "Does a client that goes on with 2024-11-05 send nothing that came later?",
        legacy::old_version,
    ),
    row(
        "client.unknown-version",
        Unknown,
        Should,
        &["C-INIT-05"],
        "Does the client leave when the server answers with a version that does not exist?",
        legacy::unknown_version,
    ),
    row(
        "client.modern-meta",
        Modern,
        Must,
        &["C-MOD-01", "C-MOD-02"],
        "Has every modern request its version and capabilities?",
        modern::modern_meta,
    ),
    row(
        "client.modern-identity",
        Modern,
        Should,
        &["C-MOD-03"],
        "Does every modern request name the client?",
        modern::modern_identity,
    ),
    row(
        "client.modern-probe",
        Modern,
        Should,
        &["C-MOD-13"],
        "Is server/discover the first message?",
        modern::modern_probe,
    ),
    row(
        "client.modern-stays",
        Modern,
        Should,
        &["C-MOD-14", "C-MOD-10"],
        "Does a modern client send no initialize to a modern server?",
        modern::modern_stays,
    ),
    row(
        "client.modern-no-responses",
        Modern,
        Must,
        &["C-BASE-14", "C-STDIO-08"],
        "Does a modern client send no responses?",
        modern::modern_no_responses,
    ),
    row(
        "client.modern-ids",
        Modern,
        Must,
        &["X-BASE-02", "X-BASE-04"],
        "Are ids strings or integers, and none used twice at a time?",
        basics::ids,
    ),
    row(
        "client.modern-empty-cursor",
        Modern,
        Must,
        &["C-PAG-03"],
        "Is an empty cursor a cursor, not the end?",
        modern::empty_cursor,
    ),
    row(
        "client.modern-state",
        Modern,
        Must,
        &["C-MRTR-14", "C-MRTR-15"],
        "Does a call go on with the exact requestState under a new id?",
        modern::state,
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
