//! Lists of many servers: outcomes, memory, refreshes.

use std::future::IntoFuture as _;
use std::time::Duration;

use attache_host::Lifetime;
use attache_host::catalog::Outcome;
use attache_host::client::protocol::Tool;
use attache_host::config::ServerConfig;
use attache_host::events::EventKind;
use attache_host::manifest;
use attache_host::snapshot::ServerState;
use attache_testkit::chaos::{Action, Script, When};
use attache_testkit::scratch::Scratch;
use serde_json::{Value, json};

use crate::support::{Fleet, asked, config_of, eventually, guarded, script, within};

/// X-INIT-09: a list that is not declared is empty, marked, and not asked for.
#[test]
fn what_a_server_does_not_declare_is_not_offered() {
    guarded(async || {
        let script = script().capabilities(json!({"tools": {}}));
        let fleet = Fleet::one(&script);
        let prompts = within("prompts", fleet.host.list_prompts()).await.unwrap();
        assert!(prompts.is_complete() && prompts.entries.is_empty());
        let outcome = serde_json::to_value(&prompts.servers[0]).unwrap();
        assert_eq!(outcome, json!({"name": "one", "outcome": "not_offered"}));
        let tools = within("tools", fleet.host.list_tools()).await.unwrap();
        assert!(matches!(tools.servers[0].outcome, Outcome::Ok));
        assert_eq!(asked(fleet.launch(), "prompts/list"), 0);
        assert_eq!(asked(fleet.launch(), "tools/list"), 1);
        fleet.finish().await;
    });
}

#[test]
fn many_servers_answer_together_and_each_outcome_is_told() {
    guarded(async || {
        let crashing = script().on(When::start(), [Action::exit(1)]);
        let off = |config: &mut ServerConfig| config.enabled = config.name.as_str() != "off";
        let scripts = [
            ("crashes", crashing),
            ("good", script()),
            ("modern", Script::modern()),
            ("off", script()),
        ];
        let fleet = Fleet::with(scripts, off, |builder| builder);
        let tools = within("list", fleet.host.list_tools()).await.unwrap();
        assert!(!tools.is_complete());
        let outcome = |name: &str| {
            let answer = tools.servers.iter().find(|it| it.name.as_str() == name);
            answer.unwrap().outcome.clone()
        };
        let Outcome::Unreachable(failure) = outcome("crashes") else {
            panic!("expected it to be unreachable: {:?}", outcome("crashes"));
        };
        assert!(failure.cause.contains("exited with code 1"), "{failure:?}");
        assert!(matches!(outcome("good"), Outcome::Ok));
        assert!(matches!(outcome("modern"), Outcome::Ok));
        assert!(matches!(outcome("off"), Outcome::Disabled));
        let of = |name: &str| {
            let entries = tools.entries.iter();
            entries.filter(|it| it.server.as_str() == name).count()
        };
        assert_eq!((of("good"), of("modern"), of("crashes")), (9, 9, 0));
        let resources = within("list", fleet.host.list_resources().server("good")).await;
        assert_eq!(resources.unwrap().entries.len(), 2);
        let templates = within("list", fleet.host.list_templates().server("good")).await;
        assert_eq!(templates.unwrap().entries.len(), 1);
        let prompts = within("list", fleet.host.list_prompts().server("good")).await;
        assert_eq!(prompts.unwrap().entries[0].qualified, "good/greet");
        fleet.finish().await;
    });
}

#[test]
fn fault_36_a_slow_server_keeps_nobody_waiting_once_it_is_remembered() {
    guarded(async || {
        let state = Scratch::new("state").unwrap();
        let launch = script().launch().unwrap();
        let server = config_of("slow", &launch);
        let host = |server: &ServerConfig| {
            attache_host::Host::builder()
                .config(crate::support::config([server.clone()]))
                .state_folder(state.path())
                .lifetime(Lifetime::OneShot)
                .start()
        };
        let first = host(&server);
        let tools = within("list", first.list_tools()).await.unwrap();
        assert!(tools.is_complete());
        within("close", first.close()).await;

        // The same way to start it, now with a server behind that never gets ready.
        let folder =
            manifest::manifest_path(&attache_host::manifest_folder(state.path()), &server.name);
        assert!(folder.is_file());
        let remembered =
            manifest::remembered::<Tool>(&attache_host::manifest_folder(state.path()), &server);
        assert_eq!(remembered.unwrap().entries.len(), 9);
        let stuck = script().on(When::start(), [Action::wait_gate("never")]);
        let replaced = stuck.launch().unwrap();
        let own_script = std::path::Path::new(&launch.args[0]).join("script.json");
        let other_script = std::path::Path::new(&replaced.args[0]).join("script.json");
        std::fs::copy(other_script, own_script).unwrap();
        let second = host(&server);
        let list = second
            .list_tools()
            .remembered_after(Duration::from_millis(50));
        let tools = within("list", list).await.unwrap();
        assert_eq!(tools.entries.len(), 9);
        let outcome = &tools.servers[0].outcome;
        assert!(matches!(outcome, Outcome::Remembered { .. }), "{outcome:?}");
        // Who wants the answer itself has it, however long it takes.
        let list = second.list_tools().for_all();
        let patient = tokio::spawn(list.into_future());
        let quick = second.list_tools().remembered_after(Duration::ZERO);
        assert!(!within("list", quick).await.unwrap().is_complete());
        launch.open_gate("never").unwrap();
        let tools = within("list", patient).await.unwrap().unwrap();
        assert!(tools.is_complete(), "{:?}", tools.servers);
        within("close", second.close()).await;
        launch
            .tag()
            .wait_until_gone(crate::support::PATIENCE)
            .unwrap();

        // Another way to start it is another server: nothing is remembered of that.
        let mut other = server.clone();
        if let attache_host::config::Transport::Stdio(launch) = other.server.transport_mut() {
            launch.args.push("more".into());
        }
        let manifests = attache_host::manifest_folder(state.path());
        assert!(manifest::remembered::<Tool>(&manifests, &other).is_none());
    });
}

