//! The servers that one command sees.
//!
//! Owns what a target stands for: a configured server, one typed on the spot, or one of those inside
//! this executable. Starts nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use attache::host::call_log::{CallLog, call_log_folder};
use attache::host::config::{
    CallLogging, Config, Origin, Problem, Restart, RestartWhen, ServerConfig, ServerName, Severity,
    Source, Start, Transport,
};
use attache::host::policy::{Answers, Lock, Pins};
use attache::host::{Accounts, Error, Host, HostBuilder, Lifetime, configured_log_folder, nearest};
use attache::protocol::LogLevel;
use attache::{EraChoice, Proxy, Server};
use attache_attach::Place;

use crate::attached;
use crate::configuration::{Configuration, problem_failure, to_run};
use crate::failure::Failure;
use crate::overrides::Overrides;
use crate::target::{Target, program_name, with_usual_path};

/// A server inside this executable. Naming it selects it, unless a configured one has the name.
#[derive(Debug)]
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    /// A command that shows what it is good for.
    pub(crate) example: &'static str,
    /// The words that start it.
    words: [&'static str; 2],
    part: Part,
}

/// What a server inside this executable does when it is not named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// While nothing is configured, it is what commands over all servers are about.
    StandsIn,
    /// It is shown while nothing is configured, and not started.
    Waits,
}

/// The name of the evaluator.
pub(crate) const LISP: &str = "lisp";

/// The name of the server of specs.
const SPECKIT: &str = "speckit";

/// The name of the server of notes.
#[cfg(feature = "notes")]
const NOTES: &str = "notes";

const BUILT_IN: &[BuiltIn] = &[
    BuiltIn {
        name: "demo",
        example: "attache call echo message=hi",
        words: ["serve", "demo"],
        part: Part::StandsIn,
    },
    BuiltIn {
        name: LISP,
        example: "attache call lisp/evaluate-lisp code='(expt 2 200)'",
        words: ["serve", "lisp"],
        part: Part::Waits,
    },
    #[cfg(feature = "notes")]
    BuiltIn {
        name: NOTES,
        example: "attache call notes/search_notes query=morning",
        words: ["serve", "notes"],
        part: Part::Waits,
    },
    BuiltIn {
        name: SPECKIT,
        example: "attache tools speckit",
        words: ["serve", "speckit"],
        part: Part::Waits,
    },
];

/// The servers that one command sees.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerSelection {
    config: Config,
    /// A server typed on the spot; then it is the only one.
    typed: Option<ServerConfig>,
    /// Servers that are written down wrongly, and how.
    misconfigured: Vec<(String, Problem)>,
    /// Servers inside this executable that were not named.
    waiting: Vec<&'static BuiltIn>,
    /// The user has approved calls where the policy says to ask.
    is_approved: bool,
    /// From which level on the servers' logs are shown.
    log_level: Option<LogLevel>,
    /// Where a process may keep these servers running.
    shared: Option<Place>,
    /// How long one request may take, if that was typed.
    timeout: Option<Duration>,
    /// Where to record what passes.
    record: Option<PathBuf>,
    /// The command makes many requests, so what later ones gain from is worth doing.
    is_kept: bool,
    places: Places,
}

/// Where things about configured servers are kept; nowhere for servers typed on the spot.
#[derive(Clone, Debug, Default)]
struct Places {
    state: Option<PathBuf>,
    answers: Option<PathBuf>,
    pins: Option<PathBuf>,
    lock: Option<PathBuf>,
    /// Logins are the user's, whatever servers are named.
    logins: Option<PathBuf>,
    /// Which servers are probed in vain is remembered of typed ones too.
    probes: Option<PathBuf>,
    /// Calls of typed servers are the user's too. Those of others are where their configuration
    /// says.
    calls_of_typed: Option<PathBuf>,
}

