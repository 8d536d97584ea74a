//! The cache under a paused clock: freshness, flights, bounds.

use std::sync::atomic::AtomicU32;

use attache_client::protocol::ResourceContents;
use attache_client::{CloseReason, ServerError};

use super::*;

fn contents(text: &str) -> Cached {
    let contents = ReadResourceResult {
        contents: vec![ResourceContents::text("u", text)].into(),
        ..ReadResourceResult::default()
    };
    Cached::Contents(Arc::new(contents))
}

fn key(uri: &str) -> Key {
    Key {
        server: ServerName::new("s").unwrap(),
        what: What::Contents(uri.into()),
    }
}

fn rules(ttl: u64) -> CacheRules {
    CacheRules {
        ttl: Some(Duration::from_secs(ttl)),
        ..CacheRules::default()
    }
}

fn lost() -> Error {
    Error::Request {
        server: ServerName::new("s").unwrap(),
        error: ClientError::NotSent {
            method: "resources/read".to_owned(),
            reason: CloseReason::EndOfStream,
        },
    }
}

/// A cache of one server and a count of fetches.
struct Desk {
    cache: Cache,
    epochs: Epochs,
    fetches: AtomicU32,
}

impl Desk {
    fn new(bytes: u64) -> Self {
        Self {
            cache: Cache::new(bytes),
            epochs: Epochs::default(),
            fetches: AtomicU32::new(0),
        }
    }

    async fn get(&self, uri: &str, rules: &CacheRules, answer: Result<&str, Error>) -> Found {
        self.try_get(uri, rules, answer).await.unwrap()
    }

    async fn try_get(
        &self,
        uri: &str,
        rules: &CacheRules,
        answer: Result<&str, Error>,
    ) -> Result<Found, Error> {
        let fetch = || async {
            self.fetches.fetch_add(1, Ordering::Relaxed);
            Ok(Fetched::new(contents(answer?), Lifetimes::default()))
        };
        self.cache.get(key(uri), rules, &self.epochs, fetch).await
    }

    fn fetches(&self) -> u32 {
        self.fetches.load(Ordering::Relaxed)
    }
}

fn text(found: &Found) -> &str {
    match &found.value {
        Cached::Contents(contents) => contents.contents[0].text.as_deref().unwrap(),
        other => panic!("expected contents, got {other:?}"),
    }
}

// C-CACHE-02, C-CACHE-04, C-CACHE-05.
#[tokio::test(start_paused = true)]
async fn an_answer_is_fresh_until_exactly_its_time() {
    let desk = Desk::new(1 << 20);
    desk.get("u", &rules(10), Ok("one")).await;
    tokio::time::advance(Duration::from_millis(9_999)).await;
    let found = desk.get("u", &rules(10), Ok("two")).await;
    assert_eq!(text(&found), "one");
    tokio::time::advance(Duration::from_millis(1)).await;
    let found = desk.get("u", &rules(10), Ok("two")).await;
    assert_eq!((text(&found), desk.fetches()), ("two", 2));
    // It is the answer to that question only (C-CACHE-02).
    let other = desk.get("other", &rules(10), Ok("three")).await;
    assert_eq!((text(&other), desk.fetches()), ("three", 3));
}

// C-CACHE-06.
#[tokio::test(start_paused = true)]
async fn a_notification_and_a_change_of_everything_end_freshness() {
    let desk = Desk::new(1 << 20);
    let server = ServerName::new("s").unwrap();
    desk.get("n://a/b", &rules(10), Ok("1")).await;
    desk.cache.resource_changed(&server, "n://a/b/part");
    desk.get("n://a/b", &rules(10), Ok("2")).await;
    assert_eq!(desk.fetches(), 2, "a part changed");
    desk.cache.resource_changed(&server, "n://a/bc");
    desk.get("n://a/b", &rules(10), Ok("3")).await;
    assert_eq!(desk.fetches(), 2, "something else changed");
    desk.epochs.everything_changed();
    desk.get("n://a/b", &rules(10), Ok("4")).await;
    assert_eq!(desk.fetches(), 3);
    desk.epochs.list_changed(ListKind::Tools);
    desk.get("n://a/b", &rules(10), Ok("5")).await;
    assert_eq!(desk.fetches(), 3, "a list changed");
}

