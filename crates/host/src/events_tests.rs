//! Events as a stream, and as text.

use super::*;
use crate::journal::Journal;

fn server() -> ServerName {
    ServerName::new("notes").unwrap()
}

fn defect(number: usize) -> EventKind {
    EventKind::Defect {
        problem: number.to_string(),
    }
}

#[tokio::test]
async fn fault_49_a_slow_reader_loses_the_oldest_and_is_told() {
    let journal = Journal::new(None);
    let mut events = journal.events();
    for number in 0..EVENT_CAPACITY + 10 {
        journal.tell(&server(), || defect(number));
    }
    assert_eq!(journal.snapshot().dropped_events, 10);
    let first = events.next().await.unwrap();
    assert!(matches!(first.kind, EventKind::Missed { count: 10 }));
    assert_eq!(first.seq, 10);
    drop(journal);
    let mut expected = 11;
    while let Some(event) = events.next().await {
        assert_eq!(event.seq, expected);
        expected += 1;
    }
    assert_eq!(expected, EVENT_CAPACITY as u64 + 11);
}

#[tokio::test]
async fn nothing_is_made_for_nobody_and_numbers_go_on() {
    let journal = Journal::new(None);
    journal.tell(&server(), || unreachable!("nobody listens"));
    let mut events = journal.events();
    journal.tell(&server(), || defect(0));
    assert_eq!(events.next().await.unwrap().seq, 2);
    drop(events);
    journal.tell(&server(), || unreachable!("nobody listens any more"));
    let too_old = journal.events_after(2).unwrap_err();
    assert_eq!(too_old, TooOld { asked: 2, now: 3 });
    assert!(journal.events_after(3).is_ok());
}

#[tokio::test]
async fn what_is_kept_is_replayed_and_goes_on_live() {
    let journal = Journal::new(Some(4));
    for number in 0..6 {
        journal.tell(&server(), || defect(number));
    }
    assert!(journal.events_after(1).is_err());
    assert!(journal.events_after(7).is_err(), "a number of another host");
    let mut events = journal.events_after(2).unwrap();
    journal.tell(&server(), || defect(6));
    // The replay was not read in time, so its oldest event is gone: that is told, not hidden.
    let missed = events.next().await.unwrap();
    assert!(matches!(missed.kind, EventKind::Missed { count: 1 }));
    let rest = std::iter::from_fn(|| events.try_next().map(|event| event.seq));
    assert_eq!(rest.collect::<Vec<u64>>(), [4, 5, 6, 7]);
}

#[test]
fn long_texts_count_as_much_as_many_events() {
    let journal = Journal::new(Some(1000));
    let line = "x".repeat(1024 * 1024);
    for _ in 0..20 {
        let line = line.clone();
        journal.tell(&server(), || EventKind::Stderr { line });
    }
    let kept = EVENT_BYTES / line.len() - 1;
    assert!(journal.events_after(20 - kept as u64).is_ok());
    assert!(journal.events_after(19 - kept as u64).is_err());
}

#[test]
fn events_are_plain_data_with_their_kind_in_a_field() {
    let event = |kind| Event {
        seq: 3,
        at_ms: 7,
        server: Some(server()),
        kind,
    };
    let big = Json::parse("[12345678901234567890123,1.50]").unwrap();
    let state = StateChange {
        state: ServerState::Ready,
        starts: 1,
        cause: None,
        stderr: Vec::new(),
        connection: ConnectionSnapshot {
            era: Some("legacy".into()),
            ..ConnectionSnapshot::default()
        },
    };
    for (kind, expected) in [
        (
            EventKind::ResourceUpdated { uri: "n:1".into() },
            r#"{"seq":3,"at_ms":7,"server":"notes","event":"resource_updated","uri":"n:1"}"#,
        ),
        (
            EventKind::Gap,
            r#"{"seq":3,"at_ms":7,"server":"notes","event":"gap"}"#,
        ),
        (
            EventKind::Log {
                level: "info".into(),
                logger: None,
                data: big,
            },
            r#"{"seq":3,"at_ms":7,"server":"notes","event":"log","level":"info","data":[12345678901234567890123,1.50]}"#,
        ),
        (
            EventKind::State(state),
            r#"{"seq":3,"at_ms":7,"server":"notes","event":"state","state":"ready","starts":1,"connection":{"era":"legacy"}}"#,
        ),
        (
            EventKind::Sent {
                request: 4,
                method: "tools/call".into(),
                about: Some("echo".into()),
                origin: Some(CallOrigin::Person),
            },
            r#"{"seq":3,"at_ms":7,"server":"notes","event":"sent","request":4,"method":"tools/call","about":"echo","origin":"person"}"#,
        ),
    ] {
        let text = serde_json::to_string(&event(kind)).unwrap();
        assert_eq!(text, expected);
        let read: Event = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
