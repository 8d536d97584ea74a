//! The user's configuration: where it is, what it says, and whether it may run anything.
//!
//! The only place that reads the environment and the configuration file. What becomes of the
//! servers in it is decided in `selection`.

use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(feature = "chat")]
use attache::host::config::ChatConfig;
#[cfg(feature = "ui")]
use attache::host::config::UiConfig;
use attache::host::config::{
    Config, Found, LogRules, Origin, Problem, Severity, SpeckitConfig, UserEnvironment, find,
    user_file,
};
use attache::host::trust::{Loaded, Trust, TrustState, Untrusted, WrittenServer};

use crate::failure::Failure;

/// The file of approved project files, below the state folder.
const TRUST_FILE: &str = "trust.json";
/// The file of remembered answers, below the state folder.
const ANSWERS_FILE: &str = "answers.json";
/// The folder of logins in the state folder.
const LOGINS_FOLDER: &str = "logins";
/// The folder of pinned definitions of tools, below the state folder.
const PINS_FOLDER: &str = "pins";
/// The file of definitions of tools that can make pins stricter, beside the configuration file.
pub(crate) const LOCK_FILE: &str = "attache.lock";

/// How long a file counts as just written.
const FRESH: Duration = Duration::from_secs(60 * 60);

/// The configuration that was read, to run.
pub(crate) fn to_run(loaded: Loaded) -> Result<Config, Failure> {
    if let Some(problem) = whole_file(loaded.config()) {
        return Err(problem_failure(problem));
    }
    let runnable = loaded.into_runnable();
    runnable.map_err(|untrusted| refusal(&untrusted))
}

/// The machine and the user, and the file they named.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    pub(crate) environment: UserEnvironment,
    named: Option<PathBuf>,
}

impl Configuration {
    /// Looks at this process's environment and working folder.
    pub(crate) fn new(named: Option<PathBuf>) -> Result<Self, Failure> {
        let folder = std::env::current_dir().map_err(|error| {
            Failure::unexpected(format!("cannot tell the working folder: {error}"))
        })?;
        Ok(Self {
            environment: UserEnvironment::new(std::env::vars_os(), folder),
            named,
        })
    }

    /// The file that counts, if there is one.
    pub(crate) fn found(&self) -> Option<Found> {
        find(self.named.as_deref(), &self.environment)
    }

    /// Reads the file that counts. Nothing of it may run yet.
    pub(crate) fn load(&self) -> Result<Option<Loaded>, Failure> {
        let Some(found) = self.found() else {
            return Ok(None);
        };
        let file = found.file.clone();
        let loaded = match self.trust() {
            Some(trust) => Loaded::read(found, &self.environment, &trust),
            // Without a place to remember approvals a project's file cannot have one.
            None => Loaded::read(found, &self.environment, &Trust::in_file("")),
        };
        match loaded {
            Ok(loaded) if loaded.text.trim_start().starts_with('{') => {
                let message = format!("{} is JSON, and attache.toml is TOML", file.display());
                Err(Failure::config(message).hint(
                    "`attache config import` takes over the servers of other tools; `attache \
                     config add NAME -- COMMAND` writes one down",
                ))
            }
            Ok(loaded) => Ok(Some(loaded)),
            Err(error) => Err(Failure::config(format!(
                "cannot read {}: {error}",
                file.display()
            ))),
        }
    }

    /// The configuration of the file that counts, to run. `None` if there is no file.
    pub(crate) fn runnable(&self) -> Result<Option<Config>, Failure> {
        self.load()?.map(to_run).transpose()
    }

    /// A path as a person reads it: what is below the home folder begins with a tilde.
    pub(crate) fn shown(&self, file: &Path) -> String {
        let home = self.environment.home();
        let below = home.as_ref().and_then(|home| file.strip_prefix(home).ok());
        match below {
            Some(below) => format!("~/{}", below.display()),
            None => file.display().to_string(),
        }
    }

    /// What the file that counts says about logs. One that is not approved, or cannot be read, says
    /// nothing: what it keeps from running is told elsewhere.
    pub(crate) fn log_rules(&self) -> LogRules {
        match self.load() {
            Ok(Some(loaded)) if loaded.trust == TrustState::Trusted => loaded.config().log.clone(),
            _ => LogRules::default(),
        }
    }

    /// The model that the user has chosen, in the file that counts or in their own. A file that
    /// came with a folder has no say in it.
    #[cfg(feature = "chat")]
    pub(crate) fn chat(&self) -> Result<ChatConfig, Failure> {
        Ok(self.personal("chat")?.chat)
    }

    /// How the user wants the terminal UI, from the same file.
    #[cfg(feature = "ui")]
    pub(crate) fn ui(&self) -> Result<UiConfig, Failure> {
        Ok(self.personal("ui")?.ui)
    }

