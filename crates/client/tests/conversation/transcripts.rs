//! One conversation in each revision, against the transcript of what both sides say.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_client::protocol::{
    CompletionReference, Content, CreateMessageResult, ElicitMode, ElicitResult, Ending, Era,
    LogLevel, Revision, Root,
};
use attache_client::{Change, Client, ElicitationModes, Error, Event, SamplingTools, Server};
use attache_testkit::transcript::Transcript;
use serde_json::json;
use tokio::time::sleep;

use crate::opening::assert_balanced;
use crate::record::Tap;

fn configured(server: Server) -> Server {
    server
        .identity("transcript", "1.0")
        .roots([Root::new("file:///work").named("work")])
        .on_sampling(SamplingTools::Allowed, |_| async {
            Ok(CreateMessageResult::new("model-1", Content::text("Sunny.")))
        })
        .on_elicitation(ElicitationModes::FormAndUrl, |params| async move {
            match params.mode() {
                ElicitMode::Url => ElicitResult::accept_url(),
                _ => ElicitResult::accept(json!({"deep": true}).into()),
            }
        })
}

/// The client's part: everything a client does, once.
async fn converse(server: Server, revision: Revision) -> Result<Client, Error> {
    let client = configured(server).connect().await?;
    assert_eq!(client.revision(), revision);
    let mut events = client.events();

    let tools = client.list_tools().await?;
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["index", "plan", "slow"]);

    let heard = Arc::new(Mutex::new(Vec::new()));
    let indexed = client
        .call("index", json!({"folder": "notes"}))
        .on_progress({
            let heard = heard.clone();
            move |note| heard.lock().unwrap().push(note.progress)
        });
    assert_eq!(indexed.await?.text(), "2 notes");
    assert_eq!(*heard.lock().unwrap(), [1.0, 2.0]);

    assert_eq!(client.read("note:1").await?.contents.len(), 1);
    assert_eq!(
        client
            .prompt("greet", [("name", "Ada")])
            .await?
            .messages
            .len(),
        1
    );
    let chosen = BTreeMap::from([("style".to_owned(), "formal".to_owned())]);
    let greet = CompletionReference::prompt("greet");
    assert_eq!(
        client.complete(greet, "name", "A", chosen).await?.values,
        ["Ada", "Alan"]
    );

    client.set_log_level(LogLevel::Warning).await?;
    let mut watch = client.watch("note:1").await?;
    let uri = "note:1".to_owned();
    assert_eq!(watch.next().await, Some(Change::Resource { uri }));
    drop(watch);

    // The server asks about everything it may while this call is open.
    assert_eq!(client.call("plan", json!({})).await?.text(), "planned");
    client.set_roots([Root::new("file:///elsewhere")])?;
    if revision.era() == Era::Legacy {
        client.ping().await?;
    }

    let slow = client
        .call("slow", json!({}))
        .cancel_when(sleep(Duration::from_secs(1)));
    assert!(matches!(slow.await, Err(Error::Cancelled { .. })));
    client.close().await;

    let mut logged = Vec::new();
    while let Some(event) = events.next().await {
        match &*event {
            Event::Log(message) => logged.push(message.level.clone()),
            Event::Violation(what) => panic!("{what}"),
            _ => {}
        }
    }
    assert_eq!(logged, ["error"]);
    Ok(client)
}

async fn check(revision: Revision) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let transcript = Transcript::read(folder.join(format!("{revision}.txt")));
    let transcript = transcript.unwrap_or_else(|error| panic!("{error}"));
    let (server, stream) = Server::memory();
    let tap = Tap::new(stream);
    let record = tap.record();
    let (reader, writer) = tokio::io::split(tap);
    let (played, talked) =
        tokio::join!(transcript.play(reader, writer), converse(server, revision));
    // What the server met explains what the client felt, so it comes first.
    let played = played.unwrap_or_else(|error| panic!("{error}"));
    // What every modern request repeats is what the probe spelt out.
    for (name, field) in [
        ("client", "clientInfo"),
        ("capabilities", "clientCapabilities"),
    ] {
        let probe = &played.client_messages[0]["params"]["_meta"];
        if let Some(repeated) = played.captures.get(name) {
            assert_eq!(*repeated, probe[format!("io.modelcontextprotocol/{field}")]);
        }
    }
    let client = talked.unwrap();
    assert_balanced(&client);
    assert_eq!(client.statistics().calls.open, 0);
    // The slow call was taken back, and so is a modern watch.
    let cancelled = match revision.era() {
        Era::Legacy => 1,
        Era::Modern => 2,
    };
    assert_eq!(
        client.statistics().calls.count(Ending::Cancelled),
        cancelled
    );
    record.check_both_sides();
}

#[tokio::test(start_paused = true)]
async fn a_conversation_in_2024_11_05() {
    check(Revision::V2024_11_05).await;
}

// C-INIT-10, C-INIT-07.
#[tokio::test(start_paused = true)]
async fn a_conversation_in_2025_03_26() {
    check(Revision::V2025_03_26).await;
}

#[tokio::test(start_paused = true)]
async fn a_conversation_in_2025_06_18() {
    check(Revision::V2025_06_18).await;
}

// C-INIT-01, C-INIT-06.
#[tokio::test(start_paused = true)]
async fn a_conversation_in_2025_11_25() {
    check(Revision::V2025_11_25).await;
}

// C-STDIO-03, X-LOG-07.
#[tokio::test(start_paused = true)]
async fn a_conversation_in_2026_07_28() {
    check(Revision::V2026_07_28).await;
}
