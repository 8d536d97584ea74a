//! Every format of other tools, each with a sample as its users write it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use attache_client::EraChoice;
use attache_host::config::discover::{Discovered, Discovery, SOURCES, discover, read_text_of};
use attache_host::config::{Origin, Platform, UserEnvironment};
use attache_testkit::scratch::Scratch;

/// Each file of the made-up home folder.
pub(crate) const HOME: &[(&str, &str)] = &[
    (
        ".config/Claude/claude_desktop_config.json",
        r#"{
          "globalShortcut": "Ctrl+Space",
          "mcpServers": {
            "filesystem": {
              "command": "npx",
              "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me/notes"],
              "env": { "NODE_ENV": "production" }
            }
          }
        }"#,
    ),
    (
        ".claude.json",
        r#"{
          "numStartups": 42,
          "mcpServers": {
            "github": {
              "type": "http",
              "url": "https://api.example.com/mcp",
              "headers": { "Authorization": "Bearer ${GITHUB_TOKEN}" }
            },
            "old-events": { "type": "sse", "url": "${EVENTS_URL:-https://events.example.com/sse}" }
          },
          "projects": {
            "/home/me/shop": {
              "allowedTools": [],
              "mcpServers": { "shop-db": { "command": "pg-mcp", "args": [] } }
            },
            "/home/me/empty": { "mcpServers": {} }
          }
        }"#,
    ),
    (
        ".cursor/mcp.json",
        r#"{
          // Cursor allows comments.
          "mcpServers": {
            "linear": { "url": "https://mcp.example.com/linear", "headers": { "X-Key": "${env:LINEAR_KEY}" } },
            "local": { "command": "python", "args": ["-m", "server",], },
          },
        }"#,
    ),
    (
        ".config/Code/User/mcp.json",
        r#"{
          "inputs": [{ "type": "promptString", "id": "api-key", "password": true }],
          "servers": {
            "weather": {
              "type": "stdio",
              "command": "uvx",
              "args": ["weather"],
              "env": { "API_KEY": "${input:api-key}" },
              "envFile": "${workspaceFolder}/.env"
            },
            "docs": { "type": "http", "url": "https://docs.example.com/mcp" }
          }
        }"#,
    ),
    (
        ".copilot/mcp-config.json",
        r#"{ "mcpServers": { "playwright": { "type": "local", "command": "npx",
             "args": ["@playwright/mcp"], "tools": ["*"] } } }"#,
    ),
    (
        ".codex/config.toml",
        r#"
        model = "x"
        [mcp_servers.context]
        command = "npx"
        args = ["-y", "context-mcp"]
        env_vars = ["CONTEXT_TOKEN"]
        startup_timeout_sec = 20
        tool_timeout_sec = 30.5
        enabled_tools = ["search"]
        [mcp_servers.context.env]
        MODE = "fast"
        [mcp_servers.figma]
        url = "https://mcp.example.com/figma"
        bearer_token_env_var = "FIGMA_TOKEN"
        http_headers = { "X-Region" = "eu" }
        enabled = false
        "#,
    ),
    (
        ".gemini/settings.json",
        r#"{ "theme": "dark", "mcpServers": {
            "streaming": { "httpUrl": "http://localhost:3000/mcp", "timeout": 5000,
                           "includeTools": ["a", "b"], "excludeTools": ["c"], "trust": true },
            "events": { "url": "http://localhost:3001/sse" },
            "either": { "url": "http://localhost:3002/mcp" },
            "python": { "command": "python", "args": ["s.py"], "cwd": "./server" } } }"#,
    ),
    (
        ".config/zed/settings.json",
        r#"// Zed settings
        {
          "ui_font_size": 16, // px
          "context_servers": {
            "plain": { "source": "custom", "command": "mcp-plain", "args": ["--stdio"], "env": {} },
            "older": { "command": { "path": "mcp-older", "args": ["x"], "env": { "A": "1" } } },
            "remote": { "url": "https://zed.example.com/mcp", "headers": { "K": "v" } },
            "an-extension": { "settings": { "x": 1 } },
          },
        }"#,
    ),
    (
        ".config/goose/config.yaml",
        r#"
GOOSE_PROVIDER: openai
extensions:
  developer:
    type: builtin
    enabled: true
    name: developer
  fetch:
    type: stdio
    name: fetch
    cmd: uvx
    args:
      - mcp-server-fetch
    envs: { LEVEL: 3 }
    env_keys: [FETCH_TOKEN]
    timeout: 300
    enabled: true
    available_tools: []
  remote:
    type: streamable_http
    uri: https://goose.example.com/mcp
    headers: {}
    enabled: false
"#,
    ),
    (
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        r#"{ "mcpServers": { "cline-time": { "command": "uvx", "args": ["mcp-server-time"],
             "disabled": true, "autoApprove": ["now"], "timeout": 60 } } }"#,
    ),
    (
        ".codeium/windsurf/mcp_config.json",
        r#"{ "mcpServers": { "wind": { "serverUrl": "https://wind.example.com/mcp" } } }"#,
    ),
    (
        ".config/opencode/opencode.jsonc",
        r#"{ "$schema": "https://opencode.ai/config.json", /* c */ "mcp": {
            "oc-local": { "type": "local", "command": ["bun", "x", "oc-mcp"], "enabled": true,
                          "environment": { "TOKEN": "{env:OC_TOKEN}" } },
            "oc-remote": { "type": "remote", "url": "https://oc.example.com/mcp",
                           "headers": { "Authorization": "Bearer {env:OC_TOKEN}" } }, } }"#,
    ),
    (
        ".continue/config.yaml",
        r#"
name: my assistant
mcpServers:
  - name: SQLite DB
    command: uvx
    args: [mcp-server-sqlite, --db, "${{ secrets.DB_PATH }}"]
  - name: cloud
    type: sse
    url: https://continue.example.com/sse
    requestOptions:
      headers:
        X-Team: blue
"#,
    ),
    (
        ".lmstudio/mcp.json",
        r#"{ "mcpServers": { "hf": { "url": "https://hf.example.com/mcp" } } }"#,
    ),
    (
        ".kiro/settings/mcp.json",
        r#"{ "mcpServers": { "kiro-aws": { "command": "uvx", "args": ["aws-docs@latest"],
             "disabled": false, "autoApprove": [] } } }"#,
    ),
    (
        ".mcp-inspector/mcp.json",
        r#"{ "mcpServers": { "modern-one": { "type": "streamable-http",
             "url": "http://localhost:9000/mcp", "protocolEra": "modern" } } }"#,
    ),
    (
        ".spec-tui.toml",
        r#"[mcp]
        transport = "stdio"
        command = "claude"
        args = ["--mcp"]
        timeout_seconds = 90
        [ui]
        refresh_rate_ms = 50
        vim_navigation = true
        [git]
        specs_directory = "specs"
        main_branch = "main"
        [worktree]
        directory = ".worktrees"
        "#,
    ),
    // The project the user is in.
    (
        "work/app/.mcp.json",
        r#"{ "mcpServers": { "team": { "command": "./run", "args": ["${ROOT:-.}"] } } }"#,
    ),
    (
        "work/app/.cursor/mcp.json",
        r#"{ "mcpServers": { "cursor-team": { "command": "a" } } }"#,
    ),
    (
        "work/app/.vscode/mcp.json",
        r#"{ "servers": { "vs-team": { "command": "node", "args": ["${workspaceFolder}/s.js"] } } }"#,
    ),
    (
        "work/app/.codex/config.toml",
        "[mcp_servers.codex-team]\ncommand = 'b'\n",
    ),
    (
        "work/app/.gemini/settings.json",
        r#"{ "mcpServers": { "gemini-team": { "command": "c" } } }"#,
    ),
    (
        "work/app/opencode.json",
        r#"{ "mcp": { "opencode-team": { "type": "local", "command": ["d"] } } }"#,
    ),
];

