//! From the text of `attache.toml` to a [`Config`].
//!
//! Owns the keys of the file. All that is wrong is collected and told together; a server with an
//! error is left out and its neighbours stay (invariant 9). A text that is no TOML at all spoils
//! the whole file, because it does not tell where the next server begins.

use std::io;
use std::path::Path;

use toml_edit::Document;

use super::chat::read_chat;
use super::choices;
use super::search::Found;
use super::section::{Complaint, Expansion, Place, Reading, Section};
use super::server_table::{read_client, read_policy, read_server};
use super::speckit::read_speckit;
use super::ui::read_ui;
use super::{Config, Origin, ServerName, Severity, Source, UserEnvironment};
use crate::state_file;

/// The name of the server that a single `[mcp]` table describes (seeds row 53).
pub const SINGLE_SERVER: &str = "default";
impl Config {
    /// Reads a configuration file. Everything wrong inside is among the problems; an error is only
    /// that the file cannot be read.
    pub fn load(found: &Found, environment: &UserEnvironment) -> io::Result<Self> {
        let found = found.clone().in_its_folder()?;
        let text = state_file::read(&found.file)?.ok_or_else(|| {
            let message = format!("there is no file {}", found.file.display());
            io::Error::new(io::ErrorKind::NotFound, message)
        })?;
        Ok(Self::read(&text, &found.file, found.origin, environment))
    }

    /// Reads the text of a configuration file. `file` is for positions and relative paths only.
    pub fn read(text: &str, file: &Path, origin: Origin, environment: &UserEnvironment) -> Self {
        Self::read_with(text, file, origin, environment, Expansion::Values)
    }

    /// The same with every `${VAR}` left as it is: to look at a file that is not approved.
    pub fn read_unexpanded(
        text: &str,
        file: &Path,
        origin: Origin,
        environment: &UserEnvironment,
    ) -> Self {
        Self::read_with(text, file, origin, environment, Expansion::AsWritten)
    }

    fn read_with(
        text: &str,
        file: &Path,
        origin: Origin,
        environment: &UserEnvironment,
        expansion: Expansion,
    ) -> Self {
        let reading = Reading::new(file, text, environment, expansion);
        let mut config = Self::default();
        match Document::parse(text) {
            Ok(document) => {
                // The document is borrowed by the sections; a scope of its own ends that.
                let root = Section::root(&reading, document.as_table());
                read_root(&root, origin, &reading, &mut config);
            }
            Err(error) => {
                let place = Place {
                    at: error.span().map_or(0, |span| span.start),
                    server: None,
                    key: String::new(),
                };
                let message = error.message().trim().replace('\n', ", ");
                reading.report(place, Severity::Error, Complaint::new(message));
            }
        }
        config.problems = reading.into_problems();
        config
    }

    /// Whether anything was left out.
    pub fn has_errors(&self) -> bool {
        self.problems
            .iter()
            .any(|problem| problem.severity == Severity::Error)
    }
}

fn read_root(root: &Section<'_>, origin: Origin, reading: &Reading<'_>, config: &mut Config) {
    if let Some(servers) = root.section("servers") {
        for name in servers.names() {
            add_server(name, || servers.server(name, name), origin, reading, config);
        }
    }
    let single = || root.server("mcp", SINGLE_SERVER);
    if !config.servers.contains_key(SINGLE_SERVER) {
        add_server(SINGLE_SERVER, single, origin, reading, config);
    } else if let Some(section) = single() {
        let complaint = Complaint::new("[servers.default] describes the same server");
        section.complain("", complaint.hint("keep one of the two"));
    }
    config.client = read_client(root);
    for server in config.servers.values_mut() {
        server.client = server.client.take().or_else(|| config.client.clone());
    }
    if let Some(policy) = root.section("policy") {
        config.policy = read_policy(&policy);
    }
    if let Some(cache) = root.section("cache")
        && let Some(bytes) = cache.number("bytes")
    {
        config.cache_bytes = bytes;
    }
    if let Some(startup) = root.section("startup")
        && let Some(starts) = startup.number("concurrent")
    {
        config.concurrent_starts = Some(starts);
    }
    if let Some(log) = root.section("log") {
        config.log.directory = log.path("directory");
        if let Some(calls) = log.choice("calls", &choices::CALL_LOGGING) {
            config.log.calls = calls;
        }
    }
    if let Some(chat) = root.section("chat") {
        config.chat = read_chat(&chat, origin);
    }
    if let Some(speckit) = root.section("speckit") {
        config.speckit = read_speckit(&speckit, origin);
    }
    if let Some(ui) = root.section("ui") {
        config.ui = read_ui(&ui, origin);
    }
}

/// Adds the server that `open` finds, unless there is none or something is wrong with it.
fn add_server<'r>(
    name: &str,
    open: impl FnOnce() -> Option<Section<'r>>,
    origin: Origin,
    reading: &Reading<'_>,
    config: &mut Config,
) {
    let errors = reading.errors();
    let Some(section) = open() else { return };
    let checked = match ServerName::new(name) {
        Ok(name) => name,
        Err(error) => {
            let near = ServerName::from_any(name);
            let complaint = Complaint::new(error.to_string());
            section.complain("", complaint.hint(format!("for example \"{near}\"")));
            return;
        }
    };
    let source = Source {
        file: Some(reading.file.to_path_buf()),
        line: Some(section.line()),
        origin,
    };
    let server = read_server(checked, &section, source);
    if let Some(server) = server
        && reading.errors() == errors
    {
        config.servers.insert(server.name.clone(), server);
    }
}
