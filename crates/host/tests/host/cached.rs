//! Reads and lists that are remembered.

use std::time::Duration;

use attache_host::cache::Freshness;
use attache_host::config::{CacheUse, ServerConfig};
use attache_host::{Error, HostBuilder};
use attache_testkit::chaos::{Action, Script, When};
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::{Fleet, asked, eventually, guarded, script, within};

/// Longer than any test, so that only what the test does ends it.
const LONG: Duration = Duration::from_secs(600);

fn for_long(config: &mut ServerConfig) {
    config.cache.ttl = Some(LONG);
    config.cache.invalidate_after = vec!["sync_*".into()];
}

fn same(builder: HostBuilder) -> HostBuilder {
    builder
}

fn with_sync() -> Script {
    script().on(When::tool("sync_repository"), [Action::text("synced")])
}

async fn read(fleet: &Fleet) -> (String, Freshness) {
    let read = fleet.host.read("chaos://text").server("one");
    let answer = within("read", read).await.unwrap();
    let text = answer.contents.contents[0].text.clone().unwrap();
    (text, answer.freshness)
}

#[test]
fn a_second_read_within_its_time_does_not_reach_the_server_until_a_sync() {
    guarded(async || {
        let fleet = Fleet::with([("one", with_sync())], for_long, same);
        let (text, freshness) = read(&fleet).await;
        assert!(text.starts_with("plain text"));
        assert!(matches!(freshness, Freshness::Fetched));
        let (again, freshness) = read(&fleet).await;
        assert_eq!(again, text);
        assert!(
            matches!(freshness, Freshness::Fresh { .. }),
            "{freshness:?}"
        );
        assert_eq!(asked(fleet.launch(), "resources/read"), 1);
        within("list", fleet.host.list_tools()).await.unwrap();
        within("list", fleet.host.list_tools()).await.unwrap();
        assert_eq!(asked(fleet.launch(), "tools/list"), 1);

        fleet
            .call("one/echo", json!({"message": "x"}))
            .await
            .unwrap();
        read(&fleet).await;
        assert_eq!(asked(fleet.launch(), "resources/read"), 1);
        fleet.call("one/sync_repository", json!({})).await.unwrap();
        read(&fleet).await;
        assert_eq!(asked(fleet.launch(), "resources/read"), 2);
        within("list", fleet.host.list_tools()).await.unwrap();
        assert_eq!(asked(fleet.launch(), "tools/list"), 2);
        let cache = fleet.host.snapshot().cache;
        assert_eq!((cache.hits, cache.misses), (3, 4));
        assert_eq!(cache.entries, 2);
        fleet.finish().await;
    });
}

#[test]
fn without_a_time_or_with_the_cache_off_every_read_reaches_the_server() {
    guarded(async || {
        let no_time = |_: &mut ServerConfig| {};
        let off = |config: &mut ServerConfig| {
            for_long(config);
            config.cache.usage = CacheUse::Off;
        };
        let changes: [fn(&mut ServerConfig); 2] = [no_time, off];
        for change in changes {
            let fleet = Fleet::with([("one", script())], change, same);
            read(&fleet).await;
            read(&fleet).await;
            assert_eq!(asked(fleet.launch(), "resources/read"), 2);
            fleet.finish().await;
        }
    });
}

// C-CACHE-04.
#[test]
fn the_servers_own_time_comes_first() {
    guarded(async || {
        let answer = |ttl: i64| {
            let contents = json!([{"uri": "chaos://text", "text": "t"}]);
            let result = json!({"contents": contents, "ttlMs": ttl, "cacheScope": "public",
                "resultType": "complete"});
            Script::modern().on("resources/read", [Action::result(result)])
        };
        for (ttl, reads) in [(600_000, 1), (0, 2), (-5, 2)] {
            let fleet = Fleet::with([("one", answer(ttl))], for_long, same);
            read(&fleet).await;
            read(&fleet).await;
            assert_eq!(asked(fleet.launch(), "resources/read"), reads, "{ttl}");
            fleet.finish().await;
        }
    });
}

