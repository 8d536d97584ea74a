//! Faces that follow one host: the same events for all, late or early, and one queue of questions.

use std::collections::BTreeMap;
use std::sync::Arc;

use attache_host::Host;
use attache_host::client::ElicitationModes;
use attache_host::events::{Event, EventKind, Events};
use attache_host::policy::CallOrigin;
use attache_host::questions::{Answer, Askable, QuestionKind, Questions, Topic};
use attache_host::snapshot::{Applied, ServerState, Snapshot};
use attache_testkit::chaos::{Action, Reply, Script, When};
use serde_json::{Value, json};

use crate::support::{Fleet, eventually, guarded, kill, script, within};

/// A server that asks the user, reports progress, and can be killed in the middle of a call.
fn busy() -> Script {
    let question = json!({
        "message": "Sure?",
        "requestedSchema": {"type": "object", "properties": {}},
    });
    script()
        .on(
            When::tool("ask"),
            [
                Action::ask("elicitation/create", question),
                Reply::client_answer().into(),
            ],
        )
        .on(When::tool("never"), [Action::never()])
}

fn attended(builder: attache_host::HostBuilder) -> attache_host::HostBuilder {
    builder.keep_events(10_000).askable(Askable {
        elicitation: Some(ElicitationModes::Form),
        ..Askable::default()
    })
}

/// Everything a reader gets until the host is gone.
fn collect(mut events: Events) -> tokio::task::JoinHandle<Vec<Arc<Event>>> {
    tokio::spawn(async move {
        let mut all = Vec::new();
        while let Some(event) = events.next().await {
            all.push(event);
        }
        all
    })
}

fn as_text(event: &Event) -> String {
    serde_json::to_string(event).unwrap()
}

/// What of a snapshot is told in events.
fn told(snapshot: &Snapshot) -> Value {
    let mut value = serde_json::to_value(snapshot).unwrap();
    let fields = value.as_object_mut().unwrap();
    for untold in ["at_ms", "cache", "dropped_events", "dropped_log_lines"] {
        fields.remove(untold);
    }
    for server in fields["servers"].as_array_mut().unwrap() {
        let server = server.as_object_mut().unwrap();
        server.remove("offers");
        server.remove("requests");
    }
    value
}

async fn person_calls(host: &Host, tool: &str) -> Result<String, attache_host::Error> {
    let call = host.call(tool, json!({"message": "m"}));
    let answer = within(tool, call.origin(CallOrigin::Person)).await?;
    Ok(answer.text())
}

/// Declines the next question.
async fn decline(questions: &Questions) {
    let mut face = questions.attach(Topic::ALL);
    let question = within("question", face.next()).await.unwrap();
    questions.answer(question.id, Answer::Decline).unwrap();
}

/// Issue 12: two follow one host, one of them late; a question answered by one is gone at the
/// other; what was issued has ended, also under kills.
#[test]
fn a_face_that_comes_late_sees_the_same_and_the_books_balance() {
    guarded(async || {
        let fleet = Fleet::with([("one", busy()), ("two", busy())], |_| {}, attended);
        let host = fleet.host.clone();
        let (mut folded, early) = host.follow();
        let early = collect(early);
        person_calls(&host, "one/echo").await.unwrap();

        // A call is cut off by a kill, and another by its caller.
        let running = {
            let host = host.clone();
            tokio::spawn(async move { person_calls(&host, "one/never").await })
        };
        eventually(|| host.snapshot().requests.len(), |open| *open == 1).await;
        let dropped = {
            let host = host.clone();
            tokio::spawn(async move { person_calls(&host, "two/never").await })
        };
        let open = eventually(|| host.snapshot(), |seen| seen.requests.len() == 2).await;
        assert_eq!(open.requests[0].about.as_deref(), Some("never"));
        assert_eq!(open.requests[0].origin, Some(CallOrigin::Person));
        kill(fleet.server("one").process_id.unwrap()).await;
        running.await.unwrap().unwrap_err();
        dropped.abort();
        eventually(|| host.snapshot().requests.len(), |open| *open == 0).await;

        // The late one begins with the snapshot, in the middle of a question.
        let questions = host.questions();
        let mut seen_by_other = questions.attach(Topic::ALL);
        let asking = {
            let host = host.clone();
            tokio::spawn(async move { person_calls(&host, "two/ask").await })
        };
        let question = within("question", seen_by_other.next()).await.unwrap();
        assert!(matches!(question.kind, QuestionKind::ElicitForm(_)));
        let late = host.snapshot();
        assert_eq!(late.questions.len(), 1);
        assert_eq!(late.questions[0].request, Some(late.requests[0].request));
        let late_events = collect(host.events_after(late.seq).unwrap());
        decline(questions).await;
        within("closed", questions.closed(question.id)).await;
        assert!(asking.await.unwrap().unwrap().contains("decline"));
        assert!(questions.answer(question.id, Answer::Decline).is_err());

        fleet.comes_to("one", ServerState::Ready).await;
        within("close", host.close()).await;
        let end = host.snapshot();
        drop((host, seen_by_other));
        fleet.finish().await;
        let early = within("early", early).await.unwrap();
        let late_events = within("late", late_events).await.unwrap();

        let numbers: Vec<u64> = early.iter().map(|event| event.seq).collect();
        let expected: Vec<u64> = (folded.seq + 1..=end.seq).collect();
        assert_eq!(numbers, expected, "no gap and no repetition");
        let same = early.iter().filter(|event| event.seq > late.seq);
        let same: Vec<String> = same.map(|event| as_text(event)).collect();
        let late_texts: Vec<String> = late_events.iter().map(|event| as_text(event)).collect();
        assert_eq!(same, late_texts);

        // The events after a snapshot make it the later snapshot, in this process or another.
        let mut refolded: Snapshot = serde_json::from_str(&as_json(&late)).unwrap();
        for event in &late_events {
            let event: Event = serde_json::from_str(&as_text(event)).unwrap();
            assert_eq!(refolded.apply(&event), Applied::Now);
        }
        assert_eq!(told(&refolded), told(&end));
        for event in &early {
            assert_eq!(folded.apply(event), Applied::Now);
        }
        assert_eq!(told(&folded), told(&end));
        assert_eq!(folded.apply(&early[0]), Applied::Already);

        balances(&early);
    });
}

