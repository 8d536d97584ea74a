//! Servers from a configuration file, several at once.

use serde_json::{Value, json};

use crate::harness::{Folder, everything, time, toml_server, wait_until};

/// A home folder with this configuration in it.
pub(crate) fn home(name: &str, config: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write(".config/attache/attache.toml", config);
    folder
}

/// A server that is the built-in one, after a shell script has had its say.
pub(crate) fn after(name: &str, script: &str) -> String {
    let script = format!("{script}; exec \"$0\" serve demo");
    let words = ["sh", "-c", &script, env!("CARGO_BIN_EXE_attache")];
    toml_server(name, &words.map(str::to_owned))
}

fn by_name<'a>(document: &'a Value, name: &str) -> &'a Value {
    let servers = document["servers"].as_array().unwrap();
    let found = servers.iter().find(|server| server["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {document}"))
}

#[test]
fn two_real_servers_and_one_that_crashes_at_start() {
    let broken = ["sh", "-c", "echo no key >&2; exit 3"].map(str::to_owned);
    let config = [
        toml_server("everything", &everything()),
        toml_server("time", &time()),
        toml_server("broken", &broken),
    ];
    let home = home("three", &config.concat());

    let outcome = home.run(&["ls", "--json"]).expect(4);
    let document = outcome.document();
    assert_eq!(document["servers"].as_array().unwrap().len(), 3);
    for name in ["everything", "time"] {
        let server = by_name(&document, name);
        assert_eq!(server["state"], "ready", "{document}");
        assert_eq!(server["lastError"], Value::Null);
        assert!(server["counts"]["tools"].as_u64().unwrap() > 0);
    }
    let broken = by_name(&document, "broken");
    let state = broken["state"].as_str().unwrap();
    assert!(
        ["backing_off", "starting", "parked"].contains(&state),
        "{broken}"
    );
    let cause = broken["lastError"]["message"].as_str().unwrap();
    assert!(cause.contains("exited with code 3"), "{cause}");
    assert!(cause.contains("no key"), "{cause}");
    let error = outcome.error();
    assert_eq!(error["message"], "2 of 3 servers answered; not broken");

    let outcome = home.run(&["tools"]).expect(4);
    for tool in ["everything/echo", "time/get_current_time"] {
        assert!(outcome.stdout.contains(tool), "{outcome:?}");
    }
    assert!(outcome.stderr.contains("note: broken: "), "{outcome:?}");
    home.run(&["tools", "--partial"]).expect(0);
    let document = home.run(&["tools", "--json"]).expect(4).document();
    assert_eq!(
        by_name(&document, "time"),
        &json!({"name": "time", "outcome": "ok"})
    );
    assert_eq!(by_name(&document, "broken")["outcome"], "unreachable");

    let outcome = home.run(&["call", "echo", "message=hi"]).expect(0);
    assert_eq!(outcome.stdout, "Echo: hi\n");
    let outcome = home
        .run(&["call", "everything/echo", "message=hi"])
        .expect(0);
    assert_eq!(outcome.stdout, "Echo: hi\n");
    let error = home.run(&["call", "broken/x", "--json"]).expect(4).error();
    assert_eq!(error["server"], "broken");
}

#[test]
fn a_name_that_two_servers_have_needs_the_server() {
    let home = home("ambiguous", &(after("one", ":") + &after("two", ":")));
    let error = home
        .run(&["call", "echo", "message=x", "--json"])
        .expect(2)
        .error();
    assert_eq!(error["message"], "\"echo\" is offered by several servers");
    assert_eq!(error["hint"], "say which: one/echo, two/echo");
    for words in [
        &["call", "two/echo", "message=x"][..],
        &["call", "echo", "message=x", "--server", "two"],
    ] {
        assert_eq!(home.run(words).expect(0).stdout, "x\n");
    }
    let outcome = home.run(&["tools", "one"]).expect(0);
    assert!(outcome.stdout.starts_with("echo   Says"), "{outcome:?}");
    let error = home.run(&["tools", "tow", "--json"]).expect(2).error();
    assert_eq!(error["hint"], "did you mean \"two\"?");
    // A variable may be a secret, so it goes to one server only.
    home.run(&["tools", "--env", "KEY=x"]).expect(2);
    home.run(&["tools", "one", "--env", "KEY=x"]).expect(0);
}

#[test]
fn fault_36_a_slow_server_is_answered_for_by_what_is_remembered() {
    let folder = Folder::new("slow-flag");
    let flag = folder.path().join("slow");
    let slow = after("slow", &format!("test -e {} && sleep 1000", flag.display()));
    let slow = slow + "timeouts = { initialize = '5s' }\n";
    let home = home("slow", &(slow + &after("quick", ":")));
    home.run(&["tools"]).expect(0);
    std::fs::write(&flag, "").unwrap();

    let outcome = home.run(&["tools", "--json"]).expect(4);
    let document = outcome.document();
    let slow = by_name(&document, "slow");
    assert_eq!(slow["outcome"], "remembered", "{document}");
    let because = slow["because"].as_str().unwrap();
    assert!(because.contains("5s"), "{because}");
    assert_eq!(
        by_name(&document, "quick"),
        &json!({"name": "quick", "outcome": "ok"})
    );
    let tools = document["tools"].as_array().unwrap();
    let of = |server: &str| tools.iter().filter(|tool| tool["server"] == server).count();
    assert_eq!((of("slow"), of("quick")), (3, 3));

    let outcome = home.run(&["tools", "--partial"]).expect(0);
    assert!(outcome.stdout.contains("slow/echo"), "{outcome:?}");
    assert!(
        outcome.stderr.contains("note: slow: remembered from "),
        "{outcome:?}"
    );
}

