//! `attache config reference`, the page of the documentation and the manual page of the file.

use std::path::Path;

use crate::harness::run;

#[test]
fn a_key_is_told_whole() {
    insta::assert_snapshot!(run(&["config", "reference", "timeouts.call"]).expect(0).stdout, @r#"
    servers.NAME.timeouts.call
        For a tool call or a prompt; progress extends it.
        Type: a time, such as "2s" or 500 (milliseconds)
        Default: "60s"

    [servers.notes.timeouts]
    call = "5m"
    "#);
    insta::assert_snapshot!(run(&["config", "reference", "servers.x.args"]).expect(0).stdout, @r#"
    servers.NAME.args
        The arguments of the program.
        Type: a list of texts
        Default: []
        Only with: command

    [servers.notes]
    args = ["mcp-server-fetch"]
    "#);
}

#[test]
fn a_table_is_told_with_its_keys() {
    insta::assert_snapshot!(run(&["config", "reference", "startup"]).expect(0).stdout, @r"
    startup
        How servers are started together.
    startup.concurrent
        How many programs may be starting at a time; without it two for each core, and at least four.
    ");
    let all = run(&["config", "reference"]).expect(0).stdout;
    for line in [
        "servers\n",
        "servers.NAME.command\n",
        "servers.NAME.quirks.progress_token = \"number\"\n",
        "mcp.endpoint\n",
        "cache.bytes = 67108864\n",
    ] {
        assert!(
            all.contains(&format!("\n{line}")) || all.starts_with(line),
            "{line}{all}"
        );
    }
}

#[test]
fn a_key_that_does_not_exist_has_a_nearest() {
    let unknown = run(&[
        "config",
        "reference",
        "servers.notes.timeouts.cal",
        "--json",
    ])
    .expect(2);
    let error = unknown.error();
    assert_eq!(error["kind"], "usage");
    assert_eq!(
        error["message"],
        "attache.toml has no key \"servers.notes.timeouts.cal\""
    );
    assert_eq!(error["hint"], "did you mean \"call\"?");
}

#[test]
fn the_json_document_has_values_as_json() {
    let document = run(&["config", "reference", "retry.on", "--json"])
        .expect(0)
        .document();
    let key = &document["keys"][0];
    assert_eq!(key["key"], "servers.NAME.retry.on");
    assert_eq!(
        key["values"],
        serde_json::json!(["lost", "timeout", "transient"])
    );
    assert_eq!(key["default"], serde_json::json!(["lost"]));
    assert_eq!(key["example"], serde_json::json!(["lost", "timeout"]));
    assert_eq!(key["only"], serde_json::Value::Null);
    let all = run(&["config", "reference", "--json"]).expect(0).document();
    assert!(all["keys"].as_array().unwrap().len() > 90);
}

#[test]
fn the_schema_is_a_json_schema() {
    let text = run(&["config", "reference", "--schema"]).expect(0).stdout;
    let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(schema["title"], "attache.toml");
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn the_page_of_the_documentation_is_up_to_date() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/configuration.md");
    let written = std::fs::read_to_string(page).unwrap();
    let made = run(&["config", "reference", "--markdown"]).expect(0).stdout;
    assert!(
        written == made,
        "docs/configuration.md is out of date; to write it anew:\n\
         cargo run -p attache-cli -- config reference --markdown > docs/configuration.md"
    );
}

#[test]
fn every_key_is_on_the_manual_page() {
    let page = run(&["man", "attache.toml"]).expect(0).stdout;
    assert!(page.starts_with(".TH ATTACHE.TOML 5 "), "{page}");
    let all = run(&["config", "reference", "--json"]).expect(0).document();
    for key in all["keys"].as_array().unwrap() {
        let path = key["key"].as_str().unwrap();
        let (table, name) = path.rsplit_once('.').unwrap_or(("", path));
        let shown = match table {
            "" => format!(".SH [{name}"),
            table => {
                let section = page
                    .split(&format!(".SH [{table}]\n"))
                    .nth(1)
                    .unwrap_or_default();
                let section = section.split(".SH ").next().unwrap_or_default();
                assert!(
                    section.contains(&format!(".TP\n\\fB{name}\\fR\n")),
                    "{path}"
                );
                continue;
            }
        };
        assert!(page.contains(&shown), "{path}");
    }
    // Lines that begin with a dot or an apostrophe are commands, and ours are few.
    for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
        let command = line.split(' ').next().unwrap();
        assert!(
            [".TH", ".SH", ".PP", ".TP", ".br"].contains(&command),
            "{line}"
        );
    }
}
