//! Watches that survive their server.

use attache_host::client::Change;
use attache_host::{Error, Watched};
use attache_testkit::chaos::Script;
use serde_json::json;

use crate::support::{Fleet, PATIENCE, guarded, kill, script, within};

const URI: &str = "chaos://text";

// C-STDIO-15.
#[test]
fn a_watch_is_subscribed_again_after_a_crash_in_both_eras() {
    guarded(async || {
        for (script, subscribe) in [
            (script(), "resources/subscribe"),
            (Script::modern(), "subscriptions/listen"),
        ] {
            let fleet = Fleet::one(&script);
            let watch = fleet.host.watch(URI);
            let mut watch = within("watch", watch).await.unwrap();
            fleet.call("one/touch", json!({"uri": URI})).await.unwrap();
            let changed = within("change", watch.next()).await;
            let expected = Change::Resource {
                uri: URI.to_owned(),
            };
            assert!(matches!(changed, Some(Watched::Changed(change)) if change == expected));

            kill(fleet.server("one").process_id.unwrap()).await;
            let resubscribed = within("resubscription", watch.next()).await;
            assert!(
                matches!(resubscribed, Some(Watched::Resubscribed)),
                "{resubscribed:?}"
            );
            fleet
                .launch()
                .wait_received_of(subscribe, 2, PATIENCE)
                .unwrap();
            fleet.call("one/touch", json!({"uri": URI})).await.unwrap();
            let changed = within("change", watch.next()).await;
            assert!(matches!(changed, Some(Watched::Changed(_))), "{changed:?}");

            fleet.host.close().await;
            let ended = within("end", watch.next()).await;
            assert!(
                matches!(ended, Some(Watched::Ended(Error::Stopped { .. }))),
                "{ended:?}"
            );
            assert!(within("end", watch.next()).await.is_none());
            fleet.finish().await;
        }
    });
}

#[test]
fn what_a_server_does_not_offer_cannot_be_watched() {
    guarded(async || {
        let fleet = Fleet::one(&script().capabilities(json!({"resources": {}})));
        let refused = within("watch", fleet.host.watch(URI)).await;
        assert!(matches!(refused, Err(Error::Request { .. })), "{refused:?}");
        fleet.finish().await;
    });
}
