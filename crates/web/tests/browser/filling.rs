//! Forms.

use serde_json::json;

use super::driver::{Browser, PATIENCE};
use super::world::{Console, with_console};

fn open_tool(browser: &Browser, name: &str) {
    browser.run(
        "location.hash = '#/tools/chaos/' + arguments[0]",
        json!([name]),
    );
    browser.find(".facts code", name);
    browser.find(".form .fields", "");
}

/// The arguments as the server received them, as text.
fn arguments_of(console: &Console, tool: &str) -> String {
    let launch = console.server("chaos");
    let enough = |messages: &[serde_json::Value]| {
        messages
            .iter()
            .any(|message| message["params"]["name"] == tool)
    };
    let received = launch.wait_received(PATIENCE, enough).unwrap();
    let call = received
        .iter()
        .rfind(|message| message["params"]["name"] == tool)
        .unwrap();
    call["params"]["arguments"].to_string()
}

pub(crate) fn every_kind_of_widget_fills_the_arguments_exactly() {
    with_console(|browser, console| {
        open_tool(browser, "fill");
        browser.fill("input[data-key='[\"line\"]']", "a word");
        browser.fill("textarea[data-key='[\"lines\"]']", "one\ntwo");
        browser.fill("input[type=password][data-key='[\"api_token\"]']", "s3cret");
        // More digits than a JavaScript number holds.
        browser.fill("input[data-key='[\"count\"]']", "12345678901234567890");
        browser.fill("input[data-key='[\"ratio\"]']", "0.10");
        browser.click("label:has([data-key='[\"flag\"]:true'])", "yes");
        // The choice keeps its type: 3 is a number.
        browser.run("const it = document.querySelector(arguments[0]); it.value = '2'; it.dispatchEvent(new Event('change'))", json!(["select[data-key='[\"colour\"]']"]));
        browser.click("label:has([data-key='[\"tags\"]:0'])", "a");
        browser.wait_for(
            "the first box",
            "return document.querySelector(arguments[0])?.checked",
            json!(["[data-key='[\"tags\"]:0']"]),
        );
        browser.click("label:has([data-key='[\"tags\"]:2'])", "c");
        browser.run("const it = document.querySelector(arguments[0]); it.value = '2026-11-18'; it.dispatchEvent(new Event('input')); it.dispatchEvent(new Event('change'))", json!(["input[data-key='[\"day\"]']"]));
        browser.click("button[data-key='add:[\"steps\"]']", "");
        browser.fill("input[data-key='[\"steps\",0]']", "second");
        browser.click("button[data-key='add:[\"steps\"]']", "");
        browser.fill("input[data-key='[\"steps\",1]']", "first");
        browser.click("button[data-key='up:[\"steps\"]:1']", "");
        browser.wait_for(
            "the items to change places",
            "return document.querySelector(arguments[0])?.value === 'first'",
            json!(["input[data-key='[\"steps\",0]']"]),
        );
        browser.fill("input[data-key='[\"where\",\"x\"]']", "-5");
        browser.run("const it = document.querySelector(arguments[0]); it.value = '1'; it.dispatchEvent(new Event('change'))", json!(["select[data-key='[\"who\"]']"]));
        browser.fill("input[data-key='[\"who\",\"number\"]']", "7");
        browser.fill(
            "textarea[data-key='[\"anything\"]']",
            "[1, {\"deep\": null}]",
        );
        browser.click(".field:has([data-key='[\"maybe\"]']) button", "null");
        browser.click("button", "Run");
        browser.find(".result .chip", "done");
        assert_eq!(
            arguments_of(console, "fill"),
            concat!(
                r#"{"anything":[1,{"deep":null}],"api_token":"s3cret","colour":3,"count":12345678901234567890,"#,
                r#""day":"2026-11-18","flag":true,"line":"a word","lines":"one\ntwo","maybe":null,"ratio":0.1"#,
                r#","steps":["first","second"],"tags":["a","c"],"where":{"x":-5},"who":{"number":7}}"#
            )
        );
        // The history of the tool offers the call, without the secret.
        browser.find(".history", "a word");
        assert!(!browser.text().contains("s3cret"));
    });
}

pub(crate) fn form_and_json_edit_one_value_and_a_wrong_one_is_sent_only_on_purpose() {
    with_console(|browser, console| {
        open_tool(browser, "search");
        // What is missing is said when it is wanted, at its field.
        browser.click("button", "Run");
        browser.find(".field .problem", "query");
        browser.find("button", "Send as is");
        browser.click(".segments label", "JSON");
        browser.fill(
            "textarea[aria-label='Arguments as JSON']",
            "{\"query\": 12}",
        );
        browser.find(".problems", "query");
        browser.click("button", "Send as is");
        browser.find(".result .chip", "done");
        assert_eq!(arguments_of(console, "search"), r#"{"query":12}"#);
        // Text that is no JSON is kept and told, never dropped.
        browser.fill("textarea[aria-label='Arguments as JSON']", "{\"query\": ");
        browser.find(".problem, .problems", "");
        let kept = browser.run("return document.querySelector('textarea').value", json!([]));
        assert_eq!(kept, json!("{\"query\": "));
        browser.fill(
            "textarea[aria-label='Arguments as JSON']",
            "{\"query\": \"words\"}",
        );
        browser.wait_gone(".problems", "");
        browser.click(".segments label", "Form");
        browser.wait_for(
            "the form to have it",
            "return document.querySelector(arguments[0])?.value === 'words'",
            json!(["input[data-key='[\"query\"]']"]),
        );
    });
}
