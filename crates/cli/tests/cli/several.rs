//! What `ls` and `tools` print about several servers at once: a healthy one, one that is parked, and
//! one that is remembered because it does not answer in time. Every visible change shows here.

use std::process::Command;

use serde_json::{Value, json};

use crate::configured::{after, home};
use crate::harness::{Folder, Outcome, finish};

/// Three servers. The slow one has answered before, and never will again.
struct Three {
    home: Folder,
    _flag: Folder,
}

impl Three {
    fn new(name: &str) -> Self {
        let folder = Folder::new(&format!("{name}-flag"));
        let flag = folder.path().join("slow");
        let slow = after("slow", &format!("test -e {} && sleep 1000", flag.display()));
        let slow = slow + "timeouts = { initialize = '5s' }\n";
        let absent = "[servers.absent]\ncommand = 'no-such-program'\n";
        let config = absent.to_owned() + &slow + &after("well", ":");
        let home = home(name, &config);
        let three = Self {
            home,
            _flag: folder,
        };
        three.run(&["ls"]).expect(4);
        std::fs::write(&flag, "").unwrap();
        three
    }

    fn attache(&self) -> Command {
        let mut command = self.home.attache();
        // An error counts the folders of the path.
        command.env("PATH", "/usr/bin:/bin");
        command
    }

    fn run(&self, words: &[&str]) -> Outcome {
        finish(self.attache().args(words))
    }
}

/// How long ago something was remembered differs from run to run.
fn steady(text: &str) -> String {
    let Some((before, rest)) = text.split_once("remembered from ") else {
        return text.to_owned();
    };
    let (_, after) = rest.split_once(" ago").unwrap();
    format!("{before}remembered from [A WHILE] ago{after}")
}

#[test]
fn for_people() {
    let three = Three::new("several-people");
    let outcome = three.run(&["ls", "--partial"]).expect(0);
    insta::assert_snapshot!(steady(&outcome.stdout), @r"
    well    3 tools, 2 resources, 1 prompt · attache-demo 0.1.0 · modern 2026-07-28
    slow    3 tools, 2 resources, 1 prompt, remembered from [A WHILE] ago; now starting
    absent  parked
            cannot start `no-such-program`: not found in PATH (looked in 2 directories); install it or give its full path
            remedy: install it, or give its full path as the command
    ");
    insta::assert_snapshot!(outcome.stderr, @"");

    let outcome = three.run(&["tools", "--partial"]).expect(0);
    insta::assert_snapshot!(outcome.stdout, @r"
    well/echo   Says the message back.
                message=<string>
    well/add    Adds two numbers.
                a=<number> b=<number>
    well/count  Counts slowly, with progress; it can be cancelled.
                to=<integer> [delay_ms=<integer>]
    slow/echo   Says the message back.
                message=<string>
    slow/add    Adds two numbers.
                a=<number> b=<number>
    slow/count  Counts slowly, with progress; it can be cancelled.
                to=<integer> [delay_ms=<integer>]
    ");
    insta::assert_snapshot!(steady(&outcome.stderr), @r"
    note: slow: remembered from [A WHILE] ago: no answer within 1s
    note: absent: cannot start `no-such-program`: not found in PATH (looked in 2 directories); install it or give its full path
    ");
}

#[test]
fn for_scripts() {
    let three = Three::new("several-scripts");
    let missing = "cannot start `no-such-program`: not found in PATH (looked in 2 directories); \
                   install it or give its full path";
    let outcome = three.run(&["ls", "--json", "--partial"]).expect(0);
    assert_eq!(outcome.stderr, "");
    let mut document = outcome.document();
    let remembered = document["servers"][1]["remembered"]["savedMs"].take();
    assert!(
        remembered.as_u64().is_some_and(|moment| moment > 0),
        "{remembered}"
    );
    let counts = json!({"tools": 3, "resources": 2, "resourceTemplates": 0, "prompts": 1});
    assert_eq!(
        document,
        json!({"servers": [
            {
                "name": "well", "state": "ready", "era": "modern", "revision": "2026-07-28",
                "serverInfo": {"name": "attache-demo", "version": env!("CARGO_PKG_VERSION")},
                "counts": counts, "remembered": null, "lastError": null,
            },
            {
                "name": "slow", "state": "starting", "era": null, "revision": null,
                "serverInfo": null, "counts": counts, "remembered": {"savedMs": null},
                "lastError": null,
            },
            {
                "name": "absent", "state": "parked", "era": null, "revision": null,
                "serverInfo": null, "counts": null, "remembered": null,
                "lastError": {
                    "kind": "spawn", "message": missing, "server": "absent",
                    "code": null, "meaning": null, "data": null, "hint": null,
                },
            },
        ]})
    );

    let outcome = three.run(&["tools", "--json", "--partial"]).expect(0);
    assert_eq!(outcome.stderr, "");
    let mut document = outcome.document();
    let remembered = document["servers"][1]["saved_ms"].take();
    assert!(
        remembered.as_u64().is_some_and(|moment| moment > 0),
        "{remembered}"
    );
    assert_eq!(
        document["servers"],
        json!([
            {"name": "well", "outcome": "ok"},
            {
                "name": "slow", "outcome": "remembered", "saved_ms": null,
                "because": "no answer within 1s",
            },
            {"name": "absent", "outcome": "parked", "cause": missing, "stderr": []},
        ])
    );
    // A remembered tool is told as fully as one that was just listed.
    let tools = document["tools"].as_array_mut().unwrap();
    let of = |tools: &mut [Value]| -> Vec<Value> {
        let servers = tools.iter_mut().map(|tool| tool["server"].take());
        servers.collect()
    };
    assert_eq!(of(&mut tools[..3]), ["well"; 3]);
    assert_eq!(of(&mut tools[3..]), ["slow"; 3]);
    assert_eq!(tools[..3], tools[3..]);
    assert_eq!(
        tools[1],
        json!({
            "name": "add", "description": "Adds two numbers.", "server": null,
            "inputSchema": {
                "type": "object", "additionalProperties": false, "required": ["a", "b"],
                "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            },
        })
    );

    // Whoever does not accept less is told who is missing, beside the same document.
    let outcome = three.run(&["tools", "--json"]).expect(4);
    assert_eq!(outcome.document()["servers"][1]["outcome"], "remembered");
    let error = outcome.error();
    assert_eq!(
        error["message"],
        "1 of 3 servers answered; not absent, slow"
    );
}
