//! The log level of the settings: told with every connection, and kept to on this side as well.

use attache_client::protocol::{LogLevel, Revision};
use attache_client::{Event, Settings};
use serde_json::{Value, json};

use crate::opening::{LEGACY, connected_to, everything, finish, soon, start};

// C-LOG-03 for the modern era, `logging/setLevel` for the legacy one.
#[tokio::test(start_paused = true)]
async fn the_level_of_the_settings_is_told_and_kept_to() {
    for revision in Revision::NEWEST_FIRST {
        for declares in [true, false] {
            let settings = Settings {
                protocol: Some(revision),
                log_level: Some(LogLevel::Warning),
                ..Settings::default()
            };
            let mut declared = everything(revision);
            if !declares {
                declared.as_object_mut().unwrap().remove("logging");
            }
            let configure = |server: attache_client::Server| server.settings(settings);
            let (client, mut peer) = connected_to(revision, declared, configure).await;
            let mut events = client.events();
            if declares && LEGACY.contains(&revision) {
                let request = peer.request("logging/setLevel").await;
                assert_eq!(request["params"]["level"], "warning");
                peer.answer(&request, json!({})).await;
            }
            let call = start(client.call("noisy", json!({})));
            let request = peer.request("tools/call").await;
            let asked = &request["params"]["_meta"]["io.modelcontextprotocol/logLevel"];
            match declares && !LEGACY.contains(&revision) {
                true => assert_eq!(asked, "warning"),
                false => assert_eq!(asked, &Value::Null),
            }
            // The server sends whatever it likes.
            for level in ["debug", "info", "notice", "warning", "error", "strange"] {
                let params = json!({"level": level, "data": level});
                peer.notify("notifications/message", params).await;
            }
            peer.answer_text(&request, "done").await;
            call.await.unwrap().unwrap();
            let mut heard = Vec::new();
            while heard.len() < 3 {
                if let Event::Log(message) = &*soon(events.next()).await.unwrap() {
                    heard.push(message.level.clone());
                }
            }
            assert_eq!(heard, ["warning", "error", "strange"], "{revision}");
            finish(client, peer).await;
        }
    }
}
