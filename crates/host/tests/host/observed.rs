//! What a face sees: events, snapshots, log files.

use attache_host::config::ServerConfig;
use attache_host::log_files::log_path;
use attache_host::snapshot::ServerState;
use attache_host::{HostBuilder, log_folder};
use attache_testkit::chaos::{Action, When};
use attache_testkit::scratch::Scratch;
use serde_json::{Value, json};

use crate::support::{Fleet, guarded, name, script, within};

#[test]
fn a_log_file_holds_stderr_log_messages_and_states_without_secrets() {
    guarded(async || {
        let state = Scratch::new("state").unwrap();
        let folder = state.path().to_owned();
        let script = script()
            .on(
                When::start(),
                [Action::stderr_line("key is hunter2secret \u{1b}[31m")],
            )
            .on(
                When::tool("chat"),
                [
                    Action::log("warning", "low on hunter2secret"),
                    Action::notify(
                        "notifications/progress",
                        json!({"progressToken": "$token", "progress": 1, "message": "with hunter2secret"}),
                    ),
                    Action::text("ok"),
                ],
            );
        let secret = |config: &mut ServerConfig| {
            config.server = config.server.clone().env("API_KEY", "hunter2secret");
        };
        let keep = |builder: HostBuilder| builder.state_folder(&folder);
        let fleet = Fleet::with([("one", script)], secret, keep);
        let mut events = fleet.host.events();
        fleet.call("one/chat", json!({})).await.unwrap();
        // The line and the message are on their way through tasks of their own.
        let (mut line, mut message, mut progress) = (false, false, false);
        while !(line && message && progress) {
            let event = within("event", events.next()).await.unwrap();
            let event = serde_json::to_string(&*event).unwrap();
            assert!(!event.contains("hunter2secret"), "{event}");
            line |= event.contains("\"stderr\"");
            message |= event.contains("low on ***");
            progress |= event.contains("with ***");
        }
        let secretless = serde_json::to_string(&fleet.host.snapshot()).unwrap();
        assert!(!secretless.contains("hunter2secret"));
        within("close", fleet.host.close()).await;
        let log = std::fs::read_to_string(log_path(&log_folder(&folder), &name("one"))).unwrap();
        assert!(
            !log.contains("hunter2secret") && !log.contains('\u{1b}'),
            "{log}"
        );
        for expected in [
            " state: starting\n",
            " state: ready\n",
            " stderr: key is *** \\u{1b}[31m\n",
            " warning: chaos: low on ***\n",
            " state: stopped\n",
        ] {
            assert!(log.contains(expected), "{expected:?} is not in {log}");
        }
        fleet.finish().await;
    });
}

#[test]
fn events_and_snapshot_tell_the_story_of_a_call() {
    guarded(async || {
        let fleet = Fleet::one(&script());
        let mut events = fleet.host.events();
        fleet.echoes("one").await;
        let ready = fleet.server("one");
        assert_eq!(ready.state, ServerState::Ready);
        assert_eq!(ready.revision.as_deref(), Some("2025-11-25"));
        assert_eq!(ready.era.as_deref(), Some("legacy"));
        assert_eq!(ready.calls_itself.as_deref(), Some("chaos 1.0.0"));
        assert_eq!(ready.requests.unwrap().open, 0);
        let Fleet { host, launches } = fleet;
        within("close", host.close()).await;
        drop(host);
        let mut story = Vec::new();
        while let Some(event) = within("event", events.next()).await {
            let event = serde_json::to_value(&*event).unwrap();
            assert_eq!(event["server"], "one");
            let detail = ["state", "method", "ending"]
                .into_iter()
                .find_map(|key| event[key].as_str());
            let kind = event["event"].as_str().unwrap_or_default();
            story.push(format!("{kind} {}", detail.unwrap_or_default()));
        }
        let expected = [
            "state starting",
            "state ready",
            "sent tools/call",
            "ended result",
            "state stopping",
            "state stopped",
        ];
        assert_eq!(story, expected);
        drop(launches);
    });
}

#[test]
fn a_snapshot_is_one_json_document() {
    guarded(async || {
        let fleet = Fleet::one(&script());
        within("list", fleet.host.list_tools()).await.unwrap();
        let snapshot: Value = serde_json::to_value(fleet.host.snapshot()).unwrap();
        let server = &snapshot["servers"][0];
        assert_eq!(server["name"], "one");
        assert_eq!(server["state"], "ready");
        assert_eq!(server["offers"]["tools"], 9);
        assert_eq!(server["offers"]["prompts"], Value::Null);
        assert_eq!(snapshot["cache"]["misses"], 1);
        fleet.finish().await;
    });
}