fn as_json(snapshot: &Snapshot) -> String {
    serde_json::to_string(snapshot).unwrap()
}

/// Every request that was sent has ended once, and every question too.
fn balances(events: &[Arc<Event>]) {
    let (mut requests, mut questions) = (BTreeMap::new(), BTreeMap::new());
    let (mut sent, mut asked) = (0, 0);
    for event in events {
        match &event.kind {
            EventKind::Sent { request, .. } => {
                sent += 1;
                *requests.entry(*request).or_insert(0) += 1;
            }
            EventKind::Ended { request, .. } => *requests.entry(*request).or_insert(0) -= 1,
            EventKind::Asked { question } => {
                asked += 1;
                *questions.entry(question.id).or_insert(0) += 1;
            }
            EventKind::Answered { question, .. } | EventKind::Withdrawn { question, .. } => {
                *questions.entry(*question).or_insert(0) -= 1;
            }
            _ => {}
        }
    }
    assert!(sent >= 4 && asked == 1, "{sent} sent, {asked} asked");
    assert!(requests.values().all(|open| *open == 0), "{requests:?}");
    assert!(questions.values().all(|open| *open == 0), "{questions:?}");
}

#[test]
fn what_is_not_kept_any_more_is_too_old_and_a_face_begins_anew() {
    guarded(async || {
        let keep = |builder: attache_host::HostBuilder| builder.keep_events(4);
        let fleet = Fleet::with([("one", script())], |_| {}, keep);
        for _ in 0..4 {
            fleet.echoes("one").await;
        }
        let too_old = fleet.host.events_after(1).unwrap_err();
        let (snapshot, mut events) = fleet.host.follow();
        assert_eq!((too_old.asked, too_old.now), (1, snapshot.seq));
        assert_eq!(snapshot.recent.len(), 4);
        fleet.echoes("one").await;
        let next = within("event", events.next()).await.unwrap();
        assert_eq!(next.seq, snapshot.seq + 1);
        fleet.finish().await;
    });
}

/// P6: a question of a call that its caller gives up is withdrawn, in both eras.
#[test]
fn a_question_goes_with_its_call() {
    guarded(async || {
        let fleet = Fleet::with([("one", busy())], |_| {}, attended);
        let mut face = fleet.host.questions().attach(Topic::ALL);
        let asking = {
            let host = fleet.host.clone();
            tokio::spawn(async move { person_calls(&host, "one/ask").await })
        };
        let question = within("question", face.next()).await.unwrap();
        asking.abort();
        within("closed", fleet.host.questions().closed(question.id)).await;

        let asking = {
            let host = fleet.host.clone();
            tokio::spawn(async move { person_calls(&host, "one/ask").await })
        };
        let question = within("question", face.next()).await.unwrap();
        kill(fleet.server("one").process_id.unwrap()).await;
        within("closed", fleet.host.questions().closed(question.id)).await;
        asking.await.unwrap().unwrap_err();
        assert_eq!(fleet.host.snapshot().questions.len(), 0);
        drop(face);
        fleet.finish().await;
    });
}

#[test]
fn progress_is_seen_by_whoever_follows() {
    guarded(async || {
        let script = script().on(
            When::tool("work"),
            [Action::progress([0.5]), Action::never()],
        );
        let fleet = Fleet::with([("one", script)], |_| {}, attended);
        let working = {
            let host = fleet.host.clone();
            tokio::spawn(async move { person_calls(&host, "one/work").await })
        };
        let host = &fleet.host;
        let half = |seen: &Snapshot| {
            seen.requests
                .front()
                .is_some_and(|it| it.progress.is_some())
        };
        let seen = eventually(|| host.snapshot(), half).await;
        assert_eq!(seen.requests[0].progress, Some(0.5));
        working.abort();
        fleet.finish().await;
    });
}
