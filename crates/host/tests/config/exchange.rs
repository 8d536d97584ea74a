//! Import and export.

use std::path::Path;

use attache_host::config::discover::{Discovered, SOURCES, discover, read_text_of};
use attache_host::config::{
    Config, ExportForm, ImportOutcome, OnClash, Origin, UserEnvironment, export, import,
};
use attache_testkit::scratch::Scratch;
use serde_json::json;

use crate::discovery::{HOME, home_folder};

fn discovered(text: &str) -> Vec<Discovered> {
    let source = SOURCES
        .iter()
        .find(|source| source.name == "cursor")
        .unwrap();
    read_text_of(source, Path::new("/home/me/.cursor/mcp.json"), text).servers
}

const MINE: &str = r#"# My servers. Do not sort!
[policy]
read_only = "allow" # trust them

[servers.zeta]   # the last letter first
command = "zeta" # inline
args = [
  "one", # why
]

# The notes.
[servers.notes]
command = "notes"
"#;

#[test]
fn import_keeps_comments_and_order() {
    let servers = discovered(
        r#"{"mcpServers": {"fetch": {"command": "uvx", "args": ["mcp-server-fetch"],
            "env": {"KEY": "${env:FETCH_KEY}"}}, "web": {"type": "sse", "url": "https://x/sse"}}}"#,
    );
    let imported = import(MINE, &servers, OnClash::LeaveOut).unwrap();
    let expected = format!(
        "{MINE}\n# From cursor: /home/me/.cursor/mcp.json\n[servers.fetch]\ncommand = \"uvx\"\n\
         args = [\"mcp-server-fetch\"]\nenv = {{ KEY = \"${{FETCH_KEY}}\" }}\n\n\
         # From cursor: /home/me/.cursor/mcp.json\n[servers.web]\nurl = \"https://x/sse\"\n\
         transport = \"sse\"\n"
    );
    assert_eq!(imported.text, expected);
    let again = import(&imported.text, &servers, OnClash::Rename).unwrap();
    assert_eq!(again.text, imported.text, "a second import changes nothing");
    assert!(matches!(again.outcomes[0], ImportOutcome::Present(_)));
}

/// Seeds row 53: what stands in the file of seed 003's tool speaks as that seed has it, in both
/// transports, once it is imported.
#[test]
fn spec_tui_is_imported_with_its_manners() {
    let source = SOURCES.iter().find(|it| it.name == "spec-tui").unwrap();
    let file = Path::new("/home/me/.spec-tui.toml");
    let read = |text: &str| read_text_of(source, file, text).servers;
    let stdio = read("[mcp]\ncommand = 'claude'\nargs = ['--mcp']\ntimeout_seconds = 90\n");
    let imported = import("", &stdio, OnClash::LeaveOut).unwrap();
    let expected = "# From spec-tui: /home/me/.spec-tui.toml\n[servers.spec-tui]\ncommand = \
                    \"claude\"\nargs = [\"--mcp\"]\nprofile = \"workflow\"\nclient = { name = \
                    \"spec-tui\", version = \"0.1.0\" }\ntimeouts = { call = 90000 }\n";
    assert_eq!(imported.text.trim_start(), expected);
    let again = import(&imported.text, &stdio, OnClash::Rename).unwrap();
    assert_eq!(again.text, imported.text, "a second import changes nothing");

    let config = crate::read(&imported.text);
    assert_eq!(config.problems, []);
    let settings = config.servers["spec-tui"].settings();
    assert_eq!(settings.identity.name, "spec-tui");
    assert_eq!(settings.identity.version, "0.1.0");
    assert_eq!(settings.quirks, attache_client::Quirks::lsp());
    assert_eq!(settings.timeouts.call.as_secs(), 90);

    let http = read("[mcp]\ntransport = 'http'\nendpoint = 'http://localhost:8080/mcp'\n");
    let imported = import("", &http, OnClash::LeaveOut).unwrap();
    let server = &crate::read(&imported.text).servers["spec-tui"];
    let http = server.server.transport().http().unwrap();
    assert_eq!(http.url, "http://localhost:8080/mcp");
    assert_eq!(server.settings().identity.name, "spec-tui");
}

