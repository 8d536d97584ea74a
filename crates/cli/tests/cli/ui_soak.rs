//! The terminal UI over a long time: what happens in a day, in a hurry. Once all that it keeps is
//! full its memory stays as it is; it answers keys, says what it lost and leaves nothing behind.
//! `ATTACHE_UI_SOAK_EVENTS` makes it as long as one likes.

use std::time::Duration;

use attache_testkit::chaos::{Action, Emit, Launch, Script, When};
use attache_testkit::processes::usage;
use serde_json::{Value, json};

use crate::screen::Screen;
use crate::ui::{ENTER, ESC, F2, gone, home, open, see, table};

/// Events of the short soak, after those that fill lists.
const EVENTS: u64 = 70_000;
/// Events of one call of `burst`: so many at once, so often.
const AT_ONCE: u64 = 50;
const TIMES: u64 = 100;
/// Rounds after which the lists of messages and calls have what they keep.
const WARM_UP: u64 = 6;
/// Lines that `fill` says, of the longest that are kept whole: more than the log keeps.
const LONG_LINES: u64 = 16_000;
/// The most that an event of a burst takes in lists that are not full: its line, and its message.
const KEPT: u64 = 256;
/// Lines that `last` says, which are counted.
const LAST: u64 = 5_000;
/// What memory may grow by over all rounds: an allocator's mood, not a leak per event.
const SLACK: u64 = 8 * 1024 * 1024;

/// What the filter says when it leaves one tool.
const ONE_LEFT: &str = "1 of 13";
/// The title of the menu that goes anywhere.
const MENU: &str = " go to ─";

/// A message on a line of its own.
fn message(method: &str, params: &Value) -> String {
    let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
    format!("{message}\n")
}

fn log(text: &str) -> String {
    message(
        "notifications/message",
        &json!({"level": "info", "data": text}),
    )
}

/// A server that says, changes and fails much.
fn server() -> Launch {
    let kinds = [
        message(
            "notifications/progress",
            &json!({"progressToken": "$token", "progress": "$n", "total": TIMES}),
        ),
        message(
            "notifications/resources/updated",
            &json!({"uri": "chaos://text"}),
        ),
        message("notifications/tools/list_changed", &json!({})),
        message("notifications/resources/list_changed", &json!({})),
        message("notifications/prompts/list_changed", &json!({})),
    ];
    let said = AT_ONCE as usize - kinds.len() - 1;
    let at_once = log("a line that a server says in a burst").repeat(said) + &kinds.concat();
    let pause = Duration::from_millis(10);
    Script::legacy("2025-11-25")
        .on(
            When::tool("burst"),
            [
                Emit::text(at_once).times(TIMES).every(pause).into(),
                Emit::line("said on stderr").times(TIMES).on_stderr().into(),
                Action::text("the burst is over"),
            ],
        )
        .on(
            When::tool("fill"),
            [
                Emit::text(log(&"x".repeat(8_000)).repeat(10))
                    .times(LONG_LINES / 10)
                    .every(Duration::from_millis(1))
                    .into(),
                Action::text("it is full"),
            ],
        )
        .on(When::tool("crash"), [Action::exit(1)])
        .on(
            When::tool("last"),
            [
                Emit::text(log("the last words").repeat(AT_ONCE as usize))
                    .times(LAST / AT_ONCE)
                    .every(pause)
                    .into(),
                Action::text("that was all"),
            ],
        )
        .launch()
        .unwrap()
}

/// Opens the form of a tool.
fn form(screen: &mut Screen, tool: &str) {
    screen.type_in(&format!("1/{tool}"));
    see(screen, ONE_LEFT);
    screen.type_in(ENTER);
    screen.type_in(ENTER);
    see(screen, "[ run ]");
}

/// Runs the tool whose form is open and comes back to it.
fn run(screen: &mut Screen, answer: &str, meanwhile: impl FnOnce(&mut Screen)) {
    screen.type_in(F2);
    meanwhile(screen);
    see(screen, answer);
    screen.type_in(ESC);
    see(screen, "[ run ]");
}

