//! The reference and the reader know the same: every key is read, with its type, default and example.

use attache_host::config::reference::{self, ANY_NAME, Entry, Kind, Only, entries, find, schema};
use serde_json::{Value, json};

use crate::read;

/// The way to the table of a key in a file, and the lines with which that file is valid.
fn context(entry: &Entry) -> (String, &'static str) {
    let (command, url) = (
        "[servers.a]\ncommand = 'x'\n",
        "[servers.a]\nurl = 'https://h/'\n",
    );
    let table = entry.table().replace(ANY_NAME, "a");
    let only = |path: &str| find(path).first().and_then(|entry| entry.key.only);
    let only = entry.key.only.or_else(|| only(entry.table()));
    let server = match (table.as_str(), entry.key.name, only) {
        ("servers.a", "command", _) => "[servers.a]\n",
        ("servers.a", "url", _) => "[servers.a]\n",
        ("servers.a", "transport", _) | (_, _, Some(Only::Url)) => url,
        ("mcp", _, _) => "[mcp]\n",
        ("", "servers", _) => "",
        // A client has a name, and needs two credentials to log in by itself.
        ("client", "version", _) => "[client]\nname = 'x'\n",
        ("servers.a.client", "version", _) => {
            "servers.a.command = 'x'\n[servers.a.client]\nname = 'x'\n"
        }
        _ => command,
    };
    let server = match entry.key.name {
        "grant" => {
            "servers.a.url = 'https://h/'\n[servers.a.auth]\nclient_id = 'x'\nclient_secret = 'x'\n"
        }
        _ => server,
    };
    (table, server)
}

/// A file with one key set, after what it needs.
fn file_with(entry: &Entry, value: &str) -> String {
    let (table, needed) = context(entry);
    let line = format!("{} = {value}\n", entry.key.name);
    match table.as_str() {
        "" => format!("{line}{needed}"),
        table if needed.contains(&format!("[{table}]\n")) => format!("{needed}{line}"),
        table => format!("{needed}[{table}]\n{line}"),
    }
}

/// What comes of a file, as far as keys decide about it.
#[track_caller]
fn outcome(text: &str) -> String {
    let config = read(text);
    assert_eq!(config.problems, [], "for:\n{text}");
    let mut shown = format!("{config:?}");
    // Only what a server is made of counts, not the line it was written on.
    while let Some(at) = shown.find("line: Some(") {
        let end = at + shown[at..].find(')').unwrap();
        shown.replace_range(at..=end, "");
    }
    shown
}

#[test]
fn every_key_is_read_and_changes_what_is_read() {
    let mut keys = 0;
    for entry in entries() {
        let Some(example) = entry.key.example else {
            let is_table = entry.key.kind.table().is_some() || entry.path == "servers";
            assert!(is_table, "{} has no example", entry.path);
            continue;
        };
        keys += 1;
        let with = outcome(&file_with(&entry, example));
        let (_, needed) = context(&entry);
        let without = read(needed);
        let without = match without.problems.is_empty() {
            true => outcome(needed),
            // The key is what makes the server one.
            false => String::new(),
        };
        assert_ne!(with, without, "{} = {example} has no effect", entry.path);
    }
    assert!(keys > 70, "{keys}");
}

#[test]
fn the_defaults_of_the_reference_are_those_of_the_reader() {
    let mut defaults = 0;
    for entry in entries() {
        if let Some(default) = entry.key.default {
            defaults += 1;
            let (_, needed) = context(&entry);
            let with = outcome(&file_with(&entry, default));
            assert_eq!(with, outcome(needed), "{} = {default}", entry.path);
        }
    }
    assert!(defaults > 40, "{defaults}");
}

#[test]
fn every_word_of_a_choice_is_read() {
    for entry in entries() {
        for word in entry.key.kind.words().unwrap_or_default() {
            let value = match entry.key.kind {
                Kind::Choices(_) => format!("['{word}']"),
                _ => format!("'{word}'"),
            };
            let text = match (entry.key.name, *word) {
                ("transport", "stdio") => {
                    "[servers.a]\ncommand = 'x'\ntransport = 'stdio'\n".to_owned()
                }
                _ => file_with(&entry, &value),
            };
            outcome(&text);
        }
    }
}

#[test]
fn a_value_of_the_wrong_type_is_told_the_type_of_the_reference() {
    for entry in entries() {
        let text = file_with(&entry, "1979-05-27");
        let config = read(&text);
        let expected = format!("expected {}, found a date", entry.key.kind);
        let key = entry.path.replace(ANY_NAME, "a");
        let told = |problem: &attache_host::config::Problem| {
            problem.key == key && problem.message == expected
        };
        assert!(
            config.problems.iter().any(told),
            "{text}{:?}",
            config.problems
        );
    }
}

#[test]
fn a_key_that_is_not_in_the_reference_is_unknown_in_every_table() {
    for entry in entries()
        .iter()
        .filter(|entry| entry.key.kind.table().is_some())
    {
        let config = read(&file_with(entry, "{ nonsense = 1 }"));
        let key = format!("{}.nonsense", entry.path.replace(ANY_NAME, "a"));
        let told = config.problems.iter().find(|problem| problem.key == key);
        let told = told.map(|problem| problem.message.as_str());
        assert_eq!(told, Some("unknown key"), "{:?}", config.problems);
    }
}

