//! Without a mouse.

use serde_json::json;

use super::world::with_console;

const DOWN: &str = "\u{e015}";
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";
const TAB: &str = "\u{e004}";
const CONTROL: char = '\u{e009}';

pub(crate) fn a_tool_is_found_filled_and_run_without_a_mouse() {
    with_console(|browser, _| {
        browser.find(".row .name", "search");
        let focus = |what: &str| {
            let script = "return document.activeElement?.matches(arguments[0])";
            browser.wait_for(&format!("the focus on {what}"), script, json!([what]));
        };
        // From the list.
        browser.press("/");
        focus(".filter");
        browser.press("srch");
        browser.find(".row .name", "search");
        browser.press(DOWN);
        focus(".virtual");
        browser.press(ENTER);
        browser.find("h1", "Search notes");
        browser.find("input[data-key='[\"query\"]']", "");
        // From the palette.
        browser.press_with(CONTROL, 'k');
        focus("dialog input");
        browser.press("danger");
        browser.find(".palette-list li[aria-selected=true]", "danger");
        browser.press(ENTER);
        browser.find(".facts code", "danger");
        browser.press_with(CONTROL, 'k');
        browser.press("search");
        browser.find(".palette-list li[aria-selected=true]", "search");
        browser.press(ENTER);
        browser.find("h1", "Search notes");
        // Into the form, by the tab key alone.
        let mut presses = 0;
        while browser.run("return document.activeElement?.dataset.key", json!([]))
            != json!("[\"query\"]")
        {
            browser.press(TAB);
            presses += 1;
            assert!(presses < 60, "the field cannot be reached");
        }
        browser.press("morning");
        browser.press_with(CONTROL, '\u{e007}');
        browser.find(".result .chip", "done");
        // Esc leaves the field, then the tool; a key shows each view.
        browser.press(ESCAPE);
        browser.press(ESCAPE);
        browser.find(".welcome", "Pick a tool");
        for (key, title) in [
            ("2", "Resources"),
            ("3", "Prompts"),
            ("4", "Calls"),
            ("5", "Activity"),
            ("6", "Log"),
            ("1", "Tools"),
        ] {
            browser.press(key);
            browser.find("h1", title);
        }
        browser.press("?");
        browser.find("dialog h2", "Keys");
        browser.find("dialog dd", "Run the tool");
        browser.press(ESCAPE);
        browser.wait_gone("dialog", "");
    });
}