#[test]
fn fault_36_the_healthy_are_usable_while_one_never_gets_ready() {
    guarded(async || {
        let stuck = script().on(When::start(), [Action::wait_gate("never")]);
        let fleet = Fleet::new([("stuck", stuck), ("good", script())]);
        let host = fleet.host.clone();
        let waiting = tokio::spawn(async move { host.ready("stuck").await });
        fleet.echoes("good").await;
        let tools = within("list", fleet.host.list_tools().server("good")).await;
        assert!(tools.unwrap().is_complete());
        // Also by a URI that only the healthy one is known to have.
        let read = within("read", fleet.host.read("chaos://text"))
            .await
            .unwrap();
        assert_eq!(read.server.as_str(), "good");
        waiting.abort();
        fleet.finish().await;
    });
}

#[test]
fn programs_that_are_wanted_together_start_one_after_another_and_all_answer() {
    guarded(async || {
        let names = ["a", "b", "c", "d", "e"];
        let launches = names.map(|name| (name, script().launch().unwrap()));
        let servers = launches
            .iter()
            .map(|(name, launch)| config_of(name, launch));
        let mut config = crate::support::config(servers);
        config.concurrent_starts = Some(1);
        let host = attache_host::Host::builder().config(config).start();
        let mut events = host.events();
        let tools = within("list", host.list_tools()).await.unwrap();
        assert!(tools.is_complete(), "{:?}", tools.servers);
        assert_eq!(tools.servers.len(), names.len());
        // One that a request needs is not held up, whatever the others do.
        within("ready", host.ready("a")).await.unwrap();
        let mut ready = 0;
        while ready < names.len() {
            let event = within("event", events.next()).await.unwrap();
            ready += usize::from(matches!(
                &event.kind,
                EventKind::State(change) if change.state == ServerState::Ready
            ));
        }
        within("close", host.close()).await;
    });
}

fn floods(method: &str, count: u64) -> Script {
    script().on(
        When::tool("flood"),
        [
            Action::flood(count, method, Value::Null),
            Action::text("done"),
        ],
    )
}

#[test]
fn fault_50_two_hundred_notices_cost_at_most_two_refetches() {
    guarded(async || {
        let fleet = Fleet::one(&floods("notifications/tools/list_changed", 200));
        let mut events = fleet.host.events();
        within("list", fleet.host.list_tools()).await.unwrap();
        assert_eq!(asked(fleet.launch(), "tools/list"), 1);
        fleet.call("one/flood", json!({})).await.unwrap();
        let mut notices = 0;
        while notices < 200 {
            let event = within("event", events.next()).await.unwrap();
            notices += usize::from(matches!(event.kind, EventKind::ListChanged { .. }));
        }
        let launch = fleet.launch();
        eventually(|| asked(launch, "tools/list"), |count| *count >= 2).await;
        // The plan's own tests show that no later fetch can be due; this shows what is under way.
        fleet.echoes("one").await;
        assert!(asked(launch, "tools/list") <= 3);
        fleet.finish().await;
    });
}

#[test]
fn fault_50_a_server_that_announces_after_each_list_makes_no_loop() {
    guarded(async || {
        let announces = script().on(
            "tools/list",
            [
                Action::usual(),
                Action::notify("notifications/tools/list_changed", Value::Null),
            ],
        );
        let fleet = Fleet::one(&announces);
        let mut events = fleet.host.events();
        within("list", fleet.host.list_tools()).await.unwrap();
        let mut notices = 0;
        // The first notice follows the first list, the second one the refresh.
        while notices < 2 {
            let event = within("event", events.next()).await.unwrap();
            notices += usize::from(matches!(event.kind, EventKind::ListChanged { .. }));
        }
        for _ in 0..100 {
            fleet.echoes("one").await;
        }
        // Pinned tools are checked against a list, which is fetched for few of the calls.
        let lists = asked(fleet.launch(), "tools/list");
        assert!(lists < 50, "{lists} lists");
        fleet.finish().await;
    });
}

#[test]
fn a_modern_server_tells_of_changes_too() {
    guarded(async || {
        let fleet = Fleet::one(&Script::modern());
        within("list", fleet.host.list_tools()).await.unwrap();
        fleet
            .launch()
            .wait_received_of("subscriptions/listen", 1, crate::support::PATIENCE)
            .unwrap();
        let fresh = within("list", fleet.host.list_tools()).await.unwrap();
        assert!(fresh.is_complete());
        assert_eq!(asked(fleet.launch(), "tools/list"), 1);
        fleet
            .call("one/change", json!({"list": "tools"}))
            .await
            .unwrap();
        let launch = fleet.launch();
        eventually(|| asked(launch, "tools/list"), |count| *count == 2).await;
        fleet.finish().await;
    });
}