impl ServerSelection {
    /// Finds the servers of a target.
    pub(crate) fn of(
        target: &Target,
        configuration: &Configuration,
        overrides: &Overrides,
    ) -> Result<Self, Failure> {
        let mut selection = match target {
            Target::Command { program, arguments } => {
                Self::typed(&program_name(program), Server::stdio(program, arguments))
            }
            Target::Url(url) => {
                Self::typed(host_of(url), Server::http(url).proxy(Proxy::Environment))
            }
            Target::All => Self::configured(configuration)?,
            Target::Named(name) => Self::configured(configuration)?.only(name)?,
        };
        selection.places.logins = configuration.logins_folder();
        selection.places.probes = configuration.state_folder();
        if selection.typed.is_some() {
            selection.places.calls_of_typed = call_log_of(configuration);
        }
        selection.log_level = overrides.log_level;
        selection.timeout = overrides.timeout();
        if !overrides.can_share() {
            selection.shared = None;
        }
        if overrides.are_for_one_server() && selection.len() > 1 {
            return Err(Failure::usage("--env and --cwd are for one server")
                .hint("name it, or give its command after `--`"));
        }
        let servers = selection.config.servers.values_mut();
        for server in servers.chain(&mut selection.typed) {
            overrides.apply(server);
        }
        Ok(selection)
    }

    /// The servers that are written down, or else those that are built in.
    fn configured(configuration: &Configuration) -> Result<Self, Failure> {
        let state = configuration.state_folder();
        let Some(loaded) = configuration.load()? else {
            let waits = |it: &&BuiltIn| it.part == Part::Waits;
            return Ok(Self {
                config: stand_ins()?,
                waiting: BUILT_IN.iter().filter(waits).collect(),
                places: Places {
                    state,
                    ..Places::default()
                },
                ..Self::default()
            });
        };
        let shared = attached::place_of_running(configuration, &loaded);
        let config = to_run(loaded)?;
        let mut misconfigured = BTreeMap::new();
        for problem in &config.problems {
            if let (Severity::Error, Some(server)) = (problem.severity, &problem.server) {
                misconfigured
                    .entry(server.clone())
                    .or_insert(problem.clone());
            }
        }
        misconfigured.retain(|server, _| !config.servers.contains_key(server.as_str()));
        Ok(Self {
            config,
            misconfigured: misconfigured.into_iter().collect(),
            shared,
            places: Places {
                state,
                answers: configuration.answers_file(),
                pins: configuration.pins_folder(),
                lock: configuration.lock_file(),
                ..Places::default()
            },
            ..Self::default()
        })
    }

    fn typed(name: &str, server: Server) -> Self {
        let name = ServerName::from_any(name);
        let mut server = ServerConfig::new(name, server, Source::program());
        // Who has just typed a command wants to see how it fails, not how it fails five times.
        server.restart = Restart {
            when: RestartWhen::Never,
            ..Restart::default()
        };
        Self {
            typed: Some(server),
            ..Self::default()
        }
    }

    /// The same with one server only, so that no other is started or asked.
    pub(crate) fn only(mut self, name: &str) -> Result<Self, Failure> {
        if let Some((_, problem)) = self.misconfigured.iter().find(|(server, _)| server == name) {
            return Err(problem_failure(problem));
        }
        if !self.has(name)
            && let Some(built_in) = built_in(name)
        {
            let server = built_in.server()?;
            self.config.servers.insert(server.name.clone(), server);
            // The background process keeps what is written down, and this is not.
            self.shared = None;
        }
        if !self.has(name) {
            let error = Error::UnknownServer {
                name: name.to_owned(),
                nearest: self.like(name),
            };
            return Err(error.into());
        }
        self.config
            .servers
            .retain(|server, _| server.as_str() == name);
        self.misconfigured.clear();
        self.waiting.clear();
        Ok(self)
    }

    /// The same at the path that most servers have, if one was typed by an address without a path;
    /// and both addresses.
    pub(crate) fn at_usual_path(&self) -> Option<(Self, String, String)> {
        let typed = self.typed.as_ref()?;
        let url = typed.server.transport().http()?.url.clone();
        let usual = with_usual_path(&url)?;
        let mut other = self.clone();
        if let Some(typed) = &mut other.typed
            && let Transport::Http(http) = typed.server.transport_mut()
        {
            http.url.clone_from(&usual);
        }
        Some((other, url, usual))
    }

    /// Where a process may keep all of these servers running. Those inside this executable are
    /// the command's own, and what passes is recorded where it passes.
    pub(crate) fn shared(&self) -> Option<&Place> {
        let is_written_down = |server: &ServerConfig| server.source.file.is_some();
        self.shared
            .as_ref()
            .filter(|_| self.record.is_none() && self.servers().all(is_written_down))
    }

