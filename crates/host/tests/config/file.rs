//! What the file says when nothing is wrong with it.

use std::path::Path;
use std::time::Duration;

use attache_client::protocol::{LogLevel, Revision};
use attache_client::{
    CancelForm, EraChoice, ErrorAlias, HttpServer, ProgressTokenForm, Quirks, Server, ShutdownForm,
    Timeouts, UndeclaredRequests,
};
use attache_host::config::{
    CacheUse, CallRetry, Config, Decision, Dialect, Grant, HttpFlavor, Origin, ReadOnlyHint,
    RestartWhen, Retry, RetryOn, Secret, ServerConfig, Start,
};

use crate::{environment, read};

#[track_caller]
fn only(text: &str) -> ServerConfig {
    let config = read(text);
    assert_eq!(config.problems, [], "for:\n{text}");
    let mut servers = config.servers.into_values();
    let server = servers.next().unwrap();
    assert_eq!(servers.next(), None);
    server
}

#[test]
fn a_short_server_has_all_defaults() {
    let server = only("[servers.notes]\ncommand = 'notes'\n");
    let expected = ServerConfig::new(
        "notes".parse().unwrap(),
        Server::stdio("notes", [""; 0]),
        server.source.clone(),
    );
    assert_eq!(server, expected);
    assert_eq!(server.source.line, Some(1));
    assert_eq!(
        server.source.file.as_deref(),
        Some(Path::new("/cfg/attache.toml"))
    );
}

#[test]
fn a_long_server_says_everything() {
    let server = only(
        r#"
        [servers.notes]
        command = "${BIN:-notes}"
        args = ["--root", "${HOME}/notes"]
        env = { API_KEY = "${TOKEN}", PORT = 80, DEBUG = true }
        cwd = "work"
        era = "legacy"
        protocol = "2025-06-18"
        dialect = "custom"
        start = "eager"
        enabled = false
        log_level = "warning"
        capabilities = "strict"

        [servers.notes.quirks]
        cancel = "both"
        shutdown = "lsp"
        send_initialized = false
        omit_empty_params = false
        missing_input_schema = "reject"
        error_aliases = { "-32000" = "resource_not_found", "-32001" = "timeout" }
        progress_token = "tool"
        call_retry = "never"
        invalidate_after = ["old"]

        [servers.notes.timeouts]
        initialize = "2s"
        request = 250
        read = 500
        call = "1.5 min"
        maximum = "1h"

        [servers.notes.retry]
        attempts = 5
        first = "10ms"
        factor = 1.5
        ceiling = "2s"
        on = ["timeout", "transient"]

        [servers.notes.client]
        name = "project_chat"
        version = "1.0"

        [servers.notes.restart]
        when = "never"
        starts = 3
        within = "10s"
        backoff_first = 50
        backoff_longest = "1s"
        healthy_after = "5s"

        [servers.notes.cache]
        use = "off"
        ttl = "5m"
        list_ttl = "10s"
        invalidate_after = ["sync_*"]

        [servers.notes.policy]
        default = "deny"
        allow = ["get_*"]
        ask = ["put"]
        deny = ["delete_*"]
        read_only = "allow"

        [servers.notes.tools]
        include = ["get_*", "put"]
        exclude = ["get_secret"]
        "#,
    );
    assert_eq!(
        server.server.transport(),
        Server::stdio("notes", ["--root", "/home/me/notes"])
            .env("API_KEY", "s3cret-token")
            .env("DEBUG", "true")
            .env("PORT", "80")
            .current_dir("/cfg/work")
            .transport()
    );
    assert_eq!(
        (server.server.settings.era, server.start),
        (EraChoice::Legacy, Start::Eager)
    );
    assert_eq!(server.server.settings.protocol, Some(Revision::V2025_06_18));
    assert_eq!((server.dialect, server.enabled), (Dialect::Custom, false));
    assert_eq!(server.server.settings.quirks.cancel, CancelForm::Both);
    assert_eq!(server.server.settings.quirks.shutdown, ShutdownForm::Lsp);
    assert_eq!(
        server.server.settings.quirks.error_aliases,
        [
            (-32000, ErrorAlias::ResourceNotFound),
            (-32001, ErrorAlias::TimedOut)
        ]
        .into()
    );
    assert_eq!(
        server.server.settings.quirks.progress_token,
        ProgressTokenForm::Tool
    );
    assert_eq!(server.server.settings.log_level, Some(LogLevel::Warning));
    assert_eq!(
        server.server.settings.capabilities,
        UndeclaredRequests::Refuse
    );
    assert_eq!(
        server.retry,
        Retry {
            attempts: 5,
            first: Duration::from_millis(10),
            factor: 1.5,
            ceiling: Duration::from_secs(2),
            on: vec![RetryOn::Timeout, RetryOn::Transient],
        }
    );
    let client = server.settings().identity;
    assert_eq!(
        (client.name.as_str(), client.version.as_str()),
        ("project_chat", "1.0")
    );
    assert_eq!(server.cache.list_ttl, Some(Duration::from_secs(10)));
    assert_eq!(server.call_retry, CallRetry::Never);
    assert_eq!(
        server.server.settings.timeouts.start,
        Duration::from_secs(2)
    );
    assert_eq!(
        server.server.settings.timeouts.request,
        Duration::from_millis(250)
    );
    assert_eq!(
        server.server.settings.timeouts.call,
        Duration::from_secs(90)
    );
    assert_eq!(
        server.server.settings.timeouts.maximum,
        Duration::from_secs(3600)
    );
    assert_eq!(
        server.server.settings.timeouts.probe,
        Timeouts::default().probe
    );
    assert_eq!(server.restart.when, RestartWhen::Never);
    assert_eq!(server.restart.starts, 3);
    assert_eq!(server.restart.backoff_longest, Duration::from_secs(1));
    assert_eq!(server.cache.usage, CacheUse::Off);
    assert_eq!(server.cache.ttl, Some(Duration::from_secs(300)));
    assert_eq!(server.cache.invalidate_after, ["sync_*".into()]);
    assert_eq!(server.policy.otherwise, Some(Decision::Deny));
    assert_eq!(server.policy.read_only, Some(ReadOnlyHint::Believe));
    assert!(server.tool_filter.passes("get_note") && !server.tool_filter.passes("get_secret"));
    assert!(
        !format!("{server:?}").contains("s3cret"),
        "secrets are not shown"
    );
}

