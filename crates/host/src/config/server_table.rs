//! The keys of one server's table.

use std::path::{Path, PathBuf};

use attache_client::authorization::Reach;
use attache_client::process::Launch;
use attache_client::protocol::frame::EmptyParams;
use attache_client::protocol::{Era, Implementation, Revision};
use attache_client::{EraChoice, InitializedNotice, Proxy, Server, Settings, Timeouts};

use url::Url;

use super::choices::{self, Way};
use super::profile::Profile;
use super::reference::Only;
use super::section::{Complaint, Section, WordOrSection};
use super::{
    AuthConfig, CacheRules, Grant, HttpFlavor, HttpServer, Origin, PolicyRules, Restart, Retry,
    ServerConfig, ServerName, Source, ToolFilter, Transport,
};

/// Reads a server; nothing if it cannot be told how to reach it. What is merely wrong besides is
/// among the problems.
pub(super) fn read_server(
    name: ServerName,
    section: &Section<'_>,
    source: Source,
) -> Option<ServerConfig> {
    let transport = read_transport(section, source.origin);
    let profile = section.choice("profile", &choices::PROFILES);
    let profile = profile.unwrap_or_default();
    let dialect = section.choice("dialect", &choices::DIALECTS);
    let dialect = dialect.unwrap_or_else(|| profile.dialect());
    let (era, protocol) = read_version(section, profile);
    let nowhere = Server::new(Transport::Stdio(Launch::new(""))).settings(Settings {
        era,
        protocol,
        quirks: profile.quirks(dialect),
        timeouts: profile.timeouts(),
        ..Settings::default()
    });
    let mut server = ServerConfig {
        dialect,
        retry: profile.retry(),
        cache: profile.cache(),
        ..ServerConfig::new(name, nowhere, source)
    };
    if let Some(quirks) = section.section("quirks") {
        read_quirks(&quirks, &mut server);
    }
    if let Some(timeouts) = section.section("timeouts") {
        read_timeouts(&timeouts, &mut server.server.settings.timeouts);
    }
    if let Some(retry) = section.section("retry") {
        read_retry(&retry, &mut server.retry);
    }
    server.client = read_client(section);
    server.server.settings.log_level = section.choice("log_level", &choices::LOG_LEVELS);
    let capabilities = section.choice("capabilities", &choices::CAPABILITIES);
    set(&mut server.server.settings.capabilities, capabilities);
    read_restart(section, &mut server.restart);
    read_cache(section, &mut server.cache);
    match section.word_or_section("policy") {
        Some(WordOrSection::Word(word)) => {
            server.policy.otherwise = section.chosen("policy", word, &choices::DECISIONS);
        }
        Some(WordOrSection::Section(policy)) => server.policy = read_policy(&policy),
        None => {}
    }
    set(&mut server.start, section.choice("start", &choices::STARTS));
    set(&mut server.enabled, section.truth("enabled"));
    if let Some(tools) = section.section("tools") {
        server.tool_filter = ToolFilter {
            include: tools.patterns("include").unwrap_or_default(),
            exclude: tools.patterns("exclude").unwrap_or_default(),
        };
    }
    server.projects = section.texts("projects").unwrap_or_default();
    // All keys were read first, so that their errors are told together with a missing command.
    let (transport, auth) = transport?;
    server.auth = auth;
    *server.server.transport_mut() = transport;
    Some(server)
}

fn read_transport(section: &Section<'_>, origin: Origin) -> Option<(Transport, AuthConfig)> {
    // The single `[mcp]` table of seed 003 says `endpoint` for a URL.
    let url_key = match section.knows("endpoint") && section.has("endpoint") {
        true => "endpoint",
        false => "url",
    };
    if url_key == "endpoint" && section.has("url") {
        let complaint = Complaint::new("\"endpoint\" says it already");
        section.complain("url", complaint.hint("delete one of them"));
    }
    let kind = section.choice("transport", &choices::TRANSPORTS);
    let kind = match (section.has("command"), section.has(url_key), kind) {
        (true, true, _) => {
            let complaint = Complaint::new("a server has a command or a URL, not both");
            section.complain(url_key, complaint.hint("delete one of them"));
            return None;
        }
        (false, false, _) => {
            let complaint = Complaint::new("nothing says how to reach this server");
            section.complain(
                "",
                complaint.hint("give it a \"command\" to start or a \"url\" to call"),
            );
            return None;
        }
        (true, false, Some(Way::Http(_))) => {
            let complaint = Complaint::new("a server with a command is reached over stdio");
            section.complain("transport", complaint.hint("delete this line"));
            return None;
        }
        (false, true, Some(Way::Stdio)) => {
            let complaint = Complaint::new("a server with a URL is not reached over stdio");
            section.complain("transport", complaint.hint("delete this line"));
            return None;
        }
        (true, false, _) => Way::Stdio,
        (false, true, Some(kind)) => kind,
        (false, true, None) => Way::Http(HttpFlavor::Detect),
    };
    let (misplaced, owner) = match kind {
        Way::Stdio => (Only::Url, "a \"url\""),
        Way::Http(_) => (Only::Command, "a \"command\""),
    };
    for key in section.keys_only_for(misplaced) {
        let message = format!("only a server with {owner} has this");
        section.complain(key, Complaint::new(message).hint("delete it"));
    }
    match kind {
        Way::Stdio => Some((read_stdio(section, origin)?, AuthConfig::default())),
        Way::Http(flavor) => read_http(section, url_key, flavor),
    }
}

