//! Many tools, many lines.

use attache_testkit::chaos::{Action, Script, When};
use serde_json::{Value, json};

use super::running::run_tool;
use super::world::{Console, tool, with_browser};

const TOOLS: usize = 10_000;
/// Rows that are drawn for any length of list.
const MOST_ROWS: u64 = 500;

fn named(tools: impl IntoIterator<Item = Value>) -> Script {
    let tools: Vec<Value> = tools.into_iter().collect();
    Script::legacy("2025-11-25")
        .capabilities(json!({"tools": {}, "logging": {}}))
        .on("tools/list", [Action::result(json!({"tools": tools}))])
}

pub(crate) fn ten_thousand_tools_are_drawn_and_filtered_by_screenfuls() {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let tools = (0..TOOLS).map(|number| {
        tool(
            &format!("tool_{number:05}"),
            &format!("Does thing number {number} with a path."),
            &schema,
        )
    });
    let console = Console::start([("chaos", named(tools))]);
    with_browser(|browser| {
        browser.open(&console.link);
        browser.find(".count", "10,000");
        browser.reload();
        browser.find(".count", "10,000");
        let script = "const row = document.querySelector('.row'); const input = document.querySelector('.filter');
            const rows = document.querySelectorAll('.row').length;
            const times = [];
            for (const word of ['tool_09', 'tool_099', '9999', 'thing 77', 'tl_1', '']) {
                const began = performance.now(); input.value = word; input.dispatchEvent(new Event('input')); document.body.offsetHeight; times.push(Math.round(performance.now() - began));
            }
            return {rows, times, all: document.querySelectorAll('*').length, paint: Math.round(performance.getEntriesByName('first-contentful-paint')[0].startTime)};";
        let figures = browser.run(script, json!([]));
        eprintln!("10,000 tools: first paint and milliseconds of filters: {figures}");
        assert!(figures["rows"].as_u64().unwrap() <= MOST_ROWS, "{figures}");
        assert!(figures["rows"].as_u64().unwrap() > 5, "{figures}");
        browser.fill(".filter", "tool_09999");
        browser.find(".count", "1 of 10,000");
        browser.find(".row .name", "tool_09999");
        // The last of them is reached by a key.
        browser.fill(".filter", "tool_");
        browser.press("\u{e00c}");
        browser.press("\u{e015}");
        browser.press("G");
        browser.find(".row .name", "tool_09999");
    });
}

/// A line that is not shown is told: what is shown and what is told to be lost are all lines.
pub(crate) fn a_hundred_thousand_log_lines_take_no_more_memory_and_none_is_lost_untold() {
    let line = json!({"level": "info", "logger": "flood", "data": "a line of the flood, as long as lines of logs are, more or less"});
    let flood = |count| {
        [
            Action::flood(count, "notifications/message", line.clone()),
            Action::text("flooded"),
        ]
    };
    let script = named([tool(
        "flood",
        "Writes 25,000 lines.",
        &json!({"type": "object"}),
    )])
    .on(When::tool("flood"), flood(25_000));
    let console = Console::start([("chaos", script)]);
    with_browser(|browser| {
        browser.open(&console.link);
        browser.find(".row .name", "flood");
        let heap = || {
            browser.devtools("HeapProfiler.enable", json!({}));
            browser.devtools("HeapProfiler.collectGarbage", json!({}));
            browser
                .run("return performance.memory.usedJSHeapSize", json!([]))
                .as_u64()
                .unwrap()
        };
        // Lines that are there before the flood, such as states, and those that tell of gaps.
        browser.run("window.others = () => attache.store.log.filter((line) => !line.text.includes('of the flood')).length - attache.store.gaps;
            window.before = others()", json!([]));
        let told = "const {log, logDropped, gaps, missed} = attache.store;
            return [log.length + logDropped - gaps - before, missed]";
        let mut sizes = Vec::new();
        for round in 1..=4_u64 {
            run_tool(browser, "flood");
            browser.find(".result", "flooded");
            let all = format!(
                "const [shown, missed] = (() => {{ {told} }})(); return shown + missed >= arguments[0]"
            );
            browser.wait_for("all lines to be told", &all, json!([round * 25_000]));
            browser.run("location.hash = '#/log'", json!([]));
            browser.find(".log .row", "of the flood");
            sizes.push((browser.run(told, json!([])), heap()));
        }
        eprintln!("lines shown and told to be lost, and heap, after each 25,000 lines: {sizes:?}");
        let (last, _) = &sizes[3];
        let count = |at: usize| last[at].as_u64().unwrap();
        assert_eq!(count(0) + count(1), 100_000, "{sizes:?}");
        if count(1) > 0 {
            browser.find(".log .note", "came faster than they could be shown");
        }
        let kept = browser.run(
            "return [attache.store.log.length, document.querySelectorAll('.row').length]",
            json!([]),
        );
        assert!(
            kept[0].as_u64().unwrap() <= 22_000 && kept[1].as_u64().unwrap() <= MOST_ROWS,
            "{kept}"
        );
        let grown = sizes[3].1.saturating_sub(sizes[1].1);
        assert!(grown < 8_000_000, "{sizes:?}");
    });
}