#[test]
fn a_server_behind_a_url_says_how_to_log_in() {
    let server = only(
        r#"
        [servers.web]
        url = "https://example.org/mcp"
        headers = { Authorization = "Bearer ${TOKEN}" }
        ca_file = "~/ca.pem"
        policy = "allow"
        restart = "never"
        cache = "off"
        [servers.web.auth]
        grant = "client_credentials"
        client_id = "me"
        client_secret = "${TOKEN}"
        scopes = ["read", "write"]
        redirect_port = 8123
        issuer = "https://login.example.org"
        "#,
    );
    let HttpServer {
        url,
        flavor,
        headers,
        ca_file,
        ..
    } = server.server.transport().http().expect("it has a URL");
    let auth = &server.auth;
    assert_eq!(url, "https://example.org/mcp");
    assert_eq!(*flavor, HttpFlavor::Detect);
    assert_eq!(headers["Authorization"].expose(), "Bearer s3cret-token");
    assert_eq!(ca_file.as_deref(), Some(Path::new("/home/me/ca.pem")));
    assert_eq!(auth.grant, Grant::ClientCredentials);
    assert_eq!(auth.client_secret, Some(Secret::new("s3cret-token")));
    assert_eq!(auth.redirect_port, Some(8123));
    assert_eq!(server.policy.otherwise, Some(Decision::Allow));
    assert_eq!(server.restart.when, RestartWhen::Never);
    assert_eq!(server.cache.usage, CacheUse::Off);
}

/// Seeds row 53: both forms of seed 003, word for word.
#[test]
fn the_single_mcp_table_is_the_server_default() {
    let stdio = only(
        "[mcp]\ntransport = \"stdio\"\ncommand = \"claude\"  # Command to spawn MCP server\nargs \
         = [\"--mcp\"]    # Arguments for MCP mode\n",
    );
    assert_eq!(stdio.name.as_str(), "default");
    assert_eq!(stdio.server.transport().words(), ["claude", "--mcp"]);
    let http = only("[mcp]\ntransport = \"http\"\nendpoint = \"http://localhost:8080/mcp\"\n");
    let HttpServer { url, flavor, .. } = http.server.transport().http().expect("http");
    assert_eq!(url, "http://localhost:8080/mcp");
    assert_eq!(*flavor, HttpFlavor::Streamable);
}

/// Seeds rows 9, 25, 35, 37, 38.
#[test]
fn the_interactive_profile_has_the_numbers_of_its_seed() {
    let server = only("[servers.a]\ncommand = 'x'\nprofile = 'interactive'\n");
    assert_eq!(server.server.settings.protocol, Some(Revision::V2024_11_05));
    let milliseconds = |time: Duration| time.as_millis();
    assert_eq!(milliseconds(server.server.settings.timeouts.start), 2000);
    assert_eq!(milliseconds(server.server.settings.timeouts.request), 500);
    assert_eq!(milliseconds(server.server.settings.timeouts.read), 500);
    assert_eq!(milliseconds(server.server.settings.timeouts.call), 1000);
    assert_eq!(
        milliseconds(server.server.settings.timeouts.maximum),
        60_000
    );
    assert_eq!(
        server.retry.on,
        [RetryOn::Lost, RetryOn::Timeout, RetryOn::Transient]
    );
    assert_eq!(
        server.server.settings.quirks.error_aliases,
        [(-32000, ErrorAlias::ResourceNotFound)].into()
    );
    assert_eq!(server.cache.invalidate_after, ["sync_repository".into()]);
    assert_eq!(server.cache.ttl, Some(Duration::from_secs(300)));
    assert_eq!(server.cache.list_ttl, Some(Duration::from_secs(60)));
}

