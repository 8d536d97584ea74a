//! Lists: pages, filters, servers that do not answer.

use std::collections::BTreeSet;

use attache_testkit::chaos::{Action, Script, When};
use attache_testkit::guard::guarded;
use serde_json::{Value, json};

use crate::support::Rig;

const MANY: usize = 10_000;

fn many() -> Script {
    let tools = (0..MANY).map(|number| {
        json!({
            "name": format!("tool_{number}"),
            "description": format!("Does the thing number {number}.\u{202e} And more."),
            "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
            "annotations": {"readOnlyHint": number % 2 == 0},
        })
    });
    Script::legacy("2025-06-18").tools(tools)
}

#[test]
fn ten_thousand_tools_come_in_pages_each_once() {
    guarded(async || {
        let rig = Rig::new(&[("many", many()), ("few", Script::legacy("2025-06-18"))]).await;
        let mut names = BTreeSet::new();
        let mut cursor = String::new();
        let mut pages = 0;
        loop {
            let path =
                format!("/tools?server=many&limit=2000&starting_after_ms=20000&cursor={cursor}");
            let page = rig.get(&path).await.json();
            assert_eq!(page["total"], MANY);
            for entry in page["entries"].as_array().unwrap() {
                assert!(names.insert(entry["name"].as_str().unwrap().to_owned()));
            }
            pages += 1;
            match page["next_cursor"].as_str() {
                Some(next) => cursor = next.to_owned(),
                None => break,
            }
        }
        assert_eq!((names.len(), pages), (MANY, MANY / 2_000));

        let brief = rig
            .get("/tools?view=brief&starting_after_ms=20000")
            .await
            .json();
        assert_eq!(brief["entries"].as_array().unwrap().len(), MANY + 9);
        let first = brief["entries"].as_array().unwrap().iter();
        let first: Vec<&Value> = first.filter(|it| it["name"] == "tool_0").collect();
        assert_eq!(first[0]["claims"], json!(["read-only"]));
        // S13: brief texts are safe to show.
        assert!(
            !first[0]["description"]
                .as_str()
                .unwrap()
                .contains('\u{202e}')
        );

        let found = rig.get("/tools?q=NUMBER+thing+9999").await.json();
        assert_eq!(found["total"], 1);
        assert_eq!(found["entries"][0]["qualified"], "many/tool_9999");
        let outdated = rig.get("/tools?cursor=bm9uZQ").await;
        assert_eq!(
            (outdated.status, outdated.failure().0),
            (400, "cursor_outdated".to_owned())
        );
        rig.close().await;
    });
}

#[test]
fn a_server_that_does_not_answer_hides_no_other() {
    guarded(async || {
        let dead = Script::legacy("2025-06-18").on(When::start(), [Action::exit(3)]);
        let mute = Script::legacy("2025-06-18").on("initialize", [Action::never()]);
        let good = Script::legacy("2025-06-18");
        let rig = Rig::new(&[("dead", dead), ("good", good), ("mute", mute)]).await;
        let page = rig.get("/tools?starting_after_ms=1500").await.json();
        let of = |name: &str| {
            let servers = page["servers"].as_array().unwrap();
            servers
                .iter()
                .find(|it| it["name"] == name)
                .unwrap()
                .clone()
        };
        assert_eq!(of("good")["outcome"], "ok");
        assert_eq!(of("mute")["outcome"], "starting");
        assert_ne!(of("dead")["outcome"], "ok");
        assert_eq!(page["total"], 9);
        rig.close().await;
    });
}

#[test]
fn one_tool_is_shown_whole_or_missed_by_name() {
    guarded(async || {
        let rig = Rig::new(&[("chaos", Script::legacy("2025-06-18"))]).await;
        let tool = rig.get("/tools/chaos/echo").await.json();
        assert_eq!(tool["signature"], "[message=<string>]");
        assert_eq!(tool["pin"]["state"], "same");
        assert!(tool["entry_pretty"].as_str().unwrap().starts_with("{\n"));
        let missed = rig.get("/tools/chaos/ecko").await;
        assert_eq!(missed.failure().0, "not_offered");
        assert!(
            missed.body.contains("chaos/ecko") || missed.body.contains("echo"),
            "{missed:?}"
        );
        rig.close().await;
    });
}
