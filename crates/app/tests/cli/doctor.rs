//! One cause and one remedy for each way a server can be ill.

use serde_json::Value;

use crate::configured::{after, home};
use crate::harness::{Folder, hostile, toml_server};

fn shell(name: &str, script: &str) -> String {
    toml_server(name, &["sh", "-c", script].map(str::to_owned))
}

#[test]
fn the_doctor_names_one_cause_and_one_remedy() {
    let folder = Folder::new("doctor-bin");
    let npx = folder.write("npx", "#!/bin/sh\nexec sleep 1000\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&npx, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let npx = [npx.display().to_string(), "-y".to_owned(), "pkg".to_owned()];
    let soon = "timeouts = { initialize = '1s' }\n";
    let config = [
        after("healthy", ":"),
        toml_server("missing", &["no-such-command-anywhere".to_owned()]),
        toml_server("slow", &npx),
        soon.to_owned(),
        shell("silent", "exec sleep 1000"),
        soon.to_owned(),
        shell("leaving", "echo API_KEY is not set >&2; exit 3"),
        after("chatty", "echo Server listening"),
        toml_server("old", &hostile()),
        "era = 'modern'\n".to_owned(),
        "[servers.misspelt]\ncomand = 'x'\n".to_owned(),
        shell("off", "exit"),
        "enabled = false\n".to_owned(),
    ];
    let home = home("doctor", &config.concat());
    let outcome = home.run(&["doctor", "--json"]).expect(4);
    let document = outcome.document();
    let servers = document["servers"].as_array().unwrap();
    for (name, verdict, cause, remedy) in [
        (
            "missing",
            "command_not_found",
            "`no-such-command-anywhere`",
            "install it",
        ),
        (
            "slow",
            "downloading",
            "npx was not done within 1s",
            "once by hand",
        ),
        (
            "silent",
            "never_answers",
            "did not answer within 1s",
            "speaks over stdio",
        ),
        (
            "leaving",
            "exits",
            "says: API_KEY is not set",
            "a variable in `env`",
        ),
        (
            "chatty",
            "polluted_stdout",
            "what is no message (1 line)",
            "stderr",
        ),
        (
            "old",
            "wrong_era",
            "speak era modern, but speaks legacy 2025-06-18",
            "leave out `era`",
        ),
        ("misspelt", "bad_configuration", "attache.toml:", "command"),
        ("off", "disabled", "switched off", "enabled = true"),
    ] {
        let found = servers.iter().find(|server| server["name"] == name);
        let found = found.unwrap_or_else(|| panic!("no {name} in {document}"));
        assert_eq!(found["verdict"], verdict, "{found}");
        let says = |member: &str, text: &str| found[member].as_str().unwrap().contains(text);
        assert!(says("cause", cause), "{found}");
        assert!(says("remedy", remedy), "{found}");
    }
    let healthy = servers.iter().find(|server| server["name"] == "healthy");
    let healthy = healthy.unwrap();
    assert_eq!(healthy["verdict"], "healthy");
    assert_eq!(healthy["cause"], Value::Null);
    let message = outcome.error()["message"].clone();
    assert_eq!(
        message,
        "3 of 9 servers answered; not leaving, missing, misspelt, old, silent, slow"
    );
}

#[test]
fn a_command_is_examined_too() {
    let home = Folder::new("doctor-command");
    let outcome = home.run(&["doctor"]).expect(0);
    assert_eq!(outcome.stdout, "attache-demo  healthy\n");
    let outcome = home
        .run(&["doctor", "--", "sh", "-c", "echo broken >&2; exit 3"])
        .expect(4);
    insta::assert_snapshot!(outcome.stdout, @r"
    sh  it exits at once (exited with code 3) and says: broken
      remedy: mend what it complains about: an argument, a variable in `env`, a file
    ");
}