#[test]
fn a_bad_line_spoils_its_own_server_only() {
    let config = after("good", ":") + "[servers.bad]\ncomand = 'x'\n";
    let home = home("bad-line", &config);
    let outcome = home.run(&["ls", "--json"]).expect(4);
    let document = outcome.document();
    assert_eq!(by_name(&document, "good")["state"], "ready");
    let bad = by_name(&document, "bad");
    assert_eq!(bad["state"], "misconfigured");
    assert_eq!(bad["lastError"]["kind"], "config");
    let document = home.run(&["tools", "--json"]).expect(4).document();
    assert_eq!(by_name(&document, "bad")["outcome"], "misconfigured");
    assert_eq!(
        home.run(&["call", "good/echo", "message=x"])
            .expect(0)
            .stdout,
        "x\n"
    );
    let error = home.run(&["call", "bad/x", "--json"]).expect(2).error();
    assert_eq!(
        (&error["kind"], &error["server"]),
        (&json!("config"), &json!("bad"))
    );
    // A file that cannot be read at all stops everything.
    let broken = self::home("no-toml", "[servers");
    let error = broken.run(&["ls", "--json"]).expect(2).error();
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("attache.toml:1:"),
        "{error}"
    );
}

#[test]
fn a_configuration_file_is_named_or_found_or_missing() {
    let home = home("found", &after("mine", ":"));
    let other = home.write("elsewhere/other.toml", &after("other", ":"));
    let other = other.display().to_string();
    let document = home.run(&["ls", "--json"]).expect(0).document();
    assert_eq!(document["servers"][0]["name"], "mine");
    let document = home
        .run(&["ls", "--json", "--config", &other])
        .expect(0)
        .document();
    assert_eq!(document["servers"][0]["name"], "other");
    let error = home
        .run(&["ls", "--json", "--config", "nowhere.toml"])
        .expect(2)
        .error();
    assert_eq!(error["kind"], "config");

    let path = home.path().join(".config/attache/attache.toml");
    let outcome = home.run(&["config", "path"]).expect(0);
    assert_eq!(outcome.stdout, format!("{}\n", path.display()));
    let outcome = home.run(&["config", "check"]).expect(0);
    assert_eq!(outcome.stdout, format!("{}: mine\n", path.display()));
    home.write(
        ".config/attache/attache.toml",
        "[servers.x]\ncommand = 'x'\nera = 'old'\n",
    );
    let outcome = home.run(&["config", "check", "--json"]).expect(2);
    let problem = &outcome.document()["problems"][0];
    assert_eq!(
        (&problem["line"], &problem["key"]),
        (&json!(3), &json!("servers.x.era"))
    );
}

#[test]
fn a_rule_of_the_configuration_stops_a_call() {
    let config = after("mine", ":") + "[servers.mine.policy]\ndeny = ['ad?', 'e*']\n";
    let home = home("policy", &config);
    let error = home
        .run(&["call", "echo", "message=x", "--json"])
        .expect(7)
        .error();
    assert_eq!(error["kind"], "refused");
    home.run(&["call", "count", "to=1", "delay_ms=0"]).expect(0);
}

#[test]
fn logs_keep_what_servers_say() {
    let home = home("logs", &after("noisy", "echo \"$SECRET_KEY and $$\" >&2"));
    home.write(
        ".config/attache/attache.toml",
        &(after("noisy", "echo \"hello $KEY\" >&2") + "env = { KEY = 'abcdef-secret' }\n"),
    );
    home.run(&["ls"]).expect(0);
    wait_until("the log", || {
        home.run(&["logs", "noisy"])
            .stdout
            .contains("stderr: hello")
    });
    let outcome = home.run(&["logs", "noisy"]).expect(0);
    assert!(outcome.stdout.contains("stderr: hello ***"), "{outcome:?}");
    assert!(outcome.stdout.contains("state: ready"), "{outcome:?}");
    let outcome = home.run(&["logs", "noisy", "-n", "1", "--json"]).expect(0);
    assert_eq!(outcome.document()["server"], "noisy");
    home.run(&["logs", "--", "sh"]).expect(2);
}

#[cfg(unix)]
#[test]
fn logs_are_followed_until_ctrl_c() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    let home = home("follow", &after("noisy", "echo hello >&2"));
    let mut child = home
        .attache()
        .args(["logs", "--follow"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    home.run(&["ls"]).expect(0);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    assert!(lines.any(|line| line.contains("stderr: hello")));
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
