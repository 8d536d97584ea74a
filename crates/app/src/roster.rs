//! The servers that one command sees.
//!
//! Owns what a target stands for: a configured server, one typed on the spot, or those that are
//! built in and there when nothing is configured. Starts nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use attache::EraChoice;
use attache::host::config::{
    AuthConfig, Config, HttpFlavor, Origin, Problem, Restart, RestartWhen, ServerConfig,
    ServerName, Severity, Source, Transport,
};
use attache::host::policy::{Answers, Pins};
use attache::host::{Accounts, Error, Host, HostBuilder, Lifetime, nearest};
use attache_servers::demo;

use crate::configuration::{Configuration, problem_failure};
use crate::failure::Failure;
use crate::overrides::Overrides;
use crate::target::{Target, program_name};

/// Servers inside this executable: their names, and the words that start them.
const BUILT_IN: &[(&str, &[&str])] = &[(demo::NAME, &["serve", "demo"])];
/// Servers inside this executable that are there for whoever names them, unless a configured one
/// has the name.
const READY_MADE: &[(&str, &[&str])] = &[("lisp", &["serve", "lisp"])];

/// The servers that one command sees.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    config: Config,
    /// A server typed on the spot; then it is the only one.
    typed: Option<ServerConfig>,
    /// Servers that are written down wrongly, and how.
    misconfigured: Vec<(String, Problem)>,
    places: Places,
}

/// Where things about configured servers are kept; nowhere for servers typed on the spot.
#[derive(Debug, Default)]
struct Places {
    state: Option<PathBuf>,
    answers: Option<PathBuf>,
    lock: Option<PathBuf>,
    /// Logins are the user's, whatever servers are named.
    logins: Option<PathBuf>,
}

impl Roster {
    /// Finds the servers of a target.
    pub(crate) fn of(
        target: &Target,
        configuration: &Configuration,
        overrides: &Overrides,
    ) -> Result<Self, Failure> {
        let mut roster = match target {
            Target::Command { program, arguments } => Self::typed(
                &program_name(program),
                stdio(program.clone(), arguments.clone()),
            ),
            Target::Url(url) => Self::typed(host_of(url), http(url)),
            Target::All => Self::configured(configuration)?,
            Target::Named(name) => Self::configured(configuration)?.only(name)?,
        };
        roster.places.logins = configuration.logins_folder();
        if overrides.are_for_one_server() && roster.len() > 1 {
            return Err(Failure::usage("--env and --cwd are for one server")
                .hint("name it, or give its command after `--`"));
        }
        let servers = roster.config.servers.values_mut();
        for server in servers.chain(&mut roster.typed) {
            overrides.apply(server);
        }
        Ok(roster)
    }

    /// The servers that are written down, or else those that are built in.
    fn configured(configuration: &Configuration) -> Result<Self, Failure> {
        let state = configuration.state_folder();
        let Some(config) = configuration.runnable()? else {
            return Ok(Self {
                config: built_in()?,
                places: Places {
                    state,
                    ..Places::default()
                },
                ..Self::default()
            });
        };
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
            typed: None,
            misconfigured: misconfigured.into_iter().collect(),
            places: Places {
                state,
                answers: configuration.answers_file(),
                lock: configuration.lock_file(),
                logins: None,
            },
        })
    }

    fn typed(name: &str, transport: Transport) -> Self {
        let mut server =
            ServerConfig::new(ServerName::from_any(name), transport, Source::program());
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
            && let Some(made) = server_inside(READY_MADE, name)?
        {
            self.config.servers.insert(made.name.clone(), made);
        }
        if !self.has(name) {
            let names: Vec<ServerName> = self.names();
            let known = names.iter().map(ServerName::as_str);
            let error = Error::UnknownServer {
                name: name.to_owned(),
                nearest: nearest(name, known).map(str::to_owned),
            };
            return Err(error.into());
        }
        self.config
            .servers
            .retain(|server, _| server.as_str() == name);
        self.misconfigured.clear();
        Ok(self)
    }

    /// The same, with one attempt to start each server.
    pub(crate) fn tried_once(mut self) -> Self {
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
            server.era = EraChoice::Auto;
            server.protocol = None;
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

    fn knows(&self, name: &str) -> bool {
        let is_ready_made = READY_MADE.iter().any(|(made, _)| *made == name);
        is_ready_made
            || self.has(name)
            || self.misconfigured.iter().any(|(server, _)| server == name)
    }

    fn has(&self, name: &str) -> bool {
        self.names().iter().any(|known| known.as_str() == name)
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

    /// The approved definitions of tools.
    pub(crate) fn pins(&self) -> Result<Pins, Failure> {
        match &self.places.lock {
            Some(file) => Pins::in_file(file).map_err(|error| Failure::config(error.to_string())),
            None => Ok(Pins::in_memory()),
        }
    }

    /// The logins of the user.
    pub(crate) fn accounts(&self) -> Accounts {
        match &self.places.logins {
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
        let mut builder = Host::builder(self.config)
            .lifetime(Lifetime::OneShot)
            .accounts(accounts)
            .pins(Arc::new(pins))
            .answers(Arc::new(answers));
        if let Some(folder) = self.places.state {
            builder = builder.state_folder(folder);
        }
        if let Some(server) = self.typed {
            builder = builder.server_on_the_spot(server);
        }
        Ok(builder)
    }
}

/// The servers inside this executable that are there when nothing is configured.
pub(crate) fn built_in() -> Result<Config, Failure> {
    let mut config = Config::default();
    for (name, _) in BUILT_IN {
        if let Some(server) = server_inside(BUILT_IN, name)? {
            config.servers.insert(server.name.clone(), server);
        }
    }
    Ok(config)
}

/// One of the servers inside this executable, by its name.
fn server_inside(table: &[(&str, &[&str])], name: &str) -> Result<Option<ServerConfig>, Failure> {
    let Some((name, words)) = table.iter().find(|(known, _)| *known == name) else {
        return Ok(None);
    };
    let executable = std::env::current_exe().map_err(|error| {
        Failure::unexpected(format!("cannot find this program's own file: {error}"))
    })?;
    let command = executable.to_string_lossy().into_owned();
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    let transport = stdio(command, words);
    let server = ServerConfig::new(ServerName::from_any(name), transport, Source::program());
    Ok(Some(server))
}

fn stdio(command: String, args: Vec<String>) -> Transport {
    Transport::Stdio {
        command,
        args,
        env: BTreeMap::new(),
        cwd: None,
    }
}

fn http(url: &str) -> Transport {
    Transport::Http {
        url: url.to_owned(),
        flavor: HttpFlavor::default(),
        headers: BTreeMap::new(),
        ca_file: None,
        auth: AuthConfig::default(),
    }
}

/// The part of a URL that names a machine.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    authority.rsplit('@').next().unwrap_or(authority)
}

/// Whether a server is one of those inside this executable, rather than configured.
pub(crate) fn is_built_in(server: &ServerConfig) -> bool {
    server.source.origin == Origin::Program
        && BUILT_IN
            .iter()
            .any(|(name, _)| *name == server.name.as_str())
}
