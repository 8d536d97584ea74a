//! How the page begins.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Instant;

use attache_testkit::scratch::Scratch;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::driver::PATIENCE;
use super::world::{Console, console, everything, with_browser, with_console};

pub(crate) fn the_link_opens_the_page_and_the_token_leaves_the_address() {
    with_console(|browser, console| {
        browser.find(".row .name", "search");
        browser.find(".server-row", "chaos");
        browser.find(".server-row .state", "ready");
        // A server that cannot be started is told with its cause.
        browser.find(".server-row .cause", "attache-no-such-program");
        let address = browser.run("return location.href", json!([]));
        assert_eq!(address, json!(console.view("/tools")));
        // A reload keeps the token of its tab; nothing else has it.
        browser.reload();
        browser.find(".row .name", "search");
        let kept = browser.run(
            "return [document.cookie, JSON.stringify(localStorage)]",
            json!([]),
        );
        assert_eq!(kept[0], json!(""));
        assert!(!kept[1].as_str().unwrap().contains(console.token()));
        // One address for each view, also after a reload.
        browser.run("location.hash = '#/tools/chaos/search'", json!([]));
        browser.find("h1", "Search notes");
        browser.reload();
        browser.find("h1", "Search notes");
        browser.find(".chip", "read-only");
    });
}

pub(crate) fn a_page_without_its_token_says_what_to_run() {
    with_console(|browser, console| {
        // Another tab has no token of its own.
        let first = browser.window();
        let _second = browser.new_tab();
        browser.open(&console.view("/tools"));
        browser.find("main", "needs the token of its link");
        browser.find("main code", "attache web --open");
        browser.close_tab(&first);
    });
    // The browser notes the refused request in its console; that is all.
    let refused = std::panic::catch_unwind(|| {
        with_console(|browser, console| {
            browser.open(&format!("{}/#token=00ff", console.origin()));
            browser.find("main", "not valid any more");
            let said = browser.console();
            assert!(
                said.iter()
                    .all(|line| !line.contains("SEVERE") || line.contains("401")),
                "{said:?}"
            );
        });
    });
    assert!(refused.is_ok());
}

/// At most eight requests and 150 kB until the page is usable.
pub(crate) fn the_page_is_small_and_needs_few_requests() {
    with_browser(|browser| {
        let began = Instant::now();
        let console = Console::start([("chaos", everything())]);
        let up = began.elapsed();
        let opened = Instant::now();
        browser.open(&console.link);
        browser.find("header .tabs", "Tools");
        let usable = opened.elapsed();
        browser.find(".row .name", "search");
        let script = "const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
            const page = all.filter((one) => !one.name.includes('/api/'));
            return {requests: all.length + 1, files: page.length, bytes: page.reduce((sum, one) => sum + one.decodedBodySize, 0), names: all.map((one) => one.name),
                paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime};";
        let cost = browser.run(script, json!([]));
        eprintln!("console up after {up:?}, page usable after {usable:?} more: {cost}");
        // The stream of events has not ended, so that it is not among them: it is the one added.
        assert!(cost["requests"].as_u64().unwrap() <= 8, "{cost}");
        assert!(cost["bytes"].as_u64().unwrap() <= 150_000, "{cost}");
        // Nothing comes from elsewhere.
        for name in cost["names"].as_array().unwrap() {
            assert!(
                name.as_str().unwrap().starts_with(console.origin()),
                "{name}"
            );
        }
    });
}

/// S1: other users see the arguments of a browser. What they see opens nothing any more as soon as
/// the page is there, and is not the token.
pub(crate) fn s1_the_address_that_a_browser_is_started_with_opens_the_page_once() {
    let home = Scratch::new("web-open").unwrap();
    let opener =
        "#!/bin/sh\nprintf %s \"$1\" > \"$HOME/part\" && mv \"$HOME/part\" \"$HOME/opened\"\n";
    home.write("bin/xdg-open", opener).unwrap();
    let program = home.path().join("bin/xdg-open");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (mut process, link) = console(home.path(), &["--open", "demo"]);
    let deadline = Instant::now() + PATIENCE;
    let address = loop {
        match std::fs::read_to_string(home.path().join("opened")) {
            Ok(address) => break address,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        std::thread::yield_now();
    };
    let (_, token) = link.split_once("#token=").unwrap();
    assert!(
        address.contains("/#code=") && !address.contains(token),
        "{address}"
    );
    with_browser(|browser| {
        browser.open(&address);
        browser.find(".row .name", "echo");
        let shown = browser.run("return location.hash", json!([]));
        assert_eq!(shown, json!("#/tools"));
        browser.reload();
        browser.find(".row .name", "echo");
        // Who comes second is told that there was a first.
        let first = browser.window();
        let _second = browser.new_tab();
        browser.open(&address);
        browser.find("main", "was used before");
        browser.close_tab(&first);
        let said = browser.console();
        let mut severe = said.iter().filter(|line| line.contains("SEVERE"));
        assert!(severe.all(|line| line.contains("401")), "{said:?}");
    });
    let _ = kill_process(Pid::from_child(&process), Signal::TERM);
    process.wait().unwrap();
}

/// A browser opens six connections to one address, and every stream of events takes one: tabs that
/// are not seen give theirs back.
pub(crate) fn a_dozen_tabs_are_all_usable() {
    with_console(|browser, console| {
        let first = browser.window();
        let tabs: Vec<String> = (0..12)
            .map(|_| {
                let tab = browser.new_tab();
                browser.open(&console.link);
                browser.find(".dot.live", "");
                browser.find(".row .name", "search");
                tab
            })
            .collect();
        for tab in &tabs {
            browser.switch(tab);
            browser.close_tab(&first);
        }
        browser.find(".row .name", "search");
    });
}