/// Out of the form and the filter.
fn leave(screen: &mut Screen) {
    screen.type_in(ESC);
    gone(screen, "[ run ]");
    screen.type_in(ESC);
    gone(screen, ONE_LEFT);
}

fn once(screen: &mut Screen, tool: &str, answer: &str) {
    form(screen, tool);
    run(screen, answer, |_| ());
    leave(screen);
}

/// What a person does while a burst comes: looks around, opens and closes, pulls at the window.
fn look_around(screen: &mut Screen, round: u64) {
    for (number, tab) in (0..7).zip(["2", "3", "4", "5", "6", "7", "1"]) {
        screen.type_in(tab);
        screen.resize(100 + number * 10, 24 + number * 3);
        if u64::from(number) == round % 7 {
            screen.type_in(":");
            see(screen, MENU);
            screen.type_in(ESC);
            gone(screen, MENU);
        }
    }
}

/// The number that stands before a word on the screen.
fn number_before(rows: &str, word: &str) -> Option<u64> {
    let (before, _) = rows.split_once(&format!(" {word}"))?;
    let number = before.rsplit(|found: char| !found.is_ascii_digit()).next();
    number?.parse().ok()
}

#[test]
fn a_day_of_events_leaves_memory_as_it_was() {
    let asked = std::env::var("ATTACHE_UI_SOAK_EVENTS").ok();
    let events: u64 = asked.as_ref().map_or(EVENTS, |it| it.parse().unwrap());
    let launch = server();
    let restart = "restart = { starts = 1000, backoff_longest = '200ms' }\n";
    let home = home("ui-soak", &(table("loud", &launch) + restart));
    let mut screen = open(&home, &[], 150, 42);
    see(&screen, "burst");
    // Messages on the wire are kept from the first look at them on.
    screen.type_in("5");
    screen.type_in("2/chaos://text");
    see(&screen, "1 of 3");
    screen.type_in(ENTER);
    screen.type_in("w");
    see(&screen, "watched; 0 changes seen");
    // A short soak ends before the log is full, so its lines come on top.
    let may_grow = match asked {
        None => events * KEPT + SLACK,
        Some(_) => {
            once(&mut screen, "fill", "it is full");
            SLACK
        }
    };

    let mut memory = Vec::new();
    for round in 0..WARM_UP + events / (AT_ONCE * TIMES) {
        form(&mut screen, "burst");
        run(&mut screen, "the burst is over", |it| {
            look_around(it, round)
        });
        leave(&mut screen);
        if round % 4 == 0 {
            once(&mut screen, "crash", "outcome unknown");
            see(&screen, "1 of 1 ready");
        }
        memory.push(usage(screen.process()).unwrap().resident);
    }
    let (before, after) = (memory[WARM_UP as usize - 1], memory[memory.len() - 1]);
    assert!(after < before + may_grow, "bytes by round: {memory:?}");

    screen.type_in("2");
    screen.wait_for("changes of what is watched", |rows| {
        number_before(rows, "changes seen").is_some_and(|seen| seen > 0)
    });
    screen.type_in("6");
    see(&screen, "following");
    let missed = |rows: &str| number_before(rows, "events missed").unwrap_or(0);
    let earlier = missed(&screen.rows());
    once(&mut screen, "last", "that was all");
    screen.type_in("6/the last words");
    screen.wait_for("last words, or how many were missed", |rows| {
        let shown = number_before(rows, "lines").unwrap_or(0);
        shown + missed(rows) >= LAST + earlier
    });
    screen.type_in(ENTER);
    screen.type_in("q");
    let (code, rows) = screen.finish();
    assert_eq!(code, 0, "{rows}");
    assert!(!rows.contains("Servers"), "{rows}");
    let gone = launch.tag().wait_until_gone(Duration::from_secs(10));
    assert!(gone.is_ok(), "{gone:?}");
}
