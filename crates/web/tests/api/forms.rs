//! Forms over the API: what a page needs to draw and fill one, without a model of its own.

use attache_testkit::chaos::Script;
use attache_testkit::guard::guarded;
use serde_json::{Value, json};

use crate::support::Rig;

fn tool() -> Value {
    json!({
        "name": "order",
        "inputSchema": {"type": "object", "required": ["count"], "properties": {
            "count": {"type": "integer", "minimum": 1},
            "size": {"enum": [1, "1", null], "default": "1"},
            "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": true},
            "lines": {"type": "array", "items": {"type": "object", "properties": {"text": {"type": "string"}}}},
            "ship": {"oneOf": [
                {"title": "Post", "type": "object", "properties": {"street": {"type": "string"}}, "required": ["street"]},
                {"title": "Pick up", "type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}]},
            "password": {"type": "string"},
        }},
    })
}

/// A form being filled in by a page.
struct Page {
    rig: Rig,
    now: Value,
}

impl Page {
    async fn open() -> Self {
        // It does not tell when its list changes, so that what was listed cannot be relied on.
        let script = Script::legacy("2025-06-18").tools([tool()]);
        let script = script.capabilities(json!({"tools": {}}));
        let rig = Rig::new(&[("shop", script)]).await;
        let mut page = Self {
            rig,
            now: Value::Null,
        };
        page.edit(json!([])).await;
        page
    }

    async fn edit(&mut self, edits: Value) {
        let body = json!({
            "of": {"tool": {"server": "shop", "name": "order"}},
            "state": self.now["state"],
            "edits": edits,
        });
        let answer = self.rig.post("/form", &body.to_string()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        self.now = answer.json();
    }

    fn value(&self) -> &str {
        self.now["value_json"].as_str().unwrap_or_default()
    }

    fn shown(&self, path: Value) -> &Value {
        let values = self.now["values"].as_array().unwrap();
        let found = values.iter().rfind(|it| it["path"] == path);
        found.unwrap_or_else(|| panic!("{path} is not among {values:?}"))
    }
}

#[test]
fn a_form_is_filled_in_by_a_page_that_knows_no_schema() {
    guarded(async || {
        let mut page = Page::open().await;
        // Unset, null and default are three things.
        assert_eq!(page.value(), r#"{"size":"1"}"#);
        assert_eq!(page.now["problems"][0]["rule"], "required");
        page.edit(json!([
            {"do": "enter", "path": ["count"], "text": "123456789012345678901234567890"},
            {"do": "choose", "path": ["size"], "option": 0},
            {"do": "toggle", "path": ["tags"], "option": 2},
            {"do": "toggle", "path": ["tags"], "option": 0},
            {"do": "add", "path": ["lines"]},
            {"do": "enter", "path": ["lines", 0, "text"], "text": "first"},
            {"do": "duplicate", "path": ["lines"], "index": 0},
        ]))
        .await;
        assert_eq!(
            page.value(),
            r#"{"size":1,"count":123456789012345678901234567890,"tags":["c","a"],"lines":[{"text":"first"},{"text":"first"}]}"#
        );
        assert_eq!(page.now["problems"], json!([]), "{}", page.now);
        assert_eq!(
            page.shown(json!(["count"]))["text"],
            "123456789012345678901234567890"
        );
        assert_eq!(page.shown(json!(["tags"]))["chosen"], json!([0, 2]));
        assert_eq!(page.shown(json!(["password"]))["masked"], true);
        page.rig.close().await;
    });
}

#[test]
fn drafts_variants_and_the_json_view_survive_between_requests() {
    guarded(async || {
        let mut page = Page::open().await;
        page.edit(json!([{"do": "enter", "path": ["count"], "text": "many"}]))
            .await;
        assert_eq!(page.shown(json!(["count"]))["draft"], true);
        assert_eq!(page.shown(json!(["count"]))["text"], "many");
        assert_eq!(page.now["problems"][0]["rule"], "syntax");
        page.edit(json!([
            {"do": "pick", "path": ["ship"], "variant": 0},
            {"do": "enter", "path": ["ship", "street"], "text": "High St"},
        ]))
        .await;
        page.edit(json!([
            {"do": "pick", "path": ["ship"], "variant": 1},
            {"do": "enter", "path": ["ship", "at"], "text": "noon"},
        ]))
        .await;
        assert!(
            page.value().contains(r#""ship":{"at":"noon"}"#),
            "{}",
            page.now
        );
        page.edit(json!([{"do": "pick", "path": ["ship"], "variant": 0}]))
            .await;
        assert!(
            page.value().contains(r#""ship":{"street":"High St"}"#),
            "{}",
            page.now
        );

        page.edit(json!([{"do": "set", "path": [], "json": "{\"count\": oops"}]))
            .await;
        assert_eq!(page.shown(json!([]))["draft"], true);
        page.edit(json!([{"do": "set", "path": [], "json": "{\"count\": 1e400}"}]))
            .await;
        assert_eq!(page.value(), r#"{"count":1e400}"#);
        page.edit(json!([
            {"do": "choose", "path": ["size"], "option": 9},
            {"do": "add", "path": ["count"]},
            {"do": "enter", "path": ["nowhere", 3], "text": "x"},
        ]))
        .await;
        assert_eq!(
            page.now["refused"].as_array().unwrap().len(),
            3,
            "{}",
            page.now
        );
        page.rig.close().await;
    });
}

#[test]
fn prompts_templates_and_schemas_have_forms_too() {
    guarded(async || {
        let rig = Rig::new(&[("chaos", Script::legacy("2025-06-18"))]).await;
        for (of, field) in [
            (
                json!({"prompt": {"server": "chaos", "name": "greet"}}),
                "name",
            ),
            (
                json!({"template": {"server": "chaos", "uri_template": "x://{place}"}}),
                "place",
            ),
            (
                json!({"schema_json": "{\"properties\":{\"a\":{\"type\":\"string\"}}}"}),
                "a",
            ),
        ] {
            let form = rig
                .post("/form", &json!({"of": of}).to_string())
                .await
                .json();
            assert_eq!(form["field"]["kind"]["fields"][0]["name"], field, "{form}");
        }
        for wrong in [
            json!({"of": {"tool": {"server": "chaos", "name": "none"}}}),
            json!({"of": {"question": 7}}),
            json!({"of": {"schema_json": "{"}}),
            json!({"of": {"schema_json": "{}"}, "state": {"value_json": "{"}}),
            json!({"of": {"schema_json": "{}"}, "edits": [{"do": "explode"}]}),
            json!({"of": {"schema_json": "{}"}, "extra": 1}),
        ] {
            let status = rig.post("/form", &wrong.to_string()).await.status;
            assert!(status == 400 || status == 404, "{status} for {wrong}");
        }
        rig.close().await;
    });
}

/// A person who types sends an edit with every pause: the server is not asked for its list each time.
#[test]
fn edits_of_a_form_do_not_ask_the_server_for_its_list() {
    guarded(async || {
        let mut page = Page::open().await;
        for count in 1..=5 {
            let text = count.to_string();
            page.edit(json!([{"do": "enter", "path": ["count"], "text": text}]))
                .await;
        }
        let asked = page.rig.launches[0].received_of("tools/list").unwrap();
        assert_eq!(asked.len(), 1, "{asked:?}");
        page.rig.close().await;
    });
}