fn read_stdio(section: &Section<'_>, origin: Origin) -> Option<Transport> {
    let command = section.text("command");
    if command.as_deref() == Some("") {
        section.complain("command", Complaint::new("the command is empty"));
    }
    let env = section.text_map("env").unwrap_or_default();
    if let Some(name) = env
        .keys()
        .find(|name| name.is_empty() || name.contains('='))
    {
        let message = format!("\"{name}\" is no name of an environment variable");
        section.complain("env", Complaint::new(message));
    }
    let args = section.texts("args").unwrap_or_default();
    let cwd = read_cwd(section, origin);
    let mut launch = Launch::new(beside_the_file(command?, section)).args(args);
    launch.cwd = cwd;
    let vars = env
        .iter()
        .map(|(name, value)| (name.into(), value.expose().into()));
    launch.vars.extend(vars);
    Some(Transport::Stdio(launch))
}

/// Where a server starts (S21). One that came with a folder, or with a file that was named, starts
/// beside its file, wherever the user is. Of the user's own file nothing starts where the user
/// happens to be, because interpreters and package runners load what lies there: `None` leaves a
/// folder of the server's own to the host, and `cwd = "."` asks for the user's folder.
fn read_cwd(section: &Section<'_>, origin: Origin) -> Option<PathBuf> {
    match origin {
        Origin::User if section.is_written("cwd", ".") => {
            Some(section.working_folder().to_path_buf())
        }
        _ if section.has("cwd") => section.path("cwd"),
        Origin::Project | Origin::Named => section.folder().map(Path::to_path_buf),
        Origin::User | Origin::Program => None,
    }
}

/// A relative path to a program is meant from the file's folder; a bare name is searched in `PATH`.
fn beside_the_file(command: String, section: &Section<'_>) -> String {
    let is_path = command.chars().any(std::path::is_separator);
    match section.folder() {
        Some(folder) if is_path && !section.is_unexpanded(&command) => {
            // An absolute path replaces the folder.
            folder
                .join(&command)
                .to_str()
                .map_or(command, str::to_owned)
        }
        _ => command,
    }
}

fn read_http(
    section: &Section<'_>,
    url_key: &'static str,
    flavor: HttpFlavor,
) -> Option<(Transport, AuthConfig)> {
    let url = section.text(url_key);
    if let Some(url) = &url
        && !section.is_unexpanded(url)
    {
        check_url(section, url_key, url);
    }
    let headers = section.text_map("headers").unwrap_or_default();
    for (name, value) in &headers {
        if name.is_empty() || !name.bytes().all(is_header_byte) {
            let message = format!("\"{name}\" is no name of a header");
            section.complain("headers", Complaint::new(message));
        }
        if value.expose().chars().any(char::is_control) {
            let message = format!("the value of \"{name}\" has a control character");
            section.complain("headers", Complaint::new(message));
        }
    }
    let ca_file = section.path("ca_file");
    let auth = section.section("auth").map(|auth| read_auth(&auth));
    let auth = auth.unwrap_or_default();
    let allow_plain_http = section.truth("allow_plain_http").unwrap_or(false);
    let url = url?;
    let is_authorization = |name: &String| name.eq_ignore_ascii_case("authorization");
    let has_credentials = auth.token.is_some() || headers.keys().any(is_authorization);
    if has_credentials && !allow_plain_http && crosses_the_network_in_plain(&url) {
        let message = "plain http would show its token to everybody on the way";
        let hint = "use https, or say \"allow_plain_http = true\"";
        section.complain(url_key, Complaint::new(message).hint(hint));
    }
    let http = HttpServer {
        flavor,
        headers,
        ca_file,
        // As every other tool of the user does.
        proxy: Proxy::Environment,
        allow_plain_http,
        ..HttpServer::new(url)
    };
    Some((Transport::Http(http), auth))
}

/// The client refuses such requests too; here it is told at the line that can be mended.
fn crosses_the_network_in_plain(url: &str) -> bool {
    Url::parse(url)
        .is_ok_and(|url| url.scheme() == "http" && Reach::of_server(&url) != Reach::Loopback)
}

