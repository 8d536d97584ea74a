//! What is lost: a server, the stream of events, the console.

use serde_json::json;

use super::running::run_tool;
use super::world::{Console, console, everything, with_browser, with_console};

pub(crate) fn a_killed_server_is_seen_and_comes_back() {
    with_console(|browser, _| {
        run_tool(browser, "crash");
        browser.find(".result .chip.bad", "");
        // It is started again, and usable again.
        run_tool(browser, "fill");
        browser.find(".problems", "");
        browser.run("location.hash = '#/servers/chaos'", json!([]));
        browser.find(".pairs", "times");
        browser.click("button", "Stop");
        browser.find(".facts .state", "not started");
        browser.click("button", "Start");
        browser.find(".facts .state", "ready");
        browser.click(".tabs a", "Log");
        browser.find(".log .row", "");
    });
}

/// Nothing is lost and nothing comes twice: the stream goes on after the last event that was seen.
pub(crate) fn events_resume_after_a_cut_without_loss_or_repetition() {
    with_console(|browser, _| {
        run_tool(browser, "chatter");
        browser.find(".result", "said");
        let count =
            "return attache.store.log.filter((line) => /line \\d+\\./.test(line.text)).length";
        browser.wait_for("twenty lines", &format!("{count} >= 20"), json!([]));
        let offline = |yes: bool| {
            browser.devtools("Network.emulateNetworkConditions", json!({"offline": yes, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}));
        };
        browser.devtools("Network.enable", json!({}));
        let before = browser.run(count, json!([]));
        assert_eq!(before, json!(20));
        // While the page hears nothing, another client lets the server speak.
        browser.run("attache.offline = true", json!([]));
        offline(true);
        browser.run("attache.cutStream()", json!([]));
        browser.find(".banner", "does not answer");
        browser.find(".dot.lost", "");
        offline(false);
        browser.wait_gone(".banner", "does not answer");
        browser.find(".dot.live", "");
        run_tool(browser, "chatter");
        browser.wait_for("forty lines", &format!("{count} >= 40"), json!([]));
        // A cut in the middle of the talk.
        run_tool(browser, "chatter");
        browser.run("attache.cutStream()", json!([]));
        browser.wait_for("sixty lines", &format!("{count} >= 60"), json!([]));
        assert_eq!(browser.run(count, json!([])), json!(60));
        let _ = browser.console();
    });
}

pub(crate) fn a_lost_console_is_said_and_a_new_one_needs_its_own_link() {
    let (mut console_, second) = (
        Console::start([("chaos", everything())]),
        std::cell::OnceCell::new(),
    );
    with_browser(|browser| {
        browser.open(&console_.link);
        browser.find(".row .name", "search");
        console_.kill();
        browser.find(".banner", "does not answer");
        // What was known is still shown.
        browser.find(".row .name", "search");
        // A console on the same port has another token: the page says what to do.
        let listen = console_.origin().trim_start_matches("http://").to_owned();
        let _ = second.set(console(console_.home.path(), &["--listen", &listen]));
        browser.find("main", "not valid any more");
        let (_, link) = second.get().unwrap();
        browser.open(link);
        browser.find(".row .name", "search");
        // Failed requests are what the browser saw, not what the page did wrong.
        let said = browser.console();
        let mut failed = said.iter().filter(|line| line.contains("SEVERE"));
        assert!(
            failed.all(|line| line.contains("Failed to load resource")),
            "{said:?}"
        );
    });
    let (mut process, _) = second.into_inner().unwrap();
    let _ = rustix::process::kill_process(
        rustix::process::Pid::from_child(&process),
        rustix::process::Signal::TERM,
    );
    process.wait().unwrap();
}
