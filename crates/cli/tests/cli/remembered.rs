//! What becomes of servers that are slow or dead, once they are remembered, and of the names of
//! their tools.

use serde_json::{Value, json};

use crate::configured::{after, home};
use crate::harness::{Folder, toml_server};

/// A server that does something else before it starts, once it is told to, and a home with it.
struct Changing {
    home: Folder,
    flag: Folder,
}

impl Changing {
    fn new(name: &str, once_changed: &str) -> Self {
        let flag = Folder::new(&format!("{name}-flag"));
        let file = flag.path().join("changed");
        let script = format!("test -e {} && {once_changed}", file.display());
        let home = home(name, &after("one", &script));
        Self { home, flag }
    }

    fn change(&self) {
        self.flag.write("changed", "");
    }
}

fn counts() -> Value {
    json!({"tools": 3, "resources": 2, "resourceTemplates": 0, "prompts": 1})
}

/// From the second time on, a server that starts in more than ten seconds was not waited for.
#[test]
fn a_slow_start_is_waited_for_also_by_who_remembers_the_server() {
    let slow = Changing::new("slow-start", "sleep 11");
    slow.home.run(&["ls"]).expect(0);
    slow.change();
    let outcome = slow.home.run(&["ls", "--json"]).expect(0);
    let server = &outcome.document()["servers"][0];
    assert_eq!(server["state"], "ready");
    assert_eq!(server["remembered"], Value::Null);
    assert_eq!(server["counts"], counts());
}

#[test]
fn a_start_time_out_ends_the_wait_and_the_server_is_shown_as_remembered() {
    let hangs = Changing::new("start-timeout", "sleep 1000");
    hangs.home.run(&["ls"]).expect(0);
    hangs.change();
    let words = ["ls", "--json", "--start-timeout", "1s"];
    let outcome = hangs.home.run(&words).expect(4);
    let server = &outcome.document()["servers"][0];
    assert_eq!(server["counts"], counts());
    assert!(
        server["remembered"]["savedMs"]
            .as_u64()
            .is_some_and(|it| it > 0)
    );
    // Who accepts less does not wait for it.
    hangs.home.run(&["ls", "--partial"]).expect(0);
}

#[test]
fn lists_of_a_dead_server_are_remembered() {
    let dies = Changing::new("dead", "exit 3");
    for verb in ["tools", "resources", "prompts"] {
        dies.home.run(&[verb]).expect(0);
    }
    dies.change();
    for (verb, entry) in [
        ("tools", "echo"),
        ("resources", "demo://"),
        ("prompts", "introduce"),
    ] {
        let outcome = dies.home.run(&[verb]).expect(4);
        assert!(outcome.stdout.contains(entry), "{verb}: {outcome:?}");
        assert!(
            outcome.stderr.contains("one: remembered from "),
            "{outcome:?}"
        );
        let document = dies.home.run(&[verb, "--json"]).expect(4).document();
        assert_eq!(document["servers"][0]["outcome"], "remembered");
        assert!(!document[verb].as_array().unwrap().is_empty(), "{document}");
        dies.home.run(&[verb, "--partial"]).expect(0);
    }
}

#[test]
fn fault_74_a_plain_name_waits_for_a_choice_while_its_owner_is_unknown() {
    let broken = ["sh", "-c", "exit 3"].map(str::to_owned);
    let config = toml_server("broken", &broken) + &after("good", ":");
    let home = home("owner", &config);
    let plain = ["call", "echo", "message=x", "--json"];
    for _ in 0..2 {
        let error = home.run(&plain).expect(2).error();
        assert_eq!(
            error["message"],
            "\"echo\" may also be offered by servers that have not answered: broken"
        );
        assert_eq!(error["hint"], "say which: good/echo, broken/echo");
    }
    let error = home.run(&["call", "ecoh", "--json"]).expect(4).error();
    assert_eq!(
        error["hint"],
        "did you mean \"echo\"? these servers could not be asked: broken"
    );
    // Who has chosen once need not say it again.
    home.run(&["call", "good/echo", "message=x"]).expect(0);
    home.run(&plain).expect(0);
}

#[test]
fn a_server_that_there_is_not_is_named_as_such() {
    let two = home("unknown-server", &(after("one", ":") + &after("two", ":")));
    let error = two.run(&["call", "tow/echo", "message=x", "--json"]);
    let error = error.expect(2).error();
    assert_eq!(error["message"], "no server is named \"tow\"");
    assert_eq!(error["hint"], "did you mean \"two\"?");
    let only = home("unknown-one", &after("one", ":"));
    for verb in ["call", "prompt"] {
        let error = only.run(&[verb, "oen/echo", "--json"]).expect(2).error();
        assert_eq!(error["message"], "no server is named \"oen\"");
        assert_eq!(error["hint"], "did you mean \"one\"?");
    }
}

#[test]
fn many_servers_that_start_a_few_at_a_time_are_all_shown_live() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let servers: String = names.iter().map(|name| after(name, ":")).collect();
    let home = home(
        "many",
        &("[startup]\nconcurrent = 2\n".to_owned() + &servers),
    );
    for _ in 0..2 {
        let document = home.run(&["ls", "--json"]).expect(0).document();
        for server in document["servers"].as_array().unwrap() {
            assert_eq!(server["state"], "ready", "{server}");
            assert_eq!(server["counts"], counts());
        }
    }
}
