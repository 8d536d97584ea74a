//! How it looks, for the eye and for those who do not see it.

use serde_json::json;

use super::driver::Browser;
use super::running::run_tool;
use super::world::{pictures, with_console};

fn screen(browser: &Browser, width: u32, height: u32, theme: &str) {
    browser.devtools(
        "Emulation.setDeviceMetricsOverride",
        json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}),
    );
    browser.devtools(
        "Emulation.setEmulatedMedia",
        json!({"features": [{"name": "prefers-color-scheme", "value": theme}]}),
    );
}

/// What axe finds wrong, by rule and element.
fn violations(browser: &Browser, axe: &str) -> Vec<String> {
    browser.devtools("Runtime.evaluate", json!({"expression": axe}));
    let script = "const found = await axe.run(document, {resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']});
        return found.violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 160)} ${(node.any[0] ?? node.all[0] ?? node.none[0])?.message ?? ''}`));";
    let found = browser.run_async(script, json!([]));
    found
        .as_array()
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// The official checker of the rules for accessible pages.
fn axe() -> String {
    let deps = std::env::var_os("ATTACHE_TEST_DEPS").map(std::path::PathBuf::from);
    let deps = deps.unwrap_or_else(|| {
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.test-deps")
    });
    let file = deps.join("browser/node_modules/axe-core/axe.min.js");
    std::fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; install it: scripts/install-test-servers",
            file.display()
        )
    })
}

/// WCAG 2.2 AA in every view, in both themes, at a desk and in a hand, and at 320 pixels, which is
/// also a screen of 1280 at 400 %.
pub(crate) fn all_views_are_accessible_in_both_themes_and_widths() {
    let axe = axe();
    with_console(|browser, _| {
        run_tool(browser, "search");
        browser.fill("input[data-key='[\"query\"]']", "morning");
        browser.click("button", "Run");
        browser.find(".result table", "Morning pages");
        let last = browser.run(
            "return '#/calls/' + [...attache.calls.keys()].at(-1)",
            json!([]),
        );
        let last = last.as_str().unwrap().to_owned();
        let views = [
            ("tools", "#/tools", ".row .name"),
            ("tool", "#/tools/chaos/search", ".result table"),
            ("form", "#/tools/chaos/fill", "select"),
            ("resources", "#/resources", ".empty, .row"),
            ("prompts", "#/prompts", ".empty, .row"),
            ("calls", "#/calls", ".row"),
            ("call", last.as_str(), ".result"),
            ("activity", "#/activity", ".row"),
            ("log", "#/log", ".empty, .row"),
            ("server", "#/servers/missing", ".failure"),
        ];
        let mut wrong = Vec::new();
        for (width, height, theme) in [
            (1280, 800, "light"),
            (1280, 800, "dark"),
            (390, 844, "light"),
            (390, 844, "dark"),
            (320, 256, "light"),
        ] {
            screen(browser, width, height, theme);
            for (name, address, shows) in views {
                browser.run("location.hash = arguments[0]", json!([address]));
                browser.find(shows, "");
                browser.wait_for("motion to end", "return document.getAnimations().every((one) => one.playState !== 'running' || one.effect.getComputedTiming().iterations === Infinity)", json!([]));
                browser.picture(&pictures().join(format!("{name}-{width}-{theme}.png")));
                let wide = browser
                    .run("return Math.max(document.documentElement.scrollWidth, ...[...document.querySelectorAll('.detail')].map((it) => it.scrollWidth - it.clientWidth && 9999))", json!([]))
                    .as_u64()
                    .unwrap();
                if wide > u64::from(width) {
                    wrong.push(format!("{name} at {width}: {wide} pixels wide"));
                }
                let found = violations(browser, &axe);
                wrong.extend(
                    found
                        .into_iter()
                        .map(|one| format!("{name} at {width}, {theme}: {one}")),
                );
            }
        }
        // Dialogs.
        screen(browser, 1280, 800, "light");
        for (key, name) in [("?", "keys"), (":", "palette"), ("a", "inbox")] {
            browser.press(key);
            browser.find("dialog", "");
            browser.picture(&pictures().join(format!("{name}.png")));
            wrong.extend(
                violations(browser, &axe)
                    .into_iter()
                    .map(|one| format!("{name}: {one}")),
            );
            browser.press("\u{e00c}");
            browser.wait_gone("dialog", "");
        }
        // The switch is stronger than the system.
        let ground = |browser: &Browser| {
            browser.run(
                "return getComputedStyle(document.documentElement).backgroundColor",
                json!([]),
            )
        };
        let light = ground(browser);
        browser.press("tt");
        browser.wait_for(
            "the dark theme",
            "return document.documentElement.dataset.theme === 'dark'",
            json!([]),
        );
        assert_ne!(ground(browser), light);
        browser.press("t");
        browser.devtools("Emulation.clearDeviceMetricsOverride", json!({}));
        assert!(wrong.is_empty(), "{wrong:#?}");
    });
}
