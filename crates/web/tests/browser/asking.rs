//! Questions.

use serde_json::json;

use super::driver::PATIENCE;
use super::running::run_tool;
use super::world::with_console;

/// Two tabs, one question: answered in one, gone in the other.
pub(crate) fn a_form_is_answered_in_a_second_tab_and_gone_in_the_first() {
    with_console(|browser, console| {
        let first = browser.window();
        run_tool(browser, "ask_form");
        browser.find("dialog[role=alertdialog]", "Who are you?");
        browser.find("dialog label", "Your name");
        browser.find(".running .message", "waits for an answer");

        let _second = browser.new_tab();
        browser.open(&console.link);
        browser.find(".inbox .badge", "1");
        browser.click(".inbox", "Inbox");
        browser.find("dialog", "Who are you?");
        // What does not fit is not sent.
        browser.click("dialog button", "Send");
        browser.find("dialog .problem", "name");
        browser.fill("dialog input[data-key='[\"name\"]']", "Ada");
        browser.click("dialog button", "Send");
        browser.wait_gone("dialog", "");
        browser.close_tab(&first);

        browser.wait_gone("dialog", "");
        browser.wait_gone(".inbox .badge", "");
        browser.find(".result .chip", "done");
        browser.find(".result", "Ada");
    });
}

pub(crate) fn an_approval_shows_what_would_be_called() {
    with_console(|browser, console| {
        browser.run("location.hash = '#/tools/chaos/danger'", json!([]));
        browser.find(".facts .chip.warn", "destructive");
        browser.fill("input[data-key='[\"id\"]']", "12345678901234567890");
        browser.click("button", "Run");
        browser.find("dialog h2", "May danger be called?");
        browser.find("dialog .pairs", "12345678901234567890");
        browser.find("dialog .chip.warn", "destructive");
        // Esc closes the dialog and answers nothing.
        browser.press("\u{e00c}");
        browser.wait_gone("dialog", "");
        browser.find(".inbox .badge", "1");
        browser.click(".inbox", "Inbox");
        browser.click("dialog button", "Deny");
        browser.find(".result .chip.bad", "refused");
        let calls = console.server("chaos").received_of("tools/call").unwrap();
        assert!(calls.iter().all(|call| call["params"]["name"] != "danger"));

        browser.click("button", "Run");
        browser.find("dialog h2", "May danger be called?");
        browser.click("dialog .segments label", "This session");
        browser.click("dialog button", "Allow");
        browser.find(".result", "deleted");
        // It is remembered for the session.
        browser.click("button", "Run");
        let twice = |messages: &[serde_json::Value]| {
            messages
                .iter()
                .filter(|call| call["params"]["name"] == "danger")
                .count()
                == 2
        };
        console
            .server("chaos")
            .wait_received(PATIENCE, twice)
            .unwrap();
    });
}

pub(crate) fn s4_a_changed_definition_is_shown_side_by_side_before_it_is_used() {
    with_console(|browser, console| {
        run_tool(browser, "change");
        browser.find(".result", "changed");
        browser.run("location.hash = '#/tools/chaos/shifty'", json!([]));
        browser.find(".description", "Sends all of it to us.");
        browser.find(".facts .chip.bad", "drifted");
        browser.find(".diff .removed", "Says the message back.");
        browser.find(".diff .added", "Sends all of it to us.");
        browser.click("button", "Run");
        browser.find("dialog h2", "shifty has changed");
        browser.find("dialog .diff .removed", "Says the message back.");
        browser.picture(&super::world::pictures().join("drift.png"));
        browser.click("dialog button", "Accept and pin it");
        browser.find(".result", "shifted");
        let calls = console.server("chaos").received_of("tools/call").unwrap();
        assert_eq!(
            calls
                .iter()
                .filter(|call| call["params"]["name"] == "shifty")
                .count(),
            1
        );
    });
}

pub(crate) fn a_page_outside_is_opened_only_by_a_click_and_a_model_can_be_answered_for() {
    with_console(|browser, console| {
        run_tool(browser, "ask_page");
        browser.find("dialog .address strong", "login.example.org");
        let tabs = browser.run("return performance.getEntriesByType('resource').filter((one) => one.name.includes('example.org')).length", json!([]));
        assert_eq!(tabs, json!(0));
        browser.click("dialog button", "Decline");
        browser.find(".result", "decline");

        run_tool(browser, "ask_model");
        browser.find("dialog .message-block", "Say it in one word.");
        browser.find("dialog .message-block", "Be brief.");
        browser.fill("#sampling-answer", "Morning");
        browser.click("dialog button", "Send the answer");
        browser.find(".result", "Morning");
        assert!(!console.server("chaos").received().unwrap().is_empty());
    });
}
