//! Answers whose id is not quite the one that was asked with, or that come twice.

use attache_client::protocol::{Ending, Revision};
use attache_testkit::chaos::{Action, Reply, ReplyId, Script, When};
use serde_json::json;

use crate::support::{BOTH_ERAS, Peer, each, script};

/// Ids that belong to no call of this client, whatever it has asked.
fn foreign_ids() -> Vec<ReplyId> {
    let fixed = [
        json!(999_999),
        json!("constant"),
        json!(""),
        json!(-1),
        json!(0),
        json!(1.5),
        json!(1e300),
        json!(u64::MAX),
        json!({"id": 1}),
        json!([1]),
        json!(true),
    ];
    let mut ids = vec![ReplyId::Null, ReplyId::Missing];
    ids.extend(fixed.map(ReplyId::Fixed));
    ids
}

#[test]
fn fault_40_answers_with_foreign_ids_are_ignored_and_counted() {
    each(BOTH_ERAS, async |revision| {
        let wrong = foreign_ids().into_iter().flat_map(|id| {
            [
                Reply::text("wrong").with_id(id.clone()).into(),
                Reply::error(-7, "wrong").with_id(id).into(),
            ]
        });
        let script =
            script(revision).on(When::tool("strange"), wrong.chain([Action::text("right")]));
        let peer = Peer::start(revision, &script).await;
        assert_eq!(peer.text("strange").await.unwrap(), "right");
        let counted = peer.client.statistics();
        assert_eq!(counted.unknown_answers, 2 * foreign_ids().len() as u64);
        assert_eq!((counted.late_answers, counted.stray_lines), (0, 0));
        peer.echoes().await;
        peer.finish().await;
    });
}

#[test]
fn fault_40_answers_that_all_bear_the_first_id_are_ignored_and_counted() {
    each(BOTH_ERAS, async |revision| {
        let constant = Reply::text("wrong").with_id(ReplyId::Fixed(json!(1)));
        let script = script(revision).on(
            When::tool("strange"),
            [constant.into(), Action::text("right")],
        );
        let peer = Peer::start(revision, &script).await;
        for _ in 0..3 {
            assert_eq!(peer.text("strange").await.unwrap(), "right");
        }
        // That id was a call once, so the answer is late rather than unknown.
        let counted = peer.client.statistics();
        assert_eq!((counted.late_answers, counted.unknown_answers), (3, 0));
        peer.finish().await;
    });
}

/// A server that answers everything it is asked in the handshake and in use with such ids.
fn answering_as(revision: Revision, id: &ReplyId) -> Script {
    let usual = || [Reply::usual().with_id(id.clone()).into()];
    script(revision)
        .on("server/discover", usual())
        .on("initialize", usual())
        .on("tools/list", usual())
        .on(When::tool("echo"), usual())
        .on(
            When::tool("fail"),
            [Reply::error(-7, "no").with_id(id.clone()).into()],
        )
}

#[test]
fn fault_41_the_string_7_is_the_number_7() {
    each(BOTH_ERAS, async |revision| {
        let script = answering_as(revision, &ReplyId::AsString);
        let peer = Peer::start(revision, &script).await;
        assert!(
            peer.client
                .list_tools()
                .await
                .unwrap()
                .by_name("echo")
                .is_some()
        );
        peer.echoes().await;
        let error = peer.text("fail").await.unwrap_err();
        assert_eq!(error.ending(), Some(Ending::ServerError));
        let counted = peer.client.statistics();
        assert_eq!((counted.unknown_answers, counted.late_answers), (0, 0));
        // What this client sends are numbers all the same.
        let received = peer.launch.received().unwrap();
        let ids: Vec<_> = received.iter().filter_map(|sent| sent.get("id")).collect();
        assert!(ids.iter().all(|id| id.is_u64()), "{ids:?}");
        peer.finish().await;
    });
}

#[test]
fn fault_41_the_float_7_is_the_number_7() {
    each(BOTH_ERAS, async |revision| {
        let answer = r#"{"jsonrpc":"2.0","id":"$id".0,"result":{"content":[]}}"#;
        let script = script(revision).on(When::tool("float"), [Action::line(answer)]);
        let peer = Peer::start(revision, &script).await;
        assert_eq!(peer.text("float").await.unwrap(), "");
        assert_eq!(peer.client.statistics().unknown_answers, 0);
        peer.finish().await;
    });
}

#[test]
fn fault_42_of_two_answers_the_first_wins() {
    each(BOTH_ERAS, async |revision| {
        let script = script(revision)
            .on(
                When::tool("text"),
                [Action::text("first"), Action::text("second")],
            )
            .on(
                When::tool("error"),
                [Action::error(-7, "first"), Action::text("second")],
            )
            .on(When::tool("twice"), [Reply::text("twin").twice().into()]);
        let peer = Peer::start(revision, &script).await;
        assert_eq!(peer.text("text").await.unwrap(), "first");
        let error = peer.text("error").await.unwrap_err();
        assert!(error.to_string().contains("first"), "{error}");
        assert_eq!(peer.text("twice").await.unwrap(), "twin");
        peer.echoes().await;
        let counted = peer.client.statistics();
        assert_eq!((counted.late_answers, counted.unknown_answers), (3, 0));
        let tally = counted.calls;
        assert_eq!(tally.count(Ending::ServerError), 1);
        assert_eq!(tally.count(Ending::Result), tally.issued - 1);
        peer.finish().await;
    });
}