// C-CACHE-06.
#[test]
fn a_change_of_the_resource_makes_the_next_read_reach_the_server() {
    guarded(async || {
        let fleet = Fleet::with([("one", script())], for_long, same);
        let watch = fleet.host.watch_of("one", "chaos://text");
        let _watch = within("watch", watch).await.unwrap();
        read(&fleet).await;
        let mut events = fleet.host.events();
        fleet
            .call("one/touch", json!({"uri": "chaos://text"}))
            .await
            .unwrap();
        loop {
            let event = within("event", events.next()).await.unwrap();
            if serde_json::to_value(&*event).unwrap()["event"] == "resource_updated" {
                break;
            }
        }
        read(&fleet).await;
        assert_eq!(asked(fleet.launch(), "resources/read"), 2);
        fleet.finish().await;
    });
}

#[test]
fn what_cannot_be_fetched_again_is_served_and_marked() {
    guarded(async || {
        // It answers one read and dies of the next; restarted, it dies of the first.
        let dying = script()
            .on(When::method("resources/read").nth(1), [Action::usual()])
            .on(
                When::method("resources/read").from_nth(2),
                [Action::exit(1)],
            );
        let short = |config: &mut ServerConfig| config.cache.ttl = Some(Duration::ZERO);
        let fleet = Fleet::with([("one", dying)], short, same);
        let (text, _) = read(&fleet).await;
        // Each process answers one read, so the second is answered by the next process.
        let (again, freshness) = read(&fleet).await;
        assert_eq!(again, text);
        assert!(matches!(freshness, Freshness::Fetched), "{freshness:?}");
        // Once it is gone for good, the old answer is better than none.
        fleet.host.close().await;
        let (stale, freshness) = read(&fleet).await;
        assert_eq!(stale, text);
        let Freshness::Stale { because, .. } = freshness else {
            panic!("expected a stale answer, got {freshness:?}");
        };
        assert!(matches!(*because, Error::Stopped { .. }), "{because}");
        assert_eq!(fleet.host.snapshot().cache.stale, 1);
        fleet.finish().await;
    });
}

#[test]
fn a_resource_that_is_gone_is_not_served_from_memory() {
    guarded(async || {
        let script = script()
            .on(When::method("resources/read").nth(1), [Action::usual()])
            .on(
                When::method("resources/read").from_nth(2),
                [Action::error(-32002, "Resource not found")],
            );
        let fleet = Fleet::one(&script);
        read(&fleet).await;
        let gone = within("read", fleet.host.read("chaos://text").server("one")).await;
        assert!(matches!(gone, Err(Error::Request { .. })), "{gone:?}");
        fleet.finish().await;
    });
}

#[test]
fn many_readers_of_one_thing_are_one_request() {
    guarded(async || {
        let gated = script().on(
            "resources/read",
            [Action::wait_gate("open"), Action::usual()],
        );
        let fleet = Fleet::with([("one", gated)], for_long, same);
        fleet.host.ready("one").await.unwrap();
        let mut readers = JoinSet::new();
        for _ in 0..50 {
            let read = fleet.host.read("chaos://text").server("one");
            readers.spawn(async move { read.await.unwrap() });
        }
        // All are under way before the server may answer.
        eventually(
            || fleet.host.snapshot().cache.shared,
            |shared| *shared == 49,
        )
        .await;
        fleet.launch().open_gate("open").unwrap();
        assert_eq!(within("reads", readers.join_all()).await.len(), 50);
        assert_eq!(asked(fleet.launch(), "resources/read"), 1);
        fleet.finish().await;
    });
}

// C-CACHE-03: an answer to what a user said is not kept for another request.
#[test]
fn an_answer_that_took_questions_is_not_remembered() {
    guarded(async || {
        let asked_back = json!({"resultType": "input_required", "requestState": "s"});
        let contents = json!([{"uri": "chaos://text", "text": "t"}]);
        let answer = json!({"contents": contents, "ttlMs": 600_000, "cacheScope": "public",
            "resultType": "complete"});
        let read_by = |nth| When::method("resources/read").nth(nth);
        let script = Script::modern()
            .on(read_by(1), [Action::result(asked_back)])
            .on("resources/read", [Action::result(answer)]);
        let fleet = Fleet::with([("one", script)], for_long, same);
        for reached in [2, 3, 3] {
            read(&fleet).await;
            assert_eq!(asked(fleet.launch(), "resources/read"), reached);
        }
        fleet.finish().await;
    });
}