    /// How long one request may take, if that was typed.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// The same servers, none of which is started before it is needed.
    pub(crate) fn lazily(mut self) -> Self {
        for server in self.config.servers.values_mut() {
            server.start = Start::Lazy;
        }
        self
    }

    /// The same with these servers only.
    #[cfg(feature = "chat")]
    pub(crate) fn only_these(mut self, names: &[String]) -> Result<Self, Failure> {
        let mut chosen = BTreeMap::new();
        for name in names {
            let alone = Self {
                config: self.config.clone(),
                misconfigured: self.misconfigured.clone(),
                ..Self::default()
            };
            chosen.append(&mut alone.only(name)?.config.servers);
        }
        self.config.servers = chosen;
        self.misconfigured.clear();
        self.waiting.clear();
        Ok(self)
    }

    /// The same, with one attempt to start each server.
    pub(crate) fn tried_once(mut self) -> Self {
        self.shared = None;
        for server in self.config.servers.values_mut() {
            server.restart.when = RestartWhen::Never;
        }
        self
    }

    /// The same servers with every era and revision allowed, and nothing kept of them.
    pub(crate) fn unrestricted(&self) -> Self {
        let mut other = Self {
            config: self.config.clone(),
            typed: self.typed.clone(),
            ..Self::default()
        };
        for server in other.config.servers.values_mut().chain(&mut other.typed) {
            server.server.settings.era = EraChoice::Auto;
            server.server.settings.protocol = None;
        }
        other
    }

    /// Narrows it down to the server that a qualified name begins with, if it does.
    pub(crate) fn narrowed_by(self, qualified: &str) -> Result<Self, Failure> {
        match qualified.split_once('/') {
            Some((server, own)) if !own.is_empty() && self.knows(server) => self.only(server),
            _ => Ok(self),
        }
    }

    /// The server whose name is nearly this.
    pub(crate) fn like(&self, name: &str) -> Option<String> {
        let names: Vec<ServerName> = self.names();
        let known = names.iter().map(ServerName::as_str);
        let known = known.chain(built_in_names().map(|name: &str| name));
        nearest(name, known).map(str::to_owned)
    }

    pub(crate) fn knows(&self, name: &str) -> bool {
        built_in(name).is_some()
            || self.has(name)
            || self.misconfigured.iter().any(|(server, _)| server == name)
    }

    fn has(&self, name: &str) -> bool {
        self.names().iter().any(|known| known.as_str() == name)
    }

