//! Lists over many pages (fault 51), and lists that are followed (fault 50).

use std::collections::BTreeMap;

use attache_client::protocol::{CompletionReference, ListTools, Revision};
use attache_client::{Client, Error, Follow, Limits};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::opening::{ERAS, connected, finish, plain, soon, start};
use crate::peer::Peer;

type Names = Result<Vec<String>, Error>;

fn listing(client: &Client) -> JoinHandle<Names> {
    let client = client.clone();
    start(async move {
        let tools = client.list_tools().await?;
        Ok(tools.iter().map(|tool| tool.name.clone()).collect())
    })
}

/// Answers one page of one tool; a null cursor ends the list.
async fn page(peer: &mut Peer, expected_cursor: Value, tool: &str, next: Value) {
    let request = peer.request("tools/list").await;
    let cursor = request["params"].get("cursor").cloned().unwrap_or_default();
    assert_eq!(cursor, expected_cursor);
    let mut result = json!({"tools": [{"name": tool, "inputSchema": {"type": "object"}}]});
    if !next.is_null() {
        result["nextCursor"] = next;
    }
    peer.answer(&request, result).await;
}

#[track_caller]
fn assert_protocol_error(outcome: Names, expected: &str) {
    match outcome {
        Err(Error::Protocol { method, problem }) => {
            assert_eq!(
                (method.as_str(), problem.as_str()),
                ("tools/list", expected)
            );
        }
        other => panic!("{other:?}"),
    }
}

// C-PAG-01, C-PAG-02, C-PAG-03.
#[tokio::test(start_paused = true)]
async fn fault_51_an_empty_cursor_is_a_cursor() {
    for revision in ERAS {
        let (client, mut peer) = plain(revision).await;
        let names = listing(&client);
        page(&mut peer, Value::Null, "a", json!("")).await;
        page(&mut peer, json!(""), "b", json!("third")).await;
        page(&mut peer, json!("third"), "c", Value::Null).await;
        assert_eq!(names.await.unwrap().unwrap(), ["a", "b", "c"]);
        finish(client, peer).await;
    }
}

// C-PAG-06.
#[tokio::test(start_paused = true)]
async fn fault_51_a_repeating_cursor_is_a_typed_error() {
    for revision in ERAS {
        let (client, mut peer) = plain(revision).await;
        let names = listing(&client);
        page(&mut peer, Value::Null, "a", json!("again")).await;
        page(&mut peer, json!("again"), "b", json!("again")).await;
        let problem = "the cursor \"again\" came twice; the list has no end";
        assert_protocol_error(names.await.unwrap(), problem);

        let names = listing(&client);
        page(&mut peer, Value::Null, "a", json!("x")).await;
        page(&mut peer, json!("x"), "b", json!("y")).await;
        page(&mut peer, json!("y"), "c", json!("x")).await;
        let problem = "the cursor \"x\" came twice; the list has no end";
        assert_protocol_error(names.await.unwrap(), problem);
        finish(client, peer).await;
    }
}

