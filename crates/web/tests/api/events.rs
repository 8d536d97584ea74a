//! Events by number: several readers, cuts, and readers that come too late.

use attache_testkit::chaos::Script;
use attache_testkit::guard::guarded;

use crate::support::{EventReader, Options, Rig};

fn legacy() -> Script {
    Script::legacy("2025-06-18")
}

#[test]
fn two_readers_one_question_answered_in_one_gone_in_the_other() {
    guarded(async || {
        let rig = Rig::new(&[("chaos", legacy())]).await;
        let (mut one, mut other) = (rig.events(0).await, rig.events(0).await);
        let begin = r#"{"server_name":"chaos","tool_name":"echo","arguments":{"message":"x"}}"#;
        rig.post("/use_mcp_tool", begin).await;
        let asked = one.named("asked").await;
        assert_eq!(other.named("asked").await, asked);
        let id = asked.data["question"]["id"].clone();
        rig.post(&format!("/questions/{id}"), r#"{"answer":{"allow":{}}}"#)
            .await;
        let answered = other.named("answered").await;
        assert_eq!(answered.data["question"], id);
        assert_eq!(one.named("answered").await, answered);
        assert_eq!(rig.get("/questions").await.body, r#"{"questions":[]}"#);

        // A question whose call is cancelled is withdrawn everywhere.
        let call = rig.post("/use_mcp_tool", begin).await.json()["call"]["call"].clone();
        let asked = one.named("asked").await.data["question"]["id"].clone();
        rig.delete(&format!("/calls/{call}")).await;
        for reader in [&mut one, &mut other] {
            assert_eq!(reader.named("withdrawn").await.data["question"], asked);
        }
        rig.close().await;
    });
}

#[test]
fn events_resume_after_a_cut_without_loss_or_repetition() {
    guarded(async || {
        let rig = Rig::new(&[("chaos", legacy())]).await;
        let mut seen = Vec::new();
        let mut reader = rig.events(0).await;
        for round in 0..4 {
            let call = rig.call("chaos", "sleep", r#"{"ms":4,"steps":4}"#).await;
            let call = call.json()["call"].clone();
            // The cut comes in the middle of a call's events.
            let cut = reader.until(|told| {
                seen.push(told.id.unwrap());
                told.event == "progress" && told.data["request"] == call
            });
            let cut = cut.await.id.unwrap();
            drop(reader);
            let last = cut.to_string();
            reader = match round % 2 {
                0 => EventReader::open(&rig, "/api/v1/events", &[("Last-Event-ID", &last)]).await,
                _ => rig.events(cut).await,
            };
        }
        rig.call("chaos", "echo", r#"{"message":"end"}"#).await;
        let all: u64 = rig.get("/snapshot").await.json()["seq"].as_u64().unwrap();
        reader
            .until(|told| {
                seen.push(told.id.unwrap());
                told.id == Some(all)
            })
            .await;
        assert_eq!(seen, (1..=all).collect::<Vec<_>>());
        rig.close().await;
    });
}

#[test]
fn a_reader_that_comes_too_late_is_told_to_begin_anew_and_goes_on() {
    guarded(async || {
        let options = Options {
            kept_events: 4,
            ..Options::default()
        };
        let rig = Rig::with(&[("chaos", legacy())], options).await;
        for _ in 0..4 {
            rig.call("chaos", "echo", r#"{"message":"x"}"#).await;
        }
        for path in [
            "/api/v1/events?after=1",
            "/api/v1/events?after=99999999",
            "/api/v1/events?after=3&host=1",
        ] {
            let mut reader = EventReader::open(&rig, path, &[]).await;
            let reset = reader.next().await.unwrap();
            assert_eq!(reset.event, "reset", "{path}");
            let snapshot = rig.get("/snapshot").await.json();
            assert_eq!(reset.data["seq"], snapshot["seq"]);
            assert_eq!(reset.data["started_ms"], snapshot["started_ms"]);
            let now = snapshot["seq"].as_u64().unwrap();
            rig.call("chaos", "echo", r#"{"message":"x"}"#).await;
            assert_eq!(reader.next().await.unwrap().id, Some(now + 1));
        }
        rig.close().await;
    });
}

#[test]
fn s24_streams_are_bounded_and_end_with_the_console() {
    guarded(async || {
        let rig = Rig::new(&[("chaos", legacy())]).await;
        let mut readers = Vec::new();
        for _ in 0..16 {
            readers.push(rig.events(0).await);
        }
        let refused = rig.get("/events").await;
        assert_eq!(refused.status, 503);
        assert_eq!(refused.failure(), ("busy".to_owned(), "console".to_owned()));
        assert!(refused.body.contains("too many streams"), "{refused:?}");
        assert_eq!(rig.get("/frames").await.status, 503);
        // One that leaves makes room, as soon as that is noticed.
        drop(readers.pop());
        let mut status = 503;
        while status == 503 {
            status = EventReader::open(&rig, "/api/v1/events", &[]).await.status;
        }
        assert_eq!(status, 200);
        let mut one = readers.pop().unwrap();
        rig.close().await;
        while one.next().await.is_some() {}
    });
}

#[test]
fn frames_show_what_passes() {
    guarded(async || {
        let rig = Rig::new(&[("chaos", legacy()), ("other", legacy())]).await;
        let mut frames = EventReader::open(&rig, "/api/v1/frames?server=chaos", &[]).await;
        rig.call("other", "echo", r#"{"message":"not this"}"#).await;
        rig.call("chaos", "echo", r#"{"message":"this one"}"#).await;
        let sent = |told: &crate::support::Told| {
            assert_eq!(told.data["server"], "chaos");
            let payload = told.data["kind"]["sent"]["payload"].as_str();
            payload.is_some_and(|payload| payload.contains("this one"))
        };
        frames.until(sent).await;
        rig.close().await;
    });
}
