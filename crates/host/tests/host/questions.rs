//! Servers that ask the face, and what they are told of it.

use attache_host::client::ElicitationModes;
use attache_host::client::protocol::{LogLevel, Root};
use attache_host::questions::{Answer, Askable, QuestionKind, Topic};
use attache_testkit::chaos::{Action, Reply, When};
use serde_json::json;

use crate::support::{Fleet, guarded, script, within};

const ASKABLE: Askable = Askable {
    elicitation: Some(ElicitationModes::Form),
    sampling: None,
    roots: true,
};

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
        let build = |builder: attache_host::HostBuilder| builder.askable(ASKABLE);
        let scripts = [("a", asking.clone()), ("b", asking)];
        let fleet = Fleet::with(scripts, |_| {}, build);
        // Who is not there has not said no.
        let unattended = fleet.call("b/ask", json!({})).await.unwrap();
        assert!(unattended.contains("cancel"), "{unattended}");

        let questions = fleet.host.questions().clone();
        let mut face = questions.attach(Topic::ALL);
        let answering = tokio::spawn(async move {
            let mut asked = Vec::new();
            while let Some(question) = face.next().await {
                let (what, answer) = match &question.kind {
                    QuestionKind::ElicitForm(params) => (params.message.clone(), Answer::Decline),
                    QuestionKind::Roots => {
                        let root = Root::new(format!("file:///{}", question.server));
                        ("roots".to_owned(), Answer::Roots(vec![root]))
                    }
                    other => panic!("{other:?}"),
                };
                assert!(question.request.is_some(), "the only call of its server");
                questions.answer(question.id, answer).unwrap();
                asked.push((question.server.to_string(), what));
            }
            asked
        });
        let answer = fleet.call("b/ask", json!({})).await.unwrap();
        assert!(answer.contains("decline"), "{answer}");
        for _ in 0..2 {
            let roots = fleet.call("a/roots", json!({})).await.unwrap();
            assert!(roots.contains("file:///a"), "{roots}");
        }
        fleet.finish().await;
        let asked = within("face", answering).await.unwrap();
        let expected = [("b", "Sure?"), ("a", "roots")];
        let expected = expected.map(|(server, what)| (server.to_owned(), what.to_owned()));
        assert_eq!(asked, expected);
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
