//! What a person does to a running server: stop it, switch it off and on.

use attache_host::Error;
use attache_host::events::EventKind;
use attache_host::snapshot::ServerState;
use attache_testkit::processes::is_running;
use serde_json::json;

use crate::support::{Fleet, config, config_of, eventually, guarded, script, within};

#[test]
fn a_server_that_was_stopped_starts_with_the_next_request() {
    guarded(async || {
        let fleet = Fleet::one(&script());
        fleet.echoes("one").await;
        let process = fleet.server("one").process_id.unwrap();
        within("stop", fleet.host.stop("one")).await.unwrap();
        assert_eq!(fleet.server("one").state, ServerState::Configured);
        eventually(|| is_running(process).unwrap(), |runs| !runs).await;
        // Once more changes nothing.
        within("stop", fleet.host.stop("one")).await.unwrap();
        fleet.echoes("one").await;
        assert_eq!(fleet.server("one").starts, 2);
        assert!(fleet.host.stop("two").await.is_err());
        fleet.finish().await;
    });
}

#[test]
fn a_server_that_was_switched_off_stays_so_through_a_reload() {
    guarded(async || {
        let fleet = Fleet::one(&script());
        fleet.echoes("one").await;
        let process = fleet.server("one").process_id.unwrap();
        let mut events = fleet.host.events();
        within("off", fleet.host.set_enabled("one", false))
            .await
            .unwrap();
        assert!(!is_running(process).unwrap());
        let refused = fleet.call("one/echo", json!({"message": "x"})).await;
        assert!(
            matches!(refused, Err(Error::Disabled { .. })),
            "{refused:?}"
        );
        let told = async {
            loop {
                if let EventKind::Added { state, .. } = events.next().await.unwrap().kind
                    && state == ServerState::Disabled
                {
                    return;
                }
            }
        };
        within("the event", told).await;

        let same = config([config_of("one", fleet.launch())]);
        within("reload", fleet.host.reload(same)).await;
        assert_eq!(fleet.server("one").state, ServerState::Disabled);
        within("off again", fleet.host.set_enabled("one", false))
            .await
            .unwrap();
        within("on", fleet.host.set_enabled("one", true))
            .await
            .unwrap();
        fleet.echoes("one").await;
        fleet.finish().await;
    });
}
