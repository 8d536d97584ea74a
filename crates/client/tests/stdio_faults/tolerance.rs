//! One bad part among good ones: the rest is delivered, the bad part kept raw and reported.

use attache_client::protocol::{Content, Ending};
use attache_testkit::chaos::{Action, When};
use serde_json::{Value, json};

use crate::support::{BOTH_ERAS, Peer, at_once, each, script};

// C-TOOL-19.
#[test]
fn fault_54_an_unknown_content_type_is_kept_among_known_ones() {
    each(BOTH_ERAS, async |revision| {
        let odd = [
            json!({"type": "hologram", "depth": 3, "huge": 1e300}),
            json!({"type": "text"}),
            json!({"type": "image", "data": 7}),
            json!({"text": "untyped"}),
            json!(7),
            Value::Null,
        ];
        let mut content = vec![json!({"type": "text", "text": "before"})];
        content.extend(odd.clone());
        content.push(json!({"type": "text", "text": "after", "shade": "blue"}));
        let result = json!({"content": content, "weather": {"foreign": [1]}, "isError": false});
        let script = script(revision).on(When::tool("mixed"), [Action::result(result.clone())]);
        let peer = Peer::start(revision, &script).await;
        let read = at_once("mixed", peer.client.call("mixed", json!({})))
            .await
            .unwrap();
        assert_eq!(read.text(), "before\nafter");
        let kept: Vec<_> = read
            .content
            .iter()
            .filter_map(|block| match block {
                Content::Other(raw) => Some(raw.to_value().unwrap()),
                _ => None,
            })
            .collect();
        assert_eq!(kept, odd);
        let foreign = read.extra.get("weather").unwrap();
        assert_eq!(foreign.as_str(), r#"{"foreign":[1]}"#);
        // Nothing is lost when it is handed on.
        assert_eq!(serde_json::to_value(&read).unwrap(), result);
        assert_eq!(peer.ended(Ending::ProtocolError), 0);
        peer.finish().await;
    });
}

// C-RES-13.
#[test]
fn fault_54_a_misfit_field_costs_only_itself() {
    each(BOTH_ERAS, async |revision| {
        let result = json!({
            "content": [{"type": "text", "text": "fine", "annotations": "loud"}],
            "structuredContent": {"n": 1},
            "isError": "perhaps",
            "_meta": 7,
        });
        let script = script(revision).on(When::tool("misfit"), [Action::result(result.clone())]);
        let peer = Peer::start(revision, &script).await;
        let read = at_once("misfit", peer.client.call("misfit", json!({})))
            .await
            .unwrap();
        assert_eq!(read.text(), "fine");
        assert_eq!(read.structured(), Some(json!({"n": 1})));
        assert!(!read.is_error);
        assert_eq!(read.extra.get("isError").unwrap().as_str(), r#""perhaps""#);
        assert_eq!(serde_json::to_value(&read).unwrap(), result);
        peer.finish().await;
    });
}

// C-TOOL-13: from 2026-07-28 a structured result may be any value.
#[test]
fn fault_54_a_structured_result_may_be_any_value() {
    each(
        [attache_client::protocol::Revision::V2026_07_28],
        async |revision| {
            let values = [json!(2), json!([1, "x"]), json!("text"), json!(false)];
            for value in values {
                let result = json!({"content": [], "structuredContent": value});
                let script = script(revision).on(When::tool("any"), [Action::result(result)]);
                let peer = Peer::start(revision, &script).await;
                let read = at_once("any", peer.client.call("any", json!({}))).await;
                assert_eq!(read.unwrap().structured(), Some(value));
                peer.finish().await;
            }
        },
    );
}

#[test]
fn fault_54_a_malformed_tool_does_not_empty_the_list() {
    each(BOTH_ERAS, async |revision| {
        let schema = json!({"type": "object"});
        let bad = [
            json!({"name": 7, "inputSchema": schema}),
            json!({"description": "nameless", "inputSchema": schema}),
            json!("a string"),
            json!(7),
            Value::Null,
            json!([]),
        ];
        let mut tools = vec![json!({"name": "first", "inputSchema": schema})];
        tools.extend(bad.clone());
        tools.push(json!({
            "name": "last", "inputSchema": schema, "colour": "red",
            "description": 7, "annotations": {"readOnlyHint": "yes", "title": "Last"},
        }));
        let peer = Peer::start(revision, &script(revision).tools(tools)).await;
        let listed = at_once("tools", peer.client.list_tools()).await.unwrap();
        let names: Vec<_> = listed.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["first", "last"]);
        let rejected = listed.rejected.iter();
        let kept: Vec<_> = rejected.map(|it| it.raw.to_value().unwrap()).collect();
        assert_eq!(kept, bad);
        assert!(listed.rejected.iter().all(|it| !it.reason.is_empty()));
        let last = listed.by_name("last").unwrap();
        assert_eq!(last.display_name(), "Last");
        assert_eq!(last.extra.get("colour").unwrap().as_str(), r#""red""#);
        assert_eq!(last.extra.get("description").unwrap().as_str(), "7");
        peer.finish().await;
    });
}

// C-RES-07.
#[test]
fn fault_54_other_lists_contents_and_messages_lose_only_what_is_bad() {
    each(BOTH_ERAS, async |revision| {
        let bad = json!({"bad": true});
        let script = script(revision)
            .on(
                "resources/list",
                [Action::result(json!({"resources": [
                    {"uri": "a:1", "name": "one", "size": "large"}, bad,
                ]}))],
            )
            .on(
                "resources/templates/list",
                [Action::result(json!({"resourceTemplates": [
                    bad, {"uriTemplate": "a:{n}", "name": "all"},
                ]}))],
            )
            .on(
                "prompts/list",
                [Action::result(json!({"prompts": [
                    bad, {"name": "p", "arguments": [{"name": "x"}]},
                ]}))],
            )
            .on(
                "prompts/get",
                [Action::result(json!({"messages": [
                    bad,
                    {"role": "user", "content": {"type": "hologram"}},
                    {"role": "user", "content": {"type": "text", "text": "hello"}},
                ]}))],
            )
            .on(
                "resources/read",
                [Action::result(json!({"contents": [
                    {"uri": "a:1", "text": "one"}, bad, {"uri": "a:1", "text": 7, "blob": "AA=="},
                ]}))],
            );
        let peer = Peer::start(revision, &script).await;
        let client = &peer.client;
        let resources = at_once("resources", client.list_resources()).await.unwrap();
        assert_eq!((resources.len(), resources.rejected.len()), (1, 1));
        let templates = at_once("templates", client.list_templates()).await.unwrap();
        assert_eq!((templates.len(), templates.rejected.len()), (1, 1));
        let prompts = at_once("prompts", client.list_prompts()).await.unwrap();
        assert_eq!((prompts.len(), prompts.rejected.len()), (1, 1));
        let none = std::iter::empty::<(String, String)>();
        let prompt = at_once("prompt", client.prompt("p", none)).await.unwrap();
        assert_eq!(
            (prompt.messages.len(), prompt.messages.rejected.len()),
            (2, 1)
        );
        assert!(matches!(&prompt.messages[0].content, Content::Other(_)));
        assert_eq!(prompt.messages[1].content.as_text(), Some("hello"));
        let read = at_once("read", client.read("a:1")).await.unwrap();
        assert_eq!((read.contents.len(), read.contents.rejected.len()), (2, 1));
        assert_eq!(read.contents[1].blob.as_deref(), Some("AA=="));
        for rejected in [
            &resources.rejected,
            &templates.rejected,
            &prompts.rejected,
            &prompt.messages.rejected,
            &read.contents.rejected,
        ] {
            assert_eq!(rejected[0].raw.to_value().unwrap(), bad);
        }
        peer.finish().await;
    });
}

#[test]
fn fault_54_a_handshake_with_misfit_parts_still_connects() {
    each(BOTH_ERAS, async |revision| {
        let script = script(revision)
            .capabilities(json!({
                "tools": {"listChanged": "often"},
                "resources": 7,
                "logging": null,
                "invented": {"anything": [1]},
            }))
            .server_info(json!("a string"));
        let peer = Peer::start(revision, &script).await;
        assert!(peer.client.capabilities().tools.is_some());
        assert!(peer.client.capabilities().resources.is_none());
        assert!(peer.client.server().is_none());
        peer.echoes().await;
        peer.finish().await;
    });
}