/// Writes the home folder and looks at it from inside a project.
pub(crate) fn home_folder(scratch: &Scratch, files: &[(&str, &str)]) -> UserEnvironment {
    for (path, text) in files {
        let file = scratch.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let working = scratch.path().join("work/app/src");
    fs::create_dir_all(&working).unwrap();
    let variables = [("HOME".into(), scratch.path().as_os_str().to_owned())];
    UserEnvironment::new(variables, working).on(Platform::Linux)
}

fn found() -> (Scratch, Discovery) {
    let scratch = Scratch::new("discover").unwrap();
    let environment = home_folder(&scratch, HOME);
    let discovery = discover(&environment);
    (scratch, discovery)
}

fn server<'a>(discovery: &'a Discovery, name: &str) -> &'a Discovered {
    let mut servers = discovery.servers.iter();
    servers.find(|server| server.name == name).unwrap()
}

/// Must show: a home folder with all formats gives every server with the right transport.
#[test]
fn every_format_is_found_with_the_right_transport() {
    let (_scratch, discovery) = found();
    assert_eq!(discovery.broken, []);
    let mut shown: Vec<_> = discovery
        .servers
        .iter()
        .map(|server| {
            let kind = server.draft.transport.kind();
            (server.source, server.name.as_str(), kind, server.origin)
        })
        .collect();
    shown.sort_by_key(|(source, name, ..)| (*source, *name));
    let user = Origin::User;
    let project = Origin::Project;
    let mut expected = [
        ("claude-desktop", "filesystem", "stdio", user),
        ("claude-code", "github", "http", user),
        ("claude-code", "old-events", "sse", user),
        ("claude-code", "shop-db", "stdio", user),
        ("claude-code", "team", "stdio", project),
        ("cursor", "linear", "http", user),
        ("cursor", "local", "stdio", user),
        ("cursor", "cursor-team", "stdio", project),
        ("vscode", "weather", "stdio", user),
        ("vscode", "docs", "http", user),
        ("vscode", "vs-team", "stdio", project),
        ("copilot-cli", "playwright", "stdio", user),
        ("codex", "context", "stdio", user),
        ("codex", "figma", "http", user),
        ("codex", "codex-team", "stdio", project),
        ("gemini-cli", "streaming", "http", user),
        ("gemini-cli", "events", "sse", user),
        ("gemini-cli", "either", "http", user),
        ("gemini-cli", "python", "stdio", user),
        ("gemini-cli", "gemini-team", "stdio", project),
        ("zed", "plain", "stdio", user),
        ("zed", "older", "stdio", user),
        ("zed", "remote", "http", user),
        ("goose", "fetch", "stdio", user),
        ("goose", "remote", "http", user),
        ("cline", "cline-time", "stdio", user),
        ("windsurf", "wind", "http", user),
        ("opencode", "oc-local", "stdio", user),
        ("opencode", "oc-remote", "http", user),
        ("opencode", "opencode-team", "stdio", project),
        ("continue", "SQLite DB", "stdio", user),
        ("continue", "cloud", "sse", user),
        ("lm-studio", "hf", "http", user),
        ("kiro", "kiro-aws", "stdio", user),
        ("inspector", "modern-one", "http", user),
        ("spec-tui", "spec-tui", "stdio", user),
    ];
    expected.sort_by_key(|(source, name, ..)| (*source, *name));
    assert_eq!(shown, expected);
    let sources: std::collections::BTreeSet<_> = shown.iter().map(|(source, ..)| *source).collect();
    assert_eq!(
        sources.len(),
        SOURCES.len(),
        "every tool of the table is covered"
    );
}