#[test]
fn a_taken_name_is_never_overwritten_silently() {
    let servers = discovered(r#"{"mcpServers": {"notes": {"command": "other"}}}"#);
    let left = import(MINE, &servers, OnClash::LeaveOut).unwrap();
    assert_eq!(left.text, MINE);
    assert!(matches!(left.outcomes[0], ImportOutcome::Taken(_)));

    let renamed = import(MINE, &servers, OnClash::Rename).unwrap();
    let ImportOutcome::Added(name) = &renamed.outcomes[0] else {
        panic!("{:?}", renamed.outcomes);
    };
    assert_eq!(name.as_str(), "notes-2");
    assert!(renamed.text.starts_with(MINE) && renamed.text.contains("[servers.notes-2]"));
    let again = import(&renamed.text, &servers, OnClash::Rename).unwrap();
    assert_eq!(again.text, renamed.text);

    let replaced = import(MINE, &servers, OnClash::Replace).unwrap();
    assert!(matches!(replaced.outcomes[0], ImportOutcome::Replaced(_)));
    assert!(replaced.text.contains("command = \"other\""));
    assert!(!replaced.text.contains("command = \"notes\""));
    assert!(replaced.text.contains("# why"));
}

#[test]
fn a_server_that_cannot_be_read_keeps_its_name() {
    let servers = discovered(r#"{"mcpServers": {"notes": {"command": "other"}}}"#);
    let text = "[servers.notes]\ncomand = 'x'\n";
    let imported = import(text, &servers, OnClash::LeaveOut).unwrap();
    assert_eq!(imported.text, text);
    assert!(import("[servers", &servers, OnClash::LeaveOut).is_err());
    let error = import("servers = 5", &servers, OnClash::LeaveOut).unwrap_err();
    assert!(error.to_string().contains("not a table"));
}

/// Whatever was discovered can be imported, is then read without complaint, and gives the same
/// transports.
#[test]
fn everything_discovered_can_be_imported() {
    let scratch = Scratch::new("import").unwrap();
    let discovery = discover(&home_folder(&scratch, HOME));
    let imported = import("", &discovery.servers, OnClash::Rename).unwrap();
    let variables = [
        "HOME",
        "API_KEY",
        "CONTEXT_TOKEN",
        "FIGMA_TOKEN",
        "FETCH_TOKEN",
        "GITHUB_TOKEN",
        "LINEAR_KEY",
        "OC_TOKEN",
        "DB_PATH",
    ];
    let variables = variables.map(|name| (name.into(), "/value".into()));
    let environment = UserEnvironment::new(variables, "/");
    let file = Path::new("/home/me/attache.toml");
    let config = Config::read(&imported.text, file, Origin::User, &environment);
    assert_eq!(config.problems, [], "\n{}", imported.text);
    assert_eq!(config.servers.len(), discovery.servers.len());
    for outcome in &imported.outcomes {
        assert!(matches!(outcome, ImportOutcome::Added(_)), "{outcome:?}");
    }
    let again = import(&imported.text, &discovery.servers, OnClash::Rename).unwrap();
    assert_eq!(again.text, imported.text);
}

#[test]
fn export_writes_references_and_no_values() {
    let text = r#"
        [servers.a]
        command = "x"
        args = ["${ARG:-1}"]
        env = { KEY = "${SECRET}" }
        cwd = "/w"
        [servers.b]
        url = "https://b/mcp"
        headers = { Authorization = "Bearer ${TOKEN}" }
        [servers.c]
        url = "https://c/sse"
        transport = "sse"
        [servers.off]
        command = "y"
        enabled = false
        [mcp]
        transport = "http"
        endpoint = "http://localhost:8080/mcp"
    "#;
    assert_eq!(
        export(text, ExportForm::McpServers),
        json!({"mcpServers": {
            "a": {"type": "stdio", "command": "x", "args": ["${ARG:-1}"],
                  "env": {"KEY": "${SECRET}"}, "cwd": "/w"},
            "b": {"type": "http", "url": "https://b/mcp",
                  "headers": {"Authorization": "Bearer ${TOKEN}"}},
            "c": {"type": "sse", "url": "https://c/sse"},
            "default": {"type": "http", "url": "http://localhost:8080/mcp"},
        }})
    );
    let for_vs_code = export(text, ExportForm::VsCode);
    assert_eq!(for_vs_code["servers"]["a"]["env"]["KEY"], "${env:SECRET}");
}