    /// Who writes specs, from the same file.
    pub(crate) fn speckit(&self) -> Result<SpeckitConfig, Failure> {
        Ok(self.personal("speckit")?.speckit)
    }

    /// The file that counts, unless it came with a folder; else the user's own. What is wrong with
    /// the table that is wanted, or with the whole file, is a failure.
    fn personal(&self, table: &str) -> Result<Config, Failure> {
        let counts = self.found().filter(|found| found.origin != Origin::Project);
        let own = user_file(&self.environment).filter(|file| file.is_file());
        let own = own.map(|file| Found {
            file,
            origin: Origin::User,
        });
        let Some(found) = counts.or(own) else {
            return Ok(Config::default());
        };
        let file = found.file.clone();
        let config = Config::load(&found, &self.environment)
            .map_err(|error| Failure::config(format!("cannot read {}: {error}", file.display())))?;
        let spoils = |problem: &&Problem| {
            let below = problem.key.strip_prefix(table);
            let is_in = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            problem.severity == Severity::Error && (is_in || problem.key.is_empty())
        };
        match config.problems.iter().find(spoils) {
            Some(problem) => Err(problem_failure(problem)),
            None => Ok(config),
        }
    }

    /// Where a project keeps its specs: what its own file says once it is approved, else the user's.
    #[cfg(feature = "ui")]
    pub(crate) fn specs_directory(&self) -> Option<String> {
        let of_project = match self.load() {
            Ok(Some(loaded)) if loaded.trust == TrustState::Trusted => {
                loaded.config().speckit.specs_directory.clone()
            }
            _ => None,
        };
        of_project.or_else(|| self.speckit().ok()?.specs_directory)
    }

    /// The memory of approved project files, if there is a place for it.
    pub(crate) fn trust(&self) -> Option<Trust> {
        Some(Trust::in_file(self.state_folder()?.join(TRUST_FILE)))
    }

    /// Where logs, remembered lists, answers and approvals are kept.
    pub(crate) fn state_folder(&self) -> Option<PathBuf> {
        self.environment.state_folder()
    }

    /// Where the user's answers are kept.
    pub(crate) fn answers_file(&self) -> Option<PathBuf> {
        Some(self.state_folder()?.join(ANSWERS_FILE))
    }

    /// Where the user's logins are kept.
    pub(crate) fn logins_folder(&self) -> Option<PathBuf> {
        Some(self.state_folder()?.join(LOGINS_FOLDER))
    }

    /// Where the definitions of tools are kept that the user has used or approved.
    pub(crate) fn pins_folder(&self) -> Option<PathBuf> {
        Some(self.state_folder()?.join(PINS_FOLDER))
    }

    /// Where definitions of tools may lie that belong to this configuration.
    pub(crate) fn lock_file(&self) -> Option<PathBuf> {
        Some(self.found()?.file.with_file_name(LOCK_FILE))
    }
}

/// An error that spoils the file as a whole.
pub(crate) fn whole_file(config: &Config) -> Option<&Problem> {
    let spoils = |problem: &&Problem| {
        problem.severity == Severity::Error && problem.server.is_none() && problem.key.is_empty()
    };
    config.problems.iter().find(spoils)
}

/// A line of the file that does not make sense.
pub(crate) fn problem_failure(problem: &Problem) -> Failure {
    let without_hint = Problem {
        hint: None,
        ..problem.clone()
    };
    let failure = Failure::config(without_hint.to_string());
    let failure = match &problem.server {
        Some(server) => failure.of(server),
        None => failure,
    };
    match &problem.hint {
        Some(hint) => failure.hint(hint.as_str()),
        None => failure.hint("mend that line; `attache config check` shows all of them"),
    }
}

fn refusal(untrusted: &Untrusted) -> Failure {
    let file = untrusted.file.display();
    let why = match untrusted.state {
        TrustState::Changed => "has changed since you approved it",
        TrustState::New | TrustState::Trusted => "came with this folder and is not approved",
    };
    let commands: Vec<String> = untrusted.says.servers.iter().map(command_line).collect();
    let would = match commands.is_empty() {
        true => "it names no server".to_owned(),
        false => format!("it would run {}", commands.join("; ")),
    };
    let failure = Failure::refused(format!("nothing was started: {file} {why}; {would}"));
    failure.hint(match is_fresh(&untrusted.file) {
        true => {
            "if you have just written it, it is yours to approve: `attache trust` shows it and \
             approves it; --config FILE takes another one"
        }
        false => "`attache trust` shows it and approves it; --config FILE takes another one",
    })
}

/// Whether a file may be what the user has just written.
fn is_fresh(file: &Path) -> bool {
    let written = std::fs::metadata(file).and_then(|found| found.modified());
    written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < FRESH))
}

fn command_line(server: &WrittenServer) -> String {
    format!("{}: {}", server.name, server.target.join(" "))
}