#[test]
fn what_is_no_server_is_skipped_with_a_reason() {
    let (_scratch, discovery) = found();
    let skipped: Vec<_> = discovery
        .skipped
        .iter()
        .map(|skipped| {
            (
                skipped.source,
                skipped.name.as_str(),
                skipped.reason.as_str(),
            )
        })
        .collect();
    assert_eq!(
        skipped,
        [
            (
                "zed",
                "an-extension",
                "it is an extension of that tool, not a server with a command"
            ),
            ("goose", "developer", "it is part of that tool itself"),
        ]
    );
}

#[test]
fn commands_variables_and_settings_come_along() {
    let (scratch, discovery) = found();
    let stdio = |name: &str| {
        let transport = &server(&discovery, name).draft.transport;
        assert_eq!(transport.kind(), "stdio", "{name}");
        let values = transport.values();
        let env = values.iter().map(|(name, value)| format!("{name}={value}"));
        format!("{transport} [{}]", env.collect::<Vec<_>>().join(" "))
    };
    let script = scratch.path().join("work/app/s.js");
    let script = script.to_str().unwrap();
    let program = scratch.path().join("work/app/run");
    for (name, expected) in [
        ("weather", "uvx weather [API_KEY=${API_KEY}]"),
        (
            "context",
            "npx -y context-mcp [CONTEXT_TOKEN=${CONTEXT_TOKEN} MODE=fast]",
        ),
        ("older", "mcp-older x [A=1]"),
        (
            "fetch",
            "uvx mcp-server-fetch [FETCH_TOKEN=${FETCH_TOKEN} LEVEL=3]",
        ),
        ("oc-local", "bun x oc-mcp [TOKEN=${OC_TOKEN}]"),
        ("SQLite DB", "uvx mcp-server-sqlite --db ${DB_PATH} []"),
        // It is the project's program, wherever the file that takes it over lies (S21).
        ("team", &format!("{} ${{ROOT:-.}} []", program.display())),
        ("vs-team", &format!("node {script} []")),
    ] {
        assert_eq!(stdio(name), expected);
    }
    let headers = |name: &str| {
        let transport = &server(&discovery, name).draft.transport;
        assert!(transport.http().is_some(), "{name} has a URL");
        let values = transport.values();
        let headers = values
            .iter()
            .map(|(name, value)| format!("{name}: {value}"));
        headers.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(headers("github"), "Authorization: Bearer ${GITHUB_TOKEN}");
    assert_eq!(headers("linear"), "X-Key: ${LINEAR_KEY}");
    assert_eq!(
        headers("figma"),
        "Authorization: Bearer ${FIGMA_TOKEN}, X-Region: eu"
    );
    assert_eq!(headers("oc-remote"), "Authorization: Bearer ${OC_TOKEN}");
    assert_eq!(headers("cloud"), "X-Team: blue");

    let context = &server(&discovery, "context").draft;
    assert_eq!(context.start_timeout, Some(Duration::from_secs(20)));
    assert_eq!(context.call_timeout, Some(Duration::from_millis(30_500)));
    assert_eq!(context.include, ["search"]);
    let streaming = &server(&discovery, "streaming").draft;
    assert_eq!(streaming.call_timeout, Some(Duration::from_secs(5)));
    assert_eq!(streaming.include, ["a", "b"]);
    assert_eq!(streaming.exclude, ["c"]);
    assert_eq!(server(&discovery, "playwright").draft.include, [""; 0]);
    assert_eq!(
        server(&discovery, "modern-one").draft.era,
        Some(EraChoice::Modern)
    );
    for (name, enabled) in [("figma", false), ("cline-time", false), ("kiro-aws", true)] {
        assert_eq!(server(&discovery, name).draft.enabled, enabled, "{name}");
    }
    assert_eq!(
        server(&discovery, "shop-db").project.as_deref(),
        Some(Path::new("/home/me/shop"))
    );
    assert_eq!(
        server(&discovery, "SQLite DB").server_name.as_str(),
        "SQLite-DB"
    );
}

#[test]
fn what_could_not_be_carried_over_is_said() {
    let (_scratch, discovery) = found();
    for (name, expected) in [
        ("filesystem", &[][..]),
        (
            "weather",
            &[
                "\"input:api-key\" is read from the environment variable API_KEY now: set it",
                "\"envFile\" is not carried over",
            ],
        ),
        (
            "cline-time",
            &[
                "\"autoApprove\" is not carried over",
                "\"timeout\" is not carried over",
            ],
        ),
        ("streaming", &["\"trust\" is not carried over"]),
        (
            "fetch",
            &["FETCH_TOKEN is not taken from a keychain: set the variable"],
        ),
        ("kiro-aws", &[]),
        (
            "spec-tui",
            &[
                "\"git.main_branch\" is not carried over",
                "\"git.specs_directory\" is called specs_directory in [speckit] here",
                "\"ui.refresh_rate_ms\" is not needed: the screen is drawn when something changes",
                "\"ui.vim_navigation\" is not needed: h, j, k, l and the arrows both work",
                "\"worktree.directory\" is not carried over",
            ],
        ),
        ("playwright", &[]),
    ] {
        assert_eq!(server(&discovery, name).notes, expected, "{name}");
    }
}

#[test]
fn a_broken_file_spoils_itself_only() {
    let scratch = Scratch::new("discover").unwrap();
    let environment = home_folder(
        &scratch,
        &[
            (".cursor/mcp.json", "{\n  \"mcpServers\": {\n    oops\n"),
            (".codex/config.toml", "a = 1\n[mcp_servers\n"),
            (".continue/config.yaml", "a: 1\nb: [1\nc: 2\n"),
            (".gemini/settings.json", r#"{"mcpServers": []}"#),
            (".kiro/settings/mcp.json", ""),
            (".copilot/mcp-config.json", "[]"),
            (
                ".lmstudio/mcp.json",
                r#"{"mcpServers": {"a": {"command": 5}, "b": {"url": "https://x"}, "c": {}, "d": 7,
                   "e": {"command": " "}, "f": {"command": []}}}"#,
            ),
        ],
    );
    fs::write(scratch.path().join(".claude.json"), b"{\"a\": \"\xff\"}").unwrap();
    fs::create_dir_all(scratch.path().join(".codeium/windsurf/mcp_config.json")).unwrap();
    let discovery = discover(&environment);
    let broken: Vec<_> = discovery
        .broken
        .iter()
        .map(|broken| (broken.source, broken.line))
        .collect();
    assert_eq!(
        broken,
        [
            ("claude-code", None),
            ("cursor", Some(3)),
            ("copilot-cli", None),
            ("codex", Some(2)),
            ("gemini-cli", None),
            ("continue", Some(3)),
        ],
        "{:?}",
        discovery.broken
    );
    let servers: Vec<_> = discovery
        .servers
        .iter()
        .map(|server| &server.name)
        .collect();
    assert_eq!(servers, ["b"]);
    let skipped: Vec<_> = discovery
        .skipped
        .iter()
        .map(|skipped| (skipped.name.as_str(), skipped.reason.as_str()))
        .collect();
    assert_eq!(
        skipped,
        [
            ("a", "its command is neither a text nor a list"),
            ("c", "it has neither a command nor a URL"),
            ("e", "its command is empty"),
            ("f", "its command is empty"),
        ]
    );
}

#[test]
fn a_bare_map_and_both_top_keys_are_read() {
    let cursor = SOURCES
        .iter()
        .find(|source| source.name == "cursor")
        .unwrap();
    for text in [
        r#"{"mcpServers": {"a": {"command": "x"}}}"#,
        r#"{"servers": {"a": {"command": "x"}}}"#,
        r#"{"a": {"command": "x"}, "version": 3, "other": {"x": 1}}"#,
    ] {
        let discovery = read_text_of(cursor, Path::new("/f.json"), text);
        let names: Vec<_> = discovery
            .servers
            .iter()
            .map(|server| &server.name)
            .collect();
        assert_eq!(names, ["a"], "{text}");
    }
}