#[tokio::test(start_paused = true)]
async fn fault_51_pages_are_capped_exactly() {
    let limits = Limits {
        pages: 3,
        ..Limits::default()
    };
    for (last, expected) in [
        (Value::Null, None),
        (json!("4"), Some("the list has more than 3 pages")),
    ] {
        let (client, mut peer) =
            connected(Revision::V2025_11_25, |server| server.limits(limits)).await;
        let names = listing(&client);
        page(&mut peer, Value::Null, "a", json!("2")).await;
        page(&mut peer, json!("2"), "b", json!("3")).await;
        page(&mut peer, json!("3"), "c", last).await;
        let outcome = names.await.unwrap();
        match expected {
            None => assert_eq!(outcome.unwrap().len(), 3),
            Some(problem) => assert_protocol_error(outcome, problem),
        }
        // `finish` hears any fourth request.
        finish(client, peer).await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_page_can_be_asked_for_by_hand() {
    let (client, mut peer) = plain(Revision::V2026_07_28).await;
    let asked = start(client.page::<ListTools>(Some("there".to_owned())));
    page(&mut peer, json!("there"), "a", json!("next")).await;
    let page = asked.await.unwrap().unwrap();
    assert_eq!(page.next_cursor.as_deref(), Some("next"));
    assert_eq!(page.tools[0].name, "a");
    finish(client, peer).await;
}

type Followed = (Follow<ListTools>, Option<Result<usize, Error>>);

fn following(mut follow: Follow<ListTools>) -> JoinHandle<Followed> {
    start(async move {
        let next = follow.next().await;
        let length = next.map(|tools| tools.map(|tools| tools.len()));
        (follow, length)
    })
}

/// Begins to follow the tools; the listen request of a modern server, null of a legacy one.
async fn begin(client: &Client, peer: &mut Peer) -> (Follow<ListTools>, Value) {
    let client = client.clone();
    let begun = start(async move { client.follow::<ListTools>().await });
    let mut listen = Value::Null;
    if peer.is_modern() {
        listen = peer.request("subscriptions/listen").await;
        let wanted = json!({"toolsListChanged": true});
        assert_eq!(listen["params"]["notifications"], wanted);
        let granted = json!({"notifications": wanted});
        peer.tell(&listen, "notifications/subscriptions/acknowledged", granted)
            .await;
    }
    (begun.await.unwrap().unwrap(), listen)
}

async fn changes(peer: &mut Peer, listen: &Value, count: usize) {
    for _ in 0..count {
        peer.tell(listen, "notifications/tools/list_changed", json!({}))
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn fault_50_two_hundred_changes_cost_two_fetches() {
    for revision in ERAS {
        let (client, mut peer) = plain(revision).await;
        let (follow, listen) = begin(&client, &mut peer).await;
        let next = following(follow);
        changes(&mut peer, &listen, 100).await;
        let request = peer.request("tools/list").await;
        // These come while the list is being fetched.
        changes(&mut peer, &listen, 100).await;
        peer.answer(&request, json!({"tools": []})).await;
        let (follow, length) = next.await.unwrap();
        assert_eq!(length.unwrap().unwrap(), 0);

        let next = following(follow);
        page(&mut peer, Value::Null, "new", Value::Null).await;
        let (follow, length) = next.await.unwrap();
        assert_eq!(length.unwrap().unwrap(), 1);

        let next = following(follow);
        peer.hears_nothing().await;
        assert!(!next.is_finished());
        next.abort();
        if peer.is_modern() {
            peer.cancellation(&listen).await;
        }
        finish(client, peer).await;
    }
}

// A change that came before the list is followed is not news.
#[tokio::test(start_paused = true)]
async fn fault_50_following_begins_with_the_next_change() {
    let (client, mut peer) = plain(Revision::V2025_11_25).await;
    let mut events = client.events();
    changes(&mut peer, &Value::Null, 1).await;
    soon(events.next()).await.unwrap();
    let (follow, _) = begin(&client, &mut peer).await;
    let next = following(follow);
    peer.hears_nothing().await;
    next.abort();
    finish(client, peer).await;
}

// A subscription that the server ends cannot bring changes any more, and is not waited for.
#[tokio::test(start_paused = true)]
async fn following_ends_with_its_subscription_or_connection() {
    for revision in ERAS {
        let (client, mut peer) = plain(revision).await;
        let (follow, listen) = begin(&client, &mut peer).await;
        let next = following(follow);
        if peer.is_modern() {
            peer.answer(&listen, json!({})).await;
        } else {
            peer.close_output().await;
        }
        let (follow, last) = next.await.unwrap();
        assert!(last.is_none());
        let (_, again) = following(follow).await.unwrap();
        assert!(again.is_none());
        finish(client, peer).await;
    }
}

// C-PRM-07: prompts come in pages, too.
#[tokio::test(start_paused = true)]
async fn prompts_are_paged_through() {
    for revision in ERAS {
        let (client, mut peer) = plain(revision).await;
        let names = start({
            let client = client.clone();
            async move { client.list_prompts().await }
        });
        for (cursor, name, next) in [
            (Value::Null, "a", json!("2")),
            (json!("2"), "b", Value::Null),
        ] {
            let request = peer.request("prompts/list").await;
            let asked = request["params"].get("cursor").cloned().unwrap_or_default();
            assert_eq!(asked, cursor);
            let mut result = json!({"prompts": [{"name": name}]});
            if !next.is_null() {
                result["nextCursor"] = next;
            }
            peer.answer(&request, result).await;
        }
        assert_eq!(names.await.unwrap().unwrap().len(), 2);
        finish(client, peer).await;
    }
}

// C-TPL-03: the argument of a template is completed under the template itself.
#[tokio::test(start_paused = true)]
async fn templates_are_completed_by_what_they_are() {
    for revision in ERAS {
        let (client, mut peer) = plain(revision).await;
        let completing = start({
            let client = client.clone();
            async move {
                let template = CompletionReference::resource("note:{id}");
                client.complete(template, "id", "1", BTreeMap::new()).await
            }
        });
        let request = peer.request("completion/complete").await;
        let reference = json!({"type": "ref/resource", "uri": "note:{id}"});
        assert_eq!(request["params"]["ref"], reference);
        let argument = json!({"name": "id", "value": "1"});
        assert_eq!(request["params"]["argument"], argument);
        let answer = json!({"completion": {"values": ["10", "11"]}});
        peer.answer(&request, answer).await;
        assert_eq!(completing.await.unwrap().unwrap().values, ["10", "11"]);
        finish(client, peer).await;
    }
}