    /// Whether there is nothing to ask, not even a server that is written down wrongly.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0 && self.misconfigured.is_empty()
    }

    fn len(&self) -> usize {
        self.names().len()
    }

    /// The names of all servers that can be started.
    pub(crate) fn names(&self) -> Vec<ServerName> {
        self.servers().map(|server| server.name.clone()).collect()
    }

    /// All servers that can be started.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &ServerConfig> {
        self.config.servers.values().chain(&self.typed)
    }

    /// Servers that are written down wrongly, and how.
    pub(crate) fn misconfigured(&self) -> &[(String, Problem)] {
        &self.misconfigured
    }

    /// Servers inside this executable that could be named, and take no part unless they are.
    pub(crate) fn waiting(&self) -> &[&'static BuiltIn] {
        &self.waiting
    }

    /// The definitions of tools that the user has used or approved. Servers inside this executable
    /// change with it, so they are pinned for one command only.
    pub(crate) fn pins(&self) -> Result<Pins, Failure> {
        let all_built_in = self.servers().all(|server| BuiltIn::of(server).is_some());
        let pins = match &self.places.pins {
            Some(folder) if !all_built_in => Pins::in_folder(folder),
            _ => Pins::in_memory(),
        };
        let lock = self.places.lock.as_deref();
        let lock = lock.map(Lock::read).transpose();
        let lock = lock.map_err(|error| Failure::config(error.to_string()))?;
        Ok(pins.tightened_by(lock.flatten()))
    }

    /// The same, with calls approved or to be asked about.
    pub(crate) fn approved(mut self, is_approved: bool) -> Self {
        self.is_approved = is_approved;
        self
    }

    /// The same for a command that makes many requests.
    #[cfg(any(feature = "chat", feature = "ui", feature = "web"))]
    pub(crate) fn kept(mut self) -> Self {
        self.is_kept = true;
        self
    }

    /// Whether the user has approved calls where the policy says to ask.
    pub(crate) fn is_approved(&self) -> bool {
        self.is_approved
    }

    /// The same, with what passes recorded into a file.
    pub(crate) fn recorded_into(mut self, file: Option<PathBuf>) -> Self {
        if file.is_some() {
            // What passes is seen only where it passes.
            self.shared = None;
        }
        self.record = file;
        self
    }

    /// Where to record what passes.
    pub(crate) fn record(&self) -> Option<&Path> {
        self.record.as_deref()
    }

    /// From which level on the servers' logs are shown.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.log_level
    }

    /// The same servers, whose tools are looked at without being pinned.
    pub(crate) fn unpinned(mut self) -> Self {
        self.shared = None;
        self.places.pins = None;
        self.places.lock = None;
        self
    }

    /// The logins of the user.
    pub(crate) fn accounts(&self) -> Accounts {
        match &self.places.logins {
            #[cfg(feature = "keyring")]
            Some(folder) => Accounts::in_keyring_or_folder("attache", folder),
            #[cfg(not(feature = "keyring"))]
            Some(folder) => Accounts::in_folder(folder),
            None => Accounts::in_memory(),
        }
    }

    /// Turns it into a host to be, for one command.
    pub(crate) fn host(self) -> Result<HostBuilder, Failure> {
        let pins = self.pins()?;
        let accounts = self.accounts();
        let answers = match &self.places.answers {
            Some(file) => {
                Answers::in_file(file).map_err(|error| Failure::config(error.to_string()))?
            }
            None => Answers::in_memory(),
        };
        let mut builder = Host::builder()
            .config(self.config)
            .lifetime(match self.is_kept {
                true => Lifetime::Kept,
                false => Lifetime::OneShot,
            })
            .accounts(accounts)
            .pins(Arc::new(pins))
            .answers(Arc::new(answers));
        if let Some(folder) = self.places.state {
            builder = builder.state_folder(folder);
        }
        if let Some(folder) = self.places.probes {
            builder = builder.probes_folder(folder);
        }
        if let Some(folder) = self.places.calls_of_typed {
            builder = builder.call_log(CallLog::in_folder(folder));
        }
        if let Some(server) = self.typed {
            builder = builder.adhoc_server(server);
        }
        Ok(builder)
    }
}

/// Where the calls of typed servers are written down, unless the user's file says that none are.
fn call_log_of(configuration: &Configuration) -> Option<PathBuf> {
    let rules = configuration.log_rules();
    let state = configuration.state_folder()?;
    let folder = call_log_folder(&configured_log_folder(&rules, &state));
    (rules.calls == CallLogging::On).then_some(folder)
}

/// The servers that commands are about while nothing is configured.
pub(crate) fn stand_ins() -> Result<Config, Failure> {
    let mut config = Config::default();
    for built_in in BUILT_IN.iter().filter(|it| it.part == Part::StandsIn) {
        let server = built_in.server()?;
        config.servers.insert(server.name.clone(), server);
    }
    Ok(config)
}

/// The server inside this executable of that name.
pub(crate) fn built_in(name: &str) -> Option<&'static BuiltIn> {
    BUILT_IN.iter().find(|it| it.name == name)
}

/// The names of all servers inside this executable.
pub(crate) fn built_in_names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|it| it.name)
}

impl BuiltIn {
    /// How it is started.
    pub(crate) fn server(&self) -> Result<ServerConfig, Failure> {
        let executable = std::env::current_exe().map_err(|error| {
            Failure::unexpected(format!("cannot find this program's own file: {error}"))
        })?;
        let name = ServerName::from_any(self.name);
        let server = Server::stdio(executable, self.words);
        Ok(ServerConfig::new(name, server, Source::program()))
    }

    /// The one that a server of a selection is, unless that is a configured one or was typed.
    pub(crate) fn of(server: &ServerConfig) -> Option<&'static Self> {
        match server.source.origin {
            Origin::Program => built_in(server.name.as_str()),
            _ => None,
        }
    }
}

/// The part of a URL that names a machine.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    authority.rsplit('@').next().unwrap_or(authority)
}