/// Seeds rows 1, 2, 28, 35.
#[test]
fn the_workflow_profile_speaks_lsp_and_waits_a_minute() {
    let server = only("[servers.a]\ncommand = 'x'\nprofile = 'workflow'\n");
    assert_eq!(server.server.settings.protocol, Some(Revision::V2025_11_25));
    assert_eq!(
        (server.dialect, &server.server.settings.quirks),
        (Dialect::Lsp, &Quirks::lsp())
    );
    let minute = Duration::from_secs(60);
    let timeouts = server.server.settings.timeouts;
    assert_eq!(
        [
            timeouts.start,
            timeouts.request,
            timeouts.read,
            timeouts.call
        ],
        [minute; 4]
    );
}

#[test]
fn written_keys_win_over_the_profile() {
    let server = only(
        "[servers.a]\ncommand = 'x'\nprofile = 'interactive'\nprotocol = 'newest'\ntimeouts = { \
         call = '5s' }\ncache = { invalidate_after = [] }\n",
    );
    assert_eq!(server.server.settings.protocol, None);
    assert_eq!(server.server.settings.timeouts.call, Duration::from_secs(5));
    assert_eq!(
        server.server.settings.timeouts.maximum,
        Duration::from_secs(60)
    );
    assert_eq!(
        server.server.settings.timeouts.read,
        Duration::from_millis(500)
    );
    assert_eq!(server.cache.invalidate_after, []);
    assert!(server.cache.ttl.is_some());
    let modern = only("[servers.a]\ncommand = 'x'\nprofile = 'interactive'\nera = 'modern'\n");
    assert_eq!(
        (modern.server.settings.era, modern.server.settings.protocol),
        (EraChoice::Modern, None)
    );
    let standard = only("[servers.a]\ncommand = 'x'\nprofile = 'workflow'\ndialect = 'standard'\n");
    assert_eq!(standard.server.settings.quirks, Quirks::default());
    let quirk = only(
        "[servers.a]\ncommand = 'x'\nprofile = 'workflow'\nquirks = { cancel = 'standard' }\n",
    );
    assert_eq!(quirk.server.settings.quirks.cancel, CancelForm::Standard);
    assert_eq!(quirk.server.settings.quirks.shutdown, ShutdownForm::Lsp);
}

/// The names of seeds 000, 003 and 004 can be said, for all servers and for one.
#[test]
fn the_client_is_called_as_the_file_says() {
    let config = read(
        "[client]\nname = 'spec-tui'\nversion = '0.1.0'\n[servers.a]\ncommand = 'x'\n\
         [servers.b]\ncommand = 'x'\nclient = { name = 'smolcode' }\n",
    );
    assert_eq!(config.problems, []);
    let named = |server: &str| config.servers[server].settings().identity.name;
    assert_eq!(
        (named("a"), named("b")),
        ("spec-tui".into(), "smolcode".into())
    );
    let nameless = read("[client]\nversion = '1'\n");
    assert_eq!(nameless.problems[0].message, "a client is called by a name");
    let server = only("[servers.a]\ncommand = 'x'\n");
    assert_eq!(server.settings().identity.name, "attache");
}

#[test]
fn retry_tables_are_checked() {
    for (table, key) in [
        ("{ attempts = 0 }", "servers.a.retry.attempts"),
        ("{ factor = 0.5 }", "servers.a.retry.factor"),
        ("{ factor = 'x' }", "servers.a.retry.factor"),
        ("{ on = ['losst'] }", "servers.a.retry.on"),
        ("{ on = 'lost' }", "servers.a.retry.on"),
        ("{ first = '5s' }", "servers.a.retry.first"),
    ] {
        let config = read(&format!("[servers.a]\ncommand = 'x'\nretry = {table}\n"));
        let keys: Vec<&str> = config.problems.iter().map(|it| it.key.as_str()).collect();
        assert_eq!(keys, [key], "{table}");
    }
}

#[test]
fn rules_for_all_servers() {
    let config =
        read("[policy]\ndeny = ['*/delete_*']\nread_only = 'allow'\n[cache]\nbytes = 1024\n");
    assert_eq!(config.problems, []);
    assert_eq!(config.policy.deny, ["*/delete_*".into()]);
    assert_eq!(config.policy.read_only, Some(ReadOnlyHint::Believe));
    assert_eq!(config.cache_bytes, 1024);
}

#[test]
fn how_many_programs_start_at_a_time() {
    let config = read("[startup]\nconcurrent = 3\n");
    assert_eq!(config.problems, []);
    assert_eq!(config.concurrent_starts, Some(3));
    assert_eq!(read("").concurrent_starts, None);
    assert!(read("[startup]\nconcurrent = 0\n").has_errors());
}

#[test]
fn a_missing_file_says_so() {
    let found = attache_host::config::Found {
        file: "/nowhere/attache.toml".into(),
        origin: Origin::Named,
    };
    let error = Config::load(&found, &environment()).unwrap_err();
    assert_eq!(error.to_string(), "there is no file /nowhere/attache.toml");
}
