//! Servers that are away, models that are away, notes that answer; and the commands of seed 000.

use std::path::Path;

use attache_chat::{Chat, Command, Message, Outcome, Part, Sessions, TurnEnd};
use attache_host::Host;
use attache_host::client::Server;
use attache_host::redact::Redactor;
use attache_testkit::chaos::{Action, Reply, Script, When};
use attache_testkit::model::{ModelReply, WireFormat};
use attache_testkit::scratch::Scratch;
use serde_json::json;

use crate::support::{Recorder, Talk, allowed, server, settings, within};

const URI: &str = "meditation://note/morning-meditation-2024-12-01";

/// The server of seed 000, with one note.
fn notes() -> Script {
    let found = "Found 1 notes matching 'morning':\n\n1. Morning Meditation - Dec 1";
    let missing = json!({"uri": "meditation://note/non-existent"});
    Script::legacy("2024-11-05")
        .capabilities(json!({"tools": {}, "resources": {}}))
        .tools([
            json!({"name": "search_notes", "description": "Search meditation notes", "inputSchema":
                {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}}),
            json!({"name": "sync_repository", "description": "Sync repository and update index"}),
        ])
        .on(When::tool("search_notes"), [Action::text(found)])
        .on(When::tool("sync_repository"), [Action::text(
            "Repository sync completed. Found 45 notes (3 new). Index updated.",
        )])
        .on("resources/list", [Action::result(json!({"resources": [{"uri": URI,
            "name": "Morning Meditation - Dec 1", "description": "Meditation note", "mimeType": "text/markdown"}]}))])
        .on(When::method("resources/read").nth(1), [Action::result(json!({"contents": [
            {"uri": URI, "mimeType": "text/markdown", "text": "# Morning Meditation\n\nBreathe."}]}))])
        .on("resources/read", [Reply::error_with(-32000, "Resource not found", missing).into()])
}

