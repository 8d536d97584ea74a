//! Calls: their progress, their end, their result.

use serde_json::json;

use super::driver::{Browser, PATIENCE};
use super::world::with_console;

pub(crate) fn run_tool(browser: &Browser, name: &str) {
    browser.run(
        "location.hash = '#/tools/chaos/' + arguments[0]",
        json!([name]),
    );
    browser.find(".facts code", name);
    browser.find(".form .fields", "");
    browser.click("button", "Run");
}

pub(crate) fn progress_moves_and_the_result_is_drawn() {
    with_console(|browser, console| {
        run_tool(browser, "sync");
        browser.find(".running .numbers", "10 %");
        browser.find(".running .message", "fetching");
        // It goes on while the person is elsewhere.
        browser.click(".tabs a", "Resources");
        browser.find(".strip .running", "sync");
        console.server("chaos").open_gate("half").unwrap();
        browser.find(".strip .message", "Analyzing requirements...");
        let bar = browser.wait_for("the bar", "const bar = document.querySelector('.strip progress'); return bar.value === 62 && [bar.value, bar.max]", json!([]));
        assert_eq!(bar, json!([62, 100]));
        browser.click(".strip .running a", "sync");
        console.server("chaos").open_gate("whole").unwrap();
        browser.find(".result .chip", "done");
        browser.find(".result", "all is here");
        browser.find(".row .name", "sync");

        // Every kind of block.
        browser.run("location.hash = '#/tools/chaos/search'", json!([]));
        browser.find(".facts code", "search");
        browser.fill("input[data-key='[\"query\"]']", "morning");
        browser.click("button", "Run");
        browser.find(".result table", "Morning pages");
        browser.click(".result th button", "words");
        browser.find(".markdown h3", "Found 2 notes");
        browser.find(".markdown strong", "morning");
        browser.wait_for(
            "the picture",
            "return document.querySelector('.result img')?.naturalWidth === 1",
            json!([]),
        );
        browser.find(".resource-link", "Morning Meditation");
        browser.find(".result .number", "12345678901234567890");
        browser.find(".result summary", "unknown block hologram");
    });
}

pub(crate) fn a_cancelled_call_is_told_to_the_server() {
    with_console(|browser, console| {
        run_tool(browser, "hang");
        browser.click(".running button", "Cancel");
        browser.find(".result .chip", "cancelled");
        let launch = console.server("chaos");
        let told = launch.wait_received_of("notifications/cancelled", 1, PATIENCE);
        assert_eq!(told.unwrap().len(), 1);
        browser.wait_gone(".running", "hang");
    });
}

/// Seed 001: a protocol error, a tool that failed, and a lost server are told apart.
pub(crate) fn every_kind_of_ending_has_its_words() {
    with_console(|browser, _| {
        run_tool(browser, "fails");
        browser.find(".result .chip.bad", "tool failed");
        browser.find(".result", "there is no such note");
        run_tool(browser, "breaks");
        browser.find(".result .chip.bad", "server error");
        browser.find(".result .failure", "the argument query is missing");
        browser.find(".result .failure", "-32602");
        // All of them are in the list of calls, the newest first.
        browser.click(".tabs a", "Calls");
        browser.find(".row .name", "breaks");
        browser.fill(".filter", "status:failed");
        browser.find(".row .name", "fails");
        browser.wait_gone(".row .name", "breaks");
        // And in the activity, where a filter finds them.
        browser.click(".tabs a", "Activity");
        browser.find(".row .method", "tools/call");
        browser.fill(".filter", "method:tools/call about:breaks");
        browser.find(".row .about", "breaks");
        browser.wait_gone(".row .about", "fails");
        browser.click(".row .about", "breaks");
        browser.find(".activity-detail h2", "tools/call");
    });
}
