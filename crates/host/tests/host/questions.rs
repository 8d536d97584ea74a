//! Servers that ask the face, and what they are told of it.

use std::sync::{Arc, Mutex};

use attache_host::client::ElicitationModes;
use attache_host::client::protocol::{ElicitParams, ElicitResult, LogLevel, Root};
use attache_host::config::ServerName;
use attache_host::questions::{Answering, Questions};
use attache_testkit::chaos::{Action, Reply, When};
use serde_json::json;

use crate::support::{Fleet, guarded, script, within};

/// Declines everything and keeps what was asked.
#[derive(Clone, Default)]
struct Declines(Arc<Mutex<Vec<(String, String)>>>);

impl Questions for Declines {
    fn elicitation(&self) -> Option<ElicitationModes> {
        Some(ElicitationModes::Form)
    }

    fn elicit(&self, server: ServerName, question: ElicitParams) -> Answering<ElicitResult> {
        let asked = (server.to_string(), question.message.clone());
        self.0.lock().unwrap().push(asked);
        Box::pin(async { ElicitResult::decline() })
    }

    fn roots(&self, server: &ServerName) -> Option<Vec<Root>> {
        Some(vec![Root::new(format!("file:///{server}"))])
    }
}

// C-ELIC-09, C-ROOT-05, H-SEC-12.
#[test]
fn a_question_reaches_the_face_with_the_name_of_its_server() {
    guarded(async || {
        let question = json!({
            "message": "Sure?",
            "requestedSchema": {"type": "object", "properties": {}},
        });
        let asking = script()
            .on(
                When::tool("ask"),
                [
                    Action::ask("elicitation/create", question),
                    Reply::client_answer().into(),
                ],
            )
            .on(
                When::tool("roots"),
                [
                    Action::ask("roots/list", json!({})),
                    Reply::client_answer().into(),
                ],
            );
        let face = Declines::default();
        let build = |builder: attache_host::HostBuilder| builder.questions(face.clone());
        let scripts = [("a", asking.clone()), ("b", asking)];
        let fleet = Fleet::with(scripts, |_| {}, build);
        let answer = fleet.call("b/ask", json!({})).await.unwrap();
        assert!(answer.contains("decline"), "{answer}");
        let roots = fleet.call("a/roots", json!({})).await.unwrap();
        assert!(roots.contains("file:///a"), "{roots}");
        let asked = face.0.lock().unwrap().clone();
        assert_eq!(asked, [("b".to_owned(), "Sure?".to_owned())]);
        fleet.finish().await;
    });
}

#[test]
fn a_server_is_not_told_of_somebody_who_is_not_there() {
    guarded(async || {
        let fleet = Fleet::one(&script());
        fleet.echoes("one").await;
        let initialize = fleet.launch().received_of("initialize").unwrap();
        assert_eq!(initialize[0]["params"]["capabilities"], json!({}));
        fleet.finish().await;
    });
}

#[test]
fn prompts_completion_and_log_levels_go_to_their_server() {
    guarded(async || {
        let fleet = Fleet::new([("a", script()), ("b", script())]);
        let prompt = fleet.host.prompt("b/greet", [("name", "Ada")]);
        let prompt = within("prompt", prompt).await.unwrap();
        assert_eq!(prompt.messages.len(), 1);
        let reference = attache_host::client::protocol::CompletionReference::prompt("greet");
        let complete = fleet
            .host
            .complete("a", reference, "name", "a", Default::default());
        let completion = within("complete", complete).await.unwrap();
        assert_eq!(completion.values, ["ada", "alan"]);
        let level = fleet.host.set_log_level("a", LogLevel::Error);
        within("level", level).await.unwrap();
        fleet.launches[0]
            .wait_received_of("logging/setLevel", 1, crate::support::PATIENCE)
            .unwrap();
        let near = fleet.host.ready("aa").await.unwrap_err().to_string();
        assert!(near.contains("no server is named \"aa\""), "{near}");
        fleet.finish().await;
    });
}
