//! Calls that a model wishes for: shown, permitted, made together, and told as they ended.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_chat::{Message, Sessions, TurnEnd};
use attache_host::Host;
use attache_host::policy::{Remember, Scope};
use attache_host::questions::{Answer, QuestionKind, Topic};
use attache_host::redact::Redactor;
use attache_testkit::chaos::{Action, Launch, Reply, When};
use attache_testkit::model::{ModelReply, WireFormat};
use attache_testkit::scratch::Scratch;
use serde_json::json;

use crate::support::{BOTH, Shared, Talk, allowed, server, settings, within};

/// Waits until a server has received a message.
async fn received(launch: &Launch, method: &str) {
    let is_there = || {
        launch
            .received_of(method)
            .is_ok_and(|found| !found.is_empty())
    };
    let waiting = async {
        while !is_there() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within(method, waiting).await;
}

/// A person who says the same to every question of a host; gives what was asked.
fn person(host: &Host, answer: Answer) -> Shared<Vec<(String, String)>> {
    let asked: Shared<Vec<_>> = Arc::new(Mutex::new(Vec::new()));
    let questions = host.questions().clone();
    let mut attached = questions.attach([Topic::Approval]);
    let seen = asked.clone();
    tokio::spawn(async move {
        while let Some(question) = attached.next().await {
            if let QuestionKind::Approval(call) = &question.kind {
                let name = format!("{}/{}", question.server, call.tool);
                let arguments = call.arguments.as_str().to_owned();
                seen.lock().unwrap().push((name, arguments));
            }
            questions.answer(question.id, answer.clone()).unwrap();
        }
    });
    asked
}

const ALLOW: Answer = Answer::Allow {
    remember: Remember::Once,
    scope: Scope::Tool,
};
const DENY: Answer = Answer::Deny {
    remember: Remember::Once,
    scope: Scope::Tool,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_a_note_is_answered_through_search_and_read() {
    for format in BOTH {
        let uri = "meditation://note/morning";
        let notes = server(&["search_notes"])
            .capabilities(json!({"tools": {}, "resources": {}}))
            .on(
                When::tool("search_notes"),
                [Action::text(
                    "Found 1 notes matching 'morning':\n\n1. Morning",
                )],
            )
            .on(
                "resources/list",
                [Action::result(
                    json!({"resources": [{"uri": uri, "name": "Morning"}]}),
                )],
            )
            .on(
                "resources/read",
                [Action::result(
                    json!({"contents": [{"uri": uri, "text": "Breathe."}]}),
                )],
            );
        let replies = [
            ModelReply::calling(&[("c1", "notes__search_notes", r#"{"query": "morning"}"#)]),
            ModelReply::calling(&[("c2", "read_resource", &json!({"uri": uri}).to_string())]),
            ModelReply::saying("You noted: Breathe."),
        ];
        let mut talk = Talk::with(
            format,
            replies,
            [("notes", notes)],
            |_| {},
            |it| it,
            settings(),
        )
        .await;
        let asked = person(talk.chat.host(), ALLOW);
        assert_eq!(
            talk.ask("What did I note about the morning?")
                .await
                .unwrap(),
            TurnEnd::Answered
        );
        assert_eq!(talk.face.text, "You noted: Breathe.");
        let calling: Vec<&str> = talk
            .face
            .calling
            .iter()
            .map(|(tool, _)| tool.as_str())
            .collect();
        assert_eq!(calling, ["notes/search_notes", "read_resource"]);
        // What was approved is what was sent (S28).
        let approved = asked.lock().unwrap().clone();
        assert_eq!(
            approved,
            [(
                "notes/search_notes".to_owned(),
                r#"{"query": "morning"}"#.to_owned()
            )]
        );
        let sent = talk.launches[0].received_of("tools/call").unwrap();
        assert_eq!(sent[0]["params"]["arguments"], json!({"query": "morning"}));
        let whole = talk.model.asked().last().unwrap().to_string();
        assert!(
            whole.contains("1. Morning") && whole.contains("Breathe."),
            "{whole}"
        );
        assert_eq!(talk.face.used.len(), 3);
        talk.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn independent_tools_run_together() {
    let held = server(&["slow"]).on(
        When::tool("slow"),
        [Action::wait_gate("go"), Action::text("slow")],
    );
    let replies = [
        ModelReply::calling(&[("a", "one__slow", "{}"), ("b", "two__slow", "{}")]),
        ModelReply::saying("done"),
    ];
    let mut talk = Talk::new(replies, [("one", held.clone()), ("two", held)]).await;
    let launches = std::mem::take(&mut talk.launches);
    let asking = async {
        talk.ask("both").await.unwrap();
        talk
    };
    let opening = async {
        // Both have their call before either may answer.
        for launch in &launches {
            received(launch, "tools/call").await;
        }
        for launch in &launches {
            launch.open_gate("go").unwrap();
        }
    };
    let (talk, ()) = tokio::join!(asking, opening);
    assert_eq!(talk.face.text, "done");
    // Results come in the order of the calls, whichever ended first.
    let told = talk.told();
    assert!(
        told[0].contains("one/slow") && told[1].contains("two/slow"),
        "{told:?}"
    );
    talk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_ending_is_told_as_it_is() {
    for (action, ending, words) in [
        (
            vec![Action::never()],
            "timed out",
            "may have happened; do not repeat",
        ),
        (
            vec![Action::exit(1)],
            "outcome unknown",
            "outcome is unknown. It may have happened",
        ),
        (
            vec![Action::error(-32000, "no luck")],
            "server error",
            "answered with an error",
        ),
        (
            vec![Action::result(
                json!({"content": [{"type": "text", "text": "bad"}], "isError": true}),
            )],
            "tool failed",
            "ran and failed",
        ),
    ] {
        let script = server(&["act"]).on(When::tool("act"), action);
        let replies = [
            ModelReply::calling(&[("a", "one__act", "")]),
            ModelReply::saying("so it is"),
        ];
        let change = |config: &mut attache_host::config::ServerConfig| {
            allowed(config);
            config.server.settings.timeouts.call = Duration::from_millis(300);
        };
        let mut talk = Talk::with(
            WireFormat::Completions,
            replies,
            [("one", script)],
            change,
            |it| it,
            settings(),
        )
        .await;
        assert_eq!(talk.ask("act").await.unwrap(), TurnEnd::Answered);
        assert_eq!(
            talk.face.called,
            [("one/act".to_owned(), ending.to_owned())]
        );
        let told = talk.told();
        assert!(told[0].contains(words), "{ending}: {told:?}");
        assert_eq!(talk.face.text, "so it is");
        talk.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stopping_tells_the_server_and_leaves_a_conversation_that_goes_on() {
    let script = server(&["act"]).on(When::tool("act").nth(1), [Action::never()]);
    let replies = [
        ModelReply::calling(&[("a", "one__act", "{}")]),
        ModelReply::saying("all right"),
    ];
    let mut talk = Talk::new(replies, [("one", script)]).await;
    let launches = std::mem::take(&mut talk.launches);
    let stop = talk.stop.clone();
    let stopping = async {
        received(&launches[0], "tools/call").await;
        stop.raise();
    };
    let asking = async {
        let end = talk.ask("act").await.unwrap();
        (talk, end)
    };
    let ((mut talk, end), ()) = tokio::join!(asking, stopping);
    assert_eq!(end, TurnEnd::Stopped);
    received(&launches[0], "notifications/cancelled").await;
    talk.stop.clear();
    assert_eq!(talk.ask("and now?").await.unwrap(), TurnEnd::Answered);
    let whole = talk.model.asked().last().unwrap().to_string();
    assert!(
        whole.contains("stopped this call while it ran. It may have happened"),
        "{whole}"
    );
    talk.close().await;
}

#[tokio::test]
async fn stopping_the_model_closes_the_connection_and_keeps_what_was_said() {
    for format in BOTH {
        let replies = [
            ModelReply::saying("Well, ").hold(),
            ModelReply::saying("yes"),
        ];
        let mut talk = Talk::with(format, replies, [], allowed, |it| it, settings()).await;
        talk.face.stop_on = Some(("text", talk.stop.clone()));
        assert_eq!(talk.ask("why?").await.unwrap(), TurnEnd::Stopped);
        talk.model
            .http
            .wait_until(|http| http.abandoned() == 1)
            .await;
        let Some(Message::Assistant(part)) = talk.chat.messages().last() else {
            panic!("{:?}", talk.chat.messages());
        };
        assert_eq!(part.text, "Well,  [stopped by the user]");
        talk.stop.clear();
        talk.face.stop_on = None;
        assert_eq!(talk.ask("so?").await.unwrap(), TurnEnd::Answered);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_repeats_itself_is_stopped() {
    let again = || ModelReply::calling(&[("a", "one__act", r#"{"query":"x"}"#)]);
    let script = server(&["act"]).on(When::tool("act"), [Action::text("no")]);
    // Spelled differently, it is the same call.
    let replies = [
        again(),
        ModelReply::calling(&[("b", "one__act", "{ \"query\" : \"x\" }")]),
        again(),
        ModelReply::saying("I give up"),
    ];
    let mut talk = Talk::new(replies, [("one", script.clone())]).await;
    assert_eq!(talk.ask("act").await.unwrap(), TurnEnd::Answered);
    assert_eq!(talk.face.confirms.len(), 1, "{:?}", talk.face.confirms);
    assert_eq!(talk.face.called.len(), 2);
    assert!(talk.told()[0].contains("already made"), "{:?}", talk.told());
    talk.close().await;
    let mut limited = settings();
    limited.max_rounds = 2;
    let replies = (0..5).map(|at| {
        let arguments = json!({ "query": at }).to_string();
        ModelReply::calling(&[("a", "one__act", &arguments)])
    });
    let mut talk = Talk::with(
        WireFormat::Completions,
        replies,
        [("one", script)],
        allowed,
        |it| it,
        limited,
    )
    .await;
    assert_eq!(talk.ask("act").await.unwrap(), TurnEnd::TooManyRounds);
    assert_eq!(talk.model.asked().len(), 2);
    talk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_are_none_are_told_and_nothing_is_called() {
    let replies = [
        ModelReply::calling(&[
            ("a", "one__act", r#"{"query": "#),
            ("b", "one__act", "[]"),
            ("c", "nobody", "{}"),
        ]),
        ModelReply::saying("sorry"),
    ];
    let mut talk = Talk::new(replies, [("one", server(&["act"]))]).await;
    talk.ask("act").await.unwrap();
    let told = talk.told();
    assert!(
        told[0].contains("no JSON object") && told[1].contains("no object"),
        "{told:?}"
    );
    assert!(told[2].contains("There is no tool"), "{told:?}");
    assert_eq!(talk.launches[0].received_of("tools/call").unwrap().len(), 0);
    talk.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_call_is_not_made_and_the_model_is_told() {
    for (answer, words) in [(Some(DENY), "user refused"), (None, "nobody to ask")] {
        let replies = [
            ModelReply::calling(&[("a", "one__act", "{}")]),
            ModelReply::saying("ok"),
        ];
        let mut talk = Talk::with(
            WireFormat::Completions,
            replies,
            [("one", server(&["act"]))],
            |_| {},
            |it| it,
            settings(),
        )
        .await;
        if let Some(answer) = answer {
            person(talk.chat.host(), answer);
        }
        let scratch = Scratch::new("chat-refused").unwrap();
        let sessions = Sessions::in_folder(scratch.path());
        talk.chat.keep_in(sessions, Redactor::new());
        talk.chat.open("kept").unwrap();
        talk.ask("act").await.unwrap();
        assert!(talk.told()[0].contains(words), "{:?}", talk.told());
        assert_eq!(talk.launches[0].received_of("tools/call").unwrap().len(), 0);
        // What was asked and answered is written down.
        let kept = std::fs::read_to_string(scratch.path().join("kept.jsonl")).unwrap();
        assert!(kept.contains(r#""ending":"refused""#), "{kept}");
        let was_asked = kept.contains(r#""about":"one/act","answer":"denied""#);
        assert_eq!(was_asked, words == "user refused", "{kept}");
        talk.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn images_of_a_tool_reach_the_model_in_both_formats() {
    for format in BOTH {
        let image = json!({"content": [{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}]});
        let script = server(&["act"]).on(When::tool("act"), [Reply::result(image).into()]);
        let replies = [
            ModelReply::calling(&[("a", "one__act", "{}")]),
            ModelReply::saying("nice"),
        ];
        let mut talk = Talk::with(
            format,
            replies,
            [("one", script)],
            allowed,
            |it| it,
            settings(),
        )
        .await;
        talk.ask("draw").await.unwrap();
        let whole = talk.model.asked().last().unwrap().to_string();
        assert!(whole.contains("iVBORw0KGgo="), "{whole}");
        talk.close().await;
    }
}