fn check_url(section: &Section<'_>, key: &str, url: &str) {
    let parts = url.split_once("://");
    let Some((_, rest)) = parts.filter(|_| HttpServer::is_address(url)) else {
        let message = format!(
            "the URL does not begin with {}",
            HttpServer::address_forms()
        );
        section.complain(key, Complaint::new(message));
        return;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    if host.is_empty() || host.starts_with(':') {
        section.complain(key, Complaint::new("the URL names no host"));
    }
    if url
        .chars()
        .any(|found| found.is_control() || found.is_whitespace())
    {
        section.complain(
            key,
            Complaint::new("the URL has a space or control character"),
        );
    }
    if authority.contains('@') {
        let complaint = Complaint::new("a URL with a password in it is easily shown to others");
        section.warn(
            key,
            complaint.hint("use \"headers\" with a \"${VARIABLE}\""),
        );
    }
}

fn is_header_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn read_auth(auth: &Section<'_>) -> AuthConfig {
    let read = AuthConfig {
        grant: auth.choice("grant", &choices::GRANTS).unwrap_or_default(),
        client_id: auth.text("client_id"),
        client_secret: auth.secret("client_secret"),
        client_metadata_url: auth.text("client_metadata_url"),
        scopes: auth.texts("scopes").unwrap_or_default(),
        redirect_port: auth.number("redirect_port"),
        issuer: auth.text("issuer"),
        token: auth.secret("token"),
    };
    let has_credentials = auth.has("client_id") && auth.has("client_secret");
    if read.grant == Grant::ClientCredentials && !has_credentials {
        let complaint = Complaint::new("this grant needs a client that was registered beforehand");
        auth.complain(
            "grant",
            complaint.hint("give \"client_id\" and \"client_secret\""),
        );
    }
    read
}

fn read_version(section: &Section<'_>, profile: Profile) -> (EraChoice, Option<Revision>) {
    let era = section.choice("era", &choices::ERAS);
    let protocol = match section.choice("protocol", &choices::PROTOCOLS) {
        None => profile.protocol().filter(|revision| fits(*revision, era)),
        Some(protocol) => protocol,
    };
    if let Some(revision) = protocol
        && !fits(revision, era)
    {
        let message = format!("{revision} is a {} revision", revision.era());
        let hint = "let \"era\" and \"protocol\" agree, or delete one";
        section.complain("protocol", Complaint::new(message).hint(hint));
    }
    (era.unwrap_or_default(), protocol)
}

fn fits(revision: Revision, era: Option<EraChoice>) -> bool {
    match era {
        None | Some(EraChoice::Auto) => true,
        Some(EraChoice::Modern) => revision.era() == Era::Modern,
        Some(EraChoice::Legacy) => revision.era() == Era::Legacy,
    }
}

fn read_quirks(section: &Section<'_>, server: &mut ServerConfig) {
    let quirks = &mut server.server.settings.quirks;
    let cancel = section.choice("cancel", &choices::CANCEL_FORMS);
    set(&mut quirks.cancel, cancel);
    let shutdown = section.choice("shutdown", &choices::SHUTDOWN_FORMS);
    set(&mut quirks.shutdown, shutdown);
    let initialized = section.truth("send_initialized").map(|send| match send {
        true => InitializedNotice::Send,
        false => InitializedNotice::Skip,
    });
    set(&mut quirks.initialized, initialized);
    let empty_params = section.truth("omit_empty_params").map(|omit| match omit {
        true => EmptyParams::Omit,
        false => EmptyParams::Write,
    });
    set(&mut quirks.empty_params, empty_params);
    let missing = section.choice("missing_input_schema", &choices::MISSING_INPUT_SCHEMAS);
    set(&mut quirks.missing_input_schema, missing);
    let token = section.choice("progress_token", &choices::PROGRESS_TOKENS);
    set(&mut quirks.progress_token, token);
    if let Some(aliases) = section.section("error_aliases") {
        for name in aliases.names() {
            let meaning = aliases.choice(name, &choices::ERROR_ALIASES);
            match (name.parse::<i64>(), meaning) {
                (Ok(code), Some(meaning)) => {
                    quirks.error_aliases.insert(code, meaning);
                }
                (Ok(_), None) => {}
                (Err(_), _) => {
                    aliases.complain(name, Complaint::new("an error code is a whole number"));
                }
            }
        }
    }
    let call_retry = section.choice("call_retry", &choices::CALL_RETRIES);
    set(&mut server.call_retry, call_retry);
    let invalidate_after = section.patterns("invalidate_after");
    set(&mut server.cache.invalidate_after, invalidate_after);
}

/// The `client` table below a section: how this client names itself.
pub(super) fn read_client(section: &Section<'_>) -> Option<Implementation> {
    let client = section.section("client")?;
    let (name, version) = (client.text("name"), client.text("version"));
    if !client.has("name") {
        let complaint = Complaint::new("a client is called by a name");
        client.complain(
            "",
            complaint.hint("give it a \"name\", and a \"version\" if it has one"),
        );
    }
    let version = version.unwrap_or_else(|| "0".to_owned());
    name.map(|name| Implementation::new(name, version))
}

fn read_retry(section: &Section<'_>, retry: &mut Retry) {
    set(&mut retry.attempts, section.number("attempts"));
    set(&mut retry.first, section.time("first"));
    set(&mut retry.factor, section.decimal("factor"));
    set(&mut retry.ceiling, section.time("ceiling"));
    set(&mut retry.on, section.choices("on", &choices::RETRY_ON));
    if retry.first > retry.ceiling {
        let complaint = Complaint::new("the first pause is longer than the longest");
        section.complain("first", complaint.hint("set \"ceiling\" too"));
    }
}

fn read_timeouts(section: &Section<'_>, timeouts: &mut Timeouts) {
    for (key, timeout) in [
        // The requirement documents say `initialize`; it covers the start of the process too.
        ("initialize", &mut timeouts.start),
        ("request", &mut timeouts.request),
        ("read", &mut timeouts.read),
        ("call", &mut timeouts.call),
        ("maximum", &mut timeouts.maximum),
        ("probe", &mut timeouts.probe),
        ("start_grace", &mut timeouts.start_grace),
        ("write_stall", &mut timeouts.write_stall),
        ("close_grace", &mut timeouts.close_grace),
        ("close_terminate", &mut timeouts.close_terminate),
    ] {
        set(timeout, section.time(key));
    }
    if !section.has("maximum") {
        // A profile's own maximum makes room for a time that is written.
        let longest = timeouts.request.max(timeouts.read).max(timeouts.call);
        let room = longest.min(Timeouts::default().maximum);
        timeouts.maximum = timeouts.maximum.max(room);
    }
    for (key, timeout) in [
        ("request", timeouts.request),
        ("read", timeouts.read),
        ("call", timeouts.call),
    ] {
        if timeout > timeouts.maximum && section.has(key) {
            let complaint = Complaint::new("this is longer than \"maximum\", which ends it first");
            section.warn(key, complaint.hint("raise \"maximum\" too"));
        }
    }
}

fn read_restart(section: &Section<'_>, restart: &mut Restart) {
    match section.word_or_section("restart") {
        Some(WordOrSection::Word(word)) => {
            set(
                &mut restart.when,
                section.chosen("restart", word, &choices::RESTARTS),
            );
        }
        Some(WordOrSection::Section(section)) => {
            set(
                &mut restart.when,
                section.choice("when", &choices::RESTARTS),
            );
            set(&mut restart.starts, section.number("starts"));
            set(&mut restart.within, section.time("within"));
            set(&mut restart.backoff_first, section.time("backoff_first"));
            set(
                &mut restart.backoff_longest,
                section.time("backoff_longest"),
            );
            set(&mut restart.healthy_after, section.time("healthy_after"));
            if restart.backoff_first > restart.backoff_longest {
                let complaint = Complaint::new("the first back-off is longer than the longest");
                section.complain(
                    "backoff_first",
                    complaint.hint("set \"backoff_longest\" too"),
                );
            }
        }
        None => {}
    }
}

fn read_cache(section: &Section<'_>, cache: &mut CacheRules) {
    match section.word_or_section("cache") {
        Some(WordOrSection::Word(word)) => {
            set(
                &mut cache.usage,
                section.chosen("cache", word, &choices::CACHE_USES),
            );
        }
        Some(WordOrSection::Section(section)) => {
            set(
                &mut cache.usage,
                section.choice("use", &choices::CACHE_USES),
            );
            if let Some(ttl) = section.time("ttl") {
                cache.ttl = Some(ttl);
                cache.list_ttl = None;
            }
            if let Some(ttl) = section.time("list_ttl") {
                cache.list_ttl = Some(ttl);
            }
            let invalidate_after = section.patterns("invalidate_after");
            set(&mut cache.invalidate_after, invalidate_after);
        }
        None => {}
    }
}

pub(super) fn read_policy(section: &Section<'_>) -> PolicyRules {
    PolicyRules {
        deny: section.patterns("deny").unwrap_or_default(),
        ask: section.patterns("ask").unwrap_or_default(),
        allow: section.patterns("allow").unwrap_or_default(),
        otherwise: section.choice("default", &choices::DECISIONS),
        read_only: section.choice("read_only", &choices::READ_ONLY),
    }
}

fn set<T>(place: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *place = given;
    }
}