async fn say(talk: &mut Talk, line: &str) -> String {
    let command = Command::parse(line).unwrap();
    let outcome = talk.chat.command(&command, Path::new("/"), &mut talk.face);
    match within(line, outcome).await {
        Outcome::Say(text) => text,
        other => panic!("{line}: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_of_seed_000_and_their_sentences() {
    let broken = Script::legacy("2024-11-05").on(When::start(), [Action::exit(3)]);
    let plain = server(&["other"]);
    let servers = [
        ("meditation-notes", notes()),
        ("broken", broken),
        ("plain", plain),
    ];
    let mut talk = Talk::new([], servers).await;
    let line = "=".repeat(50);
    let list = say(&mut talk, "/mcp list meditation-notes").await;
    assert_eq!(
        list,
        format!("MCP Resources (meditation-notes):\n  {URI} - Morning Meditation - Dec 1")
    );
    let read = say(&mut talk, &format!("/mcp read {URI}")).await;
    assert_eq!(
        read,
        format!("Resource: {URI}\n{line}\n\n# Morning Meditation\n\nBreathe.")
    );
    let search = say(
        &mut talk,
        "/mcp search meditation-notes \"morning routine\" 5",
    )
    .await;
    assert_eq!(
        search,
        format!(
            "Search Results (meditation-notes): \"morning routine\"\n{line}\n\nFound 1 notes:\n\n\
         1. Morning Meditation - Dec 1\n   {URI}"
        )
    );
    let call = &talk.launches[0].received_of("tools/call").unwrap()[0]["params"];
    assert_eq!(
        call["arguments"],
        json!({"query": "morning routine", "limit": 5})
    );
    assert_eq!(
        say(&mut talk, "/mcp sync meditation-notes").await,
        "Syncing meditation-notes...\nRepository sync completed. Found 45 notes (3 new). Index updated.\n✓ Sync complete"
    );
    let status = say(&mut talk, "/mcp status").await;
    assert!(
        status.starts_with(&format!("MCP Server Status:\n{line}\n")),
        "{status}"
    );
    assert!(
        status.contains("meditation-notes: ✓ Connected (1 resources cached)"),
        "{status}"
    );
    assert_eq!(
        say(&mut talk, "/mcp list nobody").await,
        "Error: MCP server 'nobody' not configured.\nUse /mcp status to see available servers."
    );
    let away = say(&mut talk, "/mcp list broken").await;
    assert!(
        away.starts_with("Error: MCP server 'broken' is not available.\nLast error: "),
        "{away}"
    );
    let status = say(&mut talk, "/mcp status").await;
    assert!(
        status.contains("broken: ✗ Disconnected (Error: "),
        "{status}"
    );
    assert_eq!(
        say(&mut talk, "/mcp search plain tea").await,
        "Error: Tool 'search_notes' not available on server 'plain'."
    );
    assert_eq!(
        say(&mut talk, "/mcp read meditation://note/non-existent").await,
        "Error: Resource 'meditation://note/non-existent' not found.\nThese servers could not be asked: broken"
    );
    talk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_of_a_project_are_attached_and_can_be_switched_off() {
    let settings = attache_chat::ChatSettings {
        project: Some("daas".to_owned()),
        automatic: true,
        ..settings()
    };
    let tied = |config: &mut attache_host::config::ServerConfig| {
        allowed(config);
        config.projects = vec!["DAAS".to_owned()];
    };
    let replies = [
        ModelReply::saying("Breathe."),
        ModelReply::saying("no notes"),
    ];
    let mut talk = Talk::with(
        WireFormat::Completions,
        replies,
        [("notes", notes())],
        tied,
        |it| it,
        settings,
    )
    .await;
    let question = "What did I write about the morning?";
    let parts = talk.chat.attach_notes(question, &mut talk.face).await;
    assert_eq!(talk.face.attached, [format!("notes {URI}")]);
    assert!(
        matches!(&parts[0], Part::Data { text, .. } if text.contains("Breathe.")),
        "{parts:?}"
    );
    say(&mut talk, "/context auto off").await;
    assert!(
        talk.chat
            .attach_notes(question, &mut talk.face)
            .await
            .is_empty()
    );
    talk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_model_notes_answer() {
    let mut talk = Talk::new([], [("notes", notes())]).await;
    let offline = Chat::new(talk.chat.host().clone(), None, settings());
    assert!(
        offline
            .answer_offline("morning meditation?", &mut talk.face)
            .await
    );
    assert!(talk.face.text.contains("Breathe."), "{}", talk.face.text);
    talk.close().await;
    let empty = Chat::new(Host::builder().start(), None, settings());
    let mut face = Recorder::default();
    assert!(!empty.answer_offline("tea", &mut face).await);
    assert!(
        face.notes[0].contains("no server offers search_notes"),
        "{:?}",
        face.notes
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_is_named_once_and_the_others_serve() {
    let missing = Server::stdio("/no/such/program", Vec::<String>::new());
    let replies = [
        ModelReply::calling(&[("a", "one__act", "{}")]),
        ModelReply::saying("x"),
        ModelReply::saying("y"),
    ];
    let mut talk = Talk::with(
        WireFormat::Completions,
        replies,
        [("one", server(&["act"]))],
        allowed,
        |builder| builder.server("gone", missing),
        settings(),
    )
    .await;
    assert_eq!(talk.ask("act").await.unwrap(), TurnEnd::Answered);
    talk.ask("again").await.unwrap();
    let about = talk
        .face
        .notes
        .iter()
        .filter(|note| note.contains("gone is not available"));
    assert_eq!(about.count(), 1, "{:?}", talk.face.notes);
    talk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_where_it_was_killed_in_mid_turn() {
    let scratch = Scratch::new("chat-resume").unwrap();
    let sessions = Sessions::in_folder(scratch.path());
    let script = server(&["pay"]).on(When::tool("pay"), [Action::never()]);
    let replies = [ModelReply::calling(&[("a", "one__pay", "{}")])];
    let mut talk = Talk::new(replies, [("one", script)]).await;
    talk.chat.keep_in(sessions.clone(), Redactor::new());
    talk.chat.open("pay").unwrap();
    let launch = talk.launches.remove(0);
    {
        let asking = talk.ask("pay it");
        tokio::pin!(asking);
        let is_sent = || {
            launch
                .received_of("tools/call")
                .is_ok_and(|calls| calls.len() == 1)
        };
        // The future is dropped in the middle, as a kill would end it.
        while !is_sent() {
            let pause = std::time::Duration::from_millis(5);
            let _ = tokio::time::timeout(pause, &mut asking).await;
        }
    }
    let Talk { chat, .. } = talk;
    within("closing", chat.host().close()).await;
    drop(chat);
    let mut talk = Talk::new([ModelReply::saying("I do not know")], []).await;
    talk.chat.keep_in(sessions, Redactor::new());
    talk.chat.open("pay").unwrap();
    let Some(Message::Results { results }) = talk.chat.messages().last() else {
        panic!("{:?}", talk.chat.messages());
    };
    assert!(
        results[0].note.contains("outcome is unknown"),
        "{results:?}"
    );
    assert_eq!(talk.ask("was it paid?").await.unwrap(), TurnEnd::Answered);
    assert!(
        talk.model.asked()[0]
            .to_string()
            .contains("do not repeat it")
    );
    talk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn undo_retry_compact_and_log() {
    let replies = [
        ModelReply::saying("one"),
        ModelReply::saying("two"),
        ModelReply::saying("three"),
    ];
    let mut talk = Talk::new(replies, []).await;
    talk.ask("first").await.unwrap();
    let command = Command::parse("/retry").unwrap();
    let outcome = talk
        .chat
        .command(&command, Path::new("/"), &mut talk.face)
        .await;
    assert_eq!(outcome, Outcome::Ask(vec![Part::text("first")]));
    assert!(talk.chat.messages().is_empty());
    talk.ask("second").await.unwrap();
    say(&mut talk, "/undo").await;
    assert!(talk.chat.messages().is_empty());
    assert_eq!(say(&mut talk, "/log").await, "no tool was called yet");
    assert!(say(&mut talk, "/nonsense").await.contains("no command"));
    let file = Scratch::new("chat-save").unwrap();
    talk.ask("third").await.unwrap();
    let saved = format!("/save {}", file.path().join("talk.md").display());
    assert!(say(&mut talk, &saved).await.starts_with("written"));
    assert!(
        say(&mut talk, &saved).await.contains("was not written"),
        "nothing is overwritten"
    );
}

/// What is approved by a command is called without a question, until it is taken back.
#[tokio::test(flavor = "multi_thread")]
async fn approvals_of_this_session_are_given_listed_and_taken_back() {
    let call = || ModelReply::calling(&[("a", "one__delete", "{}")]);
    let done = || ModelReply::saying("done");
    let deletes = server(&["delete"]).on(When::tool("delete"), [Action::text("gone")]);
    let mut talk = Talk::with(
        WireFormat::Completions,
        [call(), done(), call(), done(), call(), done()],
        [("one", deletes)],
        |_| {},
        |it| it,
        settings(),
    )
    .await;
    let nothing = say(&mut talk, "/approve").await;
    assert!(nothing.starts_with("nothing is approved"), "{nothing}");
    let unknown = say(&mut talk, "/approve ones/delete").await;
    assert_eq!(unknown, "there is no server ones; did you mean one?");
    talk.ask("delete it").await.unwrap();
    let given = say(&mut talk, "/approve one/delete").await;
    assert_eq!(given, "one/delete is called without a question");
    let listed = say(&mut talk, "/approve").await;
    assert_eq!(listed, "  one/delete  allowed for this session\n");
    talk.ask("delete it").await.unwrap();
    let taken = say(&mut talk, "/approve forget one").await;
    assert_eq!(taken, "every tool of one is asked about again");
    talk.ask("delete it").await.unwrap();
    let endings: Vec<&str> = talk.face.called.iter().map(|it| it.1.as_str()).collect();
    assert_eq!(endings, ["refused", "done", "refused"]);
    talk.close().await;
}
