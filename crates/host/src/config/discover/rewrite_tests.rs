use super::super::SOURCES;
use super::*;

fn source(name: &str) -> &'static ToolSource {
    SOURCES.iter().find(|source| source.name == name).unwrap()
}

fn words() -> Vec<String> {
    ["/opt/attache", "tap", "--"].map(str::to_owned).to_vec()
}

#[track_caller]
fn check(tool: &str, text: &str, wrapped: &str) {
    let found = wrap_command(source(tool), text, "time", &words()).unwrap();
    assert_eq!(found, wrapped);
    let again = wrap_command(source(tool), &found, "time", &words());
    assert_eq!(again, Err(RewriteError::AlreadyWrapped));
    let (back, removed) = unwrap_command(source(tool), &found, "time").unwrap();
    assert_eq!(removed, words());
    // An empty list where there was none is all that may be left.
    let back = back
        .replace(", \"args\": []", "")
        .replace("args = []\n", "");
    assert_eq!(back, text);
}

#[test]
fn only_the_words_of_the_command_change() {
    check(
        "cursor",
        "{ // mine\n \"mcpServers\": {\n  \"time\": {\"command\": \"uvx\", /* why */ \"args\": [\"a\", // x\n \"b\"],},\n } }",
        "{ // mine\n \"mcpServers\": {\n  \"time\": {\"command\": \"/opt/attache\", /* why */ \"args\": [\"tap\", \"--\", \"uvx\", \"a\", // x\n \"b\"],},\n } }",
    );
    check(
        "claude-desktop",
        "\u{feff}{\"mcpServers\":{\"other\":{\"command\":\"x\"},\"time\":{\"command\":\"u\\u0076x\",\"env\":{\"A\":\"{\\\"\"}}}}",
        "\u{feff}{\"mcpServers\":{\"other\":{\"command\":\"x\"},\"time\":{\"command\":\"/opt/attache\", \"args\": [\"tap\", \"--\", \"u\\u0076x\"],\"env\":{\"A\":\"{\\\"\"}}}}",
    );
    check(
        "opencode",
        r#"{"mcp":{"time":{"type":"local","command":["uvx","t"]}}}"#,
        r#"{"mcp":{"time":{"type":"local","command":["/opt/attache", "tap", "--", "uvx","t"]}}}"#,
    );
    check(
        "zed",
        r#"{"context_servers":{"time":{"command":{"path":"uvx","args":["t"]}}}}"#,
        r#"{"context_servers":{"time":{"command":{"path":"/opt/attache","args":["tap", "--", "uvx", "t"]}}}}"#,
    );
    check(
        "claude-code",
        r#"{"projects":{"/p":{"mcpServers":{"time":{"command":"uvx","args":[]}}}}}"#,
        r#"{"projects":{"/p":{"mcpServers":{"time":{"command":"/opt/attache","args":["tap", "--", "uvx"]}}}}}"#,
    );
    check(
        "codex",
        "# mine\n[mcp_servers.time]\ncommand = \"uvx\"\nargs = [\"a\"]\n",
        "# mine\n[mcp_servers.time]\ncommand = \"/opt/attache\"\nargs = [\"tap\", \"--\", \"uvx\", \"a\"]\n",
    );
}

#[test]
fn what_cannot_be_changed_is_refused_with_the_reason() {
    for (tool, text, expected) in [
        ("cursor", "{", None),
        ("cursor", "{}", Some(RewriteError::NotFound)),
        (
            "cursor",
            r#"{"mcpServers":{"time":{"url":"http://x"}}}"#,
            Some(RewriteError::Remote),
        ),
        (
            "cursor",
            r#"{"mcpServers":{"time":{"command":7}}}"#,
            Some(RewriteError::Odd),
        ),
        (
            "cursor",
            r#"{"mcpServers":{"time":{"command":"x","args":"y"}}}"#,
            Some(RewriteError::Odd),
        ),
        (
            "cursor",
            r#"{"mcpServers":{"time":{"command":"x","args":[1]}}}"#,
            Some(RewriteError::Odd),
        ),
        ("goose", "extensions: {}", Some(RewriteError::Yaml)),
        (
            "claude-code",
            r#"{"projects":{"/p":{"mcpServers":{"time":{}}},"/q":{"mcpServers":{"time":{}}}}}"#,
            Some(RewriteError::Ambiguous),
        ),
    ] {
        let found = wrap_command(source(tool), text, "time", &words()).unwrap_err();
        match expected {
            Some(expected) => assert_eq!(found, expected, "{text}"),
            None => assert!(matches!(found, RewriteError::Broken(_)), "{found:?}"),
        }
    }
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let found = wrap_command(source("cursor"), &deep, "time", &words());
    assert!(matches!(found, Err(RewriteError::Broken(_))), "{found:?}");
    let plain = r#"{"mcpServers":{"time":{"command":"uvx"}}}"#;
    let found = unwrap_command(source("cursor"), plain, "time");
    assert_eq!(found.unwrap_err(), RewriteError::NotWrapped);
}

#[cfg(unix)]
#[test]
fn a_file_that_was_changed_meanwhile_is_left_alone_and_a_link_stays_one() {
    let scratch = attache_testkit::scratch::Scratch::new("rewrite").unwrap();
    let real = scratch.write("real.json", "one").unwrap();
    let link = scratch.path().join("link.json");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    assert!(replace_unless_changed(&link, "other", "two").is_err());
    assert_eq!(fs::read_to_string(&real).unwrap(), "one");
    let backup = back_up(&link, "a/b").unwrap();
    assert_eq!(backup.file_name().unwrap(), "real.json.before-tap-a_b");
    replace_unless_changed(&link, "one", "two").unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "two");
    assert_eq!(fs::read_to_string(&backup).unwrap(), "one");
}