/// One file of all examples: a server with a command has those that go with it, another the rest.
fn file_of_all_examples() -> String {
    let mut text = String::new();
    for (name, without, address) in [
        ("program", Only::Url, "url"),
        ("address", Only::Command, "command"),
    ] {
        let mut table = String::new();
        for entry in entries() {
            let Some(example) = entry.key.example else {
                continue;
            };
            let Some(path) = entry.path.strip_prefix("servers.NAME.") else {
                continue;
            };
            let first = path.split('.').next().unwrap();
            let owner = &find(&format!("servers.NAME.{first}"))[0];
            let is_word_of_table = matches!(entry.key.kind, Kind::ChoiceOrTable(..));
            let is_elsewhere = owner.key.only == Some(without) || first == address;
            let is_transport = first == "transport" && name == "program";
            if is_word_of_table || is_elsewhere || is_transport {
                continue;
            }
            table.push_str(&format!("servers.{name}.{path} = {example}\n"));
        }
        text.push_str(&table);
    }
    for entry in entries() {
        if let (Some(example), false) = (entry.key.example, entry.path.starts_with("servers.")) {
            text.push_str(&format!("{} = {example}\n", entry.path));
        }
    }
    text
}

#[test]
fn a_file_of_all_examples_is_read_without_a_problem() {
    let config = read(&file_of_all_examples());
    assert_eq!(config.problems, []);
    let names: Vec<&str> = config.servers.keys().map(AsRef::as_ref).collect();
    assert_eq!(names, ["address", "default", "program"]);
}

#[test]
fn the_schema_accepts_what_the_reader_accepts() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let accepts = |text: &str| {
        let value = format!("{{ {} }}", text.trim().replace('\n', ", "));
        let document = reference::json(&value);
        assert_ne!(document, Value::Null, "{value}");
        validator.is_valid(&document)
    };
    assert!(accepts(&file_of_all_examples()));
    for (text, is_valid) in [
        ("servers.a.command = 'x'", true),
        ("servers.a.env = { PORT = 80, DEBUG = true }", true),
        (
            "servers.a.timeouts = { call = 500, read = '1.5 min' }",
            true,
        ),
        ("servers.a.restart = 'never'", true),
        ("servers.a.restart = { starts = 3 }", true),
        ("mcp = { endpoint = 'http://x/', era = 'legacy' }", true),
        ("servers.a.endpoint = 'http://x/'", false),
        ("servers.a.comand = 'x'", false),
        ("servers.'a b'.command = 'x'", false),
        ("servers.a.timeouts.call = '2 weeks'", false),
        ("servers.a.restart = 'often'", false),
        ("servers.a.restart = { starts = 0 }", false),
        ("servers.a.quirks.error_aliases = { x = 'timeout' }", false),
        ("server.a.command = 'x'", false),
        ("cache.bytes = -1", false),
    ] {
        assert_eq!(accepts(text), is_valid, "{text}");
    }
    let call = &schema["properties"]["servers"]["additionalProperties"]["properties"]["timeouts"]["properties"]
        ["call"];
    assert_eq!(call["default"], json!("60s"));
    assert_eq!(call["examples"], json!(["5m"]));
    assert!(
        call["description"]
            .as_str()
            .unwrap()
            .starts_with("For a tool call")
    );
}

#[test]
fn keys_are_found_by_path_by_ending_and_under_a_server() {
    #[track_caller]
    fn check(asked: &str, expected: &[&str]) {
        let found: Vec<String> = find(asked).into_iter().map(|entry| entry.path).collect();
        assert_eq!(found, expected, "{asked}");
    }
    check("cache.bytes", &["cache.bytes"]);
    check(
        "servers.NAME.timeouts.call",
        &["servers.NAME.timeouts.call"],
    );
    check(
        "servers.notes.timeouts.call",
        &["servers.NAME.timeouts.call"],
    );
    check("mcp.timeouts.call", &["servers.NAME.timeouts.call"]);
    check("mcp.endpoint", &["mcp.endpoint"]);
    check("timeouts.call", &["servers.NAME.timeouts.call"]);
    check("call", &["servers.NAME.timeouts.call"]);
    check("startup", &["startup", "startup.concurrent"]);
    check(
        "version",
        &["servers.NAME.client.version", "client.version"],
    );
    check("all", &[]);
    check("", &[]);
    assert_eq!(find("servers.notes").len(), find("servers").len());
    assert_eq!(
        reference::nearest_path("servers.notes.timeouts.cal").as_deref(),
        Some("call")
    );
    assert_eq!(
        reference::nearest_path("startup.concurent").as_deref(),
        Some("startup.concurrent")
    );
    assert_eq!(reference::nearest_path("zzzzzzzz"), None);
}

#[test]
fn sentences_are_sentences() {
    for entry in entries() {
        let summary = entry.key.summary;
        let first = summary.chars().next().unwrap();
        assert!(
            first.is_uppercase() && summary.ends_with('.'),
            "{}: {summary}",
            entry.path
        );
        assert!(
            summary.len() <= 120 && !summary.contains('\n'),
            "{}: {summary}",
            entry.path
        );
        // Where no value is the default, the sentence says what happens without one.
        let says = [
            "without it",
            "needs it",
            "in place of",
            "if it has one",
            "another name",
        ];
        let is_told = says.iter().any(|words| summary.contains(words));
        let is_table =
            entry.key.kind.table().is_some() || matches!(entry.key.kind, Kind::ByName(..));
        let is_told = is_told || is_table || entry.key.default.is_some();
        let is_extra = ["command", "ca_file"].contains(&entry.key.name);
        assert!(is_told || is_extra, "{}: {summary}", entry.path);
    }
}
