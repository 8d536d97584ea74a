//! Arguments that verbs share.
//!
//! A verb flattens the groups that mean something to it, so it offers no others. What was typed is
//! understood here as far as that needs no server. In help they follow what is the verb's own, in the
//! order of their numbers.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum as _};

use crate::command_host::CommandHost;
use crate::commands::Context;
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::output::{Format, Output, ProgressDisplay, Verbosity};
use crate::overrides::Overrides;
use crate::selection::ServerSelection;
use crate::target::{Target, address};

/// What every verb takes.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Print one JSON document; failures are JSON on stderr
    #[arg(long, global = true, display_order = 100)]
    json: bool,
    /// Show the server's stderr and log, and more about failures
    #[arg(short, long, global = true, display_order = 101)]
    verbose: bool,
}

impl OutputArgs {
    pub(crate) fn output(&self) -> Output {
        let verbosity = match self.verbose {
            true => Verbosity::Verbose,
            false => Verbosity::Normal,
        };
        Output::new(Format::json(self.json), verbosity)
    }
}

/// For verbs that need the configuration.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// Take this configuration file
    #[arg(long, value_name = "FILE", display_order = 103)]
    config: Option<PathBuf>,
}

impl ConfigArgs {
    /// The file that was named.
    pub(crate) fn named(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    pub(crate) fn configuration(&self) -> Result<Configuration, Failure> {
        Configuration::new(self.config.clone())
    }
}

/// For verbs about one of several servers.
#[derive(Debug, Args)]
pub(crate) struct ServerOption {
    /// The server to talk to: its name or its URL
    #[arg(
        id = "server_option",
        long = "server",
        value_name = "SERVER",
        help_heading = "Server"
    )]
    server: Option<String>,
}

impl ServerOption {
    /// What was typed.
    pub(crate) fn name(&self) -> Option<String> {
        self.server.clone()
    }

    /// The word that says which server is meant; a name may stand among the words of the verb.
    pub(crate) fn or_name(self, name: Option<String>) -> Result<Option<String>, Failure> {
        match (name, self.server) {
            (Some(one), Some(other)) if one != other => Err(Failure::usage(format!(
                "both \"{one}\" and \"{other}\" say which server is meant"
            ))),
            (one, other) => Ok(one.or(other)),
        }
    }
}

/// For verbs that need servers.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    #[command(flatten)]
    option: ServerOption,
    #[command(flatten)]
    overrides: Overrides,
    /// Record what passes into this file, secrets replaced
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    record: Option<PathBuf>,
    #[command(flatten)]
    config: ConfigArgs,
    /// The server's command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl ServerArgs {
    /// The same with the server that the verb's first word names, if it does.
    pub(crate) fn named(self, name: Option<String>) -> Result<Self, Failure> {
        let server = self.option.or_name(name)?;
        Ok(Self {
            option: ServerOption { server },
            ..self
        })
    }

    /// Opens the servers that were asked for.
    pub(crate) async fn open(self, context: &Context) -> Result<&CommandHost, Failure> {
        context.open(self.selection()?.1).await
    }

    /// The servers that were asked for, and what a verb's first word names of them if it is no
    /// server: `SERVER/TOOL`, or a tool's own name.
    pub(crate) fn selection_and_entry(
        self,
        word: Option<String>,
    ) -> Result<(ServerSelection, Option<String>), Failure> {
        let is_server_said = self.option.server.is_some() || !self.command.is_empty();
        let Some(word) = word else {
            return Ok((self.selection()?.1, None));
        };
        if is_server_said {
            // Servers may stand before their tools all the same.
            return match self.option.server.as_deref() {
                Some(server) if server == word => Ok((self.selection()?.1, None)),
                _ => Ok((self.selection()?.1, Some(word))),
            };
        }
        let configuration = self.config.configuration()?;
        let all = ServerSelection::of(&Target::All, &configuration, &self.overrides);
        if let Ok(all) = all
            && !all.knows(&word)
        {
            match word.split_once('/') {
                Some((server, own)) if all.knows(server) && !own.is_empty() => {
                    return Ok((all.only(server)?, Some(word)));
                }
                // What is nearly a server's name is a slip, also before a slash.
                Some((server, _)) if address(&word).is_none() => {
                    return Ok((all.only(server)?, Some(word)));
                }
                _ if address(&word).is_none() && all.like(&word).is_none() => {
                    return Ok((all, Some(word)));
                }
                _ => {}
            }
        }
        Ok((self.named(Some(word))?.selection()?.1, None))
    }

    /// The configuration, and whether the servers come from it rather than from the words.
    #[cfg(feature = "ui")]
    pub(crate) fn configuration(&self) -> Result<(Configuration, bool), Failure> {
        Ok((self.config.configuration()?, self.command.is_empty()))
    }

    /// The servers that were asked for, and in what way.
    pub(crate) fn selection(self) -> Result<(Target, ServerSelection), Failure> {
        let configuration = self.config.configuration()?;
        let target = Target::read(self.option.server, self.command)?;
        let selection = ServerSelection::of(&target, &configuration, &self.overrides)?;
        Ok((target, selection.recorded_into(self.record)))
    }
}

/// For verbs about all servers, or the one that their first word names.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// The server's name or URL; all servers if there is none
    #[arg(value_name = "SERVER")]
    name: Option<String>,
    #[command(flatten)]
    servers: ServerArgs,
    #[command(flatten)]
    pub(crate) completeness: Completeness,
}

impl ListArgs {
    pub(crate) async fn open(self, context: &Context) -> Result<&CommandHost, Failure> {
        self.servers.named(self.name)?.open(context).await
    }
}

/// Whether a command is done if only some of the servers have answered.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Completeness {
    /// Be content if only some of the servers answer
    #[arg(long, display_order = 104)]
    pub(crate) partial: bool,
}

impl Completeness {
    /// All of them have to.
    pub(crate) const WHOLE: Self = Self { partial: false };
}

/// How the progress of one request is shown.
#[derive(Debug, Args)]
pub(crate) struct ProgressArgs {
    /// A bar on a terminal (auto), also lines elsewhere (always)
    #[arg(
        long,
        value_enum,
        value_name = "auto|always|never",
        hide_possible_values = true,
        default_value = "auto",
        hide_default_value = true
    )]
    pub(crate) progress: ProgressDisplay,
}

impl ProgressArgs {
    /// What was typed, or would have been.
    pub(crate) fn word(&self) -> String {
        let value = self.progress.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