#[tokio::test(start_paused = true)]
async fn a_change_during_the_fetch_counts() {
    let desk = Desk::new(1 << 20);
    let server = ServerName::new("s").unwrap();
    for named in [true, false] {
        let uri = format!("u{named}");
        let fetch = || async {
            if named {
                desk.cache.resource_changed(&server, &uri);
            } else {
                desk.epochs.everything_changed();
            }
            Ok(Fetched::new(contents("old"), Lifetimes::default()))
        };
        let rules = rules(10);
        let found = desk.cache.get(key(&uri), &rules, &desk.epochs, fetch);
        assert_eq!(text(&found.await.unwrap()), "old");
        assert_eq!(text(&desk.get(&uri, &rules, Ok("new")).await), "new");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_fetch_serves_what_is_remembered_and_marks_it() {
    let desk = Desk::new(1 << 20);
    assert!(desk.try_get("u", &rules(1), Err(lost())).await.is_err());
    desk.get("u", &rules(1), Ok("old")).await;
    tokio::time::advance(Duration::from_secs(5)).await;
    let found = desk.get("u", &rules(1), Err(lost())).await;
    assert_eq!(text(&found), "old");
    let Freshness::Stale { age, because } = found.freshness else {
        panic!("expected it stale: {found:?}");
    };
    assert_eq!(age, Duration::from_secs(5));
    assert!(because.to_string().contains("not sent"), "{because}");

    // The server's own word that there is nothing is an answer, and ends the memory.
    let gone = || Error::Request {
        server: ServerName::new("s").unwrap(),
        error: ClientError::Server(ServerError {
            method: "resources/read".to_owned(),
            code: -32002,
            message: "gone".to_owned(),
            data: None,
            meaning: Meaning::ResourceNotFound,
        }),
    };
    assert!(desk.try_get("u", &rules(1), Err(gone())).await.is_err());
    assert!(desk.try_get("u", &rules(1), Err(lost())).await.is_err());
    assert_eq!(desk.cache.snapshot().stale, 1);
}

#[tokio::test(start_paused = true)]
async fn fault_73_a_list_is_not_forgotten_because_a_resource_is_missing() {
    let desk = Desk::new(1 << 20);
    let tools = Key {
        server: ServerName::new("s").unwrap(),
        what: What::List(ListKind::Tools),
    };
    let list = || async {
        let nothing = Cached::Tools(Arc::default());
        Ok(Fetched::new(nothing, Lifetimes::default()))
    };
    let missing = || async {
        Err(Error::Request {
            server: ServerName::new("s").unwrap(),
            error: ClientError::Server(ServerError {
                method: "tools/list".to_owned(),
                code: -32002,
                message: "gone".to_owned(),
                data: None,
                meaning: Meaning::ResourceNotFound,
            }),
        })
    };
    let rules = rules(1);
    let listed = desk.cache.get(tools.clone(), &rules, &desk.epochs, list);
    listed.await.unwrap();
    tokio::time::advance(Duration::from_secs(5)).await;
    let found = desk.cache.get(tools.clone(), &rules, &desk.epochs, missing);
    let found = found.await.unwrap();
    assert!(
        matches!(found.freshness, Freshness::Stale { .. }),
        "{found:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn readers_share_a_flight_and_outlive_the_one_who_began_it() {
    let desk = Arc::new(Desk::new(1 << 20));
    let slow = |desk: Arc<Desk>| async move {
        let fetch = || async {
            desk.fetches.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(Fetched::new(contents("t"), Lifetimes::default()))
        };
        let rules = rules(10);
        desk.cache.get(key("u"), &rules, &desk.epochs, fetch).await
    };
    let mut readers: Vec<_> = (0..10).map(|_| tokio::spawn(slow(desk.clone()))).collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(desk.fetches(), 1);
    readers.remove(0).abort();
    for reader in readers {
        assert_eq!(text(&reader.await.unwrap().unwrap()), "t");
    }
    assert_eq!(desk.fetches(), 2, "the next in line has taken over");
    assert!(desk.cache.flights().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_cache_holds_no_more_than_its_bytes() {
    let most = 64 * 1024;
    let desk = Desk::new(most);
    let large = "x".repeat(8 * 1024);
    for number in 0..100 {
        desk.get(&format!("u{number}"), &rules(10), Ok(&large))
            .await;
        assert!(desk.cache.snapshot().bytes <= most);
    }
    let snapshot = desk.cache.snapshot();
    assert!(
        snapshot.entries > 0 && snapshot.entries <= 8,
        "{snapshot:?}"
    );
    // What is larger than the whole cache is given, and not kept.
    let huge = "x".repeat(70 * 1024);
    desk.get("huge", &rules(10), Ok(&huge)).await;
    assert!(desk.cache.snapshot().bytes <= most);
    assert!(desk.cache.last_known(&key("huge")).is_none());
}

// C-CACHE-09.
#[test]
fn the_shortest_time_and_the_narrowest_scope_of_all_pages_count() {
    let rules = rules(7);
    for (pages, ttl, scope) in [
        (
            vec![(Some(500), Some("public")), (Some(300), Some("public"))],
            300,
            CacheScope::Public,
        ),
        (
            vec![(Some(500), Some("public")), (None, None)],
            500,
            CacheScope::Private,
        ),
        (vec![(Some(-1), None)], 0, CacheScope::Private),
        (vec![(None, None)], 7000, CacheScope::Private),
        (
            vec![(Some(i64::MAX), None)],
            86_400_000,
            CacheScope::Private,
        ),
    ] {
        let mut lifetimes = Lifetimes::default();
        for (ttl, scope) in &pages {
            lifetimes.note(*ttl, *scope);
        }
        let what = What::Contents("u".into());
        assert_eq!(lifetimes.ttl(&rules, &what).as_millis(), ttl, "{pages:?}");
        assert_eq!(lifetimes.scope, Some(scope), "{pages:?}");
    }
}

#[test]
fn lists_may_be_fresh_for_another_time_than_resources() {
    let (list, contents) = (What::List(ListKind::Tools), What::Contents("u".into()));
    let mut rules = rules(300);
    let seconds = |rules: &CacheRules, what| Lifetimes::default().ttl(rules, what).as_secs();
    assert_eq!(
        (seconds(&rules, &list), seconds(&rules, &contents)),
        (300, 300)
    );
    rules.list_ttl = Some(Duration::from_secs(60));
    assert_eq!(
        (seconds(&rules, &list), seconds(&rules, &contents)),
        (60, 300)
    );
}
